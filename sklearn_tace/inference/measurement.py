"""The numbers of a report, each computed when it is first read."""

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from sklearn_tace.core.bins import as_table, bins_asked
from sklearn_tace.core.errors import measure
from sklearn_tace.inference.attributes import (
    INFERENCE_SETTINGS,
    INFERRED,
    class_estimates,
    expected_tace,
    infer,
    why_no_intervals,
    why_no_reference,
)
from sklearn_tace.inference.sensitivity import sensitivity_table
from sklearn_tace.inputs.labels import positions
from sklearn_tace.inputs.warnings import warn_if_undefined
from sklearn_tace.scale.arrays import SETTINGS, settings_of
from sklearn_tace.scale.constructors import ConstructorsMixin
from sklearn_tace.scale.fit import FitMixin

ALL_SETTINGS = SETTINGS + INFERENCE_SETTINGS
# Attributes that need no random draws; after partial_fit computed when first read.
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


_BIN_COLUMNS = ("lower", "upper", "count", "weight", "mean_proba", "observed_frequency")


class Measurement(FitMixin, ConstructorsMixin, BaseEstimator):
    """A report that is not shown: its parameters and its numbers."""

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
        seen = self._sorted_rows()
        settings = seen.settings
        seen.demand_batches("sensitivity")
        if expected and (why := why_no_reference(seen)):
            raise ValueError(f"expected=True {why}.")
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
        seen = self._sorted_rows()
        seen.demand_batches("class_intervals")
        if why := why_no_intervals(seen):
            raise ValueError(f"class_intervals {why}.")
        shown = positions(classes, seen.classes).tolist()
        known = vars(self).setdefault("_class_estimates", {})
        missing = [k for k in shown if k not in known]
        if missing:
            known |= class_estimates(seen, self.class_tace_, missing)
        names = ("debiased_tace", "lower", "upper")
        estimates = np.array([known[k] for k in shown]).T
        columns = dict(zip(names, estimates, strict=True))
        return as_table({"class": seen.classes[shown], **columns})

    def __sklearn_is_fitted__(self):
        return "_seen" in vars(self)

    def __getattr__(self, name):
        if name not in MEASURED + INFERRED:
            kind = type(self).__name__
            raise AttributeError(f"{kind!r} object has no attribute {name!r}")
        seen = self._sorted_rows()
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

    def _settings(self):
        return settings_of(self, ALL_SETTINGS)

    def _measure(self, seen):
        """Measure these rows, in the place of others."""
        seen = seen.sorted()
        attributes, measured = _measured(seen)
        warn_if_undefined(measured, seen.settings["threshold"])
        # From here on nothing fails, so that a failed fit changes nothing.
        self._set_rows(seen)
        vars(self).update(attributes)
        return self

    def _set_rows(self, seen):
        """Take these rows, in the place of others."""
        for name in (*MEASURED, *INFERRED, "_class_estimates"):
            vars(self).pop(name, None)
        vars(self).update(classes_=seen.classes.copy(), _seen=seen)

    def _sorted_rows(self):
        """The rows seen, with sorted survivors."""
        check_is_fitted(self)
        self._seen = self._seen.sorted()
        return self._seen

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
            **{name: getattr(measured.bins, name) for name in (*_BIN_COLUMNS, "gap")},
        }),
    }
    return attributes, measured
