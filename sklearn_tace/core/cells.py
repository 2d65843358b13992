"""Survivors that are too many for the memory, as sums over cells.

The scores of a cell are those of a class that lie between two points of a grid. Cells
of any parts of the rows add up, in any order. Their grid is as fine as memory allows;
scores that are equal are always in one cell, however many they are.
"""

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from sklearn_tace.core.batch import Totals, index_type
from sklearn_tace.core.survivors import Survivors, bisect, sums_before

# Sums of a cell: of rows, of positives among them, and of scores; then the same
# weighted, where rows have weights.
_N_SUMS = 3
_HALF = np.float64(0.5).view(np.uint64)
_NEW_CLASS = 64
# Below it products of weights and scores would lose digits.
_LEAST_WEIGHT = 1e-280


@dataclass(frozen=True)
class Cells:
    """Sums over neighbouring survivors; the cells of a class ascend.

    Class k owns the slice ``indptr[k]:indptr[k + 1]`` of the other arrays.
    """

    totals: Totals
    indptr: NDArray[np.intp]  # (K + 1,)
    lower: NDArray[np.float64]  # (c,) lowest score in the cell
    upper: NDArray[np.float64]  # (c,) highest
    sums: NDArray[np.float64]  # (3, c), or (6, c) with weights
    level: int  # of the grid, for adding: scores of a cell differ in as many last bits

    @property
    def n_bytes(self) -> int:
        return self.lower.nbytes + self.upper.nbytes + self.sums.nbytes

    @property
    def bytes_of_survivors(self) -> int:
        """What a report would need to hold them."""
        itemsize = 8 if self.totals.one_column else self.totals.dtype.itemsize
        each = min(max(itemsize, 4), 8) + index_type(len(self.indptr) - 1).itemsize + 4
        each += 8 * (self.weight is not None)
        return int(self.sums[0].sum()) * each

    @property
    def total_bytes(self) -> int:
        return self.n_bytes + self.totals.n_bytes

    @property
    def count(self) -> NDArray[np.intp]:
        return self.sums[0].astype(np.intp)

    @property
    def weight(self) -> NDArray[np.float64] | None:
        return self.sums[_N_SUMS] if len(self.sums) > _N_SUMS else None

    @property
    def n_kept(self) -> NDArray[np.intp]:
        return self._sums_by_class(0)

    @property
    def kept_positives(self) -> NDArray[np.intp]:
        return self._sums_by_class(1)

    @property
    def kept_mass(self) -> float:
        return self.totals.share_of_mass(self.sums[0].sum(), self.sums[2].sum())

    def of_classes(self, first, last) -> "Cells":
        """Those of consecutive classes; views."""
        part = slice(self.indptr[first], self.indptr[last])
        return self._take(part, self.indptr[first : last + 1] - part.start)

    def where(self, keep) -> "Cells":
        return self._take(keep, sums_before(keep, np.intp)[self.indptr])

    def is_single(self) -> NDArray[np.bool_]:
        """Which cells hold one score, be it of many rows."""
        return self.lower == self.upper

    def _sums_by_class(self, which):
        return np.diff(sums_before(self.sums[which])[self.indptr]).astype(np.intp)

    def _take(self, part, indptr):
        return replace(
            self,
            indptr=indptr,
            lower=self.lower[part],
            upper=self.upper[part],
            sums=self.sums[:, part],
        )


def condense(survivors: Survivors, n_bytes: int) -> Cells:
    """Cells of at most so many bytes, but at least one a class with survivors."""
    score, weight = survivors.score, survivors.weight
    n_sums = _N_SUMS if weight is None else 2 * _N_SUMS
    level, head = _finest(score, survivors.indptr, n_bytes // _cell_bytes(n_sums))
    sums = [
        np.diff(head, append=len(score)),
        *_sums_from([survivors.outcome, score], head),
    ]
    if weight is not None:
        if weight.min(initial=np.inf) < _LEAST_WEIGHT:
            raise ValueError(
                f"sample_weight has values such as {weight.min():g}, too small for "
                "sums in double precision. Only ratios matter: scale the weights."
            )
        sums += _sums_from([weight, weight * survivors.outcome, weight * score], head)
    last = np.append(head[1:], len(score))[: len(head)] - 1
    return Cells(
        survivors.totals,
        np.searchsorted(head, survivors.indptr),
        lower=score[head].astype(np.float64),
        upper=score[last].astype(np.float64),
        sums=np.array(sums, dtype=np.float64),
        level=level,
    )


def add_cells(parts: list[Cells], n_bytes: int) -> Cells:
    """Cells of the rows of all parts, of at most so many bytes."""
    totals = reduce(Totals.__add__, (part.totals for part in parts))
    cells = _interleave(parts)
    least = max(part.level for part in parts)
    n_cells = n_bytes // _cell_bytes(len(cells.sums))
    level, head = _finest(cells.lower, cells.indptr, n_cells, least)
    return Cells(
        totals,
        np.searchsorted(head, cells.indptr),
        lower=cells.lower[head],
        upper=np.maximum.reduceat(cells.upper, head) if len(head) else cells.upper,
        sums=np.array(_sums_from(cells.sums, head)),
        level=level,
    )


def exchange(cells: Cells, is_old, new: Cells) -> Cells:
    """Cells of which some are replaced by finer ones of the same rows."""
    old = cells.where(is_old)
    if not (_is_same(cells.totals, new.totals) and _is_finer(new, old)):
        raise ValueError(
            "Labels, probabilities or weights are not those of the first visit. What "
            "computes them must give the same each time; or save them first."
        )
    return _interleave([cells.where(~is_old), new])


def _is_same(totals, other):
    is_same = totals.n_samples == other.n_samples and totals.mass == other.mass
    return is_same and np.array_equal(totals.support, other.support)


def _is_finer(new, old):
    """Whether cells are of the same rows as others, none of which they reach across."""
    if (np.diff(new.indptr) < np.diff(old.indptr)).any():
        return False
    k = np.repeat(np.arange(len(old.indptr) - 1), np.diff(old.indptr))
    head = bisect(new.lower, new.indptr[k], new.indptr[k + 1], old.lower, "left")
    if not np.array_equal(new.lower[head.clip(max=len(new.lower) - 1)], old.lower):
        return False
    sums = np.array(_sums_from(new.sums, head))
    is_same = np.array_equal(sums[:2], old.sums[:2])
    return is_same and np.allclose(sums, old.sums, rtol=1e-9, atol=0)


def _interleave(parts):
    """All cells, class after class, ascending; those that meet are not added up."""
    n_sums = max(len(part.sums) for part in parts)
    class_index = np.concatenate([
        np.repeat(np.arange(len(part.indptr) - 1), np.diff(part.indptr))
        for part in parts
    ])
    lower = np.concatenate([part.lower for part in parts])
    order = np.lexsort((lower, class_index))
    # Rows without weights weigh 1.
    sums = [np.tile(part.sums, (n_sums // len(part.sums), 1)) for part in parts]
    return replace(
        parts[0],
        indptr=np.sum([part.indptr for part in parts], axis=0),
        lower=lower[order],
        upper=np.concatenate([part.upper for part in parts])[order],
        sums=np.concatenate(sums, axis=1)[:, order],
    )


def _cell_bytes(n_sums):
    return 8 * (2 + n_sums)


def _finest(score, indptr, n_cells, least=0):
    """The finest grid of at most so many cells, and where the cells begin.

    Scores ascend in each class. From any parts of the rows the grid is the same, since
    that of all rows is never finer than that of some.
    """
    place = _place(score.astype(np.float64, copy=False))
    differs = np.full(len(score), _NEW_CLASS)  # up to this bit, from the one before
    differs[1:] = _bit_length(place[1:] ^ place[:-1])
    differs[indptr[:-1][np.diff(indptr) > 0]] = _NEW_CLASS
    # How many cells begin at each level.
    begin = len(score) - np.cumsum(np.bincount(differs, minlength=_NEW_CLASS + 1))
    at_most = max(n_cells, begin[_NEW_CLASS - 1])
    level = max(least, int(np.argmax(begin <= at_most)))
    return level, np.flatnonzero(differs > level)


def _place(score):
    """Scores as integers in the same order: where they lie on the finest grid.

    Floats are dense near 0, and their bits are a grid that is fine there. Near 1, where
    a confident model has most of its scores, it is made as fine by the bits of 1 - p.
    """
    above = 2 * _HALF - (1 - score).view(np.uint64)
    return np.where(score < 0.5, score.view(np.uint64), above)


def _bit_length(values):
    """Bits that unsigned integers take."""
    # Without the bit after the first, rounding to a double cannot carry to a new one.
    return np.frexp((values & ~(values >> 1)).astype(np.float64))[1]


def _sums_from(arrays, head):
    """Sums of each array from each position to the next."""
    return [
        np.add.reduceat(values, head, dtype=np.float64) if len(head) else np.zeros(0)
        for values in arrays
    ]
