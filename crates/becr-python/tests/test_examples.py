"""The example script runs to its end and the notebook's cells give no error."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import nbclient
import nbformat

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"


def test_the_script(tmp_path: pathlib.Path) -> None:
    done = subprocess.run(
        [sys.executable, EXAMPLES / "compare.py", "--out", tmp_path],
        env={**os.environ, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "BM25" in done.stdout and (tmp_path / "why.png").stat().st_size > 5000


def test_the_notebook() -> None:
    notebook = nbformat.read(EXAMPLES / "becr.ipynb", as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(EXAMPLES)}})
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert any("nDCG@10" in str(output.get("data", {}).get("text/plain", "")) for output in outputs)
