"""BECR as a document compressor of LangChain: `pip install 'becr[langchain]'`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

try:
    from langchain_core.callbacks import Callbacks
    from langchain_core.documents import BaseDocumentCompressor, Document
except ImportError as error:
    raise ImportError("becr.langchain needs LangChain: pip install 'becr[langchain]'") from error
from pydantic import ConfigDict

from ._index import Index

__all__ = ["BECRReranker"]


class BECRReranker(BaseDocumentCompressor):
    """Keeps the `top_n` documents that answer the query best, with their scores in `metadata["relevance_score"]`.

    A document whose `id` the index has is ranked from there; the texts of others are encoded, and kept for the next query.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    #: The index to rank with.
    index: Index
    #: How many documents are kept.
    top_n: int = 3
    #: How the query is read: "composed" or "encoded"; else as the index says.
    mode: str | None = None

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> Sequence[Document]:
        """Ranks documents for a query."""
        given: list[dict[str, Any]] = []
        for place, document in enumerate(documents):
            title = document.metadata.get("title")
            given.append(
                {
                    "id": document.id if document.id is not None else f"\0{place}",
                    "title": title if isinstance(title, str) else "",
                    "text": document.page_content,
                }
            )
        given = _named_once(given)
        ranking = self.index.rerank(query, given, mode=self.mode)
        kept = []
        for place, score in list(zip(ranking.places.tolist(), ranking.scores.tolist()))[: self.top_n]:
            document = documents[place]
            metadata = {**document.metadata, "relevance_score": score}
            kept.append(Document(id=document.id, page_content=document.page_content, metadata=metadata))
        return kept


def _named_once(given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Gives an id that comes again another name: retrievers may return several passages of one document."""
    seen: set[str] = set()
    for place, candidate in enumerate(given):
        if candidate["id"] in seen:
            candidate["id"] = f"\0{place}"
        seen.add(candidate["id"])
    return given
