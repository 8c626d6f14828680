"""Vectors of texts."""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from . import _becr


class Encoder:
    """A model that encodes texts on the CPU: the bundled one, one in a directory, or `hf:owner/name` of the hub.

    Vectors are those that footprints are made of, seen from the model's centre.
    """

    def __init__(self, model: str | os.PathLike[str] | None = None, *, precision: str = "f32") -> None:
        self._native = _becr.NativeEncoder(model=model, precision=precision)

    @property
    def dim(self) -> int:
        """Length of a vector."""
        return self._native.dim

    @property
    def layers(self) -> list[int]:
        """The layers whose vectors are kept; 0 is the embedding layer."""
        return self._native.layers

    def tokens(self, text: str) -> list[tuple[str, int, int]]:
        """The WordPieces of a text, with their places in it: (piece, start, end), in characters."""
        return self._native.tokens(text)

    def token_vectors(self, text: str, title: str = "") -> npt.NDArray[np.float32]:
        """The vectors of a text's WordPieces at every kept layer: `[layers, tokens, dim]`."""
        return self._native.token_vectors(text, title)

    def encode(self, texts: str | Iterable[str]) -> npt.NDArray[np.float32]:
        """The mean vectors of texts at the last kept layer: `[texts, dim]`, or `[dim]` for one text."""
        if isinstance(texts, str):
            vector: npt.NDArray[np.float32] = self._native.mean_vectors([texts])[0]
            return vector
        return self._native.mean_vectors(list(texts))
