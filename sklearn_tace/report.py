"""The report: what was measured, with its text, pictures and files."""

import json
import os
from pathlib import Path

from sklearn_tace.inference.attributes import INFERRED
from sklearn_tace.inference.measurement import ALL_SETTINGS, MEASURED, Measurement
from sklearn_tace.views.mixin import ViewsMixin
from sklearn_tace.views.saved import from_document, to_document


class CalibrationReport(ViewsMixin, Measurement):
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
        ``average="macro"``, and every probability: see :meth:`from_batches`.
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

    def to_dict(self) -> dict:
        """Everything that the report holds, as values that JSON knows.

        Returns
        -------
        document : dict
            ``format_version`` says how to read it. ``parameters``, ``measured`` (the
            fitted attributes by name, tables by column; None for nan) and ``inferred``
            (the same for what has been inferred so far) are for any reader; ``held``
            is what is needed to go on: probabilities above the threshold, each with
            the outcome of its row.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before ``fit``.

        See Also
        --------
        from_dict : Makes the report again.

        Examples
        --------
        >>> from sklearn_tace import CalibrationReport
        >>> report = CalibrationReport(n_bins=1).fit([0, 1, 1], [0.25, 0.5, 0.75])
        >>> document = report.to_dict()
        >>> document["format_version"], document["measured"]["bins_"]["mean_proba"]
        (1, [0.5, 0.5])
        """
        seen = self._sorted_rows()
        measured = {name: getattr(self, name) for name in MEASURED}
        inferred = {name: vars(self)[name] for name in INFERRED if name in vars(self)}
        parameters = {
            name: value
            for name, value in self.get_params().items()
            if name in ALL_SETTINGS
        }
        return to_document(parameters, seen, measured, inferred)

    def to_json(self, path=None) -> str:
        """:meth:`to_dict` as JSON text; unlike a pickle it runs no code when read.

        Parameters
        ----------
        path : str or path-like, default=None
            File to write it to.

        Returns
        -------
        text : str
            The document.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            Before ``fit``.

        See Also
        --------
        from_json : Makes the report again.
        """
        text = json.dumps(self.to_dict(), allow_nan=False)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    @classmethod
    def from_dict(cls, document: dict) -> "CalibrationReport":
        """A report from what :meth:`to_dict` returned, in this or an earlier version.

        Parameters
        ----------
        document : dict
            As :meth:`to_dict` made it.

        Returns
        -------
        report : CalibrationReport
            As it was: it can be merged, and takes further batches. What had been
            inferred is not drawn again.

        Raises
        ------
        ValueError, TypeError
            Where it is no saved report, is damaged, or was written in a format that
            this version does not know.
        """
        parameters, seen, inferred = from_document(document)
        report = cls(**parameters)
        report._set_rows(seen)
        table = inferred.get("expected_bins_")
        if table is not None and len(table) != len(report.bins_):
            raise ValueError("The saved report is damaged: other bins were expected.")
        vars(report).update(inferred)
        return report

    @classmethod
    def from_json(cls, source) -> "CalibrationReport":
        """A report from what :meth:`to_json` made, in this or an earlier version.

        Parameters
        ----------
        source : str or pathlib.Path
            The text, or, as a ``Path``, the file that holds it.

        Returns
        -------
        report : CalibrationReport
            See :meth:`from_dict`.

        Raises
        ------
        ValueError, TypeError
            Where it is not JSON, or as :meth:`from_dict`.

        Examples
        --------
        >>> from sklearn_tace import CalibrationReport
        >>> report = CalibrationReport(n_bins=1).fit([0, 1, 1], [0.25, 0.5, 0.75])
        >>> again = CalibrationReport.from_json(report.to_json())
        >>> again.tace_ == report.tace_, again.n_bins
        (True, 1)
        """
        if isinstance(source, os.PathLike):
            source = Path(source).read_text(encoding="utf-8")
        try:
            document = json.loads(source)
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"This is not JSON: {error}. For a file pass a pathlib.Path."
            ) from error
        return cls.from_dict(document)
