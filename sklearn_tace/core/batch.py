"""Survivors in batches, in the order of the rows, and totals over all rows.

A survivor is a score above the threshold, with the outcome and the weight of its row.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

# Sums of probabilities are whole multiples of 1 / MASS_ONE: exact in any order.
MASS_ONE = 2**40
# Rows whose sum misses one by no more than this count as one.
ROUND_OFF = 2e-5


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

    def __add__(self, other: "Totals") -> "Totals":
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
class Groups:
    """Which rows belong together."""

    labels: NDArray  # (G,) distinct
    code: NDArray[np.intp]  # (n,) position of the label of each row

    def of_rows(self, rows) -> "Groups":
        """Those of some of the rows."""
        found, code = np.unique(self.code[rows], return_inverse=True)
        return Groups(self.labels[found], code)

    @property
    def sizes(self) -> NDArray[np.intp]:
        return np.bincount(self.code, minlength=len(self.labels))


@dataclass(frozen=True)
class Batch:
    """Survivors of some rows; those of a class are in the order of the rows."""

    totals: Totals
    class_index: NDArray[np.unsignedinteger]  # (m,) class
    key: NDArray[np.unsignedinteger]  # (m,) score and outcome, see pack
    weight: NDArray[np.float64] | None  # (m,) None where all rows weigh the same
    row: NDArray[np.unsignedinteger] | None  # (m,) numbers of the rows, if asked for
    groups: Groups | None = None  # of the rows, if the user gave them

    @property
    def n_bytes(self) -> int:
        """Memory that survivors take, numbers of rows of any type as 4 bytes each."""
        n_bytes = self.class_index.itemsize + self.key.itemsize
        n_bytes += 8 * (self.weight is not None) + 4 * (self.row is not None)
        of_groups = 0 if self.groups is None else self.groups.code.nbytes
        return n_bytes * len(self.key) + of_groups

    @property
    def total_bytes(self) -> int:
        return self.n_bytes + self.totals.n_bytes

    def pieces(self, n) -> Iterator["Batch"]:
        """At most n survivors at a time, without the numbers of their rows.

        Each piece has the totals of all.
        """
        for start in range(0, max(len(self.key), 1), n):
            part = slice(start, start + n)
            weight = None if self.weight is None else self.weight[part]
            class_index, key = self.class_index[part], self.key[part]
            yield Batch(self.totals, class_index, key, weight, row=None)


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
    """Score and outcome in one key that sorts by score, then by outcome.

    Scores from 0 to 1 have the order of their bits, the first two of which are 0.
    One sort in place then orders the pairs; an argsort took ten times as long.
    """
    key = score.view(f"u{score.itemsize}") << 1
    key |= outcome
    return key


def unpack(key):
    """Scores and outcomes of keys, in their memory."""
    outcome = np.empty(len(key), dtype=bool)
    np.bitwise_and(key, 1, out=outcome, casting="unsafe")
    key >>= 1
    return key.view(f"f{key.itemsize}"), outcome


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
    keys = [batch.key for batch in batches]
    if len({key.dtype for key in keys}) > 1:
        keys = [_widen(key) for key in keys]
    weight = None
    if any(batch.weight is not None and len(batch.key) for batch in batches):
        weight = np.concatenate([
            np.ones(len(batch.key)) if batch.weight is None else batch.weight
            for batch in batches
        ])
    return Batch(
        totals=reduce(Totals.__add__, (batch.totals for batch in batches)),
        class_index=np.concatenate([batch.class_index for batch in batches]),
        key=np.concatenate(keys),
        weight=weight,
        row=_join_rows(batches),
        groups=join_groups(batches),
    )


def _join_rows(batches):
    if any(batch.row is None for batch in batches):
        return None
    *before, total = np.cumsum([0, *(batch.totals.n_samples for batch in batches)])
    return np.concatenate([
        batch.row + first.astype(index_type(total))
        for batch, first in zip(batches, before, strict=True)
    ])


def join_groups(batches) -> Groups | None:
    """Groups of the rows of all batches; equal labels are one group."""
    groups = [batch.groups for batch in batches if batch.totals.n_samples]
    given = [one for one in groups if one is not None]
    if not given:
        return None
    if len(given) < len(groups):
        raise ValueError("groups must be passed with all rows, or with none.")
    labels = [one.labels for one in given]
    if len({isinstance(label[0], str) for label in labels}) > 1:
        raise ValueError("groups must be all strings or all numbers.")
    labels, position = np.unique(np.concatenate(labels), return_inverse=True)
    starts = np.cumsum([0, *(len(one.labels) for one in given)])
    code = [
        position[start + one.code] for start, one in zip(starts, given, strict=False)
    ]
    return Groups(labels, np.concatenate(code))


def _widen(key):
    score, outcome = unpack(key.copy())
    return pack(score.astype(np.float64), outcome)
