"""Official clients from PyPI against the running server."""

import sys

import cohere

address = sys.argv[1]
query = "why bread goes stale"
texts = [
    "Green tea wants water that no longer boils.",
    "Bread goes stale because its starch crystallises; warmth undoes it for a while.",
    "The bank lends money at interest.",
]


def check(name, places):
    assert places[0] == 1, f"{name}: {places}"
    print(f"{name}: ok")


for version, client in (
    ("cohere.Client (v1)", cohere.Client(api_key="none", base_url=address)),
    ("cohere.ClientV2", cohere.ClientV2(api_key="none", base_url=address)),
):
    answer = client.rerank(model="sample", query=query, documents=texts, top_n=2)
    assert len(answer.results) == 2
    scores = [result.relevance_score for result in answer.results]
    assert scores == sorted(scores, reverse=True) and all(0 <= score <= 1 for score in scores)
    check(version, [result.index for result in answer.results])
    try:
        client.rerank(model="sample", query="x" * 5000, documents=texts)
        raise AssertionError("a query that is too long was taken")
    except cohere.core.api_error.ApiError as error:
        assert error.status_code == 422 and "bytes" in str(error.body), error
        print(f"{version}: errors are told: {error.status_code}")

from langchain_cohere import CohereRerank as LangChainRerank
from langchain_core.documents import Document

rerank = LangChainRerank(client=cohere.ClientV2(api_key="none", base_url=address), model="sample", top_n=3)
documents = rerank.compress_documents([Document(page_content=text) for text in texts], query)
check("langchain_cohere.CohereRerank", [texts.index(document.page_content) for document in documents])

from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.postprocessor.cohere_rerank import CohereRerank as LlamaRerank

rerank = LlamaRerank(api_key="none", base_url=address, model="sample", top_n=3)
nodes = [NodeWithScore(node=TextNode(text=text), score=0.0) for text in texts]
ranked = rerank.postprocess_nodes(nodes, QueryBundle(query))
check("llama_index CohereRerank", [texts.index(node.node.get_content()) for node in ranked])
