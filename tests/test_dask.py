"""Scores in dask arrays and data frames: the numbers of scores in memory."""

import contextlib
import multiprocessing
import os
import pickle
import signal
import warnings
from concurrent.futures import ProcessPoolExecutor

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import paths
import pytest
import reference
import scipy.sparse
from dask.callbacks import Callback
from distributed import Client, LocalCluster
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn import config_context
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.naive_bayes import GaussianNB
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

from sklearn_tace import (
    CalibrationReport,
    CalibrationScorer,
    TACEScorer,
    compare,
    tace_error,
)

EXACT = {"rtol": 0, "atol": 0}


@pytest.fixture(autouse=True)
def _one_after_another():
    with dask.config.set(scheduler="synchronous"):
        yield


@contextlib.contextmanager
def workers():
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",  # any port that is free
            memory_limit=0,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client():
    with workers() as client:
        yield client


@pytest.fixture(params=["synchronous", "threads", "distributed"])
def scheduler(request):
    name = request.param
    if name == "distributed":
        name = request.getfixturevalue("client")
    with dask.config.set(scheduler=name):
        yield


def sizes_of(n, kind="uneven"):
    """Sizes of chunks of n rows."""
    third = n // 3
    return {
        "one": (n,),
        "uneven": (1, third, 2, n - 2 * third - 4, 1, third),
        "empty": (0, third, 0, 0, n - third, 0),
        "single rows": (1,) * 9 + (n - 9,),
        "many": (n // 50,) * 49 + (n - 49 * (n // 50),),
    }[kind]


def chunked(values, sizes="uneven"):
    """A dask array of the values in chunks of whole rows."""
    values = np.asarray(values)
    if isinstance(sizes, str):
        sizes = sizes_of(len(values), sizes)
    return da.from_array(values, chunks=(sizes, *values.shape[1:]))


def sparse_chunks(proba, convert, sizes="uneven"):
    lazy = chunked(proba, sizes)
    return lazy.map_blocks(convert, meta=convert(np.empty((0, 0), proba.dtype)))


def both(y, proba, *, lazy_y=None, lazy_proba=None, lazy_weight=None, **params):
    """Reports on rows in dask arrays, and on the same rows in memory."""
    data = {name: params.pop(name, None) for name in ("labels", "sample_weight")}
    plain = CalibrationReport(**params).fit(y, proba, **data)
    if lazy_weight is not None:
        data["sample_weight"] = lazy_weight
    lazy_y = chunked(y) if lazy_y is None else lazy_y
    lazy_proba = chunked(proba) if lazy_proba is None else lazy_proba
    return CalibrationReport(**params).fit(lazy_y, lazy_proba, **data), plain


def assert_same(lazy, plain, tolerance=EXACT):
    paths.assert_same_report(lazy, plain, **tolerance)
    assert lazy.classes_.dtype == plain.classes_.dtype


def assert_same_inference(lazy, plain):
    for name in paths.ON_DEMAND:
        assert_array_equal(getattr(lazy, name), getattr(plain, name), err_msg=name)


def assert_close_when_condensed(y, proba, *, memory=LITTLE, **options):
    with config_context(working_memory=memory):
        lazy, plain = both(y, proba, **FEW_BINS | options)
    assert is_condensed(lazy)
    assert not is_condensed(plain)
    assert_same(lazy, plain, CLOSE)


# --- the same numbers ---------------------------------------------------------------


@pytest.mark.parametrize("kind", ["one", "uneven", "empty", "single rows", "many"])
@pytest.mark.parametrize("ties", ["average", "ordinal"])
def test_any_chunks_give_the_last_bit_of_every_attribute(kind, ties, scheduler):
    y, proba = problem(n=500)
    lazy, plain = both(
        y,
        proba,
        lazy_y=chunked(y, kind),
        lazy_proba=chunked(proba, kind),
        ties=ties,
        n_draws=30,
    )
    assert_same(lazy, plain)
    assert_same_inference(lazy, plain)


@pytest.mark.parametrize("kind", ["one", "uneven", "empty", "single rows", "many"])
def test_any_chunks_give_the_numbers_when_survivors_are_summed_up(kind, scheduler):
    y, proba = problem()
    assert_close_when_condensed(
        y, proba, lazy_y=chunked(y, kind), lazy_proba=chunked(proba, kind)
    )


def test_other_processes_give_the_last_bit():
    y, proba = problem()
    # One pool for all visits, for each process has to import what it needs.
    with (
        ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool,
        dask.config.set(scheduler="processes", pool=pool),
    ):
        assert_same(*both(y, proba, n_draws=30))
        assert_close_when_condensed(y, proba)


def test_labels_need_not_be_chunked_as_scores_are():
    y, proba = problem(n=500)
    for kind in ("one", "empty", "many"):
        assert_same(*both(y, proba, lazy_y=chunked(y, kind)))


NAMES = np.array(["cat", "dog", "eel", "fox", "owl"])
LABELS = {
    "list": lambda y: y.tolist(),
    "list of strings": lambda y: NAMES[y].tolist(),
    "numpy": lambda y: y,
    "numpy strings": lambda y: NAMES[y],
    "numpy objects": lambda y: NAMES.astype(object)[y],
    "column": lambda y: y[:, None],
    "series": lambda y: pd.Series(y),
    "series of strings": lambda y: pd.Series(NAMES[y]),
    "nullable series": lambda y: pd.Series(y, dtype="Int64"),
    "categories": lambda y: pd.Series(NAMES[y], dtype="category"),
    "dask": chunked,
    "dask column": lambda y: chunked(y[:, None]),
    "dask strings": lambda y: chunked(NAMES[y], "many"),
    "dask short integers": lambda y: chunked(y.astype(np.int8)),
    "dask floats": lambda y: chunked(y.astype(float)),
    "dask series": lambda y: dd.from_pandas(pd.Series(y), npartitions=3),
    "dask series of strings": lambda y: dd.from_pandas(
        pd.Series(NAMES[y]), npartitions=3
    ),
    "dask series of objects": lambda y: dd.from_pandas(
        pd.Series(NAMES[y], dtype=object), npartitions=3
    ),
    "dask series of categories": lambda y: dd.from_pandas(
        pd.Series(NAMES[y], dtype="category"), npartitions=3
    ),
    "dask nullable series": lambda y: dd.from_pandas(
        pd.Series(y, dtype="Int64"), npartitions=3
    ),
    "dask dates": lambda y: chunked(np.datetime64("2020-01-01", "D") + y),
    "dask booleans": lambda y: chunked(y > 2),
}


@pytest.mark.parametrize("convert", LABELS.values(), ids=LABELS)
@pytest.mark.filterwarnings("ignore:A column-vector y was passed when a 1d array")
def test_labels_of_any_kind(convert):
    y, proba = problem(n=400)
    lazy_y = convert(y)
    plain_y = lazy_y.compute() if hasattr(lazy_y, "compute") else lazy_y
    if np.asarray(plain_y).dtype == bool:
        proba = proba[:, 0]
    lazy = CalibrationReport().fit(lazy_y, chunked(proba))
    plain = CalibrationReport().fit(plain_y, proba)
    assert lazy.classes_.tolist() == plain.classes_.tolist()
    assert lazy.tace_ == plain.tace_
    assert_array_equal(lazy.bins_["gap"], plain.bins_["gap"])


def test_labels_in_dask_and_scores_in_memory():
    y, proba = problem(n=400)
    assert tace_error(chunked(y), proba) == tace_error(y, proba)


def some_weights(kind, n):
    rng = np.random.default_rng(1)
    weight = rng.lognormal(size=n)
    if kind == "zeros":
        weight = rng.integers(0, 3, n).astype(float)
    elif kind == "a chunk of zeros":
        weight[1 : 1 + n // 3] = 0
    elif kind == "equal":
        weight = np.full(n, 0.1)
    elif kind == "integers":
        weight = rng.integers(0, 4, n)
    return weight


@pytest.mark.parametrize(
    "kind", ["any", "zeros", "a chunk of zeros", "equal", "integers"]
)
@pytest.mark.parametrize("convert", [np.asarray, list, pd.Series, chunked])
def test_weights(kind, convert):
    y, proba = problem()
    weight = some_weights(kind, len(y))
    data = {"sample_weight": weight, "lazy_weight": convert(weight)}
    lazy, plain = both(y, proba, **data, n_draws=30)
    assert_same(lazy, plain, CLOSE)
    assert_allclose(lazy.interval_, plain.interval_, rtol=1e-9)
    assert lazy.p_value_ == plain.p_value_
    assert_close_when_condensed(y, proba, memory=0.1, **data)


def test_weights_chunked_otherwise():
    y, proba = problem(n=500)
    weight = some_weights("any", len(y))
    for lazy in (chunked(weight, "many"), dd.from_pandas(pd.Series(weight), 4)):
        reports = both(y, proba, sample_weight=weight, lazy_weight=lazy)
        assert_same(*reports, CLOSE)


@pytest.mark.parametrize("weight", [1, 0.3, np.float32(2)])
def test_one_weight_for_all(weight):
    y, proba = problem()
    assert_same(*both(y, proba, sample_weight=weight), CLOSE)
    assert_close_when_condensed(y, proba, memory=0.1, sample_weight=weight)


@pytest.mark.parametrize("convert", [np.asarray, chunked, np.max])
def test_weights_that_are_all_zero(convert):
    y, proba = problem(n=100)
    with pytest.raises(ValueError, match="at least one non-zero"):
        tace_error(y, chunked(proba), sample_weight=convert(np.zeros(100)))


def test_weights_that_are_refused():
    y, proba = problem(n=100)
    for weight, message in [
        (np.ones(99), "sample_weight has 99 entries for 100 samples"),
        (chunked(np.ones(101)), "sample_weight has 101 entries for 100 samples"),
        (chunked(np.ones((100, 1))), "must be 1D array or scalar"),
        (chunked(-np.ones(100)), "Negative values"),
        (chunked(np.full(100, np.nan)), "NaN"),
        (chunked(np.full(100, 1e308)), "beyond double precision"),
    ]:
        with pytest.raises(ValueError, match=message):
            tace_error(y, chunked(proba), sample_weight=weight)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("shape", ["one dimension", "one column", "two columns"])
def test_two_classes(dtype, shape):
    y, proba = two_classes(dtype, shape)
    assert_same(*both(y, proba, n_draws=30))
    assert_close_when_condensed(y, proba, threshold=0.1)


@pytest.mark.parametrize("kind", ["array", "frames", "in memory"])
def test_indicators(kind):
    outcomes, proba = indicator_problem()
    lazy = {"array": chunked(outcomes), "in memory": outcomes}.get(kind)
    lazy_proba = None
    if kind == "frames":
        frames = [pd.DataFrame(part, columns=NAMES[:4]) for part in (outcomes, proba)]
        lazy, lazy_proba = (dd.from_pandas(frame, npartitions=3) for frame in frames)
    data = {"lazy_y": lazy, "lazy_proba": lazy_proba}
    assert_same(*both(outcomes, proba, **data, n_draws=30))
    assert_close_when_condensed(outcomes, proba, **data)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64, bool])
def test_scores_of_any_precision(dtype):
    y, proba = problem(n=500)
    if np.dtype(dtype).kind != "f":
        proba = proba == proba.max(axis=1, keepdims=True)
        proba &= proba.cumsum(axis=1) == 1
    assert_same(*both(y, proba.astype(dtype)))


@pytest.mark.parametrize(("params", "memory"), SETTINGS, ids=str)
def test_settings(params, memory):
    y, proba = problem()
    assert_same(*both(y, proba, **params))
    assert_close_when_condensed(y, proba, memory=memory, **params)


def test_the_metric():
    y, proba = problem()
    lazy = chunked(y), chunked(proba)
    for params in ({}, {"average": None}, {"norm": "max", "average": "weighted"}):
        expected = tace_error(y, proba, n_bins=5, **params)
        assert_array_equal(tace_error(*lazy, n_bins=5, **params), expected)
        with config_context(working_memory=LITTLE):
            close = tace_error(*lazy, n_bins=5, **params)
        assert_allclose(close, expected, **CLOSE)


def test_a_class_of_which_one_chunk_alone_tells():
    y, proba = problem(n=400, n_classes=3)
    y[y == 2] = 1
    y[300] = 2
    proba[:, 0] += np.where(np.arange(400) < 300, proba[:, 2], 0)
    proba[:300, 2] = 0
    for labels in (None, range(3)):
        assert_same(*both(y, proba, labels=labels))


def test_labels_in_another_order():
    y, proba = problem(n=500)
    order = [3, 0, 4, 1, 2]
    lazy, plain = both(NAMES[y], proba[:, order], labels=NAMES[order])
    assert lazy.classes_.tolist() == NAMES[order].tolist()
    assert_same(lazy, plain)
    assert_same(*both(y, proba[:, order], labels=order))


def test_one_label_in_every_chunk():
    y, proba = problem(n=60, n_classes=3)
    y[:] = 1
    assert_same(*both(y, proba, labels=range(3)))
    with pytest.raises(ValueError, match=r"only one label \(1\)"):
        tace_error(chunked(y), chunked(proba))


def test_chunks_of_which_none_is_kept():
    y, proba = problem(n=300, n_classes=3)
    proba[:200] = 1 / 3
    assert_same(*both(y, proba, threshold=0.4))
    with pytest.warns(UndefinedMetricWarning, match=r"the largest is 0\.333333"):
        value = tace_error(y[:200], chunked(proba[:200]), threshold=0.4)
    assert np.isnan(value)


def test_scores_that_are_computed_when_they_are_needed():
    y, proba = problem(n=400)
    logits = chunked(np.log(proba.astype(float) + 1e-9))
    exponential = da.exp(logits - logits.max(axis=1, keepdims=True))
    lazy = exponential / exponential.sum(axis=1, keepdims=True)
    assert_same(*both(y, lazy.compute(), lazy_proba=lazy))
    part = lazy[50:350:3]
    assert_same(*both(y[50:350:3], part.compute(), lazy_proba=part))


# --- any data, any chunks -----------------------------------------------------------


@given(
    problem=indicator_problems(),
    cuts=st.lists(st.integers(0, 25), max_size=6),
    cuts_of_y=st.none() | st.lists(st.integers(0, 25), max_size=6),
    norm=st.sampled_from(["l1", "l2", "max"]),
    **problem_settings,
)
@settings(deadline=None, max_examples=80)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_indicators_in_any_chunks(
    problem, cuts, cuts_of_y, norm, threshold, n_bins, ties
):
    outcomes, scores, weights = problem
    params = {"threshold": threshold, "n_bins": n_bins, "ties": ties, "norm": norm}
    lazy_y = outcomes
    if cuts_of_y is not None:
        lazy_y = chunked(outcomes, _sizes(cuts_of_y, len(scores)))
    lazy_proba = chunked(scores, _sizes(cuts, len(scores)))
    with dask.config.set(scheduler="synchronous"):
        lazy, plain = both(
            outcomes,
            scores,
            lazy_y=lazy_y,
            lazy_proba=lazy_proba,
            sample_weight=weights,
            **params,
        )
        assert_same(lazy, plain, EXACT if weights is None else CLOSE)
    errors = reference.class_errors(
        outcomes.tolist(),
        scores.tolist(),
        threshold=threshold and float(scores.dtype.type(threshold)),
        n_bins=n_bins,
        ties=ties,
        norm=norm,
        weights=None if weights is None else weights.tolist(),
    )
    expected = [np.nan if error is None else error for error in errors]
    # The root of a mean square turns 1e-17 into 3e-9 near 0.
    atol = 1e-12 if norm != "l2" else 1e-8
    assert_allclose(lazy.class_tace_, expected, rtol=1e-12, atol=atol)


def _sizes(cuts, n):
    return tuple(np.diff([0, *sorted(min(cut, n) for cut in cuts), n]).tolist())


@given(
    seed=st.integers(0, 2**32 - 1),
    cuts=st.lists(st.integers(0, 2000), max_size=8),
    grid=st.sampled_from([3, 10, 1000, 2**40]),
    power=st.sampled_from([0.2, 1, 5]),
    dtype=st.sampled_from([np.float32, np.float64]),
    weights=st.sampled_from([None, "any", "zeros", "equal", "few"]),
    n_bins=st.integers(1, 8),
    threshold=st.sampled_from([None, 0, 0.25]),
)
@settings(deadline=None, max_examples=25)
def test_any_chunks_when_survivors_are_summed_up(
    seed, cuts, grid, power, dtype, weights, n_bins, threshold
):
    outcomes, scores, rng = grid_problem(seed, grid, power, dtype)
    weight = None
    if weights == "few":
        weight = rng.choice([0.1, 0.2, 0.7], 2000)
    elif weights is not None:
        weight = some_weights(weights, 2000)
    params = {"threshold": threshold, "n_bins": n_bins}
    lazy_proba = chunked(scores, _sizes(cuts, 2000))
    # 14 cuts at most, each through a cell, which 29 cells or more can make finer.
    with (
        dask.config.set(scheduler="synchronous"),
        config_context(working_memory=2**-20 * 29 * 512),
    ):
        lazy, plain = both(
            outcomes, scores, lazy_proba=lazy_proba, sample_weight=weight, **params
        )
    if plain.n_kept_.sum() * 6 > 29 * 512:
        assert is_condensed(lazy)
    assert_same(lazy, plain, CLOSE)


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_against_exact_arithmetic(weighted):
    outcomes, scores, weight = exact_problem(1500, 2**20, weighted)
    with config_context(working_memory=0.015):
        report = CalibrationReport(n_bins=4).fit(
            outcomes, chunked(scores, "many"), sample_weight=weight
        )
    assert_exact(report, outcomes, scores, weight)


# --- beyond the limit ---------------------------------------------------------------


def condensed(**params):
    y, proba = problem()
    with config_context(working_memory=LITTLE):
        report = CalibrationReport(**FEW_BINS | params).fit(chunked(y), chunked(proba))
    return report, y, proba


def test_the_limit_is_what_survivors_take():
    y, proba = problem()
    with config_context(working_memory=LITTLE):
        for threshold, beyond in [(0.01, True), (0.6, False)]:
            report = CalibrationReport(threshold=threshold, n_bins=5)
            report.fit(y, chunked(proba))
            assert is_condensed(report) == beyond


def test_what_needs_every_probability_is_refused():
    report, y, proba = condensed()
    lazy = chunked(y), chunked(proba)
    other = CalibrationReport(**FEW_BINS).fit(y, proba)
    assert not hasattr(report, "p_value_")
    for call in (
        report.sensitivity,
        lambda: report.merge(other),
        lambda: report.partial_fit(*lazy),
        lambda: other.partial_fit(*lazy),
    ):
        with (
            config_context(working_memory=LITTLE),
            pytest.raises(ValueError, match="working_memory"),
        ):
            call()
    assert_same(report, other, CLOSE)


def test_what_is_refused_comes_back_with_a_new_fit():
    report, y, proba = condensed()
    report.fit(chunked(y), chunked(proba))
    plain = CalibrationReport(**FEW_BINS).fit(y, proba)
    assert_same(report, plain)
    assert_same_inference(report, plain)


def test_ties_in_the_order_of_rows_are_refused_beyond_the_limit():
    with pytest.raises(ValueError, match="ties='ordinal' needs .*working_memory"):
        condensed(ties="ordinal")


def test_a_condensed_report_can_be_printed_saved_and_loaded():
    report, *_ = condensed()
    assert repr(report) == "CalibrationReport(n_bins=5, n_draws=30)"
    assert f"TACE {report.tace_:.4f}\n" in str(report)
    assert "working_memory" in str(report)
    assert len(report.to_frame("bins")) == 25
    assert len(report.to_frame("classes")) == 5
    for again in (
        pickle.loads(pickle.dumps(report)),
        CalibrationReport.from_json(report.to_json()),
    ):
        assert_same(again, report)
        assert is_condensed(again)


# --- what can be wrong --------------------------------------------------------------


@pytest.mark.parametrize("condense", [False, True])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.nan, "contains NaN. One is in row 2345"),
        (np.inf, "contains infinity.* row 2345"),
        (1.5, "greater than 1: 1.5. One is in row 2345"),
        (-0.5, "less than 0: -0.5. One is in row 2345"),
    ],
)
def test_bad_scores_are_found_in_their_row(value, message, condense):
    y, proba = problem()
    proba[2345, 2] = value
    memory = LITTLE if condense else None
    with (
        config_context(working_memory=memory),
        pytest.raises(ValueError, match=message),
    ):
        tace_error(y, chunked(proba, "many"), n_bins=5)


def test_bad_scores_are_found_on_workers(client):
    y, proba = problem()
    proba[2345, 2] = 1.5
    with (
        dask.config.set(scheduler=client),
        pytest.raises(ValueError, match="greater than 1: 1.5. One is in row 2345"),
    ):
        tace_error(chunked(y), chunked(proba, "many"))


@pytest.mark.parametrize("memory", [1024, LITTLE])
def test_one_warning_names_the_worst_row_of_all_chunks(memory, scheduler):
    y, proba = odd_problem()
    with (
        config_context(working_memory=memory),
        pytest.warns(UserWarning, match="do not sum to one") as record,
    ):
        report = CalibrationReport(**FEW_BINS).fit(chunked(y), chunked(proba, "many"))
    assert len(record) == 1
    assert "Row 1717 sums to 0.5." in str(record[0].message)
    assert record[0].filename == __file__
    with pytest.warns(UserWarning, match="Row 1717 sums to 0.5."):
        plain = CalibrationReport(**FEW_BINS).fit(y, proba)
    assert_same(report, plain, CLOSE if memory == LITTLE else EXACT)


@pytest.mark.parametrize("convert", [np.asarray, chunked])
def test_labels_that_are_refused(convert):
    y, proba = problem(n=200)
    lazy = chunked(proba)
    y[150] = 7
    message = r"values \[7\] not belonging to the passed labels \[0, 1, 2, 3, 4\]"
    with pytest.raises(ValueError, match=message):
        tace_error(convert(y), lazy, labels=range(5))
    with pytest.raises(ValueError, match="different number of classes: 6 vs 5"):
        tace_error(convert(y), lazy)
    with pytest.raises(ValueError, match="labels has 4 entries but y_proba has 5"):
        tace_error(convert(y), lazy, labels=range(4))
    missing = y.astype(float)
    missing[150] = np.nan
    for labels in (None, range(5)):
        with pytest.raises(ValueError, match="y_true contains missing values"):
            tace_error(convert(missing), lazy, labels=labels)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        tace_error(convert(y / 2), lazy)
    strings = NAMES[y % 5].astype(object)
    strings[150] = None
    with pytest.raises(ValueError, match="y_true contains missing values"):
        tace_error(convert(strings), lazy)
    strings[150] = 3
    with pytest.raises(ValueError, match="Unknown label type: y_true holds objects"):
        tace_error(convert(strings), lazy)


def test_chunks_with_labels_of_different_kinds_are_refused():
    _, proba = problem(n=4, n_classes=2)
    mixed = np.array([0, 1, "a", "b"], dtype=object)
    for lazy in (mixed, chunked(mixed, (2, 2))):
        with pytest.raises(ValueError, match="Unknown label type"):
            tace_error(lazy, chunked(proba, (2, 2)))


@pytest.mark.parametrize("convert", [np.asarray, chunked])
def test_shapes_that_do_not_fit(convert):
    y, proba = problem(n=200)
    lazy = chunked(proba)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[199, 20"):
        tace_error(convert(y[1:]), lazy)
    with pytest.raises(ValueError, match="labels first, predicted probabilities sec"):
        tace_error(lazy, convert(y))
    with pytest.raises(ValueError, match=r"fit takes \(y, proba\): labels first"):
        CalibrationReport().fit(lazy, convert(y))
    with pytest.raises(ValueError, match="labels first, predicted probabilities sec"):
        tace_error(convert(proba[:, 0]), chunked(y))
    with pytest.raises(ValueError, match="indicator of shape"):
        tace_error(convert(np.eye(5)[y][:, :4]), lazy)
    with pytest.raises(ValueError, match="one or two dimensions"):
        tace_error(convert(y), chunked(proba[:, None]))
    with pytest.raises(ValueError, match="an indicator of 0 and 1"):
        tace_error(convert(np.full((200, 5), 3)), lazy)


def test_rows_of_unknown_number_are_counted():
    y, proba = problem(n=200)
    rows = proba[:, 0] > 0.1
    lazy, lazy_y, lazy_rows = chunked(proba), chunked(y), chunked(rows)
    weight = some_weights("any", 200)
    some = {
        "lazy_y": lazy_y[lazy_rows],
        "lazy_proba": lazy[lazy_rows],
        "lazy_weight": chunked(weight)[lazy_rows],
    }
    reports = both(y[rows], proba[rows], sample_weight=weight[rows], **some)
    assert_same(*reports, CLOSE)
    for part in some.values():
        assert np.isnan(part.shape[0])
    for arguments in [(y, some["lazy_proba"]), (some["lazy_y"], lazy)]:
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            tace_error(*arguments)


def test_what_is_no_array_of_dask_is_refused():
    y, proba = problem(n=200)
    for arguments, name in [
        ((y, dask.delayed(proba)), "y_proba"),
        ((y, dask.delayed(softmax)(proba)), "y_proba"),
        ((dask.delayed(y), chunked(proba)), "y_true"),
    ]:
        with pytest.raises(TypeError, match=f"{name} must be a dask array or data fr"):
            tace_error(*arguments)


@pytest.mark.parametrize("sizes", [(0,), (0, 0, 0)])
def test_no_rows(sizes):
    for y in (np.empty(0, int), chunked(np.empty(0, int), sizes)):
        with pytest.raises(ValueError, match="Found array with 0 sample"):
            tace_error(y, chunked(np.empty((0, 3)), sizes), labels=range(3))
    with pytest.raises(ValueError, match="Found array with 0 sample"):
        tace_error(np.empty((0, 3), int), chunked(np.empty((0, 3)), sizes))
    with pytest.raises(ValueError, match="while a minimum of 1 is required"):
        tace_error([0, 1], da.zeros((2, 0)))


def test_parameters_are_checked_before_anything_is_computed():
    y, proba = problem(n=200)
    computed = []
    lazy = counted(proba, computed)
    with pytest.raises(ValueError, match="threshold"):
        tace_error(y, lazy, threshold=2)
    with pytest.raises(ValueError, match="labels has 4 entries"):
        tace_error(y, lazy, labels=range(4))
    assert not computed


def test_a_failed_fit_leaves_the_report_as_it_was():
    y, proba = problem(n=500)
    report = CalibrationReport().fit(chunked(y), chunked(proba))
    before = pickle.dumps(report)
    bad = proba.copy()
    bad[499] = 2
    with pytest.raises(ValueError, match="row 499"):
        report.fit(y, chunked(bad))
    with pytest.raises(ValueError, match="row 499"):
        report.partial_fit(y, chunked(bad))
    assert_same(report, pickle.loads(before))


# --- kinds of chunks ----------------------------------------------------------------


@pytest.mark.parametrize(
    "convert",
    [scipy.sparse.csr_matrix, scipy.sparse.csr_array, scipy.sparse.csc_array],
)
@pytest.mark.filterwarnings("ignore:Meta is not valid")
def test_sparse_chunks(convert):
    y, proba = problem()
    proba[proba < 0.05] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # rows sum to less than one
        dense = CalibrationReport(**FEW_BINS).fit(y, proba)
    lazy = sparse_chunks(proba, convert)
    for lazy_y in (y, chunked(y)):
        report = CalibrationReport(**FEW_BINS).fit(lazy_y, lazy)
        assert_same(report, CalibrationReport(**FEW_BINS).fit(y, convert(proba)))
        assert_same(report, dense)
    with config_context(working_memory=LITTLE):
        report = CalibrationReport(**FEW_BINS).fit(y, lazy)
    assert is_condensed(report)
    assert_same(report, dense, CLOSE)


def test_sparse_chunks_need_a_threshold():
    y, proba = problem(n=100)
    lazy = sparse_chunks(proba, scipy.sparse.csr_array)
    with pytest.raises(ValueError, match="threshold=None keeps every probability"):
        tace_error(y, lazy, threshold=None)


def table_of(y, proba):
    frame = pd.DataFrame(proba, columns=NAMES)
    frame["label"] = NAMES[y]
    frame["weight"] = 1 + np.arange(len(y)) % 3
    return frame


@pytest.mark.parametrize("memory", [1024, LITTLE])
def test_columns_of_a_frame_stay_together_in_whatever_order_its_rows_come(memory):
    y, proba = problem()
    frame = table_of(y, proba)
    turned = dd.from_pandas(frame, npartitions=4).map_partitions(
        lambda part: part.sample(frac=1), meta=frame.iloc[:0]
    )
    for weight in (None, "weight"):
        data = {} if weight is None else {"sample_weight": frame[weight]}
        plain = CalibrationReport(**FEW_BINS)
        plain.fit(frame["label"], frame[NAMES], **data)
        data = {} if weight is None else {"sample_weight": turned[weight]}
        with config_context(working_memory=2 * memory):
            lazy = CalibrationReport(**FEW_BINS)
            lazy.fit(turned["label"], turned[list(NAMES)], **data)
        assert_same(lazy, plain, CLOSE)


@pytest.mark.parametrize(
    ("params", "memory", "n_times"),
    [
        # To count rows, to find the labels, to filter; and to filter again.
        ({}, 1024, 3),
        ({"labels": NAMES}, 1024, 2),
        ({"labels": NAMES}, 0.3, 3),
    ],
)
def test_how_often_a_frame_is_computed(params, memory, n_times):
    frame, computed = table_of(*problem(n=20_000)), []

    def part(k):
        computed.append(k)
        return frame.iloc[5000 * k : 5000 * (k + 1)]

    scores = dd.from_map(part, range(4), meta=frame.iloc[:0])
    with config_context(working_memory=memory):
        value = tace_error(
            scores["label"],
            scores[list(NAMES)],
            sample_weight=scores["weight"],
            n_bins=5,
            **params,
        )
    expected = tace_error(
        frame["label"], frame[NAMES], sample_weight=frame["weight"], n_bins=5
    )
    assert_allclose(value, expected, **CLOSE)
    assert sorted(computed) == sorted(list(range(4)) * n_times)


def test_errors_tell_the_chunk(scheduler):
    y, proba = problem(n=400)
    weight = np.ones(400)
    weight[250] = -1
    with pytest.raises(ValueError, match="Negative values") as caught:
        tace_error(y, chunked(proba, (200, 200)), sample_weight=weight)
    notes = caught.value.__notes__
    assert "This is of the chunk that begins with row 200." in notes


def test_chunks_in_a_row_are_brought_together_with_a_warning():
    y, proba = problem(n=400)
    lazy = da.from_array(proba, chunks=(150, 2))
    with pytest.warns(UserWarning, match="split into 3 chunks each") as record:
        report = CalibrationReport().fit(chunked(y), lazy)
    assert len(record) == 1
    assert "rechunk({1: -1})" in str(record[0].message)
    assert record[0].filename == __file__
    assert_same(report, CalibrationReport().fit(y, proba))
    outcomes = da.from_array(np.eye(5, dtype=int)[y], chunks=(170, 3))
    lazy, plain = both(np.eye(5, dtype=int)[y], proba, lazy_y=outcomes)
    assert_same(lazy, plain)


def frame_of(proba, names=NAMES):
    return pd.DataFrame(proba, columns=list(names))


def test_names_of_columns_are_labels():
    y, proba = problem()
    order = [3, 0, 4, 1, 2]
    frame = frame_of(proba[:, order], NAMES[order])
    lazy = dd.from_pandas(frame, npartitions=4)
    report = CalibrationReport(**FEW_BINS).fit(NAMES[y], lazy)
    assert report.classes_.tolist() == NAMES[order].tolist()
    assert_same(report, CalibrationReport(**FEW_BINS).fit(NAMES[y], frame))
    with config_context(working_memory=LITTLE):
        close = CalibrationReport(**FEW_BINS).fit(NAMES[y], lazy)
    assert is_condensed(close)
    assert_same(close, report, CLOSE)


def test_names_of_columns_in_another_order_are_refused():
    y, proba = problem(n=200)
    frame = frame_of(proba)
    lazy = dd.from_pandas(frame, npartitions=3)
    with pytest.raises(ValueError, match="the same labels in another order"):
        tace_error(NAMES[y], lazy, labels=NAMES[::-1])
    outcomes = dd.from_pandas(frame_of(np.eye(5, dtype=int)[y], NAMES[::-1]), 3)
    with pytest.raises(ValueError, match="the same labels in another order"):
        tace_error(outcomes, lazy)
    with pytest.raises(ValueError, match="but y_true contains .*'owl'"):
        tace_error(NAMES[y], lazy.rename(columns={"owl": "ant"}))
    report = CalibrationReport().partial_fit(NAMES[y], lazy, classes=NAMES)
    turned = dd.from_pandas(frame[list(NAMES[::-1])], npartitions=3)
    with pytest.raises(ValueError, match="in another order"):
        report.partial_fit(NAMES[y], turned)
    assert report.n_samples_ == 200


def test_single_columns_of_frames():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    y = np.where(rng.random(300) < p, "yes", "no")
    frame = dd.from_pandas(pd.DataFrame({"yes": p, "no": 1 - p}), npartitions=3)
    expected = tace_error(y, p)
    assert tace_error(y, frame["yes"]) == expected
    assert tace_error(y, frame[["yes"]]) == expected
    assert tace_error(y, frame[["no", "yes"]]) == tace_error(y, 1 - (1 - p))
    with pytest.raises(ValueError, match="bears the name of the first label, 'no'"):
        tace_error(y, frame[["no"]], labels=["no", "yes"])


@pytest.mark.parametrize("dtype", ["Float32", "Float64", "float32[pyarrow]"])
def test_nullable_columns_keep_their_precision(dtype):
    y, proba = problem(n=200)
    frame = frame_of(proba).astype(dtype)
    lazy = dd.from_pandas(frame, npartitions=3)
    report = CalibrationReport().fit(NAMES[y], lazy)
    exact = CalibrationReport().fit(NAMES[y], frame)
    assert report.tace_ == exact.tace_
    frame.iloc[120, 1] = pd.NA
    with pytest.raises(ValueError, match=r"y_proba contains NaN. One is in row 120"):
        tace_error(NAMES[y], dd.from_pandas(frame, npartitions=3))


def test_files_of_parquet(tmp_path, scheduler):
    y, proba = problem()
    frame = frame_of(proba)
    frame["label"] = NAMES[y]
    frame["weight"] = some_weights("any", len(y))
    sizes = sizes_of(len(y), "uneven")
    ends = np.cumsum((0, *sizes))
    for k in range(len(sizes)):
        part = frame.iloc[ends[k] : ends[k + 1]]
        part.to_parquet(tmp_path / f"part_{k:02}.parquet")
    lazy = dd.read_parquet(tmp_path)
    arguments = lazy["label"], lazy[list(NAMES)]
    weight = {"sample_weight": lazy["weight"]}
    plain = CalibrationReport(**FEW_BINS)
    plain.fit(frame["label"], frame[list(NAMES)])
    assert_same(CalibrationReport(**FEW_BINS).fit(*arguments), plain)
    with config_context(working_memory=LITTLE):
        close = CalibrationReport(**FEW_BINS).fit(*arguments)
    assert is_condensed(close)
    assert_same(close, plain, CLOSE)
    plain.fit(frame["label"], frame[list(NAMES)], sample_weight=frame["weight"])
    weighted = CalibrationReport(**FEW_BINS).fit(*arguments, **weight)
    assert_same(weighted, plain, CLOSE)


def test_a_filtered_frame_has_rows_enough_to_count():
    y, proba = problem(n=600)
    frame = frame_of(proba)
    frame["label"] = NAMES[y]
    lazy = dd.from_pandas(frame, npartitions=4)
    few, lazy_few = frame[frame["cat"] > 0.2], lazy[lazy["cat"] > 0.2]
    names = list(NAMES)
    expected = CalibrationReport().fit(few["label"], few[names])
    assert_same(
        CalibrationReport().fit(lazy_few["label"], lazy_few[names]),
        expected,
    )


def test_arrays_of_zarr(tmp_path, scheduler):
    zarr = pytest.importorskip("zarr")
    y, proba = problem()
    store = zarr.open_array(
        store=str(tmp_path / "proba.zarr"),
        mode="w",
        shape=proba.shape,
        chunks=(700, proba.shape[1]),
        dtype=proba.dtype,
    )
    store[:] = proba
    lazy = da.from_zarr(str(tmp_path / "proba.zarr"))
    assert lazy.numblocks == (5, 1)
    assert_same(*both(y, proba, lazy_proba=lazy))
    assert_close_when_condensed(y, proba, lazy_proba=lazy)


# --- reports and scorers ------------------------------------------------------------


def test_batches_of_dask_and_of_memory():
    y, proba = problem(n=600)
    report = CalibrationReport(n_draws=30)
    report.partial_fit(chunked(y[:200]), chunked(proba[:200]), classes=range(5))
    report.partial_fit(y[200:350], proba[200:350])
    report.partial_fit(y[350:], chunked(proba[350:]))
    plain = CalibrationReport(n_draws=30).fit(y, proba, labels=range(5))
    assert_same(report, plain)
    assert_same_inference(report, plain)
    outcomes = np.eye(5, dtype=int)[y]
    report = CalibrationReport().partial_fit(chunked(outcomes), chunked(proba))
    assert_same(report, CalibrationReport().fit(outcomes, proba))
    with pytest.raises(ValueError, match="classes must be passed on the first call"):
        CalibrationReport().partial_fit(chunked(y), chunked(proba))


def test_a_batch_of_weight_zero():
    y, proba = problem(n=600)
    report = CalibrationReport()
    weight = {"sample_weight": chunked(np.zeros(600))}
    report.partial_fit(y, chunked(proba), classes=range(5), **weight)
    report.partial_fit(y, chunked(proba))
    assert_same(report, CalibrationReport().fit(y, proba))


def test_reports_are_merged_and_compared():
    y, proba = problem(n=600)
    lazy, plain = both(y, proba, n_draws=30)
    other = (proba**2 / (proba**2).sum(axis=1, keepdims=True)).astype(np.float32)
    lazy_other, plain_other = both(y, other, n_draws=30)
    differences = compare(lazy, lazy_other), compare(lazy, plain_other)
    expected = compare(plain, plain_other)
    for difference in differences:
        assert str(difference) == str(expected)
    assert_same(lazy.merge(lazy_other), plain.merge(plain_other))


def test_saved_reports_hold_no_trace_of_dask():
    y, proba = problem(n=300)
    lazy, plain = both(y, proba)
    again = CalibrationReport.from_json(lazy.to_json())
    assert_same(again, plain)
    assert_same_inference(again, plain)
    assert b"dask" not in pickle.dumps(lazy)


class Lazy(GaussianNB):
    """A classifier that predicts later, chunk by chunk."""

    def predict_proba(self, X):
        predict = super().predict_proba
        meta = np.empty((0, 0))
        return X.map_blocks(
            predict, meta=meta, chunks=(X.chunks[0], len(self.classes_))
        )


def test_classifiers_that_predict_later():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((900, 2))
    code = (X.sum(axis=1) + rng.standard_normal(900) > 0).astype(int) + (X[:, 0] > 1)
    y = NAMES[code]
    lazy, plain = Lazy().fit(X, y), GaussianNB().fit(X, y)
    lazy_X = chunked(X)
    for lazy_y in (y, chunked(y)):
        report = CalibrationReport.from_estimator(lazy, lazy_X, lazy_y)
        assert_same(report, CalibrationReport.from_estimator(plain, X, y))
        assert TACEScorer()(lazy, lazy_X, lazy_y) == TACEScorer()(plain, X, y)
    with pytest.raises(ValueError, match="needs dense probabilities in memory"):
        CalibrationScorer()(lazy, lazy_X, y)
    strange = y.copy()
    strange[777] = "yak"
    reports = []
    for model, data, labels in [
        (plain, X, strange),
        (lazy, lazy_X, strange),
        (lazy, lazy_X, chunked(strange)),
    ]:
        with pytest.warns(UserWarning, match="was not fitted on: .*yak") as record:
            reports.append(CalibrationReport.from_estimator(model, data, labels))
        assert len(record) == 1
    for name, value in paths.fitted_attributes(reports[0]).items():
        for report in reports[1:]:
            assert_array_equal(getattr(report, name), value, err_msg=name)


def test_from_predictions():
    y, proba = problem(n=300)
    report = CalibrationReport.from_predictions(
        chunked(NAMES[y]), chunked(proba), labels=NAMES, n_bins=4
    )
    assert_same(report, CalibrationReport(n_bins=4).fit(NAMES[y], proba, labels=NAMES))


# --- what is computed, and what travels ---------------------------------------------


def counted(values, computed, sizes="many"):
    """A dask array whose chunks say when they are computed."""

    def compute(part):
        computed.append(len(part))
        return part

    lazy = chunked(values, sizes)
    return lazy.map_blocks(compute, meta=np.empty((0,) * values.ndim, values.dtype))


def wide_problem():
    """So many scores that a limit below them has room for what two cuts run through."""
    rng = np.random.default_rng(0)
    proba = rng.random((30_000, 2), dtype=np.float32)
    return (rng.random(proba.shape) < proba).astype(int), proba


@pytest.mark.parametrize(("memory", "n_visits"), [(1024, 1), (0.3, 2)])
def test_how_often_a_chunk_is_computed(memory, n_visits):
    y, proba = wide_problem()
    computed = {"y": [], "proba": [], "weight": []}
    lazy = counted(proba, computed["proba"])
    lazy_y = counted(y, computed["y"])
    weight = counted(np.ones(len(y)), computed["weight"])
    with config_context(working_memory=memory):
        report = CalibrationReport(n_bins=2)
        report.fit(lazy_y, lazy, sample_weight=weight)
    assert is_condensed(report) == (n_visits == 2)
    for name, sizes in computed.items():
        assert len(sizes) == n_visits * 50, name
        assert sum(sizes) == n_visits * len(y), name


@pytest.mark.parametrize(("memory", "n_visits"), [(1024, 1), (0.3, 2)])
def test_chunks_from_which_all_else_comes_are_computed_as_often(memory, n_visits):
    y, proba = wide_problem()
    computed = []
    source = counted(np.hstack([proba, y]), computed)
    lazy_y, lazy = source[:, 2:].astype(int), source[:, :2]
    with config_context(working_memory=memory):
        value = tace_error(lazy_y, lazy, n_bins=2)
    assert_allclose(value, tace_error(y, proba.astype(float), n_bins=2), **CLOSE)
    assert len(computed) == n_visits * 50


def test_empty_chunks_are_not_looked_at():
    y, proba = problem(n=300)
    computed = []
    tace_error(y, counted(proba, computed, "empty"))
    assert sorted(computed) == [100, 200]


def test_chunks_that_differ_at_the_second_visit_are_refused():
    y, proba = problem()
    rng = np.random.default_rng(0)
    lazy = chunked(proba).map_blocks(
        lambda part: part[rng.permutation(len(part))], meta=np.empty((0, 0), np.float32)
    )
    with (
        config_context(working_memory=LITTLE),
        pytest.raises(ValueError, match="not those of the first visit"),
    ):
        tace_error(y, lazy, n_bins=5)


@pytest.mark.parametrize("memory", [1024, LITTLE])
def test_only_survivors_travel(memory):
    n, n_classes = 20_000, 50
    rng = np.random.default_rng(0)
    proba = np.full((n, n_classes), 0.5 / (n_classes - 1), np.float32)
    proba[:, 0] = 0.5
    proba[rng.choice(n, 200, replace=False)] = 1 / n_classes
    y = rng.integers(n_classes, size=n)
    sent = []

    class Look(Callback):
        def _posttask(self, key, value, *_):
            # Pickled chunks of the user stay where they are computed.
            if not isinstance(value, np.ndarray):
                sent.append(len(pickle.dumps(value)))

    lazy = chunked(proba, (5000,) * 4) + np.float32(0)
    lazy_y = chunked(y, (5000,) * 4) + 0
    weight = chunked(np.ones(n), (5000,) * 4) + 0
    # Kept are 200 scores of each class but the first, at one value, of weight 1.
    with config_context(working_memory=memory), Look():
        report = CalibrationReport(threshold=0.015, n_bins=5)
        report.fit(lazy_y, lazy, labels=range(n_classes), sample_weight=weight)
    n_survivors = (proba > np.float32(0.015)).sum()
    assert report.n_kept_.sum() == n_survivors
    assert sent
    # Of each survivor: word, class, weight and row.
    assert max(sent) < 16 * n_survivors + 10_000 < proba.nbytes / 8


# --- workers ------------------------------------------------------------------------


@pytest.mark.parametrize("memory", [1024, LITTLE])
def test_workers_of_a_cluster(client, memory):
    y, proba = problem()
    weight = some_weights("any", len(y))
    plain = CalibrationReport(**FEW_BINS).fit(NAMES[y], proba)
    weighted = CalibrationReport(**FEW_BINS)
    weighted.fit(NAMES[y], proba, sample_weight=weight)
    lazy = chunked(NAMES[y]), chunked(proba, "many")
    with client.as_current(), dask.config.set(scheduler=None):
        with config_context(working_memory=2 * memory):
            report = CalibrationReport(**FEW_BINS).fit(
                *lazy, sample_weight=chunked(weight)
            )
        assert_same(report, weighted, CLOSE)
        with config_context(working_memory=memory):
            report = CalibrationReport(**FEW_BINS).fit(*lazy)
    assert is_condensed(report) == (memory == LITTLE)
    assert_same(report, plain, CLOSE if memory == LITTLE else EXACT)
    if memory != LITTLE:
        assert_same_inference(report, plain)


def test_data_that_workers_hold(client):
    y, proba = problem()
    with dask.config.set(scheduler=client):
        lazy_y, lazy = client.persist([chunked(NAMES[y]), chunked(proba)])
        assert_same(*both(NAMES[y], proba, lazy_y=lazy_y, lazy_proba=lazy))
        assert_close_when_condensed(NAMES[y], proba, lazy_y=lazy_y, lazy_proba=lazy)


def test_a_worker_that_dies_changes_nothing(tmp_path):
    y, proba = problem()
    plain = CalibrationReport(**FEW_BINS).fit(y, proba)
    mark = str(tmp_path / "died")

    def die_once(part):
        if part[0, 0] == proba[1500, 0]:
            with contextlib.suppress(FileExistsError):
                os.close(os.open(mark, os.O_CREAT | os.O_EXCL))
                os.kill(os.getpid(), signal.SIGKILL)
        return part

    lazy = chunked(proba, (500,) * 6).map_blocks(
        die_once, meta=np.empty((0, 0), proba.dtype)
    )
    # The client is not in the configuration, for a new worker gets a copy of that.
    with (
        workers() as client,
        client.as_current(),
        dask.config.set(scheduler=None),
        config_context(working_memory=LITTLE),
    ):
        report = CalibrationReport(**FEW_BINS).fit(chunked(y), lazy)
        client.wait_for_workers(2, timeout=60)
    assert os.path.exists(mark)
    assert is_condensed(report)
    assert_same(report, plain, CLOSE)
