"""Ctrl-C, fork and spawned workers."""

from __future__ import annotations

import multiprocessing
import pathlib
import signal
import subprocess
import sys
import textwrap
import time

import pytest

import becr

BUILD = """
    import becr, sys
    documents = [(f"d{n}", "The heavy loaf was baked in an old oven by the river. " * 40) for n in range(3000)]
    def told(stage, done, total):
        if stage == "encoding documents" and done > 2:
            print("encoding", done, flush=True)
    index = becr.Index.build(documents, sys.argv[1], progress=told)
    print("built", index.built.documents, index.built.resumed)
"""


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_ctrl_c_stops_a_build_that_can_be_resumed(tmp_path: pathlib.Path) -> None:
    process = start(BUILD, tmp_path / "out")
    assert process.stdout is not None
    assert process.stdout.readline().startswith("encoding")
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    took = time.monotonic() - begun
    assert "KeyboardInterrupt" in errors and "stopped before the end" in errors, errors
    # A second on an idle machine; where other work takes the processor, more. Encoding all would take minutes.
    assert took < 20, took
    assert (tmp_path / "out.partial").is_dir() and not (tmp_path / "out").exists()
    with pytest.raises(becr.NotFoundError, match="interrupted"):
        becr.Index.open(tmp_path / "out")
    # The same documents go on: what was committed is not encoded again.
    told: list[int] = []
    documents = [(f"d{n}", "The heavy loaf was baked in an old oven by the river. " * 40) for n in range(3000)]

    class Enough(Exception):
        pass

    def progress(stage: str, done: int, total: int | None) -> None:
        if stage == "encoding documents":
            told.append(done)
            if done > 2:
                raise Enough

    with pytest.raises(Enough):
        becr.Index.build(documents, tmp_path / "out", progress=progress)
    with pytest.raises(becr.ExistsError, match="overwrite=True"):
        becr.Index.build(documents[:3], tmp_path / "out", progress=False)


def in_child(path: str, queue: multiprocessing.Queue[str]) -> None:
    try:
        queue.put(becr.Index.open(path).rerank("kid fever", ["brick-loaf"]).ids[0])
    except becr.BecrError as error:
        queue.put(f"{type(error).__name__}: {error}")


FORK = """
    import becr, os, sys
    index = becr.Index.open(sys.argv[1])
    expected = list(index.rerank("kid fever", ["brick-loaf", "poke-test"]))
    child = os.fork()
    if child == 0:
        calls = [
            lambda: index.rerank("kid fever", ["brick-loaf"]),
            lambda: index.search("kid fever"),
            lambda: becr.Index.open(sys.argv[1]),
            lambda: becr.Encoder(),
            lambda: len(index),
        ]
        for call in calls:
            try:
                call()
            except becr.ForkError as error:
                print(error, flush=True)
        sys.exit(7)  # With the index being dropped, as at the end of any program.
    _, status = os.waitpid(child, 0)
    assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == 7, status
    assert list(index.rerank("kid fever", ["brick-loaf", "poke-test"])) == expected
    print("the parent goes on")
"""


def test_a_forked_child_gets_an_error_and_the_parent_goes_on(sample: becr.Index) -> None:
    told, errors = start(FORK, sample.path).communicate(timeout=60)
    lines = told.splitlines()
    assert len(lines) == 6 and all("spawn" in line for line in lines[:5]), (told, errors)
    assert lines[5] == "the parent goes on"


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_open_it_themselves(method: str, sample: becr.Index) -> None:
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    worker = context.Process(target=in_child, args=(str(sample.path), queue))
    worker.start()
    assert queue.get(timeout=60) == "brick-loaf"
    worker.join(60)


def test_a_child_may_use_it_first(tmp_path: pathlib.Path, sample: becr.Index) -> None:
    script = """
        import becr, os, sys
        child = os.fork()
        if child == 0:
            index = becr.Index.open(sys.argv[1])
            print(index.rerank("kid fever", ["brick-loaf"]).ids[0], flush=True)
            os._exit(0)
        os.waitpid(child, 0)
        print(len(becr.Index.open(sys.argv[1])))
    """
    told, errors = start(script, sample.path).communicate(timeout=60)
    assert told.split() == ["brick-loaf", str(len(sample))], errors
