"""Which classes to show first."""

import numpy as np

from sklearn_tace.core.errors import worst_first
from sklearn_tace.inference.attributes import has_intervals, has_reference

_CANDIDATES = 30  # for each of which an interval takes some 10 ms


def furthest_from_chance(report, n, *, with_intervals=True):
    """Indices of the n classes whose errors are furthest from chance.

    Most of the largest errors are those of classes with few rows. So classes are
    ordered by the distance of the error from what chance gives. With intervals, which
    are slow, those beyond chance come first, in the order of their lower ends.
    """
    seen = report._sorted_rows()
    worst = worst_first(report.class_tace_)
    excess = np.zeros(len(report.classes_))
    if has_reference(seen) and len(worst):
        excess = report.class_tace_ - report.expected_class_tace_quantile_
        worst = worst[np.argsort(-excess[worst], kind="stable")]
    else:
        is_thin = np.isin(report.classes_[worst], report.thin_classes_)
        worst = np.append(worst[~is_thin], worst[is_thin])
    if with_intervals and has_intervals(seen) and len(worst) > n:
        worst = worst[: max(2 * n, _CANDIDATES)]
        table = report.class_intervals(report.classes_[worst])
        is_within = excess[worst] <= 0
        worst = worst[np.lexsort((-table["debiased_tace"], -table["lower"], is_within))]
    return worst[:n]
