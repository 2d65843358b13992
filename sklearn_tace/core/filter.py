"""From scores and outcomes to survivors, with an totals of what did not survive."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse

from sklearn_tace.core.dense import row_blocks, visit_dense
from sklearn_tace.core.sparse import visit_sparse
from sklearn_tace.core.survivors import MASS_ONE, Batch, Totals, index_type, pack
from sklearn_tace.inputs.warnings import warn

# Rows may miss a sum of one by this much before the user is warned.
ROW_SUM_TOLERANCE = 1e-3


class OddRow(NamedTuple):
    """A row that does not sum to one."""

    error: float  # by how much
    row: int
    row_sum: float


def filter_scores(given, threshold, with_rows=False) -> tuple[Batch, OddRow | None]:
    """Check the scores of ``given`` predictions and keep those above the threshold.

    Classes beyond the columns have scores of 0. Rows of weight 0 are absent; with
    ``with_rows`` the batch tells which of the others its survivors come from. Also
    returned, for the caller to warn of, is the worst row that does not sum to one.
    """
    threshold = None if threshold is None else float(threshold)
    proba, truth, weight = given.proba, given.truth, given.weight
    n_classes = len(given.classes)
    is_sparse = scipy.sparse.issparse(proba)
    if is_sparse and threshold is None:
        raise ValueError(
            "threshold=None keeps every probability, also the zeros that a sparse "
            "y_proba does not store. Pass a threshold, or y_proba.toarray()."
        )
    rows = None if weight is None or weight.all() else np.flatnonzero(weight)
    n_rows = proba.shape[0] if rows is None else len(rows)
    number = _number_rows(proba.shape[0], rows) if with_rows else None
    pieces = _Pieces(truth, weight, number, n_classes)
    visit = visit_sparse if is_sparse else visit_dense
    odd, mass = visit(proba, rows, threshold, pieces.add, given.first_row)
    if threshold is None and proba.ndim == 2:
        present = np.arange(n_rows) if rows is None else rows
        zeros = np.zeros(n_rows, np.float32)  # the same word at any precision
        for k in range(proba.shape[1], n_classes):
            pieces.add(zeros, k, present)
    worst = None
    if proba.ndim == 2 and truth.ndim == 1:
        worst = _worst(given.first_row + odd, mass / MASS_ONE, only_above=is_sparse)
    code, word, kept_weight, row = pieces.join()
    batch = Batch(
        totals=Totals(
            n_samples=n_rows,
            **_support(truth, weight, n_classes),
            mass=(n_rows - len(odd)) * MASS_ONE + _exact_sum(mass),
            largest_score=0.0 if len(word) else _largest(proba, rows),
            dtype=proba.dtype if proba.dtype.kind == "f" else np.dtype(np.float64),
            one_column=proba.ndim == 1,
            one_label=with_rows and _have_one_label(truth, rows, mass / MASS_ONE),
        ),
        code=code,
        word=word,
        weight=kept_weight,
        row=row,
    )
    return batch, worst


def warn_of_row(odd):
    """Warn of the worst of the rows that do not sum to one, if there is one."""
    if odd is not None:
        warn(
            "The y_proba values do not sum to one. Make sure to pass probabilities, "
            f"not scores. Row {odd.row} sums to {odd.row_sum:.6g}.",
        )


class _Pieces:
    """Survivors as they are found, each with the outcome of its row.

    And with its weight and its number, where rows have them.
    """

    def __init__(self, truth, weight, number, n_classes):
        self.code_dtype = index_type(n_classes)
        self.truth = truth.astype(self.code_dtype) if truth.ndim == 1 else truth
        self.of_rows = (weight, number)
        # The first piece is for data without a row that is present.
        empty = np.empty(0, self.code_dtype), np.empty(0, np.uint32)
        none = (None if values is None else values[:0] for values in self.of_rows)
        self.pieces = [(0, *empty, *none)]

    def add(self, score, column, row, part=slice(None)):
        """Add scores of one column, or of a column each; ``row`` counts in the part."""
        truth = self.truth[part]
        is_true = truth[row] == column if truth.ndim == 1 else truth[row, column] != 0
        of_rows = (
            None if values is None else values[part][row] for values in self.of_rows
        )
        if isinstance(column, int):
            only_class, code = column, np.full(len(row), column, self.code_dtype)
        else:
            only_class, code = 0, column.astype(self.code_dtype)
        self.pieces.append((only_class, code, pack(score, is_true), *of_rows))

    def join(self):
        # Where pieces hold one class each, this brings the rows of a class together.
        self.pieces.sort(key=lambda piece: piece[0])
        _, *columns = zip(*self.pieces, strict=True)
        self.pieces.clear()
        return [None if c[0] is None else np.concatenate(c) for c in columns]


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
    return OddRow(float(error[k]), int(row[k]), float(row_sum[k]))
