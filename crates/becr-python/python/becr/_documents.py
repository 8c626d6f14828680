"""Documents of any kind as the native part takes them: (id, title, text, features) tuples."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .errors import InvalidInputError

Row = tuple[str, str, str, "dict[str, float] | None"]

#: Names of the fields, as ir_datasets, PyTerrier, BEIR and our own files have them.
_IDS = ("id", "doc_id", "docno", "docid", "_id")
_TEXTS = ("text", "body", "contents", "default_text")

_EXPECTED = (
    "expected dicts or objects with an id (id, doc_id, docno, docid or _id) and a text (text, body or contents), "
    "(id, text) or (id, title, text) tuples, a data frame with such columns, or paths of files and folders"
)


def paths(documents: Any) -> list[str] | None:
    """The paths, if `documents` is one or several; `None` for documents themselves."""
    if isinstance(documents, (str, os.PathLike)):
        return [os.fsdecode(documents)]
    if isinstance(documents, (list, tuple)) and documents:
        if all(isinstance(path, (str, os.PathLike)) for path in documents):
            return [os.fsdecode(path) for path in documents]
    return None


def rows(documents: Any) -> Iterator[Row]:
    """The documents of an iterable or a frame, one by one."""
    for document in _records(documents):
        yield _row(document)


def identity(documents: Any) -> str | None:
    """What tells these documents from others, so that an interrupted build of the same ones goes on.

    Lists, tuples and frames can be read twice; an iterator cannot, and has none.
    """
    if not (isinstance(documents, (list, tuple)) or _is_frame(documents)):
        return None
    digest = hashlib.blake2b(digest_size=16)
    for row in rows(documents):
        digest.update(json.dumps(row).encode("utf-8", "surrogatepass"))
    return "python:" + digest.hexdigest()


def _is_frame(documents: Any) -> bool:
    return hasattr(documents, "columns") and not isinstance(documents, Mapping)


def _records(documents: Any) -> Iterator[Any]:
    if isinstance(documents, (Mapping, bytes)):
        raise TypeError(f"documents: found {type(documents).__name__}; {_EXPECTED}")
    if _is_frame(documents):
        if hasattr(documents, "to_batches"):  # a pyarrow table, batch by batch
            for batch in documents.to_batches():
                yield from batch.to_pylist()
            return
        columns = [str(column) for column in documents.columns]
        for values in documents.itertuples(index=False, name=None):
            yield dict(zip(columns, values))
        return
    if hasattr(documents, "docs_iter"):  # a dataset of ir_datasets
        yield from documents.docs_iter()
        return
    if not isinstance(documents, Iterable):
        raise TypeError(f"documents: found {type(documents).__name__}; {_EXPECTED}")
    yield from documents


def _row(document: Any) -> Row:
    if isinstance(document, Mapping):
        return _of_fields(document)
    if hasattr(document, "_asdict"):  # named tuples, as ir_datasets has them
        return _of_fields(document._asdict())
    if isinstance(document, (tuple, list)):
        texts = [_text(value) for value in document]
        if len(texts) == 2:
            return texts[0], "", texts[1], None
        if len(texts) == 3:
            return texts[0], texts[1], texts[2], None
        raise InvalidInputError(f"a document of {len(texts)} fields; {_EXPECTED}")
    if hasattr(document, "__dict__"):
        return _of_fields(vars(document))
    raise TypeError(f"a document of type {type(document).__name__}; {_EXPECTED}")


def _of_fields(fields: Mapping[str, Any]) -> Row:
    found = next((name for name in _IDS if fields.get(name) is not None), None)
    if found is None:
        raise InvalidInputError(f"a document without an id, with the fields {', '.join(map(str, fields))}; {_EXPECTED}")
    text = next((name for name in _TEXTS if name in fields), None)
    if text is None and "title" not in fields:
        raise InvalidInputError(f"document {fields[found]!r} has no text; {_EXPECTED}")
    features = fields.get("features")
    if not (features is None or isinstance(features, Mapping)):
        raise InvalidInputError(f"document {fields[found]!r}: its features are no dict of names to numbers")
    return (
        _text(fields[found]),
        _text(fields.get("title")),
        _text(fields[text]) if text is not None else "",
        {str(name): float(value) for name, value in features.items()} if features else None,
    )


def _text(value: Any) -> str:
    """Ids may be numbers; what is missing in a frame is no text."""
    if isinstance(value, str):
        return value
    if value is None or (isinstance(value, float) and value != value):
        return ""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"a document's id, title or text is of type {type(value).__name__}; strings are expected")
    return str(int(value))
