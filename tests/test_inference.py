"""What noise does to the value: reference, test, debiased value, interval."""

import copy
import itertools
import pickle
import tracemalloc
from fractions import Fraction

import numpy as np
import paths
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_html_repr
from test_definition import indicator_problems, problem_settings

from sklearn_tace import CalibrationReport, compare

N_DRAWS = 4000


def drawn(proba, rng):
    """One label a row, drawn from its probabilities."""
    return (rng.random((len(proba), 1)) > proba.cumsum(axis=1)[:, :-1]).sum(axis=1)


def calibrated(n, n_classes, seed=0, concentration=0.5):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(n_classes, concentration), size=n)
    return drawn(proba, rng), proba


def on_demand(report):
    return {name: getattr(report, name) for name in paths.ON_DEMAND}


def assert_same_inference(actual, desired):
    desired = on_demand(desired)
    for name, value in on_demand(actual).items():
        assert_array_equal(value, desired[name], err_msg=name)


# --- the reference: what labels drawn from the predictions give ----------------------


def all_outcomes(proba):
    """Every way that the labels can fall, with its probability, exact."""
    rows = [[Fraction(p) for p in row] for row in proba]
    for labels in itertools.product(range(len(rows[0])), repeat=len(rows)):
        chance = Fraction(1)
        for row, label in zip(rows, labels, strict=True):
            chance *= row[label]
        if chance:
            yield labels, chance


def exact_reference(y, proba, **settings):
    """Mean of the value and of the class errors, and the p-value, by enumeration."""

    def measure(labels):
        outcomes = np.eye(len(proba[0]), dtype=int)[list(labels)].tolist()
        errors = reference.class_errors(outcomes, proba, **settings)
        return reference.tace(errors), errors

    observed, _ = measure(y)
    mean, p_value, class_mean = 0, 0, np.zeros(len(proba[0]))
    for labels, chance in all_outcomes(proba):
        value, errors = measure(labels)
        mean += float(chance) * value
        p_value += float(chance) * (value >= observed - 1e-12)
        class_mean += [np.nan if e is None else float(chance) * e for e in errors]
    return mean, p_value, class_mean


EXACT = {
    "plain": {},
    "one bin": {"n_bins": 1},
    "two bins": {"n_bins": 2},
    "threshold": {"threshold": 0.25, "n_bins": 2},
    "root mean square": {"n_bins": 2, "norm": "l2"},
    "largest": {"n_bins": 3, "norm": "max"},
    "ordinal": {"n_bins": 2, "ties": "ordinal"},
    "weights": {"n_bins": 2, "weights": [1, 3, 2, 5, 1, 2]},
    "all": {"threshold": None, "n_bins": 4},
}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("is_tied", [False, True])
def test_reference_and_test_against_all_outcomes(name, is_tied):
    settings = {"threshold": 0.01, "n_bins": 15} | EXACT[name]
    weights = settings.pop("weights", None)
    proba = [
        [0.5, 0.25, 0.25],
        [0.125, 0.75, 0.125],
        [0.5, 0.5, 0.0],
        [0.25, 0.125, 0.625],
        [0.5, 0.25, 0.25] if is_tied else [0.375, 0.0625, 0.5625],
        [0.125, 0.75, 0.125] if is_tied else [0.1875, 0.6875, 0.125],
    ]
    y = [1, 1, 0, 2, 0, 2]
    report = CalibrationReport(**settings, n_draws=N_DRAWS)
    report.fit(y, proba, sample_weight=weights)
    mean, p_value, class_mean = exact_reference(y, proba, weights=weights, **settings)
    # Four standard errors, or so.
    assert_allclose(report.expected_tace_, mean, atol=0.006)
    assert_allclose(report.expected_class_tace_, class_mean, atol=0.012)
    assert_allclose(report.p_value_, p_value, atol=0.035)


def test_labels_of_a_row_exclude_each_other():
    # Of two rows alike the classes' outcomes are either 1 and 0 or 0 and 1: the value
    # of one bin is |0.5 - o| in both classes, never a mixture of them.
    report = CalibrationReport(n_bins=1, n_draws=N_DRAWS).fit([0], [0.5], labels=[0, 1])
    assert report.expected_tace_ == report.expected_tace_quantile_ == 0.5
    # Of an indicator every column has an outcome of its own.
    y = np.array([[1, 1], [0, 0]])
    report = CalibrationReport(n_bins=1, n_draws=N_DRAWS).fit(y, [[0.5, 0.5]] * 2)
    assert_allclose(report.expected_tace_, 0.25, atol=0.01)
    assert_allclose(np.mean(report.expected_class_tace_quantile_), 0.5)
    assert_allclose(report.p_value_, 1.0, atol=0)


def test_one_hot_indicator_is_labels():
    y, proba = calibrated(300, 4)
    labels = CalibrationReport().fit(y, proba)
    assert_same_inference(CalibrationReport().fit(np.eye(4)[y], proba), labels)
    # Not if the probabilities say that a row can be of several classes.
    y = np.eye(3)[[0, 1, 2] * 20]
    chance = CalibrationReport(n_bins=1, n_draws=N_DRAWS).fit(y, np.full((60, 3), 0.6))
    expected = stats.binom(60, 0.6).expect(lambda k: abs(k / 60 - 0.6))
    assert_allclose(chance.expected_tace_, expected, rtol=0.05)


@pytest.mark.filterwarnings("ignore:The y_proba values do not sum to one")
def test_rows_that_do_not_sum_to_one():
    # What is missing hits no survivor.
    low = CalibrationReport(n_bins=1, n_draws=N_DRAWS).fit(
        [0] * 50, [[0.2, 0.2]] * 50, labels=[0, 1]
    )
    expected = stats.binom(50, 0.2).expect(lambda k: abs(k / 50 - 0.2))
    assert_allclose(low.expected_tace_, expected, rtol=0.05)
    # What is too much is scaled for the draws, and stays a gap of the value.
    high = CalibrationReport(n_bins=1).fit([0] * 50, [[0.9, 0.9]] * 50, labels=[0, 1])
    assert_allclose(high.expected_tace_, 0.4, atol=0.01)


def test_bands_of_bins_are_quantiles_of_a_binomial():
    y = [0, 1] * 100
    settings = {"n_bins": 1, "n_draws": 20_000, "confidence_level": 0.9}
    report = CalibrationReport(**settings).fit(y, [0.3] * 200)
    band = report.expected_bins_[1]
    binomial = stats.binom(200, 0.3)
    assert_allclose(200 * band["lower"], binomial.ppf(0.05), atol=1)
    assert_allclose(200 * band["upper"], binomial.ppf(0.95), atol=1)
    assert_allclose(
        200 * band["gap"], binomial.expect(lambda k: abs(k - 60)), rtol=0.03
    )


def test_tied_scores_share_their_reference_too():
    # One block in all bins: in every draw each bin has the frequency of the block.
    y = np.arange(90) % 3 == 0
    shared = CalibrationReport(n_bins=7).fit(y, [0.3] * 90)
    whole = CalibrationReport(n_bins=1).fit(y, [0.3] * 90)
    for name in ("expected_tace_", "expected_tace_quantile_", "p_value_"):
        assert_allclose(getattr(shared, name), getattr(whole, name))
    assert len(np.unique(shared.expected_bins_["upper"][7:].round(9))) == 1


def test_reference_of_the_bins_is_aligned_with_the_bins():
    y, proba = calibrated(500, 5)
    labels = np.array(["v", "w", "x", "y", "z"])
    report = CalibrationReport().fit(labels[y], proba)
    for name in ("class", "bin"):
        assert_array_equal(report.expected_bins_[name], report.bins_[name])
    bands = report.expected_bins_
    assert (bands["lower"] <= report.bins_["mean_proba"]).all()
    assert (bands["upper"] >= report.bins_["mean_proba"]).all()
    inside = (bands["lower"] <= report.bins_["observed_frequency"]) & (
        report.bins_["observed_frequency"] <= bands["upper"]
    )
    assert inside.mean() > 0.9
    by_class = bands["gap"].reshape(5, 15).mean(axis=1)
    assert_allclose(report.expected_class_tace_, by_class, rtol=1e-5)
    assert_allclose(report.expected_tace_, by_class.mean())
    assert (report.expected_class_tace_quantile_ > report.expected_class_tace_).all()


def test_a_class_left_out_has_no_reference():
    proba = np.array([[0.6, 0.4, 0.0], [0.3, 0.7, 0.0]])
    report = CalibrationReport().fit([0, 1], proba, labels=[0, 1, 2])
    for value in (report.expected_class_tace_, report.expected_class_tace_quantile_):
        assert_array_equal(np.isnan(value), [False, False, True])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_nothing_above_the_threshold_is_undefined():
    report = CalibrationReport(threshold=0.9).fit([0, 1], [[0.5, 0.5], [0.4, 0.6]])
    for name, value in on_demand(report).items():
        if name == "expected_bins_":
            assert value.dtype.names == ("class", "bin", "gap", "lower", "upper")
            assert not len(value)
        else:
            assert np.isnan(value).all()
    assert "undefined" in str(report)


@pytest.mark.parametrize("n_classes", [2, 10])
def test_the_test_has_its_level(n_classes):
    values = []
    for seed in range(300):
        y, proba = calibrated(60, n_classes, seed)
        report = CalibrationReport(n_draws=99).fit(y, proba, labels=range(n_classes))
        values.append(report.p_value_)
    for level in (0.05, 0.2, 0.5):
        rejected = np.sum(np.array(values) <= level)
        assert 0.001 < stats.binom.cdf(rejected, 300, level) < 0.999


# --- the debiased value and its interval ----------------------------------------------


def margin(variance, n, level=0.95):
    return stats.norm.ppf((1 + level) / 2) * np.sqrt(variance / n)


@pytest.mark.parametrize("n_bins", [1, 15, "auto"])
@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize(("p", "frequency"), [(0.3, 0.5), (0.3, 0.9), (0.6, 0.1)])
def test_error_beyond_doubt_by_hand(n_bins, level, p, frequency):
    # All rows alike, and so wrong that no half of them has another opinion.
    n = 1000
    y = np.arange(n) < n * frequency
    report = CalibrationReport(n_bins=n_bins, confidence_level=level).fit(y, [p] * n)
    gap = abs(p - frequency)
    assert_allclose([report.tace_, report.debiased_tace_], gap)
    # The lower end goes by the larger of observed and predicted variance.
    seen = frequency * (1 - frequency)
    lower = gap - margin(max(seen, p * (1 - p)), n, level)
    assert_allclose(report.interval_[0], lower)
    # The observed value plus its margin, or a lesser bound.
    z = stats.norm.ppf((1 + level) / 2)
    assert gap < report.interval_[1] <= gap + margin(seen, n, level) + z**2 / n
    assert_allclose(report.direction_p_value_, 0, atol=1e-9)


def test_votes_without_doubt():
    # All probabilities are 0 or 1, and a fifth of the votes is wrong.
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=2000)
    votes = np.where(rng.random(2000) < 0.2, (y + 1) % 5, y)
    report = CalibrationReport().fit(y, np.eye(5)[votes])
    assert_allclose(report.debiased_tace_, report.tace_)
    width = 2 * margin(0.2 * 0.8, 2000)
    assert_allclose(np.diff(report.interval_), width, rtol=0.05)
    assert_allclose(report.interval_.mean(), 0.2, atol=width)


@pytest.mark.parametrize("n", [1, 10, 300])
def test_all_right_for_certain_is_no_proof(n):
    # No error in n rows: about the rule of three.
    y = np.arange(n) % 3
    for least in (0, 1e-12, 1e-4):
        proba = np.eye(3)[y] * (1 - 2 * least) + (1 - np.eye(3)[y]) * least
        report = CalibrationReport().fit(y, proba, labels=range(3))
        assert_allclose([report.debiased_tace_, report.interval_[0]], 0, atol=3e-4)
        assert 1 - 0.025 ** (1 / n) <= report.interval_[1] < 4 / n


@given(
    problem=indicator_problems(),
    norm=st.sampled_from(["l1", "l2"]),
    seed=st.integers(0, 2),
    **problem_settings,
)
@settings(deadline=None, max_examples=150)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_order_and_range(problem, norm, seed, threshold, n_bins, ties):
    outcomes, scores, weights = problem
    report = CalibrationReport(
        threshold=threshold,
        n_bins=n_bins,
        ties=ties,
        norm=norm,
        n_draws=20,
        random_state=seed,
    )
    report.fit(outcomes, scores, sample_weight=weights)
    if np.isnan(report.tace_):
        return
    assert 0 < report.p_value_ <= 1
    assert 0 <= report.expected_tace_ <= 1
    bands = report.expected_bins_
    assert (bands["lower"] <= bands["upper"]).all()
    assert (bands["lower"] >= 0).all()
    assert (bands["upper"] <= 1).all()
    if norm == "l1":
        low, high = report.interval_
        assert 0 <= low <= report.debiased_tace_ <= high <= 1
        assert report.debiased_tace_ <= report.tace_
        assert 0 <= report.direction_p_value_ <= 1


@pytest.mark.parametrize(("n", "n_classes"), [(300, 2), (400, 10), (300, 40)])
@pytest.mark.parametrize("power", [1, 1.5])
def test_interval_covers_and_value_does_not_overstate(n, n_classes, power):
    def predicted(truth):
        sharper = truth**power
        return sharper / sharper.sum(axis=1, keepdims=True)

    rng = np.random.default_rng(0)
    # New rows without end, and their true probabilities in place of labels.
    truth = rng.dirichlet(np.full(n_classes, 0.5), size=100_000)
    proba, target = predicted(truth), []
    for p, t in zip(proba.T, truth.T, strict=True):
        kept = np.flatnonzero(p > 0.01)
        bins = np.array_split(kept[np.argsort(p[kept])], 15)
        target.append(np.mean([abs(np.mean(p[b] - t[b])) for b in bins]))
    target = np.mean(target)

    covered, debiased, observed = [], [], []
    for _ in range(40):
        truth = rng.dirichlet(np.full(n_classes, 0.5), size=n)
        report = CalibrationReport(n_draws=1)
        report.fit(drawn(truth, rng), predicted(truth), labels=range(n_classes))
        low, high = report.interval_
        covered.append(low <= target <= high)
        debiased.append(report.debiased_tace_)
        observed.append(report.tace_)
    assert stats.binom.cdf(np.sum(covered), 40, 0.95) > 1e-4
    excess = np.mean(debiased) - target
    error = np.std(debiased) / np.sqrt(40)
    assert excess < (np.mean(observed) - target) / 5 + 3 * error


@pytest.mark.parametrize("n", [30, 100])
def test_few_errors_of_a_confident_model(n):
    # Most samples show no error or one, of a hundredth that there are in truth.
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(60):
        p = rng.uniform(0.997, 0.9999, n)
        report = CalibrationReport(n_draws=1)
        report.fit(rng.random(n) < 0.99, p, labels=[False, True])
        low, high = report.interval_
        covered.append(low <= np.mean([0.997, 0.9999]) - 0.99 <= high)
    assert stats.binom.cdf(np.sum(covered), 60, 0.95) > 1e-4


@pytest.mark.parametrize("n_bins", [1, 2, 15])
def test_little_is_left_of_a_calibrated_model(n_bins):
    # Also where one or two gaps are all there is, and cannot average out.
    rng = np.random.default_rng(0)
    debiased, observed = [], []
    for _ in range(150):
        p = rng.uniform(0.05, 0.95, 100)
        report = CalibrationReport(n_bins=n_bins, n_draws=1).fit(rng.random(100) < p, p)
        debiased.append(report.debiased_tace_)
        observed.append(report.tace_)
    error = np.std(debiased) / np.sqrt(150)
    assert 0 < np.mean(debiased) < np.mean(observed) / 5 + 3 * error


def test_dependence_of_several_labels_widens_the_interval():
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, 500)
    y = (rng.random(500) < p).astype(int)
    # Twenty columns that say the same are no more evidence than two.
    two, many = (
        CalibrationReport().fit(np.tile(y[:, None], k), np.tile(p[:, None], k))
        for k in (2, 20)
    )
    assert_allclose(many.tace_, two.tace_)
    assert_allclose(many.interval_, two.interval_, rtol=0.1, atol=0.002)


def test_ties_are_no_more_evidence_in_more_bins():
    rng = np.random.default_rng(0)
    p = rng.choice([0.2, 0.4, 0.6, 0.8], 1000)
    y = rng.random(1000) < p
    few, many = (CalibrationReport(n_bins=b).fit(y, p) for b in (4, 60))
    assert_allclose(many.interval_, few.interval_, rtol=0.2, atol=0.005)


def test_weights_of_the_same_rows():
    y, proba = calibrated(400, 3)
    proba = proba**2 / (proba**2).sum(axis=1, keepdims=True)
    weights = np.random.default_rng(1).uniform(1, 10, 400)
    report = CalibrationReport().fit(y, proba, sample_weight=weights)
    scaled = CalibrationReport().fit(y, proba, sample_weight=weights / 3)
    for name, value in on_demand(scaled).items():
        if name != "expected_bins_":
            assert_allclose(getattr(report, name), value, rtol=1e-9, atol=1e-9)
    low, high = report.interval_
    assert low < report.debiased_tace_ < high


def test_weights_of_a_class_may_be_out_of_all_proportion():
    p = np.concatenate([np.linspace(0.6, 0.9, 20), np.linspace(0.1, 0.4, 20)])
    y = np.arange(40) % 4 == 0
    weights = np.repeat([1, 1e-170], 20)
    report = CalibrationReport(threshold=0.5).fit(y, p, sample_weight=weights)
    plain = CalibrationReport(threshold=0.5).fit(y, p)
    assert_same_inference(report, plain)


def test_memory_with_one_score_in_all_bins():
    y = np.arange(50_000) % 3 == 0
    report = CalibrationReport(n_bins=500, n_draws=10).fit(y, np.full(50_000, 0.3))
    tracemalloc.start()
    assert report.p_value_ > 0
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6


# --- two reports ----------------------------------------------------------------------


def two_models(n=2000, n_classes=4, power=2, **settings):
    y, proba = calibrated(n, n_classes)
    worse = proba**power
    worse /= worse.sum(axis=1, keepdims=True)
    return [
        CalibrationReport(**settings).fit(y, p, labels=range(n_classes))
        for p in (proba, worse)
    ]


def test_comparison():
    good, bad = two_models()
    comparison = compare(good, bad)
    assert comparison.debiased_tace == (good.debiased_tace_, bad.debiased_tace_)
    assert comparison.difference == good.debiased_tace_ - bad.debiased_tace_
    low, high = comparison.interval
    assert low <= comparison.difference <= high < 0
    assert comparison.confidence_level == 0.95
    text = str(comparison)
    assert f"{comparison.difference:.4f}, 95% interval {low:.4f} to {high:.4f}" in text
    assert text.endswith("the first is better calibrated")
    swapped = compare(bad, good)
    assert_allclose(swapped.interval, [-high, -low])
    assert str(swapped).endswith("the second is better calibrated")
    # Never wider than what the intervals of the two leave open.
    limits = np.subtract(good.interval_, bad.interval_[::-1])
    assert limits[0] <= low
    assert high <= limits[1]


def test_comparison_of_a_model_with_itself():
    good, _ = two_models()
    comparison = compare(good, good)
    assert comparison.difference == 0
    low, high = comparison.interval
    assert low == -high < 0
    assert str(comparison).endswith("do not tell which is better calibrated")


def test_comparison_covers_the_difference():
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(40):
        p = rng.uniform(0.1, 0.9, 400)
        y = rng.random(400) < p
        first, second = (CalibrationReport(n_draws=1).fit(y, q) for q in (p, 0.8 * p))
        low, high = compare(first, second).interval
        # The gap of 0.8 p is 0.2 p, 0.1 on average, in both classes.
        covered.append(low <= 0 - 0.1 <= high)
    assert stats.binom.cdf(np.sum(covered), 40, 0.95) > 1e-4


def test_comparison_of_reports_made_in_batches_and_with_weights():
    y, proba = calibrated(600, 3)
    weights = np.arange(600) % 4 * 1.0
    reports, streamed = [], []
    for p in (proba, proba[:, ::-1]):
        data = {"labels": range(3), "sample_weight": weights}
        reports.append(CalibrationReport().fit(y, p, **data))
        streamed.append(paths.fit("batches", CalibrationReport(), y, p, **data))
    expected = compare(*reports)
    for pair in (streamed, (reports[0], streamed[1])):
        assert_array_equal(compare(*pair).interval, expected.interval)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (lambda y, p: CalibrationReport().fit(y[::-1], p[::-1]), "different rows, or"),
        (lambda y, p: CalibrationReport().fit(y[:-1], p[:-1]), "different rows, or on"),
        (
            lambda y, p: CalibrationReport().fit(y, p, sample_weight=np.arange(1, 201)),
            "different rows.* labels or weights differ",
        ),
        (
            lambda y, p: CalibrationReport(n_bins=10).fit(y, p),
            "differ in n_bins: 15 and 10",
        ),
        (
            lambda y, p: CalibrationReport(threshold=None).fit(y, p),
            "differ in threshold: 0.01 and None",
        ),
        (
            lambda y, p: CalibrationReport(confidence_level=0.9).fit(y, p),
            "differ in confidence_level",
        ),
        (
            lambda y, p: CalibrationReport().fit(np.array(list("abc"))[y], p),
            "differ in their classes",
        ),
        (
            lambda y, p: CalibrationReport(norm="l2").fit(y, p),
            "compare needs debiased values, but .* for norm='l1', not 'l2'",
        ),
        (
            lambda y, p: CalibrationReport(average="weighted").fit(y, p),
            "compare needs debiased values, but .* for average='macro'",
        ),
    ],
)
def test_comparison_of_what_does_not_compare(other, message):
    y, proba = calibrated(200, 3)
    with pytest.raises(ValueError, match=message):
        compare(CalibrationReport().fit(y, proba), other(y, proba))


def test_comparison_with_several_labels_a_row():
    rng = np.random.default_rng(0)
    proba = rng.random((400, 3))
    y = (rng.random((400, 3)) < proba).astype(int)
    # Each keeps other probabilities of the same rows.
    first, second = (
        CalibrationReport(threshold=0.3).fit(y, p) for p in (proba, 1 - proba)
    )
    comparison = compare(first, second)
    assert comparison.interval[1] < 0
    y[7] = 1 - y[7]
    with pytest.raises(ValueError, match="different rows"):
        compare(first, CalibrationReport(threshold=0.3).fit(y, proba))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_comparison_with_a_report_without_value():
    data = {"y": [0, 1, 2], "labels": range(3)}
    first = CalibrationReport(threshold=0.4).fit(proba=np.eye(3), **data)
    second = CalibrationReport(threshold=0.4).fit(proba=np.full((3, 3), 1 / 3), **data)
    with pytest.raises(ValueError, match="TACE of the second report is undefined"):
        compare(first, second)


def test_comparison_takes_fitted_reports():
    y, proba = calibrated(200, 3)
    report = CalibrationReport().fit(y, proba)
    with pytest.raises(TypeError, match="takes two CalibrationReports, got ndarray"):
        compare(report, proba)
    with pytest.raises(NotFittedError):
        compare(report, CalibrationReport())


# --- when it is computed, and from what ----------------------------------------------


def test_only_the_asking_computes_it():
    y, proba = calibrated(100, 3)
    report = CalibrationReport().fit(y, proba)
    repr(report)
    report._repr_html_()
    report._repr_mimebundle_()
    estimator_html_repr(report)
    dir(report)
    clone(report)
    copies = [pickle.loads(pickle.dumps(report)), copy.deepcopy(report)]
    report.sensitivity(n_bins=[5, 10])
    for one in (report, *copies):
        assert not set(paths.ON_DEMAND) & set(vars(one))
    print(report)
    assert set(paths.ON_DEMAND) <= set(vars(report))
    for one in copies:
        assert_same_inference(one, report)


def test_it_is_dropped_with_the_rows_it_was_computed_from():
    y, proba = calibrated(200, 3)
    report = CalibrationReport().fit(y[:100], proba[:100])
    first = report.expected_tace_
    report.partial_fit(y[100:], proba[100:])
    assert report.expected_tace_ < first
    assert_same_inference(report, CalibrationReport().fit(y, proba))
    assert report.fit(y[:100], proba[:100]).expected_tace_ == first


@pytest.mark.parametrize("path", [path for path in paths.PATHS if path != "merged"])
@pytest.mark.parametrize("ties", ["average", "ordinal"])
@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.filterwarnings("ignore:The y_proba values do not sum to one")
def test_same_inference_on_every_path(path, ties, is_weighted):
    y, proba = calibrated(80, 4)
    proba = (16 * proba).round() / 16  # ties, zeros and exact sums
    weights = np.arange(80) % 5 * 1.0 if is_weighted else None
    report = CalibrationReport(threshold=0.05, n_bins=4, ties=ties, n_draws=50)
    other = clone(report)
    paths.fit(path, report, y, proba, sample_weight=weights, labels=range(4))
    other.fit(y, proba, sample_weight=weights, labels=range(4))
    assert_same_inference(report, other)


def test_merged_in_the_order_of_the_rows():
    y, proba = calibrated(90, 3)
    merged = CalibrationReport()
    for rows in np.array_split(np.arange(90), 4):
        part = CalibrationReport().fit(y[rows], proba[rows], labels=range(3))
        merged.merge(part)
    assert_same_inference(merged, CalibrationReport().fit(y, proba))


def test_rows_of_weight_zero_are_absent_and_equal_weights_are_none():
    y, proba = calibrated(120, 3)
    weights = np.where(np.arange(120) % 3, 2.5, 0)
    kept = weights > 0
    plain = CalibrationReport().fit(y[kept], proba[kept], labels=range(3))
    weighted = CalibrationReport().fit(y, proba, sample_weight=weights)
    assert_same_inference(weighted, plain)


def test_random_state():
    y, proba = calibrated(100, 3)

    def expected(random_state):
        report = CalibrationReport(random_state=random_state, n_draws=100)
        return report.fit(y, proba).expected_tace_

    assert (
        expected(0)
        == expected(0)
        == CalibrationReport(n_draws=100).fit(y, proba).expected_tace_
    )
    assert expected(1) != expected(0)
    many = CalibrationReport(n_draws=np.int8(100)).fit(y, proba)
    assert many.expected_tace_ == expected(0)
    assert expected(np.int64(1)) == expected(1)
    assert expected(np.random.RandomState(7)) == expected(np.random.RandomState(7))
    assert expected(np.random.default_rng(7)) == expected(np.random.default_rng(7))
    assert expected(None) != expected(None)


# --- what it is not for --------------------------------------------------------------


@pytest.mark.parametrize("name", paths.ON_DEMAND[-3:])
def test_interval_of_other_norms_is_refused(name):
    y, proba = calibrated(50, 3)
    report = CalibrationReport(norm="max").fit(y, proba)
    assert report.p_value_ > 0
    with pytest.raises(AttributeError, match=f"{name} is for norm='l1', not 'max'"):
        getattr(report, name)
    assert not hasattr(report, name)


@pytest.mark.parametrize("name", paths.ON_DEMAND)
def test_weighted_average_is_refused(name):
    y, proba = calibrated(50, 3)
    report = CalibrationReport(average="weighted").fit(y, proba)
    with pytest.raises(
        AttributeError, match=f"{name} is for average='macro', not 'weighted'"
    ):
        getattr(report, name)
    assert not hasattr(report, name)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"confidence_level": 1.0}, ValueError, "0 < confidence_level < 1, got 1.0"),
        ({"confidence_level": 95}, ValueError, "0 < confidence_level < 1, got 95"),
        ({"confidence_level": float("nan")}, ValueError, "confidence_level"),
        ({"confidence_level": "95%"}, TypeError, "confidence_level must be a number"),
        ({"confidence_level": True}, TypeError, "confidence_level must be a number"),
        ({"n_draws": 0}, ValueError, "n_draws == 0, must be >= 1"),
        ({"n_draws": 10.0}, TypeError, "n_draws must be an instance of int"),
        ({"n_draws": True}, TypeError, "n_draws must be an integer, got True"),
        ({"random_state": -1}, ValueError, "0 <= random_state < 2[*][*]32, got -1"),
        ({"random_state": 2**32}, ValueError, "random_state"),
        ({"random_state": "0"}, TypeError, "random_state must be an integer, a numpy"),
        ({"random_state": False}, TypeError, "random_state must be an integer, a nu"),
    ],
)
def test_wrong_parameters(parameters, error, message):
    y, proba = calibrated(20, 2)
    report = CalibrationReport(**parameters)
    for fit in (report.fit, report.partial_fit):
        classes = {"classes": [0, 1]} if fit == report.partial_fit else {}
        with pytest.raises(error, match=message):
            fit(y, proba, **classes)
    with pytest.raises(error, match=message):
        report.merge(CalibrationReport().fit(y, proba))


def overconfident(n, n_classes):
    y, proba = calibrated(n, n_classes)
    proba = proba**1.6
    return y, proba / proba.sum(axis=1, keepdims=True)


def test_interval_of_a_class_is_that_of_its_column_alone():
    y, proba = overconfident(n=2000, n_classes=5)
    report = CalibrationReport(n_bins=8).fit(y, proba)
    table = report.class_intervals()
    assert table.dtype.names == ("class", "debiased_tace", "lower", "upper")
    assert table["class"].tolist() == list(range(5))
    for k, row in enumerate(table):
        # An indicator whose second column has nothing above the threshold.
        columns = np.zeros((2, 2000, 2))
        columns[0, :, 0], columns[1, :, 0] = y == k, proba[:, k]
        alone = CalibrationReport(n_bins=8).fit(columns[0], columns[1])
        assert alone.tace_ == report.class_tace_[k]
        # Other splits of the rows give nearly the same.
        assert_allclose(row["debiased_tace"], alone.debiased_tace_, atol=0.01)
        assert_allclose([row["lower"], row["upper"]], alone.interval_, atol=0.008)
        assert 0 <= row["lower"] <= row["debiased_tace"] <= row["upper"] <= 1
        assert row["debiased_tace"] <= report.class_tace_[k]


def test_intervals_of_chosen_classes():
    y, proba = overconfident(n=500, n_classes=4)
    proba = np.column_stack([proba, np.zeros(500)])
    labels = list("abcde")
    report = CalibrationReport().fit(np.array(labels)[y], proba, labels=labels)
    table = report.class_intervals(["c", "e"])
    assert table["class"].tolist() == ["c", "e"]
    assert np.isnan(table[1].tolist()[1:]).all()
    assert_array_equal(report.class_intervals("c"), table[:1])
    fresh = CalibrationReport().fit(y, proba[:, :4]).class_intervals([2])
    assert_array_equal(report.class_intervals(["a", "c"])[1:], table[:1])
    assert_array_equal(report.fit(y, proba[:, :4]).class_intervals(2), fresh)
    assert not {"interval_", "p_value_"} & set(vars(report))
    with pytest.raises(ValueError, match="classes contains \\['x'\\]; the report has"):
        report.class_intervals(["x"])
    with pytest.raises(ValueError, match="duplicates"):
        report.class_intervals(["a", "a"])
    report.set_params(norm="l2").fit(y, proba, labels=range(5))
    with pytest.raises(ValueError, match="class_intervals is for norm='l1'"):
        report.class_intervals()


def test_expected_value_of_other_settings():
    y, proba = overconfident(n=1000, n_classes=5)
    report = CalibrationReport().fit(y, proba)
    grid = {"thresholds": [0.01, 0.1, 1 - 1e-9], "n_bins": [15, 5]}
    with pytest.warns(match="undefined"):
        table = report.sensitivity(**grid, expected=True)
    with pytest.warns(match="undefined"):
        plain = report.sensitivity(**grid)
    for name in plain.dtype.names:
        assert_array_equal(table[name], plain[name])
    for row in table[:4]:
        other = CalibrationReport(threshold=row["threshold"], n_bins=int(row["n_bins"]))
        expected = other.fit(y, proba).expected_tace_
        assert_allclose(row["expected_tace"], expected, rtol=0.05)
    assert np.isnan(table["expected_tace"][4:]).all()
    report = CalibrationReport(average="weighted").fit(y, proba)
    with pytest.raises(ValueError, match="expected=True is for average='macro'"):
        report.sensitivity(expected=True)
