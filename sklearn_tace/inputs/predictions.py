"""Labels, predicted probabilities and weights, checked together."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d

from sklearn_tace.core.batch import Groups
from sklearn_tace.core.dense import row_blocks
from sklearn_tace.inputs.arrays import as_array, check_weight
from sklearn_tace.inputs.groups import check_groups
from sklearn_tace.inputs.labels import (
    PROVIDE_LABELS,
    add_unseen,
    as_label_array,
    check_labels,
    column_names,
    encode_labels,
    find_classes,
    find_columns,
    is_missing,
    refuse_other_names,
    refuse_unknown,
)
from sklearn_tace.inputs.scores import as_score_array, check_scores


@dataclass(frozen=True)
class Predictions:
    """Labels, scores and weights as plain arrays that belong together."""

    classes: NDArray  # (K,) labels of the columns
    proba: NDArray  # (n, K), or (n,): P(second class); or sparse (n, K) in CSR
    truth: NDArray  # (n,) column of each row's class, or (n, K) of 0 and 1
    weight: NDArray[np.float64] | None  # (n,)
    names: tuple  # of the columns of y_true and y_proba, each a list or None
    groups: Groups | None = None
    first_row: int = 0  # number of the first row, for messages


def check_predictions(
    y_true,
    y_proba,
    *,
    labels,
    sample_weight,
    groups=None,
    fitted=None,
    caller=None,
    classes=None,
    unseen=None,
    is_part=False,
    first_row=0,
    argument=None,
):
    """Canonical arrays from what a user passed.

    ``fitted`` names the classifier whose classes the ``labels`` are: other labels in
    ``y_true`` are then classes without a column. ``caller`` names the called function
    and its first two arguments, for messages about swapped ones. ``classes`` are
    labels that have been checked before, with other rows, and ``unseen`` those that
    then had no column. Of a part of the rows (``is_part``), which begins with
    ``first_row``, all weights may be 0. ``argument`` is what the caller calls the
    ``labels`` or ``classes``.
    """
    hint = order_of_arguments(caller)
    y = as_array(y_true, "y_true", as_label_array)
    if y.ndim == 2 and y.shape[1] == 1:
        y = column_or_1d(y, warn=True)
    proba = as_score_array(y_proba)
    check_shapes(y, proba, caller)
    is_indicator = y.ndim == 2
    if is_indicator:
        truth = _check_indicator(y, hint)
    else:
        found, position = encode_labels(y, "y_true", hint)
    proba = check_scores(proba, y_proba)
    weight = check_weight(sample_weight, len(y), is_part)
    groups = check_groups(groups, len(y))

    names = column_names(y_true), column_names(y_proba)
    argument = argument or ("classes" if is_part else "labels")
    if labels is not None:
        classes = check_labels(labels, argument)
    given = None if classes is None else argument
    if is_indicator:
        may_be_numbers = labels is None
        classes = _classes_of_indicator(y, classes, names, given, may_be_numbers)
    else:
        classes = _classes_of_labels(found, classes, names[1], given)
    _check_columns(classes, proba, given)
    if not is_indicator:
        proba = _without_first_class(proba, classes)
        if fitted is not None:
            classes = add_unseen(found, classes, fitted)
        if unseen is not None:
            classes = np.concatenate([classes, unseen])
        truth = _find_truth(found, classes)[position]
    names = tuple(map(_several, names))
    return Predictions(classes, proba, truth, weight, names, groups, first_row)


def _classes_of_labels(found, classes, names, argument):
    """The passed classes, which must fit the names of the columns; else those found."""
    if classes is None:
        return find_classes(found, names)
    refuse_other_names(names, classes, "y_proba", f"{argument} is")
    return classes


def _classes_of_indicator(y, classes, names, argument, may_be_numbers):
    """The passed classes; else the numbers of the columns."""
    names_of_y, names = names
    refuse_other_names(names, names_of_y, "y_proba", "those of y_true are")
    if classes is None:
        return np.arange(y.shape[1])
    # Integers of an earlier batch may be the numbers of its columns, no labels.
    if not may_be_numbers or classes.dtype.kind in "OU":
        refuse_other_names(names_of_y, classes, "y_true", f"{argument} is")
        refuse_other_names(names, classes, "y_proba", f"{argument} is")
    return classes


def _without_first_class(proba, classes):
    """A single column, of the second class, as a 1-D array."""
    if proba.shape[1:] != (1,) or len(classes) != 2:
        return proba
    if scipy.sparse.issparse(proba):
        raise ValueError(
            "A y_proba of one column stands for 1 - y_proba too, which is not sparse. "
            "Pass y_proba.toarray()."
        )
    return proba[:, 0]


def _find_truth(found, classes):
    columns = find_columns(found, classes)
    refuse_unknown(found[columns < 0], classes)
    return columns


def order_of_arguments(caller):
    """A hint for those who have swapped them."""
    if caller is None:
        return ""
    hint = " {} takes ({}, {}): labels first, predicted probabilities second"
    return hint.format(*caller)


def check_shapes(y, proba, caller):
    """Refuse shapes that do not fit together, of arrays of any kind."""
    if y.ndim > 2 or (y.ndim == 2 and proba.ndim == 1):
        name = "y_true" if caller is None else caller[1]
        got = f"{order_of_arguments(caller)}; got {name} of shape {y.shape}."
        raise ValueError(got.strip(" ;"))
    if proba.ndim > 2:
        raise ValueError(
            f"y_proba must have one or two dimensions, got shape {proba.shape}. "
            "Multi-output classifiers are not supported: score each output on its own."
        )
    check_consistent_length(y, proba)
    if y.shape[1:] not in {(), (1,)} and y.shape != proba.shape:
        raise ValueError(
            f"y_true is an indicator of shape {y.shape}, but y_proba has shape "
            f"{proba.shape}."
        )


def is_dask(values):
    """Whether it is computed by dask, later."""
    graph = getattr(values, "__dask_graph__", None)
    return graph is not None and graph() is not None


def is_wide(y):
    """Whether it has several columns, as an indicator has."""
    try:
        return np.shape(y)[1:] not in {(), (1,)}
    except ValueError:  # rows of different lengths
        return False


def _several(names):
    """Names of two columns or more, as strings."""
    return list(map(str, names)) if names and len(names) > 1 else None


def _check_indicator(y, hint):
    """Refuse two-dimensional labels that are not 0/1, block by block."""
    other = ValueError(
        "Multi-output classifiers are not supported: a two-dimensional y_true must be "
        "an indicator of 0 and 1, one column a class."
    )
    if y.dtype.kind == "O":
        if any(map(is_missing, y.ravel())):
            raise ValueError("y_true contains missing values.")
        y = np.array(y.tolist())
    if y.dtype.kind not in "biuf":
        raise other
    for rows in row_blocks(y.shape, y.dtype.itemsize):
        block = y[rows]
        if ((block == 0) | (block == 1)).all():
            continue
        if block.dtype.kind == "f":
            if np.isnan(block).any():
                raise ValueError("y_true contains missing values.")
            raise ValueError(f"Unknown label type: continuous-multioutput.{hint}")
        raise other
    return y


def _check_columns(classes, proba, argument):
    n_columns = 1 if proba.ndim == 1 else proba.shape[1]
    if n_columns == len(classes) and proba.ndim == 2:
        return
    if n_columns == 1:
        if len(classes) != 2:
            raise ValueError(
                f"A 1-D y_proba needs exactly two labels, got {len(classes)}."
            )
    elif argument is not None:
        raise ValueError(
            f"{argument} has {len(classes)} entries but y_proba has {n_columns} "
            "columns."
        )
    else:
        raise ValueError(
            "y_true and y_proba contain different number of classes: "
            f"{len(classes)} vs {n_columns}. {PROVIDE_LABELS} Classes found in "
            f"y_true: {np.array2string(classes, threshold=10)}."
        )
