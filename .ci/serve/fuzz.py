"""Malformed and hostile requests: a fuzzer on the description, then raw bytes, slow and half-closed clients."""

import os
import random
import socket
import subprocess
import sys
import time
import urllib.request

address, scratch = sys.argv[1], sys.argv[2]
host, port = address.removeprefix("http://").split(":")
seconds = int(os.environ.get("FUZZ_SECONDS", "60"))
hostile = int(os.environ.get("HOSTILE", "20000"))

schemathesis = os.path.join(os.path.dirname(sys.executable), "schemathesis")
command = [schemathesis, "run", f"{address}/openapi.json", "--url", address, "--seed", "1", "--max-examples", "400",
           "--checks", "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
           "--phases", "examples,coverage,fuzzing", "--continue-on-failure", "--request-timeout", "30"]
try:
    done = subprocess.run(command, timeout=seconds, capture_output=True, text=True)
    print(done.stdout[-3000:])
    assert done.returncode == 0, "the fuzzer found something"
except subprocess.TimeoutExpired as ended:
    told = (ended.stdout or b"").decode(errors="replace")
    print(told[-1500:], f"\nended after {seconds} s, as it was to")
    assert "FAILURES" not in told, "the fuzzer found something"

rng = random.Random(1)
bodies = [b'{"query": "bread", "documents": [{"id": "staling-starch"}]}', b'{"query": "bread", "texts": ["a"]}', b'{"query": "bread", "k": 3}']
paths = [b"/v1/rerank", b"/v2/rerank", b"/rerank", b"/search", b"/explain", b"/documents", b"/info", b"/metrics", b"/x"]


def mutated(data):
    data = bytearray(data)
    for _ in range(rng.randrange(1, 6)):
        kind, at = rng.randrange(4), rng.randrange(len(data) + 1)
        if kind == 0:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 9)))
        elif kind == 1:
            del data[at:at + rng.randrange(1, 9)]
        elif kind == 2 and at < len(data):
            data[at] = rng.randrange(256)
        else:
            data[at:at] = data[:rng.randrange(len(data) + 1)]
    return bytes(data)


def request():
    body = rng.choice(bodies)
    method = rng.choice([b"POST", b"POST", b"POST", b"GET", b"PUT", b"DELETE"])
    form = rng.randrange(4)
    if form == 0:
        body = mutated(body)
    whole = (method + b" " + rng.choice(paths) + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
             b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    if form == 1:
        return mutated(whole), False
    if form == 2:
        return bytes(rng.randrange(256) for _ in range(rng.randrange(1, 300))), False
    return whole, True


def ask(data, linger):
    begun = time.monotonic()
    with socket.create_connection((host, int(port)), timeout=60) as client:
        try:
            client.sendall(data)
            if linger == 1:
                client.shutdown(socket.SHUT_WR)
            if linger == 2:
                return b""
            answer = b""
            while chunk := client.recv(65536):
                answer += chunk
        except (ConnectionResetError, BrokenPipeError):
            answer = b""
    assert time.monotonic() - begun < 40, f"{time.monotonic() - begun:.0f} s for {data!r}"
    return answer


def status(answer):
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0


seen, slow = {}, []
for number in range(hostile):
    data, is_whole = request()
    if number % 997 == 0 and len(slow) < 30:
        # A client that never finishes: it must be cut off.
        client = socket.create_connection((host, int(port)), timeout=60)
        client.sendall(data[: len(data) // 2].rsplit(b"\r\n\r\n", 1)[0])
        slow.append((time.monotonic(), client))
        continue
    # A request that is not whole leaves the server waiting; half-closing tells it that no more comes.
    code = status(ask(data, 2 if number % 10 == 0 else 0 if is_whole and number % 10 > 1 else 1))
    seen[code] = seen.get(code, 0) + 1
    assert code < 500 or code == 503, f"{code} for {data!r}"
print("raw requests by status (0: closed without an answer):", dict(sorted(seen.items())))
for begun, client in slow:
    try:
        while client.recv(65536):
            pass
    except ConnectionResetError:
        pass
    except socket.timeout:
        raise AssertionError("a slow client was not cut off")
    client.close()
print(f"{len(slow)} slow clients were cut off")
metrics = urllib.request.urlopen(f"{address}/metrics").read().decode()
assert 'status="500"' not in metrics
assert urllib.request.urlopen(f"{address}/ready").status == 200
