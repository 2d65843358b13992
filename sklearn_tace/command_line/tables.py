"""Tables of labels, weights and scores in files, read in blocks of rows."""

from __future__ import annotations

import contextlib
import csv
import itertools
import operator
import re
import reprlib
import sys
from array import array
from collections import Counter

import numpy as np
from numpy.typing import NDArray

from sklearn_tace.command_line.files import (
    BLOCK_BYTES,
    FileError,
    Spec,
    readable,
    refuse_pipe,
)
from sklearn_tace.inputs.labels import listed

# Text takes long to read: small blocks, so that a progress bar moves.
_TEXT_BLOCK_BYTES = 2**20
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
# Without leading zeros, which numbers of things have, not numbers.
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]*)?([eE][+-]?[0-9]+)?")
_CELL_CHARACTERS = 2**24  # as much is read where a quote is not closed
_MISSING = {"nan", "na", "none", "null", "<na>"}


def is_table(spec):
    return spec.suffix in {".csv", ".parquet"}


def open_table(spec, has_header):
    if spec.suffix == ".parquet":
        return _Parquet(spec)
    return _Csv(spec, has_header)


def as_labels(texts) -> NDArray:
    """Whole numbers if all are, else strings.

    Texts that differ stay different labels.
    """
    if all(map(_INTEGER.fullmatch, texts)):
        for dtype in (np.int64, np.uint64):
            with contextlib.suppress(OverflowError):
                return np.array(list(map(int, texts)), dtype=dtype)
    elif all(map(_NUMBER.fullmatch, texts)):
        values = np.array(list(map(float, texts)))
        # Beyond 2**53 not every whole number is a double.
        is_whole = (values == np.rint(values)) & (abs(values) < 2**53)
        if len(set(values)) == len(set(texts)) and is_whole.all():
            return values
    return np.array(texts, dtype=object)


def as_number_text(text):
    """The one spelling of a whole number, else the text as it is."""
    if _NUMBER.fullmatch(text) and not _INTEGER.fullmatch(text):
        number = float(text)
        return str(int(number)) if number.is_integer() else text
    return text


def is_number(text):
    # float also takes 1_0 and the digits of other scripts.
    with contextlib.suppress(ValueError):
        float(text)
        return text.isascii() and "_" not in text
    return False


class _Table:
    """Columns of a file by their numbers."""

    spec: Spec
    names: list[str] | None
    n_columns: int
    n_rows: int | None = None
    index_columns: tuple = ()  # that pandas added

    def pick(self, name, taken=()):
        """Numbers of the column of that name, or of all that are not taken."""
        if self.names is None:
            if name is not None or taken:
                raise FileError(f"{self.spec}: --no-header leaves columns unnamed.")
            return list(range(self.n_columns))
        for wanted in {name, *taken} - {None}:
            if self.names.count(wanted) != 1:
                raise FileError(
                    f"{self.spec} must have one column {wanted!r}; it has "
                    f"{listed(self.names)}."
                )
        if name is not None:
            return [self.names.index(name)]
        columns = [k for k, name in enumerate(self.names) if name not in taken]
        for k in columns:
            self._refuse_unnamed(k)
        if not columns:
            raise FileError(f"{self.spec} has no column of scores.")
        return columns

    def _refuse_unnamed(self, k):
        """Refuse a column that nobody named, or that pandas added."""
        name = self.names[k]
        if name in self.index_columns or name.startswith("__index_level_"):
            raise FileError(
                f"{self.spec} has the index of a pandas frame as its column {name!r}. "
                "Write the file with index=False."
            )
        if name:
            return
        advice = "Name it."
        if k == 0:
            advice = "Is it the index of a pandas frame? Write that with index=False."
        elif k == self.n_columns - 1:
            advice = "Does the first line end in a comma? Remove it from all lines."
        raise FileError(f"{self.spec}: column {k + 1} has no name. {advice}")

    def _refuse_duplicates(self):
        for name, count in Counter(filter(None, self.names)).items():
            if count > 1:
                row = " If its first line is a row, say --no-header."
                raise FileError(
                    f"{self.spec} has {count} columns called {name!r}. Rename them."
                    f"{row if is_number(name) else ''}"
                )

    def column(self, k):
        return f"column {self.names[k]!r}" if self.names else f"column {k + 1}"


class _Csv(_Table):
    """A text file, row by row."""

    def __init__(self, spec, has_header):
        self.spec = Spec(spec.path)
        self._rows = _csv_rows(self.spec)
        first = next(self._rows, None)
        if first is None:
            raise FileError(f"{self.spec} is empty.")
        self.n_columns = len(first[1])
        self.names = first[1] if has_header else None
        if not has_header:
            self._rows = itertools.chain([first], self._rows)
            return
        if self.n_columns == 1 and {*";\t"} & {*self.names[0]}:
            raise FileError(
                f"{self.spec}, line 1: {reprlib.repr(self.names[0])} is one name. "
                "Columns are separated by commas, not by semicolons or tabs."
            )
        self._refuse_duplicates()

    def numbers(self, columns):
        """Blocks of rows as numbers, with the lines that they begin in."""
        select = operator.itemgetter(*columns)
        if len(columns) == 1:
            select = operator.itemgetter(slice(columns[0], columns[0] + 1))
        numbers, lines = array("d"), array("q")
        for line, cells in self._whole_rows():
            cells_of_row = select(cells)
            try:
                numbers.extend(map(float, cells_of_row))
            except ValueError:
                raise self._no_number(line, cells, columns) from None
            text = "".join(cells_of_row)
            is_odd = "_" in text or not text.isascii()  # rarely; see is_number
            if is_odd and not all(map(is_number, cells_of_row)):
                raise self._no_number(line, cells, columns)
            lines.append(line)
            if len(numbers) * numbers.itemsize >= _TEXT_BLOCK_BYTES:
                yield np.frombuffer(numbers).reshape(len(lines), -1), lines
                numbers, lines = array("d"), array("q")
        if lines:
            yield np.frombuffer(numbers).reshape(len(lines), -1), lines

    def labels(self, column, is_known):
        """All labels of a column, the lines of the rows, and the labels as texts."""
        codes, lines, code = array("q"), array("q"), {}
        for line, cells in self._whole_rows():
            codes.append(code.setdefault(cells[column], len(code)))
            lines.append(line)
        numbers = [text for text in code if _NUMBER.fullmatch(text)]
        for text, k in code.items():
            alone = len(numbers) == len(code) - 1 and numbers
            is_missing = alone and text.lower() in _MISSING and not is_known(text)
            if not text.strip() or is_missing:
                what = f"{text!r} is read as missing" if is_missing else "no label"
                advice = " If it is a label, list it in --classes." * bool(is_missing)
                raise FileError(
                    f"{self.spec}, line {lines[codes.index(k)]}: {what} in "
                    f"{self.column(column)}.{advice} Remove rows without a label, in "
                    "all files."
                )
        codes = np.frombuffer(codes, np.int64)
        return as_labels(list(code))[codes], lines, np.array([*code], object)[codes]

    def _whole_rows(self):
        for line, cells in self._rows:
            if len(cells) != self.n_columns:
                raise FileError(
                    f"{self.spec}, line {line}: the row has {len(cells)} cells, the "
                    f"first line {self.n_columns}."
                )
            yield line, cells

    def _no_number(self, line, cells, columns):
        k = next(k for k in columns if not is_number(cells[k]))
        what = f"{reprlib.repr(cells[k])} is not a number" if cells[k] else "no number"
        comma = " Cells are separated by commas." if {*";\t"} & {*cells[k]} else ""
        return FileError(
            f"{self.spec}, line {line}: {what} in {self.column(k)}. All columns but "
            f"those named for labels and weights hold numbers.{comma}"
        )


def _csv_rows(spec):
    """Rows of a text file, each with the line that it begins in."""
    if spec.path == "-" and sys.stdin is None:
        raise FileError("standard input is closed.")
    csv.field_size_limit(_CELL_CHARACTERS)
    with readable(spec), _binary(spec.path) as file:
        reader = csv.reader(_decoded(spec, file), strict=True)
        line, blank = 1, None
        while True:
            try:
                cells = next(reader, None)
            except csv.Error as error:
                raise FileError(f"{spec}, line {line}: {_plain(error)}.") from error
            if cells is None:
                return
            if cells and blank is not None:
                raise FileError(f"{spec}, line {blank}: the line is empty.")
            if cells:
                yield line, cells
            elif blank is None:
                blank = line
            line = reader.line_num + 1


def _plain(error):
    """What the csv module says, in words about the file."""
    text = str(error)
    for part, words in (
        ("new-line character", "a line ends in CR alone. Save the file with LF"),
        ("end of data", "a quote that opens in this row is not closed. Close it"),
        (
            "expected after",
            "text follows a quote that closes. Write a quote in a cell as two",
        ),
        ("field larger", "a cell is too long. Close quotes, separate cells by commas"),
    ):
        if part in text:
            return words
    return text.rstrip(".")


def _binary(path):
    if path == "-":
        return contextlib.nullcontext(sys.stdin.buffer)
    return open(path, "rb")


def _decoded(spec, file):
    # Not by a text file, which decodes ahead and could not tell the line.
    for number, line in enumerate(file, start=1):
        try:
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise FileError(
                f"{spec}, line {number}: this is not UTF-8. Save the file as CSV UTF-8."
            ) from None


class _Parquet(_Table):
    """A table with types."""

    def __init__(self, spec):
        try:
            from pyarrow import parquet
        except ImportError:
            raise FileError(
                f"{spec}: .parquet files need pyarrow and pandas: "
                'pip install "sklearn-tace[pandas]"'
            ) from None
        self.spec = Spec(spec.path)
        with readable(self.spec):
            refuse_pipe(self.spec)
            self._file = parquet.ParquetFile(spec.path)
            self._schema = self._file.schema_arrow
            # A dict stands for an index that takes no column.
            index = (self._schema.pandas_metadata or {}).get("index_columns", ())
            self.index_columns = tuple(n for n in index if isinstance(n, str))
        self.names = list(self._schema.names)
        if not self.names:
            raise FileError(f"{self.spec} has no columns.")
        self._refuse_duplicates()
        self.n_columns, self.n_rows = len(self.names), self._file.metadata.num_rows

    def numbers(self, columns):
        """Blocks of rows as numbers."""
        from pyarrow import types

        for k in columns:
            kind = self._schema.field(k).type
            is_number = types.is_floating(kind) or types.is_integer(kind)
            if not (is_number or types.is_boolean(kind)):
                raise FileError(
                    f"{self.spec}: {self.column(k)} holds {kind}, not numbers."
                )
        for batch in self._batches(columns):
            values = np.column_stack(list(map(np.asarray, batch)))
            if values.dtype == object:  # booleans, some of them missing
                values = values.astype(float)
            yield values, None

    def labels(self, column, _):
        """All labels of a column."""
        parts = []
        for (part,) in self._batches([column]):
            if hasattr(part, "dictionary_decode"):
                part = part.dictionary_decode()
            parts.append(np.asarray(part))
        return np.concatenate(parts) if parts else np.empty(0), None, None

    def _batches(self, columns):
        step = max(1, BLOCK_BYTES // (8 * len(columns)))
        names = [self.names[k] for k in columns]
        with readable(self.spec):
            for batch in self._file.iter_batches(batch_size=step, columns=names):
                yield [batch.column(name) for name in names]
