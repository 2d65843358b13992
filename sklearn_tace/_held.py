"""What a report holds of the rows that it has seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from sklearn_tace._labels import listed
from sklearn_tace._survivors import Batch, Survivors, add_batch, join, sort


@dataclass(frozen=True)
class Held:
    """Rows seen so far: batches, or all of them sorted."""

    classes: NDArray  # (K,)
    names: tuple  # of the columns of labels and of scores, each a list or None
    settings: dict
    batches: list[Batch]
    survivors: Survivors | None = None

    def sorted(self) -> Held:
        if self.survivors is not None:
            return self
        survivors = sort(join(self.batches), self.settings["ties"])
        return replace(self, batches=[], survivors=survivors)

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
        if not _are_same(self.classes, other.classes):
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
            batches = reduce(add_batch, other._all_batches(), self._all_batches())
            total = sum(batch.account.support_weight.sum() for batch in batches)
        if total == np.inf:
            raise ValueError(
                "The sum of sample_weight over all rows is beyond double precision. "
                "Only ratios matter: scale the weights."
            )
        names = zip(self.names, other.names, strict=True)
        names = tuple(own or others for own, others in names)
        return Held(self.classes, names, other.settings, batches)

    def _all_batches(self):
        if self.survivors is None:
            return self.batches
        return [self.survivors.as_batch()]


def _is_same_setting(value, other):
    if None in (value, other) or isinstance(value, str):
        return value == other
    return float(value) == float(other)


def _are_same(labels, others):
    if labels.dtype == others.dtype or labels.dtype.kind == others.dtype.kind == "M":
        return np.array_equal(labels, others)
    return labels.tolist() == others.tolist()
