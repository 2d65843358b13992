"""Equal-count bins of survivors, as one table."""

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


class _Layout(NamedTuple):
    """Classes that have survivors, and where their bins begin."""

    start: NDArray[np.intp]  # first survivor, or cell, of the class
    m: NDArray[np.intp]  # number of survivors
    owner: NDArray[np.intp]  # of each bin, the number of its class among these
    index: NDArray[np.intp]  # of each bin in its class
    cut: NDArray[np.intp]  # where each bin begins, in survivors of its class


class _Blocks(NamedTuple):
    """What is cut, class after class: rows, blocks of equal scores, or cells."""

    score: NDArray[np.floating]
    positive: NDArray[np.number]  # length of the positives
    length: NDArray[np.float64] | None = None  # None: all are 1
    row: NDArray[np.intp] | None = None  # the first of each, and an end; None: rows
    upper: NDArray[np.floating] | None = None  # of cells, of which score is the lowest
    mass: NDArray[np.float64] | None = None  # of cells: summed scores, by length

    def lengths(self, edges):
        """Summed lengths of the blocks between consecutive edges."""
        return np.diff(edges) if self.length is None else _sums(self.length, edges)

    def masses(self, edges):
        """Summed scores, by length."""
        mass = self.mass
        if mass is None:
            mass = self.score if self.length is None else self.score * self.length
        return _sums(mass, edges)

    def highest(self, block):
        """Highest scores of some blocks."""
        return (self.score if self.upper is None else self.upper)[block]

    def rows(self, block):
        """How many rows come before a block."""
        return block if self.row is None else self.row[block]


class _Cuts(NamedTuple):
    """Where each bin begins, in blocks; the last entry is the end of all bins.

    A cut through a block leaves ``length`` and ``positive`` of it to the left.
    """

    block: NDArray[np.intp]  # the first that is not wholly to the left
    until: NDArray[np.intp]  # the first that is wholly to the right
    length: NDArray[np.float64]
    positive: NDArray[np.float64]
    share: NDArray[np.float64]  # of the length of the block
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
    layout = _lay_out(cells.indptr[classes], cells.n_kept[classes], n_bins)
    _, cuts, _ = _cut_cells(cells, layout)
    is_at_cut = cuts.share[:-1] > 0
    if cells.weight is not None:
        is_at_cut |= layout.index > 0
    is_cut[cuts.block[:-1][is_at_cut]] = True
    return is_cut & ~cells.is_single()


def as_table(columns):
    """Columns by name as one structured array."""
    dtype = [(name, column.dtype) for name, column in columns.items()]
    table = np.empty(len(next(iter(columns.values()))), dtype=dtype)
    for name, column in columns.items():
        table[name] = column
    return table


def _bin_run(survivors, first_class, last_class, n_bins, ties):
    first_survivor = survivors.indptr[first_class]
    survivors = survivors.of_classes(first_class, last_class)
    classes = np.flatnonzero(survivors.n_kept)
    layout = _lay_out(survivors.indptr[classes], survivors.n_kept[classes], n_bins)
    weight = survivors.weight
    if isinstance(survivors, Cells):
        blocks, cuts, exponent = _cut_cells(survivors, layout)
        unit = 1.0
    elif weight is None or (weight == weight[:1]).all():
        blocks, cuts = _cut_rows(survivors, layout, ties)
        unit, exponent = 1.0 if weight is None else weight[:1], np.zeros_like(classes)
    else:
        blocks, cuts, exponent = _cut_weights(survivors, layout, ties)
        unit = 1.0

    first, end = cuts.block[:-1], cuts.until[1:]
    score_at_cut = np.append(blocks.score[first], 0.0)
    length = blocks.lengths(cuts.block) + np.diff(cuts.length)
    mass = blocks.masses(cuts.block) + np.diff(score_at_cut * cuts.length)
    mean_proba = mass / length
    positive = _sums(blocks.positive, cuts.block) + np.diff(cuts.positive)
    observed_frequency = positive / length
    return Bins(
        class_index=first_class + classes[layout.owner],
        index=layout.index,
        lower=blocks.score[first].astype(np.float64),
        upper=blocks.highest(end - 1).astype(np.float64),
        count=blocks.rows(end) - blocks.rows(first),
        weight=np.ldexp(length * unit, exponent[layout.owner]),
        mean_proba=mean_proba,
        observed_frequency=observed_frequency,
        gap=np.abs(mean_proba - observed_frequency),
        start=first_survivor + blocks.rows(first),
        share_before=cuts.share[:-1],
        tied_classes=first_class + classes[np.unique(layout.owner[cuts.is_tied[:-1]])],
    )


def _lay_out(start, m, n_bins):
    bins = np.minimum(bins_asked(m, n_bins), m)
    owner = np.repeat(np.arange(len(m)), bins)
    index = np.arange(len(owner)) - np.repeat(np.cumsum(bins) - bins, bins)
    q, r = np.divmod(m, bins)
    cut = index * q[owner] + np.minimum(index, r[owner])
    return _Layout(start, m, owner, index, cut)


def _cut_rows(survivors, layout, ties):
    """Cuts between rows of the same weight, and through blocks of equal scores."""
    score, outcome = survivors.score, survivors.outcome
    start = layout.start[layout.owner]
    at = np.append(start + layout.cut, len(score))
    inner = np.flatnonzero(layout.index)
    is_tied = np.zeros(len(at), dtype=bool)
    is_tied[inner] = score[at[inner] - 1] == score[at[inner]]
    block, until = at.copy(), at.copy()
    share, positive = np.zeros(len(at)), np.zeros(len(at))
    if ties == "average" and is_tied.any():
        tied = np.flatnonzero(is_tied)
        value, low, high = score[at[tied]], start[tied], layout.m[layout.owner][tied]
        high += low
        block[tied] = bisect(score, low, high, value, "left")
        until[tied] = bisect(score, low, high, value, "right")
        # The negatives of a block come first.
        negative = np.zeros(len(tied), dtype=bool)
        first_positive = bisect(outcome, block[tied], until[tied], negative, "right")
        share[tied] = (at - block)[tied] / (until - block)[tied]
        positive[tied] = share[tied] * (until[tied] - first_positive)
    length = (at - block).astype(np.float64)
    cuts = _Cuts(block, until, length, positive, share, is_tied)
    return _Blocks(score, outcome), cuts


def _cut_weights(survivors, layout, ties):
    """Cuts through rows that differ in weight, or through blocks of equal scores."""
    score, start, m = survivors.score, layout.start, layout.m
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
    block, share = _cut_lengths(sum_length, first, layout, rounding=m / 2)
    is_tied = ~is_new[row[block]] | ((share > 0) & ~is_new[row[block] + 1])
    cuts = _as_cuts(block, share, length, positive, is_tied)
    return _Blocks(score[row[:-1]], positive, length, row), cuts, exponent


def _cut_cells(cells, layout):
    """Cuts between cells, or through them."""
    count = cells.count
    end = np.append(layout.start, len(count))
    if cells.weight is None:
        exponent, units = np.zeros_like(layout.m), count
        _, positive, mass = cells.sums
        rounding = np.zeros(len(layout.m))
    else:
        n_cells = np.diff(end)
        units, exponent = _whole_units(cells.weight, layout.start, n_cells)
        positive, mass = np.ldexp(cells.sums[4:], -np.repeat(exponent, n_cells))
        rounding = n_cells / 2
    block, share = _cut_lengths(sums_before(units), end, layout, rounding)
    is_tied = (share > 0) & (np.append(count, 0)[block] > 1)
    length = units.astype(np.float64)
    cuts = _as_cuts(block, share, length, positive, is_tied)
    row = sums_before(count)
    blocks = _Blocks(cells.lower, positive, length, row, cells.upper, mass)
    return blocks, cuts, exponent


def _cut_lengths(sum_length, first, layout, rounding):
    """For each cut the block that it runs through, and the share of it to the left.

    Lengths of each class are whole numbers, whose sums are off by ``rounding``.
    """
    total = np.diff(sum_length[first]).astype(np.float64)
    inner = np.flatnonzero(layout.index)
    owner = layout.owner[inner]
    place = layout.cut[inner] * (total / layout.m)[owner]
    # Blocks that end at a cut up to the rounding of weights and products end there: no
    # sliver of a row falls behind the cut.
    slack = (total * 4e-15 + rounding)[owner]
    base = sum_length[first[owner]]
    at = bisect(
        sum_length[1:], first[owner], first[owner + 1], place + slack, "right", base
    )
    rest = place - (sum_length[at] - base)
    block, share = first[layout.owner], np.zeros(len(layout.owner))
    length = (sum_length[at + 1] - sum_length[at]).astype(np.float64)
    block[inner], share[inner] = at, np.where(rest > slack, rest / length, 0)
    return block, share


def _as_cuts(block, share, length, positive, is_tied):
    return _Cuts(
        block=np.append(block, len(length)),
        until=np.append(block + (share > 0), len(length)),
        length=np.append(share * length[block], 0),
        positive=np.append(share * positive[block], 0),
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
