"""An index."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from . import _documents
from ._becr import NativeIndex, Ranking, SearchAnswer
from ._explain import Explanation
from ._progress import Progress, watched

if TYPE_CHECKING:
    from .pyterrier import BECRReranker

Path = str | os.PathLike[str]

#: WordPieces of texts that are encoded for one query at most, unless said otherwise.
BUDGET = 1_000_000


@dataclass(frozen=True)
class BuildSummary:
    """What a build made."""

    documents: int
    #: Of these, done by an earlier, interrupted try.
    resumed: int
    #: WordPieces of all documents.
    tokens: int
    #: Token groups.
    groups: int
    #: Size on disk.
    bytes: int


@dataclass(frozen=True)
class ChangeSummary:
    """What a change did."""

    added: int = 0
    replaced: int = 0
    skipped: int = 0
    deleted: int = 0
    #: Ids to be deleted that the index did not have.
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verification:
    """What a check found."""

    documents: int
    groups: int
    #: What is wrong, a sentence each.
    problems: list[str]
    #: What could not be checked, a sentence each.
    unchecked: list[str]

    def __bool__(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


class Index:
    """An index, open: it searches, re-ranks the candidates of other engines, explains, and takes documents in and out.

    Calls from several threads run side by side. Every call sees the newest state that was published when it began, by
    this process or another. Opening the same index twice shares its memory. `mode` is how a query is read: "composed" of
    word vectors that were computed with the index, or "encoded" by the model; unless said otherwise, as the index and
    its model say.
    """

    def __init__(self, native: NativeIndex, arguments: tuple[Path, Path | None, Path | None] | None = None) -> None:
        if arguments is None:
            raise TypeError("Index.open(path) opens an index, Index.build(documents, path) builds one")
        self._native = native
        self._arguments = arguments
        #: What a build made, on an index that was just built.
        self.built: BuildSummary | None = None

    @classmethod
    def open(cls, path: Path, *, head: Path | None = None, model: Path | None = None) -> Index:
        """Opens an index.

        `head` is a file with a trained head to rank with, in the place of the index's own; `model` the directory of its
        model, if that is no longer where it was.
        """
        return cls(NativeIndex.open(path, head=head, model=model), (path, head, model))

    @classmethod
    def build(
        cls,
        documents: Any,
        out: Path,
        *,
        model: Path | None = None,
        mode: str = "composed",
        precision: str | None = None,
        overwrite: bool = False,
        keep_text: bool = True,
        identity: str | None = None,
        lexical: bool = False,
        progress: bool | Progress = True,
    ) -> Index:
        """Builds an index in the folder `out`, and opens it.

        `documents` are dicts, named tuples or objects with an id (`id`, `doc_id`, `docno`) and a `text`, perhaps a
        `title` and `features` (a dict of names to numbers); or (id, text) or (id, title, text) tuples; of any iterator, a
        pandas or pyarrow frame, or a dataset of ir_datasets. A path, or a list of paths, is read as `becr index` reads it.

        `model` is a directory or `hf:owner/name`, else the bundled one. An index of mode "composed" serves encoded queries
        too; mode "encoded" makes no token groups, builds faster, and serves encoded queries alone. `precision` is "f32"
        or "int8", else as the model says: int8 for the bundled one. With `lexical` nothing is encoded: BM25 alone.

        A build can be interrupted (Ctrl-C) at any time. The same build goes on where it stopped if its documents are
        files, a list or a frame, or if `identity` names them: a text that is another for other documents.
        """
        given = _documents.paths(documents)
        if given is None and identity is None and not lexical:
            identity = _documents.identity(documents)
        source = _documents.rows(documents) if given is None else given
        with watched(progress) as told:
            native, summary = NativeIndex.build(
                source,
                out,
                model=model,
                mode=mode,
                precision=precision,
                overwrite=overwrite,
                keep_text=keep_text,
                identity=identity,
                lexical=lexical,
                progress=told,
            )
        index = cls(native, (out, None, model))
        index.built = BuildSummary(**json.loads(summary))
        return index

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        """Workers that are spawned open the index themselves."""
        return _open, (type(self), *self._arguments)

    def __repr__(self) -> str:
        return f"<becr.Index {os.fspath(self._arguments[0])!r}>"

    def __len__(self) -> int:
        return len(self._native)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self._native.contains(id)

    @property
    def path(self) -> os.PathLike[str]:
        """Where the index is."""
        return self._native.path

    @property
    def mode(self) -> str:
        """How queries are read unless said otherwise."""
        return self._native.mode

    @property
    def precision(self) -> str:
        """What the documents were encoded in."""
        return self._native.precision

    def text(self, id: str) -> tuple[str, str] | None:
        """Title and text of a document, if the index has it and keeps texts."""
        return self._native.text(id)

    def search(
        self,
        query: str,
        k: int = 10,
        *,
        depth: int = 150,
        find_by: str = "both",
        mode: str | None = None,
        scorer: str | None = None,
        without: Iterable[str] = (),
        weight: float | None = None,
        first_stage: bool = False,
        reasons: bool = False,
        snippets: bool = False,
    ) -> SearchAnswer:
        """Finds candidates and re-ranks them: `depth` by words (BM25), and as many by meaning (the documents' vectors).
        `find_by` is "both", "words" or "meaning". With `first_stage`, BM25 alone.

        `reasons` tells the largest contributions to each score, `snippets` the passage nearest to the query.
        """
        return self._native.search(
            query,
            k=k,
            depth=depth,
            find_by=find_by,
            mode=mode,
            scorer=scorer,
            without=list(without),
            weight=weight,
            first_stage=first_stage,
            reasons=reasons,
            snippets=snippets,
        )

    def rerank(
        self,
        query: str,
        candidates: Mapping[str, float | None] | Iterable[str | tuple[str, float | None] | Mapping[str, Any]],
        *,
        mode: str | None = None,
        scorer: str | None = None,
        without: Iterable[str] = (),
        weight: float | None = None,
        budget: int = BUDGET,
    ) -> Ranking:
        """Ranks the candidates of any first stage.

        Candidates are a dict of ids to scores, or an iterable of ids, of (id, score) pairs, or of dicts with `id` and, if
        there are any, `score`, `title`, `text` and `features`. The text of a document that the index does not have is
        encoded, at most `budget` WordPieces for a query, and kept for the next one. `scorer` is "composite" or
        "one-vector", the score to compare with, whose cosine has `weight`; `without` names parts of the score to leave out: "deep",
        "lexi", "others".
        """
        return self._native.rerank(
            query, candidates, mode=mode, scorer=scorer, without=list(without), weight=weight, budget=budget
        )

    def search_all(
        self, queries: Mapping[str, str], k: int = 100, *, threads: int | None = None, **options: Any
    ) -> dict[str, dict[str, float]]:
        """Searches for many queries (query id → text) on several threads: a run, query id → document id → score."""

        def one(query: str) -> dict[str, float]:
            return {result.id: result.score for result in self.search(query, k, **options)}

        return _each(one, queries, threads)

    def rerank_all(
        self,
        queries: Mapping[str, str],
        run: Mapping[str, Mapping[str, float]],
        *,
        threads: int | None = None,
        **options: Any,
    ) -> dict[str, dict[str, float]]:
        """Re-ranks a run (query id → document id → score) on several threads; queries that have no text stay as they are."""
        known = {query: (queries[query], documents) for query, documents in run.items() if query in queries}

        def one(task: tuple[str, Mapping[str, float]]) -> dict[str, float]:
            return dict(self.rerank(task[0], dict(task[1]), **options))

        ranked = _each(one, known, threads)
        return {query: ranked.get(query, dict(documents)) for query, documents in run.items()}

    def explain(
        self,
        query: str,
        documents: str | Iterable[str],
        *,
        depth: int = 150,
        find_by: str = "both",
        mode: str | None = None,
        scorer: str | None = None,
        without: Iterable[str] = (),
        weight: float | None = None,
    ) -> Explanation:
        """Takes the scores of documents apart, as they stand among `depth` candidates of each kind."""
        ids = [documents] if isinstance(documents, str) else list(documents)
        answer = self._native.explain(
            query,
            ids,
            depth=depth,
            find_by=find_by,
            mode=mode,
            scorer=scorer,
            without=list(without),
            weight=weight,
        )
        return Explanation.of_json(answer)

    def add(self, documents: Any, *, existing: str = "refuse", progress: bool | Progress = True) -> ChangeSummary:
        """Adds documents, as `build` takes them. They are written in batches; other threads go on searching.

        `existing` says what to do with a document whose id the index has: "refuse" stops, "skip" leaves the old one,
        "replace" puts the new one in its place.
        """
        given = _documents.paths(documents)
        source = _documents.rows(documents) if given is None else given
        with watched(progress) as told:
            added, replaced, skipped = self._native.add(source, existing=existing, progress=told)
        return ChangeSummary(added=added, replaced=replaced, skipped=skipped)

    def update(self, documents: Any, *, progress: bool | Progress = True) -> ChangeSummary:
        """Adds documents, in the place of those that have their ids."""
        return self.add(documents, existing="replace", progress=progress)

    def delete(self, ids: str | Iterable[str]) -> ChangeSummary:
        """Deletes documents, all in one step."""
        deleted, unknown = self._native.delete([ids] if isinstance(ids, str) else list(ids))
        return ChangeSummary(deleted=deleted, unknown=tuple(unknown))

    def compact(self, *, progress: bool | Progress = True) -> tuple[int, int]:
        """Writes the contents anew without free space; gives the size in bytes before and after."""
        with watched(progress) as told:
            return self._native.compact(progress=told)

    def reload(self) -> str:
        """Looks for the newest state, and says which it is. Calls do this by themselves."""
        return self._native.reload()

    def stats(self) -> dict[str, Any]:
        """What the index holds and takes. Reads every record."""
        stats: dict[str, Any] = json.loads(self._native.stats())
        return stats

    def verify(self) -> Verification:
        """Reads everything and says what is wrong."""
        return Verification(*self._native.verify())

    def as_pyterrier_transformer(self, **options: Any) -> BECRReranker:
        """A PyTerrier transformer that re-ranks with this index; see `becr.pyterrier.BECRReranker`."""
        from .pyterrier import BECRReranker

        return BECRReranker(self, **options)


def _open(kind: type[Index], path: Path, head: Path | None, model: Path | None) -> Index:
    return kind.open(path, head=head, model=model)


def _each(one: Any, tasks: Mapping[str, Any], threads: int | None) -> dict[str, dict[str, float]]:
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        return dict(zip(tasks, pool.map(one, tasks.values())))
