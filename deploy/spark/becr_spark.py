"""Encodes a corpus on an Apache Spark cluster, with the `becr` command on the executors.

    spark-submit becr_spark.py corpus.jsonl --out /shared/corpus.becr --parts 64
    spark-submit becr_spark.py hdfs:///corpus.parquet --out /shared/corpus.becr --parts 64 --mode encoded
    spark-submit becr_spark.py corpus.jsonl --out /shared/corpus.becr --parts 64 --export redis://redis-1:7000/corpus

The corpus is JSON lines with `id`, `title` and `text`, or Parquet with these columns. Documents go to parts by a hash of their
ids. Each part is an index of its own, which an executor builds on its local disk and then moves to the shared folder in
one step: a task that ran twice, or whose executor died, leaves one part or none. `becr merge` joins the parts. The result has
the digest of an index that one process builds.

Needed: `becr` on every machine (--becr says where), and a folder that driver and executors share (that of --out).
"""

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import uuid

from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("corpus", help="JSON lines, plain or compressed as Spark reads them, or Parquet")
    parser.add_argument("--out", required=True, help="the index to make, in a folder that all machines share")
    parser.add_argument("--format", choices=["json", "parquet"], help="of the corpus [default: by its name]")
    parser.add_argument("--parts", type=int, default=8, help="how many parts, a task each")
    parser.add_argument("--mode", choices=["composed", "encoded"], default="composed", help="as `becr index --mode`")
    parser.add_argument("--model", help="as `becr index --model`; on every machine at the same place")
    parser.add_argument("--precision", help="as `becr index --precision`")
    parser.add_argument("--no-text", action="store_true", help="as `becr index --no-text`")
    parser.add_argument("--becr", default="becr", help="the command, on every machine")
    parser.add_argument("--scratch", help="local folder of the executors for parts that are being built")
    parser.add_argument("--export", metavar="ADDRESS", help="write the index to a cluster, too: redis://…")
    parser.add_argument("--overwrite", action="store_true", help="replace the index at --out")
    return parser.parse_args()


def documents(spark, args):
    """The corpus as lines that `becr` reads, with the id that decides where each goes."""
    kind = args.format or ("parquet" if args.corpus.rstrip("/").endswith(".parquet") else "json")
    if kind == "parquet":
        # Numbers beside id, title and text go along: they are features.
        return spark.read.parquet(args.corpus).select(F.col("id").cast("string"), F.to_json(F.struct("*")).alias("line"))
    lines = spark.read.text(args.corpus).where(F.trim("value") != "")
    return lines.select(F.get_json_object("value", "$.id").alias("id"), F.col("value").alias("line"))


def becr(command, *words, threads=None):
    """Runs the command; what it says goes into the error."""
    env = dict(os.environ)
    if threads:
        env["RAYON_NUM_THREADS"] = str(threads)
    done = subprocess.run([command, "--quiet", *words], env=env, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{socket.gethostname()}: becr {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def publish(made, place):
    """Moves a file or folder into the shared folder: copied under a name of its own, then renamed, which is one step."""
    beside = f"{place}.{uuid.uuid4().hex}"
    copy = shutil.copytree if os.path.isdir(made) else shutil.copyfile
    copy(made, beside)
    try:
        os.rename(beside, place)
    except OSError:
        # Another try of this task was quicker. What it made is the same.
        shutil.rmtree(beside, ignore_errors=True)
        if not os.path.exists(place):
            raise


def each_part(command, folder, scratch, words, name):
    """What a task does: writes the lines of its part to the local disk, has `becr` work on them, and publishes that."""

    def work(part, rows):
        place = os.path.join(folder, f"{name}-{part:05}")
        context = TaskContext.get()
        threads = context.cpus() if context else None
        if os.path.exists(place):
            return [place]
        with tempfile.TemporaryDirectory(dir=scratch, prefix="becr-") as local:
            corpus, count = os.path.join(local, "part.jsonl"), 0
            with open(corpus, "w", encoding="utf-8") as file:
                for row in rows:
                    file.write(row.line + "\n")
                    count += 1
            # A part without documents is none.
            if count == 0:
                return []
            made = os.path.join(local, name)
            becr(command, *words[0], corpus, "--out", made, *words[1], threads=threads)
            publish(made, place)
        return [place]

    return work


def main():
    args = arguments()
    spark = SparkSession.builder.appName(f"becr {os.path.basename(args.out)}").getOrCreate()
    lines = documents(spark, args)
    # What is left of a run that was interrupted is of use to a run of the same documents and options alone.
    state = lines.select(F.count("*").alias("count"), F.count("id").alias("named"),
                         F.expr("bit_xor(xxhash64(id, line))").alias("sum")).first()
    if state["count"] == 0:
        sys.exit(f"{args.corpus}: there are no documents")
    if state["named"] < state["count"]:
        sys.exit(f"{args.corpus}: {state['count'] - state['named']} documents have no id")
    flags = []
    for flag, value in (("--model", args.model), ("--precision", args.precision)):
        flags += [flag, value] if value else []
    options = f"{args.mode} {args.parts} {flags} {args.no_text}"
    made_of = f"{state['sum'] & (2**64 - 1):016x}-{uuid.uuid5(uuid.NAMESPACE_URL, options).hex[:8]}"
    folder = f"{os.path.abspath(args.out)}.spark-{made_of}"
    os.makedirs(folder, exist_ok=True)

    # Ties of the sort are equal lines: every try of a task has the same part.
    parts = lines.repartition(args.parts, "id").sortWithinPartitions("id", "line").rdd
    indexing = [*flags, "--format", "jsonl"]
    if args.mode == "composed":
        count = each_part(args.becr, folder, args.scratch, (["groups", "count"], ["--format", "jsonl"]), "counts")
        counted = sorted(parts.mapPartitionsWithIndex(count).collect())
        groups, all_counts = os.path.join(folder, "groups.list"), os.path.join(folder, "all.counts")
        becr(args.becr, "groups", "merge", *counted, "--out", all_counts)
        becr(args.becr, "groups", "select", all_counts, "--out", groups, *(["--model", args.model] if args.model else []))
        indexing += ["--groups", groups]
    else:
        indexing += ["--mode", "encoded"]
    indexing += ["--no-text"] if args.no_text else []
    build = each_part(args.becr, folder, args.scratch, (["index"], indexing), "part")
    built = sorted(parts.mapPartitionsWithIndex(build).collect())
    becr(args.becr, "merge", *built, "--out", args.out, *(["--overwrite"] if args.overwrite else []))
    if args.export:
        becr(args.becr, "export", args.out, args.export)
    shutil.rmtree(folder)
    spark.stop()
    print(f"{args.out}: {state['count']} documents from {len(built)} parts")


if __name__ == "__main__":
    main()
