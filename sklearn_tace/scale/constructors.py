"""Reports that are made and fitted at once."""

from collections.abc import Callable, Iterable
from typing import Self

from numpy.typing import ArrayLike

from sklearn_tace.inputs.estimators import predicted_proba
from sklearn_tace.inputs.parameters import check_parameters
from sklearn_tace.scale.batches import filter_batches


class ConstructorsMixin:
    """Class methods that make a report of predictions, batches or a classifier."""

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_proba: ArrayLike,
        *,
        labels: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
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
        groups : array-like of shape (n_samples,), default=None
            Label of the group of each row; see :meth:`fit`.
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
            groups=groups,
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
            Batches ``(y, proba)``, ``(y, proba, sample_weight)`` or ``(y, proba,
            sample_weight, groups)``, each as for :meth:`partial_fit`, with None for no
            weights: a list, another object that can be iterated over again, or a
            function that returns a new iterator each time.
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
        groups: ArrayLike | None = None,
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
        groups : array-like of shape (n_samples,), default=None
            Label of the group of each row; see :meth:`fit`.
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
        return cls(**params)._fit(
            y, sample_weight=sample_weight, groups=groups, **response._asdict()
        )
