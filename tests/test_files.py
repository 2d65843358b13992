"""Files: what tables say, and that results appear whole or not at all."""

import os
import stat
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from sklearn_tace.command_line.files import (
    FileError,
    Spec,
    check_target,
    parse_spec,
    write_files,
)
from sklearn_tace.command_line.inputs import open_scores, read_labels, read_weights
from sklearn_tace.command_line.tables import as_labels


@pytest.fixture(autouse=True)
def _in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def written(name, text):
    with open(name, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    return parse_spec(name)


def all_scores(spec, **options):
    scores = open_scores(spec, **options)
    blocks = list(scores.blocks)
    lines = [line for _, of_block in blocks for line in of_block or ()]
    return np.concatenate([values for values, _ in blocks]), lines, scores.names


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("a.npy", ("a.npy", None)),
        ("a.npz:y", ("a.npz", "y")),
        ("b/a.CSV:is: it", ("b/a.CSV", "is: it")),
        ("C:\\a.parquet:y", ("C:\\a.parquet", "y")),
        ("C:\\a.npy", ("C:\\a.npy", None)),
        ("-", ("-", None)),
        ("-:y", ("-", "y")),
    ],
)
def test_a_name_follows_a_file(text, spec):
    assert parse_spec(text) == Spec(*spec)


@pytest.mark.skipif(os.name == "nt", reason="no colons in names of files")
def test_a_file_of_that_very_name_comes_first():
    assert written("a.csv:b.csv", "p\n0\n") == Spec("a.csv:b.csv")


@pytest.mark.parametrize(
    ("texts", "labels"),
    [
        (["3", "-1", "0"], [3, -1, 0]),
        (["1.0", "2"], [1.0, 2.0]),
        (["1e3", "5.0"], [1000.0, 5.0]),
        (["1e3", "0.5"], ["1e3", "0.5"]),
        (["3.10", "3.9"], ["3.10", "3.9"]),
        (["01", "02"], ["01", "02"]),
        (["1", "other"], ["1", "other"]),
        (["-0", "0"], ["-0", "0"]),
        (["1.0", "1"], ["1.0", "1"]),
        (["18446744073709551615", "0"], [2**64 - 1, 0]),
        (["18446744073709551616", "0"], ["18446744073709551616", "0"]),
        (["9007199254740993", "-1"], [2**53 + 1, -1]),
        (["9007199254740993", "1.0"], ["9007199254740993", "1.0"]),
    ],
)
def test_texts_become_numbers_only_together(texts, labels):
    assert as_labels(texts).tolist() == labels
    assert type(as_labels(texts).tolist()[0]) is type(labels[0])


# --- CSV ------------------------------------------------------------------------------


def test_lines_are_counted_as_an_editor_does():
    text = '\ufeff"a\n1",b\r\n0.1,"0.2"\n"0.3\n",0.4\n0.5,0.6'
    values, lines, names = all_scores(written("p.csv", text))
    assert_array_equal(values, [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])
    assert lines == [3, 4, 6]
    assert names == ["a\n1", "b"]


def test_scores_come_in_blocks(monkeypatch):
    monkeypatch.setattr("sklearn_tace.command_line.tables._TEXT_BLOCK_BYTES", 48)
    rows = np.arange(14.0).reshape(7, 2)
    text = "\n".join(["a,b", *(f"{a},{b}" for a, b in rows.tolist()), "", ""])
    blocks = list(open_scores(written("p.csv", text)).blocks)
    assert [len(values) for values, _ in blocks] == [3, 3, 1]
    assert [list(lines) for _, lines in blocks] == [[2, 3, 4], [5, 6, 7], [8]]
    assert_array_equal(np.concatenate([values for values, _ in blocks]), rows)


def test_arrays_come_in_blocks(monkeypatch):
    monkeypatch.setattr("sklearn_tace.command_line.inputs.BLOCK_BYTES", 100)
    values = np.random.default_rng(0).random((10, 4), dtype=np.float32)
    np.save("p.npy", values)
    blocks = [block for block, _ in open_scores(parse_spec("p.npy")).blocks]
    assert all(isinstance(block, np.memmap) for block in blocks)
    assert [len(block) for block in blocks] == [6, 4]
    assert_array_equal(np.concatenate(blocks), values)


def test_columns_of_labels_and_weights_are_no_scores():
    spec = written("t.csv", "w,a,y,b\n2,0.1,x,0.9\n3,0.2,z,0.8\n")
    others = [parse_spec("t.csv:y"), parse_spec("./t.csv:w"), Spec("u.csv", "a")]
    values, _, names = all_scores(spec, others=others)
    assert names == ["a", "b"]
    assert_array_equal(values, [[0.1, 0.9], [0.2, 0.8]])
    assert read_labels(others[0]).values.tolist() == ["x", "z"]
    assert read_weights(others[1]).values.tolist() == [2, 3]
    assert_array_equal(all_scores(parse_spec("t.csv:b"))[0], [[0.9], [0.8]])


def test_labels_of_a_table():
    one = read_labels(written("y.csv", "y\nb\na\nb\n"))
    assert one.values.tolist() == ["b", "a", "b"]
    assert one.place(2) == "y.csv, line 4"
    assert read_labels(parse_spec("y.csv"), has_header=False).values.size == 4
    several = read_labels(written("i.csv", "a,b\n0,1\n1,1\n"))
    assert several.names == ["a", "b"]
    assert_array_equal(several.values, [[0, 1], [1, 1]])
    assert several.values.dtype == np.uint8
    indexed = written("x.csv", ",y\n0,b\n1,a\n")
    assert read_labels(Spec(indexed.path, "y")).values.tolist() == ["b", "a"]
    named = written("w.csv", "spam\nspam\nham\n")
    assert read_labels(Spec(named.path, "spam")).values.tolist() == ["spam", "ham"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "p.csv is empty"),
        ("a,b\n1,0\n\n1,0\n", "p.csv, line 3: the line is empty"),
        ("a,b\n1,0\n1\n", "p.csv, line 3: the row has 1 cells, the first line 2"),
        ("a,b\n1,0\n1,,0\n", "line 3: the row has 3 cells"),
        ("a,b\n1,\n", "line 2: no number in column 'b'"),
        ("a,b\n1,x y\n", "line 2: 'x y' is not a number in column 'b'"),
        ("a\n1;0\n", "'1;0' is not a number.*Cells are separated by commas"),
        ('a,b\n"\n\n1",0\n1,0\n"x",2', "line 6: 'x' is not a number in column 'a'"),
        ('a,b\n1,0\n"1,0\n1,0\n', "line 3: a quote that opens in this row is not cl"),
        (",b\n1,0\n", "p.csv: column 1 has no name.*index=False"),
        ("a,b,\n1,0,\n", "column 3 has no name. Does the first line end in a"),
        ("a,b,a\n1,0,0\n", "p.csv has 2 columns called 'a'. Rename them.$"),
        ("1,0,0\n1,0,0\n", "2 columns called '0'.*say --no-header"),
        ("a;b\n1;0\n", "line 1: 'a;b' is one name. Columns are separated by commas"),
        ("a\tb\n1\t0\n", "not by semicolons or tabs"),
        ("a,b\r1,0\r", "line 1: a line ends in CR alone. Save the file with LF.$"),
        ('a,b\n"1"2,0\n', "line 2: text follows a quote that closes"),
        ("a,b\n1,0_0.1_0\n", "line 2: '0_0.1_0' is not a number in column 'b'"),
        ("a,b\n1,\uff11\n", "line 2: '\uff11' is not a number in column 'b'"),
    ],
)
def test_bad_tables_of_scores(text, message):
    with pytest.raises(FileError, match=message):
        all_scores(written("p.csv", text))


def test_numbers_of_columns_where_there_are_no_names():
    with pytest.raises(FileError, match="line 2: 'x' is not a number in column 2"):
        all_scores(written("p.csv", "1,0\n0,x\n"), has_header=False)
    with pytest.raises(FileError, match="--no-header leaves columns unnamed"):
        open_scores(parse_spec("p.csv:a"), has_header=False)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y\na\n \n", "y.csv, line 3: no label in column 'y'"),
        ("y\n1\nNaN\n0\n", "y.csv, line 3: 'NaN' is read as missing in column 'y'"),
        ("1\n0\n1\n", "line 1: '1' is taken for the name.*say y.csv:1;.*--no-header"),
        ("cat\ndog\ncat\n", "line 1: 'cat' is taken for the name"),
        ("id,y\n0,1\n1,0\n2,0\n", r"y.csv, line 4: \[2.0, 0.0\].*say y.csv:NAME"),
        ("id,y\na,1\n", "line 2: 'a' is not a number in column 'id'.*say y.csv:NAME"),
        ("1,0\n0,1\n", "names of the columns are numbers.*--no-header"),
    ],
)
def test_bad_tables_of_labels(text, message):
    with pytest.raises(FileError, match=message):
        read_labels(written("y.csv", text))


def test_a_cell_without_an_end_is_not_read_for_ever(monkeypatch):
    monkeypatch.setattr("sklearn_tace.command_line.tables._CELL_CHARACTERS", 100)
    spec = written("p.csv", 'a,b\n1,"0\n' + "1,0\n" * 99)
    with pytest.raises(FileError, match="line 2: a cell is too long. Close quotes"):
        all_scores(spec)


def test_a_label_may_be_called_na_among_others():
    labels = read_labels(written("y.csv", "country\nNA\nDE\n")).values
    assert labels.tolist() == ["NA", "DE"]


def test_undecodable_bytes_name_their_line():
    with open("p.csv", "wb") as file:
        file.write(b"a,b\n" + b"1,0\n" * 5000 + b"1,\xe9\n")
    with pytest.raises(FileError, match=r"p.csv, line 5002: this is not UTF-8"):
        all_scores(parse_spec("p.csv"))


# --- parquet --------------------------------------------------------------------------


def test_parquet_keeps_types():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({
        "y": pandas.Categorical(["b", None, "b"]),
        "k": pandas.array([1, None, 3], dtype="Int64"),
        "p": np.array([0.1, 0.2, 0.3], dtype=np.float32),
        "q": pandas.array([0.5, None, 0.25], dtype="Float32"),
        "s": ["a", "b", "c"],
        "t": pandas.array([True, None, False], dtype="boolean"),
    })
    frame.to_parquet("t.parquet")
    assert read_labels(Spec("t.parquet", "y")).values.tolist() == ["b", None, "b"]
    assert_array_equal(read_labels(Spec("t.parquet", "k")).values, [1, np.nan, 3])
    (values, lines), *_ = open_scores(Spec("t.parquet", "q")).blocks
    assert values.dtype == np.float32
    assert lines is None
    assert_array_equal(values, [[0.5], [np.nan], [0.25]])
    (values, _), *_ = open_scores(Spec("t.parquet", "t")).blocks
    assert_array_equal(values, [[1], [np.nan], [0]])
    with pytest.raises(FileError, match=r"t.parquet: column 's' holds .*, not numbers"):
        list(open_scores(Spec("t.parquet", "s")).blocks)
    for name in (None, "id"):
        frame.set_axis(pandas.Index([2, 1, 0], name=name)).to_parquet("g.parquet")
        with pytest.raises(FileError, match="has the index of a .*index=False"):
            open_scores(Spec("g.parquet"))
    # It may hold the labels.
    values = read_labels(Spec("g.parquet", "id")).values
    assert values.tolist() == [2, 1, 0]


def test_columns_of_the_same_name_in_parquet():
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table([[0.5], [0.5]], names=["a", "a"])
    parquet.write_table(table, "t.parquet")
    with pytest.raises(FileError, match="t.parquet has 2 columns called 'a'. Rename"):
        open_scores(Spec("t.parquet"))


def test_parquet_needs_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(FileError, match=r'pip install "sklearn-tace\[pandas\]"'):
        open_scores(Spec("t.parquet"))


# --- results --------------------------------------------------------------------------


def listing():
    return sorted(os.listdir())


def test_files_are_written_with_ordinary_permissions():
    with open("plain", "w"):
        pass
    write_files({"a": b"one", "b": b"two"})
    assert listing() == ["a", "b", "plain"]
    with open("b", "rb") as file:
        assert file.read() == b"two"
    modes = {stat.S_IMODE(os.stat(name).st_mode) for name in ("a", "plain")}
    assert len(modes) == 1


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX")
def test_a_file_that_was_there_keeps_its_permissions():
    for mode in (0o600, 0o664):
        with open("old", "w"):
            pass
        os.chmod("old", mode)
        write_files({"old": b"new"})
        assert stat.S_IMODE(os.stat("old").st_mode) == mode


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(28, "No space left"), KeyboardInterrupt()])
def test_files_that_fail_leave_nothing(monkeypatch, step, error):
    with open("old", "w") as file:
        file.write("as it was")

    def fail(*_):
        assert len(listing()) > 1
        raise error

    monkeypatch.setattr(os, step, fail)
    expected = KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else FileError
    with pytest.raises(expected):
        write_files({"old": b"new", "other": b"new"})
    assert listing() == ["old"]
    with open("old") as file:
        assert file.read() == "as it was"


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_links_are_followed():
    os.mkdir("there")
    os.symlink("there/file", "link")
    write_files({"link": b"content"})
    assert os.path.islink("link")
    assert os.listdir("there") == ["file"]


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="needs devices")
def test_devices_are_written_directly():
    check_target("/dev/null")
    write_files({"/dev/null": b"content"})
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize(
    ("path", "message"),
    [("no/file", "there is no folder"), (".", "it is a folder")],
)
def test_targets_that_cannot_be_written(path, message):
    with pytest.raises(FileError, match=f"cannot be written: {message}"):
        check_target(path)


@pytest.mark.skipif(
    os.name == "nt" or os.geteuid() == 0, reason="root writes everywhere"
)
def test_what_is_read_only():
    os.mkdir("folder", mode=0o500)
    with pytest.raises(FileError, match="is read-only"):
        check_target("folder/file")
    with open("file", "w"):
        pass
    os.chmod("file", 0o400)
    with pytest.raises(FileError, match="file cannot be written: .*file is read-only"):
        check_target("file")
