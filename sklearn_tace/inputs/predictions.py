"""What users pass, made canonical, or an error that names the argument."""

import numbers
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.utils import (
    check_array,
    check_consistent_length,
    check_scalar,
    column_or_1d,
)

from sklearn_tace.core.dense import row_blocks
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

_OPTIONS = {
    "ties": ("average", "ordinal"),
    "norm": ("l1", "l2", "max"),
    "average": ("macro", "weighted"),
}


NO_WEIGHT = "Sample weights must contain at least one non-zero number."


@dataclass(frozen=True)
class Predictions:
    """Labels, scores and weights as plain arrays that belong together."""

    classes: NDArray  # (K,) labels of the columns
    proba: NDArray  # (n, K), or (n,): P(second class); or sparse (n, K) in CSR
    truth: NDArray  # (n,) column of each row's class, or (n, K) of 0 and 1
    weight: NDArray[np.float64] | None  # (n,)
    names: tuple  # of the columns of y_true and y_proba, each a list or None
    first_row: int = 0  # what messages call the first row


def check_parameters(**settings):
    """Refuse parameters of a wrong type or value."""
    for name, value in settings.items():
        check = _CHECKS.get(name, _check_option)
        check(name, value)


def _check_threshold(name, value):
    if value is None:
        return
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number or None, got {value!r}.")
    if not 0 <= value < 1:
        raise ValueError(f"{name} must fulfil 0 <= {name} < 1, got {value!r}.")


def _check_number_of_bins(name, value):
    if not isinstance(value, str):
        _check_count(name, value)
    elif value != "auto":
        raise ValueError(f"{name} must be an integer or 'auto', got {value!r}.")


def _check_count(name, value):
    if isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, got {value!r}.")
    check_scalar(value, name, numbers.Integral, min_val=1)


def _check_level(name, value):
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    if not 0 < value < 1:
        raise ValueError(f"{name} must fulfil 0 < {name} < 1, got {value!r}.")


def _check_random_state(name, value):
    if value is None or isinstance(value, np.random.Generator | np.random.RandomState):
        return
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise TypeError(
            f"{name} must be an integer, a numpy Generator or RandomState, or None, "
            f"got {value!r}."
        )
    if not 0 <= value < 2**32:
        raise ValueError(f"{name} must fulfil 0 <= {name} < 2**32, got {value!r}.")


def _check_option(name, value):
    allowed = ", ".join(map(repr, _OPTIONS[name]))
    also = " (or, in tace_error, None)" if name == "average" else ""
    message = f"{name} must be one of {allowed}{also}, got {value!r}."
    if name == "average" and value is None:
        raise ValueError(message)
    if not isinstance(value, str):
        raise TypeError(message)
    if value not in _OPTIONS[name]:
        raise ValueError(message)


_CHECKS = {
    "threshold": _check_threshold,
    "n_bins": _check_number_of_bins,
    "confidence_level": _check_level,
    "n_draws": _check_count,
    "random_state": _check_random_state,
}


def check_predictions(
    y_true,
    y_proba,
    *,
    labels,
    sample_weight,
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
    proba = _as_score_array(y_proba)
    check_shapes(y, proba, caller)
    if y.ndim == 2:
        y = _check_indicator(y, hint)
    else:
        found, code = encode_labels(y, "y_true", hint)

    proba = _check_scores(proba, y_proba)
    weight = check_weight(sample_weight, len(y), is_part)
    names = column_names(y_proba)
    argument = argument or ("classes" if is_part else "labels")
    if labels is not None:
        classes = check_labels(labels, argument)
    given = classes is not None
    if y.ndim == 2:
        names_of_y = column_names(y_true)
        refuse_other_names(names, names_of_y, "y_proba", "those of y_true are")
        if not given:
            classes = np.arange(y.shape[1])
        elif labels is not None or classes.dtype.kind in "OU":
            # Integers may be the numbers of an indicator's columns, no labels.
            refuse_other_names(names_of_y, classes, "y_true", f"{argument} is")
            refuse_other_names(names, classes, "y_proba", f"{argument} is")
    elif given:
        refuse_other_names(names, classes, "y_proba", f"{argument} is")
    else:
        classes = find_classes(found, names)
    _check_columns(classes, proba, argument if given else None)

    if y.ndim == 2:
        names = _several(names_of_y), _several(names)
        return Predictions(classes, proba, y, weight, names, first_row)
    if proba.shape[1:] == (1,) and len(classes) == 2:
        if scipy.sparse.issparse(proba):
            raise ValueError(
                "A y_proba of one column stands for 1 - y_proba too, which is not "
                "sparse. Pass y_proba.toarray()."
            )
        proba = proba[:, 0]
    if fitted is not None:
        classes = add_unseen(found, classes, fitted)
    if unseen is not None:
        classes = np.concatenate([classes, unseen])
    columns = find_columns(found, classes)
    refuse_unknown(found[columns < 0], classes)
    names = None, _several(names)
    return Predictions(classes, proba, columns[code], weight, names, first_row)


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


def as_array(values, name, convert=np.asarray):
    if np.ma.is_masked(values):
        raise ValueError(
            f"{name} has masked entries. Remove those rows, or give them weight 0 and "
            "fill them with valid values."
        )
    if not scipy.sparse.issparse(values):
        try:
            values = convert(values)
        except ValueError as error:  # rows of different lengths
            raise ValueError(f"{name} is no array: {error}") from error
        if values.ndim == 0:
            raise TypeError(f"{name} must be an array or a list, got {values[()]!r}.")
        if values.dtype.kind == "c":
            raise ValueError(f"Complex data not supported: {name}.")
    return check_array(
        values,
        dtype=None,
        ensure_2d=False,
        allow_nd=True,
        ensure_all_finite=False,
        input_name=name,
    )


def as_scores(frame):
    """As np.asarray, but nullable columns of pandas keep their precision."""
    dtypes = getattr(frame, "dtypes", ())
    dtypes = list(dtypes) if hasattr(dtypes, "__iter__") else [dtypes]
    if any(hasattr(dtype, "numpy_dtype") for dtype in dtypes):
        dtypes = [getattr(dtype, "numpy_dtype", dtype) for dtype in dtypes]
        if all(getattr(dtype, "kind", "") == "f" for dtype in dtypes):
            return frame.to_numpy(dtype=np.result_type(*dtypes), na_value=np.nan)
    return np.asarray(frame)


def _as_numbers(values, name):
    """A float64 array of what may be objects, strings or nullable numbers."""
    try:
        if getattr(getattr(values, "dtype", None), "kind", "") in {"m", "M"}:
            raise TypeError(f"got {values.dtype}")
        return check_array(
            values, dtype=np.float64, ensure_2d=False, ensure_all_finite=False
        )
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}.") from error


def _as_score_array(y_proba):
    listed = isinstance(y_proba, (list, tuple))
    if listed and any(getattr(part, "ndim", 1) > 1 for part in y_proba):
        raise ValueError(
            "y_proba is a list of arrays. Multi-output classifiers are not supported: "
            "score each output on its own; for multilabel targets, stack the columns "
            "of P(1), as the scorer and CalibrationReport.from_estimator do."
        )
    if scipy.sparse.issparse(y_proba):
        return _as_csr(y_proba)
    return as_array(y_proba, "y_proba", as_scores)


def _as_csr(y_proba):
    """Sparse scores by rows, numbers of this machine, duplicates summed."""
    if y_proba.ndim != 2:
        raise ValueError(
            f"A sparse y_proba must have two dimensions, got shape {y_proba.shape}."
        )
    if y_proba.dtype.kind == "c":
        raise ValueError("Complex data not supported: y_proba.")
    if y_proba.dtype == np.float16:
        raise ValueError(
            "y_proba is sparse and of half precision, which scipy.sparse does not "
            "support. Pass y_proba.astype(np.float32)."
        )
    is_compressed = y_proba.format in {"csr", "csc"}
    if is_compressed:  # before it is converted, which would read them
        _check_indices(y_proba)
    proba = check_array(
        y_proba,
        accept_sparse="csr",
        dtype=None,
        ensure_all_finite=False,
        input_name="y_proba",
    )
    if not is_compressed:
        _check_indices(proba)
    if proba.dtype.kind != "f":
        proba = proba.astype(np.float64)
    if not proba.dtype.isnative:
        proba = proba.astype(proba.dtype.newbyteorder("="))
    if not proba.has_canonical_format:
        proba = proba.copy()
        proba.sum_duplicates()
    return proba


def _check_indices(y_proba):
    """Refuse numbers beyond the matrix, which would be read from foreign memory."""
    ends = y_proba.indptr
    if ends[0] != 0 or (np.diff(ends) < 0).any() or ends[-1] > len(y_proba.indices):
        raise ValueError("y_proba is no valid sparse matrix: see its check_format().")
    axis = 1 if y_proba.format == "csr" else 0
    indices, size = y_proba.indices, y_proba.shape[axis]
    if len(indices) and not 0 <= indices.min() <= indices.max() < size:
        what = ("row", "column")[axis]
        raise ValueError(
            f"y_proba stores an entry in {what} {_first_outside(indices, size)}, but "
            f"has {size} {what}s."
        )


def _first_outside(indices, size):
    return indices[(indices < 0) | (indices >= size)][0]


def _check_scores(proba, y_proba):
    """The scores as numbers, one- or two-dimensional, values unchecked."""
    if scipy.sparse.issparse(proba):
        return proba
    if proba.size == 0:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={proba.shape}) while a minimum of 1 "
            "is required: y_proba has no column."
        )
    if proba.dtype.kind not in "biuf":
        source = y_proba if hasattr(y_proba, "dtypes") else proba
        proba = _as_numbers(source, "y_proba")
    return proba


def check_weight(sample_weight, n_samples, is_part):
    if sample_weight is None:
        return None
    if np.asarray(sample_weight).ndim == 0:
        sample_weight = np.full(n_samples, sample_weight)
    weight = as_array(sample_weight, "sample_weight")
    check_weight_shape(weight.shape, n_samples)
    weight = check_array(
        _as_numbers(weight, "sample_weight"),
        ensure_2d=False,
        ensure_non_negative=True,
        input_name="sample_weight",
    )
    if not weight.any() and not is_part:
        raise ValueError(NO_WEIGHT)
    with np.errstate(over="ignore"):
        total = weight.sum()
    lowest = 0 if is_part else np.finfo(np.float64).tiny
    if not lowest <= total < np.inf:
        raise ValueError(
            f"The sum of sample_weight is {total}, beyond double precision. Only "
            "ratios matter: scale the weights."
        )
    return weight


def check_weight_shape(shape, n_samples):
    if len(shape) != 1:
        raise ValueError(
            f"Sample weights must be 1D array or scalar, got {len(shape)}D array."
        )
    if shape[0] != n_samples:
        raise ValueError(
            f"sample_weight has {shape[0]} entries for {n_samples} samples."
        )


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
