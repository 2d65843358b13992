"""Sparse, memory-mapped and streamed scores: the numbers of the plain path."""

import copy
import pickle
import subprocess
import sys
import tempfile
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import paths
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.special import softmax
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, UndefinedMetricWarning
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.validation import check_is_fitted
from test_definition import indicator_problems, problem_settings

from sklearn_tace import (
    CalibrationReport,
    CalibrationScorer,
    TACEScorer,
    tace_error,
)


def problem(n=600, n_classes=40, sharpness=3, dtype=np.float32, seed=0):
    """Labels, and probabilities of which some rows miss a sum of one by round-off."""
    rng = np.random.default_rng(seed)
    proba = softmax(sharpness * rng.standard_normal((n, n_classes)), axis=1)
    proba = (proba * rng.choice([1, 1 - 2e-5, 1 + 1e-5], (n, 1))).astype(dtype)
    return rng.integers(n_classes, size=n), proba


def top(proba, k):
    """The k largest of each row, as a sparse array."""
    lowest = -np.sort(-proba, axis=1)[:, k - 1 : k]
    return scipy.sparse.csr_array(np.where(proba >= lowest, proba, 0))


# --- every path ---------------------------------------------------------------------


@given(
    problem=indicator_problems(),
    path=st.sampled_from(list(paths.PATHS)),
    **problem_settings,
)
@settings(deadline=None, max_examples=300)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_indicators_to_the_last_bit(problem, path, threshold, n_bins, ties):
    outcomes, scores, weights = problem
    parameters = {"threshold": threshold, "n_bins": n_bins, "ties": ties}
    plain = CalibrationReport(**parameters)
    plain.fit(outcomes, scores, sample_weight=weights)
    report = CalibrationReport(**parameters)
    paths.fit(path, report, outcomes, scores, sample_weight=weights)
    close = path in {"batches", "merged"} and weights is not None
    paths.assert_same_report(report, plain, *[1e-12 * close] * 2)


@pytest.mark.parametrize("path", paths.PATHS)
@pytest.mark.parametrize("ties", ["average", "ordinal"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(600, 40), (9000, 7)])
def test_labels_to_the_last_bit(path, ties, dtype, shape):
    y, proba = problem(*shape, dtype=dtype)
    report = paths.fit(
        path, CalibrationReport(ties=ties), y, proba, labels=range(shape[1])
    )
    plain = CalibrationReport(ties=ties).fit(y, proba, labels=range(shape[1]))
    paths.assert_same_report(report, plain)


@pytest.mark.parametrize("path", paths.PATHS)
@pytest.mark.parametrize("weights", ["some are 0", "all differ"])
def test_weights(path, weights):
    y, proba = problem()
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    if weights == "all differ":
        weight = np.random.default_rng(1).lognormal(size=len(y))
    data = {"labels": range(40), "sample_weight": weight}
    report = paths.fit(path, CalibrationReport(), y, proba, **data)
    plain = CalibrationReport().fit(y, proba, **data)
    paths.assert_same_report(report, plain, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("path", paths.PATHS)
@pytest.mark.filterwarnings("ignore:The y_proba values do not sum to one:UserWarning")
def test_rows_that_do_not_sum_to_one(path):
    y, proba = problem()
    proba *= np.random.default_rng(0).random((len(y), 1), dtype=np.float32)
    report = paths.fit(path, CalibrationReport(), y, proba, labels=range(40))
    plain = CalibrationReport().fit(y, proba, labels=range(40))
    paths.assert_same_report(report, plain)
    kept = proba[proba > np.float32(0.01)].sum(dtype=float)
    assert report.kept_mass_ == pytest.approx(kept / proba.sum(dtype=float), rel=1e-7)


@pytest.mark.parametrize("path", paths.PATHS)
def test_bad_values_are_found_on_every_path(path):
    y, proba = problem(n=50, dtype=np.float64)
    for value, message in [
        (np.nan, "y_proba contains NaN. One is in row "),
        (np.inf, "y_proba contains infinity"),
        (-0.5, "y_proba contains values less than 0: -0.5"),
        (1.5, "y_proba contains values greater than 1: 1.5"),
    ]:
        bad = proba.copy()
        bad[37, 11] = value
        with (
            np.errstate(invalid="ignore"),
            pytest.raises(ValueError, match=message),
        ):
            paths.fit(path, CalibrationReport(), y, bad, labels=range(40))


@pytest.mark.parametrize("path", paths.PATHS)
def test_round_off_beyond_the_range_is_clipped_on_every_path(path):
    proba = np.array([[1 + 5e-6, -5e-6], [0.3, 0.7], [-0.0, 1]])
    report = paths.fit(path, CalibrationReport(threshold=0), [0, 1, 1], proba)
    exact = CalibrationReport(threshold=0).fit([0, 1, 1], [[1, 0], [0.3, 0.7], [0, 1]])
    paths.assert_same_report(report, exact)


# --- sparse -------------------------------------------------------------------------


def test_sparse_needs_a_threshold():
    y, proba = problem()
    with pytest.raises(ValueError, match=r"threshold=None keeps .*toarray\(\)"):
        tace_error(y, top(proba, 5), labels=range(40), threshold=None)


class Sparse(GaussianNB):
    def predict_proba(self, X):
        return scipy.sparse.csr_array(super().predict_proba(X))


def test_ace_of_a_sparse_classifier_is_refused():
    X, y = np.arange(20.0)[:, None], np.repeat([0, 1], 10)
    with pytest.raises(ValueError, match="needs dense probabilities.* Use TACEScorer"):
        CalibrationScorer()(Sparse().fit(X, y), X, y)


def test_a_sparse_classifier_that_has_not_seen_a_label():
    X, y = np.arange(20.0)[:, None], np.repeat(["a", "b"], 10)
    X_test, y_test = X[::3], np.array(["a", "b", "c", "a", "b", "c", "b"])
    reports = []
    for model in (GaussianNB(), Sparse()):
        with pytest.warns(UserWarning, match="was not fitted on"):
            reports.append(
                CalibrationReport.from_estimator(model.fit(X, y), X_test, y_test)
            )
    assert reports[0].classes_.tolist() == ["a", "b", "c"]
    paths.assert_same_report(*reports)


def test_sparse_scores_of_one_column_are_refused():
    column = scipy.sparse.csr_array([[0.2], [0.7]])
    with pytest.raises(ValueError, match=r"1 - y_proba too, .*toarray\(\)"):
        tace_error([0, 1], column)
    with pytest.raises(ValueError, match="must have two dimensions"):
        tace_error([0, 1], scipy.sparse.coo_array(np.array([0.2, 0.7])))


def test_one_class_of_a_sparse_model():
    column = np.array([[0.2], [0.7], [0]])
    sparse = scipy.sparse.csr_array(column)
    settings = {"labels": ["a"], "average": None}
    with pytest.warns(UserWarning, match="do not sum to one"):
        dense = tace_error(["a"] * 3, column, **settings)
    assert_array_equal(tace_error(["a"] * 3, sparse, **settings), dense)


def test_truncated_rows_are_no_mistake_but_rows_above_one_are():
    y, proba = problem()
    truncated = top(proba, 3)
    assert truncated.sum(axis=1).max() < 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = CalibrationReport().fit(y, truncated, labels=range(40))
    with pytest.warns(UserWarning, match=r"Row \d+ sums to 0\."):
        dense = CalibrationReport().fit(y, truncated.toarray(), labels=range(40))
    paths.assert_same_report(report, dense)
    truncated.data[truncated.indptr[7]] = 1
    with pytest.warns(UserWarning, match=r"do not sum to one.* Row 7 sums to 1\."):
        tace_error(y, truncated, labels=range(40))


def test_sparse_without_an_entry_is_undefined():
    with pytest.warns(UndefinedMetricWarning, match="the largest is 0"):
        value = tace_error([0, 1], scipy.sparse.csr_array((2, 3)), labels=range(3))
    assert np.isnan(value)


def test_sparse_input_is_left_alone():
    sparse = paths._duplicates(np.array([[0.9, 0.1], [0.4, 0.6]])).tocoo()
    for convert in (scipy.sparse.coo_array, scipy.sparse.csc_array, _unsorted):
        given = convert(sparse)
        before = copy.deepcopy(given)
        tace_error([0, 1], given, sample_weight=[1, 2])
        assert_array_equal(given.data, before.data)
        assert given.nnz == before.nnz


def _unsorted(sparse):
    csr = scipy.sparse.csr_array(sparse)
    csr.indices = csr.indices[::-1].copy()
    csr.data = csr.data[::-1].copy()
    csr.has_canonical_format = csr.has_sorted_indices = False
    return csr


@pytest.mark.parametrize("dtype", [bool, np.int8, np.longdouble])
def test_sparse_numbers_of_any_type(dtype):
    dense = np.eye(3)[[0, 1, 2, 2]].astype(dtype)
    sparse = scipy.sparse.csr_array(dense)
    sparse.data = sparse.data.astype(dtype)
    y = [0, 1, 2, 0]
    assert tace_error(y, sparse, n_bins=2) == tace_error(y, dense, n_bins=2)


def test_sparse_half_precision_is_refused():
    sparse = scipy.sparse.csr_array(np.eye(3))
    sparse.data = sparse.data.astype(np.float16)
    with pytest.raises(ValueError, match=r"half precision.*astype\(np.float32\)"):
        tace_error(range(3), sparse)


@pytest.mark.parametrize("index", [-1, 3, 999_999_999])
@pytest.mark.parametrize("convert", [scipy.sparse.csr_array, scipy.sparse.csc_array])
def test_entries_beyond_a_sparse_matrix_are_refused(index, convert):
    sparse = convert(np.eye(3))
    sparse.indices[1] = index
    with pytest.raises(ValueError, match=f"entry in .* {index}, but has 3"):
        tace_error(range(3), sparse)


def test_broken_sparse_matrices_are_refused():
    block = scipy.sparse.bsr_array(
        (np.full((2, 1, 1), 0.5), np.array([0, 7]), np.array([0, 1, 2])), shape=(2, 3)
    )
    with pytest.raises(ValueError, match="entry in column 7, but has 3"):
        tace_error([0, 1], block, labels=range(3))
    for ends in ([0, 400_000_000, 3, 3], [0, 3, 1, 3], [1, 1, 2, 3]):
        sparse = scipy.sparse.csr_array(np.eye(3))
        sparse.indptr = np.array(ends, dtype=np.int32)
        with pytest.raises(ValueError, match="no valid sparse matrix"):
            tace_error(range(3), sparse)


@pytest.mark.parametrize(
    ("factor", "function", "hint"),
    [
        (1, np.log, r"Log-probabilities\? Set y_proba.data = np.exp\(y_proba.data\)"),
        (100, np.abs, "Percentages"),
        (1, lambda x: 9 * x - 4, "Logits.*before making them sparse"),
    ],
)
def test_hints_for_sparse_scores_can_be_followed(factor, function, hint):
    y, proba = problem()
    sparse = top(proba, 3) * factor
    sparse.data = function(sparse.data)
    with pytest.raises(ValueError, match=hint):
        tace_error(y, sparse, labels=range(40))


def test_sparse_labels_are_refused():
    with pytest.raises(TypeError, match="Sparse data was passed for y_true"):
        tace_error(scipy.sparse.eye_array(2), np.eye(2))


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_that_miss_one_by_a_little_with_many_columns(order):
    n_classes = 100_000
    proba = np.full((4, n_classes), (1 - 3e-5) / n_classes, np.float32, order=order)
    proba[:, 0] = 0
    proba[:, 1] *= 2
    settings = {"labels": np.arange(n_classes)}
    y = np.zeros(4, dtype=int)
    plain = CalibrationReport(threshold=1.5e-5).fit(y, proba, **settings)
    sparse = scipy.sparse.csr_array(proba)
    paths.assert_same_report(
        CalibrationReport(threshold=1.5e-5).fit(y, sparse, **settings), plain
    )
    streamed = CalibrationReport(threshold=1.5e-5)
    for k in range(4):
        streamed.partial_fit(y[:1], proba[k : k + 1], classes=np.arange(n_classes))
    paths.assert_same_report(streamed, plain)


def test_a_hundred_thousand_classes():
    n, n_classes = 2_000, 100_000
    rng = np.random.default_rng(0)
    score = softmax(3 * rng.standard_normal((n, 20)), axis=1).astype(np.float32)
    column = np.sort(rng.integers(n_classes // 20, size=(n, 20)), axis=1)
    column += np.arange(20) * (n_classes // 20)
    sparse = scipy.sparse.csr_array(
        (score.ravel(), column.ravel(), np.arange(0, n * 20 + 1, 20)),
        shape=(n, n_classes),
    )
    y = column[np.arange(n), rng.integers(20, size=n)]
    report = CalibrationReport().fit(y, sparse, labels=np.arange(n_classes))
    # The classes that occur, in a matrix of their own.
    used = np.unique(column)
    small = scipy.sparse.csr_array((
        score.ravel(),
        np.searchsorted(used, column.ravel()),
        sparse.indptr,
    ))
    dense = CalibrationReport().fit(y, small.toarray(), labels=used)
    assert report.tace_ == dense.tace_
    assert_array_equal(report.class_tace_[used], dense.class_tace_)
    assert_array_equal(report.bins_, dense.bins_)
    assert report.kept_mass_ == dense.kept_mass_


# --- streaming ----------------------------------------------------------------------


def halves(**settings):
    y, proba = problem()
    return [
        CalibrationReport(**settings).fit(y[rows], proba[rows], labels=range(40))
        for rows in (slice(None, 250), slice(250, None))
    ]


@given(
    ends=st.lists(st.integers(0, 200), max_size=8),
    order=st.randoms(use_true_random=False),
    ties=st.sampled_from(["average", "ordinal"]),
    look=st.booleans(),
)
@settings(deadline=None, max_examples=50)
def test_any_split_and_any_order_of_merging(ends, order, ties, look):
    y, proba = problem(n=200, n_classes=5, sharpness=1)
    proba = proba.round(2)  # ties
    proba[:, 0] = 1 - proba[:, 1:].sum(axis=1)
    whole = CalibrationReport(ties=ties).fit(y, proba, labels=range(5))
    reports = []
    for rows in np.split(np.arange(200), sorted(ends)):
        report = CalibrationReport(ties=ties)
        for part in np.array_split(rows, 2):
            if len(part):
                report.partial_fit(y[part], proba[part], classes=range(5))
                _ = look and report.tace_
        if len(rows):
            reports.append(report)
    while len(reports) > 1:
        k = order.randrange(len(reports) - 1)
        if ties == "average":
            order.shuffle(reports)
        reports[k].merge(reports.pop(k + 1))
    paths.assert_same_report(reports[0], whole)


def test_partial_fit_is_measured_when_it_is_looked_at():
    y, proba = problem()
    report = CalibrationReport()
    assert not hasattr(report, "tace_")
    with pytest.raises(NotFittedError, match="instance is not fitted yet"):
        _ = report.tace_
    with pytest.raises(AttributeError, match="no attribute 'taces_'"):
        _ = report.taces_
    report.partial_fit(y, proba, classes=range(40))
    check_is_fitted(report)
    assert "tace_" not in vars(report)
    assert "tace_" in dir(report)
    assert repr(report) == "CalibrationReport()"
    copies = [copy.deepcopy(report), pickle.loads(pickle.dumps(report))]
    assert "tace_" not in vars(report)
    plain = CalibrationReport().fit(y, proba, labels=range(40))
    assert str(report) == str(plain)
    for streamed in (report, *copies):
        paths.assert_same_report(streamed, plain)
    assert not vars(clone(report)).keys() - report.get_params()


def test_partial_fit_goes_on_after_fit_and_fit_starts_anew():
    y, proba = problem()
    report = CalibrationReport().fit(y[:250], proba[:250], labels=range(40))
    report.partial_fit(y[250:], proba[250:])
    paths.assert_same_report(
        report, CalibrationReport().fit(y, proba, labels=range(40))
    )
    report.fit(y[250:], proba[250:], labels=range(40))
    paths.assert_same_report(report, halves()[1])


def test_memory_is_that_of_the_survivors():
    y, proba = problem(n=100, n_classes=1000, sharpness=6)
    report = CalibrationReport()
    for _ in range(200):
        report.partial_fit(y, proba, classes=range(1000))
    n_kept = 200 * (proba > np.float32(0.01)).sum()
    assert len(pickle.dumps(report)) < 8 * n_kept + 100_000
    assert report.n_kept_.sum() == n_kept
    assert len(pickle.dumps(report._seen.survivors)) < 6 * n_kept + 100_000


def test_classes_come_first():
    y, proba = problem()
    report = CalibrationReport()
    message = "classes must be passed on the first call to partial_fit"
    with pytest.raises(ValueError, match=message):
        report.partial_fit(y, proba)
    report.partial_fit(y, proba, classes=np.arange(40))
    report.partial_fit(y[:1], proba[:1])
    report.partial_fit(y, proba, classes=list(range(40)))
    with pytest.raises(ValueError, match=r"classes are \[39, 38, .*those of earlier"):
        report.partial_fit(y, proba, classes=np.arange(40)[::-1])
    assert report.n_samples_ == 1201


def test_an_indicator_needs_no_classes():
    y, proba = problem()
    outcomes = (y[:, None] == np.arange(40)).astype(int)
    report = CalibrationReport()
    for rows in (slice(None, 100), slice(100, None)):
        report.partial_fit(outcomes[rows], proba[rows])
    paths.assert_same_report(report, CalibrationReport().fit(outcomes, proba))


@pytest.mark.parametrize("look", [False, True])
@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"proba": np.full((1, 40), np.nan)}, ValueError, "NaN"),
        ({"proba": np.full((1, 39), 1 / 39)}, ValueError, "39 columns"),
        ({"y": [40]}, ValueError, "not belonging to the passed labels"),
        ({"y": [0, 1]}, ValueError, "inconsistent numbers of samples"),
        ({"classes": range(39)}, ValueError, "classes has 39 entries"),
        ({"classes": range(1, 41)}, ValueError, "classes are"),
        ({"sample_weight": [-1]}, ValueError, "Negative values"),
        ({"proba": np.ones((1, 40))}, UserWarning, "do not sum to one"),
    ],
)
def test_failed_batch_leaves_the_report_as_it_was(look, change, error, message):
    y, proba = problem()
    report = CalibrationReport().partial_fit(y, proba, classes=range(40))
    _ = look and report.tace_
    before = copy.deepcopy(report)
    with pytest.raises(error, match=message):
        report.partial_fit(**{"y": [1], "proba": proba[:1]} | change)
    assert vars(report).keys() == vars(before).keys()
    paths.assert_same_report(report, before)


@pytest.mark.parametrize(
    "setting",
    [{"threshold": 0.02}, {"threshold": np.float32(0.01)}, {"ties": "ordinal"}],
)
def test_what_is_held_was_filtered_with_one_setting(setting):
    y, proba = problem()
    report = CalibrationReport().partial_fit(y, proba, classes=range(40))
    (name,) = setting
    with pytest.raises(ValueError, match=f"{name}=.*used with {name}=.*anew"):
        report.set_params(**setting).partial_fit(y, proba)
    with pytest.raises(ValueError, match=f"{name}="):
        CalibrationReport().merge(report.fit(y, proba, labels=range(40)))
    with pytest.raises(ValueError, match=f"{name}="):
        halves()[0].merge(report)


def test_other_settings_may_change_between_batches():
    y, proba = problem()
    report = CalibrationReport().partial_fit(y[:250], proba[:250], classes=range(40))
    report.set_params(n_bins=3, norm="max", average="weighted")
    report.partial_fit(y[250:], proba[250:])
    plain = CalibrationReport(n_bins=3, norm="max", average="weighted")
    paths.assert_same_report(report, plain.fit(y, proba, labels=range(40)))
    with pytest.raises(ValueError, match="n_bins"):
        report.set_params(n_bins=0).partial_fit(y, proba)
    assert report.n_samples_ == 600


def test_merge_into_an_unfitted_report_makes_a_copy():
    first, second = halves()
    before = copy.deepcopy(first)
    merged = CalibrationReport(n_bins=5).merge(first)
    assert len(merged.bins_) == 5 * 40
    assert len(first.bins_) == 15 * 40
    merged.merge(second)
    paths.assert_same_report(first, before)
    y, proba = problem()
    plain = CalibrationReport(n_bins=5).fit(y, proba, labels=range(40))
    paths.assert_same_report(merged, plain)


@pytest.mark.parametrize("look", [False, True])
def test_merged_reports_share_nothing(look):
    y, proba = problem(n=5000, n_classes=5)
    first = CalibrationReport().partial_fit(y, proba, classes=range(5))
    _ = look and first.tace_
    second = CalibrationReport().merge(first)
    assert second.tace_ == first.tace_ == tace_error(y, proba, labels=range(5))
    paths.assert_same_report(second, first)
    third = CalibrationReport().merge(first)
    third.merge(third)
    assert third.n_samples_ == 2 * len(y)
    assert first.n_samples_ == len(y)


@pytest.mark.parametrize("weighted", [False, True])
def test_copies_threads_and_interrupts_leave_what_is_held(weighted, monkeypatch):
    y, proba = problem(n=5000, n_classes=4)
    weight = np.random.default_rng(0).random(len(y)) if weighted else None
    data = {"labels": range(4), "sample_weight": weight}
    value = CalibrationReport().fit(y, proba, **data).tace_

    def streamed():
        report = CalibrationReport()
        return report.partial_fit(y, proba, classes=range(4), sample_weight=weight)

    report = streamed()
    shallow = copy.copy(report)
    assert report.tace_ == shallow.tace_ == value

    report = streamed()
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: report.tace_, range(4))) == {value}

    report = streamed()
    for batch in report._seen.batches:  # as joblib maps them into workers
        batch.key.flags.writeable = batch.class_index.flags.writeable = False
    assert report.tace_ == value

    report = streamed()
    with monkeypatch.context() as patch:
        patch.setattr("sklearn_tace.core.survivors.unpack", _unpack_and_stop)
        with pytest.raises(KeyboardInterrupt):
            _ = report.tace_
    assert report.tace_ == value


def _unpack_and_stop(word):
    word >>= 1
    raise KeyboardInterrupt


def test_frames_keep_their_columns_from_batch_to_batch():
    y, proba = problem(n_classes=3)
    frame = pd.DataFrame(proba, columns=list("abc"))
    outcomes = pd.DataFrame(np.eye(3, dtype=int)[y % 3], columns=list("abc"))
    other = ["c", "a", "b"]
    report = CalibrationReport().partial_fit(outcomes, frame)
    with pytest.raises(ValueError, match="the same labels in another order"):
        report.partial_fit(outcomes, frame[other])
    message = r"are \['c', 'a', 'b'\], those of earlier rows are \['a', 'b', 'c'\]"
    with pytest.raises(ValueError, match=message):
        report.partial_fit(outcomes[other], frame[other])
    turned = CalibrationReport().fit(outcomes[other], frame[other])
    with pytest.raises(ValueError, match=message):
        report.merge(turned)
    assert report.n_samples_ == len(y)
    plain = frame.to_numpy()
    scores = frame.add_prefix("p_")
    for one, two in [
        (outcomes, plain),
        (outcomes, scores),
        (outcomes.to_numpy(), plain),
    ]:
        report.partial_fit(one, two)
    with pytest.raises(ValueError, match=message):
        report.partial_fit(outcomes[other], scores)
    assert report.n_samples_ == 4 * len(y)
    named = CalibrationReport().partial_fit(outcomes, plain, classes=list("abc"))
    for one, two in [(outcomes[other], plain), (outcomes.to_numpy(), frame[other])]:
        with pytest.raises(ValueError, match="the same labels in another order"):
            named.partial_fit(one, two)


def test_single_columns_may_have_any_name():
    y, p = ["a", "b", "b"], np.array([0.2, 0.7, 0.6])
    report = CalibrationReport().partial_fit(y, p, classes=["a", "b"])
    for name in ("b", "p", "score"):
        report.partial_fit(y, pd.DataFrame({name: p}))
    report.partial_fit(y, pd.DataFrame({"a": 1 - p, "b": p}))
    assert report.n_samples_ == 15


@pytest.mark.parametrize("y", [[[0], [0, 1]], 3])
def test_first_batch_of_no_shape(y):
    with pytest.raises(ValueError, match="classes must be passed"):
        CalibrationReport().partial_fit(y, [[0.4, 0.6]])
    with pytest.raises((ValueError, TypeError), match="y_true"):
        CalibrationReport().partial_fit(y, [[0.4, 0.6]], classes=[0, 1])


@pytest.mark.parametrize("labels", ["abc", list("cab"), np.array(list("cab"), object)])
def test_streams_of_strings(labels):
    labels = np.array(list(labels), dtype=object)
    y, proba = problem(n_classes=3)
    report = CalibrationReport()
    for rows in np.array_split(np.arange(len(y)), 5):
        classes = None if rows[0] else labels
        report.partial_fit(labels[y[rows]].tolist(), proba[rows], classes=classes)
    plain = CalibrationReport().fit(labels[y], proba, labels=labels)
    paths.assert_same_report(report, plain)


def test_merge_refuses_what_does_not_fit():
    first, _ = halves()
    with pytest.raises(TypeError, match="other must be a CalibrationReport, got dict"):
        first.merge({})
    with pytest.raises(NotFittedError, match="other, a CalibrationReport, is not"):
        first.merge(CalibrationReport())
    y, proba = problem()
    other = CalibrationReport().fit(y + 1, proba, labels=range(1, 41))
    with pytest.raises(ValueError, match="classes are"):
        first.merge(other)
    assert first.n_samples_ == 250


def test_batches_with_and_without_weights():
    y, proba = problem()
    weight = np.ones(len(y))
    weight[:250] = np.random.default_rng(0).random(250)
    weight[100:150] = 0
    report = CalibrationReport()
    for rows, part in [
        (slice(0, 100), weight[:100]),
        (slice(100, 150), weight[100:150]),
        (slice(150, 250), weight[150:250]),
        (slice(250, None), None),
    ]:
        report.partial_fit(y[rows], proba[rows], classes=range(40), sample_weight=part)
    plain = CalibrationReport()
    plain.fit(y, proba, labels=range(40), sample_weight=weight)
    paths.assert_same_report(report, plain, rtol=1e-12, atol=1e-12)
    assert "(weighted)" in str(report)


def test_absent_rows_leave_no_trace():
    p = np.array([0.9, 0.2], dtype=np.float32)
    report = CalibrationReport().fit([0, 1], p)
    plain = copy.deepcopy(report).sensitivity(thresholds=0.1)
    report.partial_fit([0], [[0.5, 0.5]], sample_weight=[0])
    assert_array_equal(report.sensitivity(thresholds=0.1), plain)


def test_weights_beyond_double_precision_over_batches():
    report = CalibrationReport()
    batch = {"y": [0, 1], "proba": [0.3, 0.6], "sample_weight": [1e308, 5e307]}
    report.partial_fit(**batch, classes=[0, 1])
    for add in (report.partial_fit, lambda **_: report.merge(report)):
        with pytest.raises(ValueError, match="beyond double precision.*scale"):
            add(**batch)
    assert report.n_samples_ == 2


def test_attributes_are_not_what_is_held():
    y, proba = problem()
    report = CalibrationReport().partial_fit(y, proba, classes=range(40))
    for name in ("support_", "classes_", "class_tace_", "n_kept_"):
        getattr(report, name)[:] = 0
    report.partial_fit(y, proba)
    assert report.support_.sum() == 2 * len(y)
    assert report.classes_.tolist() == list(range(40))


def test_dates_in_other_units():
    days = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]")
    report = CalibrationReport()
    for unit in ("D", "ns", "D"):
        y = days.astype(f"datetime64[{unit}]")
        report.partial_fit(y, [0.2, 0.7], classes=days)
        report.partial_fit(y, [0.2, 0.7], classes=y)
    assert report.n_samples_ == 12


def test_integer_names_of_indicators_say_nothing_in_any_batch():
    frame = pd.DataFrame([[0, 1], [1, 0]], columns=[1, 0])
    report = CalibrationReport()
    for _ in range(3):
        report.partial_fit(frame, frame * 0.8)
    assert report.n_samples_ == 6


def test_batches_of_different_precision():
    y, proba = problem()
    report = CalibrationReport()
    report.partial_fit(y[:300], proba[:300], classes=range(40))
    report.partial_fit(y[300:], proba[300:].astype(float))
    plain = CalibrationReport().fit(y, proba, labels=range(40))
    assert report.tace_ == plain.tace_
    assert_array_equal(report.bins_, plain.bins_)


def test_nothing_kept_so_far_is_undefined_when_looked_at():
    report = CalibrationReport(threshold=0.9)
    report.partial_fit([0, 1], [[0.4, 0.6], [0.7, 0.3]], classes=[0, 1])
    report.partial_fit([0], [[0.2, 0.8]])
    with pytest.warns(UndefinedMetricWarning, match="the largest is 0.8"):
        assert np.isnan(report.tace_)
    report.partial_fit([0], [[0.05, 0.95]])
    assert report.tace_ == pytest.approx(0.95)


def test_batches_of_weight_zero_only_are_undefined():
    y, proba = problem()
    report = CalibrationReport()
    report.partial_fit(y, proba, classes=range(40), sample_weight=np.zeros(len(y)))
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(report.tace_)
    assert report.n_samples_ == 0
    assert np.isnan([report.kept_share_, report.kept_mass_]).all()
    report.partial_fit(y, proba, sample_weight=np.ones(len(y)))
    assert report.tace_ == tace_error(y, proba, labels=range(40))


def test_an_absent_batch_leaves_no_word():
    y, proba = problem()
    report = CalibrationReport()
    report.partial_fit(y, proba, classes=range(40), sample_weight=np.zeros(len(y)))
    report.partial_fit(y, proba)
    assert str(report) == str(CalibrationReport().fit(y, proba, labels=range(40)))


def test_fit_that_ends_in_a_warning_as_error_leaves_the_report_as_it_was():
    report = halves()[0].set_params(threshold=0.999)
    before = copy.deepcopy(report)
    with pytest.raises(UndefinedMetricWarning):
        report.fit([0, 1], [[0.4, 0.6], [0.7, 0.3]])
    paths.assert_same_report(report, before)


def test_probabilities_of_a_batch_are_not_routable():
    with config_context(enable_metadata_routing=True):
        report = CalibrationReport()
        with pytest.raises(TypeError, match="proba"):
            report.set_partial_fit_request(proba=True)
        report.set_partial_fit_request(classes=True, sample_weight=True)


# --- warnings -----------------------------------------------------------------------


def _read_after_partial_fit(y, proba):
    report = CalibrationReport(threshold=0.8)
    report.partial_fit(y, proba, classes=[0, 1])
    return report.tace_


class Fixed(GaussianNB):
    def predict_proba(self, X):
        return np.array([[0.4, 0.6], [0.7, 0.3]])


MODEL = Fixed().fit([[0], [1]], [0, 1])


@pytest.mark.parametrize(
    "call",
    [
        lambda y, p: tace_error(y, p, threshold=0.8),
        lambda y, p: CalibrationReport(threshold=0.8).fit(y, p),
        lambda y, p: CalibrationReport.from_predictions(y, p, threshold=0.8),
        lambda y, p: CalibrationReport.from_estimator(MODEL, p, y, threshold=0.8),
        lambda y, p: TACEScorer(threshold=0.8)(MODEL, p, y),
        lambda y, p: CalibrationReport().fit(y, p).sensitivity(thresholds=0.8),
        _read_after_partial_fit,
    ],
)
def test_warnings_point_at_the_line_of_the_user(call):
    with pytest.warns(UndefinedMetricWarning) as record:
        call([0, 1], np.array([[0.4, 0.6], [0.7, 0.3]]))
    assert [warning.filename for warning in record] == [__file__]


def test_a_value_comes_where_there_is_no_line_of_a_user():
    code = "tace_error([0, 1], [[0.4, 0.6], [0.7, 0.3]], threshold=0.8)"
    assert np.isnan(eval(code, {"tace_error": tace_error, "__name__": None}))


# --- sensitivity --------------------------------------------------------------------


@given(
    problem=indicator_problems(),
    ties=st.sampled_from(["average", "ordinal"]),
    norm=st.sampled_from(["l1", "max"]),
    average=st.sampled_from(["macro", "weighted"]),
    threshold=st.sampled_from([None, 0, 0.25]),
)
@settings(deadline=None, max_examples=100)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
def test_sensitivity_is_what_fits_give(problem, ties, norm, average, threshold):
    outcomes, scores, weights = problem
    fixed = {"ties": ties, "norm": norm, "average": average}
    report = CalibrationReport(threshold=threshold, **fixed)
    report.fit(outcomes, scores, sample_weight=weights)
    thresholds = [threshold, 0.25, 0.5, 0.9]
    table = report.sensitivity(thresholds=thresholds, n_bins=[1, "auto", 15])
    rows = iter(table)
    for t in thresholds:
        for n_bins in (1, "auto", 15):
            row = next(rows)
            other = CalibrationReport(threshold=t, n_bins=n_bins, **fixed)
            other.fit(outcomes, scores, sample_weight=weights)
            assert_array_equal(row["threshold"], np.nan if t is None else t)
            assert row["n_bins"] == (0 if n_bins == "auto" else n_bins)
            assert_array_equal(row["tace"], other.tace_)
            assert row["n_kept"] == other.n_kept_.sum()
            assert row["n_excluded"] == len(other.excluded_classes_)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_sensitivity_compares_at_the_precision_of_the_scores(dtype):
    p = np.array([0.05, 0.1, 0.2, 0.4, 0.6, 0.9, 0.95]).astype(dtype)
    thresholds = [0.05, 0.1, 0.2, 0.4]
    report = CalibrationReport().fit([0, 1] * 3 + [1], p)
    table = report.sensitivity(thresholds=thresholds)
    for row, threshold in zip(table, thresholds, strict=True):
        other = CalibrationReport(threshold=threshold).fit([0, 1] * 3 + [1], p)
        assert row["n_kept"] == other.n_kept_.sum()
        assert row["tace"] == other.tace_


def test_sensitivity_by_default_is_the_report():
    report = halves(n_bins=4)[0].set_params(n_bins=9)
    (row,) = report.sensitivity()
    assert row.tolist() == (0.01, 4, report.tace_, report.n_kept_.sum(), 0)
    assert report.sensitivity(n_bins=7)["n_bins"].tolist() == [7]
    assert report.sensitivity(thresholds=0.5)["threshold"].tolist() == [0.5]


def test_sensitivity_refuses_what_it_cannot_know():
    report, _ = halves()
    for threshold in (0.005, None):
        with pytest.raises(ValueError, match=r"not be below the report's own, 0\.01"):
            report.sensitivity(thresholds=[0.02, threshold])
    with pytest.raises(ValueError, match="0 <= threshold < 1"):
        report.sensitivity(thresholds=[1.5])
    with pytest.raises(TypeError, match="n_bins"):
        report.sensitivity(n_bins=[2.5])
    with pytest.raises(NotFittedError):
        CalibrationReport().sensitivity()


def test_sensitivity_takes_what_a_fit_takes():
    report, _ = halves()
    thresholds = np.array([0.01, 0.2], dtype=np.float32)
    table = report.sensitivity(thresholds=thresholds, n_bins=[2**70])
    assert table["n_bins"].tolist() == [2**63 - 1] * 2
    assert table["n_kept"][0] == report.n_kept_.sum()


def test_sensitivity_warns_once_of_what_is_undefined():
    report = CalibrationReport().fit([0, 1], [[0.4, 0.6], [0.7, 0.3]])
    with pytest.warns(UndefinedMetricWarning) as record:
        table = report.sensitivity(thresholds=[0.1, 0.8, 0.9], n_bins=[1, 2])
    assert len(record) == 1
    assert "nan for thresholds [0.8, 0.9]: no probability" in str(record[0].message)
    assert record[0].filename == __file__
    assert np.isnan(table["tace"]).tolist() == [False] * 2 + [True] * 4
    assert table["n_excluded"].tolist() == [0, 0, 2, 2, 2, 2]


# --- out of core --------------------------------------------------------------------

WALK = """
import resource, sys
import numpy as np
from sklearn_tace import CalibrationReport

y = np.load(sys.argv[1])
proba = np.load(sys.argv[2], mmap_mode="r")
limit = resource.getrlimit(resource.RLIMIT_DATA)
resource.setrlimit(resource.RLIMIT_DATA, (500 * 2**20, limit[1]))
try:
    np.ones(2**27)
except MemoryError:
    report = CalibrationReport().fit(y, proba, labels=np.arange(1000))
    print(report.tace_.hex(), report.kept_mass_.hex(), report.n_kept_.sum())
"""


@pytest.mark.slow
def test_four_gigabytes_in_less_than_half_of_one(tmp_path):
    n_blocks = 20
    y, proba = problem(n=50_000, n_classes=1000, sharpness=6)
    report = CalibrationReport()
    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        files = Path(folder, "y.npy"), Path(folder, "proba.npy")
        np.save(files[0], np.tile(y, n_blocks))
        shape = (n_blocks * len(y), 1000)
        mapped = np.lib.format.open_memmap(files[1], "w+", np.float32, shape)
        for k in range(n_blocks):
            mapped[k * len(y) : (k + 1) * len(y)] = proba
            report.partial_fit(y, proba, classes=range(1000))
        del mapped
        assert files[1].stat().st_size > 4e9 - 1e6
        walk = subprocess.run(
            [sys.executable, "-c", WALK, *files],
            capture_output=True,
            text=True,
            check=True,
            env={"OPENBLAS_NUM_THREADS": "1"},
        )
    expected = report.tace_.hex(), report.kept_mass_.hex(), report.n_kept_.sum()
    assert walk.stdout.split() == [str(value) for value in expected]
