"""The report: its account of the threshold, its table, its words."""

import re
import unicodedata
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from paths import assert_same_report
from scipy.special import softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError, UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_tace import CalibrationReport, tace_error

PROBA = np.array([
    [0.90, 0.09, 0.01, 0.00],
    [0.50, 0.49, 0.01, 0.00],
    [0.50, 0.48, 0.02, 0.00],
    [0.04, 0.95, 0.01, 0.00],
    [0.30, 0.70, 0.00, 0.00],
])
Y = ["a", "b", "a", "a", "d"]


def drawn(proba, rng):
    """One label a row, drawn from its probabilities."""
    return (rng.random((len(proba), 1)) > proba.cumsum(axis=1)[:, :-1]).sum(axis=1)


def fit(**settings):
    settings = {"threshold": 0.05, "n_bins": 3} | settings
    return CalibrationReport(**settings).fit(Y, PROBA, labels=list("abcd"))


def test_account_of_the_threshold_by_hand():
    report = fit()
    assert report.n_samples_ == 5
    assert report.classes_.tolist() == list("abcd")
    assert report.support_.tolist() == [3, 1, 0, 1]
    assert report.n_kept_.tolist() == [4, 5, 0, 0]
    assert report.dropped_positives_.tolist() == [1, 0, 0, 1]
    assert report.kept_share_ == 9 / 20
    assert_allclose(report.kept_mass_, (5 - 0.05 - 0.04) / 5)
    assert report.excluded_classes_.tolist() == ["c", "d"]
    assert report.thin_classes_.tolist() == []
    # Of four survivors .3 .5 .5 .9 the first cut is behind .5, inside the tie.
    assert report.tied_classes_.tolist() == ["a"]
    assert_array_equal(np.isnan(report.class_tace_), [False, False, True, True])
    assert report.tace_ == np.nanmean(report.class_tace_)


def test_thin_classes_have_survivors_but_fewer_than_bins():
    report = fit(n_bins=5)
    assert report.thin_classes_.tolist() == ["a"]
    assert report.excluded_classes_.tolist() == ["c", "d"]


@pytest.mark.parametrize("ties", ["average", "ordinal"])
def test_tied_classes_are_told_for_either_rule(ties):
    y, p = [0, 1, 0, 1], [0.2, 0.4, 0.4, 0.6]
    report = CalibrationReport(n_bins=2, ties=ties)
    assert report.fit(y, p).tied_classes_.tolist() == [0, 1]
    assert report.fit(y, [0.2, 0.4, 0.5, 0.6]).tied_classes_.tolist() == []
    # The tie lies between two cuts.
    assert report.fit([0, 1, 1, 0], [0.4, 0.4, 0.5, 0.6]).tied_classes_.tolist() == []


def test_a_cut_through_one_weighted_row_is_no_tie():
    report = CalibrationReport(n_bins=2)
    report.fit([0, 1, 1], [0.2, 0.5, 0.7], sample_weight=[1, 5, 1])
    assert report.tied_classes_.tolist() == []
    bins = report.bins_[report.bins_["class"] == 1]
    assert bins["upper"][0] == bins["lower"][1] == 0.5
    assert bins["count"].tolist() == [2, 2]


def test_rows_of_weight_zero_are_not_counted():
    weights = [1, 2, 0, 3, 1]
    report = CalibrationReport(threshold=0.05).fit(
        Y, PROBA, labels=list("abcd"), sample_weight=weights
    )
    assert report.n_samples_ == 4
    assert report.support_.tolist() == [2, 1, 0, 1]
    assert report.n_kept_.tolist() == [3, 4, 0, 0]
    assert report.kept_share_ == 7 / 16


def test_count_and_weight_of_a_bin_with_ties():
    report = fit()
    bins = report.bins_[report.bins_["class"] == "a"]
    # .3 and half of the tie; the other half; .9.
    assert bins["count"].tolist() == [3, 2, 1]
    assert bins["weight"].tolist() == [2, 1, 1]
    assert bins["lower"].tolist() == [0.3, 0.5, 0.9]
    assert bins["upper"].tolist() == [0.5, 0.5, 0.9]
    assert_allclose(bins["observed_frequency"], [0.25, 0.5, 1])


def test_weight_of_bins_is_in_the_unit_of_the_weights():
    weights = np.array([3.0, 1, 1, 1, 2])
    report = CalibrationReport(threshold=0.05, n_bins=2).fit(
        Y, PROBA, labels=list("abcd"), sample_weight=weights
    )
    bins = report.bins_[report.bins_["class"] == "b"]
    assert_allclose(bins["weight"].sum(), weights.sum())
    # Two bins of five rows hold three and two fifths of the weight.
    assert_allclose(bins["weight"], weights.sum() * np.array([0.6, 0.4]))


@pytest.mark.parametrize("library", [pd, pl])
def test_table_of_bins_becomes_a_frame(library):
    report = fit()
    frame = library.DataFrame(report.bins_)
    assert list(frame.columns) == [
        "class",
        "bin",
        "lower",
        "upper",
        "count",
        "weight",
        "mean_proba",
        "observed_frequency",
        "gap",
    ]
    assert frame["class"].to_list() == ["a", "a", "a", "b", "b", "b"]
    assert_array_equal(frame["gap"].to_numpy(), report.bins_["gap"])


def test_table_is_empty_where_nothing_survived():
    with pytest.warns(UndefinedMetricWarning):
        report = fit(threshold=0.99)
    assert report.bins_.shape == (0,)
    assert report.excluded_classes_.tolist() == list("abcd")
    assert report.kept_share_ == report.kept_mass_ == 0
    assert np.isnan(report.tace_)


def test_labels_keep_their_kind_in_the_table():
    labels = np.array(["x", "yy"], dtype=object)
    report = CalibrationReport().fit(labels[[0, 1]], [0.2, 0.9])
    assert report.classes_.dtype == report.bins_["class"].dtype == object
    report = CalibrationReport().fit([True, False], [0.2, 0.9])
    assert report.bins_["class"].dtype == bool


def estimators():
    forest = RandomForestClassifier(n_estimators=10, random_state=0)
    linear = make_pipeline(StandardScaler(), LogisticRegression())
    return {
        "pipeline": linear,
        "search": GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}),
        "calibrated": CalibratedClassifierCV(forest, cv=2),
        "forest": forest,
    }


@pytest.mark.parametrize("name", estimators())
@pytest.mark.parametrize("classes", [2, 3])
def test_report_from_an_estimator_is_that_of_its_predictions(name, classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes], load_iris().target_names[y[y < classes]]
    X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
    estimator = estimators()[name].fit(X_train, y_train)
    weights = np.random.default_rng(0).random(len(y_test))
    settings = {"n_bins": 4, "threshold": 0.02}
    for sample_weight in (None, weights):
        report = CalibrationReport.from_estimator(
            estimator, X_test, y_test, sample_weight=sample_weight, **settings
        )
        proba = estimator.predict_proba(X_test)
        expected = CalibrationReport.from_predictions(
            y_test,
            proba,
            labels=estimator.classes_,
            sample_weight=sample_weight,
            **settings,
        )
        assert report.get_params() == expected.get_params()
        assert_same_report(report, expected)
        assert report.tace_ == tace_error(
            y_test,
            proba,
            labels=estimator.classes_,
            sample_weight=sample_weight,
            **settings,
        )


def test_report_from_a_multi_output_forest():
    X, y = make_multilabel_classification(n_samples=80, n_classes=3, random_state=0)
    forest = RandomForestClassifier(n_estimators=20, random_state=0).fit(X, y)
    report = CalibrationReport.from_estimator(forest, X, y)
    positives = np.column_stack([proba[:, 1] for proba in forest.predict_proba(X)])
    assert report.tace_ == tace_error(y, positives)
    assert report.classes_.tolist() == [0, 1, 2]


def test_report_from_an_estimator_with_an_unseen_label():
    X, y = load_iris(return_X_y=True)
    estimator = GaussianNB().fit(X[y > 0], y[y > 0])
    with pytest.warns(UserWarning, match=r"GaussianNB was not fitted on: \[0\]"):
        report = CalibrationReport.from_estimator(estimator, X, y)
    assert report.classes_.tolist() == [1, 2, 0]
    assert report.excluded_classes_.tolist() == [0]
    assert report.dropped_positives_.tolist()[2] == 50


def test_warnings_point_at_the_line_of_the_user():
    proba = np.full((4, 2), 0.4)
    estimator = GaussianNB().fit([[0], [1], [0], [1]], [0, 1, 0, 1])
    estimator.predict_proba = lambda X: proba
    y = [0, 1, 0, 1]
    calls = [
        lambda: tace_error(y, proba, threshold=0.9),
        lambda: CalibrationReport(threshold=0.9).fit(y, proba),
        lambda: CalibrationReport.from_predictions(y, proba, threshold=0.9),
        lambda: CalibrationReport.from_estimator(estimator, [[0]], y, threshold=0.9),
    ]
    for call in calls:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        assert [w.category for w in caught] == [UserWarning, UndefinedMetricWarning]
        assert {w.filename for w in caught} == {__file__}


# --- words ---------------------------------------------------------------------------


def large_report(n_classes=1000, n=2000, **settings):
    """Everything at once: classes left out, thin ones, ties."""
    rng = np.random.default_rng(0)
    labels = np.array([f"class with a rather long name {k}" for k in range(n_classes)])
    logits = 4 * rng.normal(size=(n, n_classes))
    logits[:, : n_classes // 10] -= 40
    proba = np.exp(logits - logits.max(axis=1, keepdims=True))
    proba = (proba / proba.sum(axis=1, keepdims=True)).round(3)
    proba[:, -1] += 1 - proba.sum(axis=1)
    y = labels[rng.integers(0, n_classes, n)]
    return CalibrationReport(**settings).fit(y, proba, labels=labels)


def test_printed_report_of_a_thousand_classes_is_one_screen(capsys):
    for ties in ("average", "ordinal"):
        print(large_report(ties=ties))
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) <= 23
        assert max(map(len, lines)) <= 72


def test_printed_report_shows_value_settings_and_coverage():
    report = large_report(ties="ordinal")
    assert str(report) == report.summary()
    text = " ".join(str(report).split())
    absent = (report.support_ == 0) & (report.n_kept_ > 0)
    for part in (
        f"TACE {report.tace_:.4f}",
        "threshold 0.01, 15 bins, 2,000 rows, "
        f"{1000 - len(report.excluded_classes_)} of 1,000 classes measured",
        "ties=ordinal, norm=l1, average=macro",
        f"Kept {report.n_kept_.sum():,} of 2,000,000",
        f"probabilities, {report.kept_mass_:.1%} of their sum",
        f"{2000 - report.dropped_positives_.sum():,} of 2,000",
        f"{len(report.excluded_classes_)} classes left out (not counted as 0)",
        f"{len(report.thin_classes_)} classes with fewer kept than bins",
        f"{absent.sum()} classes true in no row",
        f"{len(report.tied_classes_)} classes with cuts through ties: the order of",
    ):
        assert part in text
    assert "order of the rows" not in str(large_report())


def test_printed_report_says_that_it_is_weighted():
    weights = [1, 2, 3, 4, 5]
    report = CalibrationReport().fit(
        Y, PROBA, labels=list("abcd"), sample_weight=weights
    )
    assert "5 rows (weighted), " in str(report)
    assert "(weighted)" not in str(fit())


@pytest.mark.parametrize(("n", "n_classes"), [(300, 3), (2000, 10), (500, 50)])
@pytest.mark.parametrize("n_bins", [5, 15])
def test_printed_report_tells_what_chance_alone_gives(n, n_classes, n_bins):
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.full(n_classes, 0.5), size=n)
    values = []
    for _ in range(20):
        y = (rng.random((n, 1)) > proba.cumsum(axis=1)).sum(axis=1)
        report = CalibrationReport(n_bins=n_bins).fit(y, proba, labels=range(n_classes))
        values.append(report.tace_)
    told = re.search(r"calibrated model would have about (0\.\d+)", str(report))
    assert_allclose(float(told[1]), np.mean(values), rtol=0.05)


def test_printed_report_tells_chance_from_error_in_words():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, 1000)
    y = rng.random(1000) < p
    first, second, third, *_ = str(CalibrationReport().fit(y, p)).splitlines()
    assert re.fullmatch(r"TACE 0\.0\d+: may be chance alone \(p = [01]\.\d+\)", first)
    assert re.fullmatch(r"a calibrated model .* by chance, 95% below 0\.0\d+", second)
    assert re.fullmatch(
        r"debiased 0\.0\d+, 95% interval 0\.0000 to .* \(for new rows\)", third
    )
    report = CalibrationReport(confidence_level=0.9).fit(y, p**2)
    first, second, third, *_ = str(report).splitlines()
    assert first.endswith(": not chance alone (p < 0.001)")
    assert "90% below" in second
    low, high = report.interval_
    assert f"90% interval {low:.4f} to {high:.4f} (" in third
    # So many classes that none is seen to be wrong, but all err in the same way.
    rng = np.random.default_rng(2)
    proba = softmax(2.5 * rng.standard_normal((1000, 100)), axis=1)
    y = drawn(softmax(np.log(proba) / 1.15, axis=1), rng)
    report = CalibrationReport().fit(y, proba, labels=range(100))
    assert report.p_value_ > 0.05
    assert ": not chance alone (p " in str(report)


def test_printed_report_says_where_the_value_lies_above_its_interval():
    rng = np.random.default_rng(0)
    proba = softmax(2 * rng.standard_normal((2000, 50)), axis=1)
    report = CalibrationReport().fit(drawn(proba, rng), proba, labels=range(50))
    assert report.tace_ > report.interval_[1]
    assert "The value is above the interval" in str(report)
    assert "above the interval" not in str(fit())


def test_printed_report_weighs_two_tests_as_one():
    rng = np.random.default_rng(0)
    n_rejected = 0
    for _ in range(100):
        p = rng.uniform(0.1, 0.9, 200)
        report = CalibrationReport(n_draws=199).fit(rng.random(200) < p, p)
        both = min(1, 2 * min(report.p_value_, report.direction_p_value_))
        assert f"chance alone (p = {both:.3f})" in str(report) or both < 0.0005
        n_rejected += "not chance alone" in str(report)
    assert n_rejected <= 12


def test_printed_report_says_where_an_error_may_be_small():
    # The error changes its sign from bin to bin: too large for chance, and yet the
    # halves do not agree on the signs.
    p = np.linspace(0.2, 0.8, 3000)
    error = np.where(np.arange(3000) // 20 % 2, 0.06, -0.06)
    y = np.random.default_rng(2).random(3000) < p + error
    report = CalibrationReport(n_bins=150).fit(y, p)
    assert report.p_value_ < 0.02
    assert report.interval_[0] == 0
    assert "There is an error, but its size may be near 0." in str(report)


def test_printed_report_advises_more_rows_where_bins_are_automatic():
    p = np.linspace(0.1, 0.9, 50)
    report = CalibrationReport(n_bins="auto").fit([0, 1] * 25, p)
    assert "chance adds a lot. More rows are needed." in " ".join(str(report).split())


def test_printed_report_of_other_norms_has_no_interval():
    report = fit(norm="l2")
    lines = str(report).splitlines()
    assert lines[0].endswith(f" chance alone (p = {report.p_value_:.3f})")
    assert "interval" not in "".join(lines)


def test_printed_report_is_silent_on_chance_where_it_does_not_know():
    text = str(fit(average="weighted"))
    assert text.splitlines()[0] == f"TACE {fit(average='weighted').tace_:.4f}"
    assert "chance" not in text


def test_printed_report_lists_the_classes_furthest_from_chance():
    report = large_report()
    lines = str(report).splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("Worst 4 of 900"))
    rows = [line.split() for line in lines[head + 1 : head + 5]]
    shown = [int(row[-6].rpartition(".")[2]) for row in rows]
    errors = report.class_tace_[shown]
    assert_allclose([float(row[-5]) for row in rows], errors, atol=5e-5)
    assert (np.diff(errors) <= 0).all()
    excess = report.class_tace_ - report.expected_class_tace_quantile_
    assert set(shown) == set(np.argsort(-np.nan_to_num(excess, nan=-1))[:4])


def test_printed_report_of_plenty_of_evidence_has_nothing_to_warn_of():
    rng = np.random.default_rng(0)
    p = rng.random(5000)
    report = CalibrationReport().fit(["no", "yes"] * 2500, p)
    text = str(report)
    assert "Read with care" not in text
    assert "2 of 2 classes measured" in text


def test_printed_report_says_where_evidence_is_thin():
    rng = np.random.default_rng(0)
    p = 0.02 + 0.96 * rng.random(60)
    text = str(CalibrationReport().fit(["no", "yes"] * 30, p))
    assert "4.0 probabilities a bin in the median class" in " ".join(text.split())


def test_printed_report_of_the_value_without_a_threshold():
    text = str(fit(threshold=None))
    assert text.startswith("ACE ")
    assert "threshold None" in text


def test_printed_report_where_nothing_survived():
    with pytest.warns(UndefinedMetricWarning):
        text = str(fit(threshold=0.99))
    assert text.startswith("TACE undefined\n")
    assert "0 of 4 classes measured" in text
    assert "Worst" not in text
    assert "0 of 20 (0.0%)" in text


def test_printed_report_of_one_row():
    text = str(CalibrationReport(n_bins=1).fit([1], [0.7], labels=[0, 1]))
    assert "1 bin, 1 row, 2 of 2 classes" in text


def columns(line):
    """Columns of a terminal that a line takes."""
    wide = sum(unicodedata.east_asian_width(c) == "W" for c in line)
    return len(unicodedata.normalize("NFC", line)) + wide


def test_printed_labels_are_data():
    labels = ["a\nb\x1b[31m", "漢字" * 20, "e\u0301" * 40, "\u202eright"]
    report = CalibrationReport().fit(np.array(labels), PROBA[:4] + 1e-9)
    text = str(report)
    assert "a\\nb\\x1b[31m" in text
    assert "\\u202e" in text
    assert "\x1b" not in text
    assert max(map(columns, text.splitlines())) <= 72
    table = [line for line in text.splitlines() if re.search(r" 0\.\d{4}  ", line)]
    assert len(table) == 3
    assert len({columns(line) for line in table}) == 1


def test_printed_labels_may_be_very_long_or_empty():
    y, proba = ["x" * 100_000, ""], [[0.2, 0.8], [0.7, 0.3]]
    text = str(CalibrationReport().fit(y, proba))
    assert max(map(len, text.splitlines())) <= 72
    assert "\n  '' " in text
    assert "xxx...xxx" in text


def test_printed_report_of_more_bins_than_any_integer_of_numpy():
    assert "1,180,591,620,717,411,303,424 bins" in str(
        CalibrationReport(n_bins=2**70).fit([0, 1], [0.2, 0.9])
    )


def test_summary_needs_a_fit():
    with pytest.raises(NotFittedError):
        CalibrationReport().summary()
    assert str(CalibrationReport(n_bins=3)) == "CalibrationReport(n_bins=3)"
