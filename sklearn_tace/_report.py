"""The report: one measurement, kept whole."""

from __future__ import annotations

import inspect
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from sklearn_tace._binning import bins_asked
from sklearn_tace._calibration import (
    SETTINGS,
    as_table,
    check_and_filter,
    measure,
    sensitivity_table,
    settings_of,
    warn_if_undefined,
)
from sklearn_tace._inference import INFERENCE_SETTINGS, INFERRED, infer
from sklearn_tace._response import predicted_proba
from sklearn_tace._summary import summarize
from sklearn_tace._validation import check_parameters
from sklearn_tace._warn import package_of

# Attributes that are computed from what is held; after partial_fit when first read.
_MEASURED = (
    "tace_",
    "class_tace_",
    "n_samples_",
    "support_",
    "n_kept_",
    "dropped_positives_",
    "kept_share_",
    "kept_mass_",
    "excluded_classes_",
    "thin_classes_",
    "tied_classes_",
    "bins_",
)


# Columns of the table of bins.
_OF_BINS = (
    "lower",
    "upper",
    "count",
    "weight",
    "mean_proba",
    "observed_frequency",
    "gap",
)

_SETTINGS = SETTINGS + INFERENCE_SETTINGS


class CalibrationReport(BaseEstimator):
    """TACE with its bins, its classes, and what noise has to do with it.

    ``print(report)`` shows the value with its settings, what chance alone would give,
    an interval, what the threshold discarded, the worst classes, and where the
    evidence is thin.

    Parameters
    ----------
    threshold : float in [0, 1) or None, default=0.01
        Probabilities at or below it are discarded. None keeps all (ACE).
    n_bins : int or "auto", default=15
        Equal-count bins a class; "auto" goes by its survivors.
    ties : {"average", "ordinal"}, default="average"
        Whether equal probabilities that a cut runs through share their outcomes
        or keep the order of their rows.
    norm : {"l1", "l2", "max"}, default="l1"
        From the gaps of a class to its error.
    average : {"macro", "weighted"}, default="macro"
        From class errors to the value: plain, or weighted by support.
    confidence_level : float in (0, 1), default=0.95
        Level of the interval, of quantiles and bands under calibration, and of the
        verdict that is printed.
    n_draws : int, default=1000
        How often labels are drawn from the predictions.
    random_state : int, RandomState, Generator or None, default=0
        Seed of these draws and of the splits that the debiased value needs. The same
        rows in the same order give the same numbers, however they came in batches.

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
        Rows that sum to one within 2e-5 count as one; the probabilities of others
        are rounded to 1e-12.
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
    expected_tace_ : float
        Mean of the value if the labels were drawn from these very predictions, that
        is, of a perfectly calibrated model. This and the following attributes are
        computed when one of them is first read, or the report is printed; all need
        ``average="macro"``.
    expected_tace_quantile_ : float
        Its quantile at the confidence level.
    p_value_ : float
        How often such draws reach ``tace_``, in (0, 1]. Small: the model is not
        calibrated. Large: no more than that these rows cannot tell.
    expected_class_tace_, expected_class_tace_quantile_ : ndarray of shape (n_classes,)
        The same for the errors of the classes, nan for those left out.
    expected_bins_ : structured ndarray of shape (n_filled_bins,)
        The same for the bins, row by row as in ``bins_``: ``class``, ``bin``, mean
        ``gap``, and ``lower`` and ``upper`` end of the central band of the
        observed frequency, to within half a row (1/8192 in bins of many rows). Each
        band is for its bin alone; 5 % of the bins of a calibrated model are outside.
    debiased_tace_ : float
        Estimate of the value on infinitely many new rows, which on average does not
        overstate it (but for being cut off at 0). This and the following attributes
        need ``norm="l1"`` too.
    interval_ : ndarray of shape (2,)
        Interval for the value on infinitely many new rows. ``tace_`` may lie above it:
        noise adds to ``tace_``.
    direction_p_value_ : float
        Test whether bins err the way that other rows say, in [0, 1], by a normal
        approximation. Of smooth errors in many classes it sees more than ``p_value_``.

    See Also
    --------
    tace_error : The value alone, with the meaning of the parameters.
    neg_tace_scorer : The value for ``scoring=``.
    compare : Two reports on the same rows.

    References
    ----------
    .. [1] J. Nixon, M. W. Dusenberry, L. Zhang, G. Jerfel, D. Tran (2019).
       "Measuring Calibration in Deep Learning". CVPR Workshops.
       `arXiv:1904.01685 <https://arxiv.org/abs/1904.01685>`_
    .. [2] J. Bröcker, L. A. Smith (2007). "Increasing the Reliability of Reliability
       Diagrams". Weather and Forecasting 22(3), 651-661. (Labels drawn from the
       predictions.)
    .. [3] E. Berta, S. Braun, D. Holzmüller, F. Bach, M. I. Jordan (2026). "A
       Variational Estimator for L_p Calibration Errors". `arXiv:2602.24230
       <https://arxiv.org/abs/2602.24230>`_ (Signs learnt from other rows.)

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

    Six rows cannot tell this from noise:

    >>> round(report.expected_tace_, 1), report.p_value_ > 0.5
    (0.2, True)
    """

    # Without this, the scores would be routable metadata.
    __metadata_request__fit: ClassVar = {"proba": UNUSED}
    __metadata_request__partial_fit: ClassVar = {"proba": UNUSED}

    def __init__(
        self,
        *,
        threshold: float | None = 0.01,
        n_bins: int | str = 15,
        ties: str = "average",
        norm: str = "l1",
        average: str = "macro",
        confidence_level: float = 0.95,
        n_draws: int = 1000,
        random_state: int | np.random.Generator | np.random.RandomState | None = 0,
    ):
        self.threshold = threshold
        self.n_bins = n_bins
        self.ties = ties
        self.norm = norm
        self.average = average
        self.confidence_level = confidence_level
        self.n_draws = n_draws
        self.random_state = random_state

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
        proba : {array-like, sparse matrix} of shape (n_samples, n_classes) or \
                array-like of shape (n_samples,)
            Predicted probabilities; a 1-D array is that of the second label.
        labels : array-like of shape (n_classes,), default=None
            Labels of the columns of ``proba``, in their order. See
            :func:`tace_error` for the default.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. If they depend on the labels, as those that balance
            classes do, a calibrated model is not calibrated on the weighted rows.

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
        return self._fit(
            y,
            proba,
            labels=labels,
            sample_weight=sample_weight,
            caller=("fit", "y", "proba"),
        )

    def partial_fit(
        self,
        y: ArrayLike,
        proba: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> CalibrationReport:
        """Add a batch of rows to those seen so far.

        Batches of one row or more, in any order, give what one :meth:`fit` of all
        their rows gives (with ``ties="ordinal"``, and for what is drawn at random, of
        the rows in the order of arrival). The batches are not held, only what the
        threshold keeps of them. Attributes are computed when they are read.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            Labels, or an indicator of 0 and 1 (multilabel).
        proba : {array-like, sparse matrix} of shape (n_samples, n_classes) or \
                array-like of shape (n_samples,)
            Predicted probabilities; a 1-D array is that of the second label.
        classes : array-like of shape (n_classes,), default=None
            Labels of the columns of ``proba``, in their order. Needed in the first
            call, unless ``y`` is an indicator; can be left out afterwards.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. Where only some batches have weights, the rows of
            the others weigh 1.

        Returns
        -------
        self : CalibrationReport
            The report, which holds one more batch.

        Raises
        ------
        ValueError
            Where ``classes`` are missing in the first call, or differ from those of
            earlier rows, as names of columns may. Where ``threshold`` or ``ties``
            have been changed since.
        ValueError, TypeError
            As :func:`tace_error`. In all cases the report is left as it was.

        Warns
        -----
        UserWarning
            Where rows do not sum to one.

        Examples
        --------
        >>> from sklearn_tace import CalibrationReport
        >>> report = CalibrationReport(n_bins=2)
        >>> for y, p in [(["a", "b"], [0.1, 0.7]), (["b"], [0.6])]:
        ...     report = report.partial_fit(y, p, classes=["a", "b"])
        >>> report.n_samples_, round(report.tace_, 3)
        (3, 0.225)
        """
        held = vars(self).get("_held")
        if held is None and classes is None and not _is_wide(y):
            raise ValueError("classes must be passed on the first call to partial_fit.")
        batch = check_and_filter(
            y,
            proba,
            settings_of(self, _SETTINGS),
            labels=classes,
            classes=held.classes if held is not None and classes is None else None,
            sample_weight=sample_weight,
            caller=("partial_fit", "y", "proba"),
            is_part=True,
        )
        self._hold(batch if held is None else held.under(batch.settings) + batch)
        return self

    def merge(self, other: CalibrationReport) -> CalibrationReport:
        """Add all rows that another report has seen.

        Reports on parts of the data, made anywhere and merged in any order, give what
        one :meth:`fit` of all rows gives (with ``ties="ordinal"``, and for what is
        drawn at random, of the rows in the order of merging).

        Parameters
        ----------
        other : CalibrationReport
            Fitted with the same classes in the same order, ``threshold`` and
            ``ties``. It is not changed.

        Returns
        -------
        self : CalibrationReport
            The report, which holds the rows of both. An unfitted report takes those
            of the other under its own settings.

        Raises
        ------
        TypeError
            Where ``other`` is no report.
        ValueError
            Where the classes or settings of the reports differ.
        sklearn.exceptions.NotFittedError
            Where ``other`` has not been fitted.

        Examples
        --------
        >>> from sklearn_tace import CalibrationReport
        >>> first = CalibrationReport(n_bins=2).fit([0, 1], [0.1, 0.7])
        >>> second = CalibrationReport(n_bins=2).fit([1], [0.6], labels=[0, 1])
        >>> round(first.merge(second).tace_, 3)
        0.225
        """
        if not isinstance(other, CalibrationReport):
            raise TypeError(
                f"other must be a CalibrationReport, got {type(other).__name__}."
            )
        check_is_fitted(other, msg="other, a %(name)s, is not fitted yet.")
        settings = settings_of(self, _SETTINGS)
        check_parameters(**settings)
        held = other._held.under(settings)
        if self.__sklearn_is_fitted__():
            held = self._held.under(settings) + held
        self._hold(held)
        return self

    def __sklearn_is_fitted__(self):
        return "_held" in vars(self)

    def __getattr__(self, name):
        if name not in _MEASURED + INFERRED:
            kind = type(self).__name__
            raise AttributeError(f"{kind!r} object has no attribute {name!r}")
        held = self._sort()
        if name in INFERRED:
            vars(self).update(infer(held, self.tace_, name))
            return vars(self)[name]
        attributes, measured = _measured(held)
        vars(self).update(attributes)
        warn_if_undefined(measured, held.settings["threshold"])
        return attributes[name]

    def __dir__(self):
        # Without the inference: scikit-learn's HTML display reads all that is listed.
        return [
            *super().__dir__(),
            *(_MEASURED if self.__sklearn_is_fitted__() else ()),
        ]

    def _fit(self, y_true, y_proba, **data):
        held = check_and_filter(
            y_true, y_proba, settings_of(self, _SETTINGS), **data
        ).sorted()
        attributes, measured = _measured(held)
        warn_if_undefined(measured, held.settings["threshold"])
        # From here on nothing fails, so that a failed fit changes nothing.
        self._hold(held)
        vars(self).update(attributes)
        return self

    def _hold(self, held):
        """Hold these rows and no others."""
        for name in _MEASURED + INFERRED:
            vars(self).pop(name, None)
        vars(self).update(classes_=held.classes.copy(), _held=held)

    def _sort(self):
        """Sort what is held, once."""
        check_is_fitted(self)
        self._held = self._held.sorted()
        return self._held

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
        y_proba : {array-like, sparse matrix} of shape (n_samples, n_classes) or \
                array-like of shape (n_samples,)
            Predicted probabilities; a 1-D array is that of the second label.
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
        return cls(**params)._fit(
            y_true,
            y_proba,
            labels=labels,
            sample_weight=sample_weight,
            caller=("from_predictions", "y_true", "y_proba"),
        )

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
        response = predicted_proba(estimator, X, y)
        return cls(**params)._fit(y, sample_weight=sample_weight, **response._asdict())

    def sensitivity(
        self,
        *,
        thresholds: ArrayLike | None = None,
        n_bins: ArrayLike | None = None,
    ) -> np.ndarray:
        """TACE for other thresholds and numbers of bins, from what is held.

        Each value is what a fit with these settings gives, without another pass over
        the probabilities. Two exceptions: batches of different precision or shape are
        compared with the thresholds in one way, and with a single column the
        probability of the first label, 1 - p, may be within round-off of a threshold.

        Parameters
        ----------
        thresholds : array-like of float, default=None
            None of them below the report's own threshold, at the precision of the
            probabilities. By default only that.
        n_bins : array-like of int or "auto", default=None
            Numbers of bins a class. By default only the report's own.

        Returns
        -------
        table : structured ndarray of shape (n_thresholds * n_bins,)
            One row for each threshold with each number of bins, in the order given.
            Fields:

            - ``threshold``, ``n_bins``: the settings; nan for threshold None, 0 for
              "auto" bins;
            - ``tace``: the value, nan where undefined;
            - ``n_kept``: probabilities above the threshold;
            - ``n_excluded``: classes left out, without any of them.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before ``fit``.
        ValueError, TypeError
            Where a setting is not allowed, or a threshold is below the report's own.

        Warns
        -----
        UndefinedMetricWarning
            Where some of the values are nan.

        Examples
        --------
        >>> from sklearn_tace import CalibrationReport
        >>> y, p = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.8, 0.9]
        >>> report = CalibrationReport().fit(y, p)
        >>> table = report.sensitivity(thresholds=[0.1, 0.5], n_bins=[1, 2])
        >>> table["tace"].round(3)
        array([0.02 , 0.108, 0.117, 0.162])
        >>> table["n_kept"]
        array([10, 10,  6,  6])
        """
        held = self._sort()
        settings = held.settings
        thresholds = settings["threshold"] if thresholds is None else thresholds
        n_bins = settings["n_bins"] if n_bins is None else n_bins
        return sensitivity_table(
            held.survivors,
            settings,
            np.atleast_1d(thresholds).tolist(),
            np.atleast_1d(np.asarray(n_bins, dtype=object)).tolist(),
        )

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
        held = self._sort()
        is_weighted = held.survivors.weight is not None
        return summarize(self, is_weighted, **held.settings)

    def __str__(self):
        # scikit-learn's HTML display wants a text too, and must not wait for draws.
        is_display = package_of(inspect.currentframe().f_back) == "sklearn"
        if is_display or not self.__sklearn_is_fitted__():
            return repr(self)
        return self.summary()


def _measured(held):
    """Attributes of a report by name, and the measurement that they come from."""
    classes, survivors, settings = held.classes, held.survivors, held.settings
    measured = measure(survivors, settings)
    account, n_kept = survivors.account, survivors.n_kept
    n_entries = account.n_samples * len(classes)
    is_thin = n_kept < bins_asked(n_kept, settings["n_bins"])
    attributes = {
        "tace_": measured.tace,
        "class_tace_": measured.class_errors,
        "n_samples_": account.n_samples,
        "support_": account.support.copy(),
        "n_kept_": n_kept,
        "dropped_positives_": account.support - survivors.kept_positives,
        "kept_share_": float(n_kept.sum() / n_entries) if n_entries else np.nan,
        "kept_mass_": survivors.kept_mass,
        "excluded_classes_": classes[n_kept == 0],
        "thin_classes_": classes[(n_kept > 0) & is_thin],
        "tied_classes_": classes[measured.bins.tied_classes],
        "bins_": as_table({
            "class": classes[measured.bins.class_index],
            "bin": measured.bins.index,
            **{name: getattr(measured.bins, name) for name in _OF_BINS},
        }),
    }
    return attributes, measured


def _is_wide(y):
    """Whether it has several columns, as an indicator has."""
    try:
        return np.shape(y)[1:] not in {(), (1,)}
    except ValueError:  # rows of different lengths
        return False
