"""The reference distribution: labels drawn from the predictions, measured alike."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sklearn_tace.core.errors import pool_gaps

# Numbers drawn at a time.
_BLOCK = 2**16
# A row's labels are looked up from so many places.
_N_PLACES = 16
# Equal values may differ so much, summed in another order.
_ROUND_OFF = 1e-12


@dataclass(frozen=True)
class Reference:
    """Values under calibration; quantiles are at the confidence level."""

    mean: float
    quantile: float
    p_value: float
    class_mean: NDArray[np.float64]  # of the classes that have survivors
    class_quantile: NDArray[np.float64]
    gap: NDArray[np.float64]  # (n_bins,) mean gap
    lower: NDArray[np.float64]  # (n_bins,) of the central band of the frequency
    upper: NDArray[np.float64]


UNDEFINED = Reference(*[np.nan] * 3, *[np.empty(0)] * 5)


def draw_reference(binned, norm, n_draws, level, rng):
    """Draw labels from the predictions and measure each draw as the outcomes were.

    Bins depend on predictions alone, so that nothing is sorted again. If the labels of
    a row were drawn from its predictions, p_value is exact in samples of any size.
    """
    n_draws = int(n_draws)  # of whatever type
    mean_score = binned.mean(binned.score)[:, None]

    def errors(frequency):
        """Signed gaps, and errors of the classes."""
        gap = mean_score - frequency
        return gap, pool_gaps(np.abs(gap), binned.index, norm)

    observed = errors(binned.mean(binned.outcome)[:, None])[1].mean()
    n_classes = len(binned.n_bins)
    class_error = np.empty((n_draws, n_classes), dtype=np.float32)
    tace = np.empty(n_draws)
    gap_sum, error_sum = np.zeros(len(binned.index)), np.zeros(n_classes)
    tally = _Tally(binned.count)
    done = 0
    draw = draw_labels if binned.one_label else draw_outcomes
    for frequency in draw(binned, binned.score, n_draws, rng):
        gap, error = errors(frequency)
        block = slice(done, done + gap.shape[1])
        class_error[block] = error.T
        error_sum += error.sum(axis=1)
        tace[block] = error.mean(axis=0)
        gap_sum += np.abs(gap).sum(axis=1)
        tally.add(frequency)
        done = block.stop
    lower, upper = tally.quantiles([(1 - level) / 2, (1 + level) / 2])
    return Reference(
        mean=float(tace.mean()),
        quantile=float(np.quantile(tace, level)),
        p_value=float((1 + np.sum(tace >= observed - _ROUND_OFF)) / (n_draws + 1)),
        class_mean=error_sum / n_draws,
        class_quantile=np.quantile(class_error, level, axis=0),
        gap=gap_sum / n_draws,
        lower=lower,
        upper=upper,
    )


def draw_labels(binned, proba, n_draws, rng):
    """One label a row; yields frequencies of the bins, (n_bins, n_drawn).

    Where a row's survivors sum to less than one, no survivor may be hit. Where they sum
    to more, they are scaled.
    """
    n_rows, n_parts = binned.n_rows, binned.share.shape[1]
    end, part, weight = _cumulative_proba(binned, proba)
    # To look from a table of places took half the time of a search in all.
    place = np.empty((n_rows, _N_PLACES), dtype=np.int32)
    for k in range(_N_PLACES):
        start = np.arange(n_rows) + k / _N_PLACES
        place[:, k] = np.searchsorted(end, start, side="right")
    place = place.reshape(-1)
    is_weighted = (weight[part < n_parts] != 1).any()
    at_once = max(1, _BLOCK // max(n_rows, n_parts))
    for done in range(0, n_draws, at_once):
        n_drawn = min(at_once, n_draws - done)
        drawn = (rng.random((n_drawn, n_rows)) + np.arange(n_rows)).reshape(-1)
        hit = place.take((drawn * _N_PLACES).astype(np.int64))
        ahead = np.flatnonzero(end.take(hit) <= drawn)
        while ahead.size:
            hit[ahead] += 1
            ahead = ahead[end.take(hit.take(ahead)) <= drawn.take(ahead)]
        slot = part.take(hit).reshape(n_drawn, n_rows)
        slot += np.arange(n_drawn, dtype=np.int32)[:, None] * (n_parts + 1)
        hit_weight = weight.take(hit) if is_weighted else None
        sums = np.bincount(slot.reshape(-1), hit_weight, n_drawn * (n_parts + 1))
        sums = sums.reshape(n_drawn, -1)[:, :n_parts].T.astype(np.float64)
        yield binned.of_parts(sums) / binned.mass[:, None]


def _cumulative_proba(binned, proba):
    """Where each survivor of a row ends in the row's interval of length one.

    The interval of row i begins at i. Its last entry stands for all that did not
    survive; its part is none of the bins'. Also the part and the weight of each.
    """
    n_rows, n_parts = binned.n_rows, binned.share.shape[1]
    order = np.argsort(binned.row, kind="stable")
    row = binned.row[order]
    before = np.append(0, np.cumsum(proba[order]))
    first = np.searchsorted(row, np.arange(n_rows + 1))
    total = np.maximum(np.diff(before[first]), 1)
    end = row + (before[1:] - before[first[row]]) / total[row]
    end = np.concatenate([np.minimum(end, row + 1), np.arange(n_rows) + 1])
    part = np.append(binned.part[order], np.full(n_rows, n_parts))
    weight = np.append(binned.weight[order], np.zeros(n_rows))
    order = np.argsort(end, kind="stable")
    return end[order], part[order].astype(np.int32), weight[order]


def draw_outcomes(binned, proba, n_draws, rng):
    """Every outcome by itself; yields what draw_labels does."""
    edge = np.searchsorted(binned.part, np.arange(binned.share.shape[1]))
    at_once = max(1, _BLOCK // len(binned.part))
    for done in range(0, n_draws, at_once):
        drawn = rng.random((min(at_once, n_draws - done), len(binned.part)))
        positive = np.where(drawn < proba, binned.weight, 0)
        sums = np.add.reduceat(positive, edge, axis=1).T
        yield binned.of_parts(sums) / binned.mass[:, None]


class _Tally:
    """How often each bin had each frequency, to within half a row or 1 / 8192."""

    def __init__(self, count):
        self.count = np.minimum(count, 4096)
        self.first = np.cumsum(self.count + 1) - (self.count + 1)
        self.times = np.zeros(np.sum(self.count + 1), dtype=np.int32)
        self.n = 0

    def add(self, frequency):
        slots = np.rint(frequency * self.count[:, None]).astype(np.intp)
        for slot in (slots + self.first[:, None]).T:
            self.times[slot] += 1
            self.n += 1

    def quantiles(self, levels):
        """The least frequencies that are not exceeded in these shares of the draws."""
        times, bin_ = np.cumsum(self.times), np.arange(len(self.count))
        for level in levels:
            slot = np.searchsorted(times, (bin_ + level) * self.n)
            yield (slot - self.first) / self.count
