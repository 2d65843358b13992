"""Rows from files, in blocks: arrays read by numpy and scipy, tables by pyarrow."""

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse

from sklearn_tace.command_line.files import FileError, Spec, readable
from sklearn_tace.inputs.labels import listed

BLOCK_BYTES = 2**25  # of arrays, read at a time
TEXT_BLOCK_BYTES = 2**20  # of .csv files: so little that a progress bar moves
BLOCK_ROWS = 2**14  # of .parquet files


class Source(NamedTuple):
    """Rows of a file."""

    spec: Spec
    n_columns: int
    columns: list[str] | None  # of a table
    names: list[str] | None  # of the columns, if the file has some
    read: Callable  # from columns to blocks of rows of numbers
    read_values: Callable  # from a column to all of its values

    def only(self, columns) -> "Source":
        """The columns of these names."""
        names = self.names and columns
        return self._replace(columns=columns, names=names, n_columns=len(columns))


def open_source(spec, options) -> Source:
    """The array, the table, or the column of it, that is meant."""
    whole = Spec(spec.path)
    with readable(whole):
        if spec.suffix not in {".csv", ".parquet"}:
            return _open_array(spec)
        try:
            is_csv = spec.suffix == ".csv"
            table = _open_csv(whole, options) if is_csv else _open_parquet(whole)
        except ImportError as error:
            install = 'python -m pip install "sklearn-tace[cli]"'
            raise FileError(f"{spec}: tables need pyarrow: {install}") from error
    columns = table.columns if spec.name is None else [spec.name]
    for name in columns:
        if table.columns.count(name) != 1:
            have = listed(table.columns)
            raise FileError(f"{whole} must have one column {name!r}; it has {have}.")
    return table.only(columns)._replace(spec=spec)


def _open_csv(spec, options):
    from pyarrow import csv

    path = _regular_file(spec, options)
    with open(path, encoding="utf-8-sig") as file:
        first, second = file.readline(), file.readline()
    found = next((mark for mark in ";\t" if mark in first), ",")
    separator = options.separator or found
    is_comma = separator != "," and "," in second
    decimal = options.decimal or ("," if is_comma else ".")
    read = csv.ReadOptions(block_size=TEXT_BLOCK_BYTES)
    read.autogenerate_column_names = options.no_header
    parse = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    parse.ignore_empty_lines = False  # one is a row without a value

    def batches(columns, kind):
        types = dict.fromkeys(columns, kind)
        convert = csv.ConvertOptions(column_types=types, include_columns=columns)
        convert.null_values, convert.decimal_point = [], decimal
        return csv.open_csv(path, read, parse, convert)

    names = batches([], None).schema.names
    return _as_source(spec, names, not options.no_header, batches)


def _regular_file(spec, options):
    """A path that can be read several times: a copy of what comes from a pipe."""
    if spec.path == "-" and sys.stdin is None:
        raise FileError("standard input is closed.")
    if spec.path != "-" and stat.S_ISREG(os.stat(spec.path).st_mode):
        return spec.path
    folder = options.stack.enter_context(tempfile.TemporaryDirectory())
    path = os.path.join(folder, "copy.csv")
    source = sys.stdin.fileno() if spec.path == "-" else spec.path
    with open(source, "rb", closefd=spec.path != "-") as pipe, open(path, "wb") as copy:
        shutil.copyfileobj(pipe, copy)
    return path


def _open_parquet(spec):
    from pyarrow import parquet

    file = parquet.ParquetFile(spec.path)

    def batches(columns, _):
        return file.iter_batches(batch_size=BLOCK_ROWS, columns=columns)

    return _as_source(spec, file.schema_arrow.names, True, batches)


def _as_source(spec, columns, is_named, batches):
    def read(columns):
        with readable(spec):
            for batch in batches(columns, "float64"):
                values = np.column_stack([np.asarray(c) for c in batch.columns])
                # Booleans of which some are missing are objects; texts are no numbers.
                yield values.astype(float) if values.dtype.kind in "OU" else values

    def read_values(columns):
        with readable(spec):
            parts = [batch.column(0) for batch in batches(columns, "string")]
            return [value for part in parts for value in part.to_pylist()]

    names = columns if is_named else None
    return Source(spec, len(columns), columns, names, read, read_values)


def _open_array(spec):
    """An array, memory-mapped where it can be, or a sparse matrix; never a pickle."""
    if spec.suffix not in {".npy", ".npz"}:
        raise FileError(
            f"{spec} has no ending that is known: .npy, .npz, .csv and .parquet are "
            "read, and CSV from standard input, written '-'."
        )
    values = _load_array(spec)
    if values.ndim not in {1, 2}:
        shape = values.shape
        raise FileError(f"{spec}: must have one or two dimensions, got shape {shape}.")

    def read(_):
        n_bytes = values.nbytes if hasattr(values, "nbytes") else 2 * values.data.nbytes
        n_at_once = max(1, int(values.shape[0] * BLOCK_BYTES / max(1, n_bytes)))
        for start in range(0, values.shape[0], n_at_once):
            yield values[start : start + n_at_once]

    n_columns = values.shape[1] if values.ndim == 2 else 1
    return Source(spec, n_columns, None, None, read, lambda _: values)


def _load_array(spec):
    if spec.suffix == ".npy":
        if spec.name is not None:
            raise FileError(f"{spec}: a .npy file holds one array, without a name.")
        return np.lib.format.open_memmap(spec.path, mode="r")
    with np.lib.npyio.NpzFile(spec.path, allow_pickle=False) as archive:
        names = archive.files
        if spec.name is None and {"format", "shape"} <= set(names):
            matrix = scipy.sparse.load_npz(spec.path)
            if hasattr(matrix, "check_format"):
                matrix.check_format()  # before anything follows its indices
            return matrix.tocsr()
        if spec.name in names or (spec.name is None and len(names) == 1):
            return archive[spec.name or names[0]]
    raise FileError(f"{spec}: the file holds {listed(names)}. Say FILE:NAME.")
