"""The native part."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt

__all__ = [
    "NativeEncoder",
    "NativeIndex",
    "Ranking",
    "SearchAnswer",
    "SearchResult",
    "Snippet",
    "__version__",
    "evaluate",
]

__version__: str

_Path = str | os.PathLike[str]
_Progress = Callable[[str, int, int | None], object]

@final
class Ranking:
    """A ranked list: best first, documents that the index does not have last."""

    @property
    def ids(self) -> list[str]: ...
    @property
    def scores(self) -> npt.NDArray[np.float32]: ...
    @property
    def places(self) -> npt.NDArray[np.int64]: ...
    @property
    def deep(self) -> npt.NDArray[np.float32]: ...
    @property
    def lexi(self) -> npt.NDArray[np.float32]: ...
    @property
    def others(self) -> npt.NDArray[np.float32]: ...
    @property
    def unknown(self) -> list[str]: ...
    @property
    def sources(self) -> list[str]: ...
    @property
    def generation(self) -> str: ...
    @property
    def timing(self) -> dict[str, float]: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[tuple[str, float]]: ...
    def to_frame(self) -> Any: ...

@final
class Snippet:
    """A passage of a document's text."""

    @property
    def text(self) -> str: ...
    @property
    def marks(self) -> list[tuple[int, int]]: ...
    @property
    def starts_late(self) -> bool: ...
    @property
    def ends_early(self) -> bool: ...

@final
class SearchResult:
    """A document that was found."""

    @property
    def rank(self) -> int: ...
    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def score(self) -> float: ...
    @property
    def first_stage_rank(self) -> int | None: ...
    @property
    def meaning_rank(self) -> int | None: ...
    @property
    def first_stage_score(self) -> float: ...
    @property
    def deep(self) -> float | None: ...
    @property
    def lexi(self) -> float | None: ...
    @property
    def others(self) -> float | None: ...
    @property
    def reasons(self) -> list[tuple[str, float]] | None: ...
    @property
    def snippet(self) -> Snippet | None: ...

@final
class SearchAnswer:
    """What a search found."""

    @property
    def results(self) -> list[SearchResult]: ...
    @property
    def coverage(self) -> dict[str, int] | None: ...
    @property
    def generation(self) -> str: ...
    @property
    def timing(self) -> dict[str, float]: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[SearchResult]: ...
    def __getitem__(self, place: int, /) -> SearchResult: ...
    def to_frame(self) -> Any: ...

@final
class NativeEncoder:
    def __new__(cls, *, model: _Path | None, precision: str) -> NativeEncoder: ...
    @property
    def dim(self) -> int: ...
    @property
    def layers(self) -> list[int]: ...
    def tokens(self, text: str) -> list[tuple[str, int, int]]: ...
    def token_vectors(self, text: str, title: str) -> npt.NDArray[np.float32]: ...
    def mean_vectors(self, texts: Sequence[str]) -> npt.NDArray[np.float32]: ...

@final
class NativeIndex:
    @staticmethod
    def open(path: _Path, *, head: _Path | None, model: _Path | None) -> NativeIndex: ...
    @staticmethod
    def build(
        documents: Iterable[Any],
        out: _Path,
        *,
        model: _Path | None,
        mode: str,
        precision: str | None,
        overwrite: bool,
        keep_text: bool,
        identity: str | None,
        lexical: bool,
        progress: _Progress | None,
    ) -> tuple[NativeIndex, str]: ...
    @property
    def path(self) -> os.PathLike[str]: ...
    @property
    def mode(self) -> str: ...
    @property
    def precision(self) -> str: ...
    def __len__(self) -> int: ...
    def contains(self, id: str) -> bool: ...
    def text(self, id: str) -> tuple[str, str] | None: ...
    def search(
        self,
        query: str,
        *,
        k: int,
        depth: int,
        find_by: str,
        mode: str | None,
        scorer: str | None,
        without: Sequence[str],
        weight: float | None,
        first_stage: bool,
        reasons: bool,
        snippets: bool,
    ) -> SearchAnswer: ...
    def rerank(
        self,
        query: str,
        candidates: Mapping[str, float | None] | Iterable[str | tuple[str, float | None] | Mapping[str, Any]],
        *,
        mode: str | None,
        scorer: str | None,
        without: Sequence[str],
        weight: float | None,
        budget: int,
    ) -> Ranking: ...
    def explain(
        self,
        query: str,
        documents: Sequence[str],
        *,
        depth: int,
        find_by: str,
        mode: str | None,
        scorer: str | None,
        without: Sequence[str],
        weight: float | None,
    ) -> str: ...
    def add(
        self, documents: Iterable[Any], *, existing: str, progress: _Progress | None
    ) -> tuple[int, int, int]: ...
    def delete(self, ids: Sequence[str]) -> tuple[int, list[str]]: ...
    def compact(self, *, progress: _Progress | None) -> tuple[int, int]: ...
    def reload(self) -> str: ...
    def stats(self) -> str: ...
    def verify(self) -> tuple[int, int, list[str], list[str]]: ...

def evaluate(
    run: _Path | Iterable[tuple[str, str, float]],
    qrels: _Path | Iterable[tuple[str, str, int]],
    measures: str,
    *,
    complete: bool,
) -> tuple[list[str], list[tuple[str, list[float]]]]: ...
