"""Time and memory of dask arrays and of batches, beside arrays in memory.

``python benchmarks/bench_dask.py`` takes some minutes and prints tables; with
``--fast`` it takes less than one. It needs dask and distributed (``pip install
'sklearn-tace[dask]'``), two cores and some gigabytes of memory; ``--rows`` sets how far
rows are doubled. Compare ratios: what is put beside each other was timed in one
process. The first way holds what is above the threshold; the second, where that is more
than scikit-learn's ``working_memory``, sums it up and visits the rows again.
"""

import argparse
import logging
import platform
import re
import resource
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path

import dask
import dask.array as da
import numpy as np
from bench_metric import best_times, peak_memory, softmax_problem, table, timed
from distributed import Client, LocalCluster, wait
from sklearn import config_context
from threadpoolctl import threadpool_limits

from sklearn_tace import CalibrationReport, tace_error

MIB = 2**20
CHUNK_BYTES = 16 * MIB
# Of the synthetic rows.
CHUNK = 250_000
N_CLASSES = 10
WAYS = {"first": 2**20, "second": 16}  # working_memory, in MiB

# Blocks of synthetic scores that this process has made.
made = []


def make_scores(block_id):
    rng = np.random.default_rng([block_id[0], 0])
    proba = rng.standard_normal((CHUNK, N_CLASSES), dtype=np.float32)
    proba *= 3
    np.exp(proba, out=proba)
    proba /= proba.sum(axis=1, keepdims=True)
    made.append(block_id[0])
    return proba


def draw_labels(proba, block_id):
    rng = np.random.default_rng([block_id[0], 1])
    cumulative = np.cumsum(proba, axis=1)
    drawn = rng.random((len(proba), 1)) * cumulative[:, -1:]
    return (cumulative < drawn).sum(axis=1)


def synthetic_arrays(n_rows):
    chunks = ((CHUNK,) * (n_rows // CHUNK), (N_CLASSES,))
    empty = np.empty((0, 0), dtype=np.float32)
    proba = da.map_blocks(make_scores, chunks=chunks, dtype=empty.dtype, meta=empty)
    y = da.map_blocks(draw_labels, proba, drop_axis=1, dtype=int, meta=np.empty(0, int))
    return y, proba


def synthetic_batches(n_rows):
    for block in range(n_rows // CHUNK):
        proba = make_scores((block, 0))
        yield draw_labels(proba, (block,)), proba


@contextmanager
def two_workers():
    """A client of two worker processes of one thread each, which spill nothing."""
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit=0,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def peak_resident():
    """Most memory that this process has had so far, in bytes."""
    # What getrusage tells counts from what the parent had when it began this process.
    status = Path("/proc/self/status")
    found = status.exists() and re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
    if found:
        return int(found[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def count_made():
    return len(made)


def peak_of_workers(client):
    return max(client.run(peak_resident).values())


def measure_little():
    """What imports and starts all that a first call does."""
    y, proba = softmax_problem(10_000, N_CLASSES)
    y, proba = da.from_array(y, 1000), da.from_array(proba, (1000, N_CLASSES))
    for limit in (1, 0.1):
        with config_context(working_memory=limit):
            tace_error(y, proba, labels=np.arange(N_CLASSES), n_bins=2)


def measure_little_here():
    with dask.config.set(scheduler="synchronous"):
        measure_little()


def overhead(shape, patience):
    """Best times of the same scores in memory and in chunks, in turns."""
    y, proba = softmax_problem(*shape)
    tace = partial(tace_error, labels=np.arange(shape[1]))
    size = max(1, CHUNK_BYTES // proba[:1].nbytes)
    in_chunks = da.from_array(y, size), da.from_array(proba, (size, shape[1]))

    def under(scheduler):
        def run():
            with dask.config.set(scheduler=scheduler):
                return tace(*in_chunks)

        return run

    with two_workers() as client:
        on_workers = client.persist(in_chunks)
        wait(on_workers)
        calls = {
            "in memory": partial(tace, y, proba),
            "dask, synchronous": under("synchronous"),
            "dask, threads": under("threads"),
            "dask, two worker processes": partial(tace, *on_workers),
        }
        values = [call() for call in calls.values()]
        assert np.ptp(values) <= 1e-12
        best = best_times({name: timed(call) for name, call in calls.items()}, patience)
    return in_chunks[1].numblocks[0], best


def on_cluster(n_rows, limit):
    """Time and peaks of one call on a fresh cluster."""
    y, proba = synthetic_arrays(n_rows)
    with two_workers() as client, config_context(working_memory=limit):
        client.run(measure_little_here)
        measure_little()
        idle, own = peak_of_workers(client), peak_resident()
        alone = timed(dask.compute, proba.max(), y.max())()
        idle_and_scores = peak_of_workers(client)
        n_made = sum(client.run(count_made).values())
        start = time.perf_counter()
        value = tace_error(y, proba, labels=np.arange(N_CLASSES))
        took = time.perf_counter() - start
        return {
            "times_made": (sum(client.run(count_made).values()) - n_made)
            / proba.numblocks[0],
            "alone": alone,
            "took": took,
            "worker_alone": idle_and_scores - idle,
            "worker": peak_of_workers(client) - idle,
            "client": peak_resident() - own,
            "value": value,
        }


def from_batches(n_rows, limit):
    """Time and peaks of one report on batches."""
    batches = partial(synthetic_batches, n_rows)

    def read():
        for y, proba in batches():
            proba.max(), y.max()

    def report():
        return CalibrationReport.from_batches(batches, labels=np.arange(N_CLASSES))

    measure_little_here()
    with config_context(working_memory=limit):
        alone = timed(read)()
        n_made = count_made()
        start = time.perf_counter()
        value = report().tace_
        took = time.perf_counter() - start
        return {
            "times_made": (count_made() - n_made) / (n_rows // CHUNK),
            "alone": alone,
            "took": took,
            "peak_alone": peak_memory(read),
            "peak": peak_memory(report),
            "value": value,
        }


def apart(function, *args):
    """What a function returns in a process of its own, so that peaks do not add up."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(quietly, function, *args).result()


def quietly(function, *args):
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        return function(*args)


def megabytes(n_bytes):
    return f"{n_bytes / 1e6:.3g}" if n_bytes < 1e9 else f"{n_bytes / 1e6:.0f}"


def sizes_until(n_rows):
    size = 4 * CHUNK
    while size <= n_rows:
        yield size
        size *= 2


def show_overhead(shapes, patience):
    rows = []
    for shape in shapes:
        n_chunks, best = apart(overhead, shape, patience)
        for name, took in best.items():
            ratio = took / best["in memory"]
            size = f"{shape[0]:,} x {shape[1]:,}"
            chunks = "" if name == "in memory" else str(n_chunks)
            rows.append([size, name, chunks, f"{took:.3g}", f"{ratio:.2f}"])
    print(
        f"Chunks of at most {CHUNK_BYTES // MIB} MiB; those of the worker processes "
        "are there beforehand.\n"
    )
    table(["n x K", "", "chunks", "seconds", "/ in memory"], rows)


def show_growth(measure, n_rows, memory):
    """A table of both ways, with the columns of ``memory``: of what is measured."""
    differences = []

    def rows():
        for size in sizes_until(n_rows):
            values = []
            for way, limit in WAYS.items():
                got = apart(measure, size, limit)
                values.append(got["value"])
                yield [
                    f"{size:,}",
                    way,
                    f"{got['times_made']:g}",
                    f"{got['alone']:.3g}",
                    f"{got['took']:.3g}",
                    f"{got['took'] / got['alone']:.2f}",
                    f"{got['took'] / size * 1e9:.0f}",
                    *(megabytes(got[key]) for key in memory.values()),
                    f"{got['value']:.12f}",
                ]
            differences.append(np.ptp(values))

    head = ["rows", "way", "times made", "scores alone, s", "seconds", "/ alone"]
    table([*head, "ns a row", *memory, "value"], rows())
    largest = max(differences)
    is_same = "the same" if largest <= 1e-12 else "NOT THE SAME"
    print(f"To 1e-12 both ways give {is_same}; they differ by {largest:.1e} at most.\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--fast", action="store_true", help="small sizes only")
    parser.add_argument("--rows", type=int, help="double the rows up to so many")
    options = parser.parse_args()
    if options.fast:
        shapes, until = [(200_000, 10), (20_000, 1000)], (2_000_000, 1_000_000)
        patience = 1
    else:
        shapes, until = [(1_000_000, 10), (50_000, 1000)], (32_000_000, 8_000_000)
        patience = 4
    if options.rows is not None:
        if options.rows < 4 * CHUNK:
            parser.error(f"--rows must be {4 * CHUNK} or more")
        until = options.rows, options.rows

    packages = ["numpy", "scipy", "scikit-learn", "dask", "distributed"]
    print(
        f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {version(name)}" for name in packages)
        + f", {platform.machine()}.\n"
    )
    print("## Overhead of dask\n")
    show_overhead(shapes, patience)
    about = (
        f"Batches or chunks of {CHUNK:,} rows and {N_CLASSES} classes "
        f"({CHUNK * N_CLASSES * 4 // 10**6} MB) are made when they are asked for; "
        "each line is one run. The second way has a working_memory of "
        f"{WAYS['second']} MiB. How often each was made tells the visits. "
    )
    print("## Growth on a cluster\n")
    print(
        about + "Two worker processes of a thread each. Peaks are resident memory, in "
        "MB: of the larger worker, beyond an idle one; of the client, where the "
        "scheduler is too, beyond the time before the call.\n"
    )
    peaks = {
        "worker, scores alone": "worker_alone",
        "worker": "worker",
        "client": "client",
    }
    show_growth(on_cluster, until[0], peaks)
    print("## Growth without dask\n")
    print(
        about + "`CalibrationReport.from_batches` in one thread. Peaks are what is "
        "allocated, in MB, with the batch that is being read.\n"
    )
    peaks = {"peak, scores alone": "peak_alone", "peak": "peak"}
    show_growth(from_batches, until[1], peaks)


if __name__ == "__main__":
    main()
