"""Faults that users reported of other calibration code, each once, as a test here.

Numbers are those of the project's collection of public reports, which has gaps; the
threads are named beside them. Not tests:

- 69 (weights given to ``cross_validate`` without metadata routing do not reach the
  scorer): a choice of scikit-learn; the user guide shows the routed form.
- 80 (a picture that asks for a positive class): there are no pictures yet.
"""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import sklearn
from estimators import ConstantProba, FixedProba
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import (
    DataConversionWarning,
    UndefinedMetricWarning,
    UnsetMetadataPassedError,
)
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC

from sklearn_tace import (
    CalibrationReport,
    CalibrationScorer,
    TACEScorer,
    neg_tace_scorer,
    tace_error,
)

# Six rows, three classes; the arg-max is right four times.
P6 = np.array([
    [0.70, 0.20, 0.10],
    [0.10, 0.85, 0.05],
    [0.25, 0.15, 0.60],
    [0.40, 0.35, 0.25],
    [0.02, 0.08, 0.90],
    [0.55, 0.44, 0.01],
])
Y6 = [0, 1, 2, 1, 2, 0]
# A search over eight rows, two of them positive.
X8, Y8 = np.zeros((8, 1)), np.array([1, 0, 0, 0, 1, 0, 0, 0])


def close(value, expected):
    assert_allclose(value, expected, rtol=0, atol=1e-12)


def second_class(y, p, **settings):
    """Error of the second class of a binary problem."""
    return CalibrationReport(**settings).fit(y, p).class_tace_[1]


# --- arithmetic of the metric ---------------------------------------------------


def test_01_class_without_survivor_is_not_perfect():
    # google-research/robustness_metrics, Jonathan-Pearce/calibration_library
    proba = [
        [0.6, 0.399, 0.001],
        [0.3, 0.699, 0.001],
        [0.8, 0.199, 0.001],
        [0.5, 0.499, 0.001],
    ]
    report = CalibrationReport(n_bins=2).fit([0, 1, 0, 2], proba)
    close(report.tace_, 0.2745)
    assert report.excluded_classes_.tolist() == [2]
    assert report.dropped_positives_[2] == 1


def test_02_nothing_survives():
    # scikit-learn/scikit-learn#30079, #30103
    proba = [[0.34, 0.33, 0.33]] * 3
    with pytest.warns(UndefinedMetricWarning, match=r"threshold=0\.9; .* 0\.34"):
        assert np.isnan(tace_error([0, 1, 2], proba, threshold=0.9))


def test_03_outcome_is_the_class_not_whether_the_prediction_was_right():
    # Lightning-AI/torchmetrics#1105, #2519; EFS-OpenSource/calibration-framework#25;
    # scikit-learn-contrib/MAPIE#277, #934; copies of Jonathan-Pearce's code
    close(tace_error(Y6, P6, n_bins=2, threshold=0.05), 0.2188888888888889)
    proba = [0.02, 0.04, 0.03]
    close(tace_error([1, 1, 1], proba, labels=[0, 1], n_bins=1, threshold=0), 0.97)


def test_05_threshold_is_strict():
    # giuseppec/mlr3calibration, Jonathan-Pearce/calibration_library
    proba = [[0.05, 0.95], [0.2, 0.8], [0.6, 0.4]]
    report = CalibrationReport(n_bins=1, threshold=0.05).fit([1, 1, 0], proba)
    close(report.class_tace_[0], 0.1)


def test_06_threshold_at_the_precision_of_the_input():
    # scikit-learn/scikit-learn#24315, #24354
    proba = np.array([[0.05, 0.95], [0.2, 0.8], [0.6, 0.4]])
    settings = {"n_bins": 1, "threshold": 0.05}
    for dtype in (np.float32, np.float64):
        report = CalibrationReport(**settings).fit([1, 1, 0], proba.astype(dtype))
        assert report.n_kept_[0] == 2


def test_08_remainder_rows():
    # hendrycks/natural-adv-examples#16, texttron/BrowseComp-Plus#18,
    # AISBench/benchmark#301, centerforaisafety/hle#4
    p, y = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.9], [0, 1, 0, 1, 0, 0, 1]
    report = CalibrationReport(n_bins=3).fit(y, p)
    bins = report.bins_[report.bins_["class"] == 1]
    assert bins["count"].tolist() == [3, 2, 2]
    assert_allclose(bins["gap"], [0.4 / 3, 0.05, 0.25])
    close(report.class_tace_[1], 0.43333333333333335 / 3)


def test_10_mean_probability_not_the_centre_of_the_bin():
    # JonathanWenger/pycalib#4
    proba = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0]]
    assert tace_error([0, 1, 2, 1], proba, n_bins=5) == 0


def test_11_one_and_zero_are_ordinary_values():
    # Lightning-AI/torchmetrics#3510, #1646, #1744
    close(second_class([1, 0], [0.95, 1.0], n_bins=1), 0.475)
    close(tace_error([0, 1, 0, 1], [0, 0, 0.5, 1], n_bins=2, threshold=None), 0.375)


def test_13_ties_and_the_order_of_rows():
    # p-lambda/verified_calibration#19, lorenzofamiglini/CalFram#4,
    # guillermo-navas-palencia/optbinning#301
    orders = [[1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1]]
    shared = [second_class(y, [0.3] * 4, n_bins=2) for y in orders]
    close(shared, 0.2)
    by_row = [second_class(y, [0.3] * 4, n_bins=2, ties="ordinal") for y in orders]
    close(by_row, [0.2, 0.5, 0.5])
    report = CalibrationReport(n_bins=2).fit(orders[0], [0.3] * 4)
    assert report.tied_classes_.tolist() == [0, 1]


def test_14_constant_forecast():
    # Khanz9664/TrustLens#144, #163
    y = [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    for n_bins in (1, 5):
        close(tace_error(y, [0.3] * 10, n_bins=n_bins), 0)
        close(tace_error(y, [0.9] * 10, n_bins=n_bins), 0.6)
    close(tace_error(y, [0.3] * 10, n_bins=5, ties="ordinal"), 0.36)
    scattered = [1, 0, 0, 0, 1, 0, 0, 1, 0, 0]
    close(tace_error(scattered, [0.3] * 10, n_bins=5, ties="ordinal"), 0.24)


def test_15_more_bins_than_survivors():
    # torch-uncertainty/torch-uncertainty#300, texttron/BrowseComp-Plus#18
    report = CalibrationReport(n_bins=15).fit([0, 1, 1], [0.2, 0.7, 0.9])
    close(report.class_tace_[1], 0.2)
    assert (report.bins_["class"] == 1).sum() == 3
    assert report.thin_classes_.tolist() == [0, 1]
    close(tace_error([1], [0.7], labels=[0, 1], n_bins=15), 0.3)


# --- labels and columns -----------------------------------------------------------


def test_17_class_absent_from_the_labels():
    # scikit-learn/scikit-learn#4033, #9144; p-lambda/verified_calibration#2, #7;
    # openml/automlbenchmark#205; probabl-ai/skore#1006
    proba = [[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.7, 0.2, 0.1]]
    value = tace_error([0, 1, 0], proba, labels=[0, 1, 2], n_bins=1)
    close(value, 0.4 / 3)
    with pytest.raises(ValueError, match="different number of classes"):
        tace_error([0, 1, 0], proba, n_bins=1)


def test_19_label_the_model_never_saw():
    # scikit-learn/scikit-learn#11777, #28178, #29558
    proba, y = np.array([[0.7, 0.3], [0.2, 0.8], [0.9, 0.1], [0.4, 0.6]]), [0, 1, 2, 2]
    with pytest.raises(ValueError, match=r"values \[2\] not belonging"):
        tace_error(y, proba, labels=[0, 1], n_bins=1)
    with pytest.warns(UserWarning, match=r"not fitted on: \[2\]"):
        score = TACEScorer(n_bins=1)(FixedProba((0, 1)).fit(None, None), proba, y)
    close(score, -0.25)


def test_21_labels_and_columns_not_sorted():
    # scikit-learn/scikit-learn#30910, #30903
    proba, y = [[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]], ["dog", "cat", "dog"]
    close(tace_error(y, proba, labels=["dog", "cat"], n_bins=3), 0.2)
    close(tace_error(y, proba, labels=["cat", "dog"], n_bins=3), 0.8)


def test_23_columns_of_a_frame_in_another_order():
    # autogluon/autogluon#447, openml/automlbenchmark#109
    frame = pd.DataFrame([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]], columns=["dog", "cat"])
    y = ["cat", "dog", "cat"]
    close(tace_error(y, frame, n_bins=3), 0.2)
    close(tace_error(y, frame.to_numpy(), labels=["cat", "dog"], n_bins=3), 0.8)
    with pytest.raises(ValueError, match="the same labels in another order"):
        tace_error(y, frame, labels=["cat", "dog"], n_bins=3)


def test_24_index_of_a_series_is_ignored():
    # pycaret/pycaret#384, JobCollins/fairness_pipeline_dev_toolkit#30
    y = pd.Series([1, 0, 1], index=[2, 0, 1])
    p = pd.Series([0.9, 0.2, 0.6], index=[0, 1, 2])
    close(tace_error(y, p, n_bins=1), 0.1)
    close(tace_error(y, p, n_bins=3), 0.7 / 3)


def test_25_shapes_of_a_binary_forecast():
    # scikit-learn/scikit-learn#7048; PriorLabs/tabpfn-extensions#96;
    # ayrna/skordinal#121
    p, y = np.array([0.2, 0.7, 0.9]), [0, 1, 1]
    for proba in (p, p[:, None], np.column_stack([1 - p, p])):
        close(tace_error(y, proba, n_bins=2), 0.1375)


def test_27_labels_as_a_column():
    # NVIDIA/cuml#4281, oxfordinternetinstitute/oxonfair#39
    with pytest.warns(DataConversionWarning):
        value = tace_error(np.array([[0], [1], [1]]), [0.2, 0.7, 0.9], n_bins=2)
    close(value, 0.1375)


def test_28_one_hot_and_multilabel():
    # scikit-learn/scikit-learn#11007; here an indicator is read as one
    assert tace_error(np.eye(3), np.eye(3), n_bins=1) == 0
    y, proba = np.array([[1, 1, 0], [0, 1, 1]]), np.full((2, 3), 0.5)
    assert_array_equal(tace_error(y, proba, n_bins=1, average=None), [0, 0.5, 0])


def test_29_list_of_arrays():
    # scikit-learn/scikit-learn#8773, #10028, #14615
    with pytest.raises(ValueError, match="score each output on its own"):
        tace_error([[0, 1], [1, 0]], [np.full((2, 2), 0.5), np.full((2, 2), 0.5)])


def test_30_dtypes_of_labels():
    # scikit-learn/scikit-learn#24355, #25578, #25953; alteryx/evalml#1124, #3975;
    # lorentzenchr/model-diagnostics#57
    p = [0.2, 0.7, 0.9]
    close(tace_error(np.array([0, 1, 1], dtype=object), p, n_bins=2), 0.1375)
    close(tace_error(pd.Series([0, 1, 1], dtype="Int64"), p, n_bins=2), 0.1375)
    flags = pd.Series([True, False, True], dtype="boolean")
    close(tace_error(flags, [0.9, 0.2, 0.7], n_bins=2), 0.1375)
    for y in (
        pd.Series([0, 1, None], dtype="Int64"),
        np.array([0, "a", 1], dtype=object),
        [0.0, 1.0, np.nan],
    ):
        with pytest.raises(ValueError, match="y_true"):
            tace_error(y, p)


def test_31_swapped_arguments():
    # EleutherAI/elk#194, EFS-OpenSource/calibration-framework#26
    with pytest.raises(
        ValueError, match="labels first, predicted probabilities second"
    ):
        tace_error([0.2, 0.7, 0.9], [0, 1, 1])
    with pytest.raises(
        ValueError, match="labels first, predicted probabilities second"
    ):
        CalibrationReport().fit([[0.2, 0.8], [0.7, 0.3]], [1, 0])


# --- values of probabilities ------------------------------------------------------


def test_32_round_off_outside_the_unit_interval():
    # EFS-OpenSource/calibration-framework#54, facebookresearch/fastText#718,
    # cleanlab/cleanlab#621, scikit-learn/scikit-learn#10981, #17758
    over = [[0.0, 1.0000000000000002], [1.0, -1e-17]]
    assert tace_error([1, 0], over, n_bins=1) == 0
    assert tace_error([1, 0], [[-0.0, 1.0], [1.0, -0.0]], n_bins=1) == 0
    with pytest.raises(ValueError, match="greater than 1"):
        tace_error([1, 0], [[0.0, 1.01], [1.0, 0.0]], n_bins=1)


def test_33_rows_that_almost_sum_to_one():
    # uxlfoundation/scikit-learn-intelex#3401, scikit-learn/scikit-learn#28851, #25299,
    # aimclub/FEDOT#588
    proba = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6]], np.float32)
    assert abs(tace_error([0, 1, 2], proba, n_bins=1)) < 1e-7
    assert abs(tace_error([0, 1, 2], proba.astype(float), n_bins=1)) < 1e-7
    off = [[0.7, 0.2, 0.12], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6]]
    with pytest.warns(UserWarning, match="do not sum to one"):
        close(tace_error([0, 1, 2], off, n_bins=1), 0.02 / 9)


def test_35_logits():
    # Lightning-AI/torchmetrics#974, #3269; gpleiss/temperature_scaling#29
    with pytest.raises(ValueError, match="softmax"):
        tace_error([0, 1], [[2.3, -1.1], [-0.4, 0.9]], n_bins=1)
    with pytest.warns(UserWarning, match="do not sum to one"):
        close(tace_error([0, 1], [[0.9, 0.2], [0.1, 0.8]], n_bins=1), 0)


def test_36_no_softmax_of_probabilities():
    # Jonathan-Pearce/calibration_library, torchgeo/torchgeo#1777
    close(tace_error(Y6, P6, n_bins=2, threshold=0.05), 0.2188888888888889)


def test_37_percentages():
    # gpleiss/temperature_scaling#22
    with pytest.raises(ValueError, match="Divide them by 100"):
        tace_error([0, 1], [[90.0, 10.0], [20.0, 80.0]], n_bins=1)


def test_38_log_probabilities():
    # EleutherAI/lm-evaluation-harness#874, #3913; stanford-crfm/helm#670
    logs = np.log([[0.9, 0.1], [0.2, 0.8]])
    with pytest.raises(ValueError, match=r"np\.exp"):
        tace_error([0, 1], logs, n_bins=1)
    close(tace_error([0, 1], np.exp(logs), n_bins=1), 0.05)


def test_39_nan_and_infinity():
    # stanford-crfm/helm#1087; EFS-OpenSource/calibration-framework#56;
    # scikit-learn/scikit-learn#17978
    for bad in ([np.nan, np.nan], [np.inf, 0.0]):
        with pytest.raises(ValueError, match="Input y_proba contains"):
            tace_error([0, 1], [bad, [0.2, 0.8]])


def test_40_hard_predictions():
    # scikit-learn/scikit-learn#24365
    proba = np.array([[1, 0], [0, 1], [0, 1], [1, 0]])
    for scores in (proba, proba.astype(bool)):
        close(tace_error([0, 1, 0, 0], scores, n_bins=1), 0.25)
        close(tace_error([0, 1, 0, 0], scores, n_bins=1, threshold=None), 0.25)


# --- containers and dtypes ----------------------------------------------------------


def test_43_input_is_not_modified():
    # Jonathan-Pearce/calibration_library, sktime/sktime#7343
    proba = np.array([[0.995, 0.005], [0.2, 0.8]])
    before = proba.copy()
    tace_error([0, 1], proba, n_bins=1)
    assert_array_equal(proba, before)


def test_44_read_only_input():
    # scikit-learn/scikit-learn#5956, #7981; joblib/joblib#1355, #1627
    proba, y = np.array([[0.8, 0.2], [0.3, 0.7]]), np.array([0, 1])
    proba.setflags(write=False)
    y.setflags(write=False)
    close(tace_error(y, proba, n_bins=1), 0.05)


def test_46_byte_order():
    # quatrope/astroalign#59, pydata/xarray#489
    proba = np.array([[0.8, 0.2], [0.3, 0.7]])
    swapped = tace_error(np.array([0, 1], dtype=">i8"), proba.astype(">f4"), n_bins=1)
    assert swapped == tace_error([0, 1], proba.astype("f4"), n_bins=1)


def test_49_objects_and_strings():
    # py-why/dowhy#895; scikit-learn/scikit-learn#7239
    proba = np.array([[0.8, 0.2], [0.3, 0.7]])
    close(tace_error([0, 1], proba.astype(object), n_bins=1), 0.05)
    for bad in (
        np.array([["a", 0.2], [0.3, 0.7]], dtype=object),
        proba.astype(complex),
    ):
        with pytest.raises(ValueError, match=r"could not convert|Complex data"):
            tace_error([0, 1], bad, n_bins=1)


def test_50_data_frames():
    # scikit-learn/scikit-learn#28488; probabl-ai/skore#3088, #3273
    proba = np.array([[0.7, 0.2, 0.1], [0.1, 0.6, 0.3], [0.2, 0.2, 0.6]])
    expected = tace_error([0, 1, 2], proba, n_bins=2)
    for library in (pl, pd):
        columns = {name: proba[:, k] for k, name in enumerate("012")}
        frame, series = library.DataFrame(columns), library.Series([0, 1, 2])
        assert tace_error(series, frame, n_bins=2) == expected


def test_51_sparse_input():
    # scikit-multilearn/scikit-multilearn#52
    dense = np.array([[0.8, 0.2], [0.3, 0.7]])
    sparse = scipy.sparse.csr_matrix(dense)
    assert tace_error([0, 1], sparse) == tace_error([0, 1], dense)


# --- weights ------------------------------------------------------------------------


def test_52_weight_zero_is_absence():
    # scikit-learn/scikit-learn#16298, #16507, #21179; bbstats/chimeraboost#22;
    # harrelfe/Hmisc#81
    value = tace_error(
        [0, 1, 1, 1], [0.1, 0.2, 0.6, 0.9], n_bins=2, sample_weight=[1, 0, 1, 1]
    )
    close(value, 0.15)
    close(tace_error([0, 1, 1], [0.1, 0.6, 0.9], n_bins=2), 0.15)


@pytest.mark.parametrize("weight", [[-1, 2], [0, 0], [1, np.nan], [1, 1, 1]])
def test_53_weights_that_make_no_sense(weight):
    # scikit-learn/scikit-learn#32277, #30886, #16319, #10891
    with pytest.raises(ValueError, match=r"sample_weight|Sample weights"):
        tace_error([0, 1], [0.2, 0.9], sample_weight=weight)


def test_55_weight_two_and_the_duplicated_row():
    # scikit-learn/scikit-learn#29907, #29818, #30743
    y, p = [0, 0, 1], [0.2, 0.6, 0.9]
    close(tace_error(y, p, n_bins=2, sample_weight=[2, 1, 1]), 0.203125)
    close(tace_error([0, 0, 0, 1], [0.2, 0.2, 0.6, 0.9], n_bins=2), 0.225)
    close(tace_error(y, p, n_bins=2), 0.2375)
    close(tace_error(y, p, n_bins=2, sample_weight=[2, 2, 2]), 0.2375)
    close(tace_error(np.repeat(y, 2), np.repeat(p, 2), n_bins=2), 0.7 / 3)


def test_56_no_weights_and_equal_weights():
    # scikit-learn/scikit-learn#17225
    y, p = [0, 0, 1], [0.2, 0.6, 0.9]
    for weight in ([1, 1, 1], [0.1, 0.1, 0.1]):
        weighted = tace_error(y, p, n_bins=2, sample_weight=weight)
        assert weighted == tace_error(y, p, n_bins=2)


# --- parameters and sizes -------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_bins", "error"),
    [
        (2.0, TypeError),
        (0, ValueError),
        (-3, ValueError),
        (True, TypeError),
        ("15", ValueError),
    ],
)
def test_57_number_of_bins(n_bins, error):
    # ray-project/ray#65968, scikit-learn/scikit-learn#23804,
    # rohitg00/ai-engineering-from-scratch#210
    with pytest.raises(error, match="n_bins"):
        tace_error([0, 1], [0.2, 0.9], n_bins=n_bins)
    close(tace_error([0, 1], [0.2, 0.9], n_bins=np.int64(2)), 0.15)


@pytest.mark.parametrize(
    ("threshold", "error"),
    [
        (-0.1, ValueError),
        (1.0, ValueError),
        (float("nan"), ValueError),
        ("0.01", TypeError),
    ],
)
def test_58_threshold(threshold, error):
    # google-research/robustness_metrics
    with pytest.raises(error, match="threshold"):
        tace_error([0, 1], [0.2, 0.9], threshold=threshold)


def test_59_empty_input_and_unequal_lengths():
    # Khanz9664/TrustLens#134; markus93/NN_calibration#17
    for y, proba in (([], []), ([0, 1, 1], [0.2, 0.9]), ([0, 1], np.empty((2, 0)))):
        with pytest.raises(ValueError, match=r"0 sample|inconsistent|0 feature"):
            tace_error(y, proba)
    # Equal lengths of other splits cannot be told apart: the report shows the rows.
    assert "2 rows" in str(CalibrationReport().fit([0, 1], [0.2, 0.9]))


# --- scikit-learn ---------------------------------------------------------------------


def test_61_search_keeps_the_better_model():
    # keras-team/keras#5577, #7788; scikit-learn/scikit-learn#2439, #5023, #18117;
    # franneck94/TensorCross#43
    search = GridSearchCV(
        ConstantProba(), {"p": [0.5, 0.9]}, scoring=TACEScorer(n_bins=1), cv=KFold(2)
    ).fit(X8, Y8)
    close(search.best_score_, -0.25)
    assert search.best_params_["p"] == 0.5


def test_63_errors_do_not_become_numbers():
    # pycaret/pycaret#3973, #806; autogluon/autogluon#4576
    with pytest.raises(ValueError, match="y_proba contains values"):
        cross_val_score(
            ConstantProba(p=1.5),
            X8,
            Y8,
            scoring=neg_tace_scorer,
            cv=KFold(2),
            error_score="raise",
        )


def test_64_classifier_without_probabilities():
    # probabl-ai/skore#1736, #1738; EpistasisLab/tpot#1170; pycaret/pycaret#819;
    # scikit-learn/scikit-learn#19332
    svc = LinearSVC().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(
        AttributeError, match="LinearSVC has none.*CalibratedClassifierCV"
    ):
        neg_tace_scorer(svc, [[0.0], [1.0]], [0, 1])


def test_65_pickles_and_workers():
    # scikit-learn/scikit-learn#9467, #10054, #10807, #12413; joblib/joblib#867
    assert pickle.loads(pickle.dumps(TACEScorer(n_bins=7))).n_bins == 7
    report = CalibrationReport(n_bins=1).fit([1, 0], [0.9, 0.2])
    close(pickle.loads(pickle.dumps(report)).tace_, 0.05)
    scores = cross_val_score(
        ConstantProba(0.5), X8, Y8, scoring=TACEScorer(n_bins=1), cv=KFold(2), n_jobs=2
    )
    close(scores, [-0.25, -0.25])


def test_66_clone_and_set_params():
    # scikit-learn's rules for developers
    report = CalibrationReport(n_bins=1).fit([1, 0], [0.9, 0.2])
    assert not hasattr(clone(report), "tace_")
    assert clone(report).n_bins == 1
    search = GridSearchCV(ConstantProba(), {"p": [0.5]}, scoring=TACEScorer())
    assert search.set_params(scoring__n_bins=4).scoring.n_bins == 4


class WeightedConstant(ClassifierMixin, BaseEstimator):
    """A constant forecast of one half whose fit takes weights."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({"sample_weight": True}, [0, 0]),
        ({"sample_weight": False}, [-0.25, -0.25]),
        ({}, UnsetMetadataPassedError),
    ],
)
def test_68_metadata_routing(request_, expected):
    # scikit-learn/scikit-learn#30817, #30859, #24027
    def routed():
        with sklearn.config_context(enable_metadata_routing=True):
            scorer = TACEScorer(n_bins=1)
            if request_:
                scorer.set_score_request(**request_)
            return cross_validate(
                WeightedConstant().set_fit_request(sample_weight=True),
                X8,
                Y8,
                scoring=scorer,
                cv=KFold(2),
                params={"sample_weight": [3, 1, 1, 1, 3, 1, 1, 1]},
            )["test_score"]

    if expected is UnsetMetadataPassedError:
        with pytest.raises(UnsetMetadataPassedError):
            routed()
    else:
        close(routed(), expected)


def test_70_several_figures_from_one_prediction():
    # scikit-learn/scikit-learn#10802, #14593
    calls = []

    class Counting(FixedProba):
        def predict_proba(self, X):
            calls.append(len(X))
            return X

    classifier = Counting((0, 1, 2)).fit(None, None)
    figures = CalibrationScorer(n_bins=2, threshold=0.05)(classifier, P6, Y6)
    assert calls == [6]
    close(figures["neg_tace"], -0.2188888888888889)
    close(figures["neg_ace"], -tace_error(Y6, P6, n_bins=2, threshold=None))
    close(figures["neg_log_loss"], -log_loss(Y6, P6))


def test_71_no_name_as_a_string():
    # scikit-learn/scikit-learn#17168, #6081
    search = GridSearchCV(ConstantProba(), {"p": [0.5]}, scoring="neg_tace")
    with pytest.raises(ValueError, match="neg_tace"):
        search.fit(X8, Y8)


def test_72_pipelines_and_their_classes():
    # scikit-learn/scikit-learn#18006
    proba = np.array([[0.8, 0.2], [0.3, 0.7]])
    pipeline = make_pipeline(FunctionTransformer(), FixedProba((1, 0))).fit(
        proba, [1, 0]
    )
    close(TACEScorer(n_bins=1)(pipeline, proba, [1, 0]), -0.05)


# --- the report -----------------------------------------------------------------------


def test_74_every_class_keeps_its_own_results():
    # google/uncertainty-metrics#9
    report = CalibrationReport(n_bins=2, threshold=0.05).fit(Y6, P6)
    assert_allclose(report.class_tace_, [0.3125, 0.131667, 0.2125], atol=1e-6)
    for k, error in enumerate(report.class_tace_):
        close(report.bins_[report.bins_["class"] == k]["gap"].mean(), error)


def test_75_value_table_and_scorer_agree():
    # Khanz9664/TrustLens#134, #144; torch-uncertainty/torch-uncertainty#300, #214;
    # EFS-OpenSource/calibration-framework#19
    report = CalibrationReport(n_bins=2).fit(Y6, P6)
    classifier = FixedProba((0, 1, 2)).fit(None, None)
    assert report.tace_ == tace_error(Y6, P6, n_bins=2)
    assert report.tace_ == -TACEScorer(n_bins=2)(classifier, P6, Y6)
    means = [report.bins_[report.bins_["class"] == k]["gap"].mean() for k in range(3)]
    close(np.mean(means), report.tace_)


def test_77_useless_forecast_wins():
    # gpleiss/temperature_scaling#18, #3; scikit-learn/scikit-learn#10883
    y = np.array([0, 1] * 10)
    sharp = np.where(y == 1, 0.8, 0.2)
    close(tace_error(y, np.full(20, 0.5), n_bins=1), 0)
    close(tace_error(y, sharp, n_bins=1), 0)
    close(tace_error(y, sharp, n_bins=2), 0.2)
    assert log_loss(y, sharp) < log_loss(y, np.full(20, 0.5))


@pytest.mark.parametrize(
    ("n", "n_bins", "expected"), [(100, 5, 0.072), (100, 15, 0.121), (1000, 15, 0.039)]
)
def test_78_calibrated_model_does_not_score_zero(n, n_bins, expected):
    # scikit-learn/scikit-learn#11096, #30664, #18268; scikit-learn-contrib/MAPIE#298
    rng = np.random.default_rng(0)
    values = []
    for _ in range(200):
        p = rng.random(n)
        y = (rng.random(n) < p).astype(int)
        values.append(second_class(y, p, n_bins=n_bins))
    standard_error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - expected) < 4 * standard_error + 5e-4


def test_79_report_names_its_settings():
    # adamxyang/laplace-lora#2, huggingface/evaluate#96,
    # classifier-calibration/PyCalib#2,
    # google/uncertainty-metrics#7, niznik-dev/cruijff_kit#305
    report = CalibrationReport(threshold=0.05, n_bins=2, norm="l2", average="weighted")
    text = str(report.fit(Y6, P6))
    for setting in (
        "threshold 0.05",
        "2 bins",
        "6 rows",
        "3 of 3 classes",
        "ties=average",
        "norm=l2",
        "average=weighted",
        "sklearn_tace 0",
        "15 of 18",
    ):
        assert setting in text


def test_81_fewer_rows_in_the_table_than_bins():
    # scikit-learn/scikit-learn#12926
    report = CalibrationReport(n_bins=4).fit(
        [0, 1, 1], [[0.4, 0.6], [1, 0], [0.1, 0.9]]
    )
    first = report.bins_[report.bins_["class"] == 0]
    second = report.bins_[report.bins_["class"] == 1]
    assert first["bin"].tolist() == [0, 1, 2]
    assert second["bin"].tolist() == [0, 1]
    assert second["count"].tolist() == [1, 1]
    assert second["lower"].tolist() == second["upper"].tolist() == [0.6, 0.9]
