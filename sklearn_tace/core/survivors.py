"""Survivors of all rows, sorted by class and score."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from sklearn_tace.core.batch import Batch, Groups, Totals, unpack

# Survivors that are worked on at a time, up to whole classes.
_RUN = 2**18


@dataclass(frozen=True)
class Survivors:
    """Scores above the threshold, class by class, ascending within a class.

    Class k owns the slice ``indptr[k]:indptr[k + 1]`` of the other arrays.
    """

    totals: Totals
    indptr: NDArray[np.intp]  # (K + 1,)
    score: NDArray[np.floating]  # (m,)
    # (m,) Of equal scores the negatives first; with ties="ordinal" as the rows come.
    outcome: NDArray[np.bool_]
    weight: NDArray[np.float64] | None  # (m,)
    row: NDArray[np.unsignedinteger] | None  # (m,)
    groups: Groups | None = None  # of all rows

    @property
    def n_kept(self) -> NDArray[np.intp]:
        return np.diff(self.indptr)

    @property
    def kept_positives(self) -> NDArray[np.intp]:
        positives = np.zeros(len(self.n_kept), dtype=np.intp)
        filled = np.flatnonzero(self.n_kept)
        start = self.indptr[filled]
        positives[filled] = np.add.reduceat(self.outcome, start, dtype=np.intp)
        return positives

    @property
    def kept_mass(self) -> float:
        total = self.score.sum(dtype=np.float64)
        return self.totals.share_of_mass(len(self.score), total)

    def of_classes(self, first, last) -> "Survivors":
        """Those of consecutive classes; views."""
        part = slice(self.indptr[first], self.indptr[last])
        return self._take(part, self.indptr[first : last + 1] - part.start)

    def above(self, threshold) -> "Survivors":
        """Those that a higher threshold keeps."""
        dtype = self.totals.dtype.type
        lowest = np.full(len(self.indptr) - 1, dtype(threshold), self.score.dtype)
        if self.totals.one_column:
            lowest[0] = 1 - np.float64(dtype(1 - threshold))
        keep = self.score > np.repeat(lowest, self.n_kept)
        largest = max(self.totals.largest_score, self.score.max(initial=0))
        totals = replace(self.totals, largest_score=float(largest))
        return replace(self.where(keep), totals=totals)

    def within(self, indptr, lower, upper) -> "Survivors":
        """Those in intervals, which do not overlap.

        Class k owns the intervals ``indptr[k]:indptr[k + 1]``.
        """
        k = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        start, stop = self.indptr[k], self.indptr[k + 1]
        mark = np.zeros(len(self.score) + 1, dtype=np.intp)
        np.add.at(mark, bisect(self.score, start, stop, lower, "left"), 1)
        np.add.at(mark, bisect(self.score, start, stop, upper, "right"), -1)
        return self.where(np.cumsum(mark[:-1]) > 0)

    def where(self, keep) -> "Survivors":
        return self._take(keep, sums_before(keep, np.intp)[self.indptr])

    def _take(self, part, indptr) -> "Survivors":
        return replace(
            self,
            indptr=indptr,
            score=self.score[part],
            outcome=self.outcome[part],
            weight=None if self.weight is None else self.weight[part],
            row=None if self.row is None else self.row[part],
        )


def sort(batch: Batch, ties: str, *, keep=False) -> Survivors:
    """Survivors by class and score; with ``ties="ordinal"`` equal scores keep order.

    The batch may lose its memory to them, unless it is to be kept.
    """
    class_index, n_classes = batch.class_index, len(batch.totals.support)
    key, indptr = _group(batch.key, class_index, n_classes)
    if keep and key is batch.key:
        key = key.copy()
    if batch.weight is None and batch.row is None and ties == "average":
        for part in _slices(key, indptr):
            part.sort()
        return Survivors(batch.totals, indptr, *unpack(key), None, None)

    columns = list(unpack(key))
    for values in (batch.weight, batch.row):
        if values is not None:
            grouped, _ = _group(values, class_index, n_classes)
            values = grouped.copy() if grouped is values else grouped
        columns.append(values)
    score, outcome, *_ = columns
    for first, last in class_runs(indptr):
        part = slice(indptr[first], indptr[last])
        second = outcome[part] if ties == "average" else None
        starts = indptr[first : last + 1] - part.start
        order = _sorted_order(score[part], second, starts)
        for values in columns:
            if values is not None:
                values[part] = values[part][order]
    return Survivors(batch.totals, indptr, *columns, batch.groups)


def class_runs(indptr):
    """Pairs of class numbers: runs of classes that are worked on at a time.

    Little memory is needed, and it stays in the cache: with weights, binning
    200 000 x 10 took 20 ms instead of 32.
    """
    marks = np.arange(0, max(indptr[-1], 1), _RUN)
    first = np.unique(np.searchsorted(indptr, marks, side="right") - 1)
    return pairwise([*first.tolist(), len(indptr) - 1])


def _group(values, class_index, n_classes):
    """Values class by class, in their order within a class, and where each starts."""
    if (class_index[1:] >= class_index[:-1]).all():
        classes = np.arange(n_classes, dtype=class_index.dtype)
        return values, np.append(np.searchsorted(class_index, classes), len(values))
    # scipy's conversion from rows to columns is a counting sort, linear in the values.
    ends = np.array([0, len(values)], np.int32 if len(values) < 2**31 else np.int64)
    columns = scipy.sparse.csr_array(
        (values, class_index.astype(ends.dtype), ends), shape=(1, n_classes)
    ).tocsc()
    return columns.data, columns.indptr.astype(np.intp)


def _slices(values, indptr):
    """Those slices, as views, that have two entries or more."""
    for k in np.flatnonzero(np.diff(indptr) > 1):
        yield values[indptr[k] : indptr[k + 1]]


def _sorted_order(score, outcome, indptr):
    """Positions that sort every slice by score, then outcome if any, then position."""
    position = np.arange(len(score), dtype=np.uint64)
    if score.itemsize == 4 and len(score) <= 2**32:
        # All in one number: a sixth of the time of a stable argsort at 200 000 x 10.
        key = score.view(np.uint32).astype(np.uint64)
        if outcome is not None:
            key <<= 1
            key |= outcome
        key <<= 32
        key |= position
        for part in _slices(key, indptr):
            part.sort()
        return (key & 0xFFFFFFFF).view(np.intp)
    position = position.view(np.intp)
    for part in _slices(position, indptr):
        keys = (score[part],) if outcome is None else (outcome[part], score[part])
        part[:] = part[np.lexsort(keys)]
    return position


def sums_before(values, dtype=None):
    """Sums of all values before each, and of all."""
    sums = np.zeros(len(values) + 1, dtype or values.dtype)
    np.cumsum(values, out=sums[1:])
    return sums


def bisect(values, low, high, target, side, base=None):
    """As np.searchsorted, but every target in a slice of its own.

    With ``base`` that of each target is subtracted from the values.
    """
    low, high = low.copy(), high.copy()
    while (unsure := np.flatnonzero(low < high)).size:
        middle = (low[unsure] + high[unsure]) // 2
        found = values[middle] if base is None else values[middle] - base[unsure]
        wanted = target[unsure]
        is_before = found < wanted if side == "left" else found <= wanted
        low[unsure[is_before]] = middle[is_before] + 1
        high[unsure[~is_before]] = middle[~is_before]
    return low
