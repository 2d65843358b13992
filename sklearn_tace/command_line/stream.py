"""From files to reports, block by block."""

import contextlib
import re
import sys
import warnings
from types import SimpleNamespace

import numpy as np

from sklearn_tace.command_line.files import FileError, printable, restated, reworded
from sklearn_tace.command_line.labels import match_columns, read_classes, read_labels
from sklearn_tace.command_line.sources import open_source
from sklearn_tace.inputs.arrays import check_weight
from sklearn_tace.report import CalibrationReport

SECONDS = 1  # after which a terminal shows a bar
_ROW_SUM = re.compile(r".* do not sum to one\. (.*) Row (\d+) sums to (\S+)\.")
_ROW = re.compile(r" One is in row (\d+)\.")


def measure_all(options, specs):
    """A report for each file of scores."""
    taken = [spec for spec in (options.labels, options.weights) if spec is not None]
    paths = [*(spec.path for spec in (*taken, *specs)), options.classes]
    if paths.count("-") > 1:
        raise FileError("standard input can be read only once. Save it to a file.")
    settings = {name: getattr(options, name) for name in options.settings}
    reports = []
    with contextlib.ExitStack() as options.stack:  # of temporary files
        labels = read_labels(options.labels, options)
        given = read_classes(options.classes, options)
        weights = _read_weights(options.weights, options, labels)
        for spec in specs:
            others = {one.name for one in taken if one.path == spec.path} - {None}
            scores = open_source(spec, options)
            if scores.columns:
                scores = scores.only([c for c in scores.columns if c not in others])
            values, classes = match_columns(labels, scores, given)
            reports.append(CalibrationReport(**settings))
            _fit(reports[-1], scores, labels.spec, values, weights, classes)
    return reports


def _read_weights(spec, options, labels):
    if spec is None:
        return None
    weights = open_source(spec, options)
    if weights.n_columns > 1:
        raise FileError(f"{spec} has several columns. Say which: {spec.path}:NAME.")
    blocks = map(np.ravel, weights.read(weights.columns))
    values = np.concatenate([np.empty(0), *blocks])
    _check_rows(labels.spec, len(labels.values), spec, len(values))
    with restated(spec):
        return check_weight(values, len(values), is_part=False)


def _check_rows(labels, n_labels, spec, n_rows):
    if n_rows != n_labels or not n_rows:
        raise FileError(
            f"{spec} has {n_rows} rows, {labels} has {n_labels}. The first line of a "
            ".csv file is no row, without --no-header."
        )


def _fit(report, scores, labels, values, weights, classes):
    """Fit to all blocks of scores, and warn of the worst row."""
    start, sums = 0, []
    with _bar(str(scores.spec), len(values)) as bar:
        for block in scores.read(scores.columns):
            rows = slice(start, start + block.shape[0])
            start = rows.stop
            if start <= len(values):
                weight = None if weights is None else weights[rows]
                with _blaming(scores.spec, labels, rows.start, sums):
                    report.partial_fit(
                        values[rows], block, classes=classes, sample_weight=weight
                    )
            bar.update(block.shape[0])
    _check_rows(labels, len(values), scores.spec, start)
    if sums:
        warnings.warn(max(sums)[1], stacklevel=2)


@contextlib.contextmanager
def _blaming(spec, labels, start, sums):
    """Errors that name file and row; warnings of rows are collected in ``sums``."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        except (TypeError, ValueError) as error:
            row = _ROW.search(str(error))
            where = f", row {start + int(row[1])}" if row else ""
            blamed = spec if "y_proba" in str(error) else labels
            raise FileError(f"{blamed}{where}: {reworded(error)}") from error
    for warning in caught:
        if match := _ROW_SUM.fullmatch(str(warning.message)):
            advice, row, total = match.groups()
            where = f"{spec}, row {start + int(row)}"
            text = f"{where}: the row sums to {total}, not to one. {advice}"
            sums.append((abs(float(total) - 1), text))


def _bar(name, n_rows):
    """A bar on a terminal, where tqdm is installed; ``update`` takes rows done."""
    try:
        from tqdm import tqdm
    except ImportError:
        return contextlib.nullcontext(SimpleNamespace(update=int))
    look = {"unit": " rows", "unit_scale": True, "leave": False, "delay": SECONDS}
    look["disable"] = sys.stderr is None or None  # None: unless on a terminal
    return tqdm(total=n_rows, desc=printable(name), **look)
