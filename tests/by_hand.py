"""Data for the tests of the scorers, and what they should find, computed by hand."""

import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import scale

from sklearn_tace import CalibrationScorer, TACEScorer, neg_tace_scorer, tace_error

SKLEARN = tuple(int(part) for part in sklearn.__version__.split(".")[:2])

X, Y = load_iris(return_X_y=True)
X = scale(X)
WEIGHT = np.random.default_rng(0).uniform(0.1, 3, size=len(Y))
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)
X_BINARY, Y_BINARY = make_classification(
    n_samples=200, weights=[0.8], flip_y=0.1, random_state=0
)

SCORERS = [TACEScorer, CalibrationScorer]
ONE_NUMBER = {
    "default": (neg_tace_scorer, {}),
    "own": (TACEScorer(threshold=0.05, n_bins=5), {"threshold": 0.05, "n_bins": 5}),
}

# The announced changes of LogisticRegressionCV, whose old behaviour is tested.
quiet_logistic_cv = pytest.mark.filterwarnings(
    "ignore:The fitted attributes of LogisticRegressionCV:FutureWarning",
    "ignore:The default value for l1_ratios will change:FutureWarning",
)


def plain_scorer(**params):
    """Return the metric as a plain function of scikit-learn's scorer protocol."""

    def neg_tace(estimator, X, y, sample_weight=None):
        return -tace_error(
            y,
            estimator.predict_proba(X),
            labels=estimator.classes_,
            sample_weight=sample_weight,
            **params,
        )

    return neg_tace


def plain_figures(estimator, X, y, sample_weight=None):
    neg_log_loss = -log_loss(
        y,
        estimator.predict_proba(X),
        labels=estimator.classes_,
        sample_weight=sample_weight,
    )
    return {
        "neg_tace": plain_scorer()(estimator, X, y, sample_weight),
        "neg_ace": plain_scorer(threshold=None)(estimator, X, y, sample_weight),
        "neg_log_loss": neg_log_loss,
    }


def padded_neg_tace(estimator, X, y):
    """Compute the metric on columns padded by hand with zeros for unseen labels."""
    unseen = [label for label in np.unique(y) if label not in estimator.classes_]
    zeros = np.zeros((len(y), len(unseen)))
    return -tace_error(
        y,
        np.hstack([estimator.predict_proba(X), zeros]),
        labels=[*estimator.classes_, *unseen],
    )


def fold_scores(estimator, score, X, y, cv=FOLDS, fit_weight=None, score_weight=None):
    """Compute what cross-validation should find, in a plain loop over the folds."""
    scores = []
    for train, test in cv.split(X, y):
        fit = {} if fit_weight is None else {"sample_weight": fit_weight[train]}
        fitted = clone(estimator).fit(X[train], y[train], **fit)
        weigh = {} if score_weight is None else {"sample_weight": score_weight[test]}
        scores.append(score(fitted, X[test], y[test], **weigh))
    return scores


def split_scores(search, name="score"):
    """Scores of a fitted search, of shape (n_candidates, n_splits)."""
    columns = [
        values
        for key, values in sorted(search.cv_results_.items())
        if key.startswith("split") and key.endswith(f"_test_{name}")
    ]
    return np.column_stack(columns)


def logistic_scores(logistic_cv):
    scores = logistic_cv.scores_
    return np.stack(list(scores.values())) if isinstance(scores, dict) else scores


def through_pickle(scorer):
    return pickle.loads(pickle.dumps(scorer))
