"""BECR in PyTerrier pipelines: `pip install 'becr[pyterrier]'`."""

from __future__ import annotations

import os
from typing import Any

import pandas as pd

try:
    import pyterrier as pt
except ImportError as error:
    raise ImportError("becr.pyterrier needs PyTerrier: pip install 'becr[pyterrier]'") from error

from ._index import Index

__all__ = ["BECRReranker"]


class BECRReranker(pt.Transformer):
    """Re-ranks the results of any retriever.

    Takes a frame with `qid`, `query` and `docno`, and gives the same rows with new `score` and `rank`. The `score` that
    comes in counts as the first stage's. Documents that the index does not have are ranked by their `text`, if the frame
    has that column, and come last otherwise. `index` is an index or its path; further options are those of
    `Index.rerank`.

    >>> bm25 >> BECRReranker("corpus.becr", mode="encoded")
    """

    def __init__(self, index: Index | str | os.PathLike[str], mode: str | None = None, **options: Any) -> None:
        super().__init__()
        self.index = index if isinstance(index, Index) else Index.open(index)
        self.mode = mode
        self.options = options

    def __repr__(self) -> str:
        return f"BECRReranker({self.index!r}, mode={self.mode!r})"

    def transform(self, inp: pd.DataFrame) -> pd.DataFrame:
        """Re-ranks the candidates of every query."""
        pt.validate.result_frame(inp, extra_columns=["query"])
        parts = [self._rank(candidates) for _, candidates in inp.groupby("qid", sort=False)]
        columns = [column for column in inp.columns if column not in ("score", "rank")] + ["score", "rank"]
        if not parts:
            parts = [inp.assign(score=pd.Series(dtype="float64"), rank=pd.Series(dtype="int64"))]
        ranked: pd.DataFrame = pd.concat(parts, ignore_index=True)[columns]
        return ranked

    def _rank(self, candidates: pd.DataFrame) -> pd.DataFrame:
        # A document that stands twice in a list counts once, by its first row.
        candidates = candidates.drop_duplicates("docno").reset_index(drop=True)
        fields = [name for name in ("score", "title", "text") if name in candidates.columns]
        given = []
        for docno, *values in candidates[["docno", *fields]].itertuples(index=False, name=None):
            known = {name: value for name, value in zip(fields, values) if not _is_missing(value)}
            given.append({"id": str(docno), **known})
        query = str(candidates["query"].iloc[0])
        ranking = self.index.rerank(query, given, mode=self.mode, **self.options)
        ranked: pd.DataFrame = candidates.iloc[ranking.places].reset_index(drop=True)
        scores = ranking.scores.astype("float64")
        ranked = ranked.assign(score=scores, rank=range(len(ranked)))
        return ranked


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)
