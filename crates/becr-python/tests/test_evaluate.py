"""Measures, with runs and judgements in every shape."""

from __future__ import annotations

import pathlib

import pandas as pd
import pytest

import becr

RUN = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0}, "q2": {"a": 1.0, "d": 2.0}}
QRELS = {"q1": {"b": 2, "c": 1, "x": 0}, "q2": {"d": 1}, "q3": {"z": 1}}


def test_shapes_mean_the_same(tmp_path: pathlib.Path) -> None:
    expected = becr.evaluate(RUN, QRELS, "RR P@2 nDCG@10")
    assert expected.per_query["q1"]["RR"] == 0.5 and expected["RR"] == 0.75 and expected["P@2"] == 0.5
    rows = [(query, document, score) for query, documents in RUN.items() for document, score in documents.items()]
    judged = [(query, document, grade) for query, documents in QRELS.items() for document, grade in documents.items()]
    run = pd.DataFrame(rows, columns=["qid", "docno", "score"])
    qrels = pd.DataFrame(judged, columns=["qid", "docno", "label"])
    (tmp_path / "run").write_text("".join(f"{q} Q0 {d} 1 {s} tag\n" for q, d, s in rows))
    (tmp_path / "qrels").write_text("".join(f"{q} 0 {d} {g}\n" for q, d, g in judged))
    for one in (rows, run, tmp_path / "run", str(tmp_path / "run")):
        for other in (judged, qrels, tmp_path / "qrels"):
            assert becr.evaluate(one, other, ["RR", "P@2", "nDCG@10"]) == expected
    assert list(expected.to_frame().columns) == ["RR", "P@2", "nDCG@10"]


def test_missing_answers() -> None:
    assert list(becr.evaluate(RUN, QRELS, "RR").per_query) == ["q1", "q2"]
    complete = becr.evaluate(RUN, QRELS, "RR", complete=True)
    assert complete["RR"] == 0.5 and complete.per_query["q3"] == {"RR": 0.0}
    assert becr.evaluate({}, QRELS).means == {}


def test_errors() -> None:
    with pytest.raises(becr.InvalidInputError, match="measure"):
        becr.evaluate(RUN, QRELS, "nothing@3")
    with pytest.raises(becr.NotFoundError):
        becr.evaluate("no/such/file", QRELS)
    with pytest.raises(becr.InvalidInputError, match="finite"):
        becr.evaluate({"q1": {"a": float("nan")}}, QRELS)
    with pytest.raises(becr.InvalidInputError, match="twice"):
        becr.evaluate([("q", "a", 1.0), ("q", "a", 2.0)], QRELS)
    with pytest.raises(becr.InvalidInputError, match="no column"):
        becr.evaluate(pd.DataFrame({"a": [1]}), QRELS)
