"""What a report measures: rows come in, numbers are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from sklearn_tace.core.bins import bins_asked
from sklearn_tace.inference.attributes import (
    INFERENCE_SETTINGS,
    INFERRED,
    class_estimates,
    expected_tace,
    has_intervals,
    has_reference,
    infer,
)
from sklearn_tace.inputs.estimators import predicted_proba
from sklearn_tace.inputs.labels import positions
from sklearn_tace.inputs.predictions import check_parameters, is_wide
from sklearn_tace.scale.arrays import (
    SETTINGS,
    as_table,
    check_and_filter,
    measure,
    sensitivity_table,
    settings_of,
    warn_if_undefined,
)
from sklearn_tace.scale.batches import gather_batches

# Attributes that are computed from what is seen; after partial_fit when first read.
MEASURED = (
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

ALL_SETTINGS = SETTINGS + INFERENCE_SETTINGS


class Measurement(BaseEstimator):
    """The report without its words, pictures and files."""

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
    ) -> Self:
        """Measure the calibration of probabilities.

        Labels come first: ``y``, then ``proba``.

        Parameters
        ----------
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            Labels, or an indicator of 0 and 1 (multilabel).
        proba : {array-like, sparse matrix, dask array} of shape \
                (n_samples, n_classes) or array-like of shape (n_samples,)
            Predicted probabilities; a 1-D array is that of the second label. See
            :func:`tace_error` for dask arrays. If more of theirs is above the threshold
            than ``working_memory`` holds, the report lacks what :meth:`from_batches`
            lists.
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
        their rows gives (with ``ties="ordinal"``, and for what is drawn at random, of
        the rows in the order of arrival). The batches are not seen, only what the
        threshold keeps of them. Attributes are computed when they are read.

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
            The report, which holds one more batch.

        Raises
        ------
        ValueError
            Where ``classes`` are missing in the first call, or differ from those of
            earlier rows, as names of columns may. Where ``threshold`` or ``ties``
            have been changed since. Where probabilities were summed up: see
            :meth:`from_batches`.
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
        seen = vars(self).get("_seen")
        if seen is None and classes is None and not is_wide(y):
            raise ValueError("classes must be passed on the first call to partial_fit.")
        batch = check_and_filter(
            y,
            proba,
            settings_of(self, ALL_SETTINGS),
            labels=classes,
            classes=seen.classes if seen is not None and classes is None else None,
            sample_weight=sample_weight,
            caller=("partial_fit", "y", "proba"),
            is_part=True,
        )
        self._set_rows(batch if seen is None else seen.under(batch.settings) + batch)
        return self

    def merge(self, other: Measurement) -> Self:
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
            Where the classes or settings of the reports differ, or the probabilities
            of one were summed up: see :meth:`from_batches`.
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
        if not isinstance(other, Measurement):
            raise TypeError(
                f"other must be a CalibrationReport, got {type(other).__name__}."
            )
        check_is_fitted(other, msg="other, a %(name)s, is not fitted yet.")
        settings = settings_of(self, ALL_SETTINGS)
        check_parameters(**settings)
        seen = other._seen.under(settings)
        if self.__sklearn_is_fitted__():
            seen = self._seen.under(settings) + seen
        self._set_rows(seen)
        return self

    def __sklearn_is_fitted__(self):
        return "_seen" in vars(self)

    def __getattr__(self, name):
        if name not in MEASURED + INFERRED:
            kind = type(self).__name__
            raise AttributeError(f"{kind!r} object has no attribute {name!r}")
        seen = self._sort()
        if name in INFERRED:
            vars(self).update(infer(seen, self.tace_, name))
            return vars(self)[name]
        attributes, measured = _measured(seen)
        vars(self).update(attributes)
        warn_if_undefined(measured, seen.settings["threshold"])
        return attributes[name]

    def __dir__(self):
        # Without the inference: scikit-learn's HTML display reads all that is listed.
        return [
            *super().__dir__(),
            *(MEASURED if self.__sklearn_is_fitted__() else ()),
        ]

    def _fit(self, y_true, y_proba, **data):
        settings = settings_of(self, ALL_SETTINGS)
        return self._measure(check_and_filter(y_true, y_proba, settings, **data))

    def _measure(self, seen):
        """Measure these rows and hold no others."""
        seen = seen.sorted()
        attributes, measured = _measured(seen)
        warn_if_undefined(measured, seen.settings["threshold"])
        # From here on nothing fails, so that a failed fit changes nothing.
        self._set_rows(seen)
        vars(self).update(attributes)
        return self

    def _set_rows(self, seen):
        """Hold these rows and no others."""
        for name in (*MEASURED, *INFERRED, "_class_estimates"):
            vars(self).pop(name, None)
        vars(self).update(classes_=seen.classes.copy(), _seen=seen)

    def _sort(self):
        """Sort what is seen, once."""
        check_is_fitted(self)
        self._seen = self._seen.sorted()
        return self._seen

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
        ``working_memory``, 1024 MiB by default, they are seen, and the report is what
        :meth:`partial_fit` makes. Beyond that they are summed up as they come, and
        batches are read a second time (more often where ``working_memory`` is small for
        them) for those next to the cuts between bins. The value, the bins and the
        counts are the same, to 1e-12. What needs every probability is then refused:
        ``ties="ordinal"``, what chance would give and intervals, :meth:`sensitivity`,
        :meth:`partial_fit` and :meth:`merge`.

        Parameters
        ----------
        batches : iterable or callable
            Batches ``(y, proba)`` or ``(y, proba, sample_weight)`` of one row or more:
            a list, another object that can be iterated over again, or a function that
            returns a new iterator each time. What each of them holds is as in
            :meth:`partial_fit`; the rows of one without weights weigh 1.
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
            As :meth:`partial_fit`; rows in messages are counted over all batches.
        ValueError
            Where there are no batches, or others when they are read again. Where
            ``working_memory`` is too little for that many bins.

        Warns
        -----
        UndefinedMetricWarning, UserWarning
            As :func:`tace_error`.

        Notes
        -----
        The peak of memory is up to six times ``working_memory``, besides the batch.
        Inference, which ``print`` starts, takes some 150 bytes for each probability
        that is seen: if they just fit, again some 16 times. ``tace_`` and the other
        attributes that are measured do not need it.

        Examples
        --------
        >>> from sklearn_tace import CalibrationReport
        >>> batches = [(["a", "b"], [0.1, 0.7]), (["b"], [0.6])]
        >>> report = CalibrationReport.from_batches(
        ...     batches, labels=["a", "b"], n_bins=2
        ... )
        >>> report.n_samples_, round(report.tace_, 3)
        (3, 0.225)
        """
        report = cls(**params)
        settings = settings_of(report, ALL_SETTINGS)
        check_parameters(**settings)
        return report._measure(gather_batches(batches, settings, labels))

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

    def sensitivity(
        self,
        *,
        thresholds: ArrayLike | None = None,
        n_bins: ArrayLike | None = None,
        expected: bool = False,
    ) -> np.ndarray:
        """TACE for other thresholds and numbers of bins, from what is seen.

        Each value is what a fit with these settings gives, without another pass over
        the probabilities. Two exceptions: batches of different precision or shape are
        compared with the thresholds in one way, and with a single column the
        probability of the first label, 1 - p, may fall on the other side of a threshold
        by round-off.

        Parameters
        ----------
        thresholds : array-like of float, default=None
            At or above the report's own threshold, at the precision of the
            probabilities. By default only its own.
        n_bins : array-like of int or "auto", default=None
            Numbers of bins a class. By default only the report's own.
        expected : bool, default=False
            Whether to add what a calibrated model would have, from at most 200 draws
            for each row of the table; needs ``average="macro"``.

        Returns
        -------
        table : structured ndarray of shape (n_thresholds * n_bins,)
            One row for each threshold with each number of bins, in the order given.
            Fields:

            - ``threshold``, ``n_bins``: the settings; nan for threshold None, 0 for
              "auto" bins;
            - ``tace``: the value, nan where undefined;
            - ``n_kept``: probabilities above the threshold;
            - ``n_excluded``: classes left out, without any of them;
            - ``expected_tace``, where it is asked for: as ``expected_tace_``.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before ``fit``.
        ValueError, TypeError
            Where a setting is not allowed, or a threshold is below the report's own.
            Where probabilities were summed up: see :meth:`from_batches`.

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
        seen = self._sort()
        settings = seen.settings
        seen.demand_batches("sensitivity")
        if expected and not has_reference(seen):
            raise ValueError(
                f"expected=True is for average='macro', not {settings['average']!r}."
            )
        thresholds = settings["threshold"] if thresholds is None else thresholds
        n_bins = settings["n_bins"] if n_bins is None else n_bins
        return sensitivity_table(
            seen.sorted_rows() if expected else seen.survivors,
            settings,
            np.atleast_1d(thresholds).tolist(),
            np.atleast_1d(np.asarray(n_bins, dtype=object)).tolist(),
            expected_tace if expected else None,
        )

    def class_intervals(self, classes: ArrayLike | None = None) -> np.ndarray:
        """Debiased errors of single classes, with intervals.

        Each is what ``debiased_tace_`` and ``interval_`` would be of a report on the
        column of that class alone, and holds for that class alone: of many, some
        miss. The estimate for a class picked for its large error is biased
        upwards.

        Parameters
        ----------
        classes : array-like of labels, default=None
            Those of the report by default. One takes some 10 ms, or more where rows
            are many.

        Returns
        -------
        table : structured ndarray of shape (n_classes,)
            In the order given, with fields ``class``, ``debiased_tace``, ``lower`` and
            ``upper``; nan for classes left out.

        Raises
        ------
        ValueError
            Where the report has no such class, or ``norm`` is not "l1". Where
            probabilities were summed up: see :meth:`from_batches`.
        sklearn.exceptions.NotFittedError
            Before ``fit``.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_tace import CalibrationReport
        >>> rng = np.random.default_rng(0)
        >>> p = rng.uniform(0.1, 0.9, 2000)
        >>> y = rng.random(2000) < p**2
        >>> table = CalibrationReport().fit(y, p).class_intervals([True])
        >>> table["lower"].round(2), table["upper"].round(2)
        (array([0.18]), array([0.21]))
        """
        seen = self._sort()
        seen.demand_batches("class_intervals")
        if not has_intervals(seen):
            norm = seen.settings["norm"]
            raise ValueError(f"Intervals are for norm='l1', the report has {norm!r}.")
        shown = positions(classes, seen.classes).tolist()
        known = vars(self).setdefault("_class_estimates", {})
        missing = [k for k in shown if k not in known]
        if missing:
            known |= class_estimates(seen, self.class_tace_, missing)
        names = ("debiased_tace", "lower", "upper")
        estimates = np.array([known[k] for k in shown]).T
        columns = dict(zip(names, estimates, strict=True))
        return as_table({"class": seen.classes[shown], **columns})

    def _class_columns(self):
        """The table of classes by column."""
        columns = {"class": self.classes_, "tace": self.class_tace_}
        has_bins = self.n_kept_ > 0
        first = np.flatnonzero(self.bins_["bin"] == 0)
        weight = self.bins_["weight"]
        for name in ("mean_proba", "observed_frequency"):
            columns[name] = np.full(len(self.classes_), np.nan)
            if len(first):
                sums = np.add.reduceat(weight * self.bins_[name], first)
                columns[name][has_bins] = sums / np.add.reduceat(weight, first)
        for name in ("support", "n_kept", "dropped_positives"):
            columns[name] = getattr(self, f"{name}_")
        return columns


def _measured(seen):
    """Attributes of a report by name, and the measurement that they come from."""
    classes, survivors, settings = seen.classes, seen.survivors, seen.settings
    measured = measure(survivors, settings)
    totals, n_kept = survivors.totals, survivors.n_kept
    n_entries = totals.n_samples * len(classes)
    is_thin = n_kept < bins_asked(n_kept, settings["n_bins"])
    attributes = {
        "tace_": measured.tace,
        "class_tace_": measured.class_errors,
        "n_samples_": totals.n_samples,
        "support_": totals.support.copy(),
        "n_kept_": n_kept,
        "dropped_positives_": totals.support - survivors.kept_positives,
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
