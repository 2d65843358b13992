"""How rows come into a report: at once, in batches, by merging, from a classifier."""

from collections.abc import Callable, Iterable
from typing import Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sklearn_tace.inputs.estimators import predicted_proba
from sklearn_tace.inputs.parameters import check_parameters
from sklearn_tace.inputs.predictions import is_wide
from sklearn_tace.scale.arrays import check_and_filter
from sklearn_tace.scale.batches import filter_batches


class FitMixin:
    """Methods that fit; ``_set_rows`` and ``_measure`` take what they have read."""

    def fit(
        self,
        y: ArrayLike,
        proba: ArrayLike,
        *,
        labels: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Measure the calibration of probabilities; labels come first.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            Labels, or an indicator of 0 and 1 (multilabel).
        proba : {array-like, sparse matrix, dask array} of shape \
                (n_samples, n_classes) or array-like of shape (n_samples,)
            Predicted probabilities; a 1-D array is that of the second label. For dask
            arrays see :func:`tace_error` and, if they are large, :meth:`from_batches`.
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
    ) -> Self:
        """Add a batch of rows to those seen so far.

        Batches of one row or more, in any order, give what one :meth:`fit` of all
        their rows gives (with ``ties="ordinal"`` and for random draws, of the rows in
        that order). Only their survivors are kept. Attributes are computed when read.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            Labels, or an indicator of 0 and 1 (multilabel).
        proba : {array-like, sparse matrix, dask array} of shape \
                (n_samples, n_classes) or array-like of shape (n_samples,)
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
            The report.

        Raises
        ------
        ValueError, TypeError
            As :func:`tace_error`. Where ``classes`` are missing in the first call, or
            differ from those of earlier rows. Where ``threshold`` or ``ties`` have been
            changed since. Where probabilities were summed up: see :meth:`from_batches`.
            The report is then left as it was.

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
        seen = vars(self).get("_seen")
        if seen is None and classes is None and not is_wide(y):
            raise ValueError("classes must be passed on the first call to partial_fit.")
        batch = check_and_filter(
            y,
            proba,
            self._settings(),
            labels=classes,
            classes=seen.classes if seen is not None and classes is None else None,
            sample_weight=sample_weight,
            caller=("partial_fit", "y", "proba"),
            is_part=True,
        )
        self._set_rows(batch if seen is None else seen.under(batch.settings) + batch)
        return self

    def merge(self, other: "FitMixin") -> Self:
        """Add all rows that another report has seen.

        Reports on parts of the data, merged in any order, give what one :meth:`fit` of
        all rows gives (with ``ties="ordinal"`` and for random draws, in that order).

        Parameters
        ----------
        other : CalibrationReport
            Fitted with the same classes in the same order, ``threshold`` and
            ``ties``. It is not changed.

        Returns
        -------
        self : CalibrationReport
            The report with the rows of both. An unfitted report takes those of the
            other, under its own settings.

        Raises
        ------
        TypeError, sklearn.exceptions.NotFittedError
            Where ``other`` is no report, or has not been fitted.
        ValueError
            Where the classes or settings of the reports differ, or the probabilities
            of one were summed up: see :meth:`from_batches`.

        Examples
        --------
        >>> from sklearn_tace import CalibrationReport
        >>> first = CalibrationReport(n_bins=2).fit([0, 1], [0.1, 0.7])
        >>> second = CalibrationReport(n_bins=2).fit([1], [0.6], labels=[0, 1])
        >>> round(first.merge(second).tace_, 3)
        0.225
        """
        if not isinstance(other, FitMixin):
            raise TypeError(
                f"other must be a CalibrationReport, got {type(other).__name__}."
            )
        check_is_fitted(other, msg="other, a %(name)s, is not fitted yet.")
        settings = self._settings()
        check_parameters(**settings)
        seen = other._seen.under(settings)
        if self.__sklearn_is_fitted__():
            seen = self._seen.under(settings) + seen
        self._set_rows(seen)
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
    ) -> Self:
        """Report on labels and predicted probabilities.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or (n_samples, n_classes)
            Labels, or an indicator of 0 and 1 (multilabel).
        y_proba : {array-like, sparse matrix, dask array} of shape \
                (n_samples, n_classes) or array-like of shape (n_samples,)
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
    def from_batches(
        cls,
        batches: Iterable | Callable,
        *,
        labels: ArrayLike | None = None,
        **params,
    ) -> Self:
        """Report on rows in batches that can be read again, in bounded memory.

        As long as the probabilities above the threshold fit in scikit-learn's
        ``working_memory``, 1024 MiB by default, the report is what :meth:`partial_fit`
        makes. Beyond that they are summed up as they come, and batches are read again
        for those next to the cuts between bins. The value, the bins and the counts are
        the same, to 1e-12. What needs every probability is then refused:
        ``ties="ordinal"``, what chance would give and intervals, :meth:`sensitivity`,
        :meth:`partial_fit` and :meth:`merge`.

        Parameters
        ----------
        batches : iterable or callable
            Batches ``(y, proba)`` or ``(y, proba, sample_weight)``, each as for
            :meth:`partial_fit`: a list, another object that can be iterated over again,
            or a function that returns a new iterator each time.
        labels : array-like of shape (n_classes,), default=None
            Labels of the columns of ``proba``, in their order. Not needed for an
            indicator.
        **params : dict
            Parameters of the report.

        Returns
        -------
        report : CalibrationReport
            The fitted report.

        Raises
        ------
        TypeError
            Where ``batches`` can be read only once, such as a generator.
        ValueError, TypeError
            As :meth:`partial_fit`; rows are counted over all batches. Where there are
            no batches, or others when they are read again. Where ``working_memory`` is
            too little for that many bins.

        Warns
        -----
        UndefinedMetricWarning, UserWarning
            As :func:`tace_error`.

        Notes
        -----
        Memory peaks at six times ``working_memory``, besides the batch. Inference,
        which ``print`` starts, takes some 150 bytes for each probability that is kept:
        if they just fit, 16 times ``working_memory``. ``tace_`` does not need it.

        Examples
        --------
        >>> from sklearn_tace import CalibrationReport
        >>> batches = [(["a", "b"], [0.1, 0.7]), (["b"], [0.6])]
        >>> report = CalibrationReport.from_batches(batches, labels=["a", "b"])
        >>> report.n_samples_, round(report.tace_, 3)
        (3, 0.267)
        """
        report = cls(**params)
        settings = report._settings()
        check_parameters(**settings)
        return report._measure(filter_batches(batches, settings, labels))

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X: ArrayLike,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        **params,
    ) -> Self:
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

    def _fit(self, y_true, y_proba, **data):
        settings = self._settings()
        return self._measure(check_and_filter(y_true, y_proba, settings, **data))
