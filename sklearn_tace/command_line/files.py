"""Names of files, error messages, and writing of results."""

import contextlib
import os
import re
import secrets
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

PROGRAM = "sklearn-tace"
GATE_FAILED, BAD_USAGE = 1, 2
_SPEC = re.compile(r"(.*?\.(?:npy|npz|csv|parquet)|-):(.+)", re.IGNORECASE | re.DOTALL)
# Messages are about arguments of a function; here they are files and options.
_IN_OTHER_WORDS = {
    r" One is in row \d+\.": "",
    r"^(Input )?(y_proba|y_true|sample_weight) ": "",
    r"Please provide .* labels argument\.": "Pass the labels of columns by --classes.",
    r" ?partial_fit takes \(y, proba\): .*": " LABELS come first, then SCORES.",
    r"\bthreshold=None\b": "--threshold none",
    r"\by_proba\b(?!\.\w)": "SCORES",
    r"\by_true\b": "LABELS",
}


class FileError(Exception):
    """What is wrong with a file or an option, and what to do, in one line."""


class Spec(NamedTuple):
    """A file, and the array or the column of it that is meant."""

    path: str
    name: str | None = None

    def __str__(self):
        shown = "standard input" if self.path == "-" else self.path
        return shown if self.name is None else f"{shown}:{self.name}"

    @property
    def suffix(self):
        return ".csv" if self.path == "-" else Path(self.path).suffix.lower()


def parse_spec(text) -> Spec:
    """``FILE`` or ``FILE:NAME``; a file of that very name comes first."""
    match = None if os.path.exists(text) else _SPEC.fullmatch(text)
    return Spec(*match.groups()) if match else Spec(text)


def reworded(message):
    """A message of the package in the words of the command line."""
    text = str(message)
    for pattern, words in _IN_OTHER_WORDS.items():
        text = re.sub(pattern, words, text, flags=re.DOTALL)
    return text


def printable(text):
    """On one line, without characters that a terminal would obey."""
    line = " ".join(part.strip() for part in str(text).splitlines())
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)


def say(message):
    """Print one line on standard error."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(f"{PROGRAM}: {printable(message)}", file=sys.stderr)


@contextlib.contextmanager
def restated(where):
    """Turn errors of the package into a FileError."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise FileError(f"{where}: {reworded(error)}") from error


@contextlib.contextmanager
def readable(spec):
    """Turn errors of reading into a FileError."""
    try:
        yield
    except (FileError, ImportError, MemoryError):
        raise
    except Exception as error:  # a damaged file may cause any
        why = getattr(error, "strerror", None) or str(error).rstrip(".")
        raise FileError(f"{spec} cannot be read: {why}.") from error


@contextlib.contextmanager
def _writable(path):
    """Turn errors of writing into a FileError; but not that a reader went away."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        why = error.strerror or error
        raise FileError(f"{path} cannot be written: {why}.") from error


def check_targets(paths, inputs):
    """Refuse files that cannot be written, that are read, or that are named twice."""
    used = {}
    for path in paths:
        with _writable(path):
            used |= {os.path.realpath(other): "read" for other in inputs}
            target = Path(os.path.realpath(path))
            place = target if target.exists() else target.parent
            if str(target) in used:
                raise FileError(f"{path} is {used[str(target)]} already.")
            if target.is_dir():
                raise FileError(f"{Path(path)} cannot be written: it is a folder.")
            if path.startswith("/dev/") and target.is_file():
                raise FileError(f"{path} is {target}, in use. Print by --json -.")
            if _is_pipe(path):
                continue
            if not place.exists():
                raise FileError(f"{path} cannot be written: there is no {place}.")
            if not os.access(place, os.W_OK):
                raise FileError(f"{path} cannot be written: {place} is read-only.")
            used[str(target)] = "written"


def _is_pipe(path):
    """Whether it is a pipe or a device, which is written to as it is."""
    return os.path.exists(path) and not os.path.isfile(path)


def write_file(path, content):
    """Write text or bytes; a file appears whole or not at all, a pipe is written to."""
    if isinstance(content, str):
        content = content.encode(errors="backslashreplace")
    with _writable(path), contextlib.ExitStack() as stack:
        target = Path(os.path.realpath(path))
        if _is_pipe(path):
            Path(path).write_bytes(content)
            return
        temporary = target.with_name(f".{PROGRAM}-{secrets.token_hex(8)}.tmp")
        stack.callback(temporary.unlink, missing_ok=True)
        temporary.write_bytes(content)
        if target.exists():
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
