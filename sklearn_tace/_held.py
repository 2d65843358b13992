"""What a report holds of the rows that it has seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from sklearn_tace._labels import are_same_labels, listed
from sklearn_tace._survivors import Batch, Survivors, add_batch, join, sort


@dataclass(frozen=True)
class Held:
    """Rows seen so far, in batches; and their survivors, once they have been sorted."""

    classes: NDArray  # (K,)
    names: tuple  # of the columns of labels and of scores, each a list or None
    settings: dict
    batches: list[Batch]
    survivors: Survivors | None = None

    def sorted(self) -> Held:
        if self.survivors is not None:
            return self
        # Sorting is faster without the numbers of the rows.
        batches = [replace(batch, row=None) for batch in self.batches]
        survivors = sort(join(batches), self.settings["ties"], keep=True)
        return replace(self, survivors=survivors)

    def sorted_rows(self) -> Survivors:
        """Survivors with the numbers of their rows."""
        return sort(join(self.batches), self.settings["ties"], keep=True)

    def under(self, settings) -> Held:
        """The same rows for other settings, which keep the same scores."""
        for name in ("threshold", "ties"):
            if not _is_same_setting(settings[name], self.settings[name]):
                raise ValueError(
                    f"Rows were seen with {name}={self.settings[name]!r}, and cannot "
                    f"be used with {name}={settings[name]!r}. Fit anew."
                )
        return replace(self, settings=settings)

    def __add__(self, other: Held) -> Held:
        if not are_same_labels(self.classes, other.classes):
            raise ValueError(
                f"classes are {listed(other.classes)}, but those of earlier rows are "
                f"{listed(self.classes)}."
            )
        for own, others in zip(self.names, other.names, strict=True):
            if own and others and own != others and sorted(own) == sorted(others):
                raise ValueError(
                    f"The columns are {listed(others)}, those of earlier rows are "
                    f"{listed(own)}: the same in another order."
                )
        with np.errstate(over="ignore"):
            batches = reduce(add_batch, other.batches, self.batches)
            total = sum(batch.account.support_weight.sum() for batch in batches)
        if total == np.inf:
            raise ValueError(
                "The sum of sample_weight over all rows is beyond double precision. "
                "Only ratios matter: scale the weights."
            )
        names = zip(self.names, other.names, strict=True)
        names = tuple(own or others for own, others in names)
        return Held(self.classes, names, other.settings, batches)


def _is_same_setting(value, other):
    if None in (value, other) or isinstance(value, str):
        return value == other
    return float(value) == float(other)
