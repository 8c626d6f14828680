"""Scores taken apart."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ContributionRow:
    """What one query word or feature contributes to a score."""

    #: "deep", "lexi" or "others".
    part: str
    #: The query word, in quotes, or the feature's name.
    name: str
    #: The same for people who have not read the paper.
    plain: str
    #: What it adds to the score.
    contribution: float


@dataclass(frozen=True)
class ExplainedDocument:
    """A document with its score taken apart. The rows sum to the score."""

    id: str
    title: str
    #: Rank among the candidates, from 1; `None` if it is none of them.
    rank: int | None
    #: Rank by words, from 1; `None` if words did not find it.
    first_stage_rank: int | None
    #: Rank by meaning, from 1; `None` if meaning did not find it.
    meaning_rank: int | None
    score: float
    deep: float
    lexi: float
    others: float
    rows: list[ContributionRow]
    #: Everything the library tells, by term, layer and kernel too.
    details: dict[str, Any] = field(repr=False)

    def reasons(self, most: int = 6) -> list[ContributionRow]:
        """The largest contributions, whatever their sign."""
        return sorted(self.rows, key=lambda row: -abs(row.contribution))[:most]

    def plot(self, axes: Any = None, most: int = 10) -> Any:
        """Draws the largest contributions as bars (matplotlib), and returns the axes."""
        return plot([self], axes, most)


@dataclass(frozen=True)
class Explanation:
    """The scores of documents for a query."""

    query: str
    #: How the query was read: "composed" or "encoded".
    mode: str
    #: The state of the index.
    generation: str
    documents: list[ExplainedDocument]
    #: Everything the library tells.
    details: dict[str, Any] = field(repr=False)

    @classmethod
    def of_json(cls, text: str) -> Explanation:
        details = json.loads(text)
        return cls(
            query=details["query"],
            mode=details["mode"],
            generation=details["generation"],
            documents=[_document(document) for document in details["documents"]],
            details=details,
        )

    def to_frame(self) -> Any:
        """A pandas data frame: a row for each document and contribution."""
        from ._frames import pandas

        rows = [
            (document.id, row.part, row.name, row.plain, row.contribution)
            for document in self.documents
            for row in document.rows
        ]
        return pandas().DataFrame(rows, columns=["docno", "part", "name", "plain", "contribution"])

    def plot(self, axes: Any = None, most: int = 10) -> Any:
        """Draws the documents' largest contributions side by side (matplotlib), and returns the axes."""
        return plot(self.documents, axes, most, title=self.query)


def _document(details: dict[str, Any]) -> ExplainedDocument:
    explanation = details["explanation"]
    return ExplainedDocument(
        id=details["id"],
        title=details["title"],
        rank=details["rank"],
        first_stage_rank=details["first_stage_rank"],
        meaning_rank=details["meaning_rank"],
        score=explanation["score"],
        deep=explanation["deep"],
        lexi=explanation["lexi"],
        others=explanation["others"],
        rows=[ContributionRow(**row) for row in details["rows"]],
        details=details,
    )


def plot(documents: list[ExplainedDocument], axes: Any, most: int, title: str = "") -> Any:
    """Horizontal bars: the rows that matter most to any of the documents, a colour for each document."""
    if axes is None:
        try:
            import matplotlib.pyplot as pyplot
        except ImportError as error:
            raise ImportError("plots need matplotlib: pip install matplotlib, or the extra `notebook`") from error

        axes = pyplot.subplots(figsize=(8, 0.6 + 0.4 * most))[1]
    largest: dict[str, float] = {}
    for document in documents:
        for row in document.rows:
            largest[row.plain] = max(largest.get(row.plain, 0.0), abs(row.contribution))
    names = sorted(largest, key=lambda name: -largest[name])[:most]
    height = 0.8 / max(len(documents), 1)
    for place, document in enumerate(documents):
        values = [sum(row.contribution for row in document.rows if row.plain == name) for name in names]
        label = f"{document.title or document.id} ({document.score:.2f})"
        axes.barh([row + place * height for row in range(len(names))], values, height, label=label)
    axes.set_yticks([row + height * (len(documents) - 1) / 2 for row in range(len(names))], names)
    axes.invert_yaxis()
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_xlabel("contribution to the score")
    axes.set_title(title)
    axes.legend()
    return axes
