"""Weights on their way to the scorers, without metadata routing and with it."""

import copy

import numpy as np
import pytest
from by_hand import (
    FOLDS,
    SCORERS,
    SKLEARN,
    WEIGHT,
    X,
    Y,
    fold_scores,
    logistic_scores,
    plain_figures,
    plain_scorer,
    quiet_logistic_cv,
    split_scores,
    through_pickle,
)
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.feature_selection import RFECV
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    validation_curve,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.metadata_routing import get_routing_for_object

from sklearn_tace import CalibrationScorer, TACEScorer, neg_tace_scorer, tace_error

# Weights without metadata routing


@pytest.mark.parametrize("as_dict", [False, True], ids=["alone", "dict"])
def test_search_weights_the_score_where_scikit_learn_passes_weights(as_dict):
    scoring = {"tace": neg_tace_scorer, "accuracy": "accuracy"}
    search = GridSearchCV(
        GaussianNB(),
        {"var_smoothing": [0.1]},
        cv=FOLDS,
        scoring=scoring if as_dict else neg_tace_scorer,
        refit="tace" if as_dict else True,
    ).fit(X, Y, sample_weight=WEIGHT)
    # Before 1.7 a search without routing kept the weights to fit alone.
    expected = fold_scores(
        GaussianNB(var_smoothing=0.1),
        plain_scorer(),
        X,
        Y,
        fit_weight=WEIGHT,
        score_weight=WEIGHT if SKLEARN >= (1, 7) else None,
    )
    found = split_scores(search, "tace" if as_dict else "score")
    assert_array_equal(found[0], expected)


def test_search_weights_all_figures_where_scikit_learn_passes_weights():
    search = GridSearchCV(
        GaussianNB(),
        {"var_smoothing": [0.1]},
        cv=FOLDS,
        scoring=CalibrationScorer(),
        refit="neg_ace",
    ).fit(X, Y, sample_weight=WEIGHT)
    expected = fold_scores(
        GaussianNB(var_smoothing=0.1),
        plain_figures,
        X,
        Y,
        fit_weight=WEIGHT,
        score_weight=WEIGHT if SKLEARN >= (1, 7) else None,
    )
    for name in expected[0]:
        assert_allclose(
            split_scores(search, name)[0],
            [figures[name] for figures in expected],
            rtol=1e-12,
        )


@pytest.mark.parametrize("scorer_type", SCORERS)
def test_request_without_routing_is_refused(scorer_type):
    with pytest.raises(RuntimeError, match="only available when metadata routing"):
        scorer_type().set_score_request(sample_weight=True)


# Weights with metadata routing


def _routed_cross_val_score(scoring):
    return cross_val_score(
        GaussianNB().set_fit_request(sample_weight=True),
        X,
        Y,
        cv=FOLDS,
        scoring=scoring,
        params={"sample_weight": WEIGHT},
    )


def _routed_results(scoring):
    return cross_validate(
        GaussianNB().set_fit_request(sample_weight=True),
        X,
        Y,
        cv=FOLDS,
        scoring=scoring,
        params={"sample_weight": WEIGHT},
    )


def _routed_cross_validate(scoring):
    return _routed_results({"tace": scoring})["test_tace"]


def _routed_grid_search(scoring):
    search = GridSearchCV(
        GaussianNB().set_fit_request(sample_weight=True),
        {"var_smoothing": [0.1, 1]},
        cv=FOLDS,
        scoring=scoring,
    )
    return split_scores(search.fit(X, Y, sample_weight=WEIGHT))


def _routed_grid_search_two_jobs(scoring):
    search = GridSearchCV(
        GaussianNB().set_fit_request(sample_weight=True),
        {"var_smoothing": [0.1, 1]},
        cv=FOLDS,
        scoring=scoring,
        n_jobs=2,
    )
    return split_scores(search.fit(X, Y, sample_weight=WEIGHT))


def _routed_grid_search_dict(scoring):
    search = GridSearchCV(
        GaussianNB().set_fit_request(sample_weight=True),
        {"var_smoothing": [0.1, 1]},
        cv=FOLDS,
        scoring={"tace": scoring},
        refit="tace",
    )
    return split_scores(search.fit(X, Y, sample_weight=WEIGHT), "tace")


def _routed_learning_curve(scoring):
    return learning_curve(
        LogisticRegression().set_fit_request(sample_weight=True),
        X,
        Y,
        cv=FOLDS,
        train_sizes=[0.5, 1.0],
        shuffle=True,
        random_state=0,
        scoring=scoring,
        params={"sample_weight": WEIGHT},
    )[2]


def _routed_validation_curve(scoring):
    return validation_curve(
        GaussianNB().set_fit_request(sample_weight=True),
        X,
        Y,
        param_name="var_smoothing",
        param_range=[0.1, 1],
        cv=FOLDS,
        scoring=scoring,
        params={"sample_weight": WEIGHT},
    )[1]


def _routed_permutation_test(scoring):
    score, permuted, _ = permutation_test_score(
        GaussianNB().set_fit_request(sample_weight=True),
        X,
        Y,
        cv=FOLDS,
        n_permutations=3,
        random_state=0,
        scoring=scoring,
        params={"sample_weight": WEIGHT},
    )
    return [score, *permuted]


def _routed_rfecv(scoring):
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    selector = RFECV(
        tree.set_fit_request(sample_weight=True), cv=FOLDS, scoring=scoring
    )
    return selector.fit(X, Y, sample_weight=WEIGHT).cv_results_["mean_test_score"]


def _routed_logistic_cv(scoring):
    model = LogisticRegressionCV(Cs=[0.01, 1], cv=FOLDS, scoring=scoring)
    return logistic_scores(model.fit(X, Y, sample_weight=WEIGHT))


ROUTERS = [
    _routed_cross_val_score,
    _routed_cross_validate,
    _routed_grid_search,
    _routed_grid_search_two_jobs,
    _routed_grid_search_dict,
    _routed_learning_curve,
    _routed_validation_curve,
    _routed_permutation_test,
    _routed_rfecv,
    _routed_logistic_cv,
]


def _router_name(router):
    return router.__name__.removeprefix("_routed_")


@quiet_logistic_cv
@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("router", ROUTERS, ids=_router_name)
@pytest.mark.parametrize("wanted", [True, False], ids=["weighted", "unweighted"])
def test_routed_weights_reach_the_score_if_requested(router, wanted):
    made = make_scorer(
        tace_error, response_method="predict_proba", greater_is_better=False
    )
    found = router(TACEScorer().set_score_request(sample_weight=wanted))
    expected = router(made.set_score_request(sample_weight=wanted))
    assert np.isfinite(found).all()
    assert_allclose(found, expected, rtol=1e-12)
    other = router(TACEScorer().set_score_request(sample_weight=not wanted))
    assert not np.allclose(found, other)


@quiet_logistic_cv
@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("router", ROUTERS, ids=_router_name)
def test_weights_nobody_requested_are_refused(router):
    # The curves of 1.6 name the estimator in place of the scorer.
    culprit = r"TACEScorer\.score" if SKLEARN >= (1, 7) else "sample_weight"
    with pytest.raises(UnsetMetadataPassedError, match=culprit):
        router(TACEScorer())


@pytest.mark.usefixtures("routing")
def test_routed_weights_by_hand():
    scorer = TACEScorer(n_bins=5).set_score_request(sample_weight=True)
    expected = fold_scores(
        GaussianNB(),
        plain_scorer(n_bins=5),
        X,
        Y,
        fit_weight=WEIGHT,
        score_weight=WEIGHT,
    )
    assert_array_equal(_routed_cross_val_score(scorer), expected)


@pytest.mark.usefixtures("routing")
def test_weights_are_routed_under_an_alias():
    found = cross_val_score(
        GaussianNB(),
        X,
        Y,
        cv=FOLDS,
        scoring=TACEScorer().set_score_request(sample_weight="importance"),
        params={"importance": WEIGHT},
    )
    expected = fold_scores(GaussianNB(), plain_scorer(), X, Y, score_weight=WEIGHT)
    assert_array_equal(found, expected)


@pytest.mark.usefixtures("routing")
def test_each_scorer_of_a_dict_keeps_its_own_request():
    accuracy = make_scorer(accuracy_score)
    scoring = {
        "weighted": TACEScorer().set_score_request(sample_weight=True),
        "unweighted": TACEScorer().set_score_request(sample_weight=False),
        "accuracy": accuracy.set_score_request(sample_weight=False),
    }
    found = _routed_results(scoring)
    weighted = fold_scores(
        GaussianNB(), plain_scorer(), X, Y, fit_weight=WEIGHT, score_weight=WEIGHT
    )
    unweighted = fold_scores(GaussianNB(), plain_scorer(), X, Y, fit_weight=WEIGHT)
    assert_array_equal(found["test_weighted"], weighted)
    assert_array_equal(found["test_unweighted"], unweighted)


@pytest.mark.usefixtures("routing")
def test_routed_weights_reach_all_figures():
    scorer = CalibrationScorer().set_score_request(sample_weight=True)
    found = _routed_results(scorer)
    expected = fold_scores(
        GaussianNB(), plain_figures, X, Y, fit_weight=WEIGHT, score_weight=WEIGHT
    )
    for name in expected[0]:
        assert_allclose(
            found[f"test_{name}"], [figures[name] for figures in expected], rtol=1e-12
        )


@pytest.mark.usefixtures("routing")
def test_scores_need_no_request_where_no_weights_are_passed():
    expected = fold_scores(GaussianNB(), plain_scorer(), X, Y)
    assert_array_equal(
        cross_val_score(GaussianNB(), X, Y, scoring=TACEScorer(), cv=FOLDS), expected
    )


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("scorer_type", SCORERS)
@pytest.mark.parametrize(
    "duplicate",
    [
        clone,
        copy.deepcopy,
        through_pickle,
        lambda scorer: clone(GridSearchCV(GaussianNB(), {}, scoring=scorer)).scoring,
    ],
    ids=["clone", "deepcopy", "pickle", "clone of a search"],
)
def test_copy_of_the_scorer_keeps_its_request(duplicate, scorer_type):
    twin = duplicate(scorer_type().set_score_request(sample_weight="importance"))
    requests = get_routing_for_object(twin)
    assert requests.consumes("score", ["importance", "sample_weight"]) == {"importance"}
    # A new scorer requests nothing: the request belongs to the object.
    fresh = get_routing_for_object(scorer_type())
    assert fresh.consumes("score", ["importance", "sample_weight"]) == set()


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("scorer_type", SCORERS)
def test_estimator_is_not_routable(scorer_type):
    with pytest.raises(TypeError, match=r"Unexpected args: \{'estimator'\}"):
        scorer_type().set_score_request(estimator=True)
    requests = get_routing_for_object(
        scorer_type().set_score_request(sample_weight=True)
    )
    assert requests.consumes("score", ["estimator", "sample_weight"]) == {
        "sample_weight"
    }
