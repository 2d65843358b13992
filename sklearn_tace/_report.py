"""The report: one measurement, kept whole."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from sklearn_tace._calibration import check_and_measure, settings_of
from sklearn_tace._response import predicted_proba
from sklearn_tace._summary import summarize


class CalibrationReport(BaseEstimator):
    """TACE with its bins, its classes and an account of the threshold.

    ``print(report)`` shows the value with its settings, what the threshold
    discarded, the worst classes, and where the evidence is thin.

    Parameters
    ----------
    threshold : float in [0, 1) or None, default=0.01
        Probabilities at or below it are discarded. None keeps all (ACE).
    n_bins : int, default=15
        Equal-count bins a class.
    ties : {"average", "ordinal"}, default="average"
        Whether equal probabilities that a cut runs through share their outcomes
        or keep the order of their rows.
    norm : {"l1", "l2", "max"}, default="l1"
        From the gaps of a class to its error.
    average : {"macro", "weighted"}, default="macro"
        From class errors to the value: plain, or weighted by support.

    Attributes
    ----------
    tace_ : float
        The value, in [0, 1]; equals :func:`tace_error`. nan where undefined.
    class_tace_ : ndarray of shape (n_classes,)
        Errors of the classes, nan for those left out.
    classes_ : ndarray of shape (n_classes,)
        Labels of the columns, in their order.
    n_samples_ : int
        Rows. Here and below, rows of weight 0 are absent, and others count 1.
    support_ : ndarray of shape (n_classes,)
        Rows of each class.
    n_kept_ : ndarray of shape (n_classes,)
        Probabilities above the threshold (survivors), by class.
    dropped_positives_ : ndarray of shape (n_classes,)
        Rows of each class whose probability of that class was discarded.
    kept_share_ : float
        Share of all n_samples * n_classes probabilities that survived.
    kept_mass_ : float
        Share of the sum of all probabilities that survived; nan if the sum is 0.
    excluded_classes_ : ndarray
        Labels of the classes without a survivor; they are left out of ``tace_``.
    thin_classes_ : ndarray
        Labels of the classes with survivors, but fewer than bins.
    tied_classes_ : ndarray
        Labels of the classes in which a cut runs through equal probabilities.
    bins_ : structured ndarray of shape (n_filled_bins,)
        One row a bin, by class and then ascending; no bin is empty, so that a
        thin class has fewer. ``pandas.DataFrame(report.bins_)`` works. Fields:

        - ``class``, ``bin``: label, and number of the bin in its class from 0;
        - ``lower``, ``upper``: least and greatest probability in the bin;
        - ``count``: rows that touch the bin. Rows that a cut runs through (ties,
          weights) touch both of its bins;
        - ``weight``: summed weight of the rows, or of the shares of them, in the
          bin. Without weights a row weighs 1;
        - ``mean_proba``, ``observed_frequency``: weighted means of probability and
          outcome;
        - ``gap``: their distance.

    See Also
    --------
    tace_error : The value alone, with the meaning of the parameters.
    neg_tace_scorer : The value for ``scoring=``.

    References
    ----------
    .. [1] J. Nixon, M. W. Dusenberry, L. Zhang, G. Jerfel, D. Tran (2019).
       "Measuring Calibration in Deep Learning". CVPR Workshops.
       `arXiv:1904.01685 <https://arxiv.org/abs/1904.01685>`_

    Examples
    --------
    >>> from sklearn_tace import CalibrationReport
    >>> y = ["other", "other", "other", "other", "A", "A"]
    >>> p_a = [0.01, 0.03, 0.10, 0.40, 0.60, 0.80]
    >>> report = CalibrationReport(threshold=0.05, n_bins=2)
    >>> report.fit(y, p_a, labels=["other", "A"]).class_tace_.round(3)
    array([0.057, 0.275])
    >>> report.n_kept_
    array([6, 4])
    >>> report.bins_[report.bins_["class"] == "A"]["gap"].round(2)
    array([0.25, 0.3 ])
    """

    # Without this, the scores would be routable metadata.
    __metadata_request__fit: ClassVar = {"proba": UNUSED}

    def __init__(
        self,
        *,
        threshold: float | None = 0.01,
        n_bins: int = 15,
        ties: str = "average",
        norm: str = "l1",
        average: str = "macro",
    ):
        self.threshold = threshold
        self.n_bins = n_bins
        self.ties = ties
        self.norm = norm
        self.average = average

    def fit(
        self,
        y: ArrayLike,
        proba: ArrayLike,
        *,
        labels: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> CalibrationReport:
        """Measure the calibration of probabilities.

        Labels come first: ``y``, then ``proba``.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            Labels, or an indicator of 0 and 1 (multilabel).
        proba : array-like of shape (n_samples, n_classes) or (n_samples,)
            Predicted probabilities; one dimension is that of the second label.
        labels : array-like of shape (n_classes,), default=None
            Labels of the columns of ``proba``, in their order. See
            :func:`tace_error` for the default.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : CalibrationReport
            The fitted report.

        Raises
        ------
        ValueError, TypeError
            As :func:`tace_error`. The report is then left as it was.

        Warns
        -----
        UndefinedMetricWarning, UserWarning
            As :func:`tace_error`.
        """
        measured = check_and_measure(
            y,
            proba,
            settings_of(self),
            labels=labels,
            sample_weight=sample_weight,
            caller=("fit", "y", "proba"),
        )
        return self._keep(measured)

    def _keep(self, measured):
        classes, survivors = measured.classes, measured.survivors
        n_kept = survivors.n_kept
        n_entries = survivors.n_samples * len(classes)
        mass = survivors.total_mass

        # The summary speaks of this fit, whatever set_params does later.
        self._fitted_settings = settings_of(self)
        self._is_weighted = survivors.weight is not None
        self.tace_ = measured.tace
        self.class_tace_ = measured.class_errors
        self.classes_ = classes
        self.n_samples_ = survivors.n_samples
        self.support_ = survivors.support
        self.n_kept_ = n_kept
        self.dropped_positives_ = survivors.support - survivors.kept_positives
        self.kept_share_ = float(n_kept.sum() / n_entries)
        self.kept_mass_ = survivors.kept_mass / mass if mass else float("nan")
        # The sum of all is taken at the precision of the scores.
        if self.kept_mass_ > 1 or self.kept_share_ == 1:
            self.kept_mass_ = 1.0
        self.excluded_classes_ = classes[n_kept == 0]
        self.thin_classes_ = classes[(n_kept > 0) & (n_kept < self.n_bins)]
        self.tied_classes_ = classes[measured.bins.tied_classes]
        self.bins_ = _table(measured.bins, classes)
        return self

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_proba: ArrayLike,
        *,
        labels: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **params,
    ) -> CalibrationReport:
        """Report on labels and predicted probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
            Labels, or an indicator of 0 and 1 (multilabel).
        y_proba : array-like of shape (n_samples, n_classes) or (n_samples,)
            Predicted probabilities; one dimension is that of the second label.
        labels : array-like of shape (n_classes,), default=None
            Labels of the columns of ``y_proba``, in their order.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        **params : dict
            Parameters of the report.

        Returns
        -------
        report : CalibrationReport
            The fitted report.

        Examples
        --------
        >>> from sklearn_tace import CalibrationReport
        >>> report = CalibrationReport.from_predictions([1, 0, 1], [0.9, 0.2, 0.6])
        >>> round(report.tace_, 3)
        0.233
        """
        report = cls(**params)
        measured = check_and_measure(
            y_true,
            y_proba,
            settings_of(report),
            labels=labels,
            sample_weight=sample_weight,
            caller=("from_predictions", "y_true", "y_proba"),
        )
        return report._keep(measured)

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X: ArrayLike,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        **params,
    ) -> CalibrationReport:
        """Report on what a fitted classifier predicts.

        Parameters
        ----------
        estimator : object
            Fitted classifier with ``predict_proba``; a pipeline or a search too.
        X : array-like of shape (n_samples, n_features)
            Test samples.
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            Labels, or an indicator of 0 and 1 (multilabel). A label that the
            estimator was not fitted on gets a column of zeros and a warning.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        **params : dict
            Parameters of the report.

        Returns
        -------
        report : CalibrationReport
            The fitted report.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from sklearn_tace import CalibrationReport
        >>> X, y = load_iris(return_X_y=True)
        >>> classifier = GaussianNB().fit(X[::2], y[::2])
        >>> report = CalibrationReport.from_estimator(
        ...     classifier, X[1::2], y[1::2], n_bins=5
        ... )
        >>> report.n_kept_
        array([25, 33, 30])
        """
        report = cls(**params)
        response = predicted_proba(estimator, X, y)
        measured = check_and_measure(
            y,
            **response._asdict(),
            settings=settings_of(report),
            sample_weight=sample_weight,
        )
        return report._keep(measured)

    def summary(self) -> str:
        """The report in words, as ``print(report)`` shows it.

        Returns
        -------
        text : str
            At most one screen, whatever the number of classes.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before ``fit``.
        """
        check_is_fitted(self)
        return summarize(self, self._is_weighted, **self._fitted_settings)

    def __str__(self):
        return self.summary() if hasattr(self, "tace_") else repr(self)


def _table(bins, classes):
    """The bins as a structured array, one row a bin, with the user's labels."""
    columns = {
        "class": classes[bins.class_index],
        "bin": bins.index,
        "lower": bins.lower,
        "upper": bins.upper,
        "count": bins.count,
        "weight": bins.weight,
        "mean_proba": bins.mean_proba,
        "observed_frequency": bins.observed_frequency,
        "gap": bins.gap,
    }
    dtype = [(name, column.dtype) for name, column in columns.items()]
    table = np.empty(len(bins.gap), dtype=dtype)
    for name, column in columns.items():
        table[name] = column
    return table
