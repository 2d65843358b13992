"""What a fitted classifier predicts, as labels, scores and column labels."""

import warnings
from typing import NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from sklearn_tace._labels import as_label_array, encode_labels, find_columns, listed

_MULTI_OUTPUT = (
    "Multi-output classifiers are not supported, other than for indicator targets of 0 "
    "and 1. Score each output on its own."
)


class Response(NamedTuple):
    """What a classifier says; the keywords of ``check_predictions``."""

    y_proba: ArrayLike
    labels: NDArray | None  # of the columns; None where the classifier does not tell
    unseen: NDArray  # labels of y that it was not fitted on, without a column


def predicted_proba(estimator, X, y):
    """Scores of ``estimator`` for ``X``, and the labels of their columns.

    Lists of arrays, as multi-output estimators return them, become one column an
    output. A label of ``y`` that the estimator was not fitted on causes a warning.
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
    one_column = not scipy.sparse.issparse(y) and np.asarray(y).shape[1:] in ((), (1,))
    if isinstance(classes, list) and any(np.ndim(part) for part in classes):
        if one_column:
            raise ValueError(_MULTI_OUTPUT)
        if isinstance(proba, list):
            proba = _positive_columns(proba, classes)
        return Response(proba, None, np.array([]))
    if classes is None:
        return Response(proba, None, np.array([]))
    classes = as_label_array(classes)
    unseen = _unseen_labels(as_label_array(y), classes, name) if one_column else ()
    return Response(proba, classes, unseen)


def _positive_columns(outputs, classes):
    """P(1) of every binary output; 0 where an output has never seen a 1."""
    if len(outputs) != len(classes) or any(set(seen) - {0, 1} for seen in classes):
        raise ValueError(_MULTI_OUTPUT)
    return np.column_stack([
        np.asarray(proba) @ (np.asarray(seen) == 1)
        for proba, seen in zip(outputs, classes, strict=True)
    ])


def _unseen_labels(y, classes, name):
    found, _ = encode_labels(y.ravel(), "y_true")
    if not found.size or not classes.size:
        return np.array([])
    if isinstance(found[0], str) != isinstance(classes[0], str):
        raise ValueError(
            f"y_true has labels such as {found.tolist()[0]!r}, {name} was fitted on "
            f"labels such as {classes.tolist()[0]!r}."
        )
    unseen = found[find_columns(found, classes) < 0]
    if unseen.size:
        warnings.warn(
            f"y_true contains labels that {name} was not fitted on: {listed(unseen)}. "
            "Each gets a column of zeros; its rows count against the other classes.",
            UserWarning,
            stacklevel=4,
        )
    return unseen
