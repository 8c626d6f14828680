"""The Spark job on `local-cluster`: two executors of their own processes, one of which is killed while it encodes.

Usage: spark.py BECR, in an environment that has pyspark; needs a Java runtime. Fails with the first thing that does not hold.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pyspark

BECR = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
JOB = os.path.join(HERE, "../../deploy/spark/becr_spark.py")
CORPUS = os.path.abspath(os.path.join(HERE, "../../crates/becr-cli/sample/corpus.jsonl"))
FOLDER = tempfile.mkdtemp(prefix="becr-spark-")
ENV = {**os.environ, "SPARK_HOME": os.path.dirname(pyspark.__file__), "PYSPARK_PYTHON": sys.executable,
       "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": "localhost", "SPARK_WORKER_DIR": os.path.join(FOLDER, "work")}


def submit(*words, master="local[2]", killer=None):
    command = [os.path.join(ENV["SPARK_HOME"], "bin/spark-submit"), "--master", master,
               "--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=localhost", *words]
    log = open(os.path.join(FOLDER, "spark.log"), "w+")
    job = subprocess.Popen(command, cwd=FOLDER, env=ENV, stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        if killer:
            killer(job)
        out, _ = job.communicate(timeout=240)
    finally:
        if job.poll() is None:
            job.terminate()
    if job.returncode != 0:
        log.seek(0)
        raise SystemExit(f"the job failed: {job.returncode}\n{out}\n{log.read()[-6000:]}")
    return out.strip()


def processes():
    """Parent and command line of every process."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", errors="replace") as stat, open(f"/proc/{pid}/cmdline", errors="replace") as line:
                parent = stat.read().rsplit(")", 1)[1].split()[1]
                found[int(pid)] = int(parent), line.read().replace("\0", " ")
        except OSError:
            pass
    return found


def kill_an_executor(job):
    """Waits until an executor of this job has `becr` encode, and ends it as a crash would."""
    begun = time.time()
    while time.time() - begun < 200 and job.poll() is None:
        alive = processes()
        for pid, (_, line) in alive.items():
            if not (line.startswith(BECR) and " index " in line):
                continue
            # Up to the executor, which must be one of ours.
            line_up = [pid]
            while line_up[-1] in alive and alive[line_up[-1]][0] > 1:
                line_up.append(alive[line_up[-1]][0])
            executor = next((p for p in line_up if "CoarseGrainedExecutorBackend" in alive.get(p, (0, ""))[1]), None)
            if executor and job.pid in line_up:
                os.kill(executor, signal.SIGKILL)
                print("  an executor was killed while it encoded")
                return
        time.sleep(0.02)
    raise SystemExit("no executor was found to kill")


def becr(*words):
    return subprocess.run([BECR, "--quiet", *words], cwd=FOLDER, capture_output=True, text=True, check=True).stdout


def digest(index):
    return json.loads(becr("stats", index, "--digest", "--json"))["store"]["digest"]


def same(found, expected, what):
    if found != expected:
        raise SystemExit(f"{what}: {found}, expected {expected}")
    print(f"  {what}: the same")


def main():
    try:
        becr("index", CORPUS, "--out", "one.becr")
        begun = time.time()
        print(" ", submit(JOB, CORPUS, "--out", os.path.join(FOLDER, "spark.becr"), "--parts", "3", "--becr", BECR,
                          master="local-cluster[2,1,1024]", killer=kill_an_executor), f"({time.time() - begun:.0f} s)")
        same(digest("spark.becr"), digest("one.becr"), "digest, words counted and documents encoded by executors, one killed")
        same([name for name in os.listdir(FOLDER) if ".spark-" in name], [], "what the job leaves behind")

        becr("index", CORPUS, "--out", "encoded.becr", "--mode", "encoded")
        # The corpus as Parquet, and the job on it, in one session.
        job = [JOB, "corpus.parquet", "--out", os.path.join(FOLDER, "parquet.becr"), "--parts", "2", "--mode", "encoded",
               "--becr", BECR]
        with open(os.path.join(FOLDER, "parquet.py"), "w") as file:
            file.write(f"import runpy, sys\nfrom pyspark.sql import SparkSession\n"
                       f"spark = SparkSession.builder.getOrCreate()\n"
                       f"spark.read.json({CORPUS!r}).write.parquet('corpus.parquet')\n"
                       f"sys.argv = {job!r}\nrunpy.run_path(sys.argv[0], run_name='__main__')\n")
        print(" ", submit("parquet.py"))
        same(digest("parquet.becr"), digest("encoded.becr"), "digest, from Parquet")
        print("the Spark job and one process agree")
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)


main()
