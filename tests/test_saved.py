"""A report as a document: nothing is lost, and later versions read it."""

import base64
import copy
import io
import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from paths import ON_DEMAND, assert_same_report
from sklearn.exceptions import NotFittedError

from sklearn_tace import CalibrationReport

SAVED = Path(__file__).with_name("saved")
LABELS = {
    "strings": np.array(list("abcde")),
    "objects": np.array(["a", "é", "<b>", "d'", "\ud800"], dtype=object),
    "integers": np.arange(5, dtype=np.int16),
    "floats": np.arange(5.0),
    "dates": np.array([f"2020-01-0{day}" for day in range(1, 6)], "M8[ns]"),
}


def problem(n=200, seed=0):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.ones(5), n)
    code = (proba.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return code, proba, rng.random(n)


def fitted(labels=LABELS["strings"], *, weights=True, **settings):
    code, proba, weight = problem()
    return CalibrationReport(**{"n_draws": 50} | settings).fit(
        labels[code], proba, labels=labels, sample_weight=weight if weights else None
    )


def again(report):
    return type(report).from_json(report.to_json())


def assert_same_inference(actual, desired):
    for name in ON_DEMAND:
        assert_array_equal(getattr(actual, name), getattr(desired, name), err_msg=name)


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("ties", ["average", "ordinal"])
def test_nothing_is_lost(labels, ties):
    report = fitted(labels, ties=ties)
    loaded = again(report)
    assert_same_report(loaded, report)
    assert loaded.classes_.dtype == report.classes_.dtype
    assert loaded.get_params() == report.get_params()
    assert_same_inference(loaded, report)
    assert loaded.to_json() == report.to_json()


def test_what_was_inferred_is_not_drawn_again():
    report = fitted(random_state=None)
    assert report.p_value_ > 0
    loaded = again(report)
    for name in ON_DEMAND:
        value = vars(loaded)[name]
        assert_array_equal(value, vars(report)[name])
        assert type(value) is type(vars(report)[name])
    assert loaded.expected_bins_.dtype == report.expected_bins_.dtype


def test_saving_draws_nothing():
    report = fitted()
    document = report.to_dict()
    assert document["inferred"] == {}
    assert not set(ON_DEMAND) & set(vars(report))


@pytest.mark.parametrize("weights", [False, True])
def test_a_loaded_report_goes_on(weights):
    code, proba, weight = problem()
    weight = weight if weights else None
    whole = CalibrationReport().fit(code, proba, sample_weight=weight)
    first, second = np.arange(90), np.arange(90, 200)
    parts = [
        CalibrationReport().fit(
            code[rows],
            proba[rows],
            labels=range(5),
            sample_weight=None if weight is None else weight[rows],
        )
        for rows in (first, second)
    ]
    merged = again(parts[0]).merge(again(parts[1]))
    assert_same_report(merged, whole)
    streamed = again(parts[0]).partial_fit(
        code[second],
        proba[second],
        sample_weight=None if weight is None else weight[second],
    )
    assert_same_report(streamed, whole)
    table = {"thresholds": [0.01, 0.1], "n_bins": [3, "auto"]}
    assert_array_equal(again(whole).sensitivity(**table), whole.sensitivity(**table))
    assert_array_equal(again(whole).class_intervals([2]), whole.class_intervals([2]))


@pytest.mark.parametrize("proba_type", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("threshold", [None, 0, 0.05, np.float32(0.05)])
def test_any_precision_and_threshold(proba_type, threshold):
    code, proba, _ = problem()
    report = CalibrationReport(threshold=threshold, n_bins=np.int64(4))
    report.fit(code, proba.astype(proba_type), labels=range(5))
    assert_same_report(again(report), report)


def test_one_column_indicator_batches_and_undefined_values():
    code, proba, _ = problem()
    column = CalibrationReport().fit(code == 0, proba[:, 0])
    indicator = CalibrationReport().fit(np.eye(5, dtype=int)[code], proba)
    batches = CalibrationReport()
    for rows in np.array_split(np.arange(200), [1, 3, 150]):
        batches.partial_fit(code[rows], proba[rows], classes=range(5))
    for report in (column, indicator, batches):
        assert_same_report(again(report), report)
        assert_same_inference(again(report), report)
    with pytest.warns(match="undefined"):
        empty = CalibrationReport(threshold=0.999).fit(code, proba)
    loaded = again(empty)
    with pytest.warns(match="undefined"):
        assert np.isnan(loaded.tace_)


@pytest.mark.parametrize("kind", ["MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64"])
def test_random_states_go_on_where_they_were(kind):
    generator = np.random.Generator(getattr(np.random, kind)(3))
    generator.random()
    for state in (generator, np.random.RandomState(3)):
        report = fitted(random_state=state)
        assert_same_inference(again(report), report)


def test_settings_changed_since_the_fit_are_told_apart():
    report = fitted().set_params(n_bins=3, confidence_level=0.9)
    loaded = again(report)
    assert loaded.n_bins == 3
    assert len(loaded.bins_) == len(report.bins_) == 5 * 15
    assert_same_inference(loaded, report)


def test_numbers_are_there_for_any_reader():
    report = fitted()
    assert report.p_value_ > 0
    document = json.loads(report.to_json())
    assert document["format"] == "sklearn_tace.CalibrationReport"
    assert document["parameters"] == report.get_params()
    measured, inferred = document["measured"], document["inferred"]
    assert measured["tace_"] == report.tace_
    assert measured["bins_"]["gap"] == report.bins_["gap"].tolist()
    assert measured["bins_"]["class"] == report.bins_["class"].tolist()
    assert inferred["interval_"] == report.interval_.tolist()


def test_a_report_of_an_earlier_version_keeps_loading():
    numbers = json.loads(SAVED.joinpath("numbers.json").read_text())
    for name, expected in numbers.items():
        text = SAVED.joinpath(name).read_text()
        loaded = CalibrationReport.from_json(text)
        assert loaded.tace_ == pytest.approx(expected["tace"], rel=1e-12)
        assert loaded.n_kept_.tolist() == expected["n_kept"]
        assert loaded.classes_.tolist() == expected["classes"]
        assert loaded.n_samples_ == expected["n_samples"]
        if expected["interval"] is None:  # survivors have been summed up
            assert not hasattr(loaded, "interval_")
            continue
        assert loaded.interval_.tolist() == expected["interval"]
        loaded.merge(CalibrationReport.from_json(text))
        assert loaded.n_samples_ == 2 * expected["n_samples"]


def test_an_unfitted_report_cannot_be_saved():
    for method in ("to_dict", "to_json", "to_frame"):
        with pytest.raises(NotFittedError, match="not fitted"):
            getattr(CalibrationReport(), method)()


def changed(path, value):
    document = copy.deepcopy(fitted().to_dict())
    *way, last = path
    place = document
    for step in way:
        place = place[step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return document


@pytest.mark.parametrize(
    ("path", "value", "error", "words"),
    [
        (["format"], "other", ValueError, "This is no saved report: format is 'other'"),
        (["format"], None, ValueError, "This is no saved report: format is None"),
        (["format_version"], 2, ValueError, "in format 2, .* Upgrade sklearn_tace."),
        (["held"], None, ValueError, "damaged"),
        (["held", "arrays"], "AAAA", ValueError, "damaged"),
        (["held", "arrays"], "é", ValueError, "damaged"),
        (["held", "accounts"], [{}], ValueError, "damaged"),
        (["held", "classes", "values"], list("ab"), ValueError, "support"),
        (["held", "classes", "values"], list("abcda"), ValueError, "duplicates"),
        (["held", "classes", "dtype"], "<U100000000", ValueError, "the type of the"),
        (["held", "classes", "dtype"], "<U0", ValueError, "damaged"),
        (["held", "classes", "dtype"], "S1", ValueError, "damaged"),
        (["held", "classes", "dtype"], "V9", ValueError, "damaged"),
        (["held", "accounts"], [], ValueError, "accounts"),
        (["held", "accounts", 0, "n_samples"], 3, ValueError, "damaged"),
        (["held", "accounts", 0, "n_samples"], -3, ValueError, "n_samples"),
        (["held", "accounts", 0, "n_samples"], 2**64, ValueError, "n_samples"),
        (["held", "accounts", 0, "mass"], "1", ValueError, "mass"),
        (["held", "accounts", 0, "mass"], 10**400, ValueError, "mass"),
        (["held", "accounts", 0, "largest_score"], 1e999, ValueError, "largest_score"),
        (["held", "classes", "dtype"], "<g", ValueError, "the type of the classes"),
        (["held", "names"], [None, "abcde"], ValueError, "names"),
        (["held", "accounts", 0, "dtype"], "i8", ValueError, "the precision"),
        (["held", "names"], [None], ValueError, "names"),
        (["held", "names"], [None, [1]], ValueError, "names"),
        (["parameters", "threshold"], 7, ValueError, "damaged.*0 <= threshold < 1"),
        (["parameters", "n_bins"], "x", ValueError, "damaged.*n_bins"),
        (["parameters", "unknown"], 1, ValueError, "damaged"),
        (["parameters"], {}, ValueError, "damaged"),
        (["inferred", "tace_"], 1, ValueError, "attributes \\['tace_'\\]"),
        (["inferred", "p_value_"], [1.0], ValueError, "p_value_"),
        (["inferred", "p_value_"], {}, ValueError, "damaged"),
        (["inferred", "interval_"], [0, 1e999], ValueError, "interval_"),
        (
            ["inferred", "expected_class_tace_"],
            [1.0],
            ValueError,
            "expected_class_tace_",
        ),
    ],
)
def test_what_is_no_saved_report_is_refused(path, value, error, words):
    with pytest.raises(error, match=words):
        CalibrationReport.from_dict(changed(path, value))


@pytest.mark.parametrize("name", ["code", "word", "row", "weight", "support"])
@pytest.mark.parametrize(
    "spoil",
    [
        lambda values: values[1:],
        lambda values: values.astype("i1") - 100,
        lambda values: values.astype(complex),
        lambda values: values.astype(str),
        lambda values: ~values if values.dtype.kind == "u" else -values,
        lambda values: np.full(len(values), np.nan),
        lambda values: values.astype(object),
    ],
)
def test_arrays_that_no_rows_could_give_are_refused(name, spoil):
    document = fitted().to_dict()
    packed = io.BytesIO(base64.b64decode(document["held"]["arrays"]))
    arrays = dict(np.load(packed))
    arrays[f"{name}_0"] = spoil(arrays[f"{name}_0"])
    packed = io.BytesIO()
    np.savez(packed, **arrays)
    document["held"]["arrays"] = base64.b64encode(packed.getvalue()).decode()
    with pytest.raises(ValueError, match="damaged"):
        CalibrationReport.from_dict(document)


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("MT19937", ["state", "pos"], 1_000_000),
        ("MT19937", ["state", "pos"], -5),
        ("MT19937", ["state", "key"], [0] * 5),
        ("Philox", ["buffer_pos"], -2_000_000_000),
        ("PCG64", ["state", "inc"], -1),
        ("PCG64", ["bit_generator"], "os"),
    ],
)
def test_random_states_of_nowhere_are_refused(kind, path, value):
    state = np.random.Generator(getattr(np.random, kind)(3))
    document = json.loads(fitted(random_state=state).to_json())
    *way, last = path
    place = document["parameters"]["random_state"]["Generator"]
    for step in way:
        place = place[step]
    place[last] = value
    with pytest.raises(ValueError, match="damaged"):
        CalibrationReport.from_dict(document)


def test_bins_that_do_not_belong_to_the_rows_are_refused():
    report = fitted()
    assert report.p_value_ > 0
    document = report.to_dict()
    document["parameters"]["n_bins"] = 3
    with pytest.raises(ValueError, match="other bins were expected"):
        CalibrationReport.from_dict(document)


class Fewer(CalibrationReport):
    def __init__(self, *, n_bins=15):
        super().__init__(n_bins=n_bins)


class More(CalibrationReport):
    def __init__(self, *, n_bins=15, threshold=0.01, extra=None):
        super().__init__(n_bins=n_bins, threshold=threshold)
        self.extra = extra


@pytest.mark.parametrize("kind", [Fewer, More])
def test_reports_of_other_classes(kind):
    code, proba, _ = problem()
    report = kind(n_bins=4).fit(code, proba)
    loaded = kind.from_json(report.to_json())
    assert type(loaded) is kind
    assert_same_report(loaded, report)
    assert loaded.n_bins == 4


def test_equal_reports_have_equal_documents():
    report = fitted(random_state=np.random.default_rng(3))
    assert copy.deepcopy(report).to_json() == report.to_json()
    assert pickle.loads(pickle.dumps(report)).to_json() == report.to_json()


def test_levels_of_single_precision():
    report = fitted(confidence_level=np.float32(0.9))
    assert_same_inference(again(report), report)


def test_files(tmp_path):
    report = fitted()
    text = report.to_json(tmp_path / "report.json")
    assert (tmp_path / "report.json").read_text("utf-8") == text == report.to_json()
    assert_same_report(CalibrationReport.from_json(tmp_path / "report.json"), report)


def test_no_text_of_a_report_is_refused():
    with pytest.raises(TypeError, match="A saved report is a dict, got list."):
        CalibrationReport.from_json("[]")
    with pytest.raises(ValueError, match="This is not JSON: .* pass a pathlib.Path"):
        CalibrationReport.from_json("report.json")
    with pytest.raises(ValueError, match="This is not JSON"):
        CalibrationReport.from_json("[" * 200_000)


def test_frames_are_the_tables():
    report = fitted()
    frame = report.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert_array_equal(frame["gap"], report.bins_["gap"])
    assert list(frame) == list(report.bins_.dtype.names)
    frame.loc[0, "gap"] = -1
    assert report.bins_["gap"][0] >= 0
    classes = report.to_frame("classes")
    assert_array_equal(classes["class"], report.classes_)
    assert_array_equal(classes["tace"], report.class_tace_)
    for name in ("support", "n_kept", "dropped_positives"):
        assert_array_equal(classes[name], getattr(report, f"{name}_"))
    for name in ("mean_proba", "observed_frequency"):
        means = [
            np.average(rows[name], weights=rows["weight"])
            for _, rows in report.to_frame().groupby("class")
        ]
        assert_allclose(classes[name], means)
    assert not set(ON_DEMAND) & set(vars(report))
    with pytest.raises(ValueError, match="level must be 'bins' or 'classes', got 'x'"):
        report.to_frame("x")


def test_frames_with_what_chance_would_give():
    report = fitted()
    frame = report.to_frame(expected=True)
    assert_array_equal(frame["expected_upper"], report.expected_bins_["upper"])
    classes = report.to_frame("classes", expected=True)
    assert_array_equal(classes["expected_tace"], report.expected_class_tace_)
    quantile = classes["expected_tace_quantile"]
    assert_array_equal(quantile, report.expected_class_tace_quantile_)
    assert_array_equal(classes["upper"], report.class_intervals()["upper"])
    frame = fitted(norm="max").to_frame("classes", expected=True)
    assert list(frame)[-1] == "expected_tace_quantile"
    with pytest.raises(AttributeError, match="average='macro'"):
        fitted(average="weighted").to_frame(expected=True)


def test_frames_of_classes_left_out():
    code, proba, _ = problem()
    proba = np.column_stack([np.zeros(200), proba])
    report = CalibrationReport().fit(code + 1, proba, labels=range(6))
    classes = report.to_frame("classes")
    assert classes.isna().sum(axis=1).tolist() == [3, 0, 0, 0, 0, 0]
    with pytest.warns(match="undefined"):
        report = CalibrationReport(threshold=0.999999).fit(
            code + 1, proba, labels=range(6)
        )
    assert report.to_frame("classes")["mean_proba"].isna().all()
    assert len(report.to_frame()) == 0
