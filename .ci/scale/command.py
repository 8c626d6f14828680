"""The command `becr` against real Redis servers on loopback: six nodes, with and without the module that scores on them.

Usage: command.py BECR MODULE BECR-LAB. Fails with the first thing that does not hold.
"""

import http.server
import json
import os
import sys
import threading
import time

from nodes import CORPUS, FOLDER, QUERIES, Command, Node, cluster, end, read, same, says, url

becr = Command(sys.argv[1])
MODULE = os.path.abspath(sys.argv[2])
lab = Command(sys.argv[3])
digest = becr.digest


def scored(nodes):
    """How often the nodes were asked to score."""
    lines = [line for node in nodes for line in node.ask("info", "commandstats").splitlines()]
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
    for way in (["--mode", "encoded"], ["--mode", "composed"], ["--scorer", "one-vector"]):
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


def other_engine(documents):
    """Answers every search with the same documents, as OpenSearch would; gives its address."""
    hits = [{"_index": "sample", "_id": document["id"], "_score": document["score"]} for document in documents]
    answer = json.dumps({"took": 1, "timed_out": False, "hits": {"max_score": None, "hits": hits}}).encode()

    class Engine(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_):
            pass

    engine = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Engine)
    threading.Thread(target=engine.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{engine.server_address[1]}/sample"


def serving(nodes, store):
    """Servers without any state: they answer as one on the embedded index, and go on after a failover."""
    documents = [{"id": line.split()[2], "score": float(line.split()[4])} for line in
                 read("bm25.run").decode().splitlines() if line.split()[0] == read("bm25.run").decode().split()[0]]
    body = {"query": "dog in hot car", "documents": [*documents, {"id": "nobody"}]}
    servers = [becr.serve(*words) for words in (["sample.becr"], [store], [store, "--no-module"], [store, "--first-stage", "sample.becr"])]
    embedded, shared, reading, beside = servers
    same(shared.ask("/health"), (200, {"status": "ok"}), "/health")
    same(shared.ask("/ready"), (200, {"status": "ready"}), "/ready")
    info = shared.ask("/info")[1]
    same((info["indexes"][0]["documents"], info["first_stage"]), (len(open(CORPUS).readlines()), "none"), "/info")

    expected = embedded.results(body)
    for server, name in ((shared, "one"), (reading, "another that reads"), (beside, "a third")):
        same(server.results(body), expected, f"/v2/rerank of {name}")
    texts = {"query": "dog in hot car", "documents": ["A dog was left in a car.", documents[0], "Tea wants hot water."]}
    same(shared.results(texts), embedded.results(texts), "/v2/rerank with texts")
    search = {"query": "dog in hot car", "k": 5}
    same(shared.ask("/search", search)[1]["error"], "no_first_stage", "/search without a first stage")
    same(beside.ask("/search", search)[1]["results"], embedded.ask("/search", search)[1]["results"], "/search with one")
    engine = ["--upstream", other_engine(documents)]
    from_there = [becr.serve(index, *engine) for index in ("sample.becr", store)]
    found = [server.ask("/search", search)[1]["results"] for server in from_there]
    same((len(found[1]), found[1]), (5, found[0]), "/search with candidates of another engine")
    servers += from_there
    explain = {"query": "dog in hot car", "documents": [documents[0]["id"]]}
    same(beside.ask("/explain", explain)[1]["documents"], embedded.ask("/explain", explain)[1]["documents"], "/explain")

    # A master dies under load: right answers or clear errors, and right answers again without a restart.
    master = next(node for node in nodes if node.is_master())
    counts, last_good, over = {"good": 0, "refused": 0}, [0.0], threading.Event()
    wrong = []

    def load():
        while not over.is_set():
            begun = time.time()
            answer = shared.results(body)
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
    print(lab("bench", "redis", url(nodes, "bench"), "--documents", "600", "--queries", "20", "--json", report))
    rows = json.loads(read("bench.json"))["rows"]
    moved = {row["store"]: row["sent"] + row["received"] for row in rows}
    if os.path.exists(MODULE):
        same(moved["records read"] >= 50 * moved["scored by the nodes"], True, "50 × fewer bytes where the nodes score")
    says(lab("bench", "redis", url(nodes, "sample"), fails=True), "must not replace")
    says(becr("stats", url(nodes, "bench"), fails=True), "no index of this name")


def builds():
    """From a corpus into a node; a node that is full says so, and the same command goes on when there is room."""
    node = Node("--maxmemory", "3mb", "--maxmemory-policy", "noeviction")
    store = url([node], "built")
    command = ("index", CORPUS, "--out", store)
    says(becr(*command, fails=True), "maxmemory", "stays in built.becr-export", "goes on where it stopped")
    says(becr("stats", store, fails=True), "no index of this name")
    node.ask("config", "set", "maxmemory", "0")
    done = json.loads(becr(*command, "--json"))
    same(digest(store), digest("sample.becr"), "digest of the build that was gone on with")
    same(os.path.exists(os.path.join(FOLDER, "built.becr-export")), False, "what was built beside is removed")
    same(0 < done["written"] < done["rows"], True, "what was written before is not written again")
    # A writer that died holds the lease for a while: it is waited for.
    node.ask("set", "becr:{built}:lease", "999999", "px", "2000")
    begun = time.time()
    becr("export", "sample.becr", store)
    same(time.time() - begun > 1.5, True, "the lease of a dead writer is waited for")
    same(digest(store), digest("sample.becr"), "digest of an export in the place of another")
    node.ask("config", "set", "maxmemory-policy", "allkeys-lru", "maxmemory", "100mb")
    says(becr("export", "sample.becr", store, fails=True), "noeviction")


def main():
    try:
        nodes = cluster(*(["--loadmodule", MODULE] if os.path.exists(MODULE) else []))
        store = rankings(nodes)
        kinds(nodes)
        benchmark(nodes)
        serving(nodes, store)
        builds()
        print("the command and the cluster agree")
    finally:
        end()


main()
