"""A slow TACE in exact arithmetic, written from the definition alone.

It shares no code with the package: plain loops over Python fractions.
"""

from fractions import Fraction
from itertools import pairwise
from math import sqrt


def class_bins(scores, outcomes, weights, n_bins, ties):
    """Bins of one class: (mass, mean score, observed frequency), exact."""
    rows = sorted(
        zip(scores, outcomes, weights, strict=True), key=lambda row: row[0]
    )  # Python's sort is stable
    m = len(rows)
    n_bins = auto_bins(m) if n_bins == "auto" else n_bins
    steps = []
    for score, outcome, weight in rows:
        if ties == "average" and steps and steps[-1][0] == score:
            steps[-1] = (score, steps[-1][1] + weight, steps[-1][2] + weight * outcome)
        else:
            steps.append((score, weight, weight * outcome))
    total = sum(weight for _, weight, _ in steps)

    q, r = divmod(m, n_bins)
    cuts = [Fraction(j * q + min(j, r), m) * total for j in range(n_bins + 1)]
    bins = []
    for low, high in pairwise(cuts):
        if low == high:
            continue
        mass = score_sum = outcome_sum = Fraction(0)
        left = Fraction(0)
        for score, weight, positive in steps:
            right = left + weight
            share = max(Fraction(0), min(high, right) - max(low, left)) / weight
            mass += share * weight
            score_sum += share * weight * score
            outcome_sum += share * positive
            left = right
        bins.append((mass, score_sum / mass, outcome_sum / mass))
    return bins


def auto_bins(m):
    """The largest number whose cube is at most m, and at least 1."""
    b = 1
    while (b + 1) ** 3 <= m:
        b += 1
    return b


def class_error(bins, norm):
    gaps = [abs(mean - frequency) for _, mean, frequency in bins]
    if norm == "l1":
        return float(sum(gaps) / len(gaps))
    if norm == "l2":
        return sqrt(sum(gap**2 for gap in gaps) / len(gaps))
    return float(max(gaps))


def class_errors(
    outcomes, scores, *, threshold, n_bins, ties="average", norm="l1", weights=None
):
    """Errors of the columns; None for a column without a score above the threshold.

    ``outcomes`` and ``scores`` are rows of columns. Scores and threshold must be
    exact: numbers that Fraction takes as they are.
    """
    if weights is None:
        weights = [1] * len(scores)
    errors = []
    for k in range(len(scores[0])):
        rows = [
            (Fraction(score[k]), int(outcome[k]), Fraction(weight))
            for outcome, score, weight in zip(outcomes, scores, weights, strict=True)
            if weight > 0 and (threshold is None or score[k] > threshold)
        ]
        if rows:
            bins = class_bins(*zip(*rows, strict=True), n_bins, ties)
            errors.append(class_error(bins, norm))
        else:
            errors.append(None)
    return errors


def tace(errors, support=None):
    """Mean of the errors that exist, plain or weighted."""
    if support is None:
        support = [1] * len(errors)
    pairs = [(e, s) for e, s in zip(errors, support, strict=True) if e is not None]
    total = sum(s for _, s in pairs)
    return sum(e * s for e, s in pairs) / total if total else None
