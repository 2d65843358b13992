"""Labels, weights and scores from files of any kind."""

from __future__ import annotations

import contextlib
import os
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from sklearn_tace.command_line.files import (
    BLOCK_BYTES,
    FileError,
    Spec,
    parse_spec,
    place,
    readable,
    refuse_pipe,
)
from sklearn_tace.command_line.spelling import (
    are_numbered,
    as_texts,
    refuse_numbers_as_names,
)
from sklearn_tace.command_line.tables import as_labels, is_number, is_table, open_table
from sklearn_tace.inputs.labels import check_labels, listed

_ENDINGS = (".npy", ".npz", ".csv", ".parquet")


@dataclass(frozen=True)
class Column:
    """Labels or weights of all rows; an indicator has several columns."""

    spec: Spec
    values: NDArray
    lines: array | None = None  # of a text file, in which the rows begin
    names: list[str] | None = None  # of the columns
    texts: NDArray | None = None  # of a text file: the labels as they are written

    def place(self, row):
        return place(self.spec, row, self.lines)


@dataclass(frozen=True)
class Scores:
    """Scores that are read once, block by block."""

    spec: Spec
    zeros: NDArray | scipy.sparse.csr_array  # one row, of the same kind as all rows
    n_rows: int | None  # None where only the end of the file tells
    names: list[str] | None
    blocks: Iterator  # of pairs (rows, the lines that they begin in, or None)

    @property
    def n_columns(self):
        return 1 if self.zeros.ndim == 1 else self.zeros.shape[1]


def read_labels(spec, has_header=True, others_have_names=False, known=()) -> Column:
    """One label a row, or an indicator; known ones may be called ``none``."""
    return _read_labels(spec, has_header, others_have_names, known.__contains__)


def _read_labels(spec, has_header, others_have_names, is_known):
    if not is_table(spec):
        return Column(spec, _load_column(spec, "biufUMOT", (1, 2)))
    table = open_table(spec, has_header)
    columns = table.pick(spec.name)
    if len(columns) > 1:
        return _read_indicator(spec, table, columns)
    values, lines, texts = table.labels(columns[0], is_known)
    name = table.names[columns[0]] if table.names else None
    if spec.name is None and _is_row(name, values):
        is_label = "add a line with a name" if others_have_names else "say --no-header"
        raise FileError(
            f"{spec}, line 1: {name!r} is taken for the name of the column, but looks "
            f"like a label. If it is the name, say {spec.path}:{name}; if it is a "
            f"label, {is_label}."
        )
    return Column(spec, values, lines, texts=texts)


def read_classes(text, has_header=True) -> Column:
    """Labels of the columns from a list or a file."""
    spec = classes_file(text)
    if spec is None:
        texts = text.split(",")
        if len(texts) < 2 or "" in texts:
            raise FileError(
                f"--classes {text}: pass two labels or more with commas, or a file."
            )
        given = Column(
            Spec("--classes"), as_labels(texts), texts=np.array(texts, object)
        )
    else:
        given = _read_labels(spec, has_header, False, lambda text: True)
    try:
        if given.values.dtype.kind == "M" and given.values.ndim == 1:
            # As texts, for a message would show nanoseconds.
            check_labels(np.array(as_texts(given.values), dtype=object), "--classes")
        return replace(given, values=check_labels(given.values, "--classes"))
    except (TypeError, ValueError) as error:
        where = "" if spec is None else f"{spec}: "
        raise FileError(f"{where}{error}") from error


def classes_file(text) -> Spec | None:
    """The file that --classes names; nothing where it is a list."""
    spec = parse_spec(text)
    is_file = "," not in text and os.path.exists(text)
    return spec if spec.suffix in _ENDINGS or is_file else None


def read_weights(spec, has_header=True) -> Column:
    """One number a row."""
    if not is_table(spec):
        return Column(spec, _load_column(spec, "biuf", (1,)))
    table = open_table(spec, has_header)
    columns = table.pick(spec.name)
    if len(columns) > 1:
        raise FileError(
            f"{spec} has the columns {listed(table.names)}. Say which holds the "
            f"weights: {spec.path}:NAME."
        )
    if spec.name is None:
        refuse_numbers_as_names(spec, table.names)
    values, lines = _join(table.numbers(columns), 1)
    return Column(spec, values[:, 0], lines)


def open_scores(spec, has_header=True, others=()) -> Scores:
    """Scores of a file, without the columns that ``others`` take from it."""
    if not is_table(spec):
        values = _load(spec)
        if values.ndim not in {1, 2} or 0 in values.shape[1:]:
            raise FileError(
                f"{spec} holds an array of shape {values.shape}. Scores have one "
                "column a class, or one dimension for two classes."
            )
        if values.dtype.kind not in "biufc":
            raise FileError(f"{spec} holds {values.dtype}, not numbers.")
        if scipy.sparse.issparse(values):
            zeros = scipy.sparse.csr_array((1, values.shape[1]), dtype=values.dtype)
        else:
            zeros = np.zeros((1, *values.shape[1:]), values.dtype)
        return Scores(spec, zeros, values.shape[0], None, _slices(values))
    table = open_table(spec, has_header)
    taken = {other.name for other in others if _is_same_file(other.path, spec.path)}
    columns = table.pick(spec.name, taken)
    names = [table.names[k] for k in columns] if table.names else None
    zeros = np.zeros((1, len(columns)))
    return Scores(spec, zeros, table.n_rows, names, table.numbers(columns))


def has_header(scores: Scores):
    """Whether the first line of a text file surely is no row."""
    names = scores.names
    if scores.spec.suffix != ".csv" or not names:
        return False
    return are_numbered(names) or not all(map(is_number, names))


def _load(spec):
    """An array, memory-mapped where it can be, or a sparse matrix."""
    if spec.suffix not in {".npy", ".npz"}:
        raise FileError(
            f"{spec} has no ending that is known: {', '.join(_ENDINGS[:-1])} and "
            f"{_ENDINGS[-1]} are read, and CSV from standard input, written '-'."
        )
    with readable(spec):
        refuse_pipe(spec)
        with open(spec.path, "rb") as file:
            return _load_arrays(spec, file)


def _load_arrays(spec, file):
    known = {".npy": b"\x93NUMPY", ".npz": b"PK"}[spec.suffix]
    if not file.read(6).startswith(known):
        raise FileError(f"{spec} is no {spec.suffix} file: it does not begin like one.")
    if spec.suffix == ".npz":
        file.seek(0)
        return _load_from_archive(spec, file)
    if spec.name is not None:
        raise FileError(f"{spec}: a .npy file holds one array, without a name.")
    return np.load(spec.path, mmap_mode="r", allow_pickle=False)


def _load_from_archive(spec, file):
    with np.load(file, allow_pickle=False) as archive:
        names = archive.files
        if spec.name is None and {"format", "shape"} <= set(names):
            file.seek(0)
            matrix = scipy.sparse.load_npz(file)
            if hasattr(matrix, "check_format"):
                matrix.check_format()  # before anything follows its indices
            return matrix.tocsr()
        if spec.name in names or (spec.name is None and len(names) == 1):
            return archive[spec.name or names[0]]
    raise FileError(f"{spec}: the file holds {listed(names)}. Say FILE:NAME.")


def _load_column(spec, kinds, n_dimensions):
    values = _load(spec)
    if scipy.sparse.issparse(values):
        raise FileError(f"{spec} is sparse, which only scores can be. Save it dense.")
    if values.shape[1:] == (1,):
        values = values[:, 0]
    if values.ndim not in n_dimensions:
        raise FileError(
            f"{spec} holds an array of shape {values.shape}. Labels and weights are "
            "one a row; labels may be an indicator of two dimensions."
        )
    if values.dtype.kind == "S":
        raise FileError(f"{spec} holds bytes. Decode to str: array.astype(str).")
    if values.dtype.kind not in kinds:
        raise FileError(
            f"{spec} holds {values.dtype}. Labels are strings or whole numbers, "
            "weights are numbers."
        )
    return values


def _slices(values):
    n_rows = values.shape[0]
    n_bytes = values.dtype.itemsize * values.size
    if scipy.sparse.issparse(values):
        n_bytes = values.data.nbytes + values.indices.nbytes
    step = max(1, int(n_rows * BLOCK_BYTES / max(1, n_bytes)))
    for start in range(0, n_rows, step):
        yield values[start : start + step], None


def _is_same_file(path, other):
    if "-" in {path, other}:
        return path == other
    with contextlib.suppress(OSError):
        return os.path.samefile(path, other)
    return False


def _read_indicator(spec, table, columns):
    if table.names and all(is_number(n) and float(n) in {0, 1} for n in table.names):
        refuse_numbers_as_names(spec, table.names)
    values, lines = _join(_zeros_and_ones(spec, table, columns), len(columns))
    return Column(spec, values, lines, table.names)


def _zeros_and_ones(spec, table, columns):
    advice = (
        "Several columns of labels are an indicator of 0 and 1. If the labels are in "
        f"one of them, say {spec.path}:NAME."
    )
    try:
        for values, lines in table.numbers(columns):
            bad = np.flatnonzero(~np.isin(values, (0, 1)).all(axis=1))
            if bad.size:
                where = place(spec, bad[0], lines)
                raise FileError(f"{where}: {values[bad[0]].tolist()}.")
            yield values.astype(np.uint8), lines
    except FileError as error:
        raise FileError(
            f"{str(error).partition(' All columns but')[0]} {advice}"
        ) from None


def _join(blocks, n_columns):
    parts, all_lines = [np.empty((0, n_columns), np.uint8)], array("q")
    for values, lines in blocks:
        parts.append(values)
        all_lines.extend(lines or ())
    return np.concatenate(parts[1:] or parts), all_lines or None


def _is_row(name, labels):
    """Whether the name of a column of labels may be the first of them."""
    if name is None:
        return False
    if labels.dtype.kind != "O":
        return is_number(name)
    known = set(labels.tolist())
    return name in known or all(map(is_number, (name, *known)))
