"""Vectors of texts."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

import becr


@pytest.fixture(scope="module")
def encoder() -> becr.Encoder:
    return becr.Encoder()


def test_vectors(encoder: becr.Encoder) -> None:
    text = "A dense bread, said Zoë."
    tokens = encoder.tokens(text)
    assert [text[start:end].lower() for _, start, end in tokens][:3] == ["a", "dense", "bread"]
    vectors = encoder.token_vectors(text)
    assert vectors.shape == (len(encoder.layers), len(tokens), encoder.dim) and vectors.dtype == np.float32
    np.testing.assert_allclose(encoder.encode(text), vectors[-1].mean(axis=0), atol=1e-4)
    both = encoder.encode([text, "Another text."])
    assert both.shape == (2, encoder.dim)
    np.testing.assert_array_equal(both[0], encoder.encode(text))
    assert encoder.encode([]).shape == (0, encoder.dim)


def test_near_texts_are_near(encoder: becr.Encoder) -> None:
    vectors = encoder.encode(["my bread is too heavy", "dense loaf of sourdough", "parish council minutes"])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]


def test_wrong_models(tmp_path: pathlib.Path) -> None:
    with pytest.raises(becr.ModelError):
        becr.Encoder(tmp_path)
    with pytest.raises(becr.InvalidInputError, match="precision"):
        becr.Encoder(precision="f64")
