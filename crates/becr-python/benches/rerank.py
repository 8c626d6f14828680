"""What re-ranking costs from Python, beside the library itself.

Model: W(3), 150 documents of 857 tokens, queries of three words, on the index that `becr-lab bench rank --keep` leaves.

    becr-lab bench rank --keep w3.becr --n 3 --candidates 150 --json w3.json
    python rerank.py --index w3.becr --queries w3.json --program becr-lab

Four numbers are taken in turns, round after round: the library on one thread and on two (`becr-lab bench rank --threads 1,2`),
Python on one thread and on two. The best round of each counts, since other work on the machine only ever adds time. Every
call also tells how long the library worked inside of it, so that what Python adds is known from the very same calls.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import random
import subprocess
import tempfile
import threading
import time

import becr

CANDIDATES = 150
SECONDS = 1.5


def library(given: argparse.Namespace) -> dict[int, dict[str, float]]:
    """Rows of the library by number of threads."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "rank.json"
        command = [given.program, "bench", "rank", "--keep", given.index, "--documents", given.documents, "--n", 3]
        command += ["--candidates", CANDIDATES, "--threads", "1,2", "--json", out]
        subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
        return {row["threads"]: row for row in json.loads(out.read_text())["library"]}


def python(index: becr.Index, queries: list[str], documents: int, threads: int) -> dict[str, float]:
    """Calls, and calls in a second, of so many threads."""
    calls: list[tuple[float, float]] = []
    begun = time.perf_counter()

    def work(seed: int) -> None:
        picks = random.Random(seed)
        while time.perf_counter() - begun < SECONDS:
            numbers = picks.sample(range(documents), CANDIDATES)
            candidates = [(f"document-{number}", -float(place)) for place, number in enumerate(numbers)]
            query = queries[len(calls) % len(queries)]
            start = time.perf_counter()
            ranking = index.rerank(query, candidates, mode="composed")
            calls.append(((time.perf_counter() - start) * 1e3, ranking.timing["total"]))

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    seconds = time.perf_counter() - begun
    quartile = len(calls) // 4
    return {
        "call_ms": sorted(call for call, _ in calls)[quartile],
        "inside_ms": sorted(inside for _, inside in calls)[quartile],
        "added": sorted(call / inside for call, inside in calls)[len(calls) // 2],
        "queries_per_second": len(calls) / seconds,
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--index", type=pathlib.Path, required=True, help="what `becr-lab bench rank --keep` left")
    arguments.add_argument("--queries", type=pathlib.Path, required=True, help="its --json")
    arguments.add_argument("--program", default="becr-lab")
    arguments.add_argument("--rounds", type=int, default=5)
    given = arguments.parse_args()
    told = json.loads(given.queries.read_text())
    given.documents, queries = told["documents"], told["queries"]["3"]

    index = becr.Index.open(given.index)
    python(index, queries, given.documents, 1)  # warms up
    rows: dict[str, list[dict[str, float]]] = {}
    for _ in range(given.rounds):
        for threads, row in library(given).items():
            rows.setdefault(f"library, {threads}", []).append(row)
        for threads in (1, 2):
            rows.setdefault(f"python, {threads}", []).append(python(index, queries, given.documents, threads))

    best = {
        name: (min(row["call_ms"] for row in all), max(row["queries_per_second"] for row in all))
        for name, all in rows.items()
    }
    print(f"{'threads':12} {'call ms':>8} {'queries/s':>10}")
    for name, (milliseconds, rate) in best.items():
        print(f"{name:12} {milliseconds:8.3f} {rate:10.1f}")
    added = min(row["added"] for row in rows["python, 1"])
    gains = {name: best[f"{name}, 2"][1] / best[f"{name}, 1"][1] for name in ("library", "python")}
    print(f"a call from Python over the library's work inside of it: {added:.3f}")
    print(f"a call from Python over one of the program: {best['python, 1'][0] / best['library, 1'][0]:.3f} (bar 1.1)")
    print(f"two threads gain {gains['library']:.2f} in the library, {gains['python']:.2f} in Python: ", end="")
    print(f"{gains['python'] / gains['library']:.3f} (bar 0.95)")


if __name__ == "__main__":
    main()
