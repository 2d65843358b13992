"""Survivors that are too many to hold: data for them, and how to tell."""

import numpy as np
import reference
from numpy.testing import assert_allclose
from scipy.special import softmax

# MiB: far less than is kept of ``problem()``, and enough for the cuts of FEW_BINS.
LITTLE = 0.05
FEW_BINS = {"n_bins": 5, "n_draws": 30}
CLOSE = {"rtol": 1e-12, "atol": 1e-12}
# Settings, each with memory that its cuts need.
SETTINGS = [
    ({"threshold": None}, LITTLE),
    ({"threshold": 0}, LITTLE),
    ({"threshold": 0.25}, 0.022),
    ({"n_bins": "auto"}, 0.065),
    ({"n_bins": 1}, 0.01),
    ({"norm": "l2"}, LITTLE),
    ({"norm": "max"}, LITTLE),
    ({"average": "weighted"}, LITTLE),
]


def problem(n=3000, n_classes=5, dtype=np.float32, seed=0):
    """Labels and probabilities; those of the last class are on a coarse grid."""
    rng = np.random.default_rng(seed)
    proba = softmax(2 * rng.standard_normal((n, n_classes)), axis=1)
    proba[:, -1] = proba[:, -1].round(1)
    proba[:, :-1] *= (1 - proba[:, -1:]) / proba[:, :-1].sum(axis=1, keepdims=True)
    truth = (proba.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return truth, proba.astype(dtype)


def odd_problem():
    """That of ``problem``, but some rows do not sum to one: the worst, 1717, to 0.5."""
    y, proba = problem()
    for row, factor in [(3, 0.9), (1717, 0.5), (2900, 0.6)]:
        proba[row] *= factor
    return y, proba


def two_classes(dtype, shape):
    """Labels and probabilities, the latter of one column or of two."""
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 0.5, 6000).astype(dtype)
    y = (rng.random(6000) < p).astype(int)
    proba = {
        "one dimension": p,
        "one column": p[:, None],
        "two columns": np.column_stack([1 - p, p]),
    }[shape]
    return y, proba


def indicator_problem():
    rng = np.random.default_rng(0)
    proba = rng.beta(0.3, 1, (4000, 4)).astype(np.float32)
    return (rng.random(proba.shape) < proba).astype(int), proba


def grid_problem(seed, grid, power, dtype):
    """Outcomes, and scores of which many are equal where the grid is coarse."""
    rng = np.random.default_rng(seed)
    shape = 2000, 2
    scores = rng.integers(0, grid, shape, endpoint=True) / grid
    scores = ((scores**power * 2**40).round() / 2**40).astype(dtype)
    return rng.integers(0, 2, shape), scores, rng


def exact_problem(n, grid, weighted):
    rng = np.random.default_rng(0)
    scores = rng.integers(0, grid, (n, 2), endpoint=True) / grid
    outcomes = (rng.random(scores.shape) < scores).astype(int)
    return outcomes, scores, rng.integers(0, 2**10, n) / 2**10 if weighted else None


def assert_exact(report, outcomes, scores, weight):
    """Demand the class errors that exact arithmetic gives, from sums."""
    assert is_condensed(report)
    expected = reference.class_errors(
        outcomes.tolist(),
        scores.tolist(),
        threshold=report.threshold,
        n_bins=report.n_bins,
        weights=None if weight is None else weight.tolist(),
    )
    assert_allclose(report.class_tace_, expected, **CLOSE)


def is_condensed(report):
    """Whether survivors were summed up."""
    try:
        report.sensitivity()
    except ValueError as error:
        if "working_memory" not in str(error):
            raise
        return True
    return False
