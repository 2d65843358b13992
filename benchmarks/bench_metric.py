"""Time and memory of the metric beside one read of the scores and log-loss.

Run it with ``python benchmarks/bench_metric.py``. All figures of a line come from one
process and one thread; compare the ratios, not the times.
"""

import time
import tracemalloc

import numpy as np
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from sklearn_tace import tace_error

SHAPES = [(50_000, 1000), (50_000, 100), (200_000, 10), (2_000, 32_000), (1_000, 3)]


def softmax_problem(n, n_classes, seed=0):
    """Sharp single-precision predictions, and labels drawn from them."""
    rng = np.random.default_rng(seed)
    proba = rng.standard_normal((n, n_classes), dtype=np.float32)
    proba *= 3
    proba -= proba.max(axis=1, keepdims=True)
    np.exp(proba, out=proba)
    proba /= proba.sum(axis=1, keepdims=True)
    cumulative = np.cumsum(proba, axis=1)
    y = (cumulative < rng.random((n, 1)) * cumulative[:, -1:]).sum(axis=1)
    return y, proba


def best_time(function, repeats):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def peak_memory(function):
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def main():
    print(
        f"{'n x K':>15} {'kept':>6} {'tace, s':>9} {'/ max':>7} {'/ log_loss':>10} "
        f"{'memory / input':>14}"
    )
    for n, n_classes in SHAPES:
        y, proba = softmax_problem(n, n_classes)
        labels = np.arange(n_classes)
        repeats = 3 if proba.size > 10_000_000 else 10

        def tace(y=y, proba=proba, labels=labels):
            return tace_error(y, proba, labels=labels)

        own = best_time(tace, repeats)
        read = best_time(proba.max, repeats)
        other = best_time(lambda y=y, p=proba, k=labels: log_loss(y, p, labels=k), 2)
        memory = peak_memory(tace) / proba.nbytes
        print(
            f"{n:>7} x {n_classes:<5} {(proba > 0.01).mean():6.1%} {own:9.4f} "
            f"{own / read:7.1f} {own / other:10.2f} {memory:14.2f}",
            flush=True,
        )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
