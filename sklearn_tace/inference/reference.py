"""The reference distribution: labels drawn from the predictions, measured alike."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammainc

from sklearn_tace.core.errors import pool_gaps

# Numbers drawn at a time.
_BLOCK = 2**16
# A row's labels are looked up from so many places.
_N_PLACES = 16
# Equal values may differ so much, summed in another order.
_ROUND_OFF = 1e-12
# Of numbers that units share: points of their distribution function, and its ends.
_N_POINTS, _FARTHEST = 2**12, 10.0
# Signs drawn at a time, and in all.
_AT_ONCE, _N_FLIPS = 50, 400


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

    In groups, labels are drawn with the dependence that has been fitted. How far their
    values spread is checked with groups that change the signs of all their gaps, which
    keeps what is dependent in any way: where that spreads more, it counts.
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
    for frequency in draw_frequencies(binned, binned.score, n_draws, rng):
        if binned.scale != 1:
            distance = binned.scale * (frequency - mean_score)
            frequency = (mean_score + distance).clip(0, 1)
        gap, error = errors(frequency)
        block = slice(done, done + gap.shape[1])
        class_error[block] = error.T
        error_sum += error.sum(axis=1)
        tace[block] = error.mean(axis=0)
        gap_sum += np.abs(gap).sum(axis=1)
        tally.add(frequency)
        done = block.stop
    if binned.is_grouped and binned.n_units < binned.n_rows:
        flipped = np.concatenate([
            pool_gaps(np.abs(gap), binned.index, norm).mean(axis=0)
            for gap in _flip_signs(binned, _N_FLIPS, rng)
        ])
        spread = flipped.std() / flipped.mean() * tace.mean()
        wider = max(1.0, spread / tace.std()) if tace.std() else 1.0
        tace = tace.mean() + wider * (tace - tace.mean())
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


def draw_frequencies(binned, proba, n_draws, rng):
    """Labels drawn from the probabilities; yields frequencies, (n_bins, n_drawn)."""
    draw = _draw_labels if binned.one_label else _draw_each
    return draw(binned, proba, n_draws, rng)


def draw_outcomes(binned, n_draws, rng):
    """The same from the scores, but yields the outcomes of all survivors."""
    n_survivors = len(binned.part)
    if binned.one_label:
        for hits in _hits(binned, binned.score, n_draws, rng):
            for hit in hits:
                outcome = np.zeros(n_survivors + 1)
                outcome[hit] = 1
                yield outcome[:-1]
        return
    for positive in _positives(binned, binned.score, n_draws, rng):
        yield from positive.astype(float)


def _draw_labels(binned, proba, n_draws, rng):
    """One label a row."""
    n_parts = binned.share.shape[1]
    part = np.append(binned.part, n_parts).astype(np.int32)
    weight = np.append(binned.weight, 0.0)
    is_weighted = (binned.weight != 1).any()
    for hits in _hits(binned, proba, n_draws, rng):
        n_drawn = len(hits)
        slot = part.take(hits)
        slot += np.arange(n_drawn, dtype=np.int32)[:, None] * (n_parts + 1)
        hit_weight = weight.take(hits).reshape(-1) if is_weighted else None
        sums = np.bincount(slot.reshape(-1), hit_weight, n_drawn * (n_parts + 1))
        sums = sums.reshape(n_drawn, -1)[:, :n_parts].T.astype(np.float64)
        yield binned.of_parts(sums) / binned.mass[:, None]


def _hits(binned, proba, n_draws, rng):
    """The survivor that a row's label is drawn for, (n_drawn, n_rows).

    Where a row's survivors sum to less than one, it may be none: their number. Where
    they sum to more, they are scaled.
    """
    n_rows, n_parts = binned.n_rows, binned.share.shape[1]
    end, survivor = _cumulative_proba(binned, proba)
    # To look from a table of places took half the time of a search in all.
    place = np.empty((n_rows, _N_PLACES), dtype=np.int32)
    for k in range(_N_PLACES):
        start = np.arange(n_rows) + k / _N_PLACES
        place[:, k] = np.searchsorted(end, start, side="right")
    place = place.reshape(-1)
    at_once = max(1, _BLOCK // max(n_rows, n_parts))
    # What a unit shares can make as many classes more or less frequent.
    noise = binned.class_sums(binned.weight * proba * (1 - proba))
    dof = max(1.0, noise.sum() ** 2 / np.sum(noise**2) - 1) if noise.any() else 1.0
    for done in range(0, n_draws, at_once):
        n_drawn = min(at_once, n_draws - done)
        drawn = draw_uniform(rng, n_drawn, binned.unit, binned.correlation, dof)
        drawn = (drawn + np.arange(n_rows)).reshape(-1)
        hit = place.take((drawn * _N_PLACES).astype(np.int64))
        ahead = np.flatnonzero(end.take(hit) <= drawn)
        while ahead.size:
            hit[ahead] += 1
            ahead = ahead[end.take(hit.take(ahead)) <= drawn.take(ahead)]
        yield survivor.take(hit).reshape(n_drawn, n_rows)


def _cumulative_proba(binned, proba):
    """Where each survivor of a row ends in the row's interval of length one.

    The interval of row i begins at i. Its last entry stands for all that did not
    survive. Also the survivor that each is.
    """
    n_rows, n_survivors = binned.n_rows, len(binned.part)
    order = np.argsort(binned.row, kind="stable")
    if binned.correlation:
        # Each unit has its classes in an order of its own, so that no two classes are
        # neighbours, and go together, in all units.
        class_index = binned.of_survivors(np.arange(len(binned.head)))
        order = np.lexsort((
            in_any_order(binned.survivor_unit, class_index),
            binned.row,
        ))
    row = binned.row[order]
    before = np.append(0, np.cumsum(proba[order]))
    first = np.searchsorted(row, np.arange(n_rows + 1))
    total = np.maximum(np.diff(before[first]), 1)
    end = row + (before[1:] - before[first[row]]) / total[row]
    end = np.concatenate([np.minimum(end, row + 1), np.arange(n_rows) + 1])
    survivor = np.append(order, np.full(n_rows, n_survivors))
    order = np.argsort(end, kind="stable")
    return end[order], survivor[order].astype(np.int32)


def _draw_each(binned, proba, n_draws, rng):
    """Every outcome by itself."""
    edge = np.searchsorted(binned.part, np.arange(binned.share.shape[1]))
    for positive in _positives(binned, proba, n_draws, rng):
        sums = np.add.reduceat(np.where(positive, binned.weight, 0), edge, axis=1).T
        yield binned.of_parts(sums) / binned.mass[:, None]


def _positives(binned, proba, n_draws, rng):
    unit = binned.survivor_unit
    if len(binned.head) > 1 and binned.correlation:
        class_index = binned.of_survivors(np.arange(len(binned.head)))
        cell = unit * len(binned.head) + class_index
        unit = np.unique(cell, return_inverse=True)[1]
    at_once = max(1, _BLOCK // len(binned.part))
    for done in range(0, n_draws, at_once):
        n_drawn = min(at_once, n_draws - done)
        yield draw_uniform(rng, n_drawn, unit, binned.correlation, 1.0) < proba


def draw_uniform(rng, n_drawn, unit, correlation, dof):
    """Numbers from 0 to 1, (n_drawn, n), alike within units as far as they correlate.

    What a unit shares has ``dof`` degrees of freedom: as many as classes that may be
    more or less frequent in it, less one.
    """
    if not correlation:
        return rng.random((n_drawn, len(unit)))
    shape = n_drawn, unit.max() + 1
    shared = rng.choice([-1.0, 1.0], shape) * np.sqrt(rng.chisquare(dof, shape) / dof)
    numbers = np.sqrt(correlation) * shared.take(unit, axis=1)
    if correlation < 1:
        noise = rng.standard_normal(numbers.shape)
        noise *= np.sqrt(1 - correlation)
        numbers += noise
    below = _distribution(correlation, round(float(dof), 3))
    numbers += _FARTHEST
    numbers *= _N_POINTS / (2 * _FARTHEST)
    np.clip(numbers, 0, _N_POINTS - 1, out=numbers)
    point = numbers.astype(np.int32)
    numbers -= point
    numbers *= np.diff(below).take(point)
    numbers += below.take(point)
    return numbers


@lru_cache(maxsize=64)
def _distribution(correlation, dof):
    """Distribution function of the numbers before they become uniform, on a grid."""
    edge = np.linspace(-_FARTHEST, _FARTHEST, _N_POINTS + 1)
    half = gammainc(dof / 2, dof * edge**2 / correlation / 2) / 2
    mass = np.diff(0.5 + np.sign(edge) * half)
    frequency = 2 * np.pi * np.fft.rfftfreq(_N_POINTS, edge[1] - edge[0])
    noise = np.exp(-(frequency**2) * (1 - correlation) / 2)
    below = np.cumsum(np.fft.irfft(np.fft.rfft(mass) * noise, _N_POINTS))
    below = np.maximum.accumulate(np.append(0, below))
    return (below / below[-1]).clip(0, 1 - 1e-9)


def in_any_order(unit, class_index):
    """Numbers that put the classes of each unit in an order of its own."""
    # The finalizer of SplitMix64, a hash: no table of units times classes.
    number = unit.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    number += class_index.astype(np.uint64) + np.uint64(1)
    number *= np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        number = (number ^ (number >> np.uint64(shift))) * np.uint64(factor)
    return number ^ (number >> np.uint64(31))


def _flip_signs(binned, n_draws, rng):
    """Gaps of the bins where the distances of whole units change their signs.

    Yields arrays (n_bins, n_drawn).
    """
    pieces = binned.unit_sums(binned.weight * binned.distance)
    for done in range(0, n_draws, _AT_ONCE):
        shape = binned.n_units, min(_AT_ONCE, n_draws - done)
        sign = rng.choice([-1.0, 1.0], shape)
        yield pieces @ sign / binned.mass[:, None]


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
