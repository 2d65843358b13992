"""The ways that scores can take to a report; all must give the same numbers."""

import contextlib
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
import scipy.sparse
from numpy.testing import assert_allclose, assert_array_equal

# Attributes that are computed when they are asked for, and not before.
ON_DEMAND = (
    "expected_tace_",
    "expected_tace_quantile_",
    "p_value_",
    "expected_class_tace_",
    "expected_class_tace_quantile_",
    "expected_bins_",
    "design_effect_",
    "repeated_share_",
    "debiased_tace_",
    "interval_",
    "direction_p_value_",
)


def fitted_attributes(report):
    """Attributes set by a fit, by name; computes them where that is still to do."""
    assert report.tace_ is not None
    return {
        name: value
        for name, value in vars(report).items()
        if name.endswith("_") and name not in ON_DEMAND
    }


def assert_same_report(actual, desired, rtol=0, atol=0):
    """Demand the same attributes, to the last bit unless a tolerance is given."""
    actual, desired = fitted_attributes(actual), fitted_attributes(desired)
    assert actual.keys() == desired.keys()
    for name, value in desired.items():
        if name == "bins_" and rtol + atol:
            assert actual[name].dtype == value.dtype
            columns = [(actual[name][f], value[f]) for f in value.dtype.names]
        else:
            columns = [(actual[name], value)]
        for got, expected in columns:
            if rtol + atol and np.asarray(expected).dtype.kind == "f":
                assert_allclose(got, expected, rtol=rtol, atol=atol, err_msg=name)
            else:
                assert_array_equal(got, expected, err_msg=name)


def _fit(report, y, proba, labels, sample_weight):
    return report.fit(y, proba, labels=labels, sample_weight=sample_weight)


def _strided(proba):
    wide = np.full([2 * size + 1 for size in proba.shape], 0.5, dtype=proba.dtype)
    view = wide[tuple(slice(1, None, 2) for _ in proba.shape)]
    view[:] = proba
    return view


def _duplicates(proba):
    """Half of every entry twice, and explicit zeros, in a COO array."""
    row, column = np.nonzero(np.ones(proba.shape))
    half = proba[row, column] / 2
    entries = np.concatenate([half, half]), (np.tile(row, 2), np.tile(column, 2))
    return scipy.sparse.coo_array(entries, shape=proba.shape)


def _long_indices(proba):
    matrix = scipy.sparse.csr_matrix(proba)
    matrix.indices = matrix.indices.astype(np.int64)
    matrix.indptr = matrix.indptr.astype(np.int64)
    return matrix


def _dense(convert):
    def fit(report, y, proba, labels, sample_weight):
        return _fit(report, y, convert(np.asarray(proba)), labels, sample_weight)

    return fit


def _sparse(convert):
    def fit(report, y, proba, labels, sample_weight):
        proba = np.asarray(proba)
        if proba.ndim == 2 and proba.shape[1] > 1 and report.threshold is not None:
            proba = convert(proba)
        return _fit(report, y, proba, labels, sample_weight)

    return fit


def _memory_map(report, y, proba, labels, sample_weight):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "proba.npy")
        np.save(path, proba)
        mapped = np.load(path, mmap_mode="r")
        _fit(report, y, mapped, labels, sample_weight)
        del mapped
    return report


def _small_tiles(report, y, proba, labels, sample_weight):
    with contextlib.ExitStack() as stack:
        for name, size in {
            "core.dense._TILE_BYTES": 100,
            "core.dense._NARROW_BYTES": 12,
            "core.dense._LONG": 5,
            "core.sparse._BLOCK_ENTRIES": 3,
        }.items():
            stack.enter_context(mock.patch(f"sklearn_tace.{name}", size))
        _fit(report, y, proba, labels, sample_weight)
        if report.threshold is None or np.ndim(proba) == 1:
            return report
        other = type(report)(**report.get_params())
        sparse = scipy.sparse.csr_array(np.asarray(proba))
        if np.shape(proba)[1] > 1:
            _fit(other, y, sparse, labels, sample_weight)
            assert_same_report(other, report)
    return report


def split(y, proba, sample_weight, n_parts=3):
    """Rows in uneven parts, in order; none is empty."""
    y, proba = np.asarray(y), np.asarray(proba)
    n = len(y)
    ends = sorted({n * (k + 1) ** 2 // (n_parts + 1) ** 2 for k in range(n_parts)})
    for rows in np.split(np.arange(n), ends):
        if len(rows):
            weight = None if sample_weight is None else np.asarray(sample_weight)[rows]
            yield y[rows], proba[rows], weight


def _classes(y, labels):
    return np.unique(y) if labels is None and np.ndim(y) == 1 else labels


def _batches(report, y, proba, labels, sample_weight):
    classes = _classes(y, labels)
    for y_part, proba_part, weight in split(y, proba, sample_weight):
        report.partial_fit(y_part, proba_part, classes=classes, sample_weight=weight)
    return report


def _merged(report, y, proba, labels, sample_weight):
    classes = _classes(y, labels)
    parts = [
        type(report)(**report.get_params()).partial_fit(
            y_part, proba_part, classes=classes, sample_weight=weight
        )
        for y_part, proba_part, weight in split(y, proba, sample_weight)
    ]
    # Only ties="ordinal" looks at the order of arrival.
    for part in parts if report.ties == "ordinal" else parts[::-1]:
        report.merge(part)
    return report


PATHS = {
    "rows": _fit,
    "columns": _dense(np.asfortranarray),
    "strided": _dense(_strided),
    "memory map": _memory_map,
    "small tiles": _small_tiles,
    "csr": _sparse(scipy.sparse.csr_array),
    "csc": _sparse(scipy.sparse.csc_matrix),
    "duplicates": _sparse(_duplicates),
    "long indices": _sparse(_long_indices),
    "batches": _batches,
    "merged": _merged,
}


def fit(path, report, y, proba, *, labels=None, sample_weight=None):
    return PATHS[path](report, y, proba, labels, sample_weight)
