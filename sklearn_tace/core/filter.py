"""The filter: from predictions to the survivors of a threshold."""

from typing import NamedTuple

import numpy as np
import scipy.sparse

from sklearn_tace.core.batch import MASS_ONE, Batch, Totals, index_type, pack
from sklearn_tace.core.dense import row_blocks, visit_dense
from sklearn_tace.core.sparse import visit_sparse

# Rows may miss a sum of one by this much before the user is warned.
ROW_SUM_TOLERANCE = 1e-3


class RowSum(NamedTuple):
    """A row that does not sum to one."""

    error: float  # by how much
    row: int
    total: float


def filter_scores(given, threshold, with_rows=False) -> tuple[Batch, RowSum | None]:
    """Check the scores of ``given`` predictions and keep those above the threshold.

    Parameters
    ----------
    given : inputs.predictions.Predictions
        Classes beyond the columns have scores of 0. Rows of weight 0 are absent.
    threshold : float or None
    with_rows : bool
        Whether the batch tells which row each survivor comes from.

    Returns
    -------
    batch : Batch
    worst : RowSum or None
        The worst row that does not sum to one, for the caller to warn of.
    """
    proba, truth, weight = given.proba, given.truth, given.weight
    n_classes, is_sparse = len(given.classes), scipy.sparse.issparse(proba)
    if threshold is not None:
        threshold = float(threshold)
    elif is_sparse:
        raise ValueError(
            "threshold=None keeps every probability, also the zeros that a sparse "
            "y_proba does not store. Pass a threshold, or y_proba.toarray()."
        )
    rows = None if weight is None or weight.all() else np.flatnonzero(weight)
    number = _number_rows(proba.shape[0], rows) if with_rows else None
    collected = _Collected(truth, weight, number, n_classes)
    visit = visit_sparse if is_sparse else visit_dense
    odd, mass = visit(proba, rows, threshold, collected.add, given.first_row)
    if threshold is None and proba.ndim == 2:
        collected.add_zeros(range(proba.shape[1], n_classes), rows)
    class_index, key, kept_weight, row = collected.join()
    n_rows, row_sum = proba.shape[0] if rows is None else len(rows), mass / MASS_ONE
    totals = Totals(
        n_samples=n_rows,
        **_support(truth, weight, n_classes),
        mass=(n_rows - len(odd)) * MASS_ONE + _exact_sum(mass),
        largest_score=0.0 if len(key) else _largest(proba, rows),
        dtype=proba.dtype if proba.dtype.kind == "f" else np.dtype(np.float64),
        one_column=proba.ndim == 1,
        one_label=with_rows and _have_one_label(truth, rows, row_sum),
    )
    worst = None
    if proba.ndim == 2 and truth.ndim == 1:
        worst = _worst(given.first_row + odd, row_sum, only_above=is_sparse)
    groups = given.groups
    if groups is not None and rows is not None:
        groups = groups.of_rows(rows)
    return Batch(totals, class_index, key, kept_weight, row, groups), worst


class _Collected:
    """Survivors as they are found, with the outcome, weight and number of their row."""

    def __init__(self, truth, weight, number, n_classes):
        self.index_type = index_type(n_classes)
        self.truth = truth.astype(self.index_type) if truth.ndim == 1 else truth
        self.of_rows = (weight, number)
        # The first piece is for data without a row that is present.
        empty = np.empty(0, self.index_type), np.empty(0, np.uint32)
        self.pieces = [(0, *empty, *self._of_rows(slice(0), slice(None)))]

    def add(self, score, column, row, part=slice(None)):
        """Add scores of one column, or of a column each; ``row`` counts in the part."""
        truth = self.truth[part]
        outcome = truth[row] == column if truth.ndim == 1 else truth[row, column] != 0
        if isinstance(column, int):
            only_class, class_index = column, np.full(len(row), column, self.index_type)
        else:
            only_class, class_index = 0, column.astype(self.index_type)
        key = pack(score, outcome)
        self.pieces.append((only_class, class_index, key, *self._of_rows(part, row)))

    def add_zeros(self, columns, rows):
        """Add scores of 0 in columns that are not there."""
        present = np.arange(len(self.truth)) if rows is None else rows
        for column in columns:
            self.add(np.zeros(len(present), np.float32), column, present)

    def join(self):
        """Class numbers, keys, weights and row numbers of all survivors."""
        # Where pieces hold one class each, this brings the rows of a class together.
        self.pieces.sort(key=lambda piece: piece[0])
        _, *columns = zip(*self.pieces, strict=True)
        self.pieces.clear()
        return [None if c[0] is None else np.concatenate(c) for c in columns]

    def _of_rows(self, part, row):
        return (None if of is None else of[part][row] for of in self.of_rows)


def _number_rows(n, rows):
    """Numbers of the rows that are present, counted without the absent ones."""
    n_present = n if rows is None else len(rows)
    number = np.arange(n_present, dtype=index_type(n_present))
    if rows is None:
        return number
    spread = np.zeros(n, number.dtype)
    spread[rows] = number
    return spread


def _have_one_label(truth, rows, odd_sums):
    """Whether each row is of one class; of an indicator the scores have a say too."""
    if truth.ndim == 1:
        return True
    if (odd_sums > 1 + ROW_SUM_TOLERANCE).any():
        return False
    n_labels = np.einsum("ik->i", truth, dtype=np.intp, casting="unsafe")
    return bool(np.all((n_labels if rows is None else n_labels[rows]) == 1))


def _exact_sum(values):
    """The sum of integers, which may be beyond 64 bits."""
    return (int(np.sum(values >> 32)) << 32) + int(np.sum(values & 0xFFFFFFFF))


def _largest(proba, rows):
    """The largest score, of either column where only the second is given."""
    if scipy.sparse.issparse(proba):
        scores = proba.data if rows is None else proba[rows].data
        return float(scores.clip(0, 1).max(initial=0))
    largest = 0.0
    for block in row_blocks(proba.shape, proba.dtype.itemsize, rows):
        scores = proba[block].astype(np.float64)
        largest = max(largest, scores.max())
        if proba.ndim == 1:
            largest = max(largest, 1 - scores.min())
    return min(largest, 1.0)


def _support(truth, weight, n_classes):
    """Rows of each class, and their weight; rows of weight 0 are absent."""
    if truth.ndim == 1:
        present = truth if weight is None else truth[weight > 0]
        support = np.bincount(present, minlength=n_classes)
        mass = support * 1.0
        if weight is not None:
            mass = np.bincount(truth, weights=weight, minlength=n_classes)
    else:
        # einsum casts in small buffers: no (n, K) temporary.
        weight = np.ones(len(truth)) if weight is None else weight
        present = (weight > 0).astype(np.float64)
        support = np.einsum("i,ik->k", present, truth).astype(np.intp)
        mass = np.einsum("i,ik->k", weight, truth)
    return {"support": support, "support_weight": mass}


def _worst(row, row_sum, only_above):
    """The row furthest from a sum of one, if it is beyond the tolerance.

    Rows of sparse scores may be truncated: only sums above one count.
    """
    error = row_sum - 1 if only_above else np.abs(row_sum - 1)
    if error.max(initial=0) <= ROW_SUM_TOLERANCE:
        return None
    k = np.argmax(error)
    return RowSum(float(error[k]), int(row[k]), float(row_sum[k]))
