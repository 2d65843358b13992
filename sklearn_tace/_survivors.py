"""What the threshold keeps: one visit over the scores, block by block."""

import itertools
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Scores may leave [0, 1] by this much (round-off) and are clipped.
RANGE_TOLERANCE = 1e-5
# Rows may miss a sum of one by this much before the user is warned.
ROW_SUM_TOLERANCE = 1e-3

_BLOCK_BYTES = 2**20


@dataclass(frozen=True)
class Survivors:
    """Scores above the threshold, class by class, ascending within a class.

    Class k owns the slice ``indptr[k]:indptr[k + 1]`` of ``score``, ``outcome``
    and ``weight``; equal scores stand in the order of their rows.
    """

    n_samples: int
    support: NDArray[np.intp]  # (K,) rows of the class, kept or not
    support_weight: NDArray[np.float64]  # (K,) their weight
    indptr: NDArray[np.intp]  # (K + 1,)
    score: NDArray[np.floating]  # (m,) p_ik, float32 or float64
    outcome: NDArray[np.bool_]  # (m,) o_ik
    weight: NDArray[np.float64] | None  # (m,) None where all rows weigh the same
    total_mass: float  # sum of all scores, kept or not
    largest_score: float  # known where nothing survived, else nan

    @property
    def n_kept(self) -> NDArray[np.intp]:
        return np.diff(self.indptr)

    @property
    def kept_mass(self) -> float:
        return float(self.score.sum(dtype=np.float64))

    @property
    def kept_positives(self) -> NDArray[np.intp]:
        cumulative = np.concatenate([[0], np.cumsum(self.outcome)])
        return np.diff(cumulative[self.indptr])


def row_blocks(shape, itemsize, rows=None):
    """Indices that walk an array in blocks of rows that fit a core's cache.

    ``rows`` restricts the walk to these row numbers.
    """
    row_bytes = max(1, itemsize * int(np.prod(shape[1:])))
    step = max(1, _BLOCK_BYTES // row_bytes)
    for start in range(0, shape[0] if rows is None else len(rows), step):
        yield slice(start, start + step) if rows is None else rows[start : start + step]


def collect_survivors(proba, truth, *, threshold, weight=None, n_classes=None):
    """Check the scores and keep those above the threshold.

    Parameters
    ----------
    proba : (n, K) or (n,) array of numbers
        One column a class; or P(second class), which stands for both columns.
    truth : (n,) integer or (n, K) 0/1 array
        The column of each row's class; or one indicator column a class.
    threshold : float or None
    weight : (n,) float64 array or None
        Rows of weight 0 are absent.
    n_classes : int or None
        Where it exceeds the number of columns, the other classes have scores of 0.

    Returns
    -------
    Survivors
    """
    n_columns = 2 if proba.ndim == 1 else proba.shape[1]
    n_classes = n_columns if n_classes is None else n_classes
    rows = None if weight is None or weight.all() else np.flatnonzero(weight)
    numbers = np.arange(len(proba))
    score_type = proba.dtype.type if proba.dtype.kind == "f" else np.float64

    pieces = []
    largest = 0.0
    row_sum = np.zeros(len(proba))
    for index, columns in _tiles(proba, rows):
        tile = _native(proba[index] if proba.ndim == 1 else proba[index, columns])
        row = numbers[index]
        low, high = tile.min(), tile.max()
        # False for NaN.
        if not (low >= -RANGE_TOLERANCE and high <= 1 + RANGE_TOLERANCE):
            raise ValueError(_bad_value(tile, row, proba))
        scores, keep = _filter(tile, threshold, score_type)
        if low < 0 or high > 1:
            scores = scores.clip(0, 1)
        i, k, score = _entries(scores, keep)
        pieces.append((row[i], k + (columns.start or 0), score))
        row_sum[index] += scores.sum(axis=1)
        if not score.size:
            largest = max(largest, float(scores.max()))
    if threshold is None:
        row = numbers if rows is None else rows
        for k in range(n_columns, n_classes):
            pieces.append((row, np.full(len(row), k), np.zeros(len(row), scores.dtype)))
    if proba.ndim == 2 and truth.ndim == 1:
        _warn_of_row_sums(row_sum, rows)

    code = np.concatenate([
        k.astype(np.min_scalar_type(n_classes)) for _, k, _ in pieces
    ])
    row, score = (np.concatenate([piece[j] for piece in pieces]) for j in (0, 2))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(code, minlength=n_classes))])
    order = np.argsort(code, kind="stable")  # a radix sort where K < 65536
    for start, stop in itertools.pairwise(indptr):
        rank = np.argsort(score[order[start:stop]], kind="stable")
        order[start:stop] = order[start:stop][rank]
    row, code = row[order], code[order]
    support, support_weight = _support(truth, weight, n_classes)
    return Survivors(
        n_samples=len(proba) if rows is None else len(rows),
        support=support,
        support_weight=support_weight,
        indptr=indptr,
        score=score[order],
        outcome=truth[row] == code if truth.ndim == 1 else truth[row, code] != 0,
        weight=None if weight is None else weight[row],
        total_mass=float(row_sum.sum()),
        largest_score=np.nan if len(score) else largest,
    )


def _tiles(proba, rows):
    """Pairs (rows, columns) that walk the scores in the order of their memory."""
    if proba.ndim == 2 and abs(proba.strides[0]) < abs(proba.strides[1]):
        # As data frames come. Row by row they took up to 20 times as long.
        for columns in row_blocks(proba.T.shape, proba.dtype.itemsize):
            yield (slice(None) if rows is None else rows), columns
    else:
        for index in row_blocks(proba.shape, proba.dtype.itemsize, rows):
            yield index, slice(None)


def _native(tile):
    """The tile as float32 or wider, in the byte order of this machine."""
    if tile.dtype.kind != "f":
        return tile.astype(np.float64)
    dtype = max(tile.dtype.newbyteorder("="), np.dtype(np.float32))
    return tile.astype(dtype, copy=False)


def _filter(tile, threshold, score_type):
    """Scores of a tile, two-dimensional, and which of them to keep.

    The comparison is made at the precision of the user's scores (``score_type``):
    0.05 stored as float32 is dropped at threshold 0.05.
    """
    if tile.ndim == 2:
        scores = tile
        keep = None if threshold is None else tile > score_type(threshold)
    else:
        # 1 - p is taken in float64, so that low precision does not shift it.
        second = tile.astype(np.float64)
        scores = np.column_stack([1 - second, second])
        if threshold is not None:
            keep = np.column_stack([
                tile < score_type(1 - threshold),
                tile > score_type(threshold),
            ])
    if threshold is None:
        keep = np.ones_like(scores, dtype=bool)
    if scores.dtype.itemsize > 8:
        scores = scores.astype(np.float64)
    return scores, keep


def _entries(scores, keep):
    """Row, column and score of the entries to keep, read in the order of memory."""
    if scores.flags.f_contiguous and not scores.flags.c_contiguous:
        column, row, score = _entries(scores.T, keep.T)
        return row, column, score
    flat = np.flatnonzero(keep)  # np.nonzero of two dimensions took ten times as long
    row, column = np.divmod(flat, scores.shape[1])
    return row, column, scores.reshape(-1)[flat]


def _support(truth, weight, n_classes):
    """Rows of each class, and their weight; rows of weight 0 are absent."""
    present = np.ones(len(truth)) if weight is None else weight
    if truth.ndim == 1:
        support = np.bincount(truth[present > 0], minlength=n_classes)
        support_weight = np.bincount(truth, weights=present, minlength=n_classes)
    else:
        # einsum casts in small buffers: no (n, K) temporary.
        present_rows = (present > 0).astype(np.float64)
        support = np.einsum("i,ik->k", present_rows, truth).astype(np.intp)
        support_weight = np.einsum("i,ik->k", present, truth)
    return support, support_weight


def _warn_of_row_sums(row_sum, rows):
    error = np.abs(row_sum - 1) if rows is None else np.abs(row_sum[rows] - 1)
    worst = int(np.argmax(error))
    if error[worst] > ROW_SUM_TOLERANCE:
        worst = worst if rows is None else rows[worst]
        warnings.warn(
            "The y_proba values do not sum to one. Make sure to pass probabilities, "
            f"not scores. Row {worst} sums to {row_sum[worst]:.6g}.",
            UserWarning,
            stacklevel=6,  # the caller of the metric or of fit
        )


def _bad_value(tile, row, proba):
    """What is wrong with a tile that is not in range, and what to do."""
    finite = np.isfinite(tile.reshape(len(tile), -1)).all(axis=1)
    if not finite.all():
        bad = int(np.argmin(finite))
        what = (
            "NaN"
            if np.isnan(tile[bad]).any()
            else f"infinity or a value too large for {proba.dtype!r}"
        )
        return f"Input y_proba contains {what}. One is in row {row[bad]}."
    if tile.min() < -RANGE_TOLERANCE:
        found = f"less than 0: {tile.min():g}"
    else:
        found = f"greater than 1: {tile.max():g}"
    low, high = proba.min(), proba.max()
    total = proba.sum() / len(proba) if proba.ndim == 2 else 100
    if high <= RANGE_TOLERANCE:
        hint = "Log-probabilities? Pass np.exp of them."
    elif low >= 0 and 2 < high <= 100 and abs(total - 100) < 2:
        hint = "Percentages? Divide them by 100."
    else:
        hint = "Logits? Pass their softmax."
    return f"y_proba contains values {found}. {hint}"
