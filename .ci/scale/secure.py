"""TLS and passwords: six nodes that speak TLS alone, with a user who may touch keys of ours alone.

Usage: secure.py BECR MODULE, with `openssl`. Fails with the first thing that does not hold.
"""

import os
import subprocess
import sys
import time

from nodes import CORPUS, FOLDER, QUERIES, Command, Node, cluster, end, read, same, says, url

becr = Command(sys.argv[1])
MODULE = ["--loadmodule", os.path.abspath(sys.argv[2])]
PASSWORD, WRITTEN = "p@ss:w/rd", "p%40ss%3Aw%2Frd"


def certificates(name):
    """An authority of its own and a certificate for 127.0.0.1; gives the files' names."""
    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, cwd=FOLDER, capture_output=True)

    files = [os.path.join(FOLDER, f"{name}-{what}") for what in ("ca.pem", "ca.key", "node.pem", "node.key", "node.csr", "node.ext")]
    ca, ca_key, node, node_key, request, extensions = files
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}", "-keyout", ca_key, "-out", ca)
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=node", "-keyout", node_key, "-out", request)
    with open(extensions, "w") as file:
        file.write("subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:FALSE\n")
    openssl("x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca_key, "-CAcreateserial", "-days", "2", "-extfile", extensions,
            "-out", node)
    return ca, node, node_key


def main():
    try:
        ca, certificate, key = certificates("ours")
        stranger, *_ = certificates("stranger")
        env = {"SSL_CERT_FILE": ca}
        # The user of docs/cluster.md: keys of ours, and no command that could harm others.
        user = ["--user", "becr", "on", f">{PASSWORD}", "~becr:*", "+@all", "-@dangerous", "-@admin"]
        nodes = cluster("--port", "0", "--tls-cert-file", certificate, "--tls-key-file", key, "--tls-ca-cert-file", ca,
                        "--tls-auth-clients", "no", "--tls-cluster", "yes", "--tls-replication", "yes",
                        "--requirepass", "admin", "--masterauth", "admin", *user, *MODULE, port_setting="--tls-port",
                        cli=["--tls", "--cacert", ca, "-a", "admin", "--no-auth-warning"])
        store = url(nodes, "sample", "rediss", f"becr:{WRITTEN}@")
        becr("index", CORPUS, "--out", "sample.becr")
        becr("search", "sample.becr", "--queries", QUERIES, "--run-out", "bm25.run", "--first-stage", "--k", "100")
        print(" ", becr("export", "sample.becr", store, env=env).strip())
        same(becr.digest(store, env=env), becr.digest("sample.becr"), "digest over TLS")
        rerank = ("--queries", QUERIES, "--run", "bm25.run", "--out")
        becr("rerank", "sample.becr", *rerank, "embedded.run")
        for flags in ([], ["--no-module"]):
            becr("rerank", store, *rerank, "cluster.run", *flags, env=env)
            same(read("cluster.run"), read("embedded.run"), f"re-ranking over TLS {' '.join(flags)}")
        server = becr.serve(store, env=env)
        same(server.ask("/ready")[0], 200, "/ready of a server over TLS")
        same(server.ask("/info")[1]["indexes"][0]["documents"], len(open(CORPUS).readlines()), "/info")

        # Who is not let in hears why, at once, and the password is not shown.
        for login, words in (("", "NOAUTH"), ("becr:wrong@", "authentication failed"), (f"nobody:{WRITTEN}@", "authentication failed")):
            begun = time.time()
            said = becr("stats", url(nodes, "sample", "rediss", login), fails=True, env=env)
            says(said, words, "user:password@")
            same((time.time() - begun < 4, "wrong" in said.replace("went wrong", ""), WRITTEN in said), (True, False, False), "at once")
        says(becr("stats", store, fails=True, env={"SSL_CERT_FILE": stranger}), "is not trusted", "SSL_CERT_FILE")
        says(becr("stats", url(nodes, "sample", login=f"becr:{WRITTEN}@"), fails=True, env=env), "no answer within")
        plain = Node()
        says(becr("stats", url([plain], "sample", "rediss"), fails=True, env=env), "no answer within")

        # Nodes that hang in the middle of a handshake do not hold anybody up.
        [node.freeze() for node in nodes]
        begun = time.time()
        says(becr("stats", store, fails=True, env=env), "no answer within")
        same(time.time() - begun < 12, True, "giving up in time")
        [node.thaw() for node in nodes]
        print("TLS and passwords hold")
    finally:
        end()


main()
