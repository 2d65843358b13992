"""From the table of bins to class errors and to one value."""

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_tace.core.bins import Bins, bin_survivors, pool_gaps
from sklearn_tace.core.cells import Cells
from sklearn_tace.core.filter import filter_scores, warn_of_row
from sklearn_tace.core.survivors import Survivors, sort
from sklearn_tace.inputs.predictions import check_parameters, check_predictions, is_dask
from sklearn_tace.inputs.warnings import warn
from sklearn_tace.scale.seen_rows import SeenRows


@dataclass(frozen=True)
class Calibration:
    """All that one measurement found; the doors show parts of it."""

    survivors: Survivors | Cells
    bins: Bins
    class_errors: NDArray[np.float64]  # (K,) nan where no score survived
    tace: float


SETTINGS = ("threshold", "n_bins", "ties", "norm", "average")


def settings_of(door, names=SETTINGS):
    """Parameters of a scorer or a report by name."""
    return {name: getattr(door, name) for name in names}


def check_and_measure(y_true, y_proba, settings, **data) -> Calibration:
    """The way from what a user passed to every number of the package."""
    check_parameters(**settings)
    if is_dask(y_proba):
        seen = _gather_chunks(y_true, y_proba, settings, False, **data).sorted()
        return _measure_and_warn(seen.survivors, settings)
    return measure_predictions(check_predictions(y_true, y_proba, **data), settings)


def measure_predictions(given, settings) -> Calibration:
    """Filter, sort, bin and average what has been checked."""
    batch, odd = filter_scores(given, settings["threshold"])
    warn_of_row(odd)
    return _measure_and_warn(sort(batch, settings["ties"]), settings)


def _measure_and_warn(survivors, settings):
    measured = measure(survivors, settings)
    warn_if_undefined(measured, settings["threshold"])
    return measured


def check_and_filter(y_true, y_proba, settings, **data) -> SeenRows:
    """What the threshold keeps of what a user passed."""
    check_parameters(**settings)
    if is_dask(y_proba):
        return _gather_chunks(y_true, y_proba, settings, True, **data)
    given = check_predictions(y_true, y_proba, **data)
    batch, odd = filter_scores(given, settings["threshold"], with_rows=True)
    warn_of_row(odd)
    return SeenRows(given.classes, given.names, settings, [batch])


def _gather_chunks(y_true, y_proba, settings, with_rows, **data):
    from sklearn_tace.scale.dask_arrays import (
        gather_chunks,  # imports dask, which few have
    )

    return gather_chunks(y_true, y_proba, settings, with_rows, **data)


def measure(survivors, settings) -> Calibration:
    """Bin and average."""
    bins = bin_survivors(survivors, settings["n_bins"], settings["ties"])
    errors = class_errors(bins, len(survivors.n_kept), settings["norm"])
    is_weighted = settings["average"] == "weighted"
    weight = survivors.totals.support_weight if is_weighted else None
    return Calibration(survivors, bins, errors, mean_class_error(errors, weight))


def warn_if_undefined(measured, threshold):
    if not np.isnan(measured.tace):
        return
    if not measured.survivors.totals.n_samples:
        reason = "No row has weight."
    elif np.isnan(measured.class_errors).all():
        reason = (
            f"No predicted probability is above threshold={threshold}; the largest is "
            f"{measured.survivors.totals.largest_score:.6g}."
        )
    else:
        reason = "average='weighted', but no class with survivors has a row."
    warn(
        f"{reason} TACE is undefined and set to nan.",
        UndefinedMetricWarning,
    )


def sensitivity_table(survivors, settings, thresholds, n_bins, expect=None):
    """One row for each threshold with each number of bins.

    ``expect`` says what chance would give for survivors and settings.
    """
    own, as_score = settings["threshold"], survivors.totals.dtype.type
    grid = list(itertools.product(thresholds, n_bins))
    for threshold, bins in grid:
        check_parameters(threshold=threshold, n_bins=bins)
        if own is not None and (
            threshold is None or as_score(threshold) < as_score(own)
        ):
            raise ValueError(
                f"thresholds must not be below the report's own, {own!r}, which "
                f"discarded what is needed; got {threshold!r}."
            )
    kept = {t: survivors if t == own else survivors.above(t) for t in thresholds}
    rows = []
    for threshold, bins in grid:
        cell = settings | {"threshold": threshold, "n_bins": bins}
        tace = measure(kept[threshold], cell).tace
        n_kept = kept[threshold].n_kept
        bins = 0 if bins == "auto" else min(bins, np.iinfo(int).max)
        row = (threshold, bins, tace, n_kept.sum(), np.sum(n_kept == 0))
        rows.append(row if expect is None else (*row, expect(kept[threshold], cell)))
    names = ("threshold", "n_bins", "tace", "n_kept", "n_excluded", "expected_tace")
    types = (float, int, float, int, int, float)
    dtype = list(zip(names, types, strict=True))
    table = np.array(rows, dtype=dtype[: 5 if expect is None else 6])

    undefined = table["threshold"][np.isnan(table["tace"])]
    if undefined.size:
        warn(
            "TACE is undefined and set to nan for thresholds "
            f"{np.unique(undefined).tolist()}: no probability is above them, or with "
            "average='weighted' no class with such has a row.",
            UndefinedMetricWarning,
        )
    return table


def as_table(columns):
    """Columns by name as one structured array."""
    dtype = [(name, column.dtype) for name, column in columns.items()]
    table = np.empty(len(next(iter(columns.values()))), dtype=dtype)
    for name, column in columns.items():
        table[name] = column
    return table


def class_errors(bins, n_classes, norm):
    """Error of every class from the gaps of its bins; nan for a class without bins."""
    errors = np.full(n_classes, np.nan)
    errors[bins.class_index[bins.index == 0]] = pool_gaps(bins.gap, bins.index, norm)
    return errors


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
