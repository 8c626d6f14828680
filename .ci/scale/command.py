"""The command `becr` against real Redis servers on loopback: six nodes, with and without the module that scores on them.

Usage: command.py BECR MODULE. Fails with the first thing that does not hold.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

BECR, MODULE = (os.path.abspath(path) for path in sys.argv[1:3])
SAMPLE = os.path.join(os.path.dirname(__file__), "../../crates/becr-cli/sample")
CORPUS, QUERIES = (os.path.abspath(os.path.join(SAMPLE, name)) for name in ("corpus.jsonl", "queries.tsv"))
FOLDER = tempfile.mkdtemp(prefix="becr-cluster-")
STARTED = []


def free_port():
    """A port whose cluster bus, 10,000 above, is free too."""
    while True:
        with socket.socket() as one, socket.socket() as bus:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
            if port > 55_000:
                continue
            try:
                bus.bind(("127.0.0.1", port + 10_000))
            except OSError:
                continue
            return port


def node(*settings):
    """Starts a server; gives its port and its process."""
    port = free_port()
    folder = tempfile.mkdtemp(dir=FOLDER)
    command = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder, *settings]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    STARTED.append(process)
    for _ in range(500):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return port, process
        except OSError:
            time.sleep(0.02)
    raise SystemExit("redis-server does not start")


def ask(port, *words):
    return subprocess.run(["redis-cli", "-p", str(port), *words], capture_output=True, text=True, check=True).stdout


def cluster(*settings):
    """Three masters, each with a replica."""
    nodes = [node("--cluster-enabled", "yes", "--cluster-node-timeout", "2000", *settings) for _ in range(6)]
    create = ["redis-cli", "--cluster", "create", *(f"127.0.0.1:{port}" for port, _ in nodes)]
    subprocess.run([*create, "--cluster-replicas", "1", "--cluster-yes"], check=True, stdout=subprocess.DEVNULL)
    for _ in range(300):
        states = [ask(port, "cluster", "info") + ask(port, "info", "replication") for port, _ in nodes]
        whole = ["cluster_state:ok" in s and ("connected_slaves:1" in s or "master_link_status:up" in s) for s in states]
        if all(whole):
            return nodes
        time.sleep(0.2)
    raise SystemExit("the cluster does not come up")


def url(nodes, name):
    return f"redis://{','.join(f'127.0.0.1:{port}' for port, _ in nodes[:3])}/{name}"


def becr(*words, fails=False, env=None):
    """Runs the command; gives standard output, or standard error where it is to fail."""
    done = subprocess.run([BECR, "--quiet", *words], cwd=FOLDER, capture_output=True, text=True, env={**os.environ, **(env or {})})
    if (done.returncode != 0) != fails:
        raise SystemExit(f"becr {' '.join(words)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stderr if fails else done.stdout


def same(found, expected, what):
    if found != expected:
        raise SystemExit(f"{what}: not the same\n{str(found)[:2000]}\n--- expected\n{str(expected)[:2000]}")
    print(f"  {what}: the same")


def says(text, *wanted):
    for words in wanted:
        if words not in text:
            raise SystemExit(f"expected {words!r} in:\n{text}")
    print(f"  said: {text.strip()}")


def digest(index):
    stats = json.loads(becr("stats", index, "--digest", "--json"))
    return (stats["store"] or stats["cluster"])["digest"]


def read(name):
    with open(os.path.join(FOLDER, name), "rb") as file:
        return file.read()


class Serving:
    """A server of the command, on a port of its own."""

    def __init__(self, *words):
        command = [BECR, "serve", *words, "--listen", "127.0.0.1:0", "--log", "off"]
        self.process = subprocess.Popen(command, cwd=FOLDER, stdout=subprocess.PIPE, text=True)
        STARTED.append(self.process)
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            raise SystemExit(f"becr serve {' '.join(words)} does not start")

    def ask(self, path, body=None):
        """Status and answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(20) != 0:
            raise SystemExit("the server did not end in good order")


def scored(nodes):
    """How often the nodes were asked to score."""
    lines = [line for port, _ in nodes for line in ask(port, "info", "commandstats").splitlines()]
    return sum(int(line.split("calls=")[1].split(",")[0]) for line in lines if line.lower().startswith("cmdstat_becr.score"))


def rankings(nodes):
    """Export, re-rank, search, explain and import: all as the embedded index has it."""
    store = url(nodes, "sample")
    becr("index", CORPUS, "--out", "sample.becr")
    becr("search", "sample.becr", "--queries", QUERIES, "--run-out", "bm25.run", "--first-stage", "--k", "100")
    expected = digest("sample.becr")
    says(becr("rerank", store, "--queries", QUERIES, "--run", "bm25.run", "--out", "no.run", fails=True), "becr export")
    print(" ", becr("export", "sample.becr", store).strip())
    same(digest(store), expected, "digest of the export")
    says(becr("verify", store), "sound")
    rerank = ("--queries", QUERIES, "--run", "bm25.run", "--out")
    for way in (["--mode", "encoded"], ["--mode", "composed"], ["--variant", "one-vector"]):
        becr("rerank", "sample.becr", *rerank, "embedded.run", *way)
        for flags in ([], ["--no-module"]):
            before = scored(nodes)
            becr("rerank", store, *rerank, "cluster.run", *way, *flags)
            same(read("cluster.run"), read("embedded.run"), f"re-ranking {' '.join(way + flags)}")
            same(scored(nodes) > before, os.path.exists(MODULE) and not flags, "whether the nodes scored")

    query, first, second = "dog in hot car", *(row["id"] for row in json.loads(
        becr("search", "sample.becr", "dog in hot car", "--json"))["results"][:2])
    says(becr("search", store, query, fails=True), "--first-stage=DIR")
    found = [json.loads(becr("search", *words, query, "--json"))["results"]
             for words in (["sample.becr"], [store, "--first-stage=sample.becr"])]
    same(found[1], found[0], "search with a first stage beside it")
    explained = becr("explain", "sample.becr", query, first, second, "--json")
    same(becr("explain", store, query, first, second, "--json", "--first-stage", "sample.becr"), explained, "explain")
    alone = json.loads(becr("explain", store, query, first, "--json"))
    same([document["id"] for document in alone["documents"]], [first], "explain without a first stage")

    becr("import", store, "--out", "imported.becr")
    same(digest("imported.becr"), expected, "digest of the import")
    says(becr("verify", "imported.becr"), "sound")
    becr("rerank", "imported.becr", *rerank, "imported.run")
    becr("rerank", "sample.becr", *rerank, "embedded.run")
    same(read("imported.run"), read("embedded.run"), "re-ranking with the import")
    for words in (["add", store, CORPUS], ["delete", store, first], ["compact", store]):
        says(becr(*words, fails=True), "export it again")
    says(becr("stats", "redis://127.0.0.1:x/sample", fails=True), "host:port")
    return store


def kinds(nodes):
    """Indexes of other kinds go there and come back: pairs of words, no texts, encoded queries alone, vectors alone."""
    few = os.path.join(FOLDER, "few.jsonl")
    with open(CORPUS) as all_of_it, open(few, "w") as file:
        file.writelines(all_of_it.readlines()[:40])
    for name, flags in (("pairs", ["--min-pair-documents", "2", "--no-text"]), ("encoded", ["--mode", "encoded"]),
                        ("vectors", ["--mode", "encoded", "--vectors-only"])):
        becr("index", few, "--out", name, *flags)
        becr("export", name, url(nodes, name))
        becr("import", url(nodes, name), "--out", f"{name}-back")
        same((digest(url(nodes, name)), digest(f"{name}-back")), (digest(name), digest(name)), f"digests of {' '.join(flags)}")
        for store in (url(nodes, name), f"{name}-back"):
            says(becr("verify", store), "sound")


def serving(nodes, store):
    """Servers without any state: they answer as one on the embedded index, and go on after a failover."""
    documents = [{"id": line.split()[2], "score": float(line.split()[4])} for line in
                 read("bm25.run").decode().splitlines() if line.split()[0] == read("bm25.run").decode().split()[0]]
    body = {"query": "dog in hot car", "documents": [*documents, {"id": "nobody"}]}
    servers = [Serving("sample.becr"), Serving(store), Serving(store, "--no-module"), Serving(store, "--first-stage", "sample.becr")]
    embedded, shared, reading, beside = servers
    same(shared.ask("/health"), (200, {"status": "ok"}), "/health")
    same(shared.ask("/ready"), (200, {"status": "ready"}), "/ready")
    info = shared.ask("/info")[1]
    same((info["indexes"][0]["documents"], info["first_stage"]), (len(open(CORPUS).readlines()), "none"), "/info")

    def results(server, body=body):
        status, answer = server.ask("/v2/rerank", body)
        return answer["results"] if status == 200 else (status, answer["error"])

    expected = results(embedded)
    for server, name in ((shared, "one"), (reading, "another that reads"), (beside, "a third")):
        same(results(server), expected, f"/v2/rerank of {name}")
    texts = {"query": "dog in hot car", "documents": ["A dog was left in a car.", documents[0], "Tea wants hot water."]}
    same(results(shared, texts), results(embedded, texts), "/v2/rerank with texts")
    search = {"query": "dog in hot car", "k": 5}
    same(shared.ask("/search", search)[1]["error"], "no_first_stage", "/search without a first stage")
    same(beside.ask("/search", search)[1]["results"], embedded.ask("/search", search)[1]["results"], "/search with one")
    explain = {"query": "dog in hot car", "documents": [documents[0]["id"]]}
    same(beside.ask("/explain", explain)[1]["documents"], embedded.ask("/explain", explain)[1]["documents"], "/explain")

    # A master dies under load: right answers or clear errors, and right answers again without a restart.
    master = next(process for port, process in nodes if "role:master" in ask(port, "info", "replication"))
    counts, last_good, over = {"good": 0, "refused": 0}, [0.0], threading.Event()
    wrong = []

    def load():
        while not over.is_set():
            begun = time.time()
            answer = results(shared)
            if answer == expected:
                counts["good"] += 1
                last_good[0] = time.time()
            elif answer == (503, "overloaded"):
                counts["refused"] += 1
            else:
                wrong.append(answer)
            if time.time() - begun > 12:
                wrong.append(f"an answer took {time.time() - begun:.0f} s")

    threads = [threading.Thread(target=load) for _ in range(4)]
    [thread.start() for thread in threads]
    time.sleep(1)
    before = counts["good"]
    master.kill()
    killed = time.time()
    time.sleep(12)
    over.set()
    [thread.join() for thread in threads]
    if wrong or last_good[0] < killed + 8 or not before:
        raise SystemExit(f"after a failover: {counts}, {wrong[:3]}")
    print(f"  a master was killed under load: {counts['good']} right answers, {counts['refused']} clear errors, none wrong")

    [server.stop() for server in servers]


def benchmark(nodes):
    """Times are printed; bytes are what the module is for."""
    report = os.path.join(FOLDER, "bench.json")
    print(becr("bench", "redis", url(nodes, "bench"), "--documents", "600", "--queries", "20", "--json", report))
    rows = json.loads(read("bench.json"))["rows"]
    moved = {row["store"]: row["sent"] + row["received"] for row in rows}
    if os.path.exists(MODULE):
        same(moved["records read"] >= 50 * moved["scored by the nodes"], True, "50 × fewer bytes where the nodes score")
    says(becr("bench", "redis", url(nodes, "sample"), fails=True), "must not replace")
    says(becr("stats", url(nodes, "bench"), fails=True), "no index of this name")


def builds():
    """From a corpus into a node; a node that is full says so, and the same command goes on when there is room."""
    port, _ = node("--maxmemory", "3mb", "--maxmemory-policy", "noeviction")
    store = f"redis://127.0.0.1:{port}/built"
    command = ("index", CORPUS, "--out", store)
    says(becr(*command, fails=True), "maxmemory", "stays in built.becr-export", "goes on where it stopped")
    says(becr("stats", store, fails=True), "no index of this name")
    ask(port, "config", "set", "maxmemory", "0")
    done = json.loads(becr(*command, "--json"))
    same(digest(store), digest("sample.becr"), "digest of the build that was gone on with")
    same(os.path.exists(os.path.join(FOLDER, "built.becr-export")), False, "what was built beside is removed")
    same(0 < done["written"] < done["rows"], True, "what was written before is not written again")
    # A writer that died holds the lease for a while: it is waited for.
    ask(port, "set", "becr:{built}:lease", "999999", "px", "2000")
    begun = time.time()
    becr("export", "sample.becr", store)
    same(time.time() - begun > 1.5, True, "the lease of a dead writer is waited for")
    same(digest(store), digest("sample.becr"), "digest of an export in the place of another")
    ask(port, "config", "set", "maxmemory-policy", "allkeys-lru", "maxmemory", "100mb")
    says(becr("export", "sample.becr", store, fails=True), "noeviction")


def main():
    try:
        module = ["--loadmodule", MODULE] if os.path.exists(MODULE) else []
        nodes = cluster(*module)
        store = rankings(nodes)
        kinds(nodes)
        benchmark(nodes)
        serving(nodes, store)
        builds()
        print("the command and the cluster agree")
    finally:
        for process in STARTED:
            if process.poll() is None:
                process.terminate()
        for process in STARTED:
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
        shutil.rmtree(FOLDER, ignore_errors=True)


main()
