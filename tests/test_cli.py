"""The command line, as a process wherever the process matters."""

import json
import os
import pickle
import re
import reprlib
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import sklearn_tace
from sklearn_tace import CalibrationReport, compare
from sklearn_tace.command_line.main import main

COMMAND = [sys.executable, "-m", "sklearn_tace"]
NAMES = np.array(["ant", "bee", "cat"])
posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")


@pytest.fixture(autouse=True)
def _in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(600, 3))
    scores = {"p": np.exp(logits), "q": np.exp(3 * logits)}
    scores = {name: s / s.sum(axis=1, keepdims=True) for name, s in scores.items()}
    y = (rng.random(600) > scores["p"].cumsum(axis=1).T).sum(axis=0)
    return {"y": y, "w": rng.integers(1, 4, 600), **scores}


@pytest.fixture
def files(data):
    """The data in every format."""
    for name, values in data.items():
        np.save(f"{name}.npy", values)
    np.savez("all.npz", **data)
    np.savez("one.npz", data["p"])
    scipy.sparse.save_npz("sparse.npz", scipy.sparse.csc_array(data["p"]))
    np.save("column.npy", data["p"][:, 1])
    np.save("binary.npy", data["y"] == 1)
    np.save("indicator.npy", np.eye(3, dtype=int)[data["y"]])
    write_table("p.csv", NAMES, data["p"])
    write_table("numbered.csv", range(3), data["p"])
    write_table("bare.csv", None, data["p"])
    write_table("y.csv", ["label"], NAMES[data["y"]][:, None])
    write_table("indicator.csv", NAMES, np.eye(3, dtype=int)[data["y"]])
    columns = [2, 0, 1]
    rows = np.column_stack([
        NAMES[data["y"]],
        data["w"].astype(str),
        data["p"][:, columns].astype(object),
    ])
    write_table("t.csv", ["label", "weight", *NAMES[columns]], rows)


def write_table(name, header, rows):
    lines = [] if header is None else [",".join(map(str, header))]
    lines += [",".join(map(str, row)) for row in np.asarray(rows).tolist()]
    Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(line):
    return subprocess.run([*COMMAND, *line.split()], capture_output=True, text=True)


def in_process(capsys, line):
    """What the command does in this process, which saves its start."""
    code = main(line.split())
    return code, *capsys.readouterr()


def report_of(data, scores="p", **settings):
    return CalibrationReport(**settings).fit(data["y"], data[scores])


# --- the same numbers as in Python ----------------------------------------------------


def as_names(report, data):
    return report.fit(NAMES[data["y"]], data["p"], labels=NAMES)


FORMATS = {
    "y.npy p.npy": lambda report, data: report.fit(data["y"], data["p"]),
    "all.npz:y all.npz:p": "y.npy p.npy",
    "y.npy one.npz": "y.npy p.npy",
    "y.npy sparse.npz": "y.npy p.npy",
    "y.npy numbered.csv": "y.npy p.npy",
    "y.npy bare.csv --no-header": "y.npy p.npy",
    "binary.npy column.npy": lambda report, data: report.fit(
        data["y"] == 1, data["p"][:, 1]
    ),
    "binary.npy p.csv:bee": "binary.npy column.npy",
    "indicator.npy p.npy": lambda report, data: report.fit(
        np.eye(3, dtype=int)[data["y"]], data["p"]
    ),
    "y.csv p.csv": as_names,
    "y.csv p.npy": as_names,
    "y.csv p.npy --classes ant,bee,cat": as_names,
    "y.npy p.npy --weights w.npy": lambda report, data: report.fit(
        data["y"], data["p"], sample_weight=data["w"]
    ),
    "t.csv:label t.csv --weights t.csv:weight": lambda report, data: report.fit(
        NAMES[data["y"]],
        data["p"][:, [2, 0, 1]],
        labels=NAMES[[2, 0, 1]],
        sample_weight=data["w"],
    ),
}


@pytest.mark.parametrize("line", FORMATS)
@pytest.mark.usefixtures("files")
def test_formats_give_the_numbers_of_the_api(capsys, data, line):
    fit = FORMATS[line]
    fit = fit if callable(fit) else FORMATS[fit]
    expected = str(fit(CalibrationReport(n_bins=5, n_draws=50), data))
    shown = in_process(capsys, f"report {line} --n-bins 5 --n-draws 50")
    assert shown == (0, expected + "\n", "")


@pytest.mark.usefixtures("files")
def test_an_indicator_is_called_by_its_names(capsys):
    texts = [
        in_process(capsys, f"report {line} --n-draws 20")
        for line in (
            "indicator.csv p.csv",
            "indicator.csv p.npy",
            "indicator.npy p.csv",
        )
    ]
    assert texts[0][0] == 0
    assert "\n  bee  " in texts[0][1]
    assert texts[0] == texts[1] == texts[2]


@pytest.mark.usefixtures("files")
def test_parquet_gives_the_numbers_of_the_api(capsys, data):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(data["p"], columns=NAMES)
    frame.insert(1, "label", pandas.Categorical(NAMES[data["y"]]))
    frame.to_parquet("t.parquet")
    shown = in_process(capsys, "report t.parquet:label t.parquet --n-draws 20")
    expected = str(as_names(CalibrationReport(n_draws=20), data))
    assert shown == (0, expected + "\n", "")


@pytest.mark.usefixtures("files")
def test_names_that_are_integer_labels_are_the_classes(capsys, data):
    order = [2, 0, 1]
    write_table("named.csv", [30, 10, 20], data["p"][:, order])
    np.save("tens.npy", 10 * (data["y"] + 1))
    shown = in_process(capsys, "report tens.npy named.csv --n-draws 20")
    expected = CalibrationReport(n_draws=20).fit(
        10 * (data["y"] + 1), data["p"][:, order], labels=[30, 10, 20]
    )
    assert shown == (0, f"{expected}\n", "")


@pytest.mark.usefixtures("files")
def test_classes_from_a_file_or_a_list(capsys, data):
    rows = data["y"] < 2
    np.save("two.npy", data["y"][rows])
    np.save("p_two.npy", data["p"][rows])
    np.save("classes.npy", np.arange(3))
    write_table("classes.csv", ["label"], np.arange(3)[:, None])
    texts = [
        in_process(capsys, f"report two.npy p_two.npy --n-draws 20 --classes {classes}")
        for classes in ("0,1,2", "classes.npy", "classes.csv")
    ]
    assert texts[0][0] == 0
    assert texts[0] == texts[1] == texts[2]


def test_every_parameter_is_an_option_with_its_default(capsys):
    code, text, _ = in_process(capsys, "report --help")
    assert code == 0
    for name, default in CalibrationReport().get_params().items():
        option = re.search(rf"\n  --{name.replace('_', '-')} .*?(?=\n  --)", text, re.S)
        assert f"(default: {default})" in " ".join(option.group().split())
    assert all(len(line) < 80 for line in text.splitlines())
    assert "exit codes: 0 done; 1 --fail-above says no; 2 wrong usage" in text


@pytest.mark.usefixtures("files")
def test_parameters_reach_the_report(capsys, data):
    settings = {
        "threshold": None,
        "n_bins": "auto",
        "ties": "ordinal",
        "norm": "l2",
        "average": "weighted",
        "confidence_level": 0.9,
        "n_draws": 10,
        "random_state": 7,
    }
    line = " ".join(
        f"--{name.replace('_', '-')} {str(value).lower()}"
        for name, value in settings.items()
    )
    shown = in_process(capsys, f"report y.npy p.npy {line} --json -")
    assert shown[::2] == (0, "")
    again = CalibrationReport.from_json(shown[1])
    assert again.get_params() == settings
    assert again.tace_ == report_of(data, **settings).tace_


# --- what is refused ------------------------------------------------------------------

BAD = {
    "nope.npy p.npy": "nope.npy cannot be read: No such file or directory",
    "y.npy .": ". has no ending that is known: .npy, .npz, .csv and .parquet are read",
    "y.npy all.npz": "all.npz: the file holds ['y', 'w', 'p', 'q']. Say FILE:NAME",
    "y.npy all.npz:x": "Say FILE:NAME",
    "y.npy p.npy:x": "a .npy file holds one array",
    "y.npy objects.npy": "be read: Array can't be memory-mapped: Python objects in",
    "objects.npy p.npy": "objects.npy cannot be read: Array can't be memory-mapped:",
    "y.npy pickle.npy": "pickle.npy cannot be read: the magic string is not correct",
    "y.npy objects.npz": "objects.npz cannot be read: Object arrays cannot be loaded",
    "y.npy cut.npy": "cut.npy cannot be read",
    "y.npy cut.npz": "cut.npz cannot be read: File is not",
    "y.npy strange.npz": "strange.npz cannot be read: ",
    "y.npy nan.npy": "nan.npy, row 7: contains NaN.",
    "y.npy logits.npy": "contains values less than 0: -3.89942. Logits? Pass their",
    "y.npy nan.csv": "nan.csv, row 7: contains NaN.",
    "y.npy complex.npy": "complex.npy: Complex data not supported",
    "y.npy cube.npy": "cube.npy: must have one or two dimensions",
    "y.npy short.npy": "short.npy has 599 rows, y.npy has 600.",
    "y.npy short.csv": "y.npy has 600. The first line of a .csv",
    "y.npy long.csv": "long.csv has 1200 rows, y.npy has 600.",
    "y.npy column.npy": "column.npy has 1 column for 3 labels, [0, 1, 2]. Pass the",
    "y.npy sparse.npz --threshold none": "--threshold none keeps every probability",
    "sparse.npz p.npy": "sparse.npz is sparse",
    "y.npy y.npy": "y.npy has 1 column for 3 labels",
    "p.npy y.npy": "LABELS come first, then SCORES",
    "column.npy p.npy": "Unknown label type: continuous (LABELS). LABELS come",
    "half.npy p.npy": "half.npy: contains missing values",
    "wrong.npy p.npy": "wrong.npy: Unknown label type",
    "bytes.npy p.npy": "bytes.npy: holds bytes. Decode them to str.",
    "t.csv p.npy": "t.csv cannot be read: In CSV column #0: ",
    "y.npy t.csv": "t.csv has 5 columns for 3 labels",
    "y.npy t.csv:label": "t.csv:label has 1 column for 3 labels",
    "binary.npy t.csv:label": "CSV conversion error to double: invalid value 'ant'",
    "y.npy t.csv:none": "t.csv must have one column 'none'; it has ['label',",
    "other.csv p.csv": "p.csv has the labels ['ant', 'bee', 'cat'], other.csv has",
    "y.csv p.csv --classes ant,cat,bee": "must be the same, in the same order",
    "y.npy p.npy --classes 0,1": "p.npy has 3 columns for 2 labels, [0, 1].",
    "y.npy p.npy --classes=-1,0,1": "not belonging to the passed labels [-1, 0, 1].",
    "y.npy p.npy --classes indicator.npy": "indicator.npy: --classes must be the label",
    "y.npy p.npy --classes a.txt": "a.txt has no ending that is known: .npy, .npz,",
    "y.npy p.npy --classes 0,1,x": "--classes has the labels ['0', '1', 'x'], y.npy "
    "has [0, 1, 2]. They must be the same, in the same order.",
    "y.npy p.npy --json classes.npy --classes classes.npy": "classes.npy is read al",
    "y.npy p.npy --classes 1,2,3": "y.npy: contains values [0] not belonging to",
    "y.npy p.npy --classes 0,1,1": "--classes: --classes contains duplicates: [1]",
    "y.npy p.npy --weights minus.npy": "minus.npy: Negative values in data passed to",
    "y.npy p.npy --weights zeros.npy": "zeros.npy: Sample weights must contain",
    "y.npy p.npy --weights short.npy": "short.npy has several columns. Say which",
    "y.npy p.npy --weights t.csv": "t.csv has several columns. Say which: t.csv:NAME",
    "- -": "standard input can be read only once",
    "y.npy p.npy --threshold 2": "sklearn-tace: --threshold must fulfil 0 <= threshold "
    "< 1, got 2 (see sklearn-tace report --help)",
    "y.npy p.npy --n-bins 0": "--n-bins == 0, must be >= 1",
    "y.npy p.npy --norm l3": "--norm must be one of 'l1', 'l2', 'max', got 'l3' (see",
    "y.npy p.npy --average x": "--average must be one of 'macro', 'weighted'",
    "y.npy p.npy --random-state none": "--random-state must be an integer",
    "y.npy p.npy --n-b 3": "unrecognized arguments: --n-b 3",
    "y.npy p.npy --kind classes": "--kind says what --plot draws. Add --plot FILE.",
    "y.npy p.npy --json=": ". cannot be written: it is a folder",
    "y.npy p.npy --fail-above x": "invalid float value: 'x'",
    "y.npy": "required: SCORES (see sklearn-tace report --help)",
    "y.npy p.npy --html -": "--html -: only --json can be printed",
    "y.npy p.npy --html no/page.html": "no/page.html cannot be written: there is no",
    "y.npy p.npy --json .": ". cannot be written: it is a folder",
    "y.npy p.npy --json ./p.npy": "./p.npy is read already",
    "y.npy p.npy --json a --html ./a": "a is written already",
    "y.npy p.npy --plot picture": "picture: pictures end in",
    "y.npy p.csv --separator ;;": "p.csv cannot be read: ",
}


@pytest.fixture
def bad_files(files, data):
    rng = np.random.default_rng(0)
    y, p = data["y"], data["p"]

    def changed(values, where, what):
        values = np.array(values, dtype=float)
        values[where] = what
        return values

    logits = rng.normal(size=p.shape)
    logits[0] = -2
    arrays = {
        "nan": changed(p, (7, 1), np.nan),
        "logits": logits,
        "complex": p * 1j,
        "cube": p[:, :1, None],
        "short": p[:-1],
        "half": changed(y, 5, np.nan),
        "wrong": changed(np.eye(3)[y], (4, 1), 0.3),
        "bytes": y.astype("S"),
        "minus": changed(data["w"], 3, -1),
        "zeros": np.zeros(600),
    }
    for name, values in arrays.items():
        np.save(f"{name}.npy", values)
    np.save("classes.npy", np.arange(3))
    Path("a.txt").write_text("0\n1\n2\n")
    np.save("objects.npy", NAMES.astype(object)[y])
    np.savez("objects.npz", NAMES.astype(object)[y])
    Path("pickle.npy").write_bytes(pickle.dumps(p))
    Path("cut.npy").write_bytes(Path("p.npy").read_bytes()[:-1])
    Path("cut.npz").write_bytes(Path("all.npz").read_bytes()[:-1])
    strange = scipy.sparse.csr_array(p)
    strange.indices[5] = 3
    scipy.sparse.save_npz("strange.npz", strange)
    write_table("nan.csv", range(3), arrays["nan"])
    write_table("short.csv", range(3), p[:-1])
    write_table("long.csv", range(3), np.concatenate([p, p]))
    write_table("other.csv", ["label"], [["dog"], *NAMES[y][1:, None].tolist()])


@posix
@pytest.mark.usefixtures("bad_files")
def test_what_is_wrong_is_said_in_one_line(capsys, data):
    before = sorted(os.listdir())
    for line, message in BAD.items():
        code, out, err = in_process(capsys, f"report {line}")
        assert code == 2, line
        assert out == "", line
        assert message.format(zero=np.argmax(data["y"] == 0)) in err, (line, err)
        assert err.startswith("sklearn-tace: "), line
        assert err.count("\n") == 1, (line, err)
        assert not re.search(r"\.\.|:\.|\?\.", err.replace("...", "")), err
    assert sorted(os.listdir()) == before


NAMED = [
    # labels, names of the columns, whether they match
    (["a", "b"], ["b", "a"], True),
    (["a", "b"], ["a", " b"], False),
    (["a", "b"], ["a", "B"], False),
    (["b", "\u0301a"], ["\u0301a", "c"], False),
    ([1, 2], ["2", "1"], True),
    ([1, 2], ["2.0", "1.0"], True),
    ([1.0, 2.0], ["2", "1"], True),
    ([1, 2], ["2", "7"], False),
    (["1", "2"], ["2", "1"], True),
    (["01", "02"], ["02", "01"], True),
    (["3.10", "3.9"], ["3.9", "3.10"], True),
    ([False, True], ["True", "False"], True),
    ([False, True], ["true", "false"], True),
    ([False, True], ["1", "0"], True),
]


@pytest.mark.parametrize(("labels", "names", "is_match"), NAMED)
def test_columns_are_called_as_the_labels(capsys, labels, names, is_match):
    labels = np.array(labels)
    np.save("y.npy", labels[np.arange(40) % 2])
    write_table("p.csv", names, np.tile([0.25, 0.75], (40, 1)))
    code, out, err = in_process(capsys, "report y.npy p.csv --n-draws 2 --json -")
    if not is_match:
        assert (code, out) == (2, "")
        assert "p.csv has the labels [" in err
        assert f"y.npy has {reprlib.repr(sorted(labels.tolist()))}" in err
        return
    assert (code, err) == (0, "")
    report = CalibrationReport.from_json(out)
    # The first column has the probability 0.25, and is called by the second label.
    means = report.bins_["mean_proba"][report.bins_["class"] == report.classes_[0]]
    np.testing.assert_allclose(means, 0.25)
    assert report.classes_[0] == labels[1]


@pytest.mark.parametrize(
    ("labels", "line", "classes"),
    [
        ("1 2", "p.csv", ["1", "2", "x"]),
        ("1 2", "p.npy --classes 1,2,x", ["1", "2", "x"]),
        ("1.0 2.0", "two.csv", [1, 2]),
        ("1.0 2.0", "two.csv --classes 1,2", [1, 2]),
        ("true FALSE", "two.npy", [False, True]),
        ("1.0 1", "two.npy", ["1", "1.0"]),
        ("NA null", "two.npy", ["NA", "null"]),
        ("1 none", "two.npy", ["1", "none"]),
        (f"{2**64} 1", "two.npy", ["1", f"{2**64}"]),
    ],
)
def test_texts_are_numbers_or_booleans_if_all_are(capsys, labels, line, classes):
    write_table("y.csv", ["label"], np.array([labels.split() * 20]).T)
    np.save("p.npy", np.tile([0.25, 0.75, 0], (40, 1)))
    np.save("two.npy", np.load("p.npy")[:, :2])
    write_table("p.csv", ["1", "2", "x"], np.load("p.npy"))
    write_table("two.csv", ["1", "2"], np.load("two.npy"))
    code, out, err = in_process(capsys, f"report y.csv {line} --n-draws 2 --json -")
    assert (code, err) == (0, "")
    assert CalibrationReport.from_json(out).classes_.tolist() == classes


def test_booleans_may_be_listed(capsys):
    np.save("p.npy", np.tile([0.25, 0.75], (40, 1)))
    np.save("y.npy", np.arange(40) % 2 == 1)
    assert report_on(capsys, "y.npy p.npy --classes False,True") == ([False, True], "")


@pytest.mark.usefixtures("files")
def test_names_of_an_indicator_are_compared_too(capsys):
    write_table("other.csv", ["ant", "Bee", "cat"], np.load("p.npy"))
    for line, message in (
        ("indicator.csv other.csv", "other.csv has the labels ['ant', 'Bee', 'cat'], "),
        (
            "indicator.npy p.csv --classes ant,bee,Cat",
            "--classes has ['ant', 'bee', 'C",
        ),
    ):
        code, _, err = in_process(capsys, f"report {line}")
        assert code == 2
        assert message in err


def rows(*names):
    """A file of scores: the columns of these names hold ever less."""
    values = 0.5 ** np.arange(1, len(names) + 1)
    values[-1] += 1 - values.sum() if len(names) > 1 else 0
    write_table("s.csv", names, np.tile(values, (40, 1)))


def labels_of(*texts):
    write_table("l.csv", ["label"], np.resize(texts, 40)[:, None])


def report_on(capsys, line):
    """Labels of the columns and warnings, or no labels and what is refused."""
    code, out, err = in_process(capsys, f"report {line} --n-draws 2 --json -")
    assert err.count("\n") <= 1
    if code:
        assert (code, out) == (2, "")
        return None, err
    return CalibrationReport.from_json(out).classes_.tolist(), err


def test_labels_that_are_numbered_meet_their_columns(capsys):
    names = [str(k) for k in range(12)]
    np.save("y.npy", np.resize(names, 40))
    rows(*names)
    assert report_on(capsys, "y.npy s.csv") == (names, "")
    np.save("y.npy", np.resize(np.arange(12), 40))
    assert report_on(capsys, "y.npy s.csv") == (list(range(12)), "")
    np.save("y.npy", np.resize([0, 5], 40))
    assert report_on(capsys, "y.npy s.csv") == (list(range(12)), "")
    np.save("y.npy", np.resize([1, 2], 40))  # of 1, ..., 12, perhaps
    assert "12 columns" in report_on(capsys, "y.npy s.csv")[1]
    np.save("y.npy", np.resize(np.arange(12) + 1, 40))
    assert report_on(capsys, "y.npy s.csv") == (list(range(1, 13)), "")


@pytest.mark.parametrize("labels", [[0, 1, 2], ["0", "1", "2"]])
def test_numbered_columns_in_another_order_are_refused(capsys, labels):
    np.save("y.npy", np.resize(labels, 40))
    rows(0, 1, 2)
    _, err = report_on(capsys, "y.npy s.csv --classes 2,0,1")
    assert f"s.csv has the labels {labels}, --classes has" in err
    assert report_on(capsys, "y.npy s.csv --classes 0,1,2") == (labels, "")
    content = Path("s.csv").read_text().partition("\n")[2]
    Path("s.csv").write_text(content)
    classes, err = report_on(capsys, "y.npy s.csv --classes 2,0,1 --no-header")
    assert (classes, err) == ([labels[k] for k in (2, 0, 1)], "")


@pytest.mark.parametrize(
    ("labels", "name", "line", "is_refused"),
    [
        ([0, 1], "1", "--classes 1,0", True),
        ([0, 1], "1", "--classes 0,1", False),
        ([0, 1], "1.0", "--classes 1,0", True),
        ([0, 1], "1", "", False),
        ([0, 1], "0", "", True),
        ([0, 1], "0", "--classes 1,0", False),
        ([5, 7], "5", "", True),
        ([5, 7], "0", "", False),
        ([False, True], "True", "--classes True,False", True),
        ([False, True], "False", "", True),
        ([False, True], "True", "", False),
        ([False, True], "1", "", False),
        (["a", "b"], "b", "--classes b,a", True),
    ],
)
def test_a_single_column_is_not_that_of_the_first(
    capsys, labels, name, line, is_refused
):
    np.save("y.npy", np.resize(labels, 40))
    rows(name)
    classes, err = report_on(capsys, f"y.npy s.csv {line}")
    if is_refused:
        assert re.search(r"s.csv has the labels \[.*\], \S+ has \[.*\]", err)
        return
    assert len(classes) == 2
    assert err == ""


def test_an_indicator_may_be_named_by_numbers(capsys):
    indicator = np.resize([[0, 1], [1, 0]], (40, 2))
    np.save("l.npy", indicator)
    write_table("l.csv", [2019, 2020], indicator)
    rows(2019, 2020)
    np.save("s.npy", np.full((40, 2), 0.5))
    names = ["2019", "2020"]
    assert report_on(capsys, "l.csv s.csv") == (names, "")
    assert report_on(capsys, "l.csv s.npy") == (names, "")
    assert report_on(capsys, "l.npy s.csv") == (names, "")
    assert report_on(capsys, "l.npy s.csv --classes 2019,2020") == ([2019, 2020], "")
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame(indicator, columns=names).to_parquet("l.parquet")
    pandas.DataFrame(indicator * 0.5, columns=names).to_parquet("s.parquet")
    for labels in ("l.parquet", "l.csv", "l.npy"):
        assert report_on(capsys, f"{labels} s.parquet") == (names, "")
    pandas.DataFrame({"7": np.ones(40)}).to_parquet("w.parquet")
    assert report_on(capsys, "l.npy s.npy --weights w.parquet")[1] == ""


def test_an_indicator_that_is_numbered_has_no_names(capsys):
    write_table("l.csv", [0, 1], np.resize([[0, 1], [1, 0]], (40, 2)))
    rows(0, 1)
    assert report_on(capsys, "l.csv s.csv") == ([0, 1], "")
    assert report_on(capsys, "l.csv s.csv --classes 0,1") == ([0, 1], "")
    _, err = report_on(capsys, "l.csv s.csv --classes 1,0")
    assert "in the same order" in err
    rows("a", "b")
    assert report_on(capsys, "l.csv s.csv") == (["a", "b"], "")


def test_a_label_may_begin_with_a_hyphen(capsys):
    labels_of("-", "bee")
    np.save("s.npy", np.full((40, 2), 0.5))
    assert report_on(capsys, "l.csv s.npy --classes=-,bee") == (["-", "bee"], "")
    code, _, err = in_process(capsys, "report l.csv s.npy --classes --json a,b")
    assert code == 2
    assert "expected one argument" in err


def test_names_that_are_no_labels_cause_a_warning(capsys):
    labels_of("a", "b")
    rows("p_b", "p_a")
    expected = (
        "sklearn-tace: warning: s.csv: the names of the columns (['p_b', 'p_a']) are "
        "not labels; columns are taken as ['a', 'b']. Say --classes to be sure.\n"
    )
    assert report_on(capsys, "l.csv s.csv") == (["a", "b"], expected)
    assert report_on(capsys, "l.csv s.csv --classes b,a") == (["b", "a"], "")
    rows("y_proba")
    classes, err = report_on(capsys, "l.csv s.csv")
    assert classes == ["a", "b"]
    assert "(['y_proba']) are not labels; columns are taken as ['b']. Say" in err
    assert report_on(capsys, "l.csv s.csv:y_proba") == (["a", "b"], "")
    rows(0, 1)
    assert report_on(capsys, "l.csv s.csv") == (["a", "b"], "")
    # What is refused is refused in one line.
    rows("p", "q", "r")
    assert "warning" not in report_on(capsys, "l.csv s.csv")[1]


def test_other_names_of_an_indicator_cause_a_warning(capsys):
    indicator = np.resize([[0, 1], [1, 0]], (40, 2))
    np.save("l.npy", indicator)
    write_table("l.csv", ["a", "b"], indicator)
    rows("p_b", "p_a")
    classes, err = report_on(capsys, "l.csv s.csv")
    assert classes == ["a", "b"]
    assert "(['p_b', 'p_a']) are not labels; columns are taken as ['a', 'b']" in err
    assert report_on(capsys, "l.npy s.csv") == (["p_b", "p_a"], "")
    rows(0, 1)
    assert report_on(capsys, "l.csv s.csv") == (["a", "b"], "")


# --- how .csv files are written -------------------------------------------------------


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("separator", "decimal", "options"),
    [
        (";", ".", ""),
        (";", ",", ""),
        ("\t", ".", ""),
        ("\t", ",", ""),
        ("|", ".", "--separator |"),
        ("|", ",", "--separator | --decimal ,"),
        (";", ",", "--no-header"),
    ],
)
def test_separators_and_decimal_marks(capsys, data, separator, decimal, options):
    text = Path("p.csv").read_text().replace(",", separator).replace(".", decimal)
    if "no-header" in options:
        text = text.partition("\n")[2]
    Path("p.csv").write_text(text)
    np.save("names.npy", NAMES[data["y"]])
    shown = in_process(capsys, f"report names.npy p.csv --n-draws 20 {options}")
    expected = str(as_names(CalibrationReport(n_draws=20), data))
    assert shown == (0, expected + "\n", "")


@pytest.mark.usefixtures("files")
def test_blocks_give_the_last_bit(capsys, data, monkeypatch):
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame(data["p"], columns=NAMES).to_parquet("p.parquet")
    texts = []
    for size in (None, 500):
        if size is not None:
            for name in ("BLOCK_BYTES", "TEXT_BLOCK_BYTES", "BLOCK_ROWS"):
                monkeypatch.setattr(f"sklearn_tace.command_line.sources.{name}", size)
        for line in ("y.csv p.csv", "y.csv p.parquet", "y.csv p.npy"):
            texts.append(in_process(capsys, f"report {line} --n-draws 2 --json -"))
    assert texts[0][::2] == (0, "")
    reports = [CalibrationReport.from_json(text) for _, text, _ in texts]
    assert len({report.tace_ for report in reports}) == 1
    assert len({report.p_value_ for report in reports}) == 1


def test_types_may_differ_from_block_to_block(capsys, monkeypatch):
    monkeypatch.setattr("sklearn_tace.command_line.sources.TEXT_BLOCK_BYTES", 32)
    labels_of(*["1"] * 30, *["x"] * 10)
    write_table("s.csv", ["1", "x"], [[1, 0]] * 39 + [[0.25, 0.75]])
    assert report_on(capsys, "l.csv s.csv") == (["1", "x"], "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "s.csv cannot be read: Empty CSV file"),
        ("a,b\n", "s.csv has 0 rows, l.csv has 40"),
        ("a,b\n1,0\n1\n", "Expected 2 columns, got 1"),
        ("a,b\n1,\n", "invalid value ''"),
        ("a,b\n1,x y\n", "invalid value 'x y'"),
        ("a,b,a\n1,0,0\n", "s.csv must have one column 'a'; it has ['a', 'b', 'a']"),
        ("a,b\n1,0_0\n", "invalid value '0_0'"),
        ("a,b\n1,\xe9\n", "s.csv cannot be read: "),
    ],
)
def test_bad_tables_of_scores(capsys, text, message):
    labels_of("a", "b")
    Path("s.csv").write_bytes(text.encode("latin-1"))
    assert message in report_on(capsys, "l.csv s.csv")[1]


def test_cells_may_hold_anything(capsys):
    text = "\ufeff" + '"a\n1","b,c"\r\n' + '0.25,"0.75"\r\n' * 40
    Path("s.csv").write_bytes(text.encode())
    np.save("y.npy", np.resize(["a\n1", "b,c"], 40))
    assert report_on(capsys, "y.npy s.csv") == (["a\n1", "b,c"], "")
    write_table("t.csv", ["y", "p"], [["a", 0.5], ["", 0.5]])
    assert "t.csv:y, row 1: there is no label" in report_on(capsys, "t.csv:y t.csv")[1]


def test_a_blank_line_is_a_row_without_a_value(capsys):
    """Skipped, it would shift the rows of one file against those of the other."""
    Path("y.csv").write_text("y\na\n\nb\n")
    Path("p.csv").write_text("p\n0.2\n0.7\n")
    assert "y.csv, row 1: there is no label" in report_on(capsys, "y.csv p.csv")[1]
    Path("y.csv").write_text("y\na\nb\n")
    Path("p.csv").write_text("a,b\n0.2,0.8\n\n0.7,0.3\n")
    assert "p.csv cannot be read: " in report_on(capsys, "y.csv p.csv")[1]


def test_parquet_keeps_types(capsys):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({
        "y": pandas.Categorical(["b", "a"] * 20),
        "k": pandas.array([1, 3] * 20, dtype="Int64"),
        "m": ["b", None] * 20,
        "p": np.array([0.25, 0.5] * 20, dtype=np.float32),
    })
    frame.to_parquet("t.parquet")
    assert report_on(capsys, "t.parquet:y t.parquet:p") == (["a", "b"], "")
    assert report_on(capsys, "t.parquet:k t.parquet:p") == ([1, 3], "")
    assert "missing values" in report_on(capsys, "t.parquet:m t.parquet:p")[1]
    assert "cannot be read: " in report_on(capsys, "t.parquet:k t.parquet:y")[1]


@pytest.mark.usefixtures("files")
def test_files_may_be_called_as_arguments_of_python_are(capsys, data):
    for name, other in (("p", "y_proba"), ("y", "y_true")):
        os.rename(f"{name}.csv", f"{other}.csv")
    line = "report y_true.csv y_proba.csv --classes ant,cat,bee"
    _, _, err = in_process(capsys, line)
    assert err.startswith("sklearn-tace: y_proba.csv has the labels ['ant'")
    write_table("y_true.csv", NAMES[::-1], np.eye(3, dtype=int)[data["y"]])
    _, _, err = in_process(capsys, "report y_true.csv y_proba.csv")
    assert "y_proba.csv has the labels ['ant', 'bee', 'cat'], y_true.csv has" in err
    np.save("y_true.npy", data["y"])
    np.save("y_proba.npy", np.minimum(data["p"] + 0.1, 1))
    _, _, err = in_process(capsys, "report y_true.npy y_proba.npy --n-draws 2")
    assert err.startswith("sklearn-tace: warning: y_proba.npy, row ")


@pytest.mark.usefixtures("bad_files")
def test_the_process_says_it_too():
    for line in ("y.npy nan.npy", "y.npy p.npy --n-bins 0"):
        done = run(f"report {line}")
        assert done.returncode == 2
        assert done.stdout == ""
        assert re.fullmatch(r"sklearn-tace: .*\n", done.stderr)


@pytest.mark.usefixtures("files")
def test_the_row_is_found_in_a_later_block(capsys, data, monkeypatch):
    monkeypatch.setattr("sklearn_tace.command_line.sources.BLOCK_BYTES", 24 * 100)
    monkeypatch.setattr("sklearn_tace.command_line.sources.TEXT_BLOCK_BYTES", 24 * 100)
    p = data["p"].copy()
    p[[321, 555]] = [1, np.nan, 0]
    np.save("nan.npy", p)
    write_table("nan.csv", range(3), p)
    scipy.sparse.save_npz("nan.npz", scipy.sparse.csr_array(p))
    for name, where in (
        ("nan.npy", "row 321"),
        ("nan.npz", "row 321"),
        ("nan.csv", "row 321"),
    ):
        _, _, err = in_process(capsys, f"report y.npy {name}")
        assert err == f"sklearn-tace: {name}, {where}: contains NaN.\n"
    p[:] = -1 - data["p"]
    p[0, 0] = -7
    p[99, 2] = 3.5
    np.save("logits.npy", p)
    _, _, err = in_process(capsys, "report y.npy logits.npy")
    assert "row 0: contains values less than 0: -7. Logits? Pass their softmax." in err
    indicator = np.eye(3)[data["y"]]
    indicator[456, 0] = 0.5
    np.save("indicator.npy", indicator)
    _, _, err = in_process(capsys, "report indicator.npy p.npy")
    assert "sklearn-tace: indicator.npy: Unknown label type" in err


@pytest.mark.usefixtures("files")
def test_rows_that_do_not_sum_to_one_cause_one_warning(capsys, data, monkeypatch):
    monkeypatch.setattr("sklearn_tace.command_line.sources.BLOCK_BYTES", 24 * 100)
    monkeypatch.setattr("sklearn_tace.command_line.sources.TEXT_BLOCK_BYTES", 24 * 100)
    p = data["p"].copy()
    p[[111, 333, 444]] = [[0.5, 0.5, 0.1], [0.5, 0.5, 0.4], [0.5, 0.2, 0.1]]
    np.save("odd.npy", p)
    write_table("odd.csv", range(3), p)
    for name, where in (("odd.npy", "row 333"), ("odd.csv", "row 333")):
        code, out, err = in_process(capsys, f"report y.npy {name} --n-draws 20")
        assert code == 0
        assert out.startswith("TACE 0.")
        assert err == (
            f"sklearn-tace: warning: {name}, {where}: the row sums to 1.4, not to one. "
            "Make sure to pass probabilities, not scores.\n"
        )


@pytest.mark.usefixtures("files")
def test_damaged_files_cause_no_traceback(capsys):
    rng = np.random.default_rng(0)
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    pandas.read_csv("numbered.csv").to_parquet("p.parquet")
    names = ["p.npy", "one.npz", "sparse.npz", "numbered.csv", "p.parquet"]
    for name in names:
        content = Path(name).read_bytes()
        for _ in range(25):
            damaged = bytearray(content)
            for place in rng.integers(len(content), size=3):
                damaged[place if rng.random() < 0.5 else place % 128] = rng.integers(
                    256
                )
            Path("damaged" + Path(name).suffix).write_bytes(damaged)
            line = f"report y.npy damaged{Path(name).suffix} --n-draws 2"
            code, _, err = in_process(capsys, line)
            assert code in {0, 2}
            assert err.count("\n") == (code == 2) or "warning" in err


def test_extras_that_are_missing_are_named(capsys, monkeypatch, data):
    np.save("y.npy", data["y"])
    np.save("p.npy", data["p"])
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for option in ("--plot a.png", "--html a.html"):
        code, _, err = in_process(capsys, f"report y.npy p.npy {option}")
        assert code == 2
        assert 'python -m pip install "sklearn-tace[plot]"' in err
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    write_table("p.csv", range(3), data["p"])
    for name in ("p.parquet", "p.csv"):
        code, _, err = in_process(capsys, f"report y.npy {name}")
        assert code == 2
        assert 'python -m pip install "sklearn-tace[cli]"' in err
    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert in_process(capsys, "report y.npy p.npy --n-draws 2")[::2] == (0, "")


# --- results --------------------------------------------------------------------------


@pytest.mark.usefixtures("files")
def test_results_are_written_and_printed(data):
    pytest.importorskip("matplotlib")
    outputs = "--html a.html --json a.json --plot a.svg --name R&D"
    done = run(f"report y.npy p.npy --kind classes {outputs}")
    assert (done.returncode, done.stderr) == (0, "")
    report = report_of(data)
    assert done.stdout == f"{report}\n"
    page = Path("a.html").read_text("utf-8")
    assert "R&amp;D" in page
    again = CalibrationReport.from_json(Path("a.json").read_text())
    assert again.tace_ == report.tace_
    assert json.loads(Path("a.json").read_text()) == report.to_dict()
    picture = Path("a.svg").read_text("utf-8")
    assert "<svg" in picture
    assert "<!-- R&amp;D -->" in picture
    assert not [name for name in os.listdir() if name.endswith(".tmp")]


@pytest.mark.usefixtures("files")
def test_the_gate(capsys, data):
    tace = report_of(data).tace_
    for limit, code in ((0, 1), (tace * 0.999, 1), (tace * 1.001, 0), (1, 0)):
        line = f"report y.npy p.npy --n-draws 2 --fail-above {limit}"
        got, out, err = in_process(capsys, line)
        assert got == code
        assert out.startswith(f"TACE {tace:.4f}")
        message = f"gate failed: TACE is {tace:.6g}, allowed is {limit:g}"
        assert err == (f"sklearn-tace: {message}\n" if code else "")
    line = "report y.npy q.npy --n-draws 99 --fail-above 0.1"
    _, _, err = in_process(capsys, line)
    assert re.fullmatch(r".*: TACE is 0\.1\d+, allowed is 0\.1\n", err)
    assert "by chance" not in in_process(capsys, f"{line} --average weighted")[2]
    line = "report y.npy p.npy --threshold 0.9999 --fail-above 1"
    code, out, err = in_process(capsys, line)
    assert code == 1
    assert out.startswith("TACE undefined")
    warning, gate = err.splitlines()
    assert warning.startswith(
        "sklearn-tace: warning: No predicted probability is above"
    )
    assert gate == "sklearn-tace: gate failed: TACE is undefined, allowed is 1"
    code, _, err = in_process(capsys, line.replace("--fail-above 1", ""))
    assert (code, err.splitlines()) == (0, [warning])


@pytest.mark.usefixtures("files")
def test_compare(capsys, data):
    first, second = report_of(data), report_of(data, "q")
    comparison = compare(first, second)
    code, out, err = in_process(capsys, "compare y.npy p.npy q.npy all.npz:p")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert all(len(line) <= 72 for line in lines)
    assert len({line.rindex("  ") for line in lines[:4]}) == 1
    for line, name, report in zip(
        lines[1:4], ("p.npy", "q.npy", "all.npz:p"), (first, second, first), strict=True
    ):
        numbers = [report.tace_, report.debiased_tace_, *report.interval_]
        assert line.replace("to", "").split() == [name, *(f"{x:.4f}" for x in numbers)]
    # The numbers of the comparison, under the names of the files.
    said = str(comparison).partition("\n")[2]
    said = said.replace("first minus second", "p.npy minus q.npy:")
    assert lines[4:7] == ["", *said.replace("the first", "p.npy").splitlines()]
    assert lines[-2:] == [
        "these rows do not tell which is better calibrated",
        "(more rows would tell more; the interval is conservative)",
    ]
    assert "-0.0000" not in lines[-3]
    _, out, _ = in_process(capsys, "compare y.npy q.npy p.npy")
    assert out.splitlines()[-1] == "p.npy is better calibrated"

    at_least = -comparison.interval[1]
    for limit, expected in ((at_least * 0.99, 1), (at_least * 1.01, 0)):
        line = f"compare y.npy p.npy q.npy --fail-above {limit}"
        code, _, err = in_process(capsys, line)
        assert code == expected
        assert ("gate failed: q.npy is worse calibrated than p.npy" in err) == code
    assert in_process(capsys, "compare y.npy q.npy p.npy --fail-above 0")[0] == 0


@posix
@pytest.mark.usefixtures("files")
def test_names_of_files_do_not_steer_the_terminal(capsys):
    os.rename("q.npy", "\x1b[31mq.npy")
    _, out, _ = in_process(capsys, "compare y.npy p.npy \x1b[31mq.npy")
    assert "\x1b" not in out
    assert "p.npy minus \\x1b[31mq.npy:" in out


@pytest.mark.usefixtures("files")
def test_compare_refuses(capsys):
    for line, message in (
        ("y.npy p.npy", "two or more files of SCORES"),
        ("y.npy p.npy nope.npy", "nope.npy cannot be read"),
        ("y.npy p.npy column.npy", "column.npy has 1 column for 3 labels"),
        ("y.npy p.npy q.npy --threshold 0.9995", "TACE of the first report is undef"),
        ("y.npy p.npy q.npy --norm l2", "unrecognized arguments: --norm l2"),
    ):
        code, out, err = in_process(capsys, f"compare {line}")
        assert (code, out) == (2, "")
        assert message in err
    write_table("other.csv", NAMES[[1, 0, 2]], np.full((600, 3), 1 / 3))
    code, _, err = in_process(capsys, "compare y.csv p.csv other.csv")
    assert code == 2
    assert "p.csv and other.csv: The reports differ in their classes: ['ant'" in err


# --- the process ----------------------------------------------------------------------


def test_the_command_is_installed_and_knows_its_version():
    script = shutil.which("sklearn-tace", path=os.path.dirname(sys.executable))
    version = f"sklearn-tace {sklearn_tace.__version__}\n"
    for command in ([script], COMMAND):
        if command != [None]:  # a checkout that has not been installed since
            done = subprocess.run(
                [*command, "--version"], capture_output=True, text=True, check=True
            )
            assert (done.stdout, done.stderr) == (version, "")


def test_the_command_loads_no_frame_plot_or_progress_library():
    heavy = ("matplotlib", "pyarrow", "tqdm", "sklearn_tace.command_line.example")
    code = (
        "import sys, sklearn_tace.command_line.main;"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    # scikit-learn itself loads pandas where it finds it in some versions.
    bare = code.replace("sklearn_tace.command_line.main", "sklearn.metrics", 1)
    loaded = [
        subprocess.run(
            [sys.executable, "-c", c], capture_output=True, text=True, check=True
        ).stdout
        for c in (code, bare)
    ]
    assert loaded[0] == loaded[1]


@posix
@pytest.mark.usefixtures("files")
def test_pipes(data):
    command = " ".join(COMMAND)
    expected = f"{report_of(data, n_draws=20)}\n"
    script = f"cat numbered.csv | {command} report y.npy - --n-draws 20"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")

    # The reader goes away before anything is printed; the file is there all the same.
    script = (
        f"({command} report y.npy p.npy --n-draws 20 --json a.json; echo $? >code)"
        " | exec 0<&-"
    )
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
    assert done.stderr == ""
    assert Path("code").read_text() == "141\n"
    assert CalibrationReport.from_json(Path("a.json").read_text()).n_samples_ == 600


@posix
@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="needs names of open files")
@pytest.mark.usefixtures("files")
def test_what_is_printed_to_is_not_replaced():
    Path("log.txt").write_text("as it was\n")
    command = f"{' '.join(COMMAND)} report y.npy p.npy --n-draws 2"
    line = f"{command} --json /dev/stdout >>log.txt"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True)
    assert done.returncode == 2
    assert re.search(r"log.txt, in use\. Print by --json -\.\n", done.stderr)
    assert Path("log.txt").read_text() == "as it was\n"
    # A pipe has nothing to lose.
    done = run("report y.npy p.npy --n-draws 2 --json /dev/stdout")
    assert (done.returncode, done.stderr) == (0, "")


@posix
@pytest.mark.usefixtures("files")
def test_a_folder_that_has_vanished():
    files = " ".join(str(Path(name).resolve()) for name in ("y.npy", "p.npy"))
    for line, name in (
        ("y.npy p.npy", "[py].npy"),
        (f"{files} --json a.json", "a.json"),
    ):
        script = f"mkdir gone && cd gone && rmdir ../gone && {' '.join(COMMAND)} report"
        done = subprocess.run(
            ["sh", "-c", f"{script} {line}"], capture_output=True, text=True
        )
        assert done.returncode == 2
        assert re.fullmatch(f"sklearn-tace: {name} cannot be .*\n", done.stderr)


@posix
@pytest.mark.usefixtures("files")
def test_streams_that_are_closed_full_or_plain():
    command = f"exec {' '.join(COMMAND)} report y.npy p.npy --n-draws 2"
    names = ["", ">&-", "2>&-", "<&-", ">&- 2>&- <&-"]
    lines = [f"{command} {redirect}" for redirect in names]
    lines.append(f"{command.replace('p.npy', '-')} <&-")
    lines.append(f"{command} --json - >&-")
    full = Path("/dev/full").exists()
    lines += [f"{command} >/dev/full"] * full
    np.save("y.npy", np.array(["ä", "ö", "ü"])[np.load("y.npy")])
    env = os.environ | {"PYTHONIOENCODING": "ascii"}
    running = [
        subprocess.Popen(
            ["sh", "-c", line],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for line in lines
    ]
    results = [(*process.communicate(), process.returncode) for process in running]
    shown = results[0][0]
    assert "\n  \\xe4  " in shown
    assert results[:5] == [(s, "", 0) for s in (shown, "", shown, shown, "")]
    assert results[5] == ("", "sklearn-tace: standard input is closed.\n", 2)
    message = "sklearn-tace: --json -: standard output is closed. Name a file.\n"
    assert results[6] == ("", message, 2)
    if full:
        message = (
            "sklearn-tace: the output cannot be written: No space left on device\n"
        )
        assert results[7] == ("", message, 2)


def long_input(n_rows, folder):
    """Labels in a file, and scores as lines of a thousand numbers."""
    np.save(folder / "y.npy", np.arange(n_rows) % 2)
    np.save(folder / "classes.npy", np.arange(1000))
    header = ",".join(map(str, range(1000))) + "\n"
    row = ",".join(["0.5", "0.5", *["0"] * 998]) + "\n"
    return header.encode(), row.encode()


@posix
def test_a_bar_shows_on_a_terminal_only(tmp_path):
    pytest.importorskip("tqdm")
    import pty
    import termios

    header, row = long_input(600, tmp_path)
    Path("p.csv").write_bytes(header + row * 600)
    code = (
        "import sys;"
        "from sklearn_tace.command_line import main, stream;"
        "stream.SECONDS = 0; raise SystemExit(main.main(sys.argv[1:]))"
    )
    line = "report y.npy p.csv --classes classes.npy --n-draws 2"
    shown = {}
    for place in ("terminal", "pipe"):
        ends = os.pipe() if place == "pipe" else pty.openpty()
        if place == "terminal":
            termios.tcsetwinsize(ends[1], (24, 80))
        process = subprocess.Popen(
            [sys.executable, "-c", code, *line.split()],
            stdout=subprocess.PIPE,
            stderr=ends[1],
        )
        os.close(ends[1])
        out, _ = process.communicate()
        assert process.returncode == 0
        assert out.startswith(b"TACE 0.")
        shown[place] = read_all(ends[0])
    assert b" rows" in shown["terminal"]
    assert b"p.csv" in shown["terminal"]
    assert shown["pipe"] == b""


def read_all(descriptor):
    parts = []
    try:
        while part := os.read(descriptor, 4096):
            parts.append(part)
    except OSError:  # the other end of a terminal is closed
        pass
    os.close(descriptor)
    return b"".join(parts)


@posix
def test_ctrl_c_leaves_nothing(tmp_path):
    header, row = long_input(600, tmp_path)
    Path("old.html").write_text("as it was")
    line = "report y.npy - --classes classes.npy --json new.json --html old.html"
    process = subprocess.Popen(
        [*COMMAND, *line.split()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell starts what runs in the background deaf to Ctrl-C.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    # More than a pipe holds: once it is written, the process reads rows.
    process.stdin.write(header + row * 200)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"sklearn-tace: interrupted\n")
    assert sorted(os.listdir()) == ["classes.npy", "old.html", "y.npy"]
    assert Path("old.html").read_text() == "as it was"


@posix
@pytest.mark.usefixtures("files")
def test_ctrl_c_while_it_writes_leaves_nothing():
    os.mkfifo("pipe")  # it is written directly, and waits for a reader
    line = "report y.npy p.npy --n-draws 2 --html new.html --json pipe"
    process = subprocess.Popen(
        [*COMMAND, *line.split()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    until = time.monotonic() + 60
    while "new.html" not in os.listdir():
        assert time.monotonic() < until
        time.sleep(0.01)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"sklearn-tace: interrupted\n")
    assert not [name for name in os.listdir() if name.endswith(".tmp")]
    assert Path("new.html").read_text().endswith("</html>\n")


@posix
@pytest.mark.usefixtures("files")
def test_pipes_and_links_are_written_through(capsys):
    os.mkfifo("pipe")
    os.symlink("there.json", "link.json")
    content = []
    reader = threading.Thread(target=lambda: content.append(Path("pipe").read_text()))
    reader.start()
    assert in_process(capsys, "report y.npy p.npy --n-draws 2 --json pipe")[0] == 0
    reader.join()
    line = "report y.npy p.npy --n-draws 2 --json link.json"
    assert in_process(capsys, line)[0] == 0
    assert os.path.islink("link.json")
    assert Path("there.json").read_text() == content[0]


# --- huge files -----------------------------------------------------------------------

LIMITED = """
import resource, sys
import sklearn_tace.command_line.main

soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
resource.setrlimit(resource.RLIMIT_DATA, (500 * 2**20, hard))
raise SystemExit(sklearn_tace.command_line.main.main())
"""


def walk_file_with_holes(n_rows, n_classes=100_000):
    """A report on an array of which only the ones are on the disk."""
    shape = (n_rows, n_classes)
    scores = np.lib.format.open_memmap("p.npy", "w+", np.float32, shape)
    y = np.arange(n_rows) % 10
    scores[np.arange(n_rows), y] = 1
    del scores
    np.save("y.npy", y)
    np.save("classes.npy", np.arange(n_classes))
    line = "report y.npy p.npy --classes classes.npy --n-draws 2"
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, *line.split()],
        capture_output=True,
        text=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("TACE 0.0000")
    assert f"{n_rows:,} rows" in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="needs a limit of memory")
def test_a_file_larger_than_the_memory_it_may_take():
    walk_file_with_holes(2_000)
    assert os.path.getsize("p.npy") > 7e8


@pytest.mark.slow
def test_eight_gigabytes_in_less_than_half_of_one():
    walk_file_with_holes(20_000)
    assert os.path.getsize("p.npy") > 7e9
