"""Measures of runs against judgements."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from . import _becr

_QUERY = ("qid", "query_id", "query")
_DOCUMENT = ("docno", "doc_id", "docid", "id")


@dataclass(frozen=True)
class Evaluation:
    """The values of measures, by trec_eval's conventions."""

    #: Measure → mean over the queries; empty if no query counts.
    means: dict[str, float]
    #: Query → measure → value.
    per_query: dict[str, dict[str, float]]

    def __getitem__(self, measure: str) -> float:
        return self.means[measure]

    def to_frame(self) -> Any:
        """A pandas data frame: a row for each query, a column for each measure."""
        from ._frames import pandas

        return pandas().DataFrame.from_dict(self.per_query, orient="index")


def evaluate(
    run: Any, qrels: Any, measures: str | Iterable[str] = "nDCG@10 P@20 RR@10", *, complete: bool = False
) -> Evaluation:
    """Evaluates a run.

    `run` is a path of a TREC run, a dict (query → document → score), a data frame with `qid`, `docno` and `score`, or an
    iterable of (query, document, score). `qrels` are a path, a dict (query → document → grade), a data frame with `qid`,
    `docno` and `label`, or an iterable of (query, document, grade). Names of measures are those of ir_measures:
    `nDCG@10`, `P@20`, `R@100`, `RR@10`, `AP`, `P(rel=2)@5`. With `complete`, judged queries that the run does not answer
    count as 0.
    """
    if not isinstance(measures, str):
        measures = " ".join(str(measure) for measure in measures)
    names, rows = _becr.evaluate(
        _rows(run, ("score",), float), _rows(qrels, ("label", "relevance", "grade"), int), measures, complete=complete
    )
    per_query = {query: dict(zip(names, values)) for query, values in rows}
    means = {name: sum(row[name] for row in per_query.values()) / len(per_query) for name in names if per_query}
    return Evaluation(means, per_query)


def _rows(given: Any, values: tuple[str, ...], kind: type) -> Any:
    if isinstance(given, (str, os.PathLike)):
        return os.fsdecode(given)
    return _triples(given, values, kind)


def _triples(given: Any, values: tuple[str, ...], kind: type) -> Iterator[tuple[str, str, Any]]:
    if isinstance(given, Mapping):
        for query, documents in given.items():
            pairs = documents.items() if isinstance(documents, Mapping) else documents
            for document, value in pairs:
                yield str(query), str(document), kind(value)
        return
    if hasattr(given, "to_pandas"):
        given = given.to_pandas()
    if hasattr(given, "columns"):
        columns = [_column(given, names) for names in (_QUERY, _DOCUMENT, values)]
        given = zip(*(given[column].tolist() for column in columns))
    for query, document, value in given:
        yield str(query), str(document), kind(value)


def _column(frame: Any, names: tuple[str, ...]) -> str:
    for name in names:
        if name in frame.columns:
            return name
    raise _missing(frame, names)


def _missing(frame: Any, names: tuple[str, ...]) -> Exception:
    from .errors import InvalidInputError

    found = ", ".join(str(column) for column in frame.columns)
    return InvalidInputError(f"no column {' or '.join(names)} among {found}")
