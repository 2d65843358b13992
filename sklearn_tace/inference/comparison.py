"""Two models on the same rows: which is better calibrated?"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklearn_tace.inference.attributes import as_generator, bin_rows
from sklearn_tace.inference.debiased import (
    cross_fit,
    draw_halves,
    influence_of_rare,
    margin,
    mean_and_terms,
    plug_in,
)
from sklearn_tace.inference.dependence import fit_dependence
from sklearn_tace.inference.measurement import Measurement
from sklearn_tace.inputs.labels import are_same_labels, listed

_SAME = ("threshold", "n_bins", "ties", "confidence_level")


@dataclass(frozen=True, eq=False)
class Comparison:
    """The difference in calibration of two models on the same rows.

    Attributes
    ----------
    debiased_tace : tuple of 2 floats
        ``debiased_tace_`` of the first and of the second report.
    difference : float
        First minus second, in [-1, 1]. Below 0: the first is better calibrated.
    interval : ndarray of shape (2,)
        Interval for the difference on infinitely many new rows.
    confidence_level : float
        Level of the interval.

    See Also
    --------
    compare : Makes it.

    References
    ----------
    .. [1] E. Berta, S. Braun, D. Holzmüller, F. Bach, M. I. Jordan (2026). "A
       Variational Estimator for L_p Calibration Errors". `arXiv:2602.24230
       <https://arxiv.org/abs/2602.24230>`_

    Examples
    --------
    >>> from sklearn_tace import Comparison
    >>> print(Comparison((0.01, 0.05), -0.04, (-0.06, -0.02), 0.95))
    debiased TACE: first 0.0100, second 0.0500
    first minus second -0.0400, 95% interval -0.0600 to -0.0200:
    the first is better calibrated
    """

    debiased_tace: tuple[float, float]
    difference: float
    interval: NDArray[np.float64]
    confidence_level: float

    def __str__(self):
        low, high = self.interval
        if high < 0:
            verdict = "the first is better calibrated"
        elif low > 0:
            verdict = "the second is better calibrated"
        else:
            verdict = "these rows do not tell which is better calibrated"
        return (
            f"debiased TACE: first {self.debiased_tace[0]:.4f}, second "
            f"{self.debiased_tace[1]:.4f}\n"
            f"first minus second {self.difference:z.4f}, "
            f"{100 * self.confidence_level:.4g}% interval {low:z.4f} to {high:z.4f}:\n"
            f"{verdict}"
        )


def compare(first: Measurement, second: Measurement) -> Comparison:
    """Compare the calibration of two models on the same rows.

    The values alone do not tell, since noise adds more to one than to the other. The
    interval for their difference on new rows uses what the rows have in common. It is
    made of bounds, nearly always covers, and is wide where rows are few.

    Parameters
    ----------
    first, second : CalibrationReport
        Fitted with the labels of the same rows in the same order, and with the same
        classes, ``threshold``, ``n_bins``, ``ties`` and ``confidence_level``;
        ``norm="l1"`` and ``average="macro"``.

    Returns
    -------
    comparison : Comparison
        Difference of the debiased values with an interval; ``print`` it.

    Raises
    ------
    TypeError
        Where an argument is no report.
    ValueError
        Where settings, classes or rows differ, as far as the reports can tell, or
        where there are no debiased values.
    sklearn.exceptions.NotFittedError
        Where a report has not been fitted.

    References
    ----------
    .. [1] E. Berta, S. Braun, D. Holzmüller, F. Bach, M. I. Jordan (2026). "A
       Variational Estimator for L_p Calibration Errors". `arXiv:2602.24230
       <https://arxiv.org/abs/2602.24230>`_ (Signs learnt from other rows.)

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_tace import CalibrationReport, compare
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0.1, 0.9, 5000)
    >>> y = rng.random(5000) < p
    >>> overconfident = p**3 / (p**3 + (1 - p) ** 3)
    >>> print(compare(*(CalibrationReport().fit(y, q) for q in (p, overconfident))))
    debiased TACE: first 0.0000, second 0.1694
    first minus second -0.1694, 95% interval -0.1799 to -0.1407:
    the first is better calibrated
    """
    for report in (first, second):
        if not isinstance(report, Measurement):
            raise TypeError(
                f"compare takes two CalibrationReports, got {type(report).__name__}."
            )
    seen = first._sorted_rows(), second._sorted_rows()
    _check_same_settings(*seen)
    try:
        debiased = first.debiased_tace_, second.debiased_tace_
    except AttributeError as error:
        raise ValueError(f"compare needs debiased values, but {error}") from error
    survivors = [one.sorted_rows() for one in seen]
    _check_same_rows(*survivors)
    for name, value in zip(("first", "second"), debiased, strict=True):
        if np.isnan(value):
            raise ValueError(f"TACE of the {name} report is undefined.")
    rng = as_generator(seen[0].settings["random_state"])
    binned = [fit_dependence(bin_rows(one, seen[0].settings), rng) for one in survivors]

    level = seen[0].settings["confidence_level"]
    groups = survivors[0].groups
    n_units = len(groups.labels) if binned[0].is_grouped else first.n_samples_
    halves = draw_halves(n_units, rng)
    z = max(one.quantile(level) for one in binned)
    influence = max(influence_of_rare(one, z) for one in binned)
    bounds = [
        _least_difference(one, other, halves, influence, z)
        for one, other in (binned, binned[::-1])
    ]
    (low, high), (other_low, other_high) = first.interval_, second.interval_
    difference = debiased[0] - debiased[1]
    lower = max(bounds[0], low - other_high)
    upper = min(-bounds[1], high - other_low)
    interval = np.array([min(lower, difference), max(upper, difference)])
    return Comparison(debiased, difference, interval, level)


def _least_difference(one, other, halves, influence, z):
    """Lower bound for the value of one less that of the other, unit by unit.

    Signed gaps do not overstate the one, and the plug-in value does not understate the
    other. What noise has in common in a unit cancels.
    """
    value, other_terms = plug_in(other)
    n_units = halves.shape[1]
    other_terms = _spread(other_terms, other.unit_number, n_units)
    means, spreads = [], []
    for factor in cross_fit(one, halves[:, one.unit_number]):
        mean, terms = mean_and_terms(one, factor)
        terms = _spread(terms, one.unit_number, n_units)
        means.append(mean)
        spreads.append(np.sum((terms - other_terms) ** 2))
    return np.mean(means) - value - margin(np.mean(spreads), influence, z)


def _check_same_settings(first, second):
    for name in _SAME:
        values = first.settings[name], second.settings[name]
        if values[0] != values[1]:
            raise ValueError(
                f"The reports differ in {name}: {values[0]!r} and {values[1]!r}."
            )
    if not are_same_labels(first.classes, second.classes):
        raise ValueError(
            f"The reports differ in their classes: {listed(first.classes)} and "
            f"{listed(second.classes)}."
        )


def _check_same_rows(first, second):
    """Refuse rows that differ, as far as what both kept tells."""
    totals = first.totals, second.totals
    is_same = totals[0].n_samples == totals[1].n_samples
    is_same &= np.array_equal(*(totals.support for totals in totals))
    if is_same:
        keys = [_keys(survivors) for survivors in (first, second)]
        _, *common = np.intersect1d(*keys, assume_unique=True, return_indices=True)
        outcomes = first.outcome[common[0]], second.outcome[common[1]]
        weights = map(_relative_weight, (first, second), common)
        is_same &= np.array_equal(*outcomes)
        is_same &= np.allclose(*weights, rtol=1e-9, atol=0)
    if not is_same:
        raise ValueError(
            "The reports were fitted on different rows, or on rows in another order: "
            "labels or weights differ."
        )
    groups = first.groups, second.groups
    if (groups[0] is None) != (groups[1] is None) or (
        groups[0] is not None and not _are_same_groups(*groups)
    ):
        raise ValueError("The reports were fitted with different groups.")


def _are_same_groups(first, second):
    return are_same_labels(first.labels, second.labels) and np.array_equal(
        first.code, second.code
    )


def _keys(survivors):
    """A number for each row and class."""
    n_classes = len(survivors.n_kept)
    class_index = np.repeat(np.arange(n_classes), survivors.n_kept)
    return survivors.row.astype(np.int64) * n_classes + class_index


def _relative_weight(survivors, part):
    if survivors.weight is None:
        return np.ones(len(part))
    return survivors.weight[part] / survivors.weight[part].max(initial=0)


def _spread(values, unit, n_units):
    spread = np.zeros(n_units)
    spread[unit] = values
    return spread
