"""Dense scores: one walk along memory, tile by tile, that checks and filters."""

import numpy as np

from sklearn_tace.core.batch import mass_units, only_odd
from sklearn_tace.core.score_range import RANGE_TOLERANCE, bad_value, in_range

# A tile fits a core's cache: after the first look at a score, the others are cheap.
_TILE_BYTES = 2**20
# Rows this short are read column by column, and columns this long one by one, so that
# their survivors come by class: at 200 000 x 10 grouping them took 8 ms of 28.
_NARROW_BYTES = 64
_LONG = 4096
# So many numbers of single precision can be added up without losing the fifth digit.
_FEW = 1024
# Every number of half precision, by its bits.
_HALF = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float32)


def row_blocks(shape, itemsize, rows=None):
    """Indices that walk an array in blocks of rows that fit a core's cache.

    ``rows`` restricts the walk to these row numbers.
    """
    row_bytes = max(1, itemsize * int(np.prod(shape[1:])))
    n_rows = max(1, _TILE_BYTES // row_bytes)
    for start in range(0, shape[0] if rows is None else len(rows), n_rows):
        block = slice(start, start + n_rows)
        yield block if rows is None else rows[block]


def visit_dense(proba, rows, threshold, add, first_row=0):
    """Check all scores and add those above the threshold.

    Parameters
    ----------
    proba : (n, K) or (n,) array
    rows : (r,) integer array or None
        The rows that are present.
    threshold : float or None
        Compared at the precision of the scores: 0.05 stored as float32 is dropped
        at threshold 0.05.
    add : callable
        Called with scores, their columns, and their rows as numbers in a part.
    first_row : int
        What errors call the first row.

    Returns
    -------
    odd : (k,) integer array
        Rows that do not sum to one.
    mass : (k,) int64 array
        Their sums, in units of mass.
    """
    row_sum = np.zeros(len(proba))
    dtype = proba.dtype.type if proba.dtype.kind == "f" else np.float64
    by_class = _is_by_class(proba)
    for index, columns in _tiles(proba, rows):
        tile = _read(proba, index, columns, by_class)
        scores = in_range(tile)
        if scores is None:
            row = first_row + np.arange(len(proba))[index]
            raise ValueError(bad_value(tile.T if by_class else tile, row, proba))
        compared = tile if tile.itemsize > 8 else scores
        keep = None if threshold is None else compared > dtype(threshold)
        if proba.ndim == 1:
            # 1 - p is taken in float64, so that low precision does not shift it.
            scores = np.vstack([1 - scores.astype(np.float64), scores])
            if threshold is not None:
                keep = np.vstack([compared < dtype(1 - threshold), keep])
        if keep is None:
            keep = np.ones(scores.shape, dtype=bool)

        row_sum[index] += _row_sums(scores, by_class)
        if by_class and len(proba) > _LONG:
            for k in range(len(scores)):
                row = np.flatnonzero(keep[k])
                add(scores[k, row], columns.start + k, row, index)
        else:
            flat = np.flatnonzero(keep)
            major = flat // scores.shape[1]
            minor = flat - major * scores.shape[1]
            row, column = (minor, major) if by_class else (major, minor)
            add(scores.reshape(-1)[flat], columns.start + column, row, index)

    # A product of matrices tells which rows sum to one. Only the others are added up
    # exactly, so that the order of memory or of batches never shows: for all rows of
    # 50 000 x 1000 that takes 110 ms.
    is_odd = np.abs(row_sum - 1) > RANGE_TOLERANCE
    odd = np.flatnonzero(is_odd) if rows is None else rows[is_odd[rows]]
    mass = np.zeros(len(proba), dtype=np.int64)
    for index, columns in _tiles(proba, odd):
        scores = in_range(_read(proba, index, columns, by_class))
        mass[index] += mass_units(scores).sum(axis=0 if by_class else 1)
    return only_odd(odd, mass[odd])


def _row_sums(scores, by_class):
    """Sums that are good to 1e-5 whatever the number of columns."""
    ones = np.ones(_FEW, scores.dtype)
    if by_class:
        sums = np.zeros(scores.shape[1])
        for first in range(0, len(scores), _FEW):
            part = scores[first : first + _FEW]
            sums += ones[: len(part)] @ part
        return sums
    n_rows, n_columns = scores.shape
    whole = n_columns // _FEW * _FEW
    sums = scores[:, whole:] @ ones[: n_columns - whole]
    if not whole:
        return sums
    parts = scores[:, :whole].reshape(n_rows, -1, _FEW) @ ones
    return sums + parts.sum(axis=1, dtype=np.float64)


def _is_by_class(proba):
    """Whether to read a tile column by column."""
    if proba.ndim == 1 or _is_in_columns(proba):
        return True
    return proba.shape[1] * proba.dtype.itemsize <= _NARROW_BYTES


def _is_in_columns(proba):
    """Whether memory runs along columns, as in data frames."""
    return proba.ndim == 2 and abs(proba.strides[0]) < abs(proba.strides[1])


def _tiles(proba, rows):
    """Pairs (rows, columns) that cover the scores, along memory.

    Row by row, scores in columns took up to 20 times as long.
    """
    n_columns, itemsize = proba[:1].size, proba.dtype.itemsize
    row_bytes, n_together = n_columns * itemsize, n_columns
    if _is_in_columns(proba):
        row_bytes, n_together = itemsize, max(1, _TILE_BYTES // (itemsize * len(proba)))
    for index in row_blocks((len(proba),), row_bytes, rows):
        for first in range(0, n_columns, n_together):
            yield index, slice(first, min(first + n_together, n_columns))


def _read(proba, index, columns, by_class):
    """A tile as contiguous native floats of single precision or more."""
    tile = proba[index] if proba.ndim == 1 else proba[index, columns]
    if tile.dtype == np.float16:
        # A look at a table takes 2 ns, a conversion up to 10.
        tile = _HALF.take(tile.view(np.uint16))
    dtype = np.dtype(np.float64)
    if tile.dtype.kind == "f":
        dtype = max(tile.dtype.newbyteorder("="), np.dtype(np.float32))
    return np.ascontiguousarray(tile.T if by_class else tile, dtype=dtype)
