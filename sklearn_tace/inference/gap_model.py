"""A smooth model of the gaps, fitted on some rows, gives the sign of each gap.

The signs are then used on other rows, so the debiased value does not overstate, however
bad the model is; with a good model it finds more. The model has as much detail as the
rows support: one logistic curve, its bend, offsets and bends of classes, single bins.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

_SLOPE_VARIANCE = 0.25  # of the logistic curve, around slope 1
# Newton's method: the most iterations, the farthest that one moves a bin on the logit
# scale, and how far the last one does.
_N_ITERATIONS, _FARTHEST, _NEAR = 30, 2.0, 0.05
# Variances of a bend that are weighed against none, in units of its mean noise.
_VARIANCES = np.logspace(-1.5, 2.5, 13)
_MOST = 4.0  # that a curve is bent, on the logit scale
_TINY = 1e-6


class _Bend(NamedTuple):
    """Polynomials whose coefficients have one variance, which is learnt."""

    offset: bool  # whether there is a degree 0, with a variance of its own
    lowest: int  # degree
    highest: int
    decay: float  # of the variance from degree to degree
    log_odds: float  # of no bend


_COMMON = _Bend(False, lowest=2, highest=3, decay=0.5, log_odds=4.0)
_OF_CLASSES = _Bend(True, lowest=1, highest=4, decay=0.7, log_odds=2.0)


class Curve(NamedTuple):
    """What the bins are by predictions alone, class after class."""

    mean_proba: NDArray[np.float64]  # (n_bins,) neither 0 nor 1
    variance: NDArray[np.float64]  # (n_bins,) mean of p (1 - p)
    head: NDArray[np.intp]  # (n_classes,) first bin of each class


def learn_signs(curve, n_rows, gap):
    """Sign of the gap of each bin, as far as other rows can tell.

    Parameters
    ----------
    curve : Curve
    n_rows, gap : arrays of shape (n_fits, n_bins)
        Effective number of rows that are learnt from, and their signed gaps.

    Returns
    -------
    sign : array of shape (n_fits, n_bins)
    """
    modelled, variance = model_gaps(curve, n_rows, gap)
    rest = np.where(n_rows > 0, gap - modelled, 0)
    excess = (rest**2 / variance * n_rows).sum(axis=1)
    n_seen = np.count_nonzero(n_rows, axis=1)
    share = np.maximum(0, 1 - n_seen / np.maximum(excess, _TINY))
    return np.sign(modelled + share[:, None] * rest)


def model_gaps(curve, n_rows, gap):
    """Gaps by a smooth model, and the variance of an outcome under it."""
    p = curve.mean_proba
    spread = (curve.variance / (p * (1 - p))).clip(_TINY, 1)
    x = logit(p)

    def score(frequency):
        """Score of the logit of each bin, and its information."""
        information = n_rows * spread * frequency * (1 - frequency)
        return n_rows * (p - frequency - gap), information

    logits = _fit_logistic(score, x, len(n_rows))
    for bend, head in ((_COMMON, curve.head[:1]), (_OF_CLASSES, curve.head)):
        logits += _fit_bend(*score(expit(logits)), x, head, bend, len(curve.head))
    frequency = expit(logits).clip(_TINY, 1 - _TINY)
    return p - frequency, frequency * (1 - frequency) * spread


def _fit_logistic(score, x, n_fits):
    """Logits of all bins, linear in those of the predictions, (n_fits, n_bins)."""
    logits, slope = np.tile(x, (n_fits, 1)), np.ones((n_fits, 1))
    for _ in range(_N_ITERATIONS):
        u, information = score(expit(logits))
        u0 = u.sum(axis=1, keepdims=True)
        u1 = (u @ x)[:, None] - (slope - 1) / _SLOPE_VARIANCE
        i0 = information.sum(axis=1, keepdims=True) + _TINY
        i1 = (information @ x)[:, None]
        i2 = (information @ x**2)[:, None] + 1 / _SLOPE_VARIANCE
        determinant = i0 * i2 - i1**2
        rise = (i0 * u1 - i1 * u0) / determinant
        change = (i2 * u0 - i1 * u1) / determinant + rise * x
        farthest = np.abs(change).max(axis=1, keepdims=True)
        part = np.minimum(1, _FARTHEST / np.maximum(farthest, _TINY))
        slope += part * rise
        logits += part * change
        if farthest.max() < _NEAR:
            break
    return logits


def _fit_bend(u, information, x, head, bend, n_classes):
    """Smooth departures on the logit scale, one for each group of bins."""
    group = np.repeat(np.arange(len(head)), np.diff(head, append=len(x)))
    total = np.add.reduceat(information, head, axis=1) + _TINY
    estimates = list(_project(u, information, x, head, group, total, bend.highest))
    bent = np.zeros_like(u)
    if bend.offset:
        # The variance of offsets is that which they have beyond noise.
        basis, z, is_known = estimates[0]
        excess = (z**2).sum(axis=1) - np.count_nonzero(is_known, axis=1)
        variance = np.maximum(excess, 0) / total.sum(axis=1)
        ratio = variance[:, None] * total
        bent += (z * ratio / (1 + ratio))[:, group] * basis
    estimates = estimates[bend.lowest :]
    relative = total / total.mean(axis=1, keepdims=True)
    # Two classes are one problem seen from both sides, which must not count twice.
    n_sides = 2 if n_classes == 2 else 1
    log_likelihood = np.zeros((len(_VARIANCES), len(u)))
    for row, variance in zip(log_likelihood, _VARIANCES, strict=True):
        for degree, (_, z, is_known) in enumerate(estimates):
            ratio = variance * bend.decay**degree * relative
            gain = z**2 * ratio / (1 + ratio) - np.log1p(ratio) * is_known
            row += gain.sum(axis=1) / (2 * n_sides)
    highest = np.maximum(log_likelihood.max(axis=0), bend.log_odds)
    odds = np.exp(log_likelihood - highest)
    odds /= odds.sum(axis=0) + np.exp(bend.log_odds - highest)
    for degree, (basis, z, _) in enumerate(estimates):
        shrunk = np.zeros_like(z)
        for chance, variance in zip(odds, _VARIANCES, strict=True):
            ratio = variance * bend.decay**degree * relative
            shrunk += chance[:, None] * ratio / (1 + ratio)
        bent += (shrunk * z)[:, group] * basis
    return bent.clip(-_MOST, _MOST)


def _project(u, information, x, head, group, total, highest):
    """Coefficients of polynomials, orthonormal in each group, each of variance one.

    Yields for every degree the polynomials, (n_fits, n_bins), the coefficients,
    (n_fits, n_groups), and whether the group has bins enough for them.
    """

    def sums(values):
        return np.add.reduceat(values, head, axis=1)

    n_bins = np.diff(head, append=len(x))
    basis, before, norm = (1 / np.sqrt(total))[:, group], 0.0, 0.0
    is_known = np.ones(total.shape, dtype=bool)
    for degree in range(highest + 1):
        is_known = is_known & (n_bins > degree)
        yield basis, np.where(is_known, sums(u * basis), 0), is_known
        weighted = information * basis
        centre = sums(x * weighted * basis)[:, group]
        following = (x - centre) * basis - norm * before
        square = sums(information * following**2)
        is_known = is_known & (square > _TINY)
        norm = np.sqrt(square)[:, group]
        scale = np.where(is_known, 1 / np.sqrt(np.maximum(square, _TINY)), 0)
        before, basis = basis, following * scale[:, group]
