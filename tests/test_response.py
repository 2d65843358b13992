"""Which labels a classifier's columns get: folds, unseen labels, multilabel."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from by_hand import (
    X,
    Y,
    fold_scores,
    logistic_scores,
    padded_neg_tace,
    plain_scorer,
    quiet_logistic_cv,
    split_scores,
)
from estimators import FixedProba
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_multilabel_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sklearn_tace import (
    CalibrationReport,
    CalibrationScorer,
    neg_tace_scorer,
    tace_error,
)

# Folds without a class, classes without a fold


def test_fold_without_a_class_scores_by_hand():
    # Sorted labels in five folds: every fold lacks a class, no training set does.
    cv = KFold(5)
    found = cross_val_score(
        GaussianNB(), X, Y, cv=cv, scoring=neg_tace_scorer, error_score="raise"
    )
    assert np.isfinite(found).all()
    assert_array_equal(found, fold_scores(GaussianNB(), plain_scorer(), X, Y, cv=cv))


@pytest.mark.parametrize("n_splits", [2, 3])
def test_fold_with_an_unseen_class_scores_by_hand(n_splits):
    # Sorted labels in three folds: every model meets only the class it never saw.
    cv = KFold(n_splits)
    with pytest.warns(UserWarning, match="GaussianNB was not fitted on"):
        found = cross_val_score(
            GaussianNB(), X, Y, cv=cv, scoring=neg_tace_scorer, error_score="raise"
        )
    assert np.isfinite(found).all()
    assert_array_equal(found, fold_scores(GaussianNB(), padded_neg_tace, X, Y, cv=cv))


def test_search_ranks_candidates_on_folds_with_an_unseen_class():
    search = GridSearchCV(
        GaussianNB(),
        {"var_smoothing": [1e-9, 1]},
        cv=KFold(3),
        scoring=CalibrationScorer(),
        refit="neg_tace",
        error_score="raise",
    )
    with pytest.warns(UserWarning, match="GaussianNB was not fitted on"):
        search.fit(X, Y)
    for candidate, scores in zip(
        search.cv_results_["params"], split_scores(search, "neg_tace"), strict=True
    ):
        expected = fold_scores(
            GaussianNB(**candidate), padded_neg_tace, X, Y, cv=KFold(3)
        )
        assert_array_equal(scores, expected)
    assert np.isfinite(split_scores(search, "neg_ace")).all()
    assert np.isfinite(split_scores(search, "neg_log_loss")).all()


@quiet_logistic_cv
def test_logistic_regression_cv_on_folds_without_a_class():
    model = LogisticRegressionCV(Cs=[0.01, 1], cv=KFold(5), scoring=neg_tace_scorer)
    found = logistic_scores(model.fit(X, Y))
    assert np.isfinite(found).all()
    # scikit-learn's path walks the Cs with warm starts, hence the tolerance.
    expected = [
        fold_scores(LogisticRegression(C=C), plain_scorer(), X, Y, cv=KFold(5))
        for C in [0.01, 1]
    ]
    assert_allclose(found.reshape(-1, 5, 2)[0], np.transpose(expected), atol=1e-3)


@pytest.mark.parametrize("kind", ["int", "str"])
@pytest.mark.parametrize(
    ("fitted_on", "scored_on"),
    [([0, 1], [0, 1, 2]), ([0, 1], [2]), ([0, 1, 2], [1, 2, 3]), ([1, 2, 3], [0, 3])],
    ids=["one more", "only unseen", "as many but others", "below all"],
)
def test_label_never_fitted_is_a_column_of_zeros(fitted_on, scored_on, kind):
    features, code = make_blobs(n_samples=240, centers=4, cluster_std=4, random_state=0)
    labels = code if kind == "int" else np.array(["d", "a", "c", "b"])[code]
    train, test = np.isin(code, fitted_on), np.isin(code, scored_on)
    fitted = GaussianNB().fit(features[train], labels[train])
    with pytest.warns(UserWarning, match="GaussianNB was not fitted on"):
        found = neg_tace_scorer(fitted, features[test], labels[test])
    assert found == padded_neg_tace(fitted, features[test], labels[test])
    # The same in sorted columns, as scikit-learn would align them.
    union = np.union1d(fitted.classes_, labels[test])
    aligned = np.zeros((test.sum(), len(union)))
    seen = np.searchsorted(union, fitted.classes_)
    aligned[:, seen] = fitted.predict_proba(features[test])
    by_hand = -tace_error(labels[test], aligned, labels=union)
    assert_allclose(found, by_hand, rtol=1e-12)
    # The log-loss too, which reads sorted columns only.
    with pytest.warns(UserWarning, match="GaussianNB was not fitted on"):
        figures = CalibrationScorer()(fitted, features[test], labels[test])
    assert figures["neg_tace"] == found
    by_hand = -log_loss(labels[test], aligned, labels=union)
    assert_allclose(figures["neg_log_loss"], by_hand, rtol=1e-12)


def test_warning_of_an_unseen_label_names_it():
    fitted = GaussianNB().fit(X[Y < 2], Y[Y < 2])
    with pytest.warns(UserWarning, match=r"not fitted on: \[2\]"):
        neg_tace_scorer(fitted, X, Y)


@pytest.mark.parametrize("classes", [["c", "a", "b"], [3, 1, 2]], ids=["str", "int"])
def test_columns_may_stand_in_any_order(classes):
    rng = np.random.default_rng(0)
    proba = rng.dirichlet([1, 2, 3], size=300)
    y = np.array(classes)[[rng.choice(3, p=row) for row in proba]]
    order = np.argsort(classes)
    found = cross_val_score(FixedProba(classes), proba, y, scoring=neg_tace_scorer)
    in_order = cross_val_score(
        FixedProba(np.sort(classes)), proba[:, order], y, scoring=neg_tace_scorer
    )
    assert_allclose(found, in_order, rtol=1e-12)
    shifted = cross_val_score(
        FixedProba(np.sort(classes)), proba, y, scoring=neg_tace_scorer
    )
    assert (found > shifted).all()
    figures = CalibrationScorer()(FixedProba(classes).fit(proba), proba, y)
    by_hand = -log_loss(y, proba[:, order], labels=np.sort(classes))
    assert_allclose(figures["neg_log_loss"], by_hand, rtol=1e-12)


@pytest.mark.parametrize("y", [["c", "a", "b", "a"], ["c", "a", "c", "a"]])
def test_classes_may_be_a_plain_list(y):
    classes = ["c", "a", "b"]
    proba = np.array([[7, 2, 1], [1, 8, 1], [2, 2, 6], [3, 6, 1]]) / 10
    fitted = FixedProba(classes).fit(proba)
    fitted.classes_ = classes
    expected = -tace_error(y, proba, labels=classes)
    assert neg_tace_scorer(fitted, proba, y) == expected


def test_estimator_without_classes_is_read_in_sorted_order():
    model = SimpleNamespace(predict_proba=GaussianNB().fit(X, Y).predict_proba)
    assert neg_tace_scorer(model, X, Y) == -tace_error(Y, model.predict_proba(X))
    with pytest.raises(ValueError, match="different number of classes: 2 vs 3"):
        neg_tace_scorer(model, X[Y < 2], Y[Y < 2])


@pytest.mark.parametrize(
    "model",
    [GaussianNB(), DummyClassifier(), DecisionTreeClassifier()],
    ids=lambda model: type(model).__name__,
)
def test_estimator_that_knows_one_class(model):
    features = np.arange(4.0)[:, None]
    fitted = model.fit(features, ["a"] * 4)
    assert fitted.predict_proba(features).shape == (4, 1)
    assert neg_tace_scorer(fitted, features, ["a"] * 4) == 0
    # Always sure of "a", right in one row of four; "b" has no score above 0.
    y = ["a", "b", "b", "b"]
    with pytest.warns(UserWarning, match="was not fitted on"):
        assert neg_tace_scorer(fitted, features, y) == -0.75
    with pytest.warns(UserWarning, match="was not fitted on"):
        figures = CalibrationScorer()(fitted, features, y)
    assert figures["neg_tace"] == -0.75
    assert figures["neg_ace"] == -0.75
    assert -np.inf < figures["neg_log_loss"] < -10
    figures = CalibrationScorer()(fitted, features, ["a"] * 4)
    assert figures == pytest.approx({"neg_tace": 0, "neg_ace": 0, "neg_log_loss": 0})


def test_binary_column_of_one_dimension():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=200)
    y = np.where(rng.uniform(size=200) < p, "yes", "no")
    fitted = FixedProba(["no", "yes"]).fit(p)
    two_columns = np.column_stack([1 - p, p])
    found = CalibrationScorer()(fitted, p, y)
    expected = CalibrationScorer()(fitted, two_columns, y)
    assert found == pytest.approx(expected, rel=1e-12)
    y[p > 0.8] = "?"
    with pytest.warns(UserWarning, match="was not fitted on"):
        found = neg_tace_scorer(fitted, p, y)
    with pytest.warns(UserWarning, match="was not fitted on"):
        assert found == neg_tace_scorer(fitted, two_columns, y)
    three_columns = np.column_stack([1 - p, p, np.zeros(200)])
    assert found == -tace_error(y, three_columns, labels=["no", "yes", "?"])


# Multilabel targets

X_LABELS, Y_LABELS = make_multilabel_classification(
    n_samples=150, n_classes=4, random_state=0
)
MULTILABEL = {
    "forest": RandomForestClassifier(10, max_depth=4, random_state=0),
    "neighbors": KNeighborsClassifier(10),
    "one vs rest": OneVsRestClassifier(GaussianNB()),
    "multi-output": MultiOutputClassifier(GaussianNB()),
    "chain": ClassifierChain(GaussianNB(), order=[2, 0, 3, 1]),
    "pipeline": make_pipeline(
        StandardScaler(), RandomForestClassifier(5, random_state=0)
    ),
}


def _column_of_ones(estimator, X):
    """Read P(1) of every output, by hand."""
    outputs = estimator.predict_proba(X)
    if not isinstance(outputs, list):
        return outputs
    columns = []
    for seen, proba in zip(estimator.classes_, outputs, strict=True):
        position = list(seen).index(1) if 1 in seen else None
        columns.append(np.zeros(len(X)) if position is None else proba[:, position])
    return np.transpose(columns)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("as_frame", [False, True], ids=["array", "frame"])
@pytest.mark.parametrize("model", MULTILABEL)
def test_indicator_targets_score_by_hand(model, as_frame, weighted):
    y = pd.DataFrame(Y_LABELS, columns=list("abcd")) if as_frame else Y_LABELS
    weight = np.random.default_rng(0).uniform(size=len(y)) if weighted else None
    fitted = clone(MULTILABEL[model]).fit(X_LABELS, Y_LABELS)
    proba = _column_of_ones(fitted, X_LABELS)
    metric = tace_error(Y_LABELS, proba, sample_weight=weight)
    ace = tace_error(Y_LABELS, proba, sample_weight=weight, threshold=None)
    report = CalibrationReport.from_estimator(fitted, X_LABELS, y, sample_weight=weight)
    assert metric > 0
    assert -neg_tace_scorer(fitted, X_LABELS, y, sample_weight=weight) == metric
    assert report.tace_ == metric
    # Log-loss has no meaning for rows that do not sum to one.
    found = CalibrationScorer()(fitted, X_LABELS, y, sample_weight=weight)
    assert found == {"neg_tace": -metric, "neg_ace": -ace}


@pytest.mark.parametrize("model", MULTILABEL)
def test_indicator_targets_in_cross_validation(model):
    cv = KFold(3)
    found = cross_val_score(
        MULTILABEL[model], X_LABELS, Y_LABELS, cv=cv, scoring=neg_tace_scorer
    )
    expected = fold_scores(
        MULTILABEL[model],
        lambda fitted, X, y: -tace_error(y, _column_of_ones(fitted, X)),
        X_LABELS,
        Y_LABELS,
        cv=cv,
    )
    assert_array_equal(found, expected)


@pytest.mark.filterwarnings(
    # OneVsRestClassifier says so in fit.
    "ignore:Label (not )?1 is present in all training examples:UserWarning"
)
@pytest.mark.parametrize("constant", [0, 1])
@pytest.mark.parametrize(
    "model", ["forest", "neighbors", "one vs rest", "multi-output"]
)
def test_output_that_has_seen_one_value_only(model, constant):
    y = Y_LABELS.copy()
    y[:, 1] = constant
    fitted = clone(MULTILABEL[model]).fit(X_LABELS, y)
    proba = _column_of_ones(fitted, X_LABELS)
    assert_array_equal(proba[:, 1], np.full(len(y), constant))
    # Scored on outcomes of both kinds: P(1) is 0 or 1 throughout.
    score = neg_tace_scorer(fitted, X_LABELS, Y_LABELS)
    assert score == -tace_error(Y_LABELS, proba)
    class_errors = tace_error(Y_LABELS, proba, average=None)
    assert np.isnan(class_errors[1]) == (constant == 0)


@pytest.mark.parametrize("kind", ["three values", "strings"])
def test_outputs_other_than_indicators_are_refused(kind):
    y = Y_LABELS[:, :2] + Y_LABELS[:, 2:]
    if kind == "strings":
        y = np.where(y > 0, "yes", "no")
    fitted = RandomForestClassifier(5, random_state=0).fit(X_LABELS, y)
    with pytest.raises(ValueError, match="Multi-output classifiers are not supported"):
        neg_tace_scorer(fitted, X_LABELS, y)


@pytest.mark.parametrize("model", ["forest", "one vs rest"])
def test_sparse_indicator_is_refused_by_its_name(model):
    fitted = clone(MULTILABEL[model]).fit(X_LABELS, Y_LABELS)
    with pytest.raises(TypeError, match="Sparse data was passed"):
        neg_tace_scorer(fitted, X_LABELS, scipy.sparse.csr_array(Y_LABELS))


UNSEEN = ["b", "a", "z"]
P_UNSEEN = np.array([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.1, 0.2, 0.7]])


@pytest.mark.filterwarnings("ignore:y_true contains labels")
def test_unseen_label_leaves_the_checks_of_the_scores_alone():
    fitted = FixedProba(["c", "b", "a"]).fit(P_UNSEEN)
    frame = pd.DataFrame(P_UNSEEN, columns=list("abc"))
    for y in (["b", "a", "c"], UNSEEN):
        with pytest.raises(ValueError, match="the same labels in another order"):
            neg_tace_scorer(fitted, frame, y)


@pytest.mark.parametrize("threshold", [None, 0.01])
@pytest.mark.parametrize("order", ["C", "F"])
def test_unseen_label_by_hand_without_a_threshold_too(threshold, order):
    fitted = FixedProba(["c", "b", "a"]).fit(P_UNSEEN)
    proba = np.asarray(P_UNSEEN, order=order)
    padded = np.column_stack([P_UNSEEN, np.zeros(3)])
    weight = [1, 2, 5]
    expected = CalibrationReport(threshold=threshold).fit(
        UNSEEN, padded, labels=["c", "b", "a", "z"], sample_weight=weight
    )
    with pytest.warns(UserWarning, match=r"not fitted on: \['z'\]"):
        report = CalibrationReport.from_estimator(
            fitted, proba, UNSEEN, threshold=threshold, sample_weight=weight
        )
    for name in ("tace_", "class_tace_", "classes_", "n_kept_", "bins_", "kept_mass_"):
        assert_array_equal(getattr(report, name), getattr(expected, name))


@pytest.mark.parametrize("shape", [(-1,), (-1, 1)])
def test_unseen_label_beside_a_single_column(shape):
    p = np.array([0.95, 0.2, 0.6], dtype=np.float16)
    fitted = FixedProba([0, 1]).fit(p)
    with pytest.warns(UserWarning, match=r"not fitted on: \[2\]"):
        report = CalibrationReport.from_estimator(
            fitted, p.reshape(shape), [1, 0, 2], threshold=0.05
        )
    assert report.n_kept_.tolist() == [2, 3, 0]


def test_figures_do_not_read_the_scores_of_absent_rows():
    proba = np.vstack([P_UNSEEN, np.full(3, np.nan)])
    fitted = FixedProba(["a", "b", "c"]).fit(proba)
    y, weight = ["a", "b", "c", "a"], [1, 1, 1, 0]
    figures = CalibrationScorer()(fitted, proba, y, sample_weight=weight)
    assert figures == CalibrationScorer()(fitted, P_UNSEEN, y[:3])


def test_missing_label_is_no_unseen_one():
    fitted = FixedProba(["a", "b", "c"]).fit(P_UNSEEN)
    with pytest.raises(ValueError, match="y_true contains missing values"):
        neg_tace_scorer(fitted, P_UNSEEN, ["a", float("nan"), "b"])


def test_empty_rows_are_refused_in_words():
    fitted = FixedProba(["a", "b"]).fit(P_UNSEEN)
    with pytest.raises(ValueError, match="Found array with 0 sample"):
        neg_tace_scorer(fitted, np.empty((0, 2)), [])


def test_classes_of_several_outputs_beside_one_target():
    fitted = FixedProba(["a", "b", "c"]).fit(P_UNSEEN)
    fitted.classes_ = [np.array(["c", "b", "a"])]
    with pytest.raises(ValueError, match="Multi-output classifiers are not supported"):
        neg_tace_scorer(fitted, P_UNSEEN, ["a", "b", "c"])
