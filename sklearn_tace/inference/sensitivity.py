"""TACE for other thresholds and numbers of bins."""

import itertools

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_tace.core.errors import measure
from sklearn_tace.inputs.parameters import check_parameters
from sklearn_tace.inputs.warnings import warn


def sensitivity_table(survivors, settings, thresholds, n_bins, expect=None):
    """One row for each threshold with each number of bins.

    ``expect`` says what chance would give for survivors and settings.
    """
    own, as_score = settings["threshold"], survivors.totals.dtype.type
    grid = list(itertools.product(thresholds, n_bins))
    for threshold, bins in grid:
        check_parameters(threshold=threshold, n_bins=bins)
        if own is not None and (
            threshold is None or as_score(threshold) < as_score(own)
        ):
            raise ValueError(
                f"thresholds must not be below the report's own, {own!r}, which "
                f"discarded what is needed; got {threshold!r}."
            )
    kept = {t: survivors if t == own else survivors.above(t) for t in thresholds}
    rows = []
    for threshold, bins in grid:
        cell = settings | {"threshold": threshold, "n_bins": bins}
        tace = measure(kept[threshold], cell).tace
        n_kept = kept[threshold].n_kept
        bins = 0 if bins == "auto" else min(bins, np.iinfo(int).max)
        row = (threshold, bins, tace, n_kept.sum(), np.sum(n_kept == 0))
        rows.append(row if expect is None else (*row, expect(kept[threshold], cell)))
    names = ("threshold", "n_bins", "tace", "n_kept", "n_excluded", "expected_tace")
    types = (float, int, float, int, int, float)
    dtype = list(zip(names, types, strict=True))
    table = np.array(rows, dtype=dtype[: 5 if expect is None else 6])

    undefined = table["threshold"][np.isnan(table["tace"])]
    if undefined.size:
        warn(
            "TACE is undefined and set to nan for thresholds "
            f"{np.unique(undefined).tolist()}: no probability is above them, or with "
            "average='weighted' no class with such has a row.",
            UndefinedMetricWarning,
        )
    return table
