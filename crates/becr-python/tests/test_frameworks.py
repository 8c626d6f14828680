"""PyTerrier, LangChain and LlamaIndex, with the real packages."""

from __future__ import annotations

import pandas as pd
import pytest

import becr
from conftest import SAMPLE


@pytest.fixture(scope="module")
def bm25(sample: becr.Index, queries: dict[str, str]) -> pd.DataFrame:
    """What a retriever gives PyTerrier."""
    rows = []
    for qid, query in queries.items():
        for result in sample.search(query, 50, first_stage=True):
            rows.append((qid, query, result.id, result.rank - 1, result.score))
    return pd.DataFrame(rows, columns=["qid", "query", "docno", "rank", "score"])


def test_pyterrier_experiment(sample: becr.Index, queries: dict[str, str], bm25: pd.DataFrame) -> None:
    import pyterrier as pt

    from becr.pyterrier import BECRReranker

    lines = [line.split() for line in (SAMPLE / "qrels.txt").read_text().splitlines()]
    qrels = pd.DataFrame([(q, d, int(g)) for q, _, d, g in lines], columns=["qid", "docno", "label"])
    topics = pd.DataFrame(list(queries.items()), columns=["qid", "query"])
    first = pt.Transformer.from_df(bm25)
    systems = [first, first >> BECRReranker(sample), first % 20 >> sample.as_pyterrier_transformer(mode="composed")]
    table = pt.Experiment(
        systems, topics, qrels, ["ndcg_cut_10", "recip_rank"], names=["BM25", "BECR", "BECR composed"], baseline=0
    ).set_index("name")
    expected = becr.evaluate(bm25, qrels, "nDCG@10")["nDCG@10"]
    assert table.loc["BM25", "ndcg_cut_10"] == pytest.approx(expected, abs=1e-6)
    ours = becr.evaluate(sample.rerank_all(queries, as_run(bm25)), qrels, "nDCG@10")["nDCG@10"]
    assert table.loc["BECR", "ndcg_cut_10"] == pytest.approx(ours, abs=1e-6)
    assert ours > expected + 0.1


def as_run(frame: pd.DataFrame) -> dict[str, dict[str, float]]:
    run: dict[str, dict[str, float]] = {}
    for qid, docno, score in frame[["qid", "docno", "score"]].itertuples(index=False):
        run.setdefault(qid, {})[docno] = score
    return run


def test_pyterrier_frames(sample: becr.Index, bm25: pd.DataFrame) -> None:
    from becr.pyterrier import BECRReranker

    reranker = BECRReranker(sample.path)
    one = bm25[bm25.qid == "q01"].assign(kept=7)
    ranked = reranker(one)
    assert set(ranked.columns) == set(one.columns) and set(ranked.docno) == set(one.docno)
    assert list(ranked["rank"]) == list(range(len(one))) and ranked.score.is_monotonic_decreasing
    expected = sample.rerank("sourdough dense crumb", dict(zip(one.docno, one.score)))
    assert list(ranked.docno) == expected.ids and list(ranked.score) == expected.scores.tolist()
    texts = pd.DataFrame(
        {"qid": ["1"] * 3, "query": ["heavy loaf"] * 3, "docno": ["a", "b", "a"], "text": ["parish", "dense bread", "x"]}
    )
    assert list(reranker(texts).docno) == ["b", "a"]
    assert len(reranker(one.iloc[:0])) == 0
    with pytest.raises(Exception, match="query"):
        reranker(one.drop(columns="query"))


def test_langchain(sample: becr.Index) -> None:
    from langchain_core.documents import Document

    from becr.langchain import BECRReranker

    documents = [
        Document(page_content="Minutes of the parish council.", metadata={"from": 1}),
        Document(page_content="Dense sourdough: the dough was proved too briefly.", metadata={"from": 2}),
        Document(page_content="is in the index", id="brick-loaf"),
        Document(page_content="A passage more.", id="brick-loaf"),
    ]
    kept = BECRReranker(index=sample, top_n=2).compress_documents(documents, "sourdough dense crumb")
    assert [document.metadata.get("from", document.id) for document in kept] in ([2, "brick-loaf"], ["brick-loaf", 2])
    scores = [document.metadata["relevance_score"] for document in kept]
    assert scores == sorted(scores, reverse=True) and "relevance_score" not in documents[0].metadata
    assert BECRReranker(index=sample).compress_documents([], "x") == []


def test_llama_index(sample: becr.Index) -> None:
    from llama_index.core.schema import NodeWithScore, TextNode

    from becr.llama_index import BECRReranker

    texts = {"a": "Minutes of the parish council.", "b": "Dense sourdough: the dough was proved too briefly."}
    nodes = [NodeWithScore(node=TextNode(text=text, id_=id), score=0.5) for id, text in texts.items()]
    reranker = BECRReranker(index=sample, top_n=1)
    kept = reranker.postprocess_nodes(nodes, query_str="sourdough dense crumb")
    assert [node.node.node_id for node in kept] == ["b"] and kept[0].score != 0.5
    with pytest.raises(ValueError, match="query"):
        reranker.postprocess_nodes(nodes)
