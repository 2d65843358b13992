"""The values: exact cases, an independent reference, and the laws of the definition."""

import json
from pathlib import Path

import numpy as np
import paths
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_tace import CalibrationReport, tace_error

CASES = json.loads(Path(__file__).with_name("cases.json").read_text())


def or_nan(value):
    return np.nan if value is None else value


@pytest.mark.filterwarnings("ignore:The y_proba values do not sum to one:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize("path", paths.PATHS)
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_cases_in_exact_arithmetic(case, path):
    y, proba = case["y_true"], np.array(case["y_proba"], dtype=case["dtype"])
    settings = {name: case[name] for name in ("threshold", "n_bins", "ties", "norm")}
    data = {"labels": case["labels"], "sample_weight": case["sample_weight"]}
    report = paths.fit(path, CalibrationReport(**settings), y, proba, **data)
    assert_array_equal(tace_error(y, proba, **settings, **data), report.tace_)

    close = {"rtol": 0, "atol": 1e-12}
    assert_allclose(report.tace_, or_nan(case["tace"]), **close)
    assert_allclose(
        report.class_tace_, [or_nan(e) for e in case["class_tace"]], **close
    )
    assert_array_equal(report.n_kept_, case["n_kept"])
    assert_array_equal(report.dropped_positives_, case["dropped_positives"])
    for label, expected in zip(report.classes_, case["bins"], strict=True):
        bins = report.bins_[report.bins_["class"] == label]
        assert len(bins) == len(expected)
        if not len(bins):
            continue
        share = bins["weight"] / bins["weight"].sum()
        assert_allclose(share, [b["weight_share"] for b in expected], **close)
        for name in ("mean_proba", "observed_frequency", "gap"):
            assert_allclose(bins[name], [b[name] for b in expected], **close)


def test_worked_example_by_hand():
    proba = np.array([0.01, 0.03, 0.10, 0.40, 0.60, 0.80])
    report = CalibrationReport(threshold=0.05, n_bins=2).fit([0, 0, 0, 0, 1, 1], proba)
    bins = report.bins_[report.bins_["class"] == 1]
    assert_allclose(bins["lower"], [0.10, 0.60])
    assert_allclose(bins["upper"], [0.40, 0.80])
    assert_allclose(bins["mean_proba"], [0.25, 0.70])
    assert_allclose(bins["observed_frequency"], [0, 1])
    assert_allclose(bins["gap"], [0.25, 0.30])
    assert_array_equal(bins["count"], [2, 2])
    assert_allclose(report.class_tace_[1], 0.275)


@st.composite
def indicator_problems(draw, weighted=True):
    """Outcomes, scores on a coarse grid (many ties) or a fine one, and weights."""
    n = draw(st.integers(1, 25))
    n_classes = draw(st.integers(2, 4))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    grid = draw(st.sampled_from([4, 32, 2**40]))
    scores = rng.integers(0, grid, size=(n, n_classes), endpoint=True) / grid
    scores = scores.astype(draw(st.sampled_from([np.float32, np.float64])))
    outcomes = rng.integers(0, 2, size=(n, n_classes))
    weights = None
    if weighted and draw(st.booleans()):
        kind = draw(st.sampled_from(["small integers", "any"]))
        if kind == "any":
            weights = rng.lognormal(sigma=2, size=n)
        else:
            weights = rng.integers(0, 4, size=n).astype(float)
            weights[rng.integers(n)] = 1
    return outcomes, scores, weights


problem_settings = {
    "threshold": st.sampled_from([None, 0, 0.01, 0.25, 0.5, 0.9]),
    "n_bins": st.sampled_from([1, 2, 3, 5, 15, 40, "auto"]),
    "ties": st.sampled_from(["average", "ordinal"]),
}


@given(
    problem=indicator_problems(),
    path=st.sampled_from(list(paths.PATHS)),
    norm=st.sampled_from(["l1", "l2", "max"]),
    **problem_settings,
)
@settings(deadline=None, max_examples=400)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_class_errors_against_reference(problem, path, norm, threshold, n_bins, ties):
    outcomes, scores, weights = problem
    report = CalibrationReport(threshold=threshold, n_bins=n_bins, ties=ties, norm=norm)
    got = paths.fit(path, report, outcomes, scores, sample_weight=weights).class_tace_
    expected = reference.class_errors(
        outcomes.tolist(),
        scores.tolist(),
        threshold=threshold
        if threshold is None
        else float(scores.dtype.type(threshold)),
        n_bins=n_bins,
        ties=ties,
        norm=norm,
        weights=None if weights is None else weights.tolist(),
    )
    # The root of a mean square turns 1e-17 into 3e-9 near 0.
    atol = 1e-12 if norm != "l2" else 1e-8
    assert_allclose(got, [or_nan(e) for e in expected], rtol=1e-12, atol=atol)


@pytest.mark.parametrize("m", [*range(1, 10), 26, 27, 28, 124, 125, 999, 1000, 29_791])
def test_auto_bins_follow_the_survivors_of_each_class(m):
    report = CalibrationReport(n_bins="auto")
    weights = [1] * m + [0] * 5  # rows without weight do not count
    report.fit([0] * (m + 5), [0.4] * (m + 5), labels=[0, 1], sample_weight=weights)
    assert len(report.bins_) == 2 * reference.auto_bins(m)
    assert not len(report.thin_classes_)


@given(
    problem=indicator_problems(),
    average=st.sampled_from(["macro", "weighted"]),
    **problem_settings,
)
@settings(deadline=None, max_examples=100)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_value_and_bins_follow_from_each_other(
    problem, average, threshold, n_bins, ties
):
    outcomes, scores, weights = problem
    settings = {"threshold": threshold, "n_bins": n_bins, "ties": ties}
    report = CalibrationReport(**settings, average=average)
    report.fit(outcomes, scores, sample_weight=weights)
    errors = tace_error(
        outcomes, scores, **settings, average=None, sample_weight=weights
    )
    assert_array_equal(report.class_tace_, errors)

    weights = np.ones(len(scores)) if weights is None else weights
    mass_of_class = np.zeros(scores.shape[1])
    for k in range(scores.shape[1]):
        bins = report.bins_[report.bins_["class"] == k]
        kept = (weights > 0) & (
            True if threshold is None else scores[:, k] > scores.dtype.type(threshold)
        )
        assert report.n_kept_[k] == kept.sum()
        n_asked = reference.auto_bins(kept.sum()) if n_bins == "auto" else n_bins
        assert len(bins) == min(n_asked, kept.sum())
        if not len(bins):
            assert np.isnan(errors[k])
            continue
        assert_array_equal(bins["bin"], np.arange(len(bins)))
        assert_allclose(bins["gap"].mean(), errors[k])
        assert_allclose(bins["weight"].sum(), weights[kept].sum())
        for name, value in (
            ("mean_proba", scores[kept, k]),
            ("observed_frequency", outcomes[kept, k]),
        ):
            assert_allclose(
                np.average(bins[name], weights=bins["weight"]),
                np.average(value.astype(float), weights=weights[kept]),
                atol=1e-12,
            )
        assert bins["lower"][0] == scores[kept, k].min()
        assert bins["upper"][-1] == scores[kept, k].max()
        assert (bins["lower"] <= bins["mean_proba"] + 1e-12).all()
        assert (bins["mean_proba"] <= bins["upper"] + 1e-12).all()
        assert (bins["upper"][:-1] <= bins["lower"][1:]).all()
        mass_of_class[k] = weights @ outcomes[:, k]
    expected = reference.tace(
        [None if np.isnan(e) else e for e in errors],
        mass_of_class if average == "weighted" else None,
    )
    assert_allclose(report.tace_, or_nan(expected))


@given(problem=indicator_problems(weighted=False), **problem_settings)
@settings(deadline=None, max_examples=60)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_equal_weights_are_no_weights(problem, threshold, n_bins, ties):
    outcomes, scores, _ = problem
    settings = {"threshold": threshold, "n_bins": n_bins, "ties": ties, "average": None}
    plain = tace_error(outcomes, scores, **settings)
    for weight in (1, 0.3, 7, 1e-300, 1e300):
        weights = np.full(len(scores), weight, dtype=float)
        weighted = tace_error(outcomes, scores, **settings, sample_weight=weights)
        assert_array_equal(weighted, plain)


@given(problem=indicator_problems(), **problem_settings)
@settings(deadline=None, max_examples=60)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_weights_have_no_scale_and_zero_is_absence(problem, threshold, n_bins, ties):
    outcomes, scores, weights = problem
    weights = np.ones(len(scores)) if weights is None else weights
    settings = {"threshold": threshold, "n_bins": n_bins, "ties": ties}

    def report(rows=slice(None), factor=1):
        return CalibrationReport(**settings).fit(
            outcomes[rows], scores[rows], sample_weight=factor * weights[rows]
        )

    full = report()
    for factor in (0.1, 7, 1e-200):
        assert_allclose(report(factor=factor).class_tace_, full.class_tace_, atol=1e-12)
    paths.assert_same_report(report(rows=weights > 0), full)


@given(problem=indicator_problems(), seed=st.integers(0, 100), **problem_settings)
@settings(deadline=None, max_examples=60)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_row_order_changes_nothing(problem, seed, threshold, n_bins, ties):
    outcomes, scores, weights = problem
    settings = {"threshold": threshold, "n_bins": n_bins, "ties": "average"}
    order = np.random.default_rng(seed).permutation(len(scores))
    full = CalibrationReport(**settings).fit(outcomes, scores, sample_weight=weights)
    shuffled = CalibrationReport(**settings).fit(
        outcomes[order],
        scores[order],
        sample_weight=None if weights is None else weights[order],
    )
    assert_array_equal(shuffled.bins_, full.bins_)
    assert_array_equal(shuffled.class_tace_, full.class_tace_)


@given(problem=indicator_problems(), seed=st.integers(0, 100), **problem_settings)
@settings(deadline=None, max_examples=60)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_columns_permuted_with_their_labels(problem, seed, threshold, n_bins, ties):
    outcomes, scores, weights = problem
    settings = {"threshold": threshold, "n_bins": n_bins, "ties": ties, "average": None}
    order = np.random.default_rng(seed).permutation(scores.shape[1])
    errors = tace_error(outcomes, scores, **settings, sample_weight=weights)
    permuted = tace_error(
        outcomes[:, order], scores[:, order], **settings, sample_weight=weights
    )
    assert_array_equal(permuted, errors[order])


def softmax_problem(n=200, n_classes=5, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(n_classes, 0.3), size=n).astype(dtype)
    y = np.array([rng.choice(n_classes, p=p / p.sum()) for p in proba.astype(float)])
    return y, proba


@pytest.mark.parametrize("weighted", [False, True])
def test_one_hot_equals_labels(weighted):
    y, proba = softmax_problem()
    weights = np.random.default_rng(1).random(len(y)) if weighted else None
    labels = ["e", "d", "c", "b", "a"]
    by_label = CalibrationReport().fit(
        np.array(labels)[y], proba, labels=labels, sample_weight=weights
    )
    one_hot = (y[:, None] == np.arange(5)).astype(int)
    by_column = CalibrationReport().fit(
        one_hot, proba, labels=labels, sample_weight=weights
    )
    paths.assert_same_report(by_label, by_column)


@pytest.mark.parametrize("threshold", [None, 0, 0.05, 0.3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ties", ["average", "ordinal"])
def test_one_column_against_two(threshold, dtype, ties):
    rng = np.random.default_rng(0)
    p = rng.random(300).round(3)
    y = (rng.random(300) < p).astype(int)
    column = p.astype(dtype)
    pair = np.column_stack([1 - p, p])
    if threshold:
        # Scores within round-off of the threshold may differ, by definition.
        keep = abs(pair - threshold).min(axis=1) > 1e-6
        column, pair, y = column[keep], pair[keep], y[keep]
    settings = {"threshold": threshold, "ties": ties}
    one = CalibrationReport(**settings).fit(y, column)
    two = CalibrationReport(**settings).fit(y, pair)
    matrix = CalibrationReport(**settings).fit(y, column[:, None])
    assert_array_equal(one.n_kept_, two.n_kept_)
    assert_allclose(one.class_tace_, two.class_tace_, atol=1e-7)
    assert_array_equal(matrix.bins_, one.bins_)
    assert one.kept_mass_ <= 1
    assert threshold is not None or one.kept_mass_ == 1


def test_first_column_of_one_is_filtered_at_the_precision_of_the_scores():
    # 1 - 0.95 is 0.05: dropped at 0.05, in every precision.
    for dtype in (np.float16, np.float32, np.float64):
        p = np.array([0.95, 0.2, 0.6], dtype=dtype)
        report = CalibrationReport(threshold=0.05, n_bins=1).fit([1, 1, 0], p)
        assert_array_equal(report.n_kept_, [2, 3])


def test_the_complement_is_taken_in_double_precision():
    p = np.array([0.9996, 0.3], dtype=np.float16)
    report = CalibrationReport(threshold=None, n_bins=2).fit([1, 0], p)
    expected = 1 - p.astype(float)
    assert_array_equal(report.bins_["lower"][:2], np.sort(expected))


@pytest.mark.parametrize("threshold", [0.05, 0.1, 0.2])
def test_threshold_is_compared_at_the_precision_of_the_scores(threshold):
    for dtype in (np.float16, np.float32, np.float64, ">f4", np.longdouble):
        proba = np.array([[threshold, 1 - threshold], [0.5, 0.5]]).astype(dtype)
        report = CalibrationReport(threshold=threshold).fit([0, 1], proba)
        assert report.n_kept_[0] == 1


def test_zero_threshold_drops_exact_zeros_and_none_keeps_them():
    y, p = [0, 1, 0, 1], [0, 0, 0.5, 1]
    assert CalibrationReport(threshold=0).fit(y, p).n_kept_[1] == 2
    assert CalibrationReport(threshold=None).fit(y, p).n_kept_[1] == 4
    assert_allclose(tace_error(y, p, threshold=None, n_bins=2), 0.375)


def test_class_without_a_row_counts_and_class_without_a_survivor_does_not():
    proba = [[0.5, 0.3, 0.2, 0], [0.2, 0.6, 0.2, 0], [0.7, 0.2, 0.1, 0]]
    errors = tace_error([0, 1, 0], proba, labels=range(4), n_bins=1, average=None)
    assert_allclose(errors, [0.2, 1 / 30, 1 / 6, np.nan])
    value = tace_error([0, 1, 0], proba, labels=range(4), n_bins=1)
    assert_allclose(value, np.mean(errors[:3]))


def test_weighted_average_uses_the_support_before_the_filter():
    # Class 0 has two rows, one of them dropped; class 2 has no survivor.
    proba = np.array([[0.005, 0.995, 0], [0.6, 0.4, 0], [0.3, 0.7, 0], [0.2, 0.8, 0]])
    y = [0, 0, 1, 2]
    errors = tace_error(y, proba, n_bins=1, average=None)
    assert np.isnan(errors[2])
    plain = tace_error(y, proba, n_bins=1, average="weighted")
    assert_allclose(plain, (2 * errors[0] + 1 * errors[1]) / 3)
    weights = [5, 1, 2, 9]
    errors = tace_error(y, proba, n_bins=1, average=None, sample_weight=weights)
    weighted = tace_error(y, proba, n_bins=1, average="weighted", sample_weight=weights)
    assert_allclose(weighted, (6 * errors[0] + 2 * errors[1]) / 8)


def test_weighted_average_without_support_is_undefined():
    with pytest.warns(
        UndefinedMetricWarning, match="no class with survivors has a row"
    ):
        value = tace_error(
            ["b"], [[0.999, 0.001]], labels=["a", "b"], average="weighted"
        )
    assert np.isnan(value)


@pytest.mark.parametrize("scores", ["one column", "two columns", "indicator"])
def test_nothing_above_the_threshold_is_undefined(scores):
    y = [0, 1]
    proba = np.array([[0.4, 0.6], [0.5, 0.5]])
    threshold = 0.625
    if scores == "one column":
        proba = proba[:, 1]
    if scores == "indicator":
        y = np.eye(2)
    message = "above threshold=0.625; the largest is 0.6. .*nan"
    with pytest.warns(UndefinedMetricWarning, match=message):
        value = tace_error(y, proba, threshold=threshold)
    assert np.isnan(value)
    with pytest.warns(UndefinedMetricWarning, match=message):
        errors = tace_error(y, proba, threshold=threshold, average=None)
    assert_array_equal(errors, [np.nan, np.nan])


def test_weight_two_is_not_a_duplicated_row():
    once = tace_error([0, 0, 1], [0.2, 0.6, 0.9], n_bins=2, sample_weight=[2, 1, 1])
    twice = tace_error([0, 0, 0, 1], [0.2, 0.2, 0.6, 0.9], n_bins=2)
    assert_allclose(once, 0.203125)
    assert_allclose(twice, 0.225)


def test_calibrated_predictions_tend_to_zero_and_distorted_ones_do_not():
    sizes = (200, 2_000, 20_000)
    calibrated, distorted = [], []
    for n in sizes:
        p = np.random.default_rng(0).random(n)
        y = (np.random.default_rng(1).random(n) < p).astype(int)
        calibrated.append(tace_error(y, p))
        # E |p - p**2| over a uniform p above the threshold is about 1/6.
        distorted.append(tace_error((np.random.default_rng(2).random(n) < p**2) + 0, p))
    assert calibrated[0] > calibrated[1] > calibrated[2]
    assert calibrated[2] < 0.02
    assert_allclose(distorted[2], 1 / 6, atol=0.01)


@pytest.mark.parametrize("n", [1, 3, 1000])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
def test_blocks_do_not_show(monkeypatch, n, weighted, order):
    y, proba = softmax_problem(n=n)
    proba = np.asarray(proba, order=order)
    weights = np.random.default_rng(0).integers(0, 3, n) + (n < 5) if weighted else None
    data = {"labels": range(5), "sample_weight": weights}
    whole = CalibrationReport().fit(y, proba, **data)
    monkeypatch.setattr("sklearn_tace.core.dense._TILE_BYTES", 100)
    blocks = CalibrationReport().fit(y, proba, **data)
    assert_array_equal(whole.bins_, blocks.bins_)
    assert_array_equal(whole.dropped_positives_, blocks.dropped_positives_)
    assert_allclose(whole.kept_mass_, blocks.kept_mass_)


@pytest.mark.parametrize("unit", [[1, 3], [1, 10], [1, 1.5], [0.7, 0.3]])
def test_cuts_between_blocks_stay_there_with_weights(unit):
    # Fifteen blocks of equal scores and weight: every bin is a block.
    p = np.repeat(np.linspace(0.02, 0.98, 15), 2000)
    y = (np.random.default_rng(0).random(len(p)) < p).astype(int)
    weights = np.tile(unit, len(p) // 2)
    report = CalibrationReport().fit(y, p, sample_weight=weights)
    assert report.tied_classes_.tolist() == []
    assert (report.bins_["count"] == 2000).all()
    assert_array_equal(report.bins_["lower"], report.bins_["upper"])


def test_cuts_between_blocks_stay_there_in_large_classes():
    # 4 : 2 : 1 rows of weight 1 : 2 : 4, the same weight in each block.
    k = 30_000
    rows = [4 * k, 2 * k, k]
    p, weights = np.repeat([0.25, 0.5, 0.75], rows), np.repeat([0.1, 0.2, 0.4], rows)
    report = CalibrationReport(n_bins=3)
    report.fit(np.arange(len(p)) % 2, p, sample_weight=weights)
    assert report.tied_classes_.tolist() == []
    assert report.bins_["count"].tolist() == rows[::-1] + rows


def test_row_order_with_weights_that_sum_to_one():
    for seed in range(50):
        rng = np.random.default_rng(seed)
        n = 500
        weights = rng.random(n)
        weights /= weights.sum()
        p, y = rng.integers(0, 9, n) / 8, rng.integers(0, 2, n)
        order = rng.permutation(n)
        full, shuffled = (
            tace_error(y[i], p[i], threshold=None, sample_weight=weights[i])
            for i in (slice(None), order)
        )
        assert full == shuffled


@pytest.mark.parametrize("weight", [[8e307, 8e307], [5e-324, 1]])
def test_weighted_average_of_extreme_weights(weight):
    y, proba = np.ones((2, 2), dtype=int), [[0.5, 0.4], [0.6, 0.3]]
    errors = tace_error(y, proba, n_bins=1, sample_weight=weight, average=None)
    value = tace_error(y, proba, n_bins=1, sample_weight=weight, average="weighted")
    assert_allclose(value, errors.mean())


def test_rows_too_light_to_move_a_cut_are_in_the_table():
    report = CalibrationReport(n_bins=1).fit(
        [0, 1, 0, 1], [0.1, 0.5, 0.6, 0.95], sample_weight=[1e-30, 1, 1, 1e-30]
    )
    bins = report.bins_[report.bins_["class"] == 1]
    assert bins["count"] == 4
    assert (bins["lower"], bins["upper"]) == (0.1, 0.95)
    assert_allclose(bins["mean_proba"], 0.55)


def test_columns_in_any_memory_order():
    y, proba = softmax_problem(n=700, n_classes=40, dtype=np.float32)
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    for weight in (None, weights):
        for threshold in (None, 0.01):
            reports = [
                CalibrationReport(threshold=threshold, ties="ordinal").fit(
                    y, scores, labels=range(40), sample_weight=weight
                )
                for scores in (proba, np.asfortranarray(proba), proba[:, ::-1][:, ::-1])
            ]
            for report in reports[1:]:
                assert_array_equal(report.bins_, reports[0].bins_)
                assert_allclose(report.kept_mass_, reports[0].kept_mass_)


def test_tiny_weights_beside_large_ones():
    rng = np.random.default_rng(0)
    p, y = rng.random(50), rng.integers(0, 2, 50)
    weights = np.where(np.arange(50) % 2, 1, 1e-320)
    error = tace_error(y, p, sample_weight=weights)
    assert_allclose(error, tace_error(y, p, sample_weight=np.maximum(weights, 1e-200)))
