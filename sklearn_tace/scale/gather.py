"""Parts of the rows, filtered one by one and brought together in bounded memory.

As long as they fit a limit, survivors are seen. Beyond it they become cells. Those that
a cut between bins runs through are then filled anew, on a finer grid, by another visit
to the rows, until they hold one score each. One more visit does, unless the limit is
low for so many survivors and bins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn import get_config

from sklearn_tace.core.bins import are_cut
from sklearn_tace.core.cells import Cells, add_cells, condense, exchange
from sklearn_tace.core.filter import OddRow, filter_scores, warn_of_row
from sklearn_tace.core.survivors import Batch, append_part, join, sort
from sklearn_tace.inputs.predictions import NO_WEIGHT, Predictions
from sklearn_tace.scale.seen_rows import SeenRows, check_total_weight

_MIB = 2**20
# On their way to cells survivors are sorted in pieces that take about twice the limit,
# at 64 bytes each; but not in smaller ones, where calls take longer than their work.
_SORTING, _PIECE = 32, 2**16


class Found(NamedTuple):
    """What is known of some of the rows."""

    kept: Batch | Cells
    worst: OddRow | None  # of the rows that do not sum to one

    @property
    def total_bytes(self) -> int:
        return self.kept.total_bytes


@dataclass(frozen=True)
class Request:
    """What is to be kept of rows."""

    threshold: float | None
    n_bins: int | str
    ties: str
    with_rows: bool
    limit: int  # bytes that survivors may take
    opened: tuple | None = None  # keep only what is in these: see Survivors.within

    @property
    def cells_limit(self) -> int:
        """Half of the limit, for adding some takes as much again; later all of it."""
        return self.limit // 2 if self.opened is None else self.limit


def request_for(settings, with_rows) -> Request:
    """A request under the limit that scikit-learn's ``working_memory`` sets."""
    names = ("threshold", "n_bins", "ties")
    limit = int(get_config()["working_memory"] * _MIB)
    return Request(*map(settings.get, names), with_rows, limit)


def filter_given(given: Predictions, request: Request) -> Found:
    """What is above the threshold, or in the opened intervals."""
    with_rows = request.with_rows and request.opened is None
    batch, worst = filter_scores(given, request.threshold, with_rows)
    if request.opened is None:
        return add_found([Found(batch, worst)], request)
    survivors = sort(batch, request.ties).within(*request.opened)
    return Found(condense(survivors, request.cells_limit), worst)


def add_found(founds: list[Found], request: Request) -> Found:
    """What is known of consecutive rows together."""
    odd = [found.worst for found in founds if found.worst is not None]
    worst = max(odd, key=lambda row: row.error, default=None)
    kept = [found.kept for found in founds]
    with np.errstate(over="ignore"):  # the sum of all weights is checked at the end
        is_small = sum(one.n_bytes for one in kept) <= request.limit
        if is_small and all(isinstance(one, Batch) for one in kept):
            return Found(join(kept), worst)
        cells = [_as_cells(one, request) for one in kept]
        return Found(add_cells(cells, request.cells_limit), worst)


def _as_cells(kept, request):
    if isinstance(kept, Cells):
        return kept
    if request.ties == "ordinal":
        raise ValueError(
            "ties='ordinal' needs every probability above the threshold, in the order "
            "of the rows, and they are more than scikit-learn's working_memory holds. "
            "Raise it, in MiB, by sklearn.set_config(working_memory=...), or take "
            "ties='average'."
        )

    add, parts = partial(add_cells, n_bytes=request.cells_limit), []
    for piece in kept.pieces(max(_PIECE, request.limit // _SORTING)):
        cells = condense(sort(piece, request.ties, keep=True), request.cells_limit)
        parts = append_part(parts, cells, add)
    # Each piece bears the totals of all rows.
    return replace(add(parts), totals=kept.totals)


def gather(visit: Callable[[Request], Found], request: Request) -> Found:
    """All that is needed of the rows; ``visit`` finds it in all of them."""
    kept, worst = visit(request)
    while isinstance(kept, Cells):
        is_cut = are_cut(kept, request.n_bins)
        if not is_cut.any():
            break
        cut = kept.where(is_cut)
        opened = cut.indptr, cut.lower, cut.upper
        finer, _ = visit(replace(request, opened=opened))
        if len(finer.lower) == len(cut.lower):
            raise ValueError(
                f"The bounds of bins lie in {len(cut.lower):,} groups of neighbouring "
                "probabilities, too many for scikit-learn's working_memory of "
                f"{request.limit / _MIB:.3g} MiB. Raise it by "
                "sklearn.set_config(working_memory=...), or take fewer bins."
            )
        kept = exchange(kept, is_cut, finer)
    return Found(kept, worst)


def as_seen_rows(found: Found, classes, names, settings, *, may_be_empty) -> SeenRows:
    """What a report holds of all rows; warns of one that does not sum to one."""
    kept, totals = found.kept, found.kept.totals
    if not totals.n_samples and not may_be_empty:
        raise ValueError(NO_WEIGHT)
    check_total_weight([totals])
    warn_of_row(found.worst)
    if isinstance(kept, Cells):
        return SeenRows(classes, names, settings, [], kept)
    return SeenRows(classes, names, settings, [kept])
