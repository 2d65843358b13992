"""How far the rows of a group go together, as their outcomes say.

Labels are drawn so that the rows of a group share a random number in part. How much
they share is fitted to products of residuals of different rows of a group.
"""

from dataclasses import replace

import numpy as np
from scipy.special import pdtr

from sklearn_tace.inference.binned_rows import BinnedRows
from sklearn_tace.inference.reference import (
    draw_frequencies,
    draw_outcomes,
    in_any_order,
)

# Rows of large groups count less in the fit, for they tell little more than each other:
# as in the variance of a group's mean with this correlation.
_USUAL = 0.1
_N_STEPS = 6  # of the search
_N_DRAWS, _N_NUMBERS = 16, 2**21  # at most; the second divided by the survivors
_FOR_DESIGN = 12  # times as many draws
# Repeated rows: standard errors that counts may be off, and chance of a false alarm.
_FAR, _UNLIKELY = 2.0, 1e-4


def fit_dependence(binned: BinnedRows, rng) -> BinnedRows:
    """The same rows, with the dependence within groups that their outcomes show."""
    if not binned.is_grouped or binned.n_units == binned.n_rows:
        return binned
    products = _Products(binned)
    n_draws = int(np.clip(_N_NUMBERS // len(binned.part), 2, _N_DRAWS))
    seed = rng.integers(2**63)  # the same numbers in each step

    def at(correlation):
        drawn = replace(binned, correlation=correlation)
        outcomes = draw_outcomes(drawn, n_draws, np.random.default_rng(seed))
        return np.mean([products.of(outcome) for outcome in outcomes], axis=0)

    least, most, seen = at(0.0), at(1.0), products.of(binned.outcome)
    # Of rows in a bin, and of rows in a class: those that show more dependence decide.
    is_telling = most > least
    share = np.where(is_telling, seen - least, 0) / np.where(
        is_telling, most - least, 1
    )
    if share.max() <= 0:
        return binned
    # The search is for the root of what is not shared: near 0 products fall with it.
    low, high = 0.0, 1.0 if share.max() < 1 else 0.0
    for _ in range(_N_STEPS if high else 0):
        middle = (low + high) / 2
        if (at(1 - middle**2) < seen)[is_telling].any():
            high = middle
        else:
            low = middle
    fitted = replace(binned, correlation=1 - ((low + high) / 2) ** 2)
    n_draws *= _FOR_DESIGN
    drawn = _mean_gap(fitted, n_draws, rng) / _mean_gap(binned, n_draws, rng)
    # Where rows that share everything go together less than is seen, gaps are scaled.
    design = max(1.0, 1 + (drawn**2 - 1) * max(1.0, share.min()))
    scale = max(1.0, np.sqrt(design) / drawn)
    return replace(fitted, design=design, scale=scale)


def _mean_gap(binned, n_draws, rng):
    mean_score = binned.mean(binned.score)[:, None]
    gaps = [
        binned.bin_weight @ np.abs(frequency - mean_score)
        for frequency in draw_frequencies(binned, binned.score, n_draws, rng)
    ]
    return np.concatenate(gaps).mean()


class _Products:
    """Products of residuals of different rows of a group, over bins and classes."""

    def __init__(self, binned):
        part, weight = binned.part, binned.weight
        self.binned = binned
        size = np.bincount(binned.unit)[binned.survivor_unit]
        self.fade = 1 / (1 + _USUAL * (size - 1))
        self.centred = np.bincount(part, self.fade * weight)
        variance = weight**2 * binned.score * (1 - binned.score)
        n_classes = len(binned.head)
        class_index = binned.of_survivors(np.arange(n_classes))
        self.levels = []
        for place, count in ((part, binned.share.shape[1]), (class_index, n_classes)):
            cell, first, number = np.unique(
                binned.survivor_unit * count + place,
                return_index=True,
                return_inverse=True,
            )
            scale = np.bincount(place, weight) * np.sqrt(np.bincount(place, variance))
            factor = self.fade[first] ** 2 / np.maximum(scale[place[first]], 1e-300)
            self.levels.append((number, len(cell), factor))

    def of(self, outcome):
        """Sums for rows of the same part and for rows of the same class."""
        binned = self.binned
        residual = binned.weight * (outcome - binned.score)
        # The mean of the part is error of the model, or chance.
        centre = np.bincount(binned.part, self.fade * residual) / self.centred
        residual -= binned.weight * centre[binned.part]
        sums = []
        for number, n_cells, factor in self.levels:
            total = np.bincount(number, residual, n_cells)
            square = np.bincount(number, residual**2, n_cells)
            sums.append(factor @ (total**2 - square))
        return np.array(sums)


def repeated_share(binned) -> float:
    """Share of rows whose predictions recur in a way that no coarse classifier shows.

    If a classifier has few distinct predictions, then the numbers of those seen once,
    twice, three times, ... fall off slowly: their counts are mixtures of Poisson
    counts, so that with f of them seen k times each, (k + 1) f[k - 1] f[k + 1] is
    k f[k]**2 or more, on average. Repeated rows break that.
    """
    class_index = binned.of_survivors(np.arange(len(binned.head)))
    number = in_any_order(binned.score.view(np.uint64), class_index)
    of_rows = np.bincount(binned.row, number * 2.0**-64)
    counts = np.unique(of_rows, return_counts=True)[1]
    times = np.append(np.bincount(counts), 0)  # 0, of those seen so many times
    k = np.arange(2, len(times) - 1)
    error = _FAR * np.sqrt(times)
    seen = np.maximum(times - error, 0)[k]
    least = k / (k + 1) * seen**2 / (times + error + 1)[k - 1]
    is_repeated = pdtr(times[k + 1], least) < _UNLIKELY
    return float(k[is_repeated] @ times[k[is_repeated]] / binned.n_rows)
