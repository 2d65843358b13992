"""Predicted probabilities as arrays: dense, from data frames, or sparse."""

import numpy as np
import scipy.sparse
from sklearn.utils import check_array

from sklearn_tace.inputs.arrays import as_array, as_numbers


def as_scores(frame):
    """As np.asarray, but nullable columns of pandas keep their precision."""
    dtypes = getattr(frame, "dtypes", ())
    dtypes = list(dtypes) if hasattr(dtypes, "__iter__") else [dtypes]
    if any(hasattr(dtype, "numpy_dtype") for dtype in dtypes):
        dtypes = [getattr(dtype, "numpy_dtype", dtype) for dtype in dtypes]
        if all(getattr(dtype, "kind", "") == "f" for dtype in dtypes):
            return frame.to_numpy(dtype=np.result_type(*dtypes), na_value=np.nan)
    return np.asarray(frame)


def as_score_array(y_proba):
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


def check_scores(proba, y_proba):
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
        proba = as_numbers(source, "y_proba")
    return proba
