"""Building, changing and looking after an index; errors."""

from __future__ import annotations

import collections
import pathlib
import pickle
import re
import threading
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import becr

TEXTS = {
    "bread": "A dense crumb means the dough was proved too briefly.",
    "tea": "Green tea wants water that no longer boils.",
    "bank": "The river bank was washed away by the flood in spring.",
}
Doc = collections.namedtuple("Doc", ["doc_id", "text"])


class Dataset:
    """What ir_datasets has."""

    def docs_iter(self) -> Iterator[Doc]:
        return (Doc(*pair) for pair in TEXTS.items())


class Record:
    def __init__(self, id: str, text: str) -> None:
        self.id, self.text = id, text


SOURCES: dict[str, Any] = {
    "pairs": lambda: list(TEXTS.items()),
    "generator": lambda: (pair for pair in TEXTS.items()),
    "dicts": lambda: [{"docno": id, "text": text} for id, text in TEXTS.items()],
    "named tuples": lambda: Dataset().docs_iter(),
    "dataset": Dataset,
    "objects": lambda: (Record(*pair) for pair in TEXTS.items()),
    "pandas": lambda: pd.DataFrame({"docno": list(TEXTS), "text": list(TEXTS.values())}),
    "pyarrow": lambda: pa.table({"doc_id": list(TEXTS), "text": list(TEXTS.values())}),
    "with titles": lambda: [(id, "", text) for id, text in TEXTS.items()],
}


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, float]]:
    folder = tmp_path_factory.mktemp("files")
    path = folder / "corpus.tsv"
    path.write_text("".join(f"{id}\t{text}\n" for id, text in TEXTS.items()))
    index = becr.Index.build(path, folder / "files.becr", mode="encoded", progress=False)
    return list(index.rerank("heavy loaf", list(TEXTS)))


@pytest.mark.parametrize("kind", SOURCES)
def test_documents_of_every_kind(kind: str, expected: list[tuple[str, float]], tmp_path: pathlib.Path) -> None:
    index = becr.Index.build(SOURCES[kind](), tmp_path / "i.becr", mode="encoded", progress=False)
    assert len(index) == 3 and index.built is not None and index.built.documents == 3
    assert list(index.rerank("heavy loaf", list(TEXTS))) == expected
    assert index.text("tea") == ("", TEXTS["tea"]) and "tea" in index and "coffee" not in index and 3 not in index


def test_a_life(changing: becr.Index) -> None:
    before = len(changing)
    assert changing.add(TEXTS.items(), progress=False) == becr.ChangeSummary(added=3)
    assert "tea" in {result.id for result in changing.search("green tea water")}
    with pytest.raises(becr.InvalidInputError, match="Index.update"):
        changing.add(TEXTS.items(), progress=False)
    assert changing.add(TEXTS.items(), existing="skip", progress=False).skipped == 3
    assert changing.update([("tea", "Black tea wants boiling water.")], progress=False).replaced == 1
    assert changing.text("tea") == ("", "Black tea wants boiling water.")
    generation = changing.reload()
    deleted = changing.delete(["tea", "coffee"])
    assert (deleted.deleted, deleted.unknown) == (1, ("coffee",))
    assert len(changing) == before + 2 and changing.reload() != generation
    size = changing.compact(progress=False)
    assert size[1] <= size[0] and len(changing) == before + 2
    check = changing.verify()
    assert check and check.problems == [] and check.documents == before + 2
    stats = changing.stats()
    assert stats["documents"] == before + 2 and stats["per_document"]["tokens"] > 0
    assert (changing.mode, changing.precision) == ("encoded", "int8")


def test_opening_twice_and_following(changing: becr.Index) -> None:
    again = becr.Index.open(changing.path)
    assert list(again.rerank("kid fever", ["brick-loaf"])) == list(changing.rerank("kid fever", ["brick-loaf"]))
    changing.add([("new", "a new one")], progress=False)
    assert "new" in again
    copy = pickle.loads(pickle.dumps(again))
    assert len(copy) == len(again)
    del changing, again
    assert "new" in copy


def test_modes_precision_and_lexical(tmp_path: pathlib.Path) -> None:
    index = becr.Index.build(TEXTS.items(), tmp_path / "a", mode="encoded", precision="f32", progress=False)
    assert (index.mode, index.precision) == ("encoded", "f32")
    with pytest.raises(becr.InvalidInputError, match='mode="encoded"'):
        index.search("bread", mode="composed")
    lexical = becr.Index.build(TEXTS.items(), tmp_path / "b", lexical=True, progress=False)
    assert lexical.search("dough", first_stage=True)[0].id == "bread"
    with pytest.raises(becr.InvalidInputError, match="lexical"):
        lexical.search("dough")


def test_errors_say_what_to_do(sample: becr.Index, tmp_path: pathlib.Path) -> None:
    with pytest.raises(becr.NotFoundError, match="not a BECR index"):
        becr.Index.open(tmp_path / "nothing")
    with pytest.raises(becr.ExistsError, match="overwrite=True"):
        becr.Index.build(TEXTS.items(), sample.path, progress=False)
    with pytest.raises(becr.InvalidInputError, match="no document"):
        becr.Index.build([], tmp_path / "a", progress=False)
    with pytest.raises(becr.InvalidInputError, match="comes twice"):
        becr.Index.build([("a", "x"), ("a", "y")], tmp_path / "b", progress=False)
    with pytest.raises(becr.ModelError):
        becr.Index.build(TEXTS.items(), tmp_path / "c", model=tmp_path / "no-model", progress=False)
    with pytest.raises(becr.InvalidInputError, match="stands twice"):
        sample.rerank("x", ["brick-loaf", "brick-loaf"])
    # A build that failed before it did anything leaves nothing in the way of the next.
    assert len(becr.Index.build([("a", "x")], tmp_path / "b", progress=False)) == 1
    for name in ["NotFoundError", "InvalidInputError", "ExistsError", "ModelError", "ForkError", "BusyError"]:
        assert issubclass(getattr(becr, name), becr.BecrError)


def test_damage_is_an_error(changing: becr.Index, tmp_path: pathlib.Path) -> None:
    path = pathlib.Path(changing.path) / "becr.json"
    path.write_text(path.read_text().replace("bundled", "bindled"))
    with pytest.raises(becr.DamagedError):
        becr.Index.open(changing.path)


def test_exceptions_of_the_caller_come_through(changing: becr.Index, tmp_path: pathlib.Path) -> None:
    def failing(count: int) -> Iterator[tuple[str, str]]:
        for number in range(count):
            yield f"n{number}", f"text number {number}"
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        becr.Index.build(failing(3), tmp_path / "a", progress=False)
    assert not (tmp_path / "a").exists()
    before = len(changing)
    with pytest.raises(ZeroDivisionError, match="mine") as caught:
        changing.add(failing(3), progress=False)
    # What came before it is in the index, and the cause says so.
    assert isinstance(caught.value.__cause__, becr.BecrError)
    assert re.search(rf"\b{len(changing) - before} documents? before that (is|are) in the index", str(caught.value.__cause__))

    def progress(stage: str, done: int, total: int | None) -> None:
        raise KeyError("progress")

    with pytest.raises(KeyError, match="progress"):
        becr.Index.build(TEXTS.items(), tmp_path / "b", progress=progress)


def test_progress_is_told(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    told: list[tuple[str, int, int | None]] = []
    index = becr.Index.build(TEXTS.items(), tmp_path / "a", progress=lambda *row: told.append(row))
    assert index.built is not None
    stages = list(dict.fromkeys(stage for stage, _, _ in told if stage))
    assert stages == ["counting words", "encoding token groups", "encoding documents", "finishing"]
    assert ("encoding documents", 3, 3) in told
    becr.Index.build(TEXTS.items(), tmp_path / "b")
    assert "encoding documents" in capsys.readouterr().err


def test_the_class_says_how_to_open_an_index() -> None:
    with pytest.raises(TypeError, match=r"Index.open\(path\)"):
        becr.Index("notes.becr")  # type: ignore[arg-type]


def test_threads_see_the_same(sample: becr.Index) -> None:
    expected = list(sample.rerank("bank erosion", ["bank-trust", "brick-loaf", "poke-test"]))
    wrong = []

    def work() -> None:
        for _ in range(20):
            if list(sample.rerank("bank erosion", ["bank-trust", "brick-loaf", "poke-test"])) != expected:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
