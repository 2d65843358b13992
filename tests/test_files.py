"""Files: what tables say, and that results appear whole or not at all."""

import os
import stat

import pytest

from sklearn_tace.command_line.files import (
    FileError,
    Spec,
    check_targets,
    parse_spec,
    write_file,
)
from sklearn_tace.command_line.labels import as_labels


@pytest.fixture(autouse=True)
def _in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def written(name, text):
    with open(name, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    return parse_spec(name)


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
        (["1.0", "2"], [1, 2]),
        (["1e3", "5"], ["1e3", "5"]),
        (["true", "False"], [True, False]),
        (["true", "True"], ["true", "True"]),
        (["3.10", "3.9"], ["3.10", "3.9"]),
        (["01", "02"], ["01", "02"]),
        (["1", "other"], ["1", "other"]),
        (["-0", "0"], ["-0", "0"]),
        (["1.0", "1"], ["1.0", "1"]),
        (["18446744073709551615", "0"], ["18446744073709551615", "0"]),
        (["18446744073709551616", "0"], ["18446744073709551616", "0"]),
        (["9007199254740993", "-1"], [2**53 + 1, -1]),
        (["9007199254740993", "1.0"], [2**53 + 1, 1]),
    ],
)
def test_texts_become_numbers_only_together(texts, labels):
    assert as_labels(texts).tolist() == labels
    assert type(as_labels(texts).tolist()[0]) is type(labels[0])


# --- results --------------------------------------------------------------------------


def listing():
    return sorted(os.listdir())


def test_files_are_written_with_ordinary_permissions():
    with open("plain", "w"):
        pass
    write_file("a", b"one")
    write_file("b", "two")
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
        write_file("old", b"new")
        assert stat.S_IMODE(os.stat("old").st_mode) == mode


@pytest.mark.parametrize("error", [OSError(28, "No space left"), KeyboardInterrupt()])
def test_files_that_fail_leave_nothing(monkeypatch, error):
    with open("old", "w") as file:
        file.write("as it was")

    def fail(*_):
        assert len(listing()) > 1
        raise error

    monkeypatch.setattr(os, "replace", fail)
    expected = KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else FileError
    with pytest.raises(expected):
        write_file("old", b"new")
    assert listing() == ["old"]
    with open("old") as file:
        assert file.read() == "as it was"


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_links_are_followed():
    os.mkdir("there")
    os.symlink("there/file", "link")
    write_file("link", b"content")
    assert os.path.islink("link")
    assert os.listdir("there") == ["file"]


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="needs devices")
def test_devices_are_written_directly():
    check_targets(["/dev/null"], [])
    write_file("/dev/null", b"content")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize(
    ("path", "message"),
    [("no/file", "there is no .*no"), (".", "it is a folder")],
)
def test_targets_that_cannot_be_written(path, message):
    with pytest.raises(FileError, match=f"cannot be written: {message}"):
        check_targets([path], [])


@pytest.mark.skipif(
    os.name == "nt" or os.geteuid() == 0, reason="root writes everywhere"
)
def test_what_is_read_only():
    os.mkdir("folder", mode=0o500)
    with pytest.raises(FileError, match="is read-only"):
        check_targets(["folder/file"], [])
    with open("file", "w"):
        pass
    os.chmod("file", 0o400)
    with pytest.raises(FileError, match="file cannot be written: .*file is read-only"):
        check_targets(["file"], [])
