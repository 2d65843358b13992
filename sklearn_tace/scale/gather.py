"""Survivors of rows that come in parts, in bounded memory.

Survivors are kept as long as they fit a limit. Beyond it they become cells: sums over
neighbouring survivors. Cells that a cut between bins runs through are filled anew, on a
finer grid, by another visit to the rows, until each of them has one score. One more
visit does, unless the limit is low for so many survivors and bins.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from sklearn import get_config

from sklearn_tace.core.batch import Batch, append_part, join
from sklearn_tace.core.bins import are_cut
from sklearn_tace.core.cells import Cells, add_cells, condense, exchange
from sklearn_tace.core.filter import RowSum, filter_scores
from sklearn_tace.core.survivors import sort
from sklearn_tace.inputs.arrays import NO_WEIGHT
from sklearn_tace.inputs.predictions import Predictions
from sklearn_tace.inputs.warnings import warn_of_row_sum
from sklearn_tace.scale.seen_rows import SeenRows, check_total_weight

_MIB = 2**20
# Before they become cells, survivors are sorted in pieces that take about twice the
# limit, at 64 bytes each; but not in smaller ones, where calls outweigh their work.
_SORTING, _PIECE = 32, 2**16


class Part(NamedTuple):
    """What is kept of some of the rows."""

    kept: Batch | Cells
    worst: RowSum | None

    @property
    def total_bytes(self) -> int:
        return self.kept.total_bytes


@dataclass(frozen=True)
class Request:
    """What to keep of each part of the rows."""

    threshold: float | None
    n_bins: int | str
    ties: str
    with_rows: bool
    limit: int  # bytes that survivors may take
    intervals: tuple | None = None  # keep only survivors in them: Survivors.within

    @property
    def cells_limit(self) -> int:
        """Half of the limit, for adding cells takes as much again; later all of it."""
        return self.limit // 2 if self.intervals is None else self.limit


def filter_part(given: Predictions, request: Request) -> Part:
    """Keep what is above the threshold, or in the requested intervals."""
    with_rows = request.with_rows and request.intervals is None
    batch, worst = filter_scores(given, request.threshold, with_rows)
    if request.intervals is None:
        return merge_parts([Part(batch, worst)], request)
    survivors = sort(batch, request.ties).within(*request.intervals)
    return Part(condense(survivors, request.cells_limit), worst)


def merge_parts(parts: list[Part], request: Request) -> Part:
    """One part of several that follow each other."""
    row_sums = [part.worst for part in parts if part.worst is not None]
    worst = max(row_sums, key=lambda row: row.error, default=None)
    kept = [part.kept for part in parts]
    with np.errstate(over="ignore"):  # the sum of all weights is checked at the end
        is_small = sum(one.n_bytes for one in kept) <= request.limit
        if is_small and all(isinstance(one, Batch) for one in kept):
            return Part(join(kept), worst)
        cells = [_as_cells(one, request) for one in kept]
        return Part(add_cells(cells, request.cells_limit), worst)


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
    return replace(add(parts), totals=kept.totals)  # which each piece has had in full


def gather(
    visit: Callable[[Request], Part], settings, *, with_rows, may_be_empty, known
) -> SeenRows:
    """Rows that a report has seen, from parts that may be visited several times.

    ``visit`` returns what is kept of all rows. Then ``known`` tells their ``classes``
    and ``names``. The limit is scikit-learn's ``working_memory``.
    """
    limit = int(get_config()["working_memory"] * _MIB)
    names = ("threshold", "n_bins", "ties")
    request = Request(*map(settings.get, names), with_rows, limit)
    kept, worst = visit(request)
    if isinstance(kept, Cells):
        kept = _refine(kept, visit, request)
    if not kept.totals.n_samples and not may_be_empty:
        raise ValueError(NO_WEIGHT)
    check_total_weight([kept])
    warn_of_row_sum(worst)
    batches, cells = ([], kept) if isinstance(kept, Cells) else ([kept], None)
    return SeenRows(**known, settings=settings, batches=batches, survivors=cells)


def _refine(cells, visit, request):
    """Visit the rows until no cut runs through a cell of several scores."""
    while (is_cut := are_cut(cells, request.n_bins)).any():
        cut = cells.where(is_cut)
        intervals = cut.indptr, cut.lower, cut.upper
        finer = visit(replace(request, intervals=intervals)).kept
        if len(finer.lower) == len(cut.lower):
            raise ValueError(
                f"The bounds of bins lie in {len(cut.lower):,} groups of neighbouring "
                "probabilities, too many for scikit-learn's working_memory of "
                f"{request.limit / _MIB:.3g} MiB. Raise it by "
                "sklearn.set_config(working_memory=...), or take fewer bins."
            )
        cells = exchange(cells, is_cut, finer)
    return cells
