"""Survivors to one table of equal-count bins."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_tace._survivors import Survivors


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
    tied_classes: NDArray[np.intp]  # classes in which a cut runs through equal scores


def bin_survivors(survivors: Survivors, n_bins: int, ties: str) -> Bins:
    """Cut the survivors of every class into equal-count bins.

    A class is a line from 0 to m, its number of survivors. A survivor is as long
    as its share of the class's weight (1 without weights), so that the cuts of
    ``numpy.array_split`` are whole numbers with weights too. A step, which is a
    block of equal scores (``ties="average"``) or one row (``"ordinal"``), gives
    every bin that it overlaps its share.
    """
    score, n_rows = survivors.score, len(survivors.score)
    classes = np.flatnonzero(survivors.n_kept)
    start, m = survivors.indptr[classes], survivors.n_kept[classes]
    weight, class_weight, end = _lengths(survivors.weight, start, m)

    bins = np.minimum(min(n_bins, n_rows), m)
    line = np.repeat(np.arange(len(classes)), bins)
    index = _ragged_arange(bins)
    q, r = np.divmod(m, bins)
    cut = np.append(start[line] + index * q[line] + np.minimum(index, r[line]), n_rows)

    is_new = np.ones(n_rows, dtype=bool)
    is_new[1:] = score[1:] != score[:-1]
    is_new[start] = True
    block = np.flatnonzero(is_new)
    origin = np.repeat(start, m)
    spans = _spans(block, end, origin, cut)
    is_cut = (spans.first < spans.last) & (_stops(block, n_rows) - block > 1)
    tied_lines = np.unique(line[spans.first[is_cut]])

    step = block
    if ties == "ordinal":
        step = np.arange(n_rows)
        spans = _spans(step, end, origin, cut)
    owner, bin_of_share, length = _shares(spans, cut)
    head = np.searchsorted(bin_of_share, np.arange(len(line)))
    first, last = owner[head], owner[_stops(head, len(owner)) - 1]
    size = np.add.reduceat(length, head)

    def mean_in_bins(value):
        return np.add.reduceat(length * value[owner], head) / size

    mean_proba = mean_in_bins(score[step])
    observed_frequency = mean_in_bins(
        np.add.reduceat(weight * survivors.outcome, step)
        / np.add.reduceat(weight, step)
    )
    return Bins(
        class_index=classes[line],
        index=index,
        lower=score[step[first]].astype(np.float64),
        upper=score[step[last]].astype(np.float64),
        count=_stops(step, n_rows)[last] - step[first],
        weight=size * (class_weight / m)[line],
        mean_proba=mean_proba,
        observed_frequency=observed_frequency,
        gap=np.abs(mean_proba - observed_frequency),
        tied_classes=classes[tied_lines],
    )


def _lengths(weight, start, m):
    """Weight of every survivor as a whole number, weight of every class, right ends.

    The right end of a survivor is its place on the line of its class.
    """
    if weight is None:
        end = np.arange(1.0, m.sum() + 1) - np.repeat(start, m)
        return np.ones(len(end), dtype=np.int64), m, end
    # As whole numbers of a unit so small that the sum of a class just stays below
    # 2**62. They add up exactly, in any order; the sum over the classes wraps around,
    # and its differences are right all the same.
    exponent = 62 - np.frexp(np.maximum.reduceat(weight, start))[1] - np.frexp(m)[1]
    whole = np.rint(np.ldexp(weight, np.repeat(exponent, m))).astype(np.int64)
    whole = np.maximum(whole, 1)
    n_units = np.add.reduceat(whole, start).astype(np.float64)
    class_weight = np.ldexp(n_units, -exponent)
    whole //= np.repeat(np.gcd.reduceat(whole, start), m)
    cumulative = np.cumsum(whole)
    cumulative -= np.repeat(cumulative[start] - whole[start], m)
    total = np.repeat(cumulative[start + m - 1], m).astype(np.float64)
    end = cumulative * np.repeat(m, m).astype(np.float64) / total
    # Cuts are whole numbers. An end that is one up to the rounding of the weights
    # and of the division is one: no sliver of a row falls behind the cut.
    slack = m * (4e-15 + m / (2 * n_units))
    near = np.rint(end)
    end = np.where(np.abs(end - near) <= np.repeat(slack, m), near, end)
    return whole, class_weight, end


class _Spans(NamedTuple):
    """Where consecutive steps lie."""

    left: NDArray[np.float64]  # on the line of their class
    right: NDArray[np.float64]
    origin: NDArray[np.intp]  # first survivor of that class
    first: NDArray[np.intp]  # bins they overlap
    last: NDArray[np.intp]


def _spans(step, end, origin, cut):
    origin = origin[step]
    right = end[_stops(step, len(end)) - 1]
    left = np.where(step == origin, 0, np.roll(right, 1))
    first = _n_passed(origin + left, cut, "left") - 1
    last = _n_passed(origin + right, cut, "right") - 1
    # A step too light to have a length is in one bin: before the cut that it is at,
    # or in the first of its class.
    last = np.maximum(last, _n_passed(origin, cut, "left") - 1)
    return _Spans(left, right, origin, np.minimum(first, last), last)


def _n_passed(place, cut, side):
    """Cuts at or before every place (``side="left"``), or before it (``"right"``)."""
    # There are fewer cuts than places: search for the cuts, then count.
    at = np.searchsorted(place, cut, side=side)
    return np.cumsum(np.bincount(at, minlength=len(place) + 1))[:-1]


def _shares(spans, cut):
    """What the bins hold of the steps: triples (step, bin, length) in order.

    This is the sparse matrix of shares, bins by steps.
    """
    left, right, origin, first, last = spans
    touched = last - first + 1
    owner = np.repeat(np.arange(len(left)), touched)
    bin_ = first[owner] + _ragged_arange(touched)
    # Lengths are taken on the class's own line, where they lose least to round-off.
    begin = np.maximum(left[owner], cut[bin_] - origin[owner])
    stop = np.minimum(right[owner], cut[bin_ + 1] - origin[owner])
    return owner, bin_, np.maximum(stop - begin, 0)


def _stops(start, n):
    """Where consecutive runs end, given where they start; the last ends at n."""
    return np.append(start[1:], n)[: len(start)]


def _ragged_arange(counts):
    """0 … counts[0] - 1, 0 … counts[1] - 1, and so on."""
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
