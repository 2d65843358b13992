"""Rows that a report has seen: their survivors, and totals over all of them."""

import math
from dataclasses import dataclass, replace
from functools import partial, reduce

import numpy as np
from numpy.typing import NDArray

from sklearn_tace.core.batch import Batch, append_part, join, join_groups
from sklearn_tace.core.cells import Cells
from sklearn_tace.core.survivors import Survivors, sort
from sklearn_tace.inputs.labels import are_same_labels, listed

_TOGETHER = "Putting reports or batches together"


@dataclass(frozen=True)
class SeenRows:
    """Rows seen so far, in batches, and their survivors once they have been sorted.

    Where survivors are too many for the memory, there are cells instead of batches.
    """

    classes: NDArray  # (K,)
    names: tuple  # of the columns of labels and of scores, each a list or None
    settings: dict
    batches: list[Batch]
    survivors: Survivors | Cells | None = None

    @property
    def is_condensed(self) -> bool:
        return isinstance(self.survivors, Cells)

    @property
    def group_sizes(self) -> NDArray | None:
        """Rows of each group; None where rows have no groups, or are summed up."""
        groups = join_groups(self.batches)
        return None if groups is None else groups.sizes

    def refusal(self, what) -> str:
        """What to say where ``what`` cannot be had of cells."""
        return (
            f"{what} needs every probability above the threshold. There were "
            f"{self.survivors.n_kept.sum():,}, more than scikit-learn's working_memory "
            "held, so they were summed up. Fit anew after "
            f"sklearn.set_config(working_memory={self.needed_memory})."
        )

    @property
    def needed_memory(self) -> int:
        """The ``working_memory`` that would hold what has been summed up, in MiB."""
        return math.ceil(self.survivors.bytes_of_survivors / 2**20)

    def demand_batches(self, what):
        if self.is_condensed:
            raise ValueError(self.refusal(what))

    def sorted(self) -> "SeenRows":
        if self.survivors is not None:
            return self
        # Sorting is faster without the numbers of the rows.
        batches = [replace(batch, row=None, groups=None) for batch in self.batches]
        survivors = sort(join(batches), self.settings["ties"], keep=True)
        return replace(self, survivors=survivors)

    def sorted_rows(self) -> Survivors:
        """Survivors with the numbers of their rows."""
        return sort(join(self.batches), self.settings["ties"], keep=True)

    def under(self, settings) -> "SeenRows":
        """The same rows for other settings, which keep the same scores."""
        self.demand_batches(_TOGETHER)
        for name in ("threshold", "ties"):
            if not _is_same_setting(settings[name], self.settings[name]):
                raise ValueError(
                    f"Rows were seen with {name}={self.settings[name]!r}, and cannot "
                    f"be used with {name}={settings[name]!r}. Fit anew."
                )
        return replace(self, settings=settings)

    def __add__(self, other: "SeenRows") -> "SeenRows":
        other.demand_batches(_TOGETHER)
        if not are_same_labels(self.classes, other.classes):
            raise ValueError(
                f"classes are {listed(other.classes)}, but those of earlier rows are "
                f"{listed(self.classes)}."
            )
        names = add_names(self.names, other.names)
        join_groups([*self.batches, *other.batches])  # checked also if not merged
        with np.errstate(over="ignore"):
            add = partial(append_part, merge=join)
            batches = reduce(add, other.batches, self.batches)
        check_total_weight(batches)
        return SeenRows(self.classes, names, other.settings, batches)


def add_names(names, others):
    """Names of columns, which must not be those of earlier rows in another order."""
    for own, new in zip(names, others, strict=True):
        if own and new and own != new and sorted(own) == sorted(new):
            raise ValueError(
                f"The columns are {listed(new)}, those of earlier rows are "
                f"{listed(own)}: the same in another order."
            )
    return tuple(own or new for own, new in zip(names, others, strict=True))


def check_total_weight(parts):
    """Refuse weights whose sum over all parts is beyond double precision."""
    with np.errstate(over="ignore"):
        total = sum(part.totals.support_weight.sum() for part in parts)
    if total == np.inf:
        raise ValueError(
            "The sum of sample_weight over all rows is beyond double precision. "
            "Only ratios matter: scale the weights."
        )


def _is_same_setting(value, other):
    if None in (value, other) or isinstance(value, str):
        return value == other
    return float(value) == float(other)
