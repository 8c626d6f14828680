"""An index of the sample collection, and the program `becr` to compare with (`BECR_PROGRAM`)."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
from collections.abc import Callable

import pytest

import becr

ROOT = pathlib.Path(__file__).parents[3]
SAMPLE = ROOT / "crates" / "becr-cli" / "sample"


@pytest.fixture(scope="session")
def queries() -> dict[str, str]:
    lines = (SAMPLE / "queries.tsv").read_text().splitlines()
    return dict(line.split("\t", 1) for line in lines)


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> becr.Index:
    """Not to be changed."""
    out = tmp_path_factory.mktemp("sample") / "sample.becr"
    return becr.Index.build(SAMPLE / "corpus.jsonl", out, progress=False)


@pytest.fixture
def changing(sample: becr.Index, tmp_path: pathlib.Path) -> becr.Index:
    """A copy that may be changed."""
    shutil.copytree(sample.path, tmp_path / "copy.becr")
    return becr.Index.open(tmp_path / "copy.becr")


@pytest.fixture(scope="session")
def program() -> Callable[..., str]:
    path = os.environ.get("BECR_PROGRAM", str(ROOT / "target" / "release" / "becr"))
    if not os.path.exists(path):
        pytest.skip("no program becr to compare with: cargo build --release, or set BECR_PROGRAM")

    def run(*arguments: object) -> str:
        command = [path, *map(str, arguments)]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=300).stdout

    return run
