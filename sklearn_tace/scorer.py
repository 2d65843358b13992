"""The metric as ``scoring=``."""

import warnings
from typing import ClassVar

import numpy as np
import scipy.sparse
from sklearn.base import BaseEstimator
from sklearn.metrics import log_loss
from sklearn.utils.metadata_routing import UNUSED

from sklearn_tace.inputs.estimators import predicted_proba
from sklearn_tace.inputs.parameters import check_parameters
from sklearn_tace.inputs.predictions import check_predictions, is_dask
from sklearn_tace.scale.arrays import (
    check_and_measure,
    measure_predictions,
    settings_of,
)


class TACEScorer(BaseEstimator):
    """TACE of a classifier, negative, for ``scoring=``.

    It reads ``predict_proba`` and ``classes_`` of the classifier. That is why it
    stays right where ``make_scorer(tace_error, ...)`` cannot: in folds that lack a
    class, or have one the classifier was not fitted on, and for classes in any
    order. A label that the classifier has not seen gets a column of zeros and a
    warning; its rows count against the other classes.

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

    See Also
    --------
    neg_tace_scorer : ``TACEScorer()``, ready for use.
    tace_error : The metric, with the meaning of the parameters.
    CalibrationScorer : Several figures from one ``predict_proba``.

    Notes
    -----
    ``set_score_request`` changes the object in place: to route weights, make a
    ``TACEScorer()`` of your own, and leave ``neg_tace_scorer`` alone.

    References
    ----------
    .. [1] J. Nixon, M. W. Dusenberry, L. Zhang, G. Jerfel, D. Tran (2019).
       "Measuring Calibration in Deep Learning". CVPR Workshops.
       `arXiv:1904.01685 <https://arxiv.org/abs/1904.01685>`_

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn_tace import TACEScorer
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GridSearchCV(
    ...     GaussianNB(), {"var_smoothing": [1e-9, 1.0]}, scoring=TACEScorer(n_bins=5)
    ... ).fit(X, y)
    >>> print(f"{search.best_score_:.2f}")
    -0.06
    """

    # Read by scikit-learn's curve displays for the name of the axis.
    __name__ = "neg_tace"
    # Without this, the estimator would be routable metadata.
    __metadata_request__score: ClassVar = {"estimator": UNUSED}

    def __init__(
        self,
        *,
        threshold: float | None = 0.01,
        n_bins: int | str = 15,
        ties: str = "average",
        norm: str = "l1",
        average: str = "macro",
    ):
        self.threshold = threshold
        self.n_bins = n_bins
        self.ties = ties
        self.norm = norm
        self.average = average

    def __call__(self, estimator, X, y, *, sample_weight=None):
        """Score ``estimator``; see :meth:`score`."""
        return self.score(estimator, X, y, sample_weight=sample_weight)

    def score(self, estimator, X, y, *, sample_weight=None):
        """Minus the TACE of what ``estimator`` predicts for ``X``.

        Parameters
        ----------
        estimator : object
            Fitted classifier with ``predict_proba``.
        X : array-like of shape (n_samples, n_features)
            Test samples.
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            Labels, or an indicator of 0 and 1 (multilabel).
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            Value in [-1, 0], greater is better; nan where nothing is above the
            threshold.

        Raises
        ------
        AttributeError
            Where the estimator has no ``predict_proba``.
        ValueError, TypeError
            As :func:`tace_error`.

        Warns
        -----
        UserWarning
            Where ``y`` has labels that the estimator was not fitted on.
        """
        response = predicted_proba(estimator, X, y)
        measured = check_and_measure(
            y,
            **response._asdict(),
            settings=settings_of(self),
            sample_weight=sample_weight,
        )
        return 0.0 - measured.tace  # 0.0 for a perfect forecast, not -0.0

    def _accept_sample_weight(self):
        # Asked by scikit-learn >= 1.7 where several scorers share weights.
        return True


class CalibrationScorer(TACEScorer):
    """Several figures of a classifier from one ``predict_proba``, for ``scoring=``.

    TACE alone can be won by a useless forecast, so it is best looked at beside
    log-loss. A dict of scorers predicts once for each; this predicts once.

    Parameters
    ----------
    threshold : float in [0, 1) or None, default=0.01
        For ``"neg_tace"``: probabilities at or below it are discarded.
    n_bins : int or "auto", default=15
        Equal-count bins a class; "auto" goes by its survivors.
    ties : {"average", "ordinal"}, default="average"
        Whether equal probabilities that a cut runs through share their outcomes
        or keep the order of their rows.
    norm : {"l1", "l2", "max"}, default="l1"
        From the gaps of a class to its error.
    average : {"macro", "weighted"}, default="macro"
        From class errors to the value: plain, or weighted by support.

    See Also
    --------
    TACEScorer : TACE alone.
    tace_error : The metric, with the meaning of the parameters.

    References
    ----------
    .. [1] J. Nixon, M. W. Dusenberry, L. Zhang, G. Jerfel, D. Tran (2019).
       "Measuring Calibration in Deep Learning". CVPR Workshops.
       `arXiv:1904.01685 <https://arxiv.org/abs/1904.01685>`_

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn_tace import CalibrationScorer
    >>> X, y = load_iris(return_X_y=True)
    >>> search = GridSearchCV(
    ...     GaussianNB(),
    ...     {"var_smoothing": [1e-9, 1.0]},
    ...     scoring=CalibrationScorer(n_bins=5),
    ...     refit="neg_log_loss",
    ... ).fit(X, y)
    >>> search.cv_results_["mean_test_neg_tace"].round(2)
    array([-0.06, -0.18])
    >>> search.best_params_
    {'var_smoothing': 1e-09}
    """

    # A dict of figures has no one name for an axis.
    __name__ = "calibration"

    def score(self, estimator, X, y, *, sample_weight=None):
        """Calibration figures of what ``estimator`` predicts for ``X``.

        Parameters
        ----------
        estimator : object
            Fitted classifier with ``predict_proba``.
        X : array-like of shape (n_samples, n_features)
            Test samples.
        y : array-like of shape (n_samples,) or (n_samples, n_classes)
            Labels, or an indicator of 0 and 1 (multilabel).
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        figures : dict of str to float
            ``"neg_tace"`` and ``"neg_ace"`` (no threshold) in [-1, 0], and
            ``"neg_log_loss"`` in nats, at most 0; greater is better. An indicator
            has no ``"neg_log_loss"``. ``"neg_ace"`` sorts all probabilities, which
            takes time and memory where there are many classes.

        Raises
        ------
        AttributeError, ValueError, TypeError
            As :meth:`TACEScorer.score`.
        """
        response = predicted_proba(estimator, X, y)
        settings = settings_of(self)
        check_parameters(**settings)
        if scipy.sparse.issparse(response.y_proba) or is_dask(response.y_proba):
            raise ValueError(
                "CalibrationScorer needs dense probabilities in memory, for neg_ace "
                "and neg_log_loss. Use TACEScorer."
            )
        given = check_predictions(y, **response._asdict(), sample_weight=sample_weight)
        figures = {"neg_tace": 0.0 - measure_predictions(given, settings).tace}
        with warnings.catch_warnings():
            # Rows that do not sum to one were reported with the first figure.
            warnings.filterwarnings(
                "ignore", "The y_pr.* do not sum to one", UserWarning
            )
            settings["threshold"] = None
            figures["neg_ace"] = 0.0 - measure_predictions(given, settings).tace
            if given.truth.ndim == 1:
                figures["neg_log_loss"] = 0.0 - _log_loss(given)
        return figures


def _log_loss(given):
    """Log-loss of columns in any order, of which some labels may have no row."""
    proba, n_classes = given.proba, len(given.classes)
    if proba.ndim == 1:
        proba = np.column_stack([1 - proba, proba])
    n_classes = max(n_classes, 2)  # log_loss wants two labels
    proba = np.pad(proba.clip(0, 1), [(0, 0), (0, n_classes - proba.shape[1])])
    rows = slice(None) if given.weight is None else given.weight > 0
    return log_loss(
        given.truth[rows],
        proba[rows],
        labels=np.arange(n_classes),
        sample_weight=None if given.weight is None else given.weight[rows],
    )


neg_tace_scorer = TACEScorer()
