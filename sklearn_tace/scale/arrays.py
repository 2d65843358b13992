"""Survivors of what a user passes at once: arrays in memory, or of dask."""

from sklearn_tace.core.errors import Calibration, measure
from sklearn_tace.core.filter import filter_scores
from sklearn_tace.core.survivors import sort
from sklearn_tace.inputs.parameters import check_parameters
from sklearn_tace.inputs.predictions import check_predictions, is_dask
from sklearn_tace.inputs.warnings import warn_if_undefined, warn_of_row_sum
from sklearn_tace.scale.seen_rows import SeenRows

SETTINGS = ("threshold", "n_bins", "ties", "norm", "average")


def settings_of(estimator, names=SETTINGS):
    """Parameters of a scorer or a report by name."""
    return {name: getattr(estimator, name) for name in names}


def check_and_measure(y_true, y_proba, settings, **data) -> Calibration:
    """TACE of what a user passed; the keywords are those of check_predictions."""
    check_parameters(**settings)
    if is_dask(y_proba):
        seen = _filter_dask(y_true, y_proba, settings, with_rows=False, **data)
        return _measure_and_warn(seen.sorted().survivors, settings)
    return measure_predictions(check_predictions(y_true, y_proba, **data), settings)


def measure_predictions(given, settings) -> Calibration:
    """TACE of predictions that have been checked: filter, sort, bin and average."""
    batch, worst = filter_scores(given, settings["threshold"])
    warn_of_row_sum(worst)
    return _measure_and_warn(sort(batch, settings["ties"]), settings)


def check_and_filter(y_true, y_proba, settings, **data) -> SeenRows:
    """Survivors of what a user passed; the keywords are those of check_predictions."""
    check_parameters(**settings)
    if is_dask(y_proba):
        return _filter_dask(y_true, y_proba, settings, with_rows=True, **data)
    given = check_predictions(y_true, y_proba, **data)
    batch, worst = filter_scores(given, settings["threshold"], with_rows=True)
    warn_of_row_sum(worst)
    return SeenRows(given.classes, given.names, settings, [batch])


def _measure_and_warn(survivors, settings):
    measured = measure(survivors, settings)
    warn_if_undefined(measured, settings["threshold"])
    return measured


def _filter_dask(y_true, y_proba, settings, **data):
    from sklearn_tace.scale import dask_arrays  # imports dask, which few have

    return dask_arrays.filter_chunks(y_true, y_proba, settings, **data)
