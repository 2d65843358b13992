"""Scores of a fitted classifier, with the labels of their columns."""

from typing import NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike

_MULTI_OUTPUT = (
    "Multi-output classifiers are not supported, other than for indicator targets of 0 "
    "and 1. Score each output on its own."
)


class Response(NamedTuple):
    """What a classifier says; keywords of ``check_predictions``."""

    y_proba: ArrayLike
    labels: ArrayLike | None  # of the columns; None where the classifier does not tell
    fitted: str  # name of the classifier


def predicted_proba(estimator, X, y):
    """Scores of ``estimator`` for ``X``, and the labels of their columns.

    Lists of arrays, as multi-output estimators return them, become one column an
    output.
    """
    name = type(estimator).__name__
    try:
        predict_proba = estimator.predict_proba
    except AttributeError as error:
        raise AttributeError(
            f"{name} has none of the following attributes: predict_proba. TACE needs "
            "probabilities; sklearn.calibration.CalibratedClassifierCV adds them."
        ) from error
    proba = predict_proba(X)
    classes = getattr(estimator, "classes_", None)
    if isinstance(classes, list) and any(np.ndim(part) for part in classes):
        if not scipy.sparse.issparse(y) and np.asarray(y).shape[1:] in ((), (1,)):
            raise ValueError(_MULTI_OUTPUT)
        if isinstance(proba, list):
            proba = _positive_columns(proba, classes)
        classes = None
    return Response(proba, classes, name)


def _positive_columns(outputs, classes):
    """P(1) of every binary output; 0 where an output has never seen a 1."""
    if len(outputs) != len(classes) or any(set(seen) - {0, 1} for seen in classes):
        raise ValueError(_MULTI_OUTPUT)
    return np.column_stack([
        np.asarray(proba) @ (np.asarray(seen) == 1)
        for proba, seen in zip(outputs, classes, strict=True)
    ])
