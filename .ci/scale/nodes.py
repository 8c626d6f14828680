"""Real Redis servers on loopback, and the command `becr` beside them: what the other scripts of this folder share.

`$REDIS_SERVER` names another server program of the protocol, such as `valkey-server`.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

SERVER = os.environ.get("REDIS_SERVER", "redis-server")
SAMPLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../crates/becr-cli/sample")
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


class Node:
    """A server with a folder of its own. `cli` are flags that `redis-cli` needs for it."""

    def __init__(self, *settings, port_setting="--port", cli=()):
        self.port, self.cli = free_port(), cli
        self.folder = tempfile.mkdtemp(dir=FOLDER)
        self.command = [SERVER, port_setting, str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", self.folder, *settings]
        self.start()

    def start(self):
        """Starts it, again where it was ended: with the data that it has on the disk."""
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL)
        STARTED.append(self.process)
        for _ in range(500):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise SystemExit(f"{SERVER} does not start")

    def ask(self, *words, data=None):
        command = ["redis-cli", *self.cli, "-p", str(self.port), *words]
        return subprocess.run(command, input=data, capture_output=True, text=True, check=True).stdout

    def kill(self):
        self.process.kill()
        self.process.wait()

    def freeze(self):
        """It neither answers nor refuses, as a machine without power does."""
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def is_master(self):
        return "role:master" in self.ask("info", "replication")


def cluster(*settings, **how):
    """Three masters, each with a replica."""
    nodes = [Node("--cluster-enabled", "yes", "--cluster-node-timeout", "2000", *settings, **how) for _ in range(6)]
    create = ["redis-cli", *nodes[0].cli, "--cluster", "create", *(f"127.0.0.1:{node.port}" for node in nodes)]
    subprocess.run([*create, "--cluster-replicas", "1", "--cluster-yes"], check=True, stdout=subprocess.DEVNULL)
    wait_until_whole(nodes)
    return nodes


def wait_until_whole(nodes):
    """Until all slots are served, and every replica has its master."""
    for _ in range(300):
        states = [node.ask("cluster", "info") + node.ask("info", "replication") for node in nodes]
        if all("cluster_state:ok" in s and ("connected_slaves:1" in s or "master_link_status:up" in s) for s in states):
            return
        time.sleep(0.2)
    raise SystemExit("the cluster does not come up")


def url(nodes, name, scheme="redis", login=""):
    return f"{scheme}://{login}{','.join(f'127.0.0.1:{node.port}' for node in nodes[:3])}/{name}"


class Command:
    """The program `becr`, in the scripts' folder."""

    def __init__(self, program):
        self.program = os.path.abspath(program)

    def __call__(self, *words, fails=False, env=None):
        """Runs it; gives standard output, or standard error where it is to fail."""
        command = [self.program, "--quiet", *words]
        done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, env={**os.environ, **(env or {})})
        if (done.returncode != 0) != fails:
            raise SystemExit(f"becr {' '.join(words)}: status {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stderr if fails else done.stdout

    def start(self, *words, env=None):
        """Starts it and does not wait."""
        process = subprocess.Popen([self.program, "--quiet", *words], cwd=FOLDER, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, env={**os.environ, **(env or {})})
        STARTED.append(process)
        return process

    def digest(self, index, env=None):
        stats = json.loads(self("stats", index, "--digest", "--json", env=env))
        return (stats["store"] or stats["cluster"])["digest"]

    def serve(self, *words, env=None):
        return Serving(self, words, env)


class Serving:
    """A server of the command, on a port of its own."""

    def __init__(self, becr, words, env=None):
        command = [becr.program, "serve", *words, "--listen", "127.0.0.1:0", "--log", "off"]
        self.process = subprocess.Popen(command, cwd=FOLDER, stdout=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})
        STARTED.append(self.process)
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            raise SystemExit(f"becr serve {' '.join(words)} does not start")

    def ask(self, path, body=None):
        """Status and answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def results(self, body):
        """What `/v2/rerank` gives: results, or status and kind of the failure."""
        status, answer = self.ask("/v2/rerank", body)
        return answer["results"] if status == 200 else (status, answer["error"])

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        if self.process.wait(20) != 0:
            raise SystemExit("the server did not end in good order")


def same(found, expected, what):
    if found != expected:
        raise SystemExit(f"{what}: not the same\n{str(found)[:2000]}\n--- expected\n{str(expected)[:2000]}")
    print(f"  {what}: the same", flush=True)


def says(text, *wanted):
    for words in wanted:
        if words not in text:
            raise SystemExit(f"expected {words!r} in:\n{text}")
    print(f"  said: {text.strip()}", flush=True)


def read(name):
    with open(os.path.join(FOLDER, name), "rb") as file:
        return file.read()


def end():
    """Ends everything that was started."""
    for process in STARTED:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.terminate()
    for process in STARTED:
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
    shutil.rmtree(FOLDER, ignore_errors=True)
