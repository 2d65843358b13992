"""The scorers as objects: copies, value, refusals."""

import copy
import functools

import numpy as np
import pytest
from by_hand import FOLDS, SCORERS, WEIGHT, X_BINARY, Y_BINARY, X, Y, through_pickle
from estimators import ConstantProba, FixedProba
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.exceptions import NotFittedError, UndefinedMetricWarning
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    TunedThresholdClassifierCV,
    cross_val_score,
    cross_validate,
    learning_curve,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import estimator_html_repr

from sklearn_tace import (
    CalibrationReport,
    CalibrationScorer,
    TACEScorer,
    neg_tace_scorer,
    tace_error,
)

# The scorer as an object


@pytest.mark.parametrize("scorer_type", SCORERS)
@pytest.mark.parametrize(
    "duplicate",
    [
        clone,
        copy.copy,
        copy.deepcopy,
        through_pickle,
    ],
    ids=["clone", "copy", "deepcopy", "pickle"],
)
def test_copy_of_the_scorer_scores_the_same(duplicate, scorer_type):
    scorer = scorer_type(threshold=0.1, n_bins=4, norm="max")
    twin = duplicate(scorer)
    fitted = GaussianNB().fit(X, Y)
    assert twin is not scorer
    assert twin.get_params() == scorer.get_params()
    assert twin(fitted, X, Y) == scorer(fitted, X, Y)


@pytest.mark.parametrize("scorer_type", SCORERS)
def test_clone_of_a_search_keeps_the_scorer(scorer_type):
    scorer = scorer_type(threshold=0.1, n_bins=4)
    search = GridSearchCV(
        GaussianNB(), {"var_smoothing": [0.1]}, scoring=scorer, refit=False
    )
    twin = clone(search)
    assert isinstance(twin.scoring, scorer_type)
    assert twin.scoring.get_params() == scorer.get_params()


def test_fitted_search_survives_pickling():
    search = GridSearchCV(
        GaussianNB(), {"var_smoothing": [0.1, 1]}, scoring=neg_tace_scorer
    ).fit(X, Y)
    assert through_pickle(search).score(X, Y) == search.score(X, Y)


@pytest.mark.parametrize("scorer_type", SCORERS)
def test_repr_shows_the_parameters_that_were_changed(scorer_type):
    name = scorer_type.__name__
    assert repr(scorer_type()) == f"{name}()"
    assert repr(scorer_type(n_bins=5)) == f"{name}(n_bins=5)"
    search = GridSearchCV(GaussianNB(), {}, scoring=scorer_type(n_bins=5))
    assert f"scoring={name}(n_bins=5)" in " ".join(repr(search).split())
    assert name in estimator_html_repr(scorer_type(n_bins=5))
    assert f"{name}(n_bins=5)" in estimator_html_repr(search)


# One value behind every door

DOORS = {
    "bayes": GaussianNB(),
    "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    "forest": RandomForestClassifier(10, random_state=0),
    "calibrated": CalibratedClassifierCV(GaussianNB(), cv=3),
    "calibrated svm": CalibratedClassifierCV(LinearSVC(), cv=3),
    "voting": VotingClassifier(
        [("bayes", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=2))],
        voting="soft",
    ),
    "search": GridSearchCV(GaussianNB(), {"var_smoothing": [0.1, 1]}),
}


@functools.cache
def _behind_the_door(model, problem):
    features = X.astype(np.float32) if problem == "float32" else X
    labels = {
        "strings": np.array(["c", "a", "b"]),
        "binary": np.array(["other", "versicolor", "other"]),
    }
    y = labels[problem][Y] if problem in labels else Y
    return clone(DOORS[model]).fit(features, y), features, y


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
@pytest.mark.parametrize(
    "params",
    [{}, {"threshold": None, "n_bins": 4, "norm": "l2", "average": "weighted"}],
    ids=["default", "own"],
)
@pytest.mark.parametrize("problem", ["3 classes", "strings", "binary", "float32"])
@pytest.mark.parametrize("model", DOORS)
def test_score_is_the_report_and_the_metric_to_the_last_bit(
    model, problem, params, weight
):
    fitted, features, y = _behind_the_door(model, problem)
    score = TACEScorer(**params)(fitted, features, y, sample_weight=weight)
    report = CalibrationReport.from_estimator(
        fitted, features, y, sample_weight=weight, **params
    )
    metric = tace_error(
        y,
        fitted.predict_proba(features),
        labels=fitted.classes_,
        sample_weight=weight,
        **params,
    )
    figures = CalibrationScorer(**params)(fitted, features, y, sample_weight=weight)
    assert metric > 0
    assert -score == report.tace_ == metric == -figures["neg_tace"]
    assert_array_equal(report.classes_, fitted.classes_)


@pytest.mark.parametrize("problem", ["binary", "3 classes"])
def test_made_scorer_agrees_where_all_classes_are_present(problem):
    features, y = (X_BINARY, Y_BINARY) if problem == "binary" else (X, Y)
    made = make_scorer(
        tace_error, response_method="predict_proba", greater_is_better=False
    )
    scores = [
        cross_val_score(GaussianNB(), features, y, cv=FOLDS, scoring=scoring)
        for scoring in [neg_tace_scorer, made]
    ]
    assert_allclose(*scores, rtol=1e-12)


# Scores without a value


def test_candidate_without_a_value_ranks_last():
    y = np.tile([0, 1], 50)
    search = GridSearchCV(
        ConstantProba(),
        {"p": [0.5, 0.99999]},
        cv=KFold(5),
        scoring=TACEScorer(threshold=0.9999),
    )
    with (
        pytest.warns(UndefinedMetricWarning, match="above threshold=0.9999"),
        pytest.warns(UserWarning, match="test scores are non-finite"),
    ):
        search.fit(y[:, None], y)
    # p = 0.5 is calibrated, but nothing of it is above the threshold.
    calibrated, sure = search.cv_results_["mean_test_score"]
    assert np.isnan(calibrated)
    assert_allclose(sure, -0.49999)
    assert_array_equal(search.cv_results_["rank_test_score"], [2, 1])


def test_undefined_value_is_nan_beside_the_figures_that_are_defined():
    y = np.tile([0, 1], 50)
    scorer = CalibrationScorer(threshold=0.9999)
    with pytest.warns(UndefinedMetricWarning, match="the largest is 0.5"):
        found = scorer(ConstantProba().fit(None, y), y, y)
    expected = {"neg_tace": np.nan, "neg_ace": 0, "neg_log_loss": -np.log(2)}
    assert found == pytest.approx(expected, nan_ok=True)


# What is refused


@pytest.mark.parametrize("scorer_type", SCORERS)
def test_classifier_without_probabilities_is_refused_with_advice(scorer_type):
    message = r"LinearSVC has none .* predict_proba.*CalibratedClassifierCV"
    with pytest.raises(AttributeError, match=message):
        scorer_type()(LinearSVC().fit(X, Y), X, Y)
    with pytest.raises(AttributeError, match=message):
        cross_validate(LinearSVC(), X, Y, scoring=scorer_type(), error_score="raise")


def test_unfitted_estimator_is_reported_as_such():
    with pytest.raises(NotFittedError, match="GaussianNB instance is not fitted yet"):
        neg_tace_scorer(GaussianNB(), X, Y)


def test_decision_threshold_cannot_be_tuned_by_calibration():
    tuned = TunedThresholdClassifierCV(GaussianNB(), scoring=neg_tace_scorer)
    with pytest.raises(AttributeError, match="TACEScorer"):
        tuned.fit(X_BINARY, Y_BINARY)


@pytest.mark.parametrize(
    "consume",
    [
        lambda scoring: cross_val_score(GaussianNB(), X, Y, scoring=scoring),
        lambda scoring: GridSearchCV(GaussianNB(), {}, scoring=scoring).fit(X, Y),
        lambda scoring: learning_curve(GaussianNB(), X, Y, scoring=scoring),
        lambda scoring: permutation_importance(
            GaussianNB().fit(X, Y), X, Y, scoring=scoring
        ),
        get_scorer,
    ],
    ids=["cross_val_score", "search", "curve", "importance", "get_scorer"],
)
def test_scorer_has_no_name_as_a_string(consume):
    with pytest.raises(ValueError, match="neg_tace"):
        consume("neg_tace")


def test_scorer_in_a_list_is_refused():
    with pytest.raises(ValueError, match="Use a dict of score name"):
        cross_validate(GaussianNB(), X, Y, scoring=[neg_tace_scorer])


def test_metric_in_place_of_the_scorer_is_refused():
    with pytest.raises(TypeError, match=r"tace_error.* takes 2 positional arguments"):
        cross_val_score(GaussianNB(), X, Y, scoring=tace_error, error_score="raise")


def test_several_figures_are_refused_where_one_number_is_needed():
    with pytest.raises(ValueError, match="scoring must return a number"):
        cross_val_score(GaussianNB(), X, Y, scoring=CalibrationScorer())


def test_search_over_several_figures_asks_which_to_refit_by():
    search = GridSearchCV(
        GaussianNB(), {"var_smoothing": [0.1, 1]}, scoring=CalibrationScorer()
    )
    with pytest.raises(ValueError, match="refit must be set to a scorer key"):
        search.fit(X, Y)


@pytest.mark.parametrize("scorer_type", SCORERS)
def test_rows_that_miss_a_sum_of_one_are_reported_in_our_words_alone(scorer_type):
    proba = np.full((20, 3), 0.3)
    y = np.tile([0, 1, 2, 0], 5)
    message = r"The y_proba values do not sum to one.*Row 0 sums to 0.9"
    with pytest.warns(UserWarning, match=message) as caught:
        scorer_type()(FixedProba([0, 1, 2]).fit(proba), proba, y)
    assert len(caught) == 1


@pytest.mark.parametrize("scorer_type", SCORERS)
def test_perfect_forecast_scores_plain_zero(scorer_type):
    proba = np.eye(3)
    score = scorer_type()(FixedProba([0, 1, 2]).fit(proba), proba, [0, 1, 2])
    for value in score.values() if isinstance(score, dict) else [score]:
        assert not (value == 0 and np.signbit(value))
