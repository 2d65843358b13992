"""Arrays and weights from what users pass."""

import numpy as np
import scipy.sparse
from sklearn.utils import check_array

NO_WEIGHT = "Sample weights must contain at least one non-zero number."


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


def as_numbers(values, name):
    """A float64 array of what may be objects, strings or nullable numbers."""
    try:
        if getattr(getattr(values, "dtype", None), "kind", "") in {"m", "M"}:
            raise TypeError(f"got {values.dtype}")
        return check_array(
            values, dtype=np.float64, ensure_2d=False, ensure_all_finite=False
        )
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}.") from error


def check_weight(sample_weight, n_samples, is_part):
    if sample_weight is None:
        return None
    if np.asarray(sample_weight).ndim == 0:
        sample_weight = np.full(n_samples, sample_weight)
    weight = as_array(sample_weight, "sample_weight")
    check_weight_shape(weight.shape, n_samples)
    weight = check_array(
        as_numbers(weight, "sample_weight"),
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
