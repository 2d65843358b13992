"""The command line, as a process wherever the process matters."""

import json
import os
import pickle
import re
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
    assert re.findall(r"\n  (\d+) ", text) == ["0", "1", "2", "130", "141"]


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
    "y.npy objects.npy": "objects.npy holds Python objects, which only pickle can load",
    "objects.npy p.npy": "objects.npy holds Python objects, which only pickle can load",
    "y.npy pickle.npy": "pickle.npy is no .npy file",
    "y.npy objects.npz": "objects.npz holds Python objects",
    "y.npy cut.npy": "cut.npy is damaged, cut short or no .npy file. Save or copy it",
    "y.npy cut.npz": "cut.npz is damaged, cut short or no .npz file (File is not",
    "y.npy strange.npz": "strange.npz is damaged, cut short or no .npz file (",
    "y.npy pipe.npy": "pipe.npy is a pipe; save it to a file first.",
    "pipe.npz y.npy": "pipe.npz is a pipe; save it to a file first.",
    "y.npy pipe.parquet": "pipe.parquet is a pipe; save it to a file first.",
    "y.npy nan.npy": "nan.npy, row 7: contains NaN.",
    "y.npy logits.npy": "row 0: contains values less than 0: -2. Logits? Pass their",
    "y.npy nan.csv": "nan.csv, line 9: contains NaN.",
    "y.npy text.npy": "text.npy holds <U1, not numbers",
    "y.npy complex.npy": "complex.npy: Complex data not supported",
    "y.npy cube.npy": "cube.npy holds an array of shape (600, 1, 1)",
    "y.npy short.npy": "short.npy has 599 rows, y.npy has 600.\n",
    "y.npy short.csv": "y.npy has 600. Does only one have a header line? All .csv",
    "y.npy long.csv": "long.csv has 1200 rows, y.npy has 600.",
    "y.npy bare.csv": "names of the columns are numbers",
    "y.npy column.npy": "column.npy has 1 column for 3 labels, [0, 1, 2]. Pass the",
    "y.npy sparse.npz --threshold none": "--threshold none keeps every probability",
    "sparse.npz p.npy": "sparse.npz is sparse, which only scores can be",
    "y.npy y.npy": "y.npy has 1 column for 3 labels",
    "p.npy y.npy": "LABELS come first, then SCORES",
    "column.npy p.npy": "row 0: Unknown label type: continuous (LABELS). LABELS come",
    "half.npy p.npy": "half.npy, row 5: contains missing values",
    "wrong.npy p.npy": "wrong.npy, row 4: Unknown label type",
    "bytes.npy p.npy": "bytes.npy holds bytes. Decode to str: array.astype(str).",
    "t.csv p.npy": "t.csv, line 2: 'ant' is not a number in column 'label'",
    "y.npy t.csv": "t.csv has 5 columns (['label', 'weight', 'cat', 'ant', 'bee']) for",
    "y.npy t.csv:label": "t.csv:label has 1 column (['label']) for 3 labels",
    "binary.npy t.csv:label": "t.csv, line 2: 'ant' is not a number in column 'label'",
    "y.npy t.csv:none": "t.csv must have one column 'none'",
    "other.csv p.csv": "but LABELS contains ['dog'] too. Pass the labels of all",
    "y.csv p.csv --classes ant,cat,bee": "the same labels in another order",
    "y.npy p.npy --classes 0,1": "3 columns, but --classes has 2 labels, [0, 1].\n",
    "y.npy p.npy --classes -1,0,1": "of the columns, [-1, 0, 1].\n",
    "y.npy p.npy --classes p.csv": "line 2: [",
    "y.npy p.npy --classes indicator.npy": "indicator.npy: --classes must be the label",
    "y.npy p.npy --classes a.txt": "a.txt has no ending that is known: .npy, .npz,",
    "y.npy p.npy --classes 0,,1": "pass two labels or more with commas, or a file",
    "y.npy p.npy --classes 0,1,x": "--classes: the labels ['0', '1', 'x'] are strings, "
    "but those in y.npy are numbers, such as 0. Write both alike.",
    "y.npy p.npy --json classes.npy --classes classes.npy": "classes.npy is read, and",
    "1.csv numbered.csv": "if it is a label, add a line with a name.\n",
    "1.csv p.npy": "If it is the name, say 1.csv:1; if it is a label, say --no-header.",
    "y.npy p.npy --classes 1,2,3": "y.npy, row {zero}: the label 0 is not among",
    "y.npy p.npy --classes 1": "pass two labels or more with commas, or a file",
    "y.npy p.npy --classes 0,1,1": "sklearn-tace: --classes contains duplicates: [1]",
    "y.npy p.npy --weights minus.npy": "minus.npy, row 3: the weight is -1.0. Weights",
    "y.npy p.npy --weights zeros.npy": "zeros.npy: Sample weights must contain",
    "y.npy p.npy --weights short.npy": "short.npy holds an array of shape (599, 3)",
    "y.npy p.npy --weights t.csv": "Say which holds the weights: t.csv:NAME",
    "- -": "standard input can be read only once",
    "y.npy p.npy --threshold 2": "sklearn-tace: --threshold must be a number from 0 to "
    "below 1, or none, got '2' (see sklearn-tace report --help)",
    "y.npy p.npy --threshold 0_0": "--threshold must be a number",
    "y.npy p.npy --n-bins 0": "--n-bins must be a whole number of 1 or more or auto",
    "y.npy p.npy --norm l3": "--norm must be l1, l2 or max, got 'l3' (see",
    "y.npy p.npy --average x": "--average must be macro or weighted, got 'x'",
    "y.npy p.npy --random-state none": "--random-state must be a whole number from 0",
    "y.npy p.npy --n-b 3": "unrecognized arguments: --n-b 3",
    "y.npy p.npy --kind classes": "--kind says what --plot draws. Add --plot FILE.",
    "y.npy p.npy --json=": "--json must not be empty. Name a file (see",
    "y.npy p.npy --fail-above nan": "must be a number from 0 to 1, got 'nan'",
    "y.npy": "required: SCORES (see sklearn-tace report --help)",
    "y.npy p.npy --html -": "--html -: only --json can be printed",
    "y.npy p.npy --html no/page.html": "no/page.html cannot be written: there is no",
    "y.npy p.npy --json .": ". cannot be written: it is a folder",
    "y.npy p.npy --json ./p.npy": "./p.npy is read, and cannot be written too",
    "y.npy p.npy --json a --html ./a": "a is named twice. Write to different files",
    "y.npy p.npy --plot picture": "picture: pictures end in",
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
        "text": p.astype("U1"),
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
    for name in ("pipe.npy", "pipe.npz", "pipe.parquet"):
        os.mkfifo(name)
    Path("a.txt").write_text("0\n1\n2\n")
    write_table("1.csv", [1], y[:, None])
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
    # labels, names of the columns, what is said; nothing where it does
    (["a", "b"], ["a", " b"], "column ' b' is almost 'b' of y.npy. Write both alike."),
    (["a", "b"], ["a", "B"], "'B' is almost 'b'"),
    (["a", "b"], ["'a'", "'b'"], "almost 'a'"),
    (["a", "b"], ["b", "a"], None),
    ([0, 1], ["True", "False"], "'True' is almost '1'"),
    ([1, 2], ["2", "01"], "'01' is almost '1'"),
    ([1, 2], ["2.0", "1.0"], None),
    ([1, 2], ["1", "2", "x"], "['1', '2', 'x'], but the labels in y.npy are numbers"),
    ([False, True], ["True", "False"], None),
    ([False, True], ["true", "false"], "'true' is almost 'True'"),
    ("M8[ns]", ["2020-01-02", "2020-01-01"], None),
    ("M8[D]", ["2020-01-02 00:00:00", "2020-01-01T00"], None),
    ("M8[s]", ["2020-01-02", "2020-01-01", "2020-01-03"], None),
    ("M8[ns]", ["01/02/2020", "01/01/2020"], "y.npy has the dates ['2020-01-01', '20"),
    ("M8[ns]", ["20200102", "20200101"], "Write both alike"),
]


@pytest.mark.parametrize(("labels", "names", "message"), NAMED)
def test_columns_are_called_as_the_labels(capsys, labels, names, message):
    if isinstance(labels, str):
        labels = np.array(["2020-01-01", "2020-01-02"], labels)
    labels = np.array(labels)
    np.save("y.npy", labels[np.arange(40) % 2])
    rows = np.zeros((40, len(names)))
    rows[:, 0] = 0.25
    rows[:, 1] = 0.75
    write_table("p.csv", names, rows)
    code, out, err = in_process(capsys, "report y.npy p.csv --n-draws 2 --json -")
    if message is not None:
        assert (code, out) == (2, "")
        assert message in err
        return
    assert (code, err) == (0, "")
    report = CalibrationReport.from_json(out)
    # The first column has the probability 0.25, and is called by the second label.
    means = report.bins_["mean_proba"][report.bins_["class"] == report.classes_[0]]
    np.testing.assert_allclose(means, 0.25)
    assert report.classes_[0] == labels[1]


@pytest.mark.parametrize(
    ("labels", "line"),
    [
        ("1 2", "p.csv"),
        ("1 2", "p.npy --classes 1,2,x"),
        ("1 2", "p.npy --classes classes.npy"),
        ("1.0 2.0", "two.csv"),
        ("1.0 2.0", "two.csv --classes 1,2"),
    ],
)
def test_texts_that_are_numbers_meet_their_columns(capsys, labels, line):
    write_table("y.csv", ["label"], np.array([labels.split() * 20]).T)
    np.save("p.npy", np.tile([0.25, 0.75, 0], (40, 1)))
    np.save("classes.npy", ["1", "2", "x"])
    write_table("p.csv", ["1", "2", "x"], np.load("p.npy"))
    write_table("two.csv", ["1", "2"], np.load("p.npy")[:, :2])
    code, out, err = in_process(capsys, f"report y.csv {line} --n-draws 2 --json -")
    assert (code, err) == (0, "")
    classes = CalibrationReport.from_json(out).classes_.tolist()
    assert classes == (["1", "2", "x"] if labels == "1 2" else [1, 2])


def test_booleans_and_dates_are_listed(capsys):
    np.save("p.npy", np.tile([0.25, 0.75], (40, 1)))
    dates = np.array(["2020-01-01", "2020-01-02"], "M8[ns]")
    for labels, listed in (
        (np.array([False, True]), "False,True"),
        (dates, "2020-01-01,2020-01-02"),
    ):
        np.save("y.npy", labels[np.arange(40) % 2])
        line = f"report y.npy p.npy --classes {listed} --n-draws 2 --json -"
        code, out, err = in_process(capsys, line)
        assert (code, err) == (0, "")
        assert CalibrationReport.from_json(out).classes_.tolist() == labels.tolist()
    line = "report y.npy p.npy --classes 2020-01-01,2021-01-02"
    _, _, err = in_process(capsys, line)
    assert err == (
        "sklearn-tace: y.npy, row 1: the label '2020-01-02' is not among those of the "
        "columns, ['2020-01-01', '2021-01-02'].\n"
    )


@pytest.mark.usefixtures("files")
def test_names_of_an_indicator_are_compared_too(capsys):
    write_table("other.csv", ["ant", "Bee", "cat"], np.load("p.npy"))
    for line, message in (
        (
            "indicator.csv other.csv",
            "other.csv: the name of the column 'Bee' is almost",
        ),
        (
            "indicator.csv p.npy --classes ant,bee,Cat",
            "'cat' is almost 'Cat' of --clas",
        ),
        (
            "indicator.npy p.csv --classes ant,bee,Cat",
            "'cat' is almost 'Cat' of --clas",
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
    assert "s.csv: The columns of SCORES are ['0', '1', '2'], --classes is" in err
    assert "the same labels in another order." in err
    assert "--no-header" in err
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
        assert "bears the name of the first label" in err
        (advice,) = re.findall(r"say (--classes \S+)\.(?: |\n)", err)
        classes, err = report_on(capsys, f"y.npy s.csv {advice}")
        assert str(classes[1]) == name.replace(".0", "")
    assert len(classes) == 2
    assert err == ""


@pytest.mark.parametrize(
    "labels", [[1, 3, 9], [1.0, 3.0, 9.0], ["1", "3", "9"], [False, True]]
)
def test_names_of_which_only_some_are_labels(capsys, labels):
    np.save("y.npy", np.resize(labels, 40))
    np.save("classes.npy", labels)
    names = ["3", "1", "7"] if len(labels) == 3 else ["True", "x"]
    rows(*names)
    _, err = report_on(capsys, "y.npy s.csv --classes classes.npy")
    assert "only some are the same" in err
    rows(*names, "y")
    _, err = report_on(capsys, "y.npy s.csv")
    assert "Pass the labels of all columns" in err


def test_names_of_an_indicator_of_which_only_some_are_labels(capsys):
    write_table("l.csv", [3, 1, 9], np.resize(np.eye(3, dtype=int), (40, 3)))
    rows(3, 1, 7)
    for line in ("", " --classes 3,1,9", " --classes 3,1,7"):
        assert "only some are the same" in report_on(capsys, f"l.csv s.csv{line}")[1]
    rows(3, 9, 1)
    _, err = report_on(capsys, "l.csv s.csv")
    assert "the same labels in another order" in err


@pytest.mark.parametrize(
    "names",
    [
        ["01.02.2020", "01.01.2020"],
        ["2020/02/01", "2020/01/01"],
        ["20200201", "20200101"],
        ["2020-02-01 00:00:00", "2020-01-01 00:00:00"],
        ["2020-02-01T00:00:00", "2020-01-01T00:00:00"],
    ],
)
def test_texts_that_are_dates_in_another_spelling(capsys, names):
    labels_of("2020-01-01", "2020-02-01")
    rows(*names)
    for line in ("", " --classes 2020-01-01,2020-02-01"):
        _, err = report_on(capsys, f"l.csv s.csv{line}")
        assert "has the dates ['2020-01-01', '2020-02-01']. Write both alike." in err
    rows("2020-02-01", "2020-01-01")
    classes, err = report_on(capsys, "l.csv s.csv")
    assert (classes, err) == (["2020-02-01", "2020-01-01"], "")
    rows("2020-02-01")
    assert report_on(capsys, "l.csv s.csv")[1] == ""


def test_an_indicator_may_be_named_by_numbers(capsys):
    indicator = np.resize([[0, 1], [1, 0]], (40, 2))
    np.save("l.npy", indicator)
    write_table("l.csv", [2019, 2020], indicator)
    rows(2019, 2020)
    np.save("s.npy", np.full((40, 2), 0.5))
    names = ["2019", "2020"]
    assert report_on(capsys, "l.csv s.csv") == (names, "")
    assert report_on(capsys, "l.csv s.npy") == (names, "")
    assert report_on(capsys, "l.npy s.csv --classes 2019,2020") == ([2019, 2020], "")
    _, err = report_on(capsys, "l.npy s.csv")
    assert "say --no-header. If they are names, say --classes." in err
    rows(0.5, 0.25)
    assert "are numbers, ['0.5', '0.25']" in report_on(capsys, "l.csv s.csv")[1]
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
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
    assert "the same labels in another order" in err
    rows("a", "b")
    assert report_on(capsys, "l.csv s.csv") == (["a", "b"], "")


def test_labels_that_look_like_decimals(capsys):
    versions = ["3.10", "3.9", "2.7"]
    np.save("y.npy", np.resize(versions, 40))
    labels_of(*versions)
    np.save("s.npy", np.full((40, 3), 1 / 3))
    rows(*versions)
    for line in (
        "y.npy s.npy --classes 3.10,3.9,2.7",
        "l.csv s.npy --classes 3.10,3.9,2.7",
        "y.npy s.csv",
        "l.csv s.csv",
    ):
        assert report_on(capsys, line) == (versions, "")
    _, err = report_on(capsys, "l.csv s.npy")
    assert "look like continuous numbers. LABELS come first, then SCORES." in err
    rows("3.1", "3.9", "2.7")
    assert "'3.1' is almost '3.10' of l.csv" in report_on(capsys, "l.csv s.csv")[1]
    np.save("y.npy", np.resize([3, 9], 40))
    _, err = report_on(capsys, "y.npy s.npy --classes 3,9,9.5")
    assert "are strings, but those in y.npy are numbers" in err


@pytest.mark.parametrize("missing", ["none", "NA", "null", "nan"])
def test_a_label_may_be_called_none_if_it_is_known(capsys, missing):
    labels = ["1", "2", missing]
    labels_of(*labels)
    np.save("s.npy", np.full((40, 3), 1 / 3))
    _, err = report_on(capsys, "l.csv s.npy")
    assert f"l.csv, line 4: {missing!r} is read as missing in column" in err
    _, err = report_on(capsys, "l.csv s.npy --classes 1,2,3")
    assert f"l.csv, line 4: {missing!r} is read as missing in column" in err
    write_table("c.csv", ["label"], [[label] for label in labels])
    for classes in (",".join(labels), "c.csv"):
        assert report_on(capsys, f"l.csv s.npy --classes {classes}") == (labels, "")
    rows(missing, 1, 2)
    assert report_on(capsys, "l.csv s.csv") == ([missing, "1", "2"], "")


def test_names_that_look_the_same_are_shown_apart(capsys):
    rows("caf\xe9", "tea")
    labels_of("cafe\u0301", "tea")
    _, err = report_on(capsys, "l.csv s.csv")
    assert r"'caf\xe9' is almost 'cafe\u0301' of l.csv" in err
    labels_of("a\xa0b", "tea")
    rows("a b", "tea")
    assert r"'a b' is almost 'a\xa0b'" in report_on(capsys, "l.csv s.csv")[1]


def test_dates_are_listed_as_texts(capsys):
    dates = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], "M8[ns]")
    np.save("dates.npy", np.resize(dates, 40))
    np.save("y.npy", np.resize([0, 1], 40))
    np.save("two.npy", dates[:2])
    np.save("twice.npy", dates[[0, 0]])
    np.save("s.npy", np.full((40, 2), 0.5))
    listed = "['2020-01-01', '2020-01-02'"
    for line, message in (
        ("dates.npy s.npy", f"for 3 labels, {listed}"),
        ("dates.npy s.npy --classes two.npy", f"of the columns, {listed}"),
        ("y.npy s.npy --classes two.npy", f"the labels {listed}] are dates"),
        ("y.npy s.npy --classes twice.npy", "contains duplicates: ['2020-01-01']"),
    ):
        assert message in report_on(capsys, line)[1]


def test_a_label_may_begin_with_a_hyphen(capsys):
    labels_of("-", "bee")
    np.save("s.npy", np.full((40, 2), 0.5))
    assert report_on(capsys, "l.csv s.npy --classes -,bee") == (["-", "bee"], "")
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
    assert "(['y_proba']) are not labels; the column is taken for the prob" in err
    assert "probability of 'b'. Say" in err
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


@pytest.mark.usefixtures("files")
def test_files_may_be_called_as_arguments_of_python_are(capsys, data):
    for name, other in (("p", "y_proba"), ("y", "y_true")):
        os.rename(f"{name}.csv", f"{other}.csv")
    line = "report y_true.csv y_proba.csv --classes ant,cat,bee"
    _, _, err = in_process(capsys, line)
    assert err.startswith("sklearn-tace: y_proba.csv: The columns of SCORES are ['ant'")
    write_table("y_true.csv", NAMES[::-1], np.eye(3, dtype=int)[data["y"]])
    _, _, err = in_process(capsys, "report y_true.csv y_proba.csv")
    assert (
        "y_proba.csv: The columns of SCORES are ['ant', 'bee', 'cat'], those of" in err
    )
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
    monkeypatch.setattr("sklearn_tace.command_line.inputs.BLOCK_BYTES", 24 * 100)
    monkeypatch.setattr("sklearn_tace.command_line.tables._TEXT_BLOCK_BYTES", 24 * 100)
    p = data["p"].copy()
    p[[321, 555]] = [1, np.nan, 0]
    np.save("nan.npy", p)
    write_table("nan.csv", range(3), p)
    scipy.sparse.save_npz("nan.npz", scipy.sparse.csr_array(p))
    for name, where in (
        ("nan.npy", "row 321"),
        ("nan.npz", "row 321"),
        ("nan.csv", "line 323"),
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
    assert "sklearn-tace: indicator.npy, row 456: Unknown label type" in err


@pytest.mark.usefixtures("files")
def test_rows_that_do_not_sum_to_one_cause_one_warning(capsys, data, monkeypatch):
    monkeypatch.setattr("sklearn_tace.command_line.inputs.BLOCK_BYTES", 24 * 100)
    monkeypatch.setattr("sklearn_tace.command_line.tables._TEXT_BLOCK_BYTES", 24 * 100)
    p = data["p"].copy()
    p[[111, 333, 444]] = [[0.5, 0.5, 0.1], [0.5, 0.5, 0.4], [0.5, 0.2, 0.1]]
    np.save("odd.npy", p)
    write_table("odd.csv", range(3), p)
    for name, where in (("odd.npy", "row 333"), ("odd.csv", "line 335")):
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
        assert 'matplotlib: pip install "sklearn-tace[plot]"' in err
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, err = in_process(capsys, "report y.npy p.parquet")
    assert code == 2
    assert 'pip install "sklearn-tace[pandas]"' in err
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
        message = (
            f"gate failed: TACE is {tace:.6g}, allowed is {limit:g} (a calibrated "
        )
        # A calibrated model it is: this value, or more, is what chance gives.
        assert err.startswith(f"sklearn-tace: {message}" if code else "")
        assert err.endswith("by chance)\n" if code else "")
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
        ("y.npy p.npy q.npy --threshold 0.9995", "p.npy: TACE is undefined"),
        ("y.npy p.npy q.npy --norm l2", "unrecognized arguments: --norm l2"),
    ):
        code, out, err = in_process(capsys, f"compare {line}")
        assert (code, out) == (2, "")
        assert message in err
    write_table("other.csv", NAMES[[1, 0, 2]], np.full((600, 3), 1 / 3))
    code, _, err = in_process(capsys, "compare y.csv p.csv other.csv")
    assert code == 2
    assert "other.csv has columns of ['bee', 'ant', 'cat'], p.csv of ['ant'" in err
    assert "Write the columns of both in one order; for files without column" in err


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
    os.symlink("/dev/fd/1", "link")
    for option in ("--json /dev/stdout", "--html link"):
        done = subprocess.run(
            ["sh", "-c", f"{command} {option} >>log.txt"],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 2
        assert re.search(r"log.txt, that would be replaced.*--json -\.\n", done.stderr)
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
    line = "report y.npy - --classes classes.npy --n-draws 2"
    shown = {}
    for place in ("terminal", "pipe"):
        ends = os.pipe() if place == "pipe" else pty.openpty()
        if place == "terminal":
            termios.tcsetwinsize(ends[1], (24, 80))
        process = subprocess.Popen(
            [*COMMAND, *line.split()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=ends[1],
        )
        os.close(ends[1])
        # More than a pipe holds: once it is written, the process reads rows.
        process.stdin.write(header + row * 200)
        process.stdin.flush()
        if place == "terminal":
            time.sleep(3)  # as long as it takes to start, and a second more
        process.stdin.write(row * 400)
        out, _ = process.communicate()
        assert process.returncode == 0
        assert out.startswith(b"TACE 0.")
        shown[place] = read_all(ends[0])
    assert b" rows" in shown["terminal"]
    assert b"inference (0 of 1 done)" in shown["terminal"]
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
    while not any(name.endswith(".tmp") for name in os.listdir()):
        assert time.monotonic() < until
        time.sleep(0.01)
    assert "new.html" not in os.listdir()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, b"sklearn-tace: interrupted\n")
    assert not [name for name in os.listdir() if name.startswith(("new", ".s"))]


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
