"""No argument, of whatever type and value, ends in anything but an answer or an ordinary exception."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import becr

#: What bad arguments may raise. A panic of the native part is none of these.
ORDINARY = (becr.BecrError, TypeError, ValueError, OverflowError, AttributeError, KeyError)

SETTINGS = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters()),  # lone surrogates too
    st.binary(),
    st.sampled_from([np.float32(1), np.int64(3), np.nan, object(), int, Ellipsis, "brick-loaf", "", "\0"]),
)
anything = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(st.one_of(st.text(max_size=3), st.sampled_from(["id", "score", "text"])), inner, max_size=3),
        st.sets(st.text(max_size=3), max_size=3),
    ),
    max_leaves=8,
)
candidates = st.one_of(
    anything,
    st.lists(
        st.one_of(
            st.text(max_size=5),
            st.tuples(st.sampled_from(["brick-loaf", "poke-test", "x"]), scalars),
            st.fixed_dictionaries({"id": scalars}, optional={"score": scalars, "text": scalars, "features": anything}),
        ),
        max_size=5,
    ),
)
words = st.one_of(st.none(), st.sampled_from(["composed", "encoded", "one-vector", "deep", "becr"]), scalars)
numbers = st.one_of(st.integers(-3, 20), st.integers(), scalars)


def calm(call: Any) -> None:
    try:
        call()
    except ORDINARY:
        pass


@given(query=st.one_of(st.text(), scalars), given=candidates, mode=words, scorer=words, without=anything, weight=scalars)
@SETTINGS
def test_rerank(
    sample: becr.Index, query: Any, given: Any, mode: Any, scorer: Any, without: Any, weight: Any
) -> None:
    calm(lambda: sample.rerank(query, given))
    calm(lambda: sample.rerank(query, given, mode=mode))
    calm(lambda: sample.rerank("bread", ["brick-loaf"], scorer=scorer, without=without, weight=weight))


@given(query=st.one_of(st.text(), scalars), k=numbers, depth=numbers, mode=words, ids=anything)
@SETTINGS
def test_search_and_explain(sample: becr.Index, query: Any, k: Any, depth: Any, mode: Any, ids: Any) -> None:
    calm(lambda: sample.search(query, k, depth=depth))
    calm(lambda: sample.search(query, 3, mode=mode, reasons=True, snippets=True))
    calm(lambda: sample.explain("bread", ids, depth=depth))
    calm(lambda: sample.explain(query, "brick-loaf"))


@given(value=anything, other=anything)
@SETTINGS
def test_everything_else(sample: becr.Index, tmp_path_factory: pytest.TempPathFactory, value: Any, other: Any) -> None:
    missing = tmp_path_factory.getbasetemp() / "no such folder" / "index"
    calm(lambda: sample.text(value))
    calm(lambda: value in sample)
    calm(lambda: becr.evaluate(value, other))
    calm(lambda: becr.evaluate({"q": {"d": 1.0}}, {"q": {"d": 1}}, value))
    calm(lambda: becr.Encoder(precision=value))
    calm(lambda: becr.Index.open(missing, head=value, model=value))
    calm(lambda: becr.Index.build(sample.text, missing, mode=value, precision=other))


@given(documents=st.one_of(anything, st.lists(st.one_of(anything, st.tuples(st.text(), st.text())), max_size=3)))
@settings(SETTINGS, max_examples=60)
def test_documents(tmp_path_factory: pytest.TempPathFactory, documents: Any) -> None:
    out = tmp_path_factory.mktemp("built") / "index"
    calm(lambda: becr.Index.build(documents, out, lexical=True, progress=False))
    if not isinstance(documents, (str, bytes)):
        calm(lambda: becr.Index.build(documents, out, mode="encoded", progress=False, overwrite=True))
