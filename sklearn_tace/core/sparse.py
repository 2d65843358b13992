"""Sparse scores: what is not stored is 0, and so never above a threshold."""

from itertools import pairwise

import numpy as np

from sklearn_tace.core.batch import mass_units, only_odd
from sklearn_tace.core.score_range import bad_value, in_range

# A block and what is computed of it fit a core's cache.
_BLOCK_ENTRIES = 2**17


def visit_sparse(proba, rows, threshold, add, first_row=0):
    """Check all scores and add those above the threshold.

    Parameters
    ----------
    proba : (n, K) sparse array or matrix in CSR format, without duplicates
    rows : (r,) integer array or None
        The rows that are present.
    threshold : float
    add : callable
        Called with scores, their columns and their rows.
    first_row : int
        What errors call the first row.

    Returns
    -------
    odd : (k,) integer array
        Rows that do not sum to one.
    mass : (k,) int64 array
        Their sums, in units of mass.
    """
    present = np.arange(proba.shape[0])
    if rows is not None:
        proba, present = proba[rows], rows
    indptr = proba.indptr
    mass = np.zeros(len(present), dtype=np.int64)
    # Blocks of whole rows.
    fences = np.searchsorted(indptr, np.arange(0, indptr[-1] + 1, _BLOCK_ENTRIES))
    for start, stop in pairwise([*np.unique(fences), len(present)]):
        stored = slice(indptr[start], indptr[stop])
        row = np.repeat(present[start:stop], np.diff(indptr[start : stop + 1]))
        data = proba.data[stored]
        scores = in_range(data)
        if scores is None:
            raise ValueError(bad_value(data, first_row + row, proba))
        sums = np.concatenate([[0], np.cumsum(mass_units(scores))])
        mass[start:stop] = np.diff(sums[indptr[start : stop + 1] - indptr[start]])
        compared = data if data.itemsize > 8 else scores
        kept = np.flatnonzero(compared > data.dtype.type(threshold))
        add(scores[kept], proba.indices[stored][kept], row[kept])
    return only_odd(present, mass)
