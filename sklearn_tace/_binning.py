"""Survivors to one table of equal-count bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_tace._survivors import Survivors, class_runs


@dataclass(frozen=True)
class Bins:
    """One entry a bin, class after class, scores ascending; no bin is empty."""

    class_index: NDArray[np.intp]
    index: NDArray[np.intp]  # of the bin in its class, from 0
    lower: NDArray[np.float64]  # lowest score in the bin
    upper: NDArray[np.float64]  # highest
    count: NDArray[np.intp]  # rows that touch the bin
    weight: NDArray[np.float64]  # mass of the bin; rows where there are no weights
    mean_proba: NDArray[np.float64]
    observed_frequency: NDArray[np.float64]
    gap: NDArray[np.float64]
    start: NDArray[np.intp]  # first survivor that touches the bin
    # Share of it, or of all that equal it, that lies in the bins before.
    share_before: NDArray[np.float64]
    tied_classes: NDArray[np.intp]  # classes in which a cut runs through equal scores


class _Lines(NamedTuple):
    """The classes that have survivors, each a line from 0 to m, and their bins."""

    start: NDArray[np.intp]  # first survivor of the class
    m: NDArray[np.intp]  # number of survivors
    line: NDArray[np.intp]  # of each bin
    index: NDArray[np.intp]  # of each bin in its class
    cut: NDArray[np.intp]  # where each bin begins on its line


class _Steps(NamedTuple):
    """What is cut, class after class: rows, or blocks of equal scores."""

    score: NDArray[np.floating]
    positive: NDArray[np.number]  # length of the positives
    length: NDArray[np.float64] | None = None  # None: all are 1
    row: NDArray[np.intp] | None = None  # the first of each, and an end; None: rows

    def lengths(self, edges):
        """Summed lengths of the steps between consecutive edges."""
        return np.diff(edges) if self.length is None else _sums(self.length, edges)

    def masses(self, edges):
        """Summed scores, by length."""
        mass = self.score if self.length is None else self.score * self.length
        return _sums(mass, edges)

    def rows(self, step):
        """How many rows come before a step."""
        return step if self.row is None else self.row[step]


class _Cuts(NamedTuple):
    """Where each bin begins, in steps; the last entry is the end of all bins.

    A cut that runs through a step leaves ``length`` and ``positive`` of it to the left.
    """

    step: NDArray[np.intp]  # the first that is not wholly to the left
    until: NDArray[np.intp]  # the first that is wholly to the right
    length: NDArray[np.float64]
    positive: NDArray[np.float64]
    share: NDArray[np.float64]  # of the length of the step
    is_tied: NDArray[np.bool_]  # the cut runs through equal scores


def bins_asked(n_kept, n_bins):
    """Bins that classes should have; those with fewer survivors have one for each."""
    if n_bins != "auto":
        # Any integer will do, and classes with fewer survivors are still told.
        return np.full_like(n_kept, min(n_bins, n_kept.max(initial=0) + 1))
    root = np.rint(np.cbrt(n_kept)).astype(n_kept.dtype)
    return np.maximum(root - (root**3 > n_kept), 1)


def bin_survivors(survivors: Survivors, n_bins: int | str, ties: str) -> Bins:
    """Cut the survivors of every class into equal-count bins.

    A survivor is as long as its share of the class's weight (1 without weights), so
    that the cuts of ``numpy.array_split`` are whole numbers with weights too. A cut
    that runs through a row, or with ``ties="average"`` a block of equal scores, gives
    each side its share.
    """
    runs = [
        vars(_bin_run(survivors, first, last, n_bins, ties))
        for first, last in class_runs(survivors.indptr)
    ]
    return Bins(**{
        name: np.concatenate([run[name] for run in runs]) for name in runs[0]
    })


def pool_gaps(gap, index, norm):
    """One error for every class with bins, which are numbered from 0 in each class.

    Gaps of shape (n_bins, n) give errors of shape (n_classes, n).
    """
    head = np.flatnonzero(index == 0)
    n_bins = np.diff(head, append=len(gap)).reshape(-1, *[1] * (gap.ndim - 1))
    if norm == "l1":
        return np.add.reduceat(gap, head) / n_bins
    if norm == "l2":
        return np.sqrt(np.add.reduceat(gap**2, head) / n_bins)
    return np.maximum.reduceat(gap, head)


def _bin_run(survivors, first_class, last_class, n_bins, ties):
    first_survivor = survivors.indptr[first_class]
    survivors = survivors.of_classes(first_class, last_class)
    classes = np.flatnonzero(survivors.n_kept)
    lines = _lay_cuts(survivors.indptr[classes], survivors.n_kept[classes], n_bins)
    weight = survivors.weight
    if weight is None or (weight == weight[:1]).all():
        steps, cuts = _cut_rows(survivors, lines, ties)
        unit, exponent = 1.0 if weight is None else weight[:1], np.zeros_like(classes)
    else:
        steps, cuts, exponent = _cut_weights(survivors, lines, ties)
        unit = 1.0

    first, end = cuts.step[:-1], cuts.until[1:]
    score_at_cut = np.append(steps.score[first], 0.0)
    length = steps.lengths(cuts.step) + np.diff(cuts.length)
    mass = steps.masses(cuts.step) + np.diff(score_at_cut * cuts.length)
    mean_proba = mass / length
    positive = _sums(steps.positive, cuts.step) + np.diff(cuts.positive)
    observed_frequency = positive / length
    return Bins(
        class_index=first_class + classes[lines.line],
        index=lines.index,
        lower=steps.score[first].astype(np.float64),
        upper=steps.score[end - 1].astype(np.float64),
        count=steps.rows(end) - steps.rows(first),
        weight=np.ldexp(length * unit, exponent[lines.line]),
        mean_proba=mean_proba,
        observed_frequency=observed_frequency,
        gap=np.abs(mean_proba - observed_frequency),
        start=first_survivor + steps.rows(first),
        share_before=cuts.share[:-1],
        tied_classes=first_class + classes[np.unique(lines.line[cuts.is_tied[:-1]])],
    )


def _lay_cuts(start, m, n_bins):
    bins = np.minimum(bins_asked(m, n_bins), m)
    line = np.repeat(np.arange(len(m)), bins)
    index = np.arange(len(line)) - np.repeat(np.cumsum(bins) - bins, bins)
    q, r = np.divmod(m, bins)
    return _Lines(start, m, line, index, index * q[line] + np.minimum(index, r[line]))


def _cut_rows(survivors, lines, ties):
    """Cuts between rows of the same weight, and through blocks of equal scores."""
    score, outcome = survivors.score, survivors.outcome
    start = lines.start[lines.line]
    at = np.append(start + lines.cut, len(score))
    inner = np.flatnonzero(lines.index)
    is_tied = np.zeros(len(at), dtype=bool)
    is_tied[inner] = score[at[inner] - 1] == score[at[inner]]
    step, until = at.copy(), at.copy()
    share, positive = np.zeros(len(at)), np.zeros(len(at))
    if ties == "average" and is_tied.any():
        tied = np.flatnonzero(is_tied)
        value, low, high = score[at[tied]], start[tied], lines.m[lines.line][tied]
        high += low
        step[tied] = _bisect(score, low, high, value, "left")
        until[tied] = _bisect(score, low, high, value, "right")
        # The negatives of a block come first.
        negative = np.zeros(len(tied), dtype=bool)
        first_positive = _bisect(outcome, step[tied], until[tied], negative, "right")
        share[tied] = (at - step)[tied] / (until - step)[tied]
        positive[tied] = share[tied] * (until[tied] - first_positive)
    length = (at - step).astype(np.float64)
    cuts = _Cuts(step, until, length, positive, share, is_tied)
    return _Steps(score, outcome), cuts


def _cut_weights(survivors, lines, ties):
    """Cuts through rows that differ in weight, or through blocks of equal scores."""
    score, start, m = survivors.score, lines.start, lines.m
    units, exponent = _whole_units(survivors.weight, start, m)
    is_new = np.ones(len(score) + 1, dtype=bool)
    is_new[1:-1] = score[1:] != score[:-1]
    is_new[start] = True
    row = np.flatnonzero(is_new) if ties == "average" else np.arange(len(is_new))
    # Sums over all classes wrap around; their differences are right all the same.
    sum_length = _sums_before(units)[row]
    sum_positive = _sums_before(units * survivors.outcome)[row]
    length = np.diff(sum_length).astype(np.float64)
    positive = np.diff(sum_positive).astype(np.float64)

    first = np.searchsorted(row, np.append(start, len(score)))
    total = np.diff(sum_length[first]).astype(np.float64)
    inner = np.flatnonzero(lines.index)
    line = lines.line[inner]
    place = lines.cut[inner] * (total / m)[line]
    # Steps that end at a cut up to the rounding of weights and products end there: no
    # sliver of a row falls behind the cut.
    slack = (total * 4e-15 + m / 2)[line]
    base = sum_length[first[line]]
    at = _bisect(
        sum_length[1:], first[line], first[line + 1], place + slack, "right", base
    )
    rest = place - (sum_length[at] - base)
    step, share = first[lines.line], np.zeros(len(lines.line))
    step[inner], share[inner] = at, np.where(rest > slack, rest / length[at], 0)
    is_split = share > 0
    is_tied = ~is_new[row[step]] | (is_split & ~is_new[row[step] + 1])
    cuts = _Cuts(
        step=np.append(step, len(length)),
        until=np.append(step + is_split, len(length)),
        length=np.append(share * length[step], 0),
        positive=np.append(share * positive[step], 0),
        share=np.append(share, 0),
        is_tied=np.append(is_tied, False),
    )
    return _Steps(score[row[:-1]], positive, length, row), cuts, exponent


def _sums_before(values):
    """Sums of all values before each, and of all."""
    sums = np.zeros(len(values) + 1, values.dtype)
    np.cumsum(values, out=sums[1:])
    return sums


def _whole_units(weight, start, m):
    """Weights as whole multiples of powers of two, whose exponents differ by class.

    The power is so small that the sum of a class just stays below 2**62. Whole numbers
    add up exactly, in any order.
    """
    exponent = np.frexp(np.maximum.reduceat(weight, start))[1] + np.frexp(m)[1] - 62
    # In two factors, neither of which is beyond double precision.
    half = exponent // 2
    units = weight * np.repeat(np.ldexp(1.0, -half), m)
    units *= np.repeat(np.ldexp(1.0, half - exponent), m)
    return np.maximum(np.rint(units, out=units).astype(np.int64), 1), exponent


def _bisect(values, low, high, target, side, base=None):
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


def _sums(values, edges):
    """Sums of ``values`` between consecutive edges, which do not descend."""
    start, stop = edges[:-1], edges[1:]
    sums = np.add.reduceat(values, start, dtype=np.float64)
    return np.where(start < stop, sums, 0)  # reduceat of nothing is the next value
