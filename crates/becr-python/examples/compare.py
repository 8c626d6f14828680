"""Builds an index of the sample collection, compares BECR with BM25, and draws why a document is first.

    pip install 'becr[notebook]'
    python compare.py --out results
"""

import argparse
import pathlib

import matplotlib.pyplot as pyplot

import becr

SAMPLE = pathlib.Path(__file__).parents[2] / "becr-cli" / "sample"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--sample", type=pathlib.Path, default=SAMPLE, help="corpus.jsonl, queries.tsv, qrels.txt")
    arguments.add_argument("--out", type=pathlib.Path, default=pathlib.Path("results"), help="where to write")
    given = arguments.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)

    index = becr.Index.build(given.sample / "corpus.jsonl", given.out / "sample.becr", overwrite=True)
    queries = dict(line.split("\t", 1) for line in (given.sample / "queries.tsv").read_text().splitlines())

    systems = {
        "BM25": index.search_all(queries, 100, first_stage=True),
        "BECR, composed": index.search_all(queries, 100, mode="composed"),
        "BECR, encoded": index.search_all(queries, 100, mode="encoded"),
    }
    print(f"{'':16} {'nDCG@10':>8} {'P@5':>8} {'RR':>8}")
    for name, run in systems.items():
        means = becr.evaluate(run, given.sample / "qrels.txt", "nDCG@10 P@5 RR").means
        print(f"{name:16} " + " ".join(f"{mean:8.3f}" for mean in means.values()))

    query = "sourdough dense crumb"
    first, second = index.search(query, 2)
    explanation = index.explain(query, [first.id, second.id])
    print(f"\n{query}: {first.title!r} before {second.title!r}")
    for row in explanation.documents[0].reasons():
        print(f"  {row.contribution:+.3f}  {row.plain}")
    explanation.plot()
    pyplot.tight_layout()
    pyplot.savefig(given.out / "why.png", dpi=120)
    print(f"picture: {given.out / 'why.png'}")


if __name__ == "__main__":
    main()
