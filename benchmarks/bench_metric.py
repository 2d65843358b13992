"""Time and memory of the metric: beside the floor, log-loss, and other packages.

Run it with ``python benchmarks/bench_metric.py``, which takes some minutes and prints
the tables of ``docs/benchmarks.md``; followed by a word, those with it in their title.
Packages that are not installed are left out (``pip install uncertainty-metrics`` gives
the fastest). Compare ratios, not times: the functions of a table take turns in one
process and one thread, and the best of several turns counts.
"""

import copy
import platform
import sys
import tempfile
import time
import tracemalloc
import warnings
from functools import partial
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path

import numpy as np
import scipy.sparse
from peers import installed_peers
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from sklearn_tace import CalibrationReport, tace_error

SHAPES = [(1_000, 3), (200_000, 10), (50_000, 100), (50_000, 1000), (2_000, 32_000)]
THRESHOLD = np.float32(0.01)
# A function that takes longer than so many seconds is not tried on larger input.
PATIENCE = 4


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


class Floor:
    """One read of the scores, and a sort in place of each class's survivors."""

    def __init__(self, proba):
        keep = (proba > THRESHOLD).T
        self.proba, self.survivors = proba, proba.T[keep]
        ends = np.cumsum(np.concatenate([[0], keep.sum(axis=1)]))
        self.slices = list(pairwise(ends.tolist()))

    def time(self):
        scores = self.survivors.copy()
        start = time.perf_counter()
        self.proba.max()
        for begin, end in self.slices:
            scores[begin:end].sort()
        return time.perf_counter() - start


def timed(function, *args, **keywords):
    def run():
        start = time.perf_counter()
        function(*args, **keywords)
        return time.perf_counter() - start

    return run


def best_times(runs, seconds=4):
    """The best time of each, in turns that take about so many seconds."""
    best = dict.fromkeys(runs, np.inf)
    left = dict.fromkeys(runs, seconds)
    turn = 0
    while max(left.values()) > 0 and turn < 200:
        for name, run in runs.items():
            # The slow ones get fewer turns.
            if left[name] > 0:
                took = run()
                best[name] = min(best[name], took)
                left[name] -= took
        turn += 1
    return best


def peak_memory(function, *args):
    tracemalloc.start()
    function(*args)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)
    print(flush=True)


def milliseconds(seconds):
    return f"{seconds * 1e3:.3g}" if seconds < 1 else f"{seconds * 1e3:.0f}"


def against_others():
    """All shapes: time, share of the floor, peak memory."""
    slow = set()
    for n, n_classes in SHAPES:
        y, proba = softmax_problem(n, n_classes)
        labels = np.arange(n_classes)
        floor = Floor(proba)
        n_kept = len(floor.survivors)
        functions = {
            "sklearn_tace `tace_error`": partial(tace_error, labels=labels),
            "scikit-learn `log_loss`": partial(log_loss, labels=labels),
        }
        if n_classes < 10_000:  # beyond, they need a K x K matrix or minutes
            functions |= installed_peers()
        for name in slow & functions.keys():
            del functions[name]
        runs = {name: timed(function, y, proba) for name, function in functions.items()}
        best = best_times({"floor": floor.time, "read": timed(proba.max)} | runs)
        slow |= {name for name, took in best.items() if took > PATIENCE}
        print(
            f"### {n:,} rows, {n_classes:,} classes\n\n"
            f"{proba.nbytes / 1e6:.3g} MB, {n_kept / proba.size:.2%} above the "
            f"threshold. To read it once takes {milliseconds(best.pop('read'))} ms.\n"
        )
        rows = []
        for name, took in best.items():
            row = [name, milliseconds(took), f"{took / best['floor']:.1f}"]
            if name in functions:
                memory = peak_memory(functions[name], y, proba)
                row.append(f"{memory / 1e6:.3g}")
                row.append(f"{memory / proba.nbytes:.1%}")
                row.append(f"{memory / n_kept:.0f}")
            rows.append(row + [""] * (6 - len(row)))
        head = ["", "ms", "/ floor", "peak MB", "of the input", "bytes a survivor"]
        table(head, rows)


def other_paths():
    """What weights, order and storage cost beside the plain call."""
    names, rows = None, []
    for n, n_classes in SHAPES:
        y, proba = softmax_problem(n, n_classes)
        labels = np.arange(n_classes)
        weight = np.random.default_rng(0).random(n) + 0.5
        sparse = scipy.sparse.csr_array(np.where(proba > 1e-3, proba, 0))
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "proba.npy")
            np.save(file, proba)
            mapped = np.load(file, mmap_mode="r")
            calls = {
                "plain": (proba, {}),
                "ordinal": (proba, {"ties": "ordinal"}),
                "weights": (proba, {"sample_weight": weight}),
                "columns": (np.asfortranarray(proba), {}),
                "float64": (proba.astype(float), {}),
                "sparse": (sparse, {}),
                "memory map": (mapped, {}),
            }
            best = best_times({
                name: timed(tace_error, y, scores, labels=labels, **settings)
                for name, (scores, settings) in calls.items()
            })
            del mapped, calls
        names = list(best)
        plain = best["plain"]
        rows.append(
            [f"{n:,} x {n_classes:,}", milliseconds(plain)]
            + [f"{best[name] / plain:.2f}" for name in names[1:]]
        )
    table(["n x K", "plain, ms", *names[1:]], rows)


def growth():
    """Time a score, in n and in K."""
    for title, shapes in {
        "rows": [(n, 100) for n in (6_250, 12_500, 25_000, 50_000, 100_000, 200_000)],
        "classes": [(10_000, k) for k in (10, 30, 100, 300, 1000, 3000, 10_000)],
    }.items():
        rows = []
        for n, n_classes in shapes:
            y, proba = softmax_problem(n, n_classes)
            labels, floor = np.arange(n_classes), Floor(proba)
            runs = {
                "floor": floor.time,
                "tace": timed(tace_error, y, proba, labels=labels),
            }
            best = best_times(runs, seconds=2)
            rows.append([
                f"{n:,} x {n_classes:,}",
                milliseconds(best["tace"]),
                f"{best['tace'] / best['floor']:.1f}",
                f"{best['tace'] / proba.size * 1e9:.2f}",
                f"{best['tace'] / len(floor.survivors) * 1e9:.0f}",
            ])
        print(f"In the number of {title}:\n")
        table(["n x K", "ms", "/ floor", "ns a score", "ns a survivor"], rows)


def report_and_stream():
    """What the report, batches, merging and sensitivity cost beside one value."""
    rows = []
    for n, n_classes in SHAPES[2:4]:
        y, proba = softmax_problem(n, n_classes)
        labels = np.arange(n_classes)
        parts = [
            (y[i : i + n // 50], proba[i : i + n // 50]) for i in range(0, n, n // 50)
        ]
        reports = [CalibrationReport().fit(*part, labels=labels) for part in parts]
        fitted = CalibrationReport().fit(y, proba, labels=labels)
        assert stream(parts, labels) == merge(reports) == fitted.tace_
        best = best_times({
            "value": timed(tace_error, y, proba, labels=labels),
            "report": timed(CalibrationReport().fit, y, proba, labels=labels),
            "50 batches": timed(stream, parts, labels),
            "merge of 50 reports": timed(merge, reports),
            "sensitivity, 5 x 3": timed(
                fitted.sensitivity,
                thresholds=[0.01, 0.02, 0.05, 0.1, 0.2],
                n_bins=[5, 15, 50],
            ),
        })
        value = best.pop("value")
        rows.append(
            [f"{n:,} x {n_classes:,}", milliseconds(value)]
            + [f"{took / value:.2f}" for took in best.values()]
        )
    table(["n x K", "value, ms", *best], rows)


def inference():
    """What the reference, the debiased value and the interval cost together."""
    rows = []
    for n, n_classes in [(1000, 2), (1000, 10), (10_000, 100), *SHAPES[2:]]:
        y, proba = softmax_problem(n, n_classes)
        labels = np.arange(n_classes)
        report = CalibrationReport().fit(y, proba, labels=labels)

        def infer(report=report):
            """Reading an attribute computes all; a copy has computed none."""
            return copy.copy(report).interval_

        best = best_times({
            "value": timed(tace_error, y, proba, labels=labels),
            "inference": timed(infer),
        })
        rows.append([
            f"{n:,} x {n_classes:,}",
            f"{report.n_kept_.sum():,}",
            milliseconds(best["value"]),
            milliseconds(best["inference"]),
            f"{best['inference'] / best['value']:.0f}",
            f"{peak_memory(infer) / 1e6:.3g}",
        ])
    head = ["n x K", "survivors", "value, ms", "inference, ms", "/ value", "peak MB"]
    table(head, rows)


def stream(parts, classes):
    report = CalibrationReport()
    for y, proba in parts:
        report.partial_fit(y, proba, classes=classes)
    return report.tace_


def merge(reports):
    total = CalibrationReport()
    for report in reports:
        total.merge(report)
    return total.tace_


def main():
    packages = ["numpy", "scipy", "scikit-learn"]
    print(
        f"Python {platform.python_version()}, "
        + ", ".join(f"{name} {version(name)}" for name in packages)
        + f", {platform.machine()}, one thread.\n"
    )
    for title, part in {
        "Beside the floor and others": against_others,
        "Other paths, as multiples of the plain one": other_paths,
        "Growth": growth,
        "Report, batches and sensitivity, as multiples of one value": report_and_stream,
        "Inference, 1000 draws": inference,
    }.items():
        if all(word in title.lower() for word in sys.argv[1:]):
            print(f"## {title}\n")
            part()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        main()
