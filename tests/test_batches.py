"""Rows in batches that can be read again, held or summed up: the numbers of a fit."""

import base64
import copy
import io
import json
import pickle

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from paths import ON_DEMAND, assert_same_report
from scipy.special import softmax
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, UndefinedMetricWarning
from summed_up import (
    CLOSE,
    FEW_BINS,
    LITTLE,
    SETTINGS,
    assert_exact,
    exact_problem,
    grid_problem,
    indicator_problem,
    is_condensed,
    odd_problem,
    problem,
    two_classes,
)
from test_definition import indicator_problems, problem_settings

from sklearn_tace import CalibrationReport, compare

# Bytes that a group of scores takes, in MiB, as the share of it all that they may.
GROUP = 8 * 64 / 2**20


def batches_of(y, proba, weight=None, n_batches=7):
    """Uneven batches."""
    n = len(y)
    ends = sorted({n * k**2 // n_batches**2 for k in range(1, n_batches)} - {0, n})
    return [
        (y[rows], proba[rows], *(() if weight is None else (weight[rows],)))
        for rows in np.split(np.arange(n), ends)
    ]


def classes_of(y):
    return np.unique(y) if y.ndim == 1 else None


def held_and_condensed(y, proba, weight=None, *, memory=LITTLE, **params):
    """Reports from batches, under the limit and beyond it, and one from all rows."""
    params = FEW_BINS | params
    data = batches_of(y, proba, weight), classes_of(y)
    plain = CalibrationReport(**params)
    plain.fit(y, proba, labels=data[1], sample_weight=weight)
    held = CalibrationReport.from_batches(data[0], labels=data[1], **params)
    with config_context(working_memory=memory):
        summed = CalibrationReport.from_batches(data[0], labels=data[1], **params)
    assert not is_condensed(held)
    assert is_condensed(summed)
    return held, summed, plain


def assert_same_numbers(y, proba, weight=None, **options):
    held, summed, plain = held_and_condensed(y, proba, weight, **options)
    assert_same_report(held, plain, **{} if weight is None else CLOSE)
    assert_same_report(summed, plain, **CLOSE)
    assert summed.classes_.dtype == plain.classes_.dtype


def condensed(**params):
    y, proba = problem()
    with config_context(working_memory=LITTLE):
        return CalibrationReport.from_batches(
            batches_of(y, proba), labels=range(5), **FEW_BINS | params
        )


# --- the same numbers ---------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_labels_at_any_precision(dtype):
    y, proba = problem(dtype=dtype)
    assert_same_numbers(y, proba)
    assert_same_numbers(np.array(list("abcde"))[y], proba)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("shape", ["one dimension", "one column", "two columns"])
def test_two_classes(dtype, shape):
    y, proba = two_classes(dtype, shape)
    assert_same_numbers(y, proba)


def test_inference_is_that_of_a_fit():
    y, proba = problem(n=600)
    report = CalibrationReport.from_batches(
        batches_of(y, proba), labels=range(5), **FEW_BINS
    )
    plain = CalibrationReport(**FEW_BINS).fit(y, proba)
    for name in ON_DEMAND:
        assert_array_equal(getattr(report, name), getattr(plain, name), err_msg=name)


@pytest.mark.parametrize("kind", ["any", "zeros", "equal", "a few"])
def test_weights(kind):
    y, proba = problem()
    rng = np.random.default_rng(1)
    weight = {
        "any": rng.lognormal(sigma=3, size=len(y)),
        "zeros": rng.integers(0, 3, len(y)).astype(float),
        "equal": np.full(len(y), 0.1),
        "a few": rng.choice([0.1, 0.2, 0.7], len(y)),
    }[kind]
    weight[:500] *= kind != "zeros"
    assert_same_numbers(y, proba, weight, memory=0.1)


def test_weights_of_extreme_size():
    y, proba = problem()
    weight = np.random.default_rng(1).lognormal(size=len(y))
    for factor in (1e-200, 1e290):
        assert_same_numbers(y, proba, weight * factor, memory=0.1)
    with pytest.raises(ValueError, match="too small for sums.*scale the weights"):
        held_and_condensed(y, proba, weight * 1e-290, memory=0.1)


@pytest.mark.parametrize("memory", [1024, 0.1])
def test_weights_of_some_batches_only(memory):
    y, proba = problem()
    weight = np.random.default_rng(1).lognormal(size=len(y))
    weight[1000:] = 1
    batches = [
        (y[:600], proba[:600], weight[:600]),
        (y[600:1000], proba[600:1000], weight[600:1000]),
        (y[1000:1500], proba[1000:1500]),
        (y[1500:], proba[1500:], None),
    ]
    plain = CalibrationReport(**FEW_BINS).fit(y, proba, sample_weight=weight)
    for order in (batches, batches[::-1]):
        with config_context(working_memory=memory):
            report = CalibrationReport.from_batches(order, labels=range(5), **FEW_BINS)
        assert is_condensed(report) == (memory < 1)
        assert_same_report(report, plain, **CLOSE)
        assert "(weighted)" in str(report)


def test_indicators():
    outcomes, proba = indicator_problem()
    assert_same_numbers(outcomes, proba)
    weight = np.random.default_rng(1).lognormal(size=4000)
    assert_same_numbers(outcomes, proba, weight, memory=0.08)


@pytest.mark.parametrize(("params", "memory"), SETTINGS, ids=str)
def test_settings(params, memory):
    assert_same_numbers(*problem(), memory=memory, **params)


@pytest.mark.parametrize("n_bins", [1, 2, 3, 17, 100, 499, "auto"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_number_of_bins(n_bins, dtype):
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 0.5, 30_000).astype(dtype)
    y = (rng.random(len(p)) < p**2).astype(int)
    n_cuts = 2 * (30 if n_bins == "auto" else n_bins)
    params = {"n_bins": n_bins, "threshold": 0}
    if isinstance(n_bins, int) and n_bins > 50:
        # Groups enough for so many cuts are not fewer bytes than the scores: wait.
        p, y = np.tile(p, 10), np.tile(y, 10)
    assert_same_numbers(y, p, memory=(2 * n_cuts + 10) * GROUP, **params)


def crowds(kind, n=6000):
    rng = np.random.default_rng(0)
    u = rng.random(n)
    near_1 = 1 - 10 ** -rng.uniform(1, 12, n)
    middle = 0.5 + 1e-9 * (u - 0.5)
    return {
        "near 1": near_1,
        "nearest to 1": 1 - rng.integers(0, 2000, n) * 2.0**-53,
        "near 0": 10 ** -rng.uniform(1, 300, n),
        "the middle": middle,
        "a few bits": 0.3 + rng.integers(0, 50, n) * 2.0**-54,
        "mixed": np.where(u < 0.4, near_1, np.where(u < 0.7, middle, rng.random(n))),
        "two values": np.where(u < 0.5, 0.25, np.nextafter(0.25, 1)),
        "one value": np.full(n, 0.7),
        "0 and 1": np.round(u),
    }[kind]


@pytest.mark.parametrize(
    "kind",
    [
        "near 1",
        "nearest to 1",
        "near 0",
        "the middle",
        "a few bits",
        "mixed",
        "two values",
        "one value",
        "0 and 1",
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_scores_that_crowd(kind, weighted):
    p = crowds(kind)
    rng = np.random.default_rng(1)
    y = (rng.random(len(p)) < p).astype(int)
    y[:2] = 0, 1
    weight = rng.lognormal(size=len(p)) if weighted else None
    params = {"threshold": 0, "n_bins": 7, "memory": 30 * GROUP}
    assert_same_numbers(y, p, weight, **params)
    outcomes, columns = np.column_stack([y, 1 - y]), np.column_stack([p, p[::-1]])
    assert_same_numbers(outcomes, columns, weight, **params)


@pytest.mark.parametrize("n_batches", [1, 2, 40])
def test_any_number_of_batches(n_batches):
    y, proba = problem()
    plain = CalibrationReport(**FEW_BINS).fit(y, proba)
    with config_context(working_memory=LITTLE):
        report = CalibrationReport.from_batches(
            batches_of(y, proba, n_batches=n_batches), labels=range(5), **FEW_BINS
        )
    assert is_condensed(report)
    assert_same_report(report, plain, **CLOSE)


def test_single_rows():
    y, proba = problem(n=60, n_classes=3)
    batches = [(y[[k]], proba[[k]]) for k in range(60)]
    report = CalibrationReport.from_batches(batches, labels=range(3), **FEW_BINS)
    assert_same_report(report, CalibrationReport(**FEW_BINS).fit(y, proba))


def test_batches_of_different_kinds():
    y, proba = problem()
    single = proba.copy()
    proba = proba.astype(float)
    parts = [slice(0, 900), slice(900, 1800), slice(1800, None)]
    batches = [
        (y[parts[0]].tolist(), single[parts[0]]),
        [pd.Series(y[parts[1]]), pd.DataFrame(proba[parts[1]])],
        (y[parts[2]], scipy.sparse.csr_array(proba[parts[2]])),
    ]
    proba[parts[0]] = single[parts[0]]
    plain = CalibrationReport(**FEW_BINS).fit(y, proba)
    for memory in (1024, LITTLE):
        with config_context(working_memory=memory):
            report = CalibrationReport.from_batches(
                batches, labels=range(5), **FEW_BINS
            )
        assert is_condensed(report) == (memory == LITTLE)
        assert_allclose(report.tace_, plain.tace_, rtol=1e-12)
        assert_array_equal(report.n_kept_, plain.n_kept_)
        assert_array_equal(report.bins_["lower"], plain.bins_["lower"])


@given(
    problem=indicator_problems(),
    n_batches=st.integers(1, 6),
    little=st.booleans(),
    **problem_settings,
)
@settings(deadline=None, max_examples=80)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_indicators_in_any_batches(problem, n_batches, little, threshold, n_bins, ties):
    outcomes, scores, weights = problem
    params = {"threshold": threshold, "n_bins": n_bins, "ties": ties}
    little &= ties == "average"
    plain = CalibrationReport(**params)
    plain.fit(outcomes, scores, sample_weight=weights)
    batches = batches_of(outcomes, scores, weights, n_batches)
    # Next to nothing, which only equal scores and few bins can do with.
    with config_context(working_memory=2**-20 if little else 1024):
        try:
            report = CalibrationReport.from_batches(batches, **params)
        except ValueError as error:
            if not little or "take fewer bins" not in str(error):
                raise
            return
    exact = weights is None and not little
    assert_same_report(report, plain, **{} if exact else CLOSE)


@given(
    seed=st.integers(0, 2**32 - 1),
    grid=st.sampled_from([3, 10, 1000, 2**40]),
    power=st.sampled_from([0.1, 1, 5]),
    dtype=st.sampled_from([np.float32, np.float64]),
    weights=st.sampled_from([None, "any", "zeros", "equal", "few"]),
    n_bins=st.integers(1, 8),
    threshold=st.sampled_from([None, 0, 0.25]),
)
@example(0, 2**40, 1, np.float64, "equal", 8, None)
@settings(deadline=None, max_examples=20)
def test_any_data_beyond_the_limit(
    seed, grid, power, dtype, weights, n_bins, threshold
):
    outcomes, scores, rng = grid_problem(seed, grid, power, dtype)
    weight = {
        None: None,
        "any": rng.lognormal(sigma=3, size=2000),
        "zeros": rng.integers(0, 3, 2000).astype(float),
        "equal": np.full(2000, 0.1),
        "few": rng.choice([0.1, 0.2, 0.7], 2000),
    }[weights]
    params = {"threshold": threshold, "n_bins": n_bins}
    plain = CalibrationReport(**params)
    plain.fit(outcomes, scores, sample_weight=weight)
    # 14 cuts at most, each through a group of scores, which 29 can make finer.
    with config_context(working_memory=29 * GROUP):
        report = CalibrationReport.from_batches(
            batches_of(outcomes, scores, weight), **params
        )
    if plain.n_kept_.sum() * 6 > 29 * 512:
        assert is_condensed(report)
    assert_same_report(report, plain, **CLOSE)


@pytest.mark.parametrize("grid", [8, 2**30])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_against_exact_arithmetic(grid, weighted):
    outcomes, scores, weight = exact_problem(1000, grid, weighted)
    with config_context(working_memory=17 * GROUP):
        report = CalibrationReport.from_batches(
            batches_of(outcomes, scores, weight), n_bins=4
        )
    assert_exact(report, outcomes, scores, weight)


# --- how batches are read -----------------------------------------------------------


class Reader:
    """Batches from a function that counts its calls."""

    def __init__(self, *visits):
        self.visits, self.n_calls = visits, 0

    def __call__(self):
        self.n_calls += 1
        return iter(self.visits[min(self.n_calls, len(self.visits)) - 1])


def softmax_problem():
    rng = np.random.default_rng(0)
    proba = softmax(rng.standard_normal((100_000, 2)), axis=1).astype(np.float32)
    return (rng.random(100_000) < proba[:, 1]).astype(int), proba


@pytest.mark.parametrize(("memory", "n_calls"), [(1024, 1), (1.5, 2)])
def test_how_often_batches_are_read(memory, n_calls):
    y, proba = softmax_problem()
    reader = Reader(batches_of(y, proba))
    with config_context(working_memory=memory):
        report = CalibrationReport.from_batches(reader, labels=[0, 1])
    assert is_condensed(report) == (n_calls == 2)
    assert reader.n_calls == n_calls
    assert_same_report(report, CalibrationReport().fit(y, proba), **CLOSE)


def test_one_visit_does_without_cuts():
    y, proba = softmax_problem()
    reader = Reader(batches_of(y, proba))
    with config_context(working_memory=0.1):
        report = CalibrationReport.from_batches(reader, labels=[0, 1], n_bins=1)
        coarse = CalibrationReport.from_batches(
            Reader(batches_of(y, proba.round(1))), labels=[0, 1]
        )
    assert reader.n_calls == 1
    assert is_condensed(report)
    assert is_condensed(coarse)


class Again:
    """Batches that can be iterated over again, but are no list."""

    def __init__(self, batches):
        self.batches = batches

    def __iter__(self):
        yield from self.batches


def test_what_can_be_read_again():
    y, proba = problem()
    batches = batches_of(y, proba)
    plain = CalibrationReport(**FEW_BINS).fit(y, proba)
    with config_context(working_memory=LITTLE):
        for given in (
            batches,
            tuple(batches),
            Again(batches),
            lambda: batches,
            lambda: (batch for batch in batches),
        ):
            report = CalibrationReport.from_batches(given, labels=range(5), **FEW_BINS)
            assert_same_report(report, plain, **CLOSE)


@pytest.mark.parametrize("memory", [1024, LITTLE])
def test_what_can_be_read_only_once_is_refused(memory):
    batches = batches_of(*problem())
    with config_context(working_memory=memory):
        for once in (
            iter(batches),
            (batch for batch in batches),
            zip(*zip(*batches, strict=True), strict=True),
        ):
            with pytest.raises(TypeError, match="only once.*take partial_fit"):
                CalibrationReport.from_batches(once, labels=range(5))


def altered(batches, how):
    batches = [list(batch) for batch in batches]
    if how == "a batch less":
        batches.pop()
    elif how == "a batch more":
        batches.append(batches[-1])
    elif how == "other labels":
        batches = [[(y + 1) % 5, proba] for y, proba in batches]
    elif how == "other scores":
        batches = [[y, proba[:, ::-1]] for y, proba in batches]
    elif how == "nothing":
        batches = []
    return batches


@pytest.mark.parametrize(
    "how", ["a batch less", "a batch more", "other labels", "other scores"]
)
def test_batches_that_differ_when_they_are_read_again_are_refused(how):
    batches = batches_of(*problem())
    reader = Reader(batches, altered(batches, how))
    with (
        config_context(working_memory=LITTLE),
        pytest.raises(ValueError, match="not those of the first visit"),
    ):
        CalibrationReport.from_batches(reader, labels=range(5), **FEW_BINS)
    assert reader.n_calls >= 2


def test_batches_that_are_gone_when_they_are_read_again_are_refused():
    reader = Reader(batches_of(*problem()), [])
    with (
        config_context(working_memory=LITTLE),
        pytest.raises(ValueError, match="empty, or was when it was read again"),
    ):
        CalibrationReport.from_batches(reader, labels=range(5), **FEW_BINS)


def test_batches_in_another_order_when_they_are_read_again_will_do():
    y, proba = problem()
    batches = batches_of(y, proba)
    with config_context(working_memory=LITTLE):
        report = CalibrationReport.from_batches(
            Reader(batches, batches[::-1]), labels=range(5), **FEW_BINS
        )
    plain = CalibrationReport(**FEW_BINS).fit(y, proba)
    assert_same_report(report, plain, **CLOSE)


# --- what is refused ----------------------------------------------------------------


def test_batches_that_are_none():
    for empty in ([], lambda: [], Again([])):
        with pytest.raises(ValueError, match="batches is empty"):
            CalibrationReport.from_batches(empty, labels=[0, 1])
    y, proba = problem(n=20)
    for batch in [
        (y,),
        (y, proba, None, None, None),
        {"y": y, "proba": proba},
        proba,
        "ab",
    ]:
        with pytest.raises(TypeError, match="Each batch must be .y, proba., "):
            CalibrationReport.from_batches([batch], labels=range(5))
    with pytest.raises(ValueError, match="Found array with 0 sample"):
        CalibrationReport.from_batches(
            [(y, proba), (y[:0], proba[:0])], labels=range(5)
        )


def test_classes_must_be_passed_for_labels():
    y, proba = problem(n=20)
    with pytest.raises(ValueError, match="labels must be passed"):
        CalibrationReport.from_batches([(y, proba)])
    with pytest.raises(ValueError, match=r"values \[4\] not belonging"):
        CalibrationReport.from_batches([([4], proba[:1, :4])], labels=range(4))
    with pytest.raises(ValueError, match="labels has 4 entries but y_proba has 5"):
        CalibrationReport.from_batches([(y, proba)], labels=range(4))


@pytest.mark.parametrize("memory", [1024, LITTLE])
def test_rows_in_messages_are_counted_over_all_batches(memory):
    y, proba = problem()
    for value, message in [
        (np.nan, "contains NaN. One is in row 2345"),
        (1.5, "greater than 1: 1.5. One is in row 2345"),
        (-0.5, "less than 0: -0.5. One is in row 2345"),
    ]:
        bad = proba.copy()
        bad[2345, 2] = value
        with (
            config_context(working_memory=memory),
            pytest.raises(ValueError, match=message),
        ):
            CalibrationReport.from_batches(batches_of(y, bad), labels=range(5))


@pytest.mark.parametrize("memory", [1024, LITTLE])
def test_one_warning_names_the_worst_row_of_all_batches(memory):
    y, proba = odd_problem()
    with (
        config_context(working_memory=memory),
        pytest.warns(UserWarning, match="do not sum to one") as record,
    ):
        CalibrationReport.from_batches(
            batches_of(y, proba), labels=range(5), **FEW_BINS
        )
    assert len(record) == 1
    assert "Row 1717 sums to 0.5." in str(record[0].message)
    assert record[0].filename == __file__


def test_nothing_above_the_threshold_is_undefined():
    y = [0, 1]
    with pytest.warns(UndefinedMetricWarning, match=r"the largest is 0\.6") as record:
        report = CalibrationReport.from_batches(
            [(y, [0.4, 0.6]), (y, [0.5, 0.5])], labels=y, threshold=0.7
        )
    assert len(record) == 1
    assert record[0].filename == __file__
    assert np.isnan(report.tace_)
    assert report.n_samples_ == 4


def test_weights_that_are_all_zero_are_refused():
    y, proba = problem(n=20)
    batch = y, proba, np.zeros(20)
    with pytest.raises(ValueError, match="at least one non-zero"):
        CalibrationReport.from_batches([batch, batch], labels=range(5))
    report = CalibrationReport.from_batches([batch, (y, proba)], labels=range(5))
    assert report.n_samples_ == 20


@pytest.mark.parametrize("memory", [1024, LITTLE])
def test_weights_beyond_double_precision_are_refused(memory):
    y, proba = problem()
    weight = np.full(len(y), 1e305)
    with (
        config_context(working_memory=memory),
        pytest.raises(ValueError, match="beyond double precision.*scale"),
    ):
        CalibrationReport.from_batches(
            batches_of(y, proba, weight), labels=range(5), **FEW_BINS
        )


@pytest.mark.parametrize("memory", [1024, LITTLE])
def test_columns_in_another_order_are_refused(memory):
    y, proba = problem()
    names = np.array(list("abcde"))
    frame = pd.DataFrame(proba, columns=names)
    outcomes = pd.DataFrame(np.eye(5, dtype=int)[y], columns=names)
    turned = list(names[::-1])
    with config_context(working_memory=memory):
        labels, numbers = names[y], y
        with pytest.raises(ValueError, match="the same labels in another order"):
            CalibrationReport.from_batches(
                [(labels, frame), (labels, frame[turned])], labels=names, **FEW_BINS
            )
        for batches, classes in [
            ([(numbers, frame), (numbers, frame[turned])], range(5)),
            ([(outcomes, frame), (outcomes[turned], frame[turned])], None),
            ([(outcomes, proba), (outcomes[turned], proba)], None),
        ]:
            with pytest.raises(ValueError, match="the same in another order"):
                CalibrationReport.from_batches(batches, labels=classes, **FEW_BINS)
        report = CalibrationReport.from_batches(
            [(labels, frame), (labels, proba)], labels=names, **FEW_BINS
        )
    assert report.n_samples_ == 2 * len(y)


def test_parameters_are_checked_before_anything_is_read():
    reader = Reader([])
    for params in (
        {"threshold": 2},
        {"n_bins": 0},
        {"norm": "l3"},
        {"confidence_level": 95},
    ):
        with pytest.raises(ValueError, match=next(iter(params))):
            CalibrationReport.from_batches(reader, labels=[0, 1], **params)
    assert reader.n_calls == 0


def test_ties_in_the_order_of_rows_need_every_score():
    y, proba = problem()
    batches = batches_of(y, proba)
    report = CalibrationReport.from_batches(batches, labels=range(5), ties="ordinal")
    assert_same_report(report, CalibrationReport(ties="ordinal").fit(y, proba))
    with pytest.raises(ValueError, match="ties='ordinal' needs .*working_memory"):
        condensed(ties="ordinal")


def test_too_many_bins_are_refused_beyond_the_limit():
    with pytest.raises(ValueError, match="working_memory.*or take fewer bins"):
        condensed(n_bins=400)


def test_what_needs_every_probability_is_refused():
    report = condensed()
    y, proba = problem()
    other = CalibrationReport(**FEW_BINS).fit(y, proba)
    for name in ON_DEMAND:
        assert not hasattr(report, name)
        with pytest.raises(AttributeError, match=f"{name} needs .*working_memory"):
            getattr(report, name)
    before = pickle.dumps(report)
    for call in (
        report.sensitivity,
        report.class_intervals,
        lambda: compare(report, other),
        lambda: compare(other, report),
        lambda: report.merge(other),
        lambda: other.merge(report),
        lambda: CalibrationReport(**FEW_BINS).merge(report),
        lambda: report.partial_fit(y, proba),
        lambda: report.plot("sensitivity"),
    ):
        with pytest.raises(ValueError, match="working_memory"):
            call()
    for level in ("bins", "classes"):
        with pytest.raises(AttributeError, match="working_memory"):
            report.to_frame(level, expected=True)
    assert pickle.dumps(report) == before
    assert_same_report(report, other, **CLOSE)
    assert plt.get_fignums() == []


def test_refusals_tell_how_much_memory_would_do():
    y, proba = problem(n=45_000)
    batches = batches_of(y, proba)

    def fit(memory):
        with config_context(working_memory=memory):
            return CalibrationReport.from_batches(batches, labels=range(5), **FEW_BINS)

    report = fit(LITTLE)
    needed = report.n_kept_.sum() * 9 / 2**20
    assert 1 < needed < 2
    with pytest.raises(ValueError, match=r"set_config\(working_memory=2\)"):
        report.sensitivity()
    assert "It would take 2 MiB." in " ".join(str(report).split())
    assert not is_condensed(fit(2))
    assert is_condensed(fit(1))


def test_errors_tell_the_batch():
    y, proba = problem(n=60)
    batches = [(y, proba), (y, proba), (y, proba[:59])]
    with pytest.raises(ValueError, match="inconsistent numbers of samples") as caught:
        CalibrationReport.from_batches(batches, labels=range(5))
    assert caught.value.__notes__ == ["This is of batch 2, counted from 0."]


def test_a_failed_merge_leaves_an_unfitted_report_unfitted():
    report = CalibrationReport(**FEW_BINS)
    with pytest.raises(ValueError, match="working_memory"):
        report.merge(condensed())
    with pytest.raises(NotFittedError):
        _ = report.tace_


def test_a_condensed_report_can_be_fitted_anew():
    report, (y, proba) = condensed(), problem()
    report.fit(y, proba)
    assert not is_condensed(report)
    assert_same_report(report, CalibrationReport(**FEW_BINS).fit(y, proba))
    assert 0 < report.p_value_ <= 1


def test_other_parameters_do_not_change_what_was_measured():
    report = condensed()
    before = str(report), report.tace_
    report.set_params(n_bins=400)
    assert (str(report), report.tace_) == before
    with pytest.raises(NotFittedError):
        _ = clone(report).tace_


# --- words, tables, pictures, files -------------------------------------------------


def test_print_says_that_chance_is_not_known():
    report = condensed()
    lines = str(report).splitlines()
    assert lines[0] == f"TACE {report.tace_:.4f}"
    text = " ".join(str(report).split())
    assert (
        "More was kept than scikit-learn's working_memory held: what chance would "
        "give, an interval and other settings are not known. It would take 1 MiB."
        in text
    )
    assert "by chance" not in text
    assert "debiased" not in text
    assert repr(report) == "CalibrationReport(n_bins=5, n_draws=30)"
    assert repr(report) in report._repr_mimebundle_()["text/plain"]
    assert "not known" in report._repr_mimebundle_()["text/html"]


def test_tables():
    report = condensed()
    plain = CalibrationReport(**FEW_BINS).fit(*problem())
    for level in ("bins", "classes"):
        pd.testing.assert_frame_equal(
            report.to_frame(level), plain.to_frame(level), rtol=1e-12, atol=1e-12
        )


def test_pictures():
    report = condensed()
    for kind in ("reliability", "classes"):
        display = report.plot(kind)
        assert display.ax_ is not None
        plt.close(display.figure_)
    with pytest.raises(ValueError, match="sensitivity needs .*working_memory"):
        report.plot("sensitivity")
    display = report.plot(classes=[3])
    bins = report.bins_[report.bins_["class"] == 3]
    points = display.points_.get_offsets().data
    assert_allclose(points[:, 0], bins["mean_proba"])
    assert_allclose(points[:, 1], bins["observed_frequency"])
    plt.close(display.figure_)


def test_the_page_is_without_other_settings(tmp_path):
    page = condensed().to_html(tmp_path / "report.html", name="large")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    assert "Calibration report: large" in page
    assert "How much of it is chance is not known." in page
    assert "Other settings" not in page
    assert "Grey" not in page
    plain = CalibrationReport(**FEW_BINS).fit(*problem(n=300)).to_html()
    assert "Other settings" in plain


@pytest.mark.parametrize("weighted", [False, True])
def test_saved_reports_keep_every_number(weighted, tmp_path):
    y, proba = problem()
    weight = np.random.default_rng(1).lognormal(size=len(y)) if weighted else None
    names = np.array(list("abcde"))
    batches = batches_of(names[y], proba, weight)
    with config_context(working_memory=0.1 if weighted else LITTLE):
        report = CalibrationReport.from_batches(batches, labels=names, **FEW_BINS)
    assert is_condensed(report)
    report.to_json(tmp_path / "report.json")
    for again in (
        CalibrationReport.from_json(report.to_json()),
        CalibrationReport.from_json(tmp_path / "report.json"),
        CalibrationReport.from_dict(report.to_dict()),
        pickle.loads(pickle.dumps(report)),
        copy.deepcopy(report),
    ):
        assert_same_report(again, report)
        assert is_condensed(again)
        assert again.get_params() == report.get_params()
        assert str(again) == str(report)
        assert again.to_json() == report.to_json()
        with pytest.raises(ValueError, match="working_memory"):
            again.partial_fit(names[y], proba)


def arrays_of(document):
    characters = io.BytesIO(base64.b64decode(document["held"]["arrays"]))
    with np.load(characters) as arrays:
        return dict(arrays)


def with_arrays(document, **changed):
    document, file = copy.deepcopy(document), io.BytesIO()
    arrays = arrays_of(document) | changed
    kept = {name: array for name, array in arrays.items() if array is not None}
    np.savez_compressed(file, **kept)
    document["held"]["arrays"] = base64.b64encode(file.getvalue()).decode()
    return document


def changed(values, place, value):
    values = values.copy()
    values[place] = value
    return values


def damages():
    return {
        "no sums": {"sums_0": lambda a: None},
        "no places": {"indptr_0": lambda a: None},
        "short sums": {"sums_0": lambda a: a[:, :-1]},
        "sums of four": {"sums_0": lambda a: np.vstack([a, a[:1]])},
        "sums that are flat": {"sums_0": lambda a: a[0].copy()},
        "single precision": {"lower_0": lambda a: a.astype(np.float32)},
        "nan": {"sums_0": lambda a: changed(a, (2, 0), np.nan)},
        "infinity": {"sums_0": lambda a: changed(a, (2, 3), np.inf)},
        "negative": {"sums_0": lambda a: changed(a, (1, 3), -1)},
        "no rows": {"sums_0": lambda a: changed(a, (slice(2), 3), 0)},
        "more positives than rows": {
            "sums_0": lambda a: changed(a, (1, 3), a[0, 3] + 1)
        },
        "above one": {"upper_0": lambda a: changed(a, -1, 1.5)},
        "below zero": {"lower_0": lambda a: changed(a, 0, -0.5)},
        "nan score": {"lower_0": lambda a: changed(a, 0, np.nan)},
        "upside down": {"upper_0": lambda a: changed(a, 4, 0.0)},
        "two dimensions": {"lower_0": lambda a: a[:, None]},
        "beyond the end": {"indptr_0": lambda a: changed(a, -1, a[-1] + 5)},
        "before the start": {"indptr_0": lambda a: changed(a, 0, 1)},
        "descending places": {"indptr_0": lambda a: changed(a, 2, a[3] + 1)},
        "a class more": {"indptr_0": lambda a: np.append(a, a[-1])},
        "broken places": {"indptr_0": lambda a: a.astype(float)},
    }


def assert_refused(document, change):
    arrays = arrays_of(document)
    made = {name: make(arrays[name]) for name, make in change.items()}
    with pytest.raises(ValueError, match="The saved report is damaged"):
        CalibrationReport.from_dict(with_arrays(document, **made))


@pytest.mark.parametrize("change", damages().values(), ids=damages())
def test_damaged_documents_are_refused(change):
    document = condensed().to_dict()
    assert_refused(document, change)
    assert CalibrationReport.from_dict(with_arrays(document)).tace_


@pytest.mark.parametrize(
    "change",
    [
        {"sums_0": lambda a: changed(a, (2, 3), 2 * a[0, 3])},
        {"sums_0": lambda a: changed(a, (0, 3), a[0, 3] + 0.5)},
        {"sums_0": lambda a: changed(a, (0, 3), 1e6)},
        {"lower_0": lambda a: a[::-1].copy(), "upper_0": lambda a: a[::-1].copy()},
    ],
    ids=["sum of scores", "half a row", "more rows than all", "order"],
)
def test_documents_that_no_rows_could_give_are_refused(change):
    assert_refused(condensed().to_dict(), change)


def test_documents_of_the_other_kind_are_refused():
    plain = CalibrationReport(**FEW_BINS).fit(*problem(n=300)).to_dict()
    summed = condensed().to_dict()
    for document in (plain, summed):
        turned = json.loads(json.dumps(document))
        turned["held"]["is_condensed"] = not turned["held"]["is_condensed"]
        with pytest.raises(ValueError, match="The saved report is damaged"):
            CalibrationReport.from_dict(turned)
    # Its bins would cut through sums.
    summed["parameters"]["n_bins"] = 50
    with pytest.raises(ValueError, match="The saved report is damaged"):
        CalibrationReport.from_dict(summed)
    del plain["held"]["is_condensed"]
    assert not is_condensed(CalibrationReport.from_dict(plain))
