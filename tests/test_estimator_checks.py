"""scikit-learn's estimator checks on the report, and by hand what they cannot reach.

The checks run twice: on the report as it is, where most of them stop at the first
argument of fit, and through a subclass that takes features first.
"""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_equal
from scipy.special import softmax
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.utils import estimator_html_repr
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import check_is_fitted, validate_data

from sklearn_tace import CalibrationReport

# Checks that call fit(X, y) with features of two or more columns, and what they
# would look at after that. Some exist in newer scikit-learn only.
NOT_REACHED = {
    "check_all_zero_sample_weights_error": "the error for weights that are all zero",
    "check_array_api_input": "features of other array libraries",
    "check_dict_unchanged": "attributes that predict or transform would change",
    "check_dont_overwrite_parameters": "public attributes without a final underscore",
    "check_dtype_object": "features of dtype object",
    "check_estimators_dtypes": "features of every number type",
    "check_estimators_fit_returns_self": "what fit returns",
    "check_estimators_nan_inf": "the error for NaN and infinity in the features",
    "check_estimators_overwrite_params": "parameters that fit would change",
    "check_estimators_pickle": "a pickled fitted estimator",
    "check_f_contiguous_array_estimator": "features in Fortran order",
    "check_fit2d_1sample": "the error for a single row",
    "check_fit2d_predict1d": "the error of predict for a single dimension",
    "check_fit_check_is_fitted": "check_is_fitted before and after fit",
    "check_fit_idempotent": "predictions after a second fit",
    "check_fit_score_takes_y": "the name of the second argument, here proba",
    "check_methods_sample_order_invariance": "predictions of shuffled rows",
    "check_methods_subset_invariance": "predictions of some of the rows",
    "check_n_features_in": "the number of features, here absent",
    "check_n_features_in_after_fitting": "features of another number in predict",
    "check_pipeline_consistency": "results as the last step of a pipeline",
    "check_positive_only_tag_during_fit": "features below zero",
    "check_readonly_memmap_input": "read-only memory maps",
    "check_sample_weights_list": "weights in a list",
    "check_sample_weights_not_an_array": "weights in an array-like of its own kind",
    "check_sample_weights_not_overwritten": "weights that fit would change",
    "check_sample_weights_pandas_series": "weights in a pandas Series",
    "check_sample_weights_shape": "the error for weights of two dimensions",
}
DIRECT_EXCEPTIONS = {
    name: f"fit takes labels first and refuses features there; not reached: {aim}"
    for name, aim in NOT_REACHED.items()
} | {
    "check_fit2d_1feature": (
        "one column of features is read as labels and refused as continuous, not "
        "with a word on the number of features"
    ),
    "check_sample_weight_equivalence_on_dense_data": (
        "calls fit(X, y=y), which gives the labels twice: y is the first argument"
    ),
}


class FeatureReport(CalibrationReport):
    """The report behind a fixed linear model, with the signature of a classifier."""

    def fit(self, X, y, sample_weight=None):
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        labels = np.unique(y)
        model = np.random.default_rng(0).normal(size=(X.shape[1], len(labels)))
        proba = softmax(X @ model.astype(X.dtype), axis=1)
        return super().fit(y, proba, labels=labels, sample_weight=sample_weight)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        is_first = not self.__sklearn_is_fitted__()
        X, y = validate_data(self, X, y, reset=is_first)
        classes = np.unique(y) if classes is None else classes
        model = np.random.default_rng(0).normal(size=(X.shape[1], len(classes)))
        proba = softmax(X @ model, axis=1)
        return super().partial_fit(
            y, proba, classes=classes, sample_weight=sample_weight
        )


@parametrize_with_checks([CalibrationReport()], legacy=True)
def test_checks_direct(estimator, check):
    """Run one check; if it is an exception, it must fail."""
    reason = DIRECT_EXCEPTIONS.get(check.func.__name__)
    if reason is None:
        check(estimator)
        return
    # Not the argument for expected failures, which is strict from 1.9 on only.
    with pytest.raises((AssertionError, TypeError, ValueError)):
        check(estimator)
    pytest.xfail(reason)


@parametrize_with_checks([FeatureReport()], legacy=True)
def test_checks_through_adapter(estimator, check):
    check(estimator)


def predictions(n_samples=200, n_classes=4, seed=0):
    """Labels and probabilities, with ties and with a class that never survives."""
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(n_classes - 1, 0.5), 20)
    proba = np.column_stack([proba, np.zeros(20)])[rng.integers(20, size=n_samples)]
    return rng.integers(n_classes, size=n_samples), proba


def fitted_report(**params):
    return CalibrationReport(**params).fit(*predictions())


def fitted_attributes(report):
    return {name: value for name, value in vars(report).items() if name.endswith("_")}


def assert_same_fit(actual, desired):
    """Demand the same attributes from fit, in value and in type."""
    actual, desired = fitted_attributes(actual), fitted_attributes(desired)
    assert_equal(actual, desired)
    for name, value in desired.items():
        assert type(actual[name]) is type(value), name
        if isinstance(value, np.ndarray):
            assert actual[name].dtype == value.dtype, name


def test_constructor_stores_its_arguments_unchanged():
    params = {name: object() for name in CalibrationReport().get_params()}
    report = CalibrationReport(**params)
    assert vars(report) == params


def test_set_params_stores_its_arguments_unchanged():
    params = {name: object() for name in CalibrationReport().get_params()}
    report = CalibrationReport().set_params(**params)
    assert vars(report) == report.get_params() == params


def test_set_params_refuses_unknown_names():
    with pytest.raises(ValueError, match="Invalid parameter 'bins'"):
        CalibrationReport().set_params(bins=10)


def test_fit_returns_self_and_keeps_the_parameters():
    report = CalibrationReport(threshold=np.float32(0.05), n_bins=np.int64(7))
    params = report.get_params()
    assert report.fit(*predictions()) is report
    for name, value in params.items():
        assert getattr(report, name) is value


def test_fit_adds_only_names_with_an_underscore():
    report = fitted_report()
    added = set(vars(report)) - set(report.get_params())
    assert all(name.startswith("_") or name.endswith("_") for name in added)
    check_is_fitted(report)


def test_summary_speaks_of_the_fit_whatever_the_parameters_become():
    report = fitted_report()
    text = report.summary()
    assert report.set_params(threshold=0.5, n_bins=7, ties="ordinal").summary() == text
    with pytest.raises(ValueError, match="n_bins"):
        report.set_params(n_bins=0).fit(*predictions())
    assert str(report) == text


def test_clone_keeps_the_parameters_and_drops_the_fit():
    params = {
        "threshold": None,
        "n_bins": 7,
        "ties": "ordinal",
        "norm": "l2",
        "average": "weighted",
        "confidence_level": 0.9,
        "n_draws": 100,
        "random_state": None,
    }
    report = fitted_report(**params)
    copied = clone(report)
    assert vars(copied) == params
    with pytest.raises(NotFittedError):
        check_is_fitted(copied)
    assert_same_fit(copied.fit(*predictions()), report)


def test_repr_shows_what_differs_from_the_defaults():
    report = CalibrationReport(n_bins=7, norm="l2")
    assert repr(report) == "CalibrationReport(n_bins=7, norm='l2')"
    assert repr(report.fit(*predictions())) == "CalibrationReport(n_bins=7, norm='l2')"


def test_summary_needs_a_fit():
    with pytest.raises(
        NotFittedError, match="CalibrationReport instance is not fitted"
    ):
        CalibrationReport().summary()


def test_print_of_an_unfitted_report_is_its_repr(capsys):
    print(CalibrationReport(n_bins=7))
    assert capsys.readouterr().out == "CalibrationReport(n_bins=7)\n"


def test_fit_twice_gives_the_same():
    report = fitted_report()
    first = copy.deepcopy(report)
    assert_same_fit(report.fit(*predictions()), first)


def _strings():
    y, proba = predictions(n_classes=3, seed=1)
    return {"y": np.array(["a", "b", "c"])[y], "proba": proba}


def _one_column():
    y, proba = predictions(seed=1)
    return {"y": y % 2, "proba": proba[:, 0]}


def _indicator():
    y, proba = predictions(n_classes=5, seed=1)
    return {"y": y[:, None] == np.arange(5), "proba": proba}


def _untied():
    rng = np.random.default_rng(1)
    return {"y": np.arange(90) % 3, "proba": rng.dirichlet([1, 1, 1], 90)}


@pytest.mark.parametrize("other_data", [_strings, _one_column, _indicator, _untied])
def test_fit_on_other_data_starts_anew(other_data):
    y, proba = predictions()
    weight = np.linspace(0, 2, len(y))
    report = CalibrationReport().fit(
        y, proba, labels=[3, 1, 0, 2], sample_weight=weight
    )
    fresh = CalibrationReport(threshold=None, n_bins=5).fit(**other_data())
    report.set_params(threshold=None, n_bins=5).fit(**other_data())
    assert_same_fit(report, fresh)


def _with(array, value):
    array = array.astype(float)
    array.flat[-1] = value
    return array


_Y, _PROBA = predictions()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"proba": _with(_PROBA, np.nan)}, "NaN"),
        ({"proba": _with(_PROBA, np.inf)}, "infinity"),
        ({"proba": _PROBA[:-1]}, "inconsistent numbers of samples"),
        ({"y": _with(_Y, 7)}, "not belonging to the passed labels"),
        ({"y": _with(_Y, np.nan)}, "missing values"),
        ({"labels": [0, 1, 2]}, "labels has 3 entries"),
        ({"sample_weight": -np.ones(len(_Y))}, "Negative values"),
    ],
)
def test_failed_fit_leaves_the_report_unchanged(change, message):
    given = {"y": _Y, "proba": _PROBA, "labels": [0, 1, 2, 3]}
    report = CalibrationReport().fit(**given)
    before = copy.deepcopy(report)
    with pytest.raises(ValueError, match=message):
        report.fit(**given | change)
    assert_same_fit(report, before)
    assert vars(report).keys() == vars(before).keys()


def test_failed_first_fit_leaves_the_report_unfitted():
    report = CalibrationReport()
    with pytest.raises(ValueError, match="NaN"):
        report.fit(_Y, _with(_PROBA, np.nan))
    assert vars(report) == report.get_params()


@pytest.mark.parametrize(
    "round_trip",
    [lambda report: pickle.loads(pickle.dumps(report)), copy.deepcopy],
    ids=["pickle", "deepcopy"],
)
@pytest.mark.parametrize("data", [_strings, _one_column, _indicator])
def test_copies_keep_everything(data, round_trip):
    report = CalibrationReport(n_bins=np.int64(7), norm="max").fit(**data())
    copied = round_trip(report)
    assert vars(copied).keys() == vars(report).keys()
    assert copied.get_params() == report.get_params()
    assert_same_fit(copied, report)
    assert copied.summary() == report.summary()
    for name, value in fitted_attributes(report).items():
        if isinstance(value, np.ndarray):
            assert not np.shares_memory(value, getattr(copied, name)), name


def _inputs(order):
    """All that fit takes, with round-off beyond [0, 1] and rows without weight."""
    y, proba = predictions()
    proba[0] = [1 + 2e-6, 0, 0, -2e-6]
    return {
        "y": y,
        "proba": np.array(proba, order=order),
        "labels": np.array([2, 0, 3, 1]),
        "sample_weight": np.arange(len(y)) % 3 / 2,
    }


@pytest.mark.parametrize("order", ["C", "F"])
def test_fit_leaves_its_inputs_alone(order):
    given = _inputs(order)
    CalibrationReport().fit(**given)
    # Rows without weight are left out, which may work on a copy.
    CalibrationReport().fit(**given | {"sample_weight": None})
    assert_equal(given, _inputs(order))


def test_fit_leaves_an_indicator_alone():
    given = _indicator()
    CalibrationReport().fit(**given)
    assert_equal(given, _indicator())


@pytest.mark.parametrize("order", ["C", "F"])
def test_fit_takes_read_only_memory_maps(order, tmp_path):
    given = _inputs(order)
    mapped = {}
    for name, array in given.items():
        np.save(tmp_path / f"{name}.npy", array)
        mapped[name] = np.load(tmp_path / f"{name}.npy", mmap_mode="r")
        assert not mapped[name].flags.writeable
    assert mapped["proba"].flags.f_contiguous == (order == "F")
    assert_same_fit(CalibrationReport().fit(**mapped), CalibrationReport().fit(**given))


def test_report_keeps_no_hold_of_its_inputs():
    given = _inputs("C")
    report = CalibrationReport().fit(**given)
    before = copy.deepcopy(report)
    for array in given.values():
        array[:] = 0
    assert_same_fit(report, before)


def test_html_of_a_thousand_classes():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.full(1000, 0.02), 500)
    report = CalibrationReport()
    assert "CalibrationReport" in report._repr_html_()
    assert vars(report) == report.get_params()

    report.fit(rng.integers(1000, size=500), proba, labels=np.arange(1000))
    before = copy.deepcopy(report)
    for html in (report._repr_html_(), estimator_html_repr(report)):
        assert len(html) < 200_000
    assert "TACE" in report._repr_html_()
    assert "CalibrationReport" in html
    assert vars(report).keys() == vars(before).keys()
    assert_same_fit(report, before)


def test_probabilities_are_not_routable_metadata():
    with config_context(enable_metadata_routing=True):
        report = CalibrationReport()
        with pytest.raises(TypeError, match="proba"):
            report.set_fit_request(proba=True)
        assert report.set_fit_request(labels=True, sample_weight=True) is report
        consumed = get_routing_for_object(report).consumes(
            "fit", ["y", "proba", "labels", "sample_weight"]
        )
        assert set(consumed) == {"labels", "sample_weight"}


@pytest.mark.parametrize(
    "name",
    [
        "decision_function",
        "fit_predict",
        "fit_transform",
        "predict",
        "predict_proba",
        "score",
        "transform",
    ],
)
def test_report_is_no_predictor_or_transformer(name):
    assert not hasattr(CalibrationReport(), name)
    assert not hasattr(fitted_report(), name)


def test_grid_search_refuses_the_report_at_once():
    search = GridSearchCV(CalibrationReport(), {"n_bins": [5, 10]})
    y, proba = predictions()
    with pytest.raises(TypeError, match="should have a 'score' method"):
        search.fit(proba, y)
