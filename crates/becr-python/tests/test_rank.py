"""Search, re-ranking and explanations; and that they are those of the program `becr`."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable

import numpy as np
import pytest

import becr
from conftest import SAMPLE

Program = Callable[..., str]


def read_run(path: pathlib.Path) -> dict[str, list[tuple[str, np.float32]]]:
    run: dict[str, list[tuple[str, np.float32]]] = {}
    for line in path.read_text().splitlines():
        query, _, document, _, score, _ = line.split()
        run.setdefault(query, []).append((document, np.float32(score)))
    return run


@pytest.mark.parametrize("mode", ["composed", "encoded"])
def test_scores_are_those_of_the_program(
    mode: str, sample: becr.Index, queries: dict[str, str], program: Program, tmp_path: pathlib.Path
) -> None:
    candidates, ranked = tmp_path / "bm25.run", tmp_path / "becr.run"
    common = [sample.path, "--queries", SAMPLE / "queries.tsv"]
    program("search", *common, "--run-out", candidates, "--first-stage", "--k", 100)
    with candidates.open("a") as file:
        file.write("q01 Q0 nobody-knows-it 101 0.001 unknown\n")
    program("rerank", *common, "--run", candidates, "--out", ranked, "--mode", mode)
    expected = read_run(ranked)
    assert len(expected) == 130
    for query, documents in read_run(candidates).items():
        ours = sample.rerank(queries[query], documents, mode=mode)
        # Exactly: the program writes as many digits as single precision has. It orders ties as trec_eval does.
        assert dict(zip(ours.ids, ours.scores)) == dict(expected[query])
        assert ours.unknown == (["nobody-knows-it"] if query == "q01" else [])


def test_search_is_that_of_the_program(sample: becr.Index, program: Program) -> None:
    told = json.loads(program("search", sample.path, "sourdough dense crumb", "--json"))
    expected = [(result["id"], np.float32(result["score"])) for result in told["results"]]
    answer = sample.search("sourdough dense crumb")
    assert [(result.id, np.float32(result.score)) for result in answer] == expected
    assert answer[0].rank == 1 and answer[-1].rank == len(answer) == len(expected) > 3
    with pytest.raises(IndexError):
        answer[len(answer)]


def test_arrays_are_float32_and_add_up(sample: becr.Index) -> None:
    ids = [result.id for result in sample.search("bank erosion", 30, first_stage=True)]
    ranking = sample.rerank("bank erosion", ids)
    assert ranking.scores.dtype == np.float32 and ranking.scores.shape == (len(ids),)
    assert np.all(np.diff(ranking.scores) <= 0)
    np.testing.assert_allclose(ranking.deep + ranking.lexi + ranking.others, ranking.scores, atol=1e-4)
    assert [ids[place] for place in ranking.places] == ranking.ids
    assert list(ranking) == list(zip(ranking.ids, ranking.scores.tolist()))
    assert ranking.timing["total"] > 0 and set(ranking.sources) == {"index"}


def test_shapes_of_candidates_mean_the_same(sample: becr.Index) -> None:
    hits = {result.id: result.score for result in sample.search("kid fever", 20, first_stage=True)}
    expected = list(sample.rerank("kid fever", hits))
    assert list(sample.rerank("kid fever", list(hits.items()))) == expected
    assert list(sample.rerank("kid fever", iter(hits.items()))) == expected
    assert list(sample.rerank("kid fever", [{"id": id, "score": score} for id, score in hits.items()])) == expected
    assert list(sample.rerank("kid fever", {id: np.float64(score) for id, score in hits.items()})) == expected
    assert list(sample.rerank("kid fever", {id: 1 for id in hits})) != expected


def test_texts_that_are_in_no_index(sample: becr.Index) -> None:
    title, text = sample.text("brick-loaf") or ("", "")
    candidates = [
        {"id": "brick-loaf"},
        {"id": "the same", "title": title, "text": text},
        {"id": "nonsense", "text": "Minutes of the annual meeting of the parish council."},
        {"id": "missing"},
    ]
    first = sample.rerank("sourdough dense crumb", candidates)
    assert dict(zip(first.ids, first.sources)) == {
        "brick-loaf": "index",
        "the same": "encoded",
        "nonsense": "encoded",
        "missing": "unknown",
    }
    scores = dict(first)
    assert scores["the same"] == pytest.approx(scores["brick-loaf"], abs=1e-3)
    assert scores["brick-loaf"] > scores["nonsense"] > scores["missing"] and first.unknown == ["missing"]
    again = sample.rerank("sourdough dense crumb", candidates)
    assert set(again.sources) == {"index", "cached", "unknown"} and dict(again) == scores
    with pytest.raises(becr.InvalidInputError, match="WordPieces"):
        sample.rerank("a", [{"id": "long", "text": "word " * 100}], budget=10)


def test_options(sample: becr.Index) -> None:
    query, ids = "jaguar running speed", [result.id for result in sample.search("jaguar running speed", 20)]
    plain = sample.rerank(query, ids, mode="composed")
    assert list(sample.rerank(query, ids, mode="encoded")) != list(plain)
    without = sample.rerank(query, ids, mode="composed", without=["deep"])
    assert np.all(without.deep == 0) and np.all(without.lexi == without.scores - without.others)
    assert list(sample.rerank(query, ids, scorer="one-vector", weight=0.5)) != list(plain)
    for wrong in [{"mode": "x"}, {"scorer": "x"}, {"without": ["x"]}, {"weight": 1.0}]:
        with pytest.raises(becr.InvalidInputError):
            sample.rerank(query, ids, **wrong)  # type: ignore[arg-type]


def test_explanations_add_up(sample: becr.Index) -> None:
    answer = sample.search("sourdough dense crumb", reasons=True, snippets=True)
    explanation = sample.explain("sourdough dense crumb", [answer[0].id, answer[1].id])
    for document, result in zip(explanation.documents, answer):
        assert (document.id, document.rank) == (result.id, result.rank)
        assert document.score == pytest.approx(result.score, abs=1e-4)
        assert sum(row.contribution for row in document.rows) == pytest.approx(document.score, abs=1e-3)
        assert result.reasons and result.snippet
        marks = [result.snippet.text[start:end] for start, end in result.snippet.marks]
        assert all(mark.strip() == mark and mark for mark in marks)
    assert explanation.generation == answer.generation and explanation.mode == sample.mode
    with pytest.raises(becr.NotFoundError, match="nobody"):
        sample.explain("sourdough", "nobody")


def test_runs_and_frames(sample: becr.Index, queries: dict[str, str]) -> None:
    bm25 = sample.search_all(queries, 50, first_stage=True)
    ours = sample.rerank_all(queries, {**bm25, "unheard": {"a": 1.0}}, threads=2)
    assert ours.pop("unheard") == {"a": 1.0}
    qrels = SAMPLE / "qrels.txt"
    before, after = becr.evaluate(bm25, qrels), becr.evaluate(ours, qrels)
    assert after["nDCG@10"] > before["nDCG@10"] + 0.1
    frame = sample.search("bank erosion").to_frame()
    assert list(frame["rank"]) == list(range(1, 11))
    ranked = sample.rerank("bank erosion", list(frame["id"])).to_frame()
    assert set(ranked["docno"]) == set(frame["id"]) and list(ranked["rank"]) == list(range(10))
    assert len(sample.explain("bank erosion", frame["id"][0]).to_frame()) > 3
