"""Bad input is refused with words that help; odd containers are read as they are."""

import datetime
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from estimators import ConstantProba
from numpy.testing import assert_array_equal
from sklearn.exceptions import DataConversionWarning

from sklearn_tace import CalibrationReport, TACEScorer, tace_error

P3 = [[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.7, 0.2, 0.1]]
BINARY = ([0, 1], [0.2, 0.9])


@pytest.mark.parametrize(
    ("y", "proba", "keywords", "message"),
    [
        # Labels and columns
        (
            [0, 1, 0],
            P3,
            {},
            r"y_true and y_proba contain different number of classes: 2 vs 3\. Please "
            r"provide the labels .* Classes found in y_true: \[0 1\]\.",
        ),
        ([0, 0, 0], P3, {}, r"y_true contains only one label \(0\)\. Please provide"),
        ([1, 1], [0.2, 0.9], {}, r"y_true contains only one label \(1\)"),
        ([0, 1, 2], P3, {"labels": range(4)}, "labels has 4 entries but y_proba has 3"),
        (
            [0, 1, 7],
            P3,
            {"labels": [0, 1, 2]},
            r"y_true contains values \[7\] not belonging to the passed labels "
            r"\[0, 1, 2\]",
        ),
        (["0", "1"], [0.2, 0.9], {"labels": [0, 1]}, r"values \['0', '1'\] not belong"),
        ([0, 1], [0.2, 0.9], {"labels": ["0", "1"]}, r"values \[0, 1\] not belonging"),
        (
            ["a", "b"],
            [0.2, 0.9],
            {"labels": ["a", "a"]},
            r"labels contains duplicates: ",
        ),
        ([0, 1], [0.2, 0.9], {"labels": [0, None]}, "labels contains missing values"),
        (
            [0, 1],
            [0.2, 0.9],
            {"labels": {0, 1}},
            "labels must be the labels of the col",
        ),
        ([0, 1], [0.2, 0.9], {"labels": 2}, "labels must be the labels of the columns"),
        (
            [0, 1],
            [0.2, 0.9],
            {"labels": []},
            "labels must be the labels of the columns",
        ),
        ([0, 1, 2], [0.1, 0.2, 0.3], {}, "1-D y_proba needs exactly two labels, got 3"),
        ([0, 0], [0.1, 0.2], {"labels": [0]}, "needs exactly two labels, got 1"),
        # Kinds of labels
        ([0, 1, None], [0.2, 0.7, 0.9], {}, "y_true contains missing values"),
        ([0.0, 1.0, np.nan], [0.2, 0.7, 0.9], {}, "y_true contains missing values"),
        (["a", None, "b"], [0.2, 0.7, 0.9], {}, "y_true contains missing values"),
        ([[1, np.nan], [0, 1]], np.eye(2), {}, "y_true contains missing values"),
        (
            [0.2, 0.7],
            [0, 1],
            {},
            "Unknown label type: continuous .* labels first, predi",
        ),
        (
            [1, "a"],
            [0.2, 0.9],
            {"labels": [1, 2]},
            "y_true holds objects of type int, str",
        ),
        (np.array([1, "a"], object), [0.2, 0.9], {}, "objects of type int, str"),
        (np.array([{1}, {2}]), [0.2, 0.9], {}, "Unknown label type"),
        ([1j, 2j], [0.2, 0.9], {}, "Complex data not supported"),
        ([[0, 2], [1, 1]], np.eye(2), {}, "Multi-output classifiers are not supported"),
        ([["a", "b"], ["b", "a"]], np.eye(2), {}, "Multi-output classifiers are not"),
        (
            np.eye(2),
            np.full((2, 3), 0.3),
            {},
            r"indicator of shape \(2, 2\), but .* \(2, 3",
        ),
        (np.eye(2), np.full((2, 2), 0.5), {"labels": [1]}, "labels has 1 entries but"),
        # Swapped arguments
        (
            P3,
            [0, 1, 0],
            {},
            r"takes \(y_true, y_proba\): .* got y_true of shape \(3, 3\)",
        ),
        (P3, ["a", "b", "a"], {}, r"labels first.* got y_true of shape \(3, 3\)"),
        (P3, np.eye(3), {}, "continuous-multioutput.* labels first, predicted prob"),
        # Shapes
        ([], [], {}, "Found array with 0 sample"),
        ([0, 1], np.empty((2, 0)), {}, "Found array with 0 feature"),
        ([0, 1, 1], [0.2, 0.9], {}, r"inconsistent numbers of samples: \[3, 2\]"),
        ([0, 1], np.zeros((2, 2, 2)), {}, "Multi-output classifiers are not supported"),
        (
            [0, 1],
            [np.eye(2), np.eye(2)],
            {},
            "y_proba is a list of arrays. Multi-output",
        ),
        (
            [0, 1],
            [np.zeros((2, 2)), np.zeros((2, 3))],
            {},
            "y_proba is a list of arrays",
        ),
        # Scores
        ([0, 1], [[np.nan, 0.5], [0.2, 0.8]], {}, "y_proba contains NaN.* in row 0"),
        ([0, 1], [[0.5, 0.5], [None, 0.8]], {}, "y_proba contains NaN.* in row 1"),
        (
            [0, 1],
            [0.5, np.inf],
            {},
            "y_proba contains infinity or a value too large for",
        ),
        ([0, 1], [0.5, -np.inf], {}, "y_proba contains infinity"),
        ([0, 1], [-0.2, 0.5], {}, r"y_proba contains values less than 0: -0\.2\."),
        ([0, 1], [1.5, 0.5], {}, r"y_proba contains values greater than 1: 1\.5\."),
        ([0, 1], [[0, 1.01], [1, 0]], {}, r"greater than 1: 1\.01"),
        ([0, 1], [[2.3, -1.1], [-0.4, 0.9]], {}, "Logits. Pass their softmax"),
        (
            [0, 1],
            np.log([[0.9, 0.1], [0.2, 0.8]]),
            {},
            r"Log-probabilities. Pass np.exp",
        ),
        ([0, 1], [[90, 10], [20, 80]], {}, "Percentages. Divide them by 100"),
        ([0, 1], [[3, 4], [2, 5]], {}, "Logits. Pass their softmax"),
        ([0, 1], [["a", 0.2], [0.3, 0.7]], {}, "could not convert string to float"),
        ([0, 1], [[0.8 + 0j, 0.2], [0.3, 0.7]], {}, "Complex data not supported"),
        (
            [0, 1],
            np.ma.array([[0.8, 0.2], [0.3, 0.7]], mask=[[0, 0], [1, 0]]),
            {},
            "y_proba has masked entries",
        ),
        (np.ma.array([0, 1], mask=[0, 1]), [0.2, 0.9], {}, "y_true has masked entries"),
        # Weights
        (
            *BINARY,
            {"sample_weight": [-1, 2]},
            "Negative values in data passed to sample_",
        ),
        (
            *BINARY,
            {"sample_weight": [0, 0]},
            "must contain at least one non-zero number",
        ),
        (*BINARY, {"sample_weight": [1, np.nan]}, "sample_weight contains NaN"),
        (*BINARY, {"sample_weight": [1, np.inf]}, "sample_weight contains infinity"),
        (
            *BINARY,
            {"sample_weight": [1, 1, 1]},
            "sample_weight has 3 entries for 2 sam",
        ),
        (*BINARY, {"sample_weight": [[1], [1]]}, "must be 1D array or scalar, got 2D"),
        (
            *BINARY,
            {"sample_weight": np.ma.array([1, 2], mask=[0, 1])},
            "masked entries",
        ),
        # Parameters
        (*BINARY, {"n_bins": 0}, "n_bins == 0, must be >= 1"),
        (
            *BINARY,
            {"n_bins": "sqrt"},
            "n_bins must be an integer or 'auto', got 'sqrt'",
        ),
        (*BINARY, {"n_bins": -3}, "n_bins == -3, must be >= 1"),
        (
            *BINARY,
            {"threshold": -0.1},
            r"threshold must fulfil 0 <= threshold < 1, got -0",
        ),
        (*BINARY, {"threshold": 1.0}, "threshold must fulfil"),
        (*BINARY, {"threshold": float("nan")}, "threshold must fulfil .* got nan"),
        (
            *BINARY,
            {"ties": "min"},
            "ties must be one of 'average', 'ordinal', got 'min'",
        ),
        (*BINARY, {"norm": "l3"}, "norm must be one of 'l1', 'l2', 'max', got 'l3'"),
        (*BINARY, {"average": "micro"}, "average must be one of 'macro', 'weighted'"),
    ],
)
def test_wrong_values(y, proba, keywords, message):
    with pytest.raises(ValueError, match=message):
        tace_error(y, proba, **keywords)


@pytest.mark.parametrize(
    ("y", "proba", "keywords", "message"),
    [
        (*BINARY, {"n_bins": 2.0}, "n_bins must be an instance of int, not float"),
        (*BINARY, {"n_bins": True}, "n_bins must be an integer, got True"),
        (*BINARY, {"n_bins": None}, "n_bins must be an instance of int"),
        (
            *BINARY,
            {"threshold": "0.01"},
            "threshold must be a number or None, got '0.01'",
        ),
        (*BINARY, {"threshold": True}, "threshold must be a number or None, got True"),
        (*BINARY, {"threshold": [0.1]}, "threshold must be a number or None"),
        (*BINARY, {"ties": None}, "ties must be one of 'average', 'ordinal', got None"),
        (*BINARY, {"norm": 2}, "norm must be one of"),
        (*BINARY, {"average": 1}, "average must be one of"),
        ([b"a", b"b"], [0.2, 0.9], {}, "y_true holds bytes. Decode them"),
        (0, [0.2, 0.9], {}, "y_true must be an array or a list"),
        ([0, 1], 0.5, {}, "y_proba must be an array or a list"),
        (scipy.sparse.eye_array(2), np.eye(2), {}, "Sparse data was passed .*y_true"),
    ],
)
def test_wrong_types(y, proba, keywords, message):
    with pytest.raises(TypeError, match=message):
        tace_error(y, proba, **keywords)


@pytest.mark.parametrize("make", [CalibrationReport, TACEScorer])
@pytest.mark.parametrize(
    ("parameters", "error"),
    [
        ({"threshold": 1}, ValueError),
        ({"threshold": "0.1"}, TypeError),
        ({"n_bins": 0}, ValueError),
        ({"n_bins": 1.5}, TypeError),
        ({"ties": "max"}, ValueError),
        ({"norm": "max "}, ValueError),
        ({"average": "micro"}, ValueError),
        ({"average": None}, ValueError),
    ],
)
def test_report_and_scorer_check_parameters_when_used(make, parameters, error):
    instance = make(**parameters)
    if make is TACEScorer:
        classifier = ConstantProba().fit([[0], [0]], [0, 1])
        arguments = (classifier, [[0], [0]], [0, 1])
    else:
        arguments = BINARY
    use = instance if make is TACEScorer else instance.fit
    with pytest.raises(error, match=next(iter(parameters))):
        use(*arguments)


def test_report_names_its_own_arguments_when_they_are_swapped():
    message = r"fit takes \(y, proba\): labels first.*; got y of shape \(3, 3\)"
    with pytest.raises(ValueError, match=message):
        CalibrationReport().fit(P3, [0, 1, 0])


def test_everything_after_the_arrays_is_keyword_only():
    with pytest.raises(TypeError, match="positional"):
        tace_error([0, 1], [0.2, 0.9], 0.01)
    with pytest.raises(TypeError, match="positional"):
        CalibrationReport(0.01)
    with pytest.raises(TypeError, match="positional"):
        TACEScorer(0.01)


def test_rows_that_do_not_sum_to_one_warn_once_with_the_worst():
    proba = [[0.7, 0.2, 0.12], [0.1, 0.6, 0.3], [0.2, 0.2, 0.9]]
    with pytest.warns(
        UserWarning, match=r"do not sum to one.* Row 2 sums to 1\.3"
    ) as w:
        value = tace_error([0, 1, 2], proba, n_bins=1)
    assert len(w) == 1
    columns = np.array(proba).mean(axis=0)
    assert value == pytest.approx(abs(columns - 1 / 3).mean())


def test_row_of_the_warning_is_counted_with_the_absent_rows():
    proba = [[0.9, 0.9], [0.5, 0.5], [0.3, 0.5]]
    with pytest.warns(UserWarning, match=r"Row 2 sums to 0\.8"):
        tace_error([0, 1, 1], proba, sample_weight=[0, 1, 1])


@pytest.mark.parametrize(
    ("y", "proba"),
    [
        ([0, 1], [[0.7005, 0.3], [0.2, 0.8]]),  # within 1e-3
        ([0, 1], np.float16([[0.7, 0.3], [0.2, 0.8]])),
        (np.eye(2), [[0.9, 0.9], [0.1, 0.1]]),  # an indicator
    ],
)
def test_rows_that_need_no_warning(y, proba):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tace_error(y, proba)


def test_long_sums_in_half_precision_need_no_warning():
    rng = np.random.default_rng(0)
    proba = rng.dirichlet(np.full(3000, 0.1), size=20).astype(np.float16)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tace_error(rng.integers(0, 3000, 20), proba, labels=range(3000))


def test_round_off_outside_the_unit_interval_is_clipped():
    proba = [[0, 1 + 2e-16], [1 + 9e-6, -9e-6], [0.5, 0.5]]
    report = CalibrationReport(threshold=None, n_bins=3).fit([1, 0, 1], proba)
    assert report.bins_["upper"].max() == 1
    assert report.bins_["lower"].min() == 0
    with pytest.raises(ValueError, match="greater than 1"):
        tace_error([1, 0], [[0, 1 + 2e-5], [1, 0]])


@pytest.mark.parametrize("dtype", [object, "Int64", "Float64"])
def test_frames_of_other_types_hold_numbers(dtype):
    proba = np.array([[1, 0], [0, 1], [1, 0]])
    frame = pd.DataFrame(proba, columns=["a", "b"]).astype(dtype)
    assert tace_error([0, 1, 1], frame) == tace_error([0, 1, 1], proba)
    with pytest.raises(ValueError, match="y_proba must hold numbers: could not conv"):
        tace_error([0, 1, 1], pd.DataFrame({"a": [0.5, 1, 0], "b": ["x", "y", "z"]}))


def test_not_a_number_is_found_though_the_filter_would_drop_it():
    proba = np.full((5000, 40), 1 / 40, dtype=np.float32)
    proba[4321, 7] = np.nan
    with pytest.raises(ValueError, match="NaN. One is in row 4321"):
        tace_error(np.arange(5000) % 40, proba)


@pytest.mark.parametrize(
    "convert", [np.asarray, np.asfortranarray, scipy.sparse.csr_array]
)
@pytest.mark.parametrize(
    ("value", "words"), [(1.5, "greater than 1: 1.5"), (-0.5, "less than 0: -0.5")]
)
@pytest.mark.parametrize("shape", [(5000, 40), (5000, 3)])
def test_a_score_out_of_range_is_told_with_its_row(convert, value, words, shape):
    proba = np.full(shape, 1 / shape[1], dtype=np.float32)
    proba[[1000, 4321], -1] = [1 + 2e-6, value]
    with pytest.raises(ValueError, match=f"{words}. One is in row 4321. Logits"):
        tace_error(np.arange(5000) % shape[1], convert(proba))


def test_absent_rows_are_not_read_but_their_labels_are():
    y, proba, weight = [0, 1, 1], [0.2, 0.9, np.nan], [1, 1, 0]
    assert tace_error(y, proba, sample_weight=weight) == tace_error(y[:2], proba[:2])
    with pytest.raises(ValueError, match=r"values \[5\] not belonging"):
        tace_error([0, 1, 5], proba, labels=[0, 1], sample_weight=weight)


# --- containers --------------------------------------------------------------

TEXT = ["b", "a", "b", "a", "b"]
LABEL_CONTAINERS = {
    "list": TEXT,
    "tuple": tuple(TEXT),
    "array": np.array(TEXT),
    "object array": np.array(TEXT, dtype=object),
    "column": np.array(TEXT)[:, None],
    "pandas": pd.Series(TEXT, index=[3, 1, 4, 0, 2]),
    "pandas string": pd.Series(TEXT, dtype="string"),
    "pandas category": pd.Series(TEXT, dtype="category"),
    "pandas category, other order": pd.Categorical(TEXT, categories=["z", "b", "a"]),
    "pandas index": pd.Index(TEXT),
    "pandas frame": pd.DataFrame({"label": TEXT}),
    "pandas arrow": pd.Series(TEXT, dtype=pd.ArrowDtype(pa.string())),
    "polars": pl.Series(TEXT),
    "polars categorical": pl.Series(TEXT, dtype=pl.Categorical),
    "polars enum": pl.Series(TEXT, dtype=pl.Enum(["b", "a"])),
    "pyarrow": pa.array(TEXT),
    "pyarrow chunks": pa.chunked_array([TEXT[:2], TEXT[2:]]),
}


@pytest.mark.filterwarnings(
    f"ignore::{DataConversionWarning.__module__}.DataConversionWarning"
)
@pytest.mark.parametrize("container", LABEL_CONTAINERS)
def test_containers_of_labels(container):
    p = [0.9, 0.2, 0.4, 0.3, 0.8]
    report = CalibrationReport(n_bins=2).fit(LABEL_CONTAINERS[container], p)
    assert report.classes_.tolist() == ["a", "b"]
    assert report.tace_ == tace_error(TEXT, p, n_bins=2)


def test_column_of_labels_warns_as_in_scikit_learn():
    with pytest.warns(DataConversionWarning):
        value = tace_error(np.array([[0], [1], [1]]), [0.2, 0.7, 0.9], n_bins=2)
    assert value == tace_error([0, 1, 1], [0.2, 0.7, 0.9], n_bins=2)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (np.array([1, 0, 1], dtype=np.int8), [0, 1]),
        (np.array([1, 0, 1], dtype=">i8"), [0, 1]),
        (np.array([1, 0, 1], dtype=object), [0, 1]),
        (np.array([1.0, 0.0, 1.0]), [0.0, 1.0]),
        ([True, False, True], [False, True]),
        (np.array([7, -3, 7]), [-3, 7]),
        (pd.Series([1, 0, 1], dtype="Int64"), [0, 1]),
        (pd.Series([True, False, True], dtype="boolean"), [False, True]),
        (pl.Series([True, False, True]), [False, True]),
        (np.array(["2020-02", "2020-01", "2020-02"], dtype="M8[M]"), None),
    ],
)
def test_kinds_of_labels(labels, classes):
    p = [0.9, 0.2, 0.7]
    report = CalibrationReport(n_bins=1).fit(labels, p)
    assert report.tace_ == tace_error([1, 0, 1], p, n_bins=1)
    if classes is not None:
        assert report.classes_.tolist() == classes
        assert type(report.classes_.tolist()[0]) is type(classes[0])


@pytest.mark.parametrize(
    "labels",
    [
        pd.Series([0, 1, None], dtype="Int64"),
        pd.Series(["a", "b", pd.NA], dtype="string"),
        pd.Series(["a", "b", None], dtype="category"),
        pd.Series(["a", "b", None]),
        pl.Series(["a", "b", None]),
        pl.Series([0, 1, None]),
        np.array(["2020-01-01", "2020-01-02", "NaT"], dtype="M8[D]"),
    ],
)
def test_missing_labels(labels):
    with pytest.raises(ValueError, match="y_true contains missing values"):
        tace_error(labels, [0.2, 0.7, 0.9])


def test_dates_as_objects_are_refused():
    days = [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)]
    with pytest.raises(ValueError, match="Unknown label type.*date"):
        tace_error(days, [0.2, 0.9])


@pytest.mark.parametrize(
    "labels",
    [
        ("b", "a"),
        np.array(["b", "a"]),
        np.array(["b", "a"], dtype=object),
        pd.Index(["b", "a"]),
        pl.Series(["b", "a"]),
    ],
)
def test_containers_of_the_labels_argument(labels):
    p = [0.9, 0.2, 0.4]
    value = tace_error(["a", "b", "b"], p, labels=labels, n_bins=1)
    assert value == tace_error([1, 0, 0], p, n_bins=1)


class ArrayOnly:
    """What a tensor of another framework looks like to numpy."""

    def __init__(self, array):
        self.array = array
        self.shape = array.shape
        self.dtype = "float32 of another framework"

    def __array__(self, dtype=None, copy=None):
        return self.array.astype(self.array.dtype if dtype is None else dtype)

    def __len__(self):
        return len(self.array)


F32 = np.array([[0.05, 0.95], [0.2, 0.8], [0.6, 0.4]], dtype=np.float32)
SCORE_CONTAINERS = {
    "F order": np.asfortranarray(F32),
    "strided": np.repeat(np.repeat(F32, 2, axis=0), 3, axis=1)[::2, ::3],
    "reversed": np.ascontiguousarray(F32[::-1, ::-1])[::-1, ::-1],
    "big-endian": F32.astype(">f4"),
    "pandas": pd.DataFrame(F32, index=[2, 0, 1]),
    "polars": pl.DataFrame(F32),
    "pyarrow": pa.table({"x": F32[:, 0], "y": F32[:, 1]}),
    "another framework": ArrayOnly(F32),
    "rows in a list": list(F32),
}


@pytest.mark.parametrize("container", SCORE_CONTAINERS)
def test_containers_of_single_precision_scores(container):
    settings = {"threshold": 0.05, "n_bins": 2}
    report = CalibrationReport(**settings).fit([1, 1, 0], SCORE_CONTAINERS[container])
    expected = CalibrationReport(**settings).fit([1, 1, 0], F32)
    assert_array_equal(report.bins_, expected.bins_)
    # 0.05 in single precision is dropped at 0.05: nothing widened it on the way.
    assert report.n_kept_[0] == 2


@pytest.mark.parametrize(
    "scores",
    [
        [["0.8", "0.2"], ["0.3", "0.7"]],
        np.array([[0.8, 0.2], [0.3, 0.7]], dtype=object),
        pd.DataFrame({0: [0.8, 0.3], 1: [0.2, 0.7]}, dtype="Float64"),
        pd.DataFrame({0: pd.array([0.8, 0.3], dtype="Float64"), 1: [0.2, 0.7]}),
        np.array([[0.8, 0.2], [0.3, 0.7]], dtype=np.longdouble),
    ],
)
def test_scores_that_become_double_precision(scores):
    expected = tace_error([0, 1], [[0.8, 0.2], [0.3, 0.7]], n_bins=1)
    assert tace_error([0, 1], scores, n_bins=1) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("names", [["a", "b"], [0, 1]])
def test_missing_entry_of_a_frame(names):
    columns = [pd.array([0.8, None], dtype="Float64"), [0.2, 0.7]]
    frame = pd.DataFrame(dict(zip(names, columns, strict=True)))
    with pytest.raises(ValueError, match="y_proba contains NaN"):
        tace_error([0, 1], frame)


@pytest.mark.parametrize("dtype", [bool, np.int64, np.uint8])
def test_hard_predictions(dtype):
    proba = np.array([[1, 0], [0, 1], [0, 1], [1, 0]], dtype=dtype)
    for threshold in (0.01, None):
        value = tace_error([0, 1, 0, 0], proba, n_bins=1, threshold=threshold)
        assert value == pytest.approx(0.25)


def test_indicator_in_a_frame_of_objects():
    y = pd.DataFrame({"a": [1, 0], "b": [1, 1]}, dtype="Int64")
    proba = [[0.9, 0.4], [0.3, 0.8]]
    assert tace_error(y, proba) == tace_error([[1, 1], [0, 1]], proba)


# --- names of columns ----------------------------------------------------------

FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]
NAMED = {"c": [0.2, 0.1, 0.6], "a": [0.7, 0.2, 0.1], "b": [0.1, 0.7, 0.3]}


@pytest.mark.parametrize("frame", FRAMES)
def test_names_of_columns_are_their_labels(frame):
    report = CalibrationReport(n_bins=1).fit(["a", "b", "c"], frame(NAMED))
    assert report.classes_.tolist() == ["c", "a", "b"]
    matrix = np.column_stack(list(NAMED.values()))
    positions = tace_error(["a", "b", "c"], matrix, labels=["c", "a", "b"], n_bins=1)
    assert report.tace_ == positions


@pytest.mark.parametrize("frame", FRAMES)
def test_names_of_columns_settle_a_missing_class(frame):
    report = CalibrationReport(n_bins=1).fit(["a", "b", "b"], frame(NAMED))
    assert report.classes_.tolist() == ["c", "a", "b"]
    assert report.support_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("frame", FRAMES)
def test_names_that_contradict_labels_are_refused(frame):
    message = (
        r"The columns of y_proba are \['c', 'a', 'b'\], labels is \['a', 'b', 'c'\]: "
        "the same labels in another order"
    )
    with pytest.raises(ValueError, match=message):
        tace_error(["a", "b", "c"], frame(NAMED), labels=["a", "b", "c"])
    tace_error(["a", "b", "c"], frame(NAMED), labels=["c", "a", "b"])


def test_names_of_which_some_are_labels_are_refused():
    message = (
        r"columns of y_proba are \['c', 'a', 'b'\], but y_true contains \['d'\] too"
    )
    with pytest.raises(ValueError, match=message):
        tace_error(["a", "b", "d"], pd.DataFrame(NAMED))


@pytest.mark.parametrize("names", [["2", "1", "0"], [2, 1, 0]])
@pytest.mark.parametrize("labels", [None, [0, 1, 2]])
def test_numbers_as_names_in_another_order_are_refused(names, labels):
    frame = pd.DataFrame(P3, columns=names)
    with pytest.raises(ValueError, match="the same labels in another order"):
        tace_error([0, 1, 2], frame, labels=labels)
    tace_error([0, 1, 2], frame, labels=[2, 1, 0])


def test_default_names_say_nothing():
    frame = pd.DataFrame(P3)
    assert tace_error([0, 1, 2], frame, labels=[2, 0, 1]) == tace_error(
        [0, 1, 2], P3, labels=[2, 0, 1]
    )


@pytest.mark.parametrize(
    ("names", "y"),
    [
        ([0, 1, 2], [1, 2, 3]),  # a default index is no name
        (["1", "2", "3"], [0, 1, 2]),  # strings beside integer labels
        (["proba_x", "proba_y", "proba_z"], ["x", "y", "z"]),
    ],
)
def test_other_names_go_by_position(names, y):
    matrix = np.column_stack(list(NAMED.values()))
    frame = pd.DataFrame(matrix, columns=names)
    assert tace_error(y, frame) == tace_error(y, matrix)


def test_duplicate_names_are_refused():
    frame = pd.DataFrame([[0.5, 0.5], [0.5, 0.5]], columns=["a", "a"])
    with pytest.raises(ValueError, match="duplicates"):
        tace_error(["a", "a"], frame)


def test_single_column_named_for_the_first_label_is_refused():
    y, p = ["no", "yes"], [0.2, 0.9]
    assert tace_error(y, pd.DataFrame({"yes": p})) == tace_error(y, p)
    assert tace_error(y, pd.DataFrame({"score": p})) == tace_error(y, p)
    with pytest.raises(ValueError, match="bears the name of the first label, 'no'"):
        tace_error(y, pd.DataFrame({"no": p}), labels=y)
    with pytest.raises(
        ValueError, match=r"\['no'\], but y_true contains \['yes'\] too"
    ):
        tace_error(y, pd.DataFrame({"no": p}))


def test_indicator_and_scores_named_in_different_orders_are_refused():
    y = pd.DataFrame({"a": [1, 0], "b": [1, 1]})
    proba = pd.DataFrame({"b": [0.4, 0.8], "a": [0.9, 0.3]})
    with pytest.raises(ValueError, match="those of y_true are .*in another order"):
        tace_error(y, proba)
    assert tace_error(y, proba[["a", "b"]]) == tace_error(
        y.to_numpy(), proba[["a", "b"]]
    )


# --- inputs stay as they were ---------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
def test_inputs_are_not_modified(order):
    rng = np.random.default_rng(0)
    proba = np.array(rng.dirichlet(np.ones(4), size=30), order=order)
    y, weight = rng.integers(0, 4, 30), rng.random(30)
    labels = np.arange(4)
    arrays = (y, proba, weight, labels)
    copies = [array.copy() for array in arrays]
    for array in arrays:
        array.setflags(write=False)
    for ties in ("average", "ordinal"):
        CalibrationReport(ties=ties).fit(y, proba, labels=labels, sample_weight=weight)
    for array, copy in zip(arrays, copies, strict=True):
        assert_array_equal(array, copy)


def test_memory_map(tmp_path):
    proba = np.random.default_rng(0).dirichlet(np.ones(5), size=200)
    y = np.arange(200) % 5
    np.save(tmp_path / "proba.npy", proba)
    mapped = np.load(tmp_path / "proba.npy", mmap_mode="r")
    assert tace_error(y, mapped) == tace_error(y, proba)


# --- what numpy would do to labels in silence --------------------------------------


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", float("nan"), "b"], "contains missing values"),
        ([0, "a", 1], "objects of type int, str"),
        ([True, "a", "b"], "objects of type bool, str"),
        ([2**63, -1, 2**63 + 1], "numbers that do not fit one numeric type"),
        (np.array([2**53, 2**53 + 1, 0.0], dtype=object), "do not fit one numeric"),
        ([2**64, 0, 0], "numbers that do not fit one numeric type"),
        ([2**53 + 1, 1.0, 0], "numbers that do not fit one numeric type"),
        ([0.0, float("inf"), 1.0], "Unknown label type: continuous"),
    ],
)
def test_lists_that_numpy_would_make_one_type(labels, message):
    with pytest.raises(ValueError, match=message):
        tace_error(labels, [0.2, 0.7, 0.9])
    if len(set(map(str, labels))) == 3:
        with pytest.raises(ValueError, match=message):
            tace_error([0, 1, 1], P3, labels=labels)


def test_mask_of_the_labels_argument():
    with pytest.raises(ValueError, match="labels has masked entries"):
        tace_error(*BINARY, labels=np.ma.array([0, 1], mask=[0, 1]))


def test_objects_that_are_numpy_bools():
    y = np.array([np.bool_(True), np.bool_(False), np.bool_(True)], dtype=object)
    p = [0.9, 0.2, 0.7]
    assert tace_error(y, p, n_bins=1) == tace_error([1, 0, 1], p, n_bins=1)


def test_dates_of_different_units():
    days = np.array(["2020-01-02", "2020-01-01", "2020-01-02"], dtype="M8[D]")
    p = [0.9, 0.2, 0.7]
    value = tace_error(days.astype("M8[ns]"), p, labels=np.unique(days), n_bins=1)
    assert value == tace_error([1, 0, 1], p, n_bins=1)


def test_times_are_no_labels():
    y = np.array([1, 2], dtype="m8[s]")
    with pytest.raises(
        ValueError, match="Unknown label type: y_true has dtype timedel"
    ):
        tace_error(y, [0.2, 0.9])


def test_frame_of_labels_whose_name_is_a_label():
    y = pd.DataFrame({"spam": ["spam", "ham", "ham"]})
    with pytest.warns(DataConversionWarning):
        value = tace_error(y, [0.2, 0.3, 0.9], labels=["spam", "ham"])
    assert value == tace_error([0, 1, 1], [0.2, 0.3, 0.9])


def test_one_label_and_a_column_that_bears_its_name():
    frame = pd.DataFrame({"yes": [0.9, 0.8]})
    with pytest.raises(ValueError, match=r"y_true contains only one label \(yes\)"):
        tace_error(["yes", "yes"], frame)


def test_frames_of_which_only_some_names_are_labels():
    frame = pd.DataFrame(NAMED).rename(columns={"c": "x"})
    message = r"columns of y_proba are \['x', 'a', 'b'\], labels is .*: only some are"
    with pytest.raises(ValueError, match=message):
        tace_error(["a", "b", "c"], frame, labels=["a", "b", "c"])
    y = pd.DataFrame({"b": [1, 0], "a": [1, 1]})
    with pytest.raises(ValueError, match="columns of y_true are .* in another order"):
        tace_error(y, [[0.9, 0.4], [0.3, 0.8]], labels=["a", "b"])


# --- numbers of other kinds --------------------------------------------------------


@pytest.mark.parametrize("dtype", ["Float32", pd.ArrowDtype(pa.float32())])
def test_nullable_single_precision_stays_single(dtype):
    frame = pd.DataFrame(F32).astype(dtype)
    report = CalibrationReport(threshold=0.05, n_bins=2).fit([1, 1, 0], frame)
    expected = CalibrationReport(threshold=0.05, n_bins=2).fit([1, 1, 0], F32)
    assert_array_equal(report.bins_, expected.bins_)
    column = CalibrationReport(threshold=0.05).fit([1, 1, 0], frame[0])
    assert column.n_kept_[1] == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], np.array([1, 2], dtype="M8[D]")), "y_proba must hold numbers"),
        (([0, 1], [[0.2, 0.8], [0.3]]), "y_proba is no array"),
        (([0, 1], [".1", "x"]), "y_proba must hold numbers: could not convert"),
        (
            ([0, 1], [[0.8 + 0j, 0.2], [0.3, 0.7]]),
            "Complex data not supported: y_proba",
        ),
    ],
)
def test_scores_that_are_no_numbers(arguments, message):
    with pytest.raises(ValueError, match=message):
        tace_error(*arguments)


@pytest.mark.parametrize("weight", [["a", "b"], np.array([1, 2], dtype="m8[s]")])
def test_weights_that_are_no_numbers(weight):
    with pytest.raises(ValueError, match="sample_weight"):
        tace_error(*BINARY, sample_weight=weight)


@pytest.mark.parametrize("weight", [[1e308, 1e308], [5e-324, 5e-324]])
def test_weights_beyond_double_precision(weight):
    with pytest.raises(
        ValueError, match="The sum of sample_weight is .*scale the weig"
    ):
        tace_error(*BINARY, sample_weight=weight)


def test_weight_that_is_a_scalar():
    for weight in (2, 2.0, np.float32(2), np.array(2)):
        assert tace_error(*BINARY, sample_weight=weight) == tace_error(*BINARY)


def test_mass_of_clipped_scores():
    proba = np.full((50, 1000), -1e-5)
    proba[:, 0] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = CalibrationReport().fit(np.zeros(50), proba, labels=range(1000))
    assert report.kept_mass_ == 1
    single = proba.astype(np.float32).clip(0, 1)
    report = CalibrationReport(threshold=None).fit(
        np.zeros(50), single, labels=range(1000)
    )
    assert report.kept_mass_ == 1


def test_long_double_scores_give_a_double_table():
    proba = np.array([[0.8, 0.2], [0.3, 0.7]], dtype=np.longdouble)
    bins = CalibrationReport().fit([0, 1], proba).bins_
    assert {bins.dtype[name] for name in ("lower", "mean_proba", "gap")} == {
        np.dtype(float)
    }


def test_message_of_many_classes_is_short():
    with pytest.raises(ValueError, match="different number") as error:
        tace_error(np.arange(999), np.full((999, 1000), 1e-3))
    assert len(str(error.value)) < 400


@pytest.mark.parametrize("dtype", ["i1", "i2", "u1", "u8", "i8"])
def test_integer_labels_at_the_ends_of_their_type(dtype):
    info = np.iinfo(dtype)
    ends = np.array([info.min, info.max], dtype=dtype)
    near = np.array([info.max - 1, info.max], dtype=dtype)
    for labels in (ends, near, np.arange(info.min, info.min + 100, dtype=dtype)):
        rng = np.random.default_rng(0)
        proba = rng.dirichlet(np.ones(len(labels)), size=70_000 // len(labels))
        code = rng.integers(len(labels), size=len(proba))
        code[: len(labels)] = np.arange(len(labels))
        expected = tace_error(code, proba, labels=np.arange(len(labels)))
        assert tace_error(labels[code], proba) == expected


def test_threshold_is_a_number_whatever_its_type():
    for threshold in (np.float32(0.05), np.float16(0.05)):
        for p in ([0.94999999, 0.5], [0.9501, 0.5]):
            value = tace_error([0, 1], p, threshold=threshold)
            assert value == tace_error([0, 1], p, threshold=float(threshold))
