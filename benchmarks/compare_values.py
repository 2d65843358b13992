"""Values of the package beside those of others, on the same small inputs.

``python benchmarks/compare_values.py`` takes seconds and prints the table of
``docs/comparison.md``. Packages that are not installed are left out, and named below
the table. The inputs are made of whole numbers or written out, so that every machine
has the same.
"""

import platform
import warnings
from functools import partial
from importlib.metadata import version
from typing import NamedTuple

import numpy as np
from peers import EQUAL_COUNT, EQUAL_WIDTH, THRESHOLDED, TOP_LABEL, load

import sklearn_tace
from sklearn_tace import CalibrationReport, tace_error


class Input(NamedTuple):
    """Labels 0 to K - 1, a column for each, and the settings to measure with."""

    y: np.ndarray
    proba: np.ndarray
    threshold: float
    n_bins: int


def two_columns(p):
    p = np.asarray(p, dtype=float)
    return np.column_stack([1 - p, p])


def worked_example():
    """The six rows of the definition page; class A is the second column."""
    p = [0.01, 0.03, 0.10, 0.40, 0.60, 0.80]
    return Input(np.array([0, 0, 0, 0, 1, 1]), two_columns(p), 0.05, 2)


def tied(order):
    """Twenty rows with four different scores; the order tells equal scores apart."""
    p = np.repeat([0.2, 0.4, 0.6, 0.8], [6, 6, 4, 4])
    y = np.array([0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1])
    order = np.arange(20) if order == "mixed" else np.lexsort([y, p])
    return Input(y[order], two_columns(p[order]), 0.01, 5)


def without_survivor():
    """The third class is true in three rows, and is never given more than 0.04."""
    third = np.tile([0.01, 0.02, 0.03, 0.04], 3)
    first = np.linspace(0.1, 0.9, 12)
    proba = np.column_stack([first, 1 - first - third, third])
    return Input(np.array([1, 1, 2, 1, 0, 1, 2, 0, 1, 0, 2, 0]), proba, 0.05, 2)


def at_threshold():
    """Four scores of the second class are the threshold itself, 1/8."""
    p = np.repeat([0.125, 0.5, 0.75], [4, 2, 2])
    return Input(np.array([1, 1, 1, 1, 0, 1, 0, 1]), two_columns(p), 0.125, 2)


def few_survivors():
    """The worked example as the third of three classes, and 15 bins."""
    p = worked_example().proba[:, 1]
    proba = np.column_stack([0.6 * (1 - p), 0.4 * (1 - p), p])
    return Input(np.array([0, 1, 0, 1, 2, 2]), proba, 0.05, 15)


def zeros_and_ones():
    """The first class is true in three rows, but its score is always exactly 0."""
    y = np.repeat([1, 0, 2], [1, 3, 8])
    proba = np.eye(3)[np.repeat([1, 2], [4, 8])]
    return Input(y, proba, 0.01, 2)


def random_rows():
    """1000 rows of ten classes from an over-confident model."""
    rng = np.random.default_rng(0)
    strength = rng.integers(1, 100, size=(1000, 10))
    truth = np.cumsum(strength**4, axis=1)
    y = (truth <= rng.integers(truth[:, -1])[:, None]).sum(axis=1)
    predicted = strength**6
    return Input(y, predicted / predicted.sum(axis=1, keepdims=True), 0.01, 15)


INPUTS = {
    "example": worked_example(),
    "ties": tied("mixed"),
    "ties, reordered": tied("by outcome"),
    "no survivor": without_survivor(),
    "at threshold": at_threshold(),
    "few survivors": few_survivors(),
    "0 and 1": zeros_and_ones(),
    "1000 x 10": random_rows(),
}


def ours(y, proba, n_bins, threshold, **settings):
    labels = np.arange(proba.shape[1])
    return tace_error(
        y, proba, n_bins=n_bins, threshold=threshold, labels=labels, **settings
    )


def ours_without_threshold(y, proba, n_bins, threshold):
    return ours(y, proba, n_bins, None)


def ours_by_count(y, proba, n_bins, threshold):
    """Bins weighted by count, and 0 for a class without survivors."""
    K = proba.shape[1]
    report = CalibrationReport(threshold=threshold, n_bins=n_bins)
    bins = report.fit(y, proba, labels=np.arange(K)).bins_
    kept = report.n_kept_[bins["class"]]
    return (bins["gap"] * bins["weight"] / kept).sum() / K


class Kind(NamedTuple):
    """What is measured, by us (functions by name) and by others."""

    ours: dict
    peers: list


KINDS = {
    "above the threshold": Kind(
        {
            "sklearn_tace": ours,
            'sklearn_tace, `ties="ordinal"`': partial(ours, ties="ordinal"),
            "sklearn_tace, by count, empty class 0": ours_by_count,
        },
        THRESHOLDED,
    ),
    "all, equal count": Kind(
        {"sklearn_tace, `threshold=None`": ours_without_threshold}, EQUAL_COUNT
    ),
    "all, equal width": Kind({}, EQUAL_WIDTH),
    "top label": Kind({}, TOP_LABEL),
}


def shown(function, data):
    """The value as text; of a function that raises, the name of the error."""
    settings = {"n_bins": data.n_bins, "threshold": data.threshold}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = function(data.y.copy(), data.proba.copy(), **settings)
    except Exception as error:
        return type(error).__name__
    return f"{value:.4f}"


def values(function):
    return [shown(function, data) for data in INPUTS.values()]


def rows():
    """Kind, name and values: first ours, then those of every installed peer."""
    table = []
    for name, kind in KINDS.items():
        functions = kind.ours | {peer.name: load(peer) for peer in kind.peers}
        table += [
            [name, who, *values(function)]
            for who, function in functions.items()
            if function is not None
        ]
    return table


def versions():
    """Versions of the packages that were run, and names of those that were not."""
    found, missing = {}, {}
    for kind in KINDS.values():
        for peer in kind.peers:
            if load(peer) is None:
                missing[peer.distribution] = None
            else:
                found[peer.distribution] = version(peer.distribution)
    return found, list(missing)


def main():
    print("| measured | by | " + " | ".join(INPUTS) + " |")
    print("|---|---|" + "---:|" * len(INPUTS))
    for row in rows():
        print("| " + " | ".join(row) + " |")
    found, missing = versions()
    print(
        f"\nPython {platform.python_version()}, numpy {version('numpy')}, "
        f"sklearn_tace {sklearn_tace.__version__}, "
        + ", ".join(f"{name} {number}" for name, number in found.items())
        + "."
    )
    if missing:
        print(f"\nNot installed, or not importable: {', '.join(missing)}.")


if __name__ == "__main__":
    main()
