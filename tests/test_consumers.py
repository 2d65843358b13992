"""The scorers wherever scikit-learn takes ``scoring=``.

The evidence is ``tace_error`` itself, called by hand on what the fitted estimator
predicts: in a loop over the folds, or as a plain function that is handed to the same
consumer in the scorer's place.
"""

import numpy as np
import pandas as pd
import pytest
from by_hand import (
    FOLDS,
    ONE_NUMBER,
    SCORERS,
    WEIGHT,
    X_BINARY,
    Y_BINARY,
    X,
    Y,
    fold_scores,
    logistic_scores,
    plain_figures,
    plain_scorer,
    quiet_logistic_cv,
    split_scores,
)
from estimators import ConstantProba
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFECV, SequentialFeatureSelector
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import brier_score_loss, check_scoring, get_scorer, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    LearningCurveDisplay,
    RandomizedSearchCV,
    ValidationCurveDisplay,
    cross_val_score,
    cross_validate,
    learning_curve,
    permutation_test_score,
    validation_curve,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sklearn_tace import CalibrationScorer, TACEScorer, neg_tace_scorer, tace_error

# Every consumer of one number


def _cross_val_score(scoring):
    return cross_val_score(GaussianNB(), X, Y, cv=FOLDS, scoring=scoring)


def _cross_validate(scoring):
    return cross_validate(
        GaussianNB(), X, Y, cv=FOLDS, scoring=scoring, return_train_score=True
    )["train_score"]


def _grid_search(scoring):
    search = GridSearchCV(
        GaussianNB(), {"var_smoothing": [1e-9, 0.1, 1]}, cv=FOLDS, scoring=scoring
    )
    return np.append(split_scores(search.fit(X, Y)), search.score(X, Y))


def _randomized_search(scoring):
    search = RandomizedSearchCV(
        GaussianNB(),
        {"var_smoothing": np.logspace(-9, 0, 20)},
        n_iter=3,
        cv=FOLDS,
        scoring=scoring,
        random_state=0,
    )
    return np.append(split_scores(search.fit(X, Y)), search.score(X, Y))


def _halving_search(scoring):
    search = HalvingGridSearchCV(
        GaussianNB(),
        {"var_smoothing": [1e-9, 0.01, 0.1, 1]},
        cv=FOLDS,
        factor=2,
        min_resources=30,
        scoring=scoring,
        random_state=0,
    )
    return np.append(split_scores(search.fit(X, Y)), search.score(X, Y))


def _rfecv(scoring):
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    selector = RFECV(tree, cv=FOLDS, scoring=scoring).fit(X, Y)
    return np.append(selector.cv_results_["mean_test_score"], selector.ranking_)


def _sequential_selector(scoring):
    selector = SequentialFeatureSelector(
        GaussianNB(), n_features_to_select=2, cv=FOLDS, scoring=scoring
    )
    return selector.fit(X, Y).get_support()


def _permutation_importance(scoring):
    fitted = GaussianNB().fit(X, Y)
    return permutation_importance(
        fitted, X, Y, n_repeats=3, scoring=scoring, random_state=0
    ).importances


def _weighted_permutation_importance(scoring):
    fitted = GaussianNB().fit(X, Y)
    return permutation_importance(
        fitted,
        X,
        Y,
        n_repeats=3,
        scoring=scoring,
        random_state=0,
        sample_weight=WEIGHT,
    ).importances


def _learning_curve(scoring):
    _, train_scores, test_scores = learning_curve(
        GaussianNB(),
        X,
        Y,
        cv=FOLDS,
        train_sizes=[0.5, 1.0],
        shuffle=True,
        random_state=0,
        scoring=scoring,
    )
    return train_scores, test_scores


def _validation_curve(scoring):
    return validation_curve(
        GaussianNB(),
        X,
        Y,
        param_name="var_smoothing",
        param_range=[1e-9, 0.1, 1],
        cv=FOLDS,
        scoring=scoring,
    )


def _permutation_test(scoring):
    score, permuted, p_value = permutation_test_score(
        GaussianNB(), X, Y, cv=FOLDS, n_permutations=5, random_state=0, scoring=scoring
    )
    return [score, *permuted, p_value]


def _early_stopping(scoring, sample_weight=None):
    model = HistGradientBoostingClassifier(
        max_iter=3,
        max_leaf_nodes=4,
        early_stopping=True,
        scoring=scoring,
        random_state=0,
    )
    labels = np.array(["a", "b", "c"])[Y]
    model.fit(X, labels, sample_weight=sample_weight)
    return np.append(model.train_score_, model.validation_score_)


def _weighted_early_stopping(scoring):
    return _early_stopping(scoring, sample_weight=WEIGHT)


def _logistic_cv(scoring):
    return logistic_scores(
        LogisticRegressionCV(Cs=[0.01, 1], cv=FOLDS, scoring=scoring).fit(X, Y)
    )


def _binary_logistic_cv(scoring):
    return logistic_scores(
        LogisticRegressionCV(Cs=[0.01, 1], cv=FOLDS, scoring=scoring).fit(
            X_BINARY, Y_BINARY
        )
    )


def _two_jobs(scoring):
    search = GridSearchCV(
        GaussianNB(), {"var_smoothing": [0.1, 1]}, cv=FOLDS, scoring=scoring, n_jobs=2
    )
    return split_scores(search.fit(X, Y))


CONSUMERS = [
    _cross_val_score,
    _cross_validate,
    _grid_search,
    _randomized_search,
    _halving_search,
    _rfecv,
    _sequential_selector,
    _permutation_importance,
    _weighted_permutation_importance,
    _learning_curve,
    _validation_curve,
    _permutation_test,
    _early_stopping,
    _weighted_early_stopping,
    _logistic_cv,
    _binary_logistic_cv,
    _two_jobs,
]


@quiet_logistic_cv
@pytest.mark.parametrize("settings", ONE_NUMBER)
@pytest.mark.parametrize("consumer", CONSUMERS, ids=lambda f: f.__name__.strip("_"))
def test_consumer_finds_what_the_metric_gives(consumer, settings):
    scorer, params = ONE_NUMBER[settings]
    found = np.asarray(consumer(scorer))
    assert np.isfinite(found).all()
    assert np.unique(found).size > 1
    assert_array_equal(found, consumer(plain_scorer(**params)))


def test_cross_val_score_by_hand():
    expected = fold_scores(GaussianNB(), plain_scorer(n_bins=5), X, Y)
    found = cross_val_score(GaussianNB(), X, Y, cv=FOLDS, scoring=TACEScorer(n_bins=5))
    assert_array_equal(found, expected)


@pytest.mark.parametrize("scorer", [neg_tace_scorer, CalibrationScorer()])
def test_check_scoring_and_get_scorer_accept_the_scorer(scorer):
    fitted = GaussianNB().fit(X, Y)
    assert check_scoring(fitted, scoring=scorer)(fitted, X, Y) == scorer(fitted, X, Y)
    assert get_scorer(scorer)(fitted, X, Y) == scorer(fitted, X, Y)


def test_check_scoring_accepts_the_scorer_in_a_dict():
    fitted = GaussianNB().fit(X, Y)
    scoring = {"tace": neg_tace_scorer, "accuracy": "accuracy"}
    assert check_scoring(fitted, scoring=scoring)(fitted, X, Y) == {
        "tace": neg_tace_scorer(fitted, X, Y),
        "accuracy": fitted.score(X, Y),
    }


def test_search_scores_new_data_by_its_best_candidate():
    train, test = next(FOLDS.split(X, Y))
    search = GridSearchCV(
        make_pipeline(StandardScaler(), GaussianNB()),
        {"gaussiannb__var_smoothing": [1e-9, 0.1, 1]},
        scoring=neg_tace_scorer,
    ).fit(X[train], Y[train])
    assert search.best_index_ == np.argmax(split_scores(search).mean(axis=1))
    expected = -tace_error(
        Y[test], search.best_estimator_.predict_proba(X[test]), labels=search.classes_
    )
    assert search.score(X[test], Y[test]) == expected


def test_parameters_of_the_scorer_are_set_through_the_search():
    search = GridSearchCV(
        GaussianNB(), {"var_smoothing": [0.1]}, cv=FOLDS, scoring=TACEScorer()
    )
    assert search.get_params()["scoring__n_bins"] == 15
    search.set_params(scoring__n_bins=4, scoring__threshold=0.1).fit(X, Y)
    expected = fold_scores(
        GaussianNB(var_smoothing=0.1), plain_scorer(n_bins=4, threshold=0.1), X, Y
    )
    assert_array_equal(split_scores(search)[0], expected)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_pandas_data_with_string_labels(n_jobs):
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    labels = pd.Series(Y).map({0: "setosa", 1: "versicolor", 2: "virginica"})
    found = cross_val_score(
        GaussianNB(),
        frame,
        labels.astype("category"),
        cv=FOLDS,
        scoring=neg_tace_scorer,
        n_jobs=n_jobs,
    )
    assert_array_equal(found, _cross_val_score(plain_scorer()))


# Beside other scorers, and several figures at once


def test_cross_validate_takes_the_scorer_beside_others():
    scoring = {
        "tace": neg_tace_scorer,
        "ace": TACEScorer(threshold=None),
        "accuracy": "accuracy",
        "log_loss": "neg_log_loss",
    }
    found = cross_validate(GaussianNB(), X, Y, cv=FOLDS, scoring=scoring)
    for name, alone in scoring.items():
        assert_array_equal(found[f"test_{name}"], _cross_val_score(alone))


def test_search_over_a_dict_refits_by_tace():
    scoring = {"accuracy": "accuracy", "tace": neg_tace_scorer}
    grid = {"var_smoothing": [1e-9, 0.1, 1]}
    search = GridSearchCV(GaussianNB(), grid, cv=FOLDS, scoring=scoring, refit="tace")
    alone = GridSearchCV(GaussianNB(), grid, cv=FOLDS, scoring=neg_tace_scorer)
    search.fit(X, Y)
    alone.fit(X, Y)
    assert_array_equal(split_scores(search, "tace"), split_scores(alone))
    assert search.best_params_ == alone.best_params_
    assert search.score(X, Y) == alone.score(X, Y)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_permutation_importance_takes_the_scorer_in_a_dict(weight):
    fitted = GaussianNB().fit(X, Y)
    options = {"n_repeats": 3, "random_state": 0, "sample_weight": weight}
    found = permutation_importance(
        fitted,
        X,
        Y,
        scoring={"tace": neg_tace_scorer, "log_loss": "neg_log_loss"},
        **options,
    )
    alone = permutation_importance(fitted, X, Y, scoring=plain_scorer(), **options)
    assert_array_equal(found["tace"].importances, alone.importances)


def test_permutation_importance_of_an_unused_feature_is_zero():
    constant = np.column_stack([X, np.zeros(len(X))])
    fitted = DecisionTreeClassifier(max_depth=2, random_state=0).fit(constant, Y)
    importance = permutation_importance(
        fitted, constant, Y, scoring=neg_tace_scorer, random_state=0
    )
    used = fitted.feature_importances_ > 0
    assert (importance.importances_mean[used] > 0).all()
    assert (importance.importances[~used] == 0).all()


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["plain", "weighted"])
def test_figures_by_hand(weight):
    fitted = GaussianNB().fit(X, Y)
    found = CalibrationScorer()(fitted, X, Y, sample_weight=weight)
    expected = plain_figures(fitted, X, Y, weight)
    assert list(found) == list(expected)
    assert found["neg_tace"] == expected["neg_tace"]
    assert found["neg_ace"] == expected["neg_ace"]
    assert_allclose(found["neg_log_loss"], expected["neg_log_loss"], rtol=1e-12)


def test_figures_follow_the_parameters():
    fitted = GaussianNB().fit(X, Y)
    found = CalibrationScorer(threshold=0.1, n_bins=4, norm="l2")(fitted, X, Y)
    options = {"n_bins": 4, "norm": "l2"}
    assert found["neg_tace"] == plain_scorer(threshold=0.1, **options)(fitted, X, Y)
    assert found["neg_ace"] == plain_scorer(threshold=None, **options)(fitted, X, Y)


def _figures_cross_validate(scoring):
    found = cross_validate(GaussianNB(), X, Y, cv=FOLDS, scoring=scoring)
    return {
        name.removeprefix("test_"): scores
        for name, scores in found.items()
        if name.startswith("test_")
    }


def _figures_of_search(search):
    search.fit(X, Y)
    mean_score = split_scores(search, "neg_tace").mean(axis=1)
    assert search.best_index_ == np.argmax(mean_score)
    names = ["neg_tace", "neg_ace", "neg_log_loss"]
    return {name: split_scores(search, name) for name in names}


def _figures_grid_search(scoring):
    grid = {"var_smoothing": [1e-9, 0.1, 1]}
    return _figures_of_search(
        GridSearchCV(GaussianNB(), grid, cv=FOLDS, scoring=scoring, refit="neg_tace")
    )


def _figures_randomized_search(scoring):
    return _figures_of_search(
        RandomizedSearchCV(
            GaussianNB(),
            {"var_smoothing": np.logspace(-9, 0, 20)},
            n_iter=3,
            cv=FOLDS,
            scoring=scoring,
            refit="neg_tace",
            random_state=0,
        )
    )


def _figures_permutation_importance(scoring):
    fitted = GaussianNB().fit(X, Y)
    found = permutation_importance(
        fitted,
        X,
        Y,
        n_repeats=3,
        scoring=scoring,
        random_state=0,
        sample_weight=WEIGHT,
    )
    return {name: figure.importances for name, figure in found.items()}


@pytest.mark.parametrize(
    "consumer",
    [
        _figures_cross_validate,
        _figures_grid_search,
        _figures_randomized_search,
        _figures_permutation_importance,
    ],
    ids=lambda f: f.__name__.removeprefix("_figures_"),
)
def test_consumer_of_several_figures_finds_them_all(consumer):
    found = consumer(CalibrationScorer())
    expected = consumer(plain_figures)
    assert found.keys() == expected.keys()
    for name, scores in expected.items():
        assert_allclose(found[name], scores, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("scorer_type", SCORERS)
def test_predict_proba_is_called_once_per_score(scorer_type):
    class CountedNB(GaussianNB):
        n_calls = 0

        def predict_proba(self, X):
            self.n_calls += 1
            return super().predict_proba(X)

    fitted = CountedNB().fit(X, Y)
    scorer_type()(fitted, X, Y)
    assert fitted.n_calls == 1
    scorer_type().score(fitted, X, Y, sample_weight=WEIGHT)
    assert fitted.n_calls == 2
    found = cross_validate(
        CountedNB(), X, Y, scoring=scorer_type(), return_estimator=True
    )
    assert [model.n_calls for model in found["estimator"]] == [1] * 5


def test_binary_value_does_not_depend_on_the_scorers_beside_it():
    labels = np.array(["no", "yes"])[Y_BINARY]
    brier_of_no = make_scorer(
        brier_score_loss,
        greater_is_better=False,
        response_method="predict_proba",
        pos_label="no",
    )
    found = cross_validate(
        GaussianNB(),
        X_BINARY,
        labels,
        cv=FOLDS,
        scoring={"no": brier_of_no, "tace": neg_tace_scorer},
    )
    expected = fold_scores(GaussianNB(), plain_scorer(), X_BINARY, labels)
    assert_array_equal(found["test_tace"], expected)


# Curves and monitors


@pytest.mark.parametrize(
    ("display_type", "options"),
    [
        (LearningCurveDisplay, {"train_sizes": [0.5, 1.0], "shuffle": True}),
        (
            ValidationCurveDisplay,
            {"param_name": "var_smoothing", "param_range": [0.1, 1]},
        ),
    ],
)
def test_curve_display_names_its_axis(display_type, options):
    pytest.importorskip("matplotlib").use("Agg")
    from matplotlib import pyplot

    display = display_type.from_estimator(
        GaussianNB(), X, Y, cv=FOLDS, scoring=neg_tace_scorer, **options
    )
    assert display.ax_.get_ylabel() == "Negative tace"
    assert np.isfinite(display.test_scores).all()
    pyplot.close(display.figure_)


@pytest.mark.parametrize(
    ("scoring", "names"),
    [
        ({"tace": neg_tace_scorer}, ["tace"]),
        (CalibrationScorer(), ["neg_tace", "neg_ace", "neg_log_loss"]),
    ],
    ids=["dict", "figures"],
)
def test_scoring_monitor_logs_the_training_value(scoring, names):
    callback = pytest.importorskip("sklearn.callback", reason="new in scikit-learn 1.9")
    monitor = callback.ScoringMonitor(scoring=scoring)
    fitted = LogisticRegression().set_callbacks(monitor).fit(X, Y)
    logged = monitor.get_logs().data
    assert len(logged) > 1
    (final,) = [entry for entry in logged if entry["task_name"] == "fit"]
    expected = dict(zip(names, plain_figures(fitted, X, Y).values(), strict=False))
    assert {name: final[name] for name in names} == pytest.approx(expected, rel=1e-12)


# The sign


@pytest.mark.parametrize("search_type", [GridSearchCV, RandomizedSearchCV])
@pytest.mark.parametrize("scoring", [neg_tace_scorer, {"tace": neg_tace_scorer}])
def test_search_picks_the_calibrated_constant(search_type, scoring):
    # Three rows of ten are of class 1 in every fold: a constant p is off by |p - 0.3|.
    y = np.tile([0, 0, 1, 0, 0, 1, 0, 0, 1, 0], 20)
    options = {"n_iter": 4, "random_state": 0}
    search = search_type(
        ConstantProba(),
        {"p": [0.1, 0.35, 0.3, 0.9]},
        cv=KFold(5),
        scoring=scoring,
        refit="tace" if isinstance(scoring, dict) else True,
        **(options if search_type is RandomizedSearchCV else {}),
    ).fit(y[:, None], y)
    name = "tace" if isinstance(scoring, dict) else "score"
    tried = np.array(search.cv_results_["param_p"], dtype=float)
    assert_allclose(
        split_scores(search, name),
        np.repeat(-np.abs(tried - 0.3)[:, None], 5, axis=1),
        atol=1e-12,
    )
    assert search.best_params_ == {"p": 0.3}


def test_search_prefers_the_calibrated_classifier():
    # Naive Bayes counts the evidence of a repeated feature as often as it is repeated.
    features = np.tile(X_BINARY, 10)
    candidates = [GaussianNB(), CalibratedClassifierCV(GaussianNB())]
    search = GridSearchCV(
        make_pipeline(StandardScaler(), GaussianNB()),
        {"gaussiannb": candidates},
        scoring=TACEScorer(n_bins=5),
        cv=FOLDS,
    ).fit(features, Y_BINARY)
    assert isinstance(search.best_params_["gaussiannb"], CalibratedClassifierCV)


@quiet_logistic_cv
@pytest.mark.parametrize("consumer", [_logistic_cv, _binary_logistic_cv])
def test_made_scorer_agrees_in_logistic_regression_cv(consumer):
    made = make_scorer(
        tace_error, response_method="predict_proba", greater_is_better=False
    )
    assert_allclose(consumer(neg_tace_scorer), consumer(made), rtol=1e-12)


def test_use_leaves_the_ready_made_scorer_as_it_was():
    before = neg_tace_scorer.get_params()
    _grid_search(neg_tace_scorer)
    assert neg_tace_scorer.get_params() == before
    assert vars(neg_tace_scorer) == vars(TACEScorer())
