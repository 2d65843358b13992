"""Warnings that point at the user's call."""

import inspect
import warnings

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning


def warn(message, category=UserWarning):
    """Warn the first caller outside of this package."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and package_of(frame) == "sklearn_tace":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def package_of(frame):
    """Name of the package whose code runs in a frame."""
    return str(frame.f_globals.get("__name__")).partition(".")[0]


def warn_of_row_sum(worst):
    """Warn of the row that is furthest from a sum of one, if there is one."""
    if worst is not None:
        warn(
            "The y_proba values do not sum to one. Make sure to pass probabilities, "
            f"not scores. Row {worst.row} sums to {worst.total:.6g}."
        )


def warn_if_undefined(measured, threshold):
    """Warn that TACE is nan, and why."""
    if not np.isnan(measured.tace):
        return
    totals = measured.survivors.totals
    if not totals.n_samples:
        reason = "No row has weight."
    elif np.isnan(measured.class_errors).all():
        reason = (
            f"No predicted probability is above threshold={threshold}; the largest is "
            f"{totals.largest_score:.6g}."
        )
    else:
        reason = "average='weighted', but no class with survivors has a row."
    warn(f"{reason} TACE is undefined and set to nan.", UndefinedMetricWarning)
