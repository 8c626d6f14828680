"""What may go wrong with a cluster that serves an index: nodes that die, hang, move, fill up or lose their replicas, writers that
meet, and commands that nobody of ours sends. Real servers on loopback; every answer is the right one or a clear error.

Usage: failures.py BECR MODULE. Fails with the first thing that does not hold.
"""

import json
import os
import random
import re
import socket
import subprocess
import sys
import threading
import time

from nodes import CORPUS, FOLDER, QUERIES, Command, cluster, end, read, same, says, url, wait_until_whole

becr = Command(sys.argv[1])
MODULE = ["--loadmodule", os.path.abspath(sys.argv[2])]
QUERY = "dog in hot car"
# The time limit of a question is 5 s, a request may ask two, and the last try is let finish.
PATIENCE = 15


def prepare():
    """The index that everything is compared with; gives the candidates of a request."""
    becr("index", CORPUS, "--out", "sample.becr")
    becr("search", "sample.becr", "--queries", QUERIES, "--run-out", "bm25.run", "--first-stage", "--k", "100")
    lines = [line.split() for line in read("bm25.run").decode().splitlines()]
    documents = [{"id": words[2], "score": float(words[4])} for words in lines if words[0] == lines[0][0]]
    return {"query": QUERY, "documents": documents}


def refused(server, body, what):
    """The server says that it cannot answer now, in time, and lives."""
    begun = time.time()
    status, answer = server.ask("/v2/rerank", body)
    same((status, answer["error"]), (503, "overloaded"), f"/v2/rerank while {what}")
    says(answer["message"], "cluster", "try again")
    took = time.time() - begun
    if took > PATIENCE:
        raise SystemExit(f"the refusal took {took:.1f} s")
    same(server.ask("/ready")[0], 503, f"/ready while {what}")
    same(server.ask("/health")[0], 200, f"/health while {what}")
    print(f"  refused after {took:.1f} s")


def answers_again(server, body, expected, what):
    """Right answers come without a restart of the server."""
    begun = time.time()
    while (answer := server.results(body)) != expected:
        if answer != (503, "overloaded") or time.time() - begun > 60:
            raise SystemExit(f"{what}: {str(answer)[:500]}")
        time.sleep(0.1)
    same(server.ask("/ready")[0], 200, f"right answers again {time.time() - begun:.1f} s after {what}, and /ready")


def gone(body):
    """All nodes die or hang: 503 in time, and right answers when they are back."""
    nodes = cluster("--appendonly", "yes", *MODULE)
    store = url(nodes, "sample")
    becr("export", "sample.becr", store)
    servers = {way: becr.serve(store, *flags) for way, flags in (("scored by the nodes", []), ("records read", ["--no-module"]))}
    expected = becr.serve("sample.becr").results(body)
    for server in servers.values():
        same(server.results(body), expected, "/v2/rerank")

    [node.freeze() for node in nodes]
    for way, server in servers.items():
        refused(server, body, f"all nodes hang ({way})")
    begun = time.time()
    says(becr("stats", store, fails=True), "no answer within")
    same(time.time() - begun < PATIENCE, True, "the command gives up in time")
    [node.thaw() for node in nodes]
    for way, server in servers.items():
        answers_again(server, body, expected, f"all nodes hung ({way})")

    wait_until_whole(nodes)
    [node.kill() for node in nodes]
    for way, server in servers.items():
        refused(server, body, f"all nodes are dead ({way})")
    [node.start() for node in nodes]
    for way, server in servers.items():
        answers_again(server, body, expected, f"all nodes were started again ({way})")
    same(becr.digest(store), becr.digest("sample.becr"), "digest of what came back from the disks")

    # One master hangs: its replica takes over, and the old one comes back as a replica.
    wait_until_whole(nodes)
    master = next(node for node in nodes if node.is_master())
    master.freeze()
    time.sleep(0.2)
    for way, server in servers.items():
        answers_again(server, body, expected, f"a master hangs ({way})")
    master.thaw()
    for way, server in servers.items():
        answers_again(server, body, expected, f"it is back ({way})")
    wait_until_whole(nodes)
    same(master.is_master(), False, "whether it is a replica now")

    # A cluster that came back without its data is no answer either.
    for node in nodes:
        if node.is_master():
            node.ask("flushall")
    for way, server in servers.items():
        status, answer = server.ask("/v2/rerank", body)
        same((status, answer["error"]), (503, "overloaded"), f"/v2/rerank when the data is gone ({way})")
    becr("export", "sample.becr", store)
    for way, server in servers.items():
        answers_again(server, body, expected, f"it was exported again ({way})")
    [server.stop() for server in servers.values()]
    return nodes, store


def reshard(where, source, target):
    """Moves 500 slots. redis-cli refuses while nodes do not agree yet who has which slots: again until they do."""
    command = ["redis-cli", "--cluster", "reshard", where, "--cluster-from", source, "--cluster-to", target,
               "--cluster-slots", "500", "--cluster-yes"]
    for _ in range(20):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode == 0:
            return
        time.sleep(2)
        subprocess.run(["redis-cli", "--cluster", "fix", where], stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    raise SystemExit(f"slots cannot be moved: {done.stdout[-500:]}")


def moves(nodes, store, body):
    """Slots move to other nodes while requests come: every answer is right."""
    wait_until_whole(nodes)
    server = becr.serve(store)
    expected = server.results(body)
    over, wrong, good = threading.Event(), [], [0]

    def load():
        while not over.is_set():
            answer = server.results(body)
            good[0] += answer == expected
            if answer != expected:
                wrong.append(answer)

    threads = [threading.Thread(target=load) for _ in range(2)]
    [thread.start() for thread in threads]
    ids = [node.ask("cluster", "myid").strip() for node in nodes if node.is_master()]
    where = f"127.0.0.1:{nodes[0].port}"
    for source, target in ((0, 1), (1, 2), (2, 0)):
        reshard(where, ids[source], ids[target])
    over.set()
    [thread.join() for thread in threads]
    if wrong or good[0] < 20:
        raise SystemExit(f"while slots moved: {good[0]} right answers, others: {wrong[:3]}")
    print(f"  1,500 slots moved under load: {good[0]} right answers, no error")
    same(server.results(body), expected, "/v2/rerank after slots moved")
    same(becr.digest(store), becr.digest("sample.becr"), "digest after slots moved")
    server.stop()


def writers(nodes):
    """Two writers at once: one after the other, and readers see one whole index or the other."""
    store = url(nodes, "two")
    with open(CORPUS) as corpus, open(os.path.join(FOLDER, "half.jsonl"), "w") as half:
        half.writelines(corpus.readlines()[:120])
    becr("index", "half.jsonl", "--out", "half.becr")
    becr("export", "half.becr", store)
    digests = {becr.digest("half.becr"), becr.digest("sample.becr")}
    exports = [becr.start("export", name, store) for name in ("sample.becr", "half.becr", "sample.becr")]
    seen = []
    while any(process.poll() is None for process in exports):
        # An edition may be replaced while its rows are read: then that is said.
        try:
            seen.append(becr.digest(store))
        except SystemExit as error:
            says(str(error), "replaced meanwhile")
    said = [process.communicate()[1] for process in exports]
    same([process.returncode for process in exports], [0, 0, 0], f"three exports at once {''.join(said)}")
    same(set(seen) <= digests, True, f"what was seen meanwhile, {len(seen)} times")
    says(becr("verify", store), "sound")

    # A replica that does not take what is written: a failover could lose it, so nothing is published.
    before = becr.digest(store)
    replica = next(node for node in nodes if not node.is_master())
    replica.freeze()
    other = "half.becr" if before == becr.digest("sample.becr") else "sample.becr"
    says(becr("export", other, store, fails=True), "replicas", "not published")
    same(becr.digest(store), before, "what readers see")
    replica.thaw()
    wait_until_whole(nodes)
    becr("export", other, store)
    same(becr.digest(store), becr.digest(other), "digest when the replica is back")


def full(nodes):
    """One node of six is full during a build: a clear error that names it; the build goes on when there is room."""
    wait_until_whole(nodes)
    master = next(node for node in nodes if node.is_master())
    used = int(re.search(r"used_memory:(\d+)", master.ask("info", "memory"))[1])
    master.ask("config", "set", "maxmemory", str(used + 2_000_000))
    store = url(nodes, "full")
    command = ("index", CORPUS, "--out", store)
    says(becr(*command, fails=True), "out of memory", f"127.0.0.1:{master.port}", "stays in full.becr-export", "goes on where it stopped")
    says(becr("stats", store, fails=True), "no index of this name")
    # The others go on serving what is published; a second try is told the same.
    says(becr("verify", url(nodes, "sample")), "sound")
    says(becr(*command, fails=True), "out of memory")
    master.ask("config", "set", "maxmemory", "0")
    done = json.loads(becr(*command, "--json"))
    same(0 < done["written"] < done["rows"], True, f"{done['written']} of {done['rows']} rows were still to be written")
    same(becr.digest(store), becr.digest("sample.becr"), "digest of the build that was gone on with")


def packed(words):
    """A command as the protocol writes it."""
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


class Line:
    """A connection that sends whatever it is given."""

    def __init__(self, node):
        self.socket = socket.create_connection(("127.0.0.1", node.port), 60)
        self.file = self.socket.makefile("rb")

    def ask(self, *words):
        self.socket.sendall(packed(words))
        return self.answer()

    def answer(self):
        line = self.file.readline()
        if not line:
            raise SystemExit("the node closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        if kind == b"*":
            return [self.answer() for _ in range(int(rest))]
        return kind + rest


def commands(nodes, ask):
    """The `BECR.SCORE` that each node is sent for a request, by port."""
    seen, lines = {}, [(node, Line(node)) for node in nodes if node.is_master()]
    for _, line in lines:
        line.ask(b"MONITOR")
    ask()
    escapes = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"a": b"\a", b"b": b"\b"}

    def plain(match):
        return bytes([int(match[1][1:], 16)]) if match[1][:1] == b"x" else escapes.get(match[1], match[1])

    for node, line in lines:
        line.socket.settimeout(2)
        try:
            while node.port not in seen:
                words = re.findall(rb'"((?:[^"\\]|\\.)*)"', line.answer())
                words = [re.sub(rb"\\(x[0-9a-f]{2}|.)", plain, word) for word in words]
                if words[0].upper() == b"BECR.SCORE":
                    seen[node.port] = words
        except TimeoutError:
            pass
        line.socket.close()
    return seen


def hostile(nodes, store, body):
    """The module under commands that are none, of other nodes, or very long."""
    wait_until_whole(nodes)
    server = becr.serve(store)
    expected = server.results(body)
    seen = commands(nodes, lambda: server.results(body))
    same(len(seen), 3, "nodes that were asked to score")
    first, second, _ = [node for node in nodes if node.is_master()]
    mine, line = seen[first.port], Line(first)
    scored = [b"S"] * ((len(mine) - 3) // 2)
    same([answer[:1] for answer in line.ask(*mine)], scored, "the command as it was sent")
    says(line.ask(*seen[second.port]).decode(), "TRYAGAIN")
    # Sent to a replica, which has the data and not the slots' word.
    replica = next(node for node in nodes if not node.is_master())
    says(Line(replica).ask(*mine).decode(), "TRYAGAIN")

    dice, kinds = random.Random(23), {}
    for _ in range(20_000):
        words = [bytearray(word) for word in mine[:3 + 2 * dice.randint(0, 4)]]
        for _ in range(dice.choice((1, 1, 2, 5))):
            word = words[dice.randrange(1, len(words))]
            way = dice.randrange(5)
            if way == 0 and word:
                word[dice.randrange(len(word))] ^= 1 << dice.randrange(8)
            elif way == 1:
                del word[dice.randrange(len(word) + 1):]
            elif way == 2 and len(word) > 4:
                at = dice.randrange(len(word) - 4)
                word[at:at + 4] = dice.choice((0, 1, 2, 9, 2**31, 2**32 - 1)).to_bytes(4, "little")
            elif way == 3:
                word += dice.randbytes(dice.randrange(40))
            else:
                del words[dice.randrange(1, len(words)):]
                if len(words) == 1:
                    break
        answer = line.ask(*map(bytes, words))
        kind = answer.decode(errors="replace")[:24] if isinstance(answer, bytes) else "answered"
        kinds[kind] = kinds.get(kind, 0) + 1
    if any(not kind.startswith(("-ERR", "-TRYAGAIN", "answered")) for kind in kinds):
        raise SystemExit(f"strange answers: {kinds}")
    print(f"  20,000 broken commands: {kinds}")
    same("scoring failed" in str(kinds), False, "whether scoring panicked")
    same([answer[:1] for answer in line.ask(*mine)], scored, "the command as it was sent, once more")

    # While long lists are scored, other commands are answered at once.
    long = mine[:3] + 5000 * mine[3:]
    lines, lengths = [Line(first) for _ in range(4)], []
    begun = time.time()
    [one.socket.sendall(packed(long)) for one in lines]
    threads = [threading.Thread(target=lambda one=one: lengths.append(len(one.answer()))) for one in lines]
    [thread.start() for thread in threads]
    waits, other = [], Line(first)
    while any(thread.is_alive() for thread in threads):
        asked = time.time()
        same_answer = other.ask(b"PING")
        waits.append(time.time() - asked)
        if same_answer != b"+PONG":
            raise SystemExit(f"PING: {same_answer}")
        time.sleep(0.001)
    took = time.time() - begun
    waits.sort()
    print(f"  4 lists of {(len(long) - 3) // 2} documents took {1000 * took:.0f} ms; PING meanwhile, {len(waits)} times: median "
          f"{1000 * waits[len(waits) // 2]:.2f} ms, longest {1000 * waits[-1]:.1f} ms")
    same(lengths, [5000 * len(scored)] * 4, "documents that were scored")
    same(waits[len(waits) // 2] < took / 20, True, "whether PING waits for lists to be scored")
    same(server.results(body), expected, "/v2/rerank after all that")
    server.stop()


def main():
    try:
        body = prepare()
        nodes, store = gone(body)
        hostile(nodes, store, body)
        moves(nodes, store, body)
        writers(nodes)
        full(nodes)
        print("failures are survived or told")
    finally:
        end()


main()
