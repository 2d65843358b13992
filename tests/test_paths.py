"""Sparse, memory-mapped and streamed scores: the numbers of the plain path."""

import copy
import warnings

import numpy as np
import paths
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.special import softmax
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.naive_bayes import GaussianNB
from test_definition import indicator_problems, problem_settings

from sklearn_tace import (
    CalibrationReport,
    CalibrationScorer,
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
