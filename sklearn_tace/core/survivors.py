"""What the threshold kept: batches as they arrive, then class by class, sorted.

A survivor is a score above the threshold, with the outcome and the weight of its row.
Its code is the number of its class, its word holds score and outcome. Mass is summed
probability.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

# Probability mass is counted in whole units: sums are exact in any order.
MASS_ONE = 2**40
# Sums of rows that miss one by this much count as one.
ROUND_OFF = 2e-5

# Survivors in a run of classes.
_RUN = 2**18


@dataclass(frozen=True)
class Totals:
    """What is known of all rows, kept or not; rows of weight 0 are absent."""

    n_samples: int
    support: NDArray[np.intp]  # (K,) rows of the class
    support_weight: NDArray[np.float64]  # (K,) their weight
    mass: int  # sum of all scores, in units of 1 / MASS_ONE
    largest_score: float  # if no score was kept; else 0
    dtype: np.dtype  # precision at which scores were compared with the threshold
    one_column: bool  # the first class's scores are complements of the second's
    one_label: bool  # every row is of one class (if rows are numbered)

    @property
    def n_bytes(self) -> int:
        return self.support.nbytes + self.support_weight.nbytes

    def share_of_mass(self, n_scores, total) -> float:
        """Share that some scores have in the sum of all; nan where that is 0."""
        if not self.mass:
            return float("nan")
        if n_scores == self.n_samples * len(self.support):
            return 1.0
        share = total / (self.mass / MASS_ONE)
        return float(min(share, 1.0))  # rows may sum to a bit more than they count

    def __add__(self, other: Totals) -> Totals:
        if not other.n_samples:
            return self
        if not self.n_samples:
            return other
        return Totals(
            n_samples=self.n_samples + other.n_samples,
            support=self.support + other.support,
            support_weight=self.support_weight + other.support_weight,
            mass=self.mass + other.mass,
            largest_score=max(self.largest_score, other.largest_score),
            dtype=np.result_type(self.dtype, other.dtype),
            one_column=self.one_column and other.one_column,
            one_label=self.one_label and other.one_label,
        )


@dataclass(frozen=True)
class Batch:
    """Survivors of some rows; those of a class are in the order of the rows."""

    totals: Totals
    code: NDArray[np.unsignedinteger]  # (m,) class
    word: NDArray[np.unsignedinteger]  # (m,) score and outcome, see pack
    weight: NDArray[np.float64] | None  # (m,) None where all rows weigh the same
    row: NDArray[np.unsignedinteger] | None  # (m,) numbers of the rows, if asked for

    @property
    def n_bytes(self) -> int:
        """Memory that survivors take, numbers of rows of any type as 4 bytes each."""
        n_bytes = self.code.itemsize + self.word.itemsize
        n_bytes += 8 * (self.weight is not None) + 4 * (self.row is not None)
        return n_bytes * len(self.word)

    @property
    def total_bytes(self) -> int:
        return self.n_bytes + self.totals.n_bytes

    def pieces(self, n) -> Iterator[Batch]:
        """At most n survivors at a time, without the numbers of their rows.

        Each piece has the totals of all.
        """
        for start in range(0, max(len(self.word), 1), n):
            part = slice(start, start + n)
            weight = None if self.weight is None else self.weight[part]
            yield Batch(self.totals, self.code[part], self.word[part], weight, None)


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

    def of_classes(self, first, last) -> Survivors:
        """Those of consecutive classes; views."""
        part = slice(self.indptr[first], self.indptr[last])
        return self._take(part, self.indptr[first : last + 1] - part.start)

    def above(self, threshold) -> Survivors:
        """Those that a higher threshold keeps."""
        dtype = self.totals.dtype.type
        lowest = np.full(len(self.indptr) - 1, dtype(threshold), self.score.dtype)
        if self.totals.one_column:
            lowest[0] = 1 - np.float64(dtype(1 - threshold))
        keep = self.score > np.repeat(lowest, self.n_kept)
        largest = max(self.totals.largest_score, self.score.max(initial=0))
        totals = replace(self.totals, largest_score=float(largest))
        return replace(self.where(keep), totals=totals)

    def within(self, indptr, lower, upper) -> Survivors:
        """Those in intervals, which do not overlap.

        Class k owns the intervals ``indptr[k]:indptr[k + 1]``.
        """
        k = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
        start, stop = self.indptr[k], self.indptr[k + 1]
        mark = np.zeros(len(self.score) + 1, dtype=np.intp)
        np.add.at(mark, bisect(self.score, start, stop, lower, "left"), 1)
        np.add.at(mark, bisect(self.score, start, stop, upper, "right"), -1)
        return self.where(np.cumsum(mark[:-1]) > 0)

    def where(self, keep) -> Survivors:
        return self._take(keep, sums_before(keep, np.intp)[self.indptr])

    def _take(self, part, indptr) -> Survivors:
        return replace(
            self,
            indptr=indptr,
            score=self.score[part],
            outcome=self.outcome[part],
            weight=None if self.weight is None else self.weight[part],
            row=None if self.row is None else self.row[part],
        )


def mass_units(score):
    """Scores in whole units of mass, rounded."""
    # The last bit of numbers from 4096 to 8192 is worth one unit: a fifth of the time
    # of rounding and converting.
    shift = np.float64(6144)
    return (score + shift).view(np.int64) - shift.view(np.int64)


def only_odd(row, mass):
    """Those rows that do not sum to one up to round-off, and their sums."""
    is_odd = np.abs(mass - MASS_ONE) > ROUND_OFF * MASS_ONE
    return row[is_odd], mass[is_odd]


def index_type(n_classes):
    """Type for the number of a class; short ones sort and travel faster."""
    return np.min_scalar_type(n_classes)


def pack(score, outcome):
    """Score and outcome in one word that sorts by score, then by outcome.

    Scores from 0 to 1 have the order of their bits, the first two of which are 0.
    One sort in place then orders the pairs; an argsort took ten times as long.
    """
    word = score.view(f"u{score.itemsize}") << 1
    word |= outcome
    return word


def unpack(word):
    """Scores and outcomes of words, in their memory."""
    outcome = np.empty(len(word), dtype=bool)
    np.bitwise_and(word, 1, out=outcome, casting="unsafe")
    word >>= 1
    return word.view(f"f{word.itemsize}"), outcome


def append_part(parts: list, part, merge) -> list:
    """The parts, say batches, and one more, of which few are kept apart.

    They are merged when they are of similar size, so that each survivor moves a few
    times only and there are only a few totals, which grow with the classes.
    """
    parts = [*parts, part]
    while len(parts) > 1 and parts[-2].total_bytes < 2 * parts[-1].total_bytes:
        parts[-2:] = [merge(parts[-2:])]
    return parts


def join(batches: list[Batch]) -> Batch:
    """One batch of several, in their order."""
    if len(batches) == 1:
        return batches[0]
    words = [batch.word for batch in batches]
    if len({word.dtype for word in words}) > 1:
        words = [_widen(word) for word in words]
    weight = None
    if any(batch.weight is not None and len(batch.word) for batch in batches):
        weight = np.concatenate([
            np.ones(len(batch.word)) if batch.weight is None else batch.weight
            for batch in batches
        ])
    return Batch(
        totals=reduce(Totals.__add__, (batch.totals for batch in batches)),
        code=np.concatenate([batch.code for batch in batches]),
        word=np.concatenate(words),
        weight=weight,
        row=_join_rows(batches),
    )


def _join_rows(batches):
    if any(batch.row is None for batch in batches):
        return None
    *before, total = np.cumsum([0, *(batch.totals.n_samples for batch in batches)])
    return np.concatenate([
        batch.row + first.astype(index_type(total))
        for batch, first in zip(batches, before, strict=True)
    ])


def _widen(word):
    score, outcome = unpack(word.copy())
    return pack(score.astype(np.float64), outcome)


def sort(batch: Batch, ties: str, *, keep=False) -> Survivors:
    """Survivors by class and score; with ``ties="ordinal"`` equal scores keep order.

    The batch may lose its memory to them, unless it is to be kept.
    """
    code, n_classes = batch.code, len(batch.totals.support)
    word, indptr = _group(batch.word, code, n_classes)
    if keep and word is batch.word:
        word = word.copy()
    if batch.weight is None and batch.row is None and ties == "average":
        for part in _slices(word, indptr):
            part.sort()
        return Survivors(batch.totals, indptr, *unpack(word), None, None)

    columns = list(unpack(word))
    for values in (batch.weight, batch.row):
        if values is not None:
            grouped, _ = _group(values, code, n_classes)
            values = grouped.copy() if grouped is values else grouped
        columns.append(values)
    score, outcome, *_ = columns
    for first, last in class_runs(indptr):
        part = slice(indptr[first], indptr[last])
        key = outcome[part] if ties == "average" else None
        order = _sorted_order(score[part], key, indptr[first : last + 1] - part.start)
        for values in columns:
            if values is not None:
                values[part] = values[part][order]
    return Survivors(batch.totals, indptr, *columns)


def class_runs(indptr):
    """Pairs of class numbers: runs of classes that are worked on at a time.

    Little memory is needed, and it stays in the cache: with weights, binning
    200 000 x 10 took 20 ms instead of 32.
    """
    marks = np.arange(0, max(indptr[-1], 1), _RUN)
    first = np.unique(np.searchsorted(indptr, marks, side="right") - 1)
    return pairwise([*first.tolist(), len(indptr) - 1])


def _group(values, code, n_classes):
    """Values class by class, in their order within a class, and where each starts."""
    if (code[1:] >= code[:-1]).all():
        start = np.searchsorted(code, np.arange(n_classes, dtype=code.dtype))
        return values, np.append(start, len(code))
    # scipy's conversion from rows to columns is a counting sort, linear in the values.
    ends = np.array([0, len(code)], dtype=np.int32 if len(code) < 2**31 else np.int64)
    columns = scipy.sparse.csr_array(
        (values, code.astype(ends.dtype), ends), shape=(1, n_classes)
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
        # All in one word: a sixth of the time of a stable argsort at 200 000 x 10.
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
