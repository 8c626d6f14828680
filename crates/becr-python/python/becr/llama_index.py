"""BECR as a node postprocessor of LlamaIndex: `pip install 'becr[llamaindex]'`."""

from __future__ import annotations

try:
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
except ImportError as error:
    raise ImportError("becr.llama_index needs LlamaIndex: pip install 'becr[llamaindex]'") from error
from pydantic import ConfigDict

from ._index import Index

__all__ = ["BECRReranker"]


class BECRReranker(BaseNodePostprocessor):
    """Keeps the `top_n` nodes that answer the query best, with BECR's scores.

    A node whose id the index has is ranked from there; the texts of others are encoded, and kept for the next query. The
    retriever's scores count as the first stage's, if every node has one.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    #: The index to rank with.
    index: Index
    #: How many nodes are kept.
    top_n: int = 3
    #: How the query is read: "composed" or "encoded"; else as the index says.
    mode: str | None = None

    @classmethod
    def class_name(cls) -> str:
        """The name that LlamaIndex knows it by."""
        return "BECRReranker"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise ValueError("BECRReranker ranks for a query: give query_bundle or query_str")
        distinct = list({node.node.node_id: node for node in nodes}.values())
        has_scores = all(node.score is not None for node in distinct)
        given = [
            {
                "id": node.node.node_id,
                "text": node.node.get_content(metadata_mode=MetadataMode.NONE),
                "score": node.score if has_scores else None,
            }
            for node in distinct
        ]
        ranking = self.index.rerank(query_bundle.query_str, given, mode=self.mode)
        places = zip(ranking.places.tolist(), ranking.scores.tolist())
        return [NodeWithScore(node=distinct[place].node, score=score) for place, score in places][: self.top_n]
