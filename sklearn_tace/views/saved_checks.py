"""Checks of a saved report: an error where no rows could have given it.

The rest of the package does not check again; it would index arrays with these numbers.
"""

import numpy as np

from sklearn_tace.core.batch import MASS_ONE, unpack
from sklearn_tace.inference.attributes import INFERRED

_MOST = 2**50  # rows times classes
_SLACK = 1 + 1e-9  # of sums that were rounded
_TYPES = {
    "n_samples": int,
    "mass": int,
    "largest_score": (int, float),
    "one_column": bool,
    "one_label": bool,
}


def demand(condition, what):
    """Refuse a report in which ``what`` is wrong."""
    if not np.all(condition):
        raise ValueError(f"{what} cannot be right")


def check_totals(totals, n_classes):
    for name, kind in (("support", "i"), ("support_weight", "f")):
        values = getattr(totals, name)
        demand(values.dtype.kind == kind and values.shape == (n_classes,), name)
        demand((values >= 0) & np.isfinite(values), name)
    for name, types in _TYPES.items():
        value = getattr(totals, name)
        demand(isinstance(value, types) and value >= 0, name)
    n_scores = totals.n_samples * n_classes
    demand(n_scores < _MOST, "n_samples")
    demand(totals.mass <= 2 * n_scores * MASS_ONE, "mass")
    demand(totals.largest_score <= 1, "largest_score")
    demand(totals.dtype.kind == "f", "the precision")


def check_batch(batch, n_classes):
    shape = batch.key.shape
    for values, kind in (
        (batch.class_index, "u"),
        (batch.key, "u"),
        (batch.row, "u"),
        (np.ones(shape) if batch.weight is None else batch.weight, "f"),
    ):
        demand(values.dtype.kind == kind and values.shape == shape, "an array")
    demand(len(shape) == 1 and batch.key.itemsize in {4, 8}, "the scores")
    score, _ = unpack(batch.key.copy())
    demand((score >= 0) & (score <= 1), "a score")
    demand(batch.class_index < n_classes, "a class")
    demand(batch.row < batch.totals.n_samples, "a row")
    if batch.groups is not None:
        labels, code = batch.groups.labels, batch.groups.code
        is_known = code.dtype.kind == "i" and code.shape == (batch.totals.n_samples,)
        demand(is_known and labels.ndim == 1, "groups")
        demand(np.array_equal(np.unique(code), np.arange(len(labels))), "groups")
        demand(len(np.unique(labels)) == len(labels), "groups")
    if batch.weight is not None:
        demand((batch.weight > 0).all() and batch.weight.sum() < np.inf, "a weight")


def check_cells(cells, n_classes):
    n_cells, indptr, sums = len(cells.lower), cells.indptr, cells.sums
    demand(indptr.dtype.kind == "i" and indptr.shape == (n_classes + 1,), "indptr")
    demand(indptr[0] == 0 and indptr[-1] == n_cells, "indptr")
    demand(np.diff(indptr) >= 0, "indptr")
    demand(sums.ndim == 2 and len(sums) in {3, 6}, "a sum")
    for values in (cells.lower, cells.upper, *sums):
        demand(values.dtype == np.float64 and values.shape == (n_cells,), "a cell")
    demand((cells.lower >= 0) & (cells.upper <= 1), "a score")
    demand(cells.lower <= cells.upper, "a score")
    demand((sums >= 0) & np.isfinite(sums), "a sum")
    demand((sums[:2] == np.rint(sums[:2])) & (sums[0] >= 1), "a count")
    for total, positive, mass in sums.reshape(-1, 3, n_cells):
        demand(positive <= total * _SLACK, "a sum")
        demand(mass <= total * cells.upper * _SLACK, "a sum")
        demand(mass * _SLACK >= total * cells.lower, "a sum")
    follows = np.ones(n_cells + 1, dtype=bool)
    follows[1:-1] = cells.lower[1:] > cells.upper[:-1]
    follows[indptr] = True
    demand(follows, "the order of scores")
    demand(cells.n_kept <= cells.totals.n_samples, "a count")
    demand(cells.kept_positives <= cells.totals.support, "a count")


def check_inferred(inferred, n_classes):
    unknown = set(inferred) - set(INFERRED)
    demand(not unknown, f"attributes {sorted(unknown)}")
    for name, value in inferred.items():
        if name == "expected_bins_":
            columns = ("class", "bin", "gap", "lower", "upper")
            demand(value.dtype.names == columns, name)
            demand([~np.isinf(value[column]) for column in columns[2:]], name)
            continue
        demand(name != "design_effect_" or not value < 1, name)
        shape = (n_classes,) if "class" in name else (2,) * (name == "interval_")
        demand(np.shape(value) == shape, name)
        demand(~np.isinf(value), name)
