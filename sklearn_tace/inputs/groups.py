"""Groups of rows that belong together."""

import numpy as np

from sklearn_tace.core.batch import Groups
from sklearn_tace.inputs.arrays import as_array
from sklearn_tace.inputs.labels import as_label_array, encode_labels


def check_groups(groups, n_samples) -> Groups | None:
    """The labels of the groups, and which of them each row has."""
    if groups is None:
        return None
    values = as_array(groups, "groups", as_label_array)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    check_groups_shape(values.shape, n_samples)
    if values.dtype.kind == "f" and np.isfinite(values).all():
        return Groups(*np.unique(values, return_inverse=True))
    return Groups(*encode_labels(values, "groups"))


def check_groups_shape(shape, n_samples):
    if len(shape) != 1:
        raise ValueError(f"groups must be 1-D, one label a row, got shape {shape}.")
    if shape[0] != n_samples:
        raise ValueError(f"groups has {shape[0]} entries for {n_samples} samples.")
