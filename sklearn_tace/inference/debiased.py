"""TACE without the bias that noise adds, and an interval."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from sklearn_tace.inference.binned_rows import LEAST
from sklearn_tace.inference.gap_model import learn_signs, model_gaps
from sklearn_tace.inference.reference import draw_frequencies

# Folds and repetitions. With more folds, signs are learnt from more rows. With halves,
# the error of the mean over repetitions is not above that of one: signs of one half and
# gaps of the other go together a little, and the mean over repetitions makes up for it.
_FOR_VALUE = 4, 5
_FOR_ERROR = 2, 10
# Signs of so many bins, and folds of so many survivors, are worked on at a time.
_BLOCK, _FOLD_BLOCK = 2**16, 2**22
# A sign counts where the cuts of other rows may put its bin, in standard errors.
_BLUR = 2.0
_N_DRAWS = 250  # to tell dependence
_FEW = 2.5  # unlikely outcomes, times the square of the normal quantile
_TINY = 1e-9
# Cutting off at 0 leaves a calibrated model so many standard errors on average, as was
# measured with few gaps; and so much, as a share of the bias of the observed value, is
# left as it is.
_CUT_OFF, _LEFT = 0.55, 0.16


class Debiased(NamedTuple):
    """Estimates of the value on new rows."""

    tace: float
    lower: float
    upper: float
    direction_p_value: float


def debias(binned, level, tace, rng):
    """Value on new rows: point estimate, interval, and a test of it.

    The gap of a bin is seen with the sign that other rows give it, which on average
    never overstates it, and is 0 for a calibrated model. The upper end is the lesser of
    two bounds: from unbiased squares of the gaps, and from the value itself.
    """
    z = binned.quantile(level)
    modelled, noise = _model(binned)
    factors = cross_fit(binned, draw_folds(binned.n_units, *_FOR_VALUE, rng))
    seen = np.mean([mean_and_terms(binned, factor)[0] for factor in factors])
    halves = draw_halves(binned.n_units, rng)
    signed, error = _mean_and_error(binned, cross_fit(binned, halves))
    lower = signed - z * error
    value, terms = plug_in(binned)
    influence = influence_of_rare(binned, z)
    upper = value + margin(np.sum(terms**2), influence, z)
    upper = min(upper, _bound_from_squares(binned, modelled, noise, influence, z, rng))
    upper = max(upper, margin(0, influence, z))
    bias = np.sqrt(2 / np.pi) * (binned.bin_weight @ np.sqrt(noise))
    debiased = min(_shrink(max(seen, 0.0), error, bias), tace, 1.0)
    return Debiased(
        tace=float(debiased),
        lower=float(min(max(lower, 0.0), debiased)),
        upper=float(min(max(upper, debiased), 1.0)),
        direction_p_value=float(binned.tail(signed / error)) if error else 1.0,
    )


def influence_of_rare(binned, z):
    """How far one row can move the value, where unlikely outcomes are few.

    Where they are many, either expected or seen, the variance that is seen tells
    enough, and this fades away.
    """
    factor = binned.factor(np.ones((1, len(binned.index))))[0]
    factor = binned.weight * factor[binned.part]
    is_likely = binned.score > 0.5
    unlikely = np.where(is_likely, 1 - binned.score, binned.score)
    unlikely += np.abs(binned.outcome - is_likely)
    squares = np.sum(factor**2 * unlikely)
    n_unlikely = np.sum(factor * unlikely) ** 2 / squares if squares else 0
    n_unlikely /= binned.design
    of_rows = np.bincount(binned.row, factor)
    influence = binned.design * np.sum(of_rows**2) / np.sum(of_rows)
    few = _FEW * z**2
    return few / (few + n_unlikely) * influence


def margin(variance, influence, z):
    """How far a mean of rows may be above what is seen, as by Wilson.

    Where errors are few, the variance of those that were seen says little. That of rare
    errors grows with their mean, by the influence of a row.
    """
    least = z * influence / 2
    return z * (least + np.sqrt(variance + least**2))


def _shrink(value, error, bias):
    """Take back what cutting off at 0 adds, so that a calibrated model shows little.

    With more than some 18 independent gaps that is a small part of the bias of the
    observed value, and nothing is done. With fewer, values within their error are
    shrunk, so that no more than a fifth of the bias remains.
    """
    left = _LEFT * bias / (_CUT_OFF * error) if error else 1
    if left >= 1:
        return value
    # If value / error is standard normal, this leaves just that share of its mean.
    return value * -np.expm1(-left / (1 - left) * (value / error) ** 2 / 2)


def draw_folds(n_rows, n_folds, n_repetitions, rng):
    """The fold of each row, in every repetition."""
    fold = (np.arange(n_rows) * n_folds // n_rows).astype(np.int8)
    return rng.permuted(np.tile(fold, (n_repetitions, 1)), axis=1)


def draw_halves(n_rows, rng):
    return draw_folds(n_rows, *_FOR_ERROR, rng)


def cross_fit(binned, folds):
    """Signs that the other folds of the rows give, as factors of the survivors.

    Yields for every repetition what each survivor counts in the mean of signed gaps.
    """
    n_parts, n_folds = binned.share.shape[1], int(folds.max()) + 1
    at_once = _BLOCK // (len(binned.index) * n_folds)
    at_once = max(1, min(at_once, _FOLD_BLOCK // len(binned.part)))
    for first in range(0, len(folds), at_once):
        slots = [
            binned.part + n_parts * fold[binned.survivor_unit].astype(np.intp)
            for fold in folds[first : first + at_once]
        ]
        learnt_from = zip(
            *(binned.without_folds(slot, n_folds) for slot in slots), strict=True
        )
        signs = learn_signs(binned.curve, *map(np.concatenate, learnt_from))
        signs = _blur(binned, signs).reshape(len(slots), n_folds, -1)
        for slot, of_folds in zip(slots, signs, strict=True):
            yield binned.factor(of_folds).reshape(-1)[slot]


def _mean_and_error(binned, factors):
    """Mean of signed gaps over repetitions, and its standard error."""
    means, spreads, variances = [], [], []
    for factor in factors:
        mean, terms = mean_and_terms(binned, factor)
        means.append(mean)
        spreads.append(np.sum(terms**2))
        variances.append(_calibrated_variance(binned, factor))
    # Where positives are few, what they might have been tells more than what they are.
    return np.mean(means), np.sqrt(max(np.mean(spreads), np.mean(variances)))


def plug_in(binned):
    """The value, and the term of each row in its error."""
    factor = binned.factor(np.sign(binned.gap)[None])[0]
    return mean_and_terms(binned, factor[binned.part])


def mean_and_terms(binned, factor):
    """Sum of factors times distances; what each unit adds to it beyond its class."""
    term = factor * binned.weight * binned.distance
    sums = binned.class_sums(term)
    term -= binned.weight * binned.of_survivors(sums / binned.class_sums(binned.weight))
    n_units = binned.n_units
    inflate = np.sqrt(n_units / max(n_units - 1, 1)) if binned.is_grouped else 1.0
    return sums.sum(), inflate * binned.unit_terms(term)


def _calibrated_variance(binned, factor):
    """Variance of the sum if labels were drawn from the predictions."""
    factor = factor * binned.weight
    mean = factor * binned.score
    if binned.one_label:
        mean = np.bincount(binned.row, mean)
    return binned.design * (np.sum(factor**2 * binned.score) - np.sum(mean**2))


def _blur(binned, signs):
    """Signs averaged over neighbouring bins of their class, (n_fits, n_bins).

    The cuts of other rows lie elsewhere. A sign that changes just where these rows are
    cut would make more of the gaps than bins of the population show.
    """
    n_bins = binned.of_bins(binned.n_bins)
    # Bins of a class have equal mass, up to one row.
    middle = (binned.index + 0.5) / n_bins
    n_eff = binned.class_sums(binned.weight) ** 2 / binned.class_sums(binned.weight**2)
    place = np.sqrt(middle * (1 - middle) / binned.of_bins(n_eff))
    width = _BLUR * place * n_bins
    blurred, weight = signs.copy(), np.ones(len(width))
    for far in range(1, min(n_bins.max(), int(3 * width.max()) + 2)):
        near = np.exp(-((far / width) ** 2) / 2)
        is_above = binned.index + far < n_bins
        is_below = binned.index >= far
        above, below = np.where(is_above, near, 0), np.where(is_below, near, 0)
        blurred[:, :-far] += signs[:, far:] * above[:-far]
        blurred[:, far:] += signs[:, :-far] * below[far:]
        weight += above + below
    return blurred / weight


def _model(binned):
    """Gaps of the bins by the model of all rows, and the variance of noise in them."""
    n_eff = binned.n_eff
    modelled, variance = model_gaps(binned.curve, n_eff[None], binned.gap[None])
    noise = binned.design * binned.mean_square(binned.score * (1 - binned.score))
    return modelled[0], np.maximum(noise, variance[0] / n_eff)


def _bound_from_squares(binned, modelled, noise, influence, z, rng):
    """Upper bound by the inequality of Cauchy and Schwarz.

    The mean size of the gaps is at most the root of A times the mean of their squares
    over expected sizes. The estimate Q of that mean has no bias; its error is taken at
    the bound that is to be found.
    """
    weight, n_eff = binned.bin_weight, binned.n_eff
    rare = min(z**2 * influence / 2, 0.5)
    noise = np.maximum(noise, rare * (1 - rare) / n_eff)
    size = np.sqrt(modelled**2 + noise / 2)
    own, counted = _squares_of_units(binned)
    is_one = counted < 1 + _TINY
    square = (binned.gap**2 - own) / np.where(is_one, 1, 1 - 1 / counted)
    square = np.where(is_one, binned.gap**2, square)
    a, q = weight @ size, max(0.0, weight @ (square / size))
    if binned.one_label:
        p = binned.curve.mean_proba
        shift = logit((p - modelled).clip(LEAST, 1 - LEAST)) - logit(p)
        excess = _excess_of_labels(binned, shift, weight / size, rng)
    else:
        excess = _excess_of_outcomes(binned, weight / size, rng)
    slope = 4 * excess * np.sum(weight**2 * noise)
    constant = 2 * excess * np.sum((weight * noise / size) ** 2)
    # The larger root of (a x - q)**2 = z**2 (slope x + constant).
    half = q / a + z**2 * slope / (2 * a**2)
    root = np.sqrt(max(0.0, half**2 - (q**2 - z**2 * constant) / a**2))
    return a * np.sqrt(half + root)


def _squares_of_units(binned):
    """What the units' own squares add to those of the gaps; units in each bin."""
    if not binned.is_grouped:
        return binned.mean_square(binned.distance**2), binned.n_eff
    distance = binned.unit_sums(binned.weight * binned.distance)
    mass = binned.unit_sums(binned.weight)
    own, of_mass = (sums.power(2).sum(axis=1) for sums in (distance, mass))
    return own / binned.mass**2, binned.mass**2 / of_mass


def _excess_of_labels(binned, shift, weight, rng):
    """How much more a sum of squared gaps varies than if bins were independent.

    Labels of a row exclude each other, and tied rows are in several bins. Labels drawn
    from modelled probabilities tell: those of each bin are shifted, on the logit scale.
    """
    score = binned.score.clip(LEAST, 1 - LEAST)
    proba = expit(logit(score) + (binned.share.T @ shift)[binned.part])
    total = np.bincount(binned.row, proba)
    proba /= np.maximum(total, 1)[binned.row]
    centre = binned.mean(proba)[:, None]
    squares = np.concatenate([
        weight @ (frequency - centre) ** 2
        for frequency in draw_frequencies(binned, proba, _N_DRAWS, rng)
    ])
    squares *= binned.scale**2
    noise = binned.design * binned.mean_square(proba * (1 - proba))
    return _excess(squares, weight, noise)


def _excess_of_outcomes(binned, weight, rng):
    """The same for several labels a row.

    How these go together, only the outcomes tell: rows keep all their distances, times
    one random number.
    """
    squares = np.empty(_N_DRAWS)
    for draw in range(_N_DRAWS):
        factor = rng.standard_normal(binned.n_units)[binned.survivor_unit]
        squares[draw] = weight @ binned.mean(binned.distance * factor) ** 2
    noise = binned.design * binned.mean_square(binned.distance**2)
    return _excess(squares, weight, noise)


def _excess(squares, weight, noise):
    independent = 2 * np.sum((weight * noise) ** 2)
    return max(1.0, np.var(squares) / independent) if independent else 1.0
