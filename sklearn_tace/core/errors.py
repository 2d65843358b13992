"""From the gaps of the bins to class errors and to one value."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklearn_tace.core.bins import Bins, bin_survivors
from sklearn_tace.core.cells import Cells
from sklearn_tace.core.survivors import Survivors


@dataclass(frozen=True)
class Calibration:
    """All that one measurement found; the doors show parts of it."""

    survivors: Survivors | Cells
    bins: Bins
    class_errors: NDArray[np.float64]  # (K,) nan where no score survived
    tace: float


def measure(survivors, settings) -> Calibration:
    """Bin and average."""
    bins = bin_survivors(survivors, settings["n_bins"], settings["ties"])
    errors = class_errors(bins, len(survivors.n_kept), settings["norm"])
    is_weighted = settings["average"] == "weighted"
    weight = survivors.totals.support_weight if is_weighted else None
    return Calibration(survivors, bins, errors, mean_class_error(errors, weight))


def class_errors(bins, n_classes, norm):
    """Error of every class from the gaps of its bins; nan for a class without bins."""
    errors = np.full(n_classes, np.nan)
    errors[bins.class_index[bins.index == 0]] = pool_gaps(bins.gap, bins.index, norm)
    return errors


def pool_gaps(gap, index, norm):
    """One error for every class with bins, which are numbered from 0 in each class.

    Gaps of shape (n_bins, n) give errors of shape (n_classes, n).
    """
    head = np.flatnonzero(index == 0)
    n_bins = np.diff(head, append=len(gap)).reshape(-1, *[1] * (gap.ndim - 1))
    if norm == "l1":
        return np.add.reduceat(gap, head) / n_bins
    if norm == "l2":
        return np.sqrt(np.add.reduceat(gap**2, head) / n_bins)
    return np.maximum.reduceat(gap, head)


def mean_class_error(errors, class_weight=None):
    """Mean over the classes that have an error; nan where none has, or no weight."""
    measured = ~np.isnan(errors)
    errors = errors[measured]
    weight = np.ones(len(errors)) if class_weight is None else class_weight[measured]
    if not weight.any():
        return float("nan")
    weight = weight / weight.max()  # sums of extreme weights stay finite
    return float(np.sum(errors * weight) / weight.sum())


def worst_first(errors):
    """Numbers of the classes that have an error, the largest first."""
    measured = np.flatnonzero(~np.isnan(errors))
    return measured[np.argsort(-errors[measured], kind="stable")]
