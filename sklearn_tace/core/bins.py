"""Survivors to one table of equal-count bins."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_tace.core.cells import Cells
from sklearn_tace.core.survivors import Survivors, bisect, class_runs, sums_before


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
    start: NDArray[np.intp]  # first survivor that touches the bin; not for cells
    # Share of it, or of all that equal it, that lies in the bins before.
    share_before: NDArray[np.float64]
    tied_classes: NDArray[np.intp]  # classes in which a cut runs through equal scores


class _Lines(NamedTuple):
    """The classes that have survivors, each a line from 0 to m, and their bins."""

    start: NDArray[np.intp]  # first survivor, or cell, of the class
    m: NDArray[np.intp]  # number of survivors
    line: NDArray[np.intp]  # of each bin
    index: NDArray[np.intp]  # of each bin in its class
    cut: NDArray[np.intp]  # where each bin begins on its line


class _Steps(NamedTuple):
    """What is cut, class after class: rows, blocks of equal scores, or cells."""

    score: NDArray[np.floating]
    positive: NDArray[np.number]  # length of the positives
    length: NDArray[np.float64] | None = None  # None: all are 1
    row: NDArray[np.intp] | None = None  # the first of each, and an end; None: rows
    upper: NDArray[np.floating] | None = None  # of cells, of which score is the lowest
    mass: NDArray[np.float64] | None = None  # of cells: summed scores, by length

    def lengths(self, edges):
        """Summed lengths of the steps between consecutive edges."""
        return np.diff(edges) if self.length is None else _sums(self.length, edges)

    def masses(self, edges):
        """Summed scores, by length."""
        mass = self.mass
        if mass is None:
            mass = self.score if self.length is None else self.score * self.length
        return _sums(mass, edges)

    def highest(self, step):
        """Highest scores of some steps."""
        return (self.score if self.upper is None else self.upper)[step]

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


def bin_survivors(survivors: Survivors | Cells, n_bins: int | str, ties: str) -> Bins:
    """Cut the survivors of every class into equal-count bins.

    A survivor is as long as its share of the class's weight (1 without weights), so
    that the cuts of ``numpy.array_split`` are whole numbers with weights too. A cut
    that runs through a row, or with ``ties="average"`` a block of equal scores, gives
    each side its share. Cells that a cut runs through must hold one score.
    """
    runs = [
        vars(_bin_run(survivors, first, last, n_bins, ties))
        for first, last in class_runs(survivors.indptr)
    ]
    return Bins(**{
        name: np.concatenate([run[name] for run in runs]) for name in runs[0]
    })


def are_cut(cells: Cells, n_bins: int | str) -> NDArray[np.bool_]:
    """Which cells a cut runs through, though they hold several scores.

    With weights also those that begin at a cut: rows of next to no weight may be first
    in them, and belong to the bin before.
    """
    is_cut = np.zeros(len(cells.lower), dtype=bool)
    classes = np.flatnonzero(cells.n_kept)
    lines = _lay_cuts(cells.indptr[classes], cells.n_kept[classes], n_bins)
    _, cuts, _ = _cut_cells(cells, lines)
    is_at_cut = cuts.share[:-1] > 0
    if cells.weight is not None:
        is_at_cut |= lines.index > 0
    is_cut[cuts.step[:-1][is_at_cut]] = True
    return is_cut & ~cells.is_single()


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
    if isinstance(survivors, Cells):
        steps, cuts, exponent = _cut_cells(survivors, lines)
        unit = 1.0
    elif weight is None or (weight == weight[:1]).all():
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
        upper=steps.highest(end - 1).astype(np.float64),
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
        step[tied] = bisect(score, low, high, value, "left")
        until[tied] = bisect(score, low, high, value, "right")
        # The negatives of a block come first.
        negative = np.zeros(len(tied), dtype=bool)
        first_positive = bisect(outcome, step[tied], until[tied], negative, "right")
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
    sum_length = sums_before(units)[row]
    sum_positive = sums_before(units * survivors.outcome)[row]
    length = np.diff(sum_length).astype(np.float64)
    positive = np.diff(sum_positive).astype(np.float64)

    first = np.searchsorted(row, np.append(start, len(score)))
    step, share = _cut_lengths(sum_length, first, lines, rounding=m / 2)
    is_tied = ~is_new[row[step]] | ((share > 0) & ~is_new[row[step] + 1])
    cuts = _split(step, share, length, positive, is_tied)
    return _Steps(score[row[:-1]], positive, length, row), cuts, exponent


def _cut_cells(cells, lines):
    """Cuts between cells, or through them."""
    count = cells.count
    end = np.append(lines.start, len(count))
    if cells.weight is None:
        exponent, units = np.zeros_like(lines.m), count
        _, positive, mass = cells.sums
        rounding = np.zeros(len(lines.m))
    else:
        n_cells = np.diff(end)
        units, exponent = _whole_units(cells.weight, lines.start, n_cells)
        positive, mass = np.ldexp(cells.sums[4:], -np.repeat(exponent, n_cells))
        rounding = n_cells / 2
    step, share = _cut_lengths(sums_before(units), end, lines, rounding)
    is_tied = (share > 0) & (np.append(count, 0)[step] > 1)
    length = units.astype(np.float64)
    cuts = _split(step, share, length, positive, is_tied)
    row = sums_before(count)
    return _Steps(cells.lower, positive, length, row, cells.upper, mass), cuts, exponent


def _cut_lengths(sum_length, first, lines, rounding):
    """For each cut the step that it runs through, and the share of it to the left.

    Lengths of each class are whole numbers, whose sums are off by ``rounding``.
    """
    total = np.diff(sum_length[first]).astype(np.float64)
    inner = np.flatnonzero(lines.index)
    line = lines.line[inner]
    place = lines.cut[inner] * (total / lines.m)[line]
    # Steps that end at a cut up to the rounding of weights and products end there: no
    # sliver of a row falls behind the cut.
    slack = (total * 4e-15 + rounding)[line]
    base = sum_length[first[line]]
    at = bisect(
        sum_length[1:], first[line], first[line + 1], place + slack, "right", base
    )
    rest = place - (sum_length[at] - base)
    step, share = first[lines.line], np.zeros(len(lines.line))
    length = (sum_length[at + 1] - sum_length[at]).astype(np.float64)
    step[inner], share[inner] = at, np.where(rest > slack, rest / length, 0)
    return step, share


def _split(step, share, length, positive, is_tied):
    return _Cuts(
        step=np.append(step, len(length)),
        until=np.append(step + (share > 0), len(length)),
        length=np.append(share * length[step], 0),
        positive=np.append(share * positive[step], 0),
        share=np.append(share, 0),
        is_tied=np.append(is_tied, False),
    )


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


def _sums(values, edges):
    """Sums of ``values`` between consecutive edges, which do not descend."""
    start, stop = edges[:-1], edges[1:]
    sums = np.add.reduceat(values, start, dtype=np.float64)
    return np.where(start < stop, sums, 0)  # reduceat of nothing is the next value
