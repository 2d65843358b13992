"""The metric."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_tace.scale.arrays import check_and_measure


def tace_error(
    y_true: ArrayLike,
    y_proba: ArrayLike,
    *,
    threshold: float | None = 0.01,
    n_bins: int | str = 15,
    ties: str = "average",
    norm: str = "l1",
    average: str | None = "macro",
    labels: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> float | NDArray[np.float64]:
    """Thresholded adaptive calibration error (TACE).

    For every class, the probabilities above the threshold are sorted and cut into
    bins of equal count. The gap of a bin is the distance between its mean
    probability and the share of its rows that are of the class. The error of a
    class is the mean of its gaps, and TACE the mean of the class errors. 0 is
    best.

    A class without a probability above the threshold has no error. It is left out
    of the mean, not counted as 0.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
        Labels; or an indicator of 0 and 1, one column a class, where several
        classes can be true (multilabel).
    y_proba : {array-like, sparse matrix, dask array} of shape \
            (n_samples, n_classes) or array-like of shape (n_samples,)
        Predicted probabilities. One dimension, or one column, is the probability
        of the second of two labels. Values may leave [0, 1] by 1e-5 and are then
        clipped. Rows that do not sum to one within 1e-3 cause a warning, unless
        ``y_true`` is an indicator; they are not renormalized. What a sparse matrix
        (any format) does not store is 0; its rows may sum to less than one. What was
        cut off, as in a top-k, must not be above the threshold. Chunks of a dask array
        (or data frame) are filtered where they are; ``y_true`` and ``sample_weight``
        may be dask arrays too. If more is above the threshold than scikit-learn's
        ``working_memory`` holds, the value is found in bounded memory, to within 1e-12;
        each chunk is then computed twice, seldom more often.
    threshold : float in [0, 1) or None, default=0.01
        Probabilities at or below it are discarded, compared at the precision
        of ``y_proba``. With None all are kept, which is the adaptive calibration
        error (ACE); sparse ``y_proba`` needs a threshold. 0 discards exact zeros.
    n_bins : int or "auto", default=15
        Bins a class, as many rows in each as :func:`numpy.array_split` gives them.
        A class with fewer rows above the threshold has one bin a row. "auto" gives a
        class with m rows above the threshold the largest number whose cube is at
        most m.
    ties : {"average", "ordinal"}, default="average"
        Where a cut between bins runs through equal probabilities, either these
        share their mean outcome, or they keep the order of their rows, on which
        the value then depends.
    norm : {"l1", "l2", "max"}, default="l1"
        Error of a class: mean of its gaps, root of the mean of their squares, or
        the largest.
    average : {"macro", "weighted"} or None, default="macro"
        Plain mean over classes; mean weighted by the support of the classes (the
        summed weight of all their rows); or the errors of the classes themselves.
    labels : array-like of shape (n_classes,), default=None
        Labels of the columns of ``y_proba``, in their order. Needed where ``y_true``
        lacks a class. By default the sorted labels in ``y_true``, or the names of
        the columns where ``y_proba`` is a data frame, names and labels are
        strings, and every label is a name. For an indicator 0, 1, ....
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows. Only their ratios matter, and rows of weight 0 are
        absent. Weight 2 differs from having the row twice, as equal-count bins do.

    Returns
    -------
    error : float or ndarray of shape (n_classes,)
        Value in [0, 1]. nan where nothing is above the threshold. With
        ``average=None`` the errors of the classes, nan for those left out.

    Raises
    ------
    ValueError
        Where labels, probabilities or weights are missing, out of range, of
        unequal length, or do not fit together; where a parameter is out of range.
        For dask arrays, where ``ties="ordinal"`` or the bins need more than
        ``working_memory``.
    TypeError
        Where a parameter is of the wrong type, or ``y_true`` is sparse.

    Warns
    -----
    UndefinedMetricWarning
        Where the value is nan.
    UserWarning
        Where rows do not sum to one.

    See Also
    --------
    neg_tace_scorer : The metric for ``scoring=``.
    CalibrationReport : The value with its bins, and what the threshold discarded.
    sklearn.calibration.calibration_curve : Bins of a binary classifier.

    Notes
    -----
    With :math:`B_{kb}` the rows in bin b of class k, :math:`p_{ik}` the
    probabilities and :math:`o_{ik}` whether row i is of class k,

    .. math::
        \\mathrm{TACE} = \\frac{1}{K'} \\sum_{k} \\frac{1}{R_k} \\sum_{b=1}^{R_k}
        \\left| \\frac{1}{|B_{kb}|} \\sum_{i \\in B_{kb}} (p_{ik} - o_{ik}) \\right|

    over the :math:`K'` classes with a probability above the threshold, each with
    :math:`R_k` bins. Nixon et al. do not say what to do about ties, remainders,
    weights and classes without evidence; the definition page gives the reasons for
    the choices made here.

    A perfectly calibrated model scores above 0, the more so the fewer rows a bin
    has. Values with different thresholds, bins or numbers of rows do not compare. A
    constant forecast of the base rates above the threshold scores 0: watch log-loss
    beside TACE.

    References
    ----------
    .. [1] J. Nixon, M. W. Dusenberry, L. Zhang, G. Jerfel, D. Tran (2019).
       "Measuring Calibration in Deep Learning". CVPR Workshops.
       `arXiv:1904.01685 <https://arxiv.org/abs/1904.01685>`_

    Examples
    --------
    >>> from sklearn_tace import tace_error
    >>> y_true = ["other", "other", "other", "other", "A", "A"]
    >>> p_a = [0.01, 0.03, 0.10, 0.40, 0.60, 0.80]
    >>> settings = {"labels": ["other", "A"], "threshold": 0.05, "n_bins": 2}
    >>> tace_error(y_true, p_a, **settings, average=None).round(3)
    array([0.057, 0.275])
    >>> round(tace_error(y_true, p_a, **settings), 3)
    0.166
    """
    settings = {
        "threshold": threshold,
        "n_bins": n_bins,
        "ties": ties,
        "norm": norm,
        "average": "macro" if average is None else average,
    }
    measured = check_and_measure(
        y_true,
        y_proba,
        settings,
        labels=labels,
        sample_weight=sample_weight,
        caller=("tace_error", "y_true", "y_proba"),
    )
    return measured.class_errors if average is None else measured.tace
