"""The share of each survivor in each bin; sums over bins are matrix products."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from sklearn_tace.core.bins import Bins
from sklearn_tace.core.survivors import Survivors
from sklearn_tace.inference.gap_model import Curve

LEAST = 1e-6  # probability of a curve

# Of sums that are differences of others.
_ROUND_OFF = 1e-14


@dataclass(frozen=True)
class BinnedRows:
    """Survivors in parts, each of which belongs to the same bins as a whole.

    A bin whose cuts run between rows is one part. A cut through a weighted row, or
    through rows of equal scores, makes these a part that several bins share.
    """

    row: NDArray[np.intp]  # (m,) row of each survivor, among those that have any
    row_number: NDArray[np.intp]  # (n_rows,) of these rows among all
    score: NDArray[np.float64]  # (m,)
    outcome: NDArray[np.float64]  # (m,)
    weight: NDArray[np.float64]  # (m,) relative to the largest of the class
    part: NDArray[np.intp]  # (m,) ascending
    class_start: NDArray[np.intp]  # (n_classes,) first survivor of each class
    share: scipy.sparse.csr_array  # (n_bins, n_parts) share of a part in a bin
    mass: NDArray[np.float64]  # (n_bins,) summed weight
    class_index: NDArray[np.intp]  # (n_bins,)
    index: NDArray[np.intp]  # (n_bins,) of the bin in its class
    count: NDArray[np.intp]  # (n_bins,) rows that touch the bin
    one_label: bool  # every row is of one class
    # Units are independent of each other: rows, or groups of rows.
    unit: NDArray[np.intp]  # (n_rows,) of each row, among those that have survivors
    unit_number: NDArray[np.intp]  # (n_units,) of these units among all
    is_grouped: bool = False
    correlation: float = 0.0  # of the numbers that decide labels, within a unit
    scale: float = 1.0  # of the gaps that are drawn
    design: float = 1.0  # how much more the gaps vary than with independent rows

    @property
    def n_rows(self):
        """Rows that have survivors."""
        return len(self.row_number)

    @property
    def n_units(self):
        return len(self.unit_number)

    @cached_property
    def survivor_unit(self):
        """The unit of each survivor."""
        return self.unit[self.row] if self.is_grouped else self.row

    @cached_property
    def dof(self):
        """Degrees of freedom of the variance that is seen between units."""
        size = np.bincount(self.unit).astype(float)
        return max(1.0, size.sum() ** 2 / np.sum(size**2) - 1)

    def quantile(self, level):
        """How many standard errors away the ends of an interval are."""
        upper = (1 + level) / 2
        return stdtrit(self.dof, upper) if self.is_grouped else ndtri(upper)

    def tail(self, errors):
        """How often a standard error is exceeded so many times."""
        return stdtr(self.dof, -errors) if self.is_grouped else ndtr(-errors)

    def unit_terms(self, values):
        """Sums of values of the survivors of each unit."""
        return np.bincount(self.survivor_unit, values)

    def unit_sums(self, values):
        """Sums of values of the survivors of each unit in each bin, a sparse array."""
        shape = self.share.shape[1], self.n_units
        index = self.part, self.survivor_unit
        return self.share @ scipy.sparse.coo_array((values, index), shape).tocsr()

    def of_parts(self, sums):
        """Sums over each bin of sums over the parts, along the first axis."""
        return self.share @ sums

    def mean(self, values):
        """Weighted mean over each bin of values of the survivors."""
        return self.of_parts(np.bincount(self.part, self.weight * values)) / self.mass

    def mean_square(self, values):
        """Sums of values times squared shares in the mass of the bin."""
        sums = np.bincount(self.part, self.weight**2 * values)
        return self.share**2 @ sums / self.mass**2

    @cached_property
    def distance(self):
        """Score less outcome of each survivor."""
        return self.score - self.outcome

    @cached_property
    def gap(self):
        """Signed gap of each bin."""
        return self.mean(self.distance)

    @cached_property
    def n_eff(self):
        """Independent rows without weights that would tell as much of the gap."""
        return 1 / self.mean_square(1.0) / self.design

    @cached_property
    def curve(self):
        """The bins as points of calibration curves."""
        score = self.score.clip(LEAST, 1 - LEAST)
        return Curve(
            mean_proba=self.mean(score),
            variance=self.mean(score * (1 - score)),
            head=self.head,
        )

    @cached_property
    def head(self):
        """First bin of each class."""
        return np.flatnonzero(self.index == 0)

    @cached_property
    def n_bins(self):
        """Bins of each class."""
        return np.diff(self.head, append=len(self.index))

    def of_bins(self, of_classes):
        """The value of its class for each bin."""
        return np.repeat(of_classes, self.n_bins)

    def of_survivors(self, of_classes):
        """The value of its class for each survivor."""
        size = np.diff(self.class_start, append=len(self.part))
        return np.repeat(of_classes, size)

    @cached_property
    def bin_weight(self):
        """What the gap of a bin counts in the mean of the class errors."""
        return self.of_bins(1 / (len(self.n_bins) * self.n_bins))

    def class_sums(self, values):
        """Sums of values of the survivors of each class."""
        return np.add.reduceat(values, self.class_start)

    def factor(self, signs):
        """What each part counts in the mean of signed gaps, (n, n_parts)."""
        return (self.share.T @ (signs * self.bin_weight / self.mass).T).T

    def without_folds(self, slot, n_folds):
        """Effective rows and signed gaps of the bins, without each fold of the rows.

        ``slot`` is the part of each survivor, counted on from fold to fold.
        """
        n_parts = self.share.shape[1]

        def sums(share, values):
            values = np.bincount(slot, values, n_folds * n_parts)
            values = values.reshape(n_folds, n_parts)
            return (share @ (values.sum(axis=0) - values).T).T

        mass = sums(self.share, self.weight)
        squares = sums(self.share**2, self.weight**2)
        is_empty = squares <= _ROUND_OFF * squares.max(axis=0)
        n_eff = np.where(is_empty, 0, mass**2 / np.where(is_empty, 1, squares))
        n_eff /= self.design
        gap = sums(self.share, self.weight * self.distance)
        return n_eff, np.where(is_empty, 0, gap / np.where(is_empty, 1, mass))


def assign_to_bins(survivors: Survivors, bins: Bins) -> BinnedRows:
    """Say which survivors, or shares of them, are in each of the bins."""
    edge, share = _shares(bins)
    part = np.repeat(np.arange(len(edge) - 1), np.diff(edge))
    class_start = bins.start[bins.index == 0]
    weight = survivors.weight
    if weight is None or (weight == weight[:1]).all():
        weight = np.ones(len(part))
    else:
        # Only ratios within a class matter: no square of a weight is beyond precision.
        most = np.maximum.reduceat(weight, class_start)
        weight = weight / np.repeat(most, np.diff(class_start, append=len(weight)))
    rows, row = np.unique(survivors.row, return_inverse=True)
    unit_number, unit = rows.astype(np.intp), np.arange(len(rows))
    groups = survivors.groups
    is_grouped = groups is not None and len(groups.labels) < len(groups.code)
    if is_grouped:
        unit_number, unit = np.unique(groups.code[rows], return_inverse=True)
    return BinnedRows(
        row=row,
        row_number=rows.astype(np.intp),
        score=survivors.score.astype(np.float64),
        outcome=survivors.outcome.astype(np.float64),
        weight=weight,
        part=part,
        share=share,
        class_start=class_start,
        mass=share @ np.bincount(part, weight),
        class_index=bins.class_index,
        index=bins.index,
        count=bins.count,
        one_label=survivors.totals.one_label,
        unit=unit,
        unit_number=unit_number,
        is_grouped=is_grouped,
    )


def _shares(bins):
    """Where parts of the survivors begin, and the share of each part in each bin."""
    stop = bins.start + bins.count
    edge = np.unique(np.concatenate([[0], bins.start, stop]))
    first, last = np.searchsorted(edge, bins.start), np.searchsorted(edge, stop)
    indptr = np.append(0, np.cumsum(last - first))
    part = np.arange(indptr[-1]) - np.repeat(indptr[:-1] - first, last - first)
    share = np.ones(len(part))
    share[indptr[:-1]] -= bins.share_before
    is_cut = bins.share_before[1:] > 0
    share[indptr[1:-1][is_cut] - 1] -= 1 - bins.share_before[1:][is_cut]
    shape = len(bins.start), len(edge) - 1
    return edge, scipy.sparse.csr_array((share, part, indptr), shape=shape)
