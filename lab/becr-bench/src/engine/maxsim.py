"""Times ColBERT-style MaxSim: 32 query vectors against 150 documents of 857 vectors, 128 dimensions, one thread.

Documents are picked at random from a store that exceeds the last-level cache several times. Prints the package
used and the median in milliseconds. Arguments: documents, tokens, query vectors.
"""
import os
import sys
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[variable] = "1"
import numpy as np

documents, tokens, vectors = map(int, sys.argv[1:4])
random = np.random.default_rng(1)
store = random.standard_normal((1200, tokens, 128), dtype=np.float32)
query = random.standard_normal((vectors, 128), dtype=np.float32)
try:
    import maxsim_cpu

    name = "maxsim-cpu"
except ImportError:
    maxsim_cpu, name = None, "numpy"
times = []
for _ in range(9):
    picked = [store[i] for i in random.integers(0, len(store), documents)]
    start = time.perf_counter()
    if maxsim_cpu:
        maxsim_cpu.maxsim_scores_variable(query, picked)
    else:
        [(query @ document.T).max(axis=1).sum() for document in picked]
    times.append(time.perf_counter() - start)
print(name, 1000 * sorted(times)[len(times) // 2])
