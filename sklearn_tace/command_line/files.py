"""Files as they are named, errors of reading them, and results written whole."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
from pathlib import Path
from typing import NamedTuple

BLOCK_BYTES = 2**25  # of scores, read at a time
_SPEC = re.compile(r"(.*?\.(?:npy|npz|csv|parquet)|-):(.+)", re.IGNORECASE | re.DOTALL)
_PICKLED = (
    "holds Python objects, which only pickle can load, and a pickle can run code. "
    "Save plain numbers or strings: numpy.save(file, array.astype(float)), for labels "
    "array.astype(str)."
)
# Folders of what processes have open, and where /dev/stdout leads.
_OPEN_FILES = re.compile(r"/dev/fd|/proc/[^/]+/(?:task/[^/]+/)?fd")


class FileError(Exception):
    """What is wrong with a file, and what to do, for one line."""


class FileWarning(UserWarning):
    """What is odd about a file, for one line."""


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
    match = _SPEC.fullmatch(text)
    if match is None or os.path.exists(text):
        return Spec(text)
    return Spec(*match.groups())


def printable(text):
    """On one line, without characters that a terminal would obey."""
    line = " ".join(part.strip() for part in str(text).splitlines())
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)


def place(spec, row, lines=None):
    """Where a row is, as numpy or an editor counts."""
    return f"{spec}, row {row}" if lines is None else f"{spec}, line {lines[row]}"


@contextlib.contextmanager
def readable(spec):
    """Errors of reading as one line."""
    try:
        yield
    except OSError as error:
        raise FileError(f"{spec} cannot be read: {error.strerror or error}.") from error
    except (FileError, MemoryError):
        raise
    except Exception as error:  # of a damaged file anything may come
        if any(part in str(error) for part in ("Python objects", "allow_pickle")):
            raise FileError(f"{spec} {_PICKLED}") from error
        # What numpy says of arrays is about its own working.
        why = "" if spec.suffix == ".npy" else f" ({str(error).rstrip('.')})"
        raise FileError(
            f"{spec} is damaged, cut short or no {spec.suffix} file{why}. Save or copy "
            "it again."
        ) from error


def refuse_pipe(spec):
    """Refuse what opens only once, or only when another program writes to it."""
    mode = os.stat(spec.path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        what = "pipe" if stat.S_ISFIFO(mode) else "device"
        raise FileError(f"{spec} is a {what}; save it to a file first.")


def check_target(path):
    """Refuse now what could not be written later."""
    with _writable(path):
        target = Path(path)
        if not _is_special(target):
            target = Path(os.path.realpath(path))
            if _is_open_file(path):
                raise FileError(
                    f"{path} is a file, {target}, that would be replaced. Name a new "
                    "file, or print by --json -."
                )
            if target.is_dir():
                raise FileError(f"{path} cannot be written: it is a folder.")
            if not target.parent.is_dir():
                raise FileError(
                    f"{path} cannot be written: there is no folder {target.parent}."
                )
            _refuse_read_only(path, target.parent)
        if target.exists():
            _refuse_read_only(path, target)


def _refuse_read_only(path, target):
    if not os.access(target, os.W_OK):
        raise FileError(f"{path} cannot be written: {target} is read-only.")


def _is_open_file(path):
    """Whether it names what a process has open, as /dev/stdout does."""
    for _ in range(40):  # links
        folder = os.path.realpath(os.path.dirname(path))
        if _OPEN_FILES.fullmatch(folder):
            return True
        if not os.path.islink(path):
            return False
        path = os.path.join(folder, os.readlink(path))
    return False


def write_files(contents):
    """Write texts or bytes by path; each file appears whole or not at all.

    A file that was there hands on its permissions. What is no regular file, such as a
    pipe, is written directly.
    """
    temporary = {}
    try:
        for path, content in contents.items():
            if isinstance(content, str):
                content = content.encode(errors="backslashreplace")
            with _writable(path):
                if _is_special(Path(path)):
                    Path(path).write_bytes(content)
                    continue
                target = Path(os.path.realpath(path))
                name = target.with_name(f".sklearn-tace-{secrets.token_hex(8)}.tmp")
                temporary[name] = target  # before it exists, so that it never stays
                with open(name, "xb") as file:
                    if target.exists():
                        os.chmod(name, stat.S_IMODE(os.stat(target).st_mode))
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
        for name, target in temporary.items():
            with _writable(target):
                os.replace(name, target)
    finally:
        for name in temporary:
            name.unlink(missing_ok=True)


def _is_special(path):
    """Whether it is there, but neither a file nor a folder."""
    return path.exists() and not path.is_file() and not path.is_dir()


@contextlib.contextmanager
def _writable(path):
    """Errors of writing as one line; but not that a reader went away."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise FileError(
            f"{path} cannot be written: {error.strerror or error}."
        ) from error
