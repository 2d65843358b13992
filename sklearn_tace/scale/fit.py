"""How rows come into a report: at once, in batches, by merging."""

from typing import Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sklearn_tace.inputs.parameters import check_parameters
from sklearn_tace.inputs.predictions import is_wide
from sklearn_tace.scale.arrays import check_and_filter


class FitMixin:
    """Methods that fit; ``_set_rows`` and ``_measure`` take what they have read."""

    def fit(
        self,
        y: ArrayLike,
        proba: ArrayLike,
        *,
        labels: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
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
        groups : array-like of shape (n_samples,), default=None
            Label of the group of each row, such as its patient or document. Rows of a
            group may depend on each other; what the report says of chance then holds
            for new groups. ``tace_`` does not change.

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
            groups=groups,
            caller=("fit", "y", "proba"),
        )

    def partial_fit(
        self,
        y: ArrayLike,
        proba: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Add a batch of rows to those seen so far.

        Batches in any order give what one :meth:`fit` of all their rows gives (with
        ``ties="ordinal"`` and for random draws, of the rows in that order). Only their
        survivors are kept. Attributes are computed when read.

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
        groups : array-like of shape (n_samples,), default=None
            Label of the group of each row; see :meth:`fit`. A group may go on in later
            batches. All batches must have groups, or none.

        Returns
        -------
        self : CalibrationReport
            The report.

        Raises
        ------
        ValueError, TypeError
            As :func:`tace_error`. Where ``classes`` are missing in the first call, or
            differ from those of earlier rows. Where only some rows have groups, or
            ``threshold`` or ``ties`` have been changed since. Where probabilities were
            summed up: see :meth:`from_batches`.
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
            groups=groups,
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
            Where the classes or settings of the reports differ, where only one has
            groups, or the probabilities of one were summed up: see
            :meth:`from_batches`.

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

    def _fit(self, y_true, y_proba, **data):
        settings = self._settings()
        return self._measure(check_and_filter(y_true, y_proba, settings, **data))
