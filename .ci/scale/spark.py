"""The Spark job on `local-cluster`: executors of their own processes, which are killed while they count and while they encode;
a job that is killed as a whole and run again; Parquet; and the way on into a Redis server where there is one.

Usage: spark.py BECR, in an environment that has pyspark; needs a Java runtime. Fails with the first thing that does not hold.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time

import pyspark

import nodes
from nodes import CORPUS, FOLDER, Command, same

BECR = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
JOB = os.path.join(HERE, "../../deploy/spark/becr_spark.py")
ENV = {**os.environ, "SPARK_HOME": os.path.dirname(pyspark.__file__), "PYSPARK_PYTHON": sys.executable,
       "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": "localhost", "SPARK_WORKER_DIR": os.path.join(FOLDER, "work")}


CLUSTER = "local-cluster[2,1,1024]"
becr = Command(BECR)


def start(*words, master):
    """Starts a job; what Spark says goes to a file."""
    command = [os.path.join(ENV["SPARK_HOME"], "bin/spark-submit"), "--master", master,
               "--conf", "spark.ui.enabled=false", "--conf", "spark.driver.host=localhost", *words]
    with open(os.path.join(FOLDER, "spark.log"), "w") as log:
        job = subprocess.Popen(command, cwd=FOLDER, env=ENV, stdout=subprocess.PIPE, stderr=log, text=True)
    nodes.STARTED.append(job)
    return job


def submit(*words, master="local[2]", killer=lambda job: None):
    job = start(*words, master=master)
    killer(job)
    out, _ = job.communicate(timeout=600)
    if job.returncode != 0:
        raise SystemExit(f"the job failed: {job.returncode}\n{out}\n{nodes.read('spark.log').decode()[-6000:]}")
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


def kill_an_executor(job, work, what):
    """Waits until an executor of this job has `becr` do some work, and ends it as a crash would."""
    begun = time.time()
    while time.time() - begun < 400 and job.poll() is None:
        alive = processes()
        for pid, (_, line) in alive.items():
            if work not in line:
                continue
            # Up to the executor, which must be one of ours.
            line_up = [pid]
            while line_up[-1] in alive and alive[line_up[-1]][0] > 1:
                line_up.append(alive[line_up[-1]][0])
            executor = next((p for p in line_up if "CoarseGrainedExecutorBackend" in alive.get(p, (0, ""))[1]), None)
            if executor and job.pid in line_up:
                os.kill(executor, signal.SIGKILL)
                print(f"  an executor was killed while it {what}", flush=True)
                return
        time.sleep(0.02)
    raise SystemExit("no executor was found to kill")


def kill_two(job):
    kill_an_executor(job, " groups count ", "counted")
    kill_an_executor(job, " index ", "encoded")


def noted():
    """A program `becr` that notes what it is asked for, and takes its time when it counts: the sample would be counted before
    anybody could be killed."""
    path = os.path.join(FOLDER, "noted-becr")
    with open(path, "w") as file:
        file.write(f'#!/bin/sh\necho "$*" >> {FOLDER}/calls\ncase "$*" in *"groups count"*) sleep 1;; esac\n{BECR} "$@"\n')
    os.chmod(path, 0o755)
    return path


def parts(out):
    """Parts that a job has finished."""
    folders = [name for name in os.listdir(FOLDER) if name.startswith(f"{out}.spark-")]
    return [name for folder in folders for name in os.listdir(os.path.join(FOLDER, folder)) if re.fullmatch(r"part-\d+", name)]


def interrupted():
    """The whole job dies after its first part; run again, it goes on with what there is."""
    words = [JOB, CORPUS, "--out", os.path.join(FOLDER, "again.becr"), "--parts", "6", "--mode", "encoded", "--becr", noted()]
    job = start(*words, master="local[1]")
    while not parts("again.becr"):
        if job.poll() is not None:
            raise SystemExit(f"the job ended before it could be killed\n{nodes.read('spark.log').decode()[-6000:]}")
        time.sleep(0.02)
    job.kill()
    job.wait()
    # What its workers were doing ends, too.
    time.sleep(3)
    left = len(parts("again.becr"))
    os.remove(os.path.join(FOLDER, "calls"))
    print(f"  {submit(*words)}")
    built = nodes.read("calls").decode().count(" index ")
    same((left > 0, built), (True, 6 - left), f"parts that were built again, of 6, when {left} were there")


def main():
    try:
        digest = becr.digest
        becr("index", CORPUS, "--out", "one.becr")
        begun = time.time()
        print(" ", submit(JOB, CORPUS, "--out", os.path.join(FOLDER, "spark.becr"), "--parts", "3", "--becr", noted(),
                          master=CLUSTER, killer=kill_two), f"({time.time() - begun:.0f} s)")
        same(digest("spark.becr"), digest("one.becr"), "digest, words counted and documents encoded by executors, two killed")
        same([name for name in os.listdir(FOLDER) if ".spark-" in name], [], "what the job leaves behind")

        becr("index", CORPUS, "--out", "encoded.becr", "--mode", "encoded")
        interrupted()
        same(digest("again.becr"), digest("encoded.becr"), "digest of the job that was killed and run again")

        # The corpus as Parquet, and the job on it, in one session; the index goes on to a server.
        store = ["--export", nodes.url([nodes.Node()], "parquet")] if shutil.which(nodes.SERVER) else []
        job = [JOB, "corpus.parquet", "--out", os.path.join(FOLDER, "parquet.becr"), "--parts", "2", "--mode", "encoded",
               "--becr", BECR, *store]
        with open(os.path.join(FOLDER, "parquet.py"), "w") as file:
            file.write(f"import runpy, sys\nfrom pyspark.sql import SparkSession\n"
                       f"spark = SparkSession.builder.getOrCreate()\n"
                       f"spark.read.json({CORPUS!r}).write.parquet('corpus.parquet')\n"
                       f"sys.argv = {job!r}\nrunpy.run_path(sys.argv[0], run_name='__main__')\n")
        print(" ", submit("parquet.py"))
        for index in ["parquet.becr", *store[1:]]:
            same(digest(index), digest("encoded.becr"), "digest, from Parquet")
        print("the Spark job and one process agree")
    finally:
        nodes.end()


main()
