"""Answers as pandas data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._becr import Ranking, SearchAnswer


def pandas() -> Any:
    """pandas, or what to install."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError("data frames need pandas: pip install 'becr[pandas]'") from error
    return pandas


def of_ranking(ranking: Ranking) -> Any:
    return pandas().DataFrame(
        {
            "docno": ranking.ids,
            "score": ranking.scores,
            "rank": range(len(ranking)),
            "deep": ranking.deep,
            "lexi": ranking.lexi,
            "others": ranking.others,
        }
    )


def of_search(answer: SearchAnswer) -> Any:
    columns = ["rank", "id", "title", "score", "deep", "lexi", "others", "first_stage_rank", "first_stage_score"]
    rows = [[getattr(result, column) for column in columns] for result in answer]
    return pandas().DataFrame(rows, columns=columns)
