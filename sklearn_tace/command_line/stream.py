"""From files to reports; errors and warnings name the file and the row."""

from __future__ import annotations

import re
import time
import warnings

import numpy as np

from sklearn_tace.command_line.columns import (
    in_one_kind,
    label_rows,
    name_columns,
    warn_of_names,
)
from sklearn_tace.command_line.faults import first_bad, refusal, reworded
from sklearn_tace.command_line.files import FileError, place
from sklearn_tace.command_line.inputs import (
    has_header,
    open_scores,
    read_classes,
    read_labels,
    read_weights,
)
from sklearn_tace.command_line.progress import SECONDS, progress
from sklearn_tace.command_line.spelling import as_texts, shown
from sklearn_tace.inputs.predictions import check_weight
from sklearn_tace.report import CalibrationReport

_CELLS = 2**20  # of scores, above which the rest may take long, too
_ROW_SUM = re.compile(r".* do not sum to one\. (.*) Row (\d+) sums to (\S+)\.")
_OUT_OF_RANGE = re.compile(r"(y_proba contains values .*?: \S+)\. (.*)")


def measure_all(options, specs):
    """A report for each file of scores, and whether more of them may take long."""
    started = time.monotonic()
    settings = {name: getattr(options, name) for name in options.settings}
    taken = [spec for spec in (options.labels, options.weights) if spec is not None]
    paths = [*(spec.path for spec in (*taken, *specs)), options.classes]
    if paths.count("-") > 1:
        raise FileError("standard input can be read only once. Save it to a file.")
    all_scores = [open_scores(spec, options.header, taken) for spec in specs]
    are_named = any(map(has_header, all_scores))
    given, known = None, {name for scores in all_scores for name in scores.names or ()}
    if options.classes is not None:
        given = read_classes(options.classes, options.header)
        known.update(as_texts(given.values))
    labels = read_labels(options.labels, options.header, are_named, known)
    weights = None
    if options.weights is not None:
        weights = read_weights(options.weights, options.header)
        _check_rows(labels, weights.spec, len(weights.values))
        _check_weights(weights)
    labels = label_rows(labels)
    if given is not None and labels.found is not None:
        column, given = in_one_kind(labels.column, given)
        labels = label_rows(column)
    pairs = [name_columns(given, labels, scores) for scores in all_scores]
    classes = _agree([own for _, own in pairs], all_scores)
    streams = [
        _Stream(own_labels.column, weights, scores, own, settings)
        for (own_labels, _), scores, own in zip(pairs, all_scores, classes, strict=True)
    ]
    for stream in streams:
        stream.check()
    if given is None:
        for (own_labels, _), scores, own in zip(
            pairs, all_scores, classes, strict=True
        ):
            warn_of_names(own_labels, scores, own)
    reports = [stream.read() for stream in streams]
    n_cells = sum(len(labels.column.values) * scores.n_columns for scores in all_scores)
    return reports, time.monotonic() - started > SECONDS or n_cells > _CELLS


def _agree(classes, all_scores):
    """Labels of the columns of all files, which must be the same."""
    known = next((own for own in classes if own is not None), None)
    classes = [known if own is None else own for own in classes]
    for scores, own in zip(all_scores, classes, strict=True):
        if own is not None and own.tolist() != classes[0].tolist():
            raise FileError(
                f"{scores.spec} has columns of {shown(own)}, {all_scores[0].spec} of "
                f"{shown(classes[0])}.{_order_advice(own, classes[0])}"
            )
    return classes


def _order_advice(labels, others):
    if set(as_texts(labels)) != set(as_texts(others)):
        return ""
    return (
        " Write the columns of both in one order; for files without column names, say "
        "it by --classes."
    )


def _check_rows(labels, spec, n_rows):
    if n_rows != len(labels.values):
        header = ""
        is_text = ".csv" in {labels.spec.suffix, spec.suffix}
        if is_text and abs(n_rows - len(labels.values)) == 1:
            header = (
                " Does only one have a header line? All .csv files must, or none "
                "(--no-header)."
            )
        raise FileError(
            f"{spec} has {n_rows} rows, {labels.spec} has {len(labels.values)}.{header}"
        )


def _check_weights(weights):
    values = weights.values
    is_bad = ~(np.isfinite(values) & (values >= 0))
    if is_bad.any():
        row = np.argmax(is_bad)
        raise FileError(
            f"{weights.place(row)}: the weight is {values[row]}. Weights are finite "
            "numbers of 0 or more."
        )
    try:
        check_weight(values, len(values), is_part=False)
    except (TypeError, ValueError) as error:
        raise refusal(weights, None, error) from error


class _Stream:
    """Scores of one file, read block by block into a report."""

    def __init__(self, labels, weights, scores, classes, settings):
        self.labels, self.weights, self.scores = labels, weights, scores
        self.classes, self.settings = classes, settings

    def check(self):
        """Refuse scores of another number of rows, or of which no row would do."""
        if self.scores.n_rows is not None:
            _check_rows(self.labels, self.scores.spec, self.scores.n_rows)
        zeros, labels = self.scores.zeros, self.labels.values
        one = (
            np.zeros((1, labels.shape[1]), int)
            if labels.ndim == 2
            else self.classes[:1]
        )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._fit(CalibrationReport(**self.settings), one, zeros, None)
        except (TypeError, ValueError) as error:
            raise FileError(f"{self.scores.spec}: {reworded(error)}") from error

    def read(self):
        n_rows, start = len(self.labels.values), 0
        report = CalibrationReport(**self.settings)
        odd = []
        with progress(str(self.scores.spec), n_rows) as advance:
            for values, lines in self.scores.blocks:
                stop = start + values.shape[0]
                if stop <= n_rows:
                    self._add(report, values, lines, start, odd)
                advance(stop - start)
                start = stop
        _check_rows(self.labels, self.scores.spec, start)
        if odd:
            warnings.warn(max(odd)[1], stacklevel=2)
        return report

    def _fit(self, report, labels, values, weights):
        report.partial_fit(labels, values, classes=self.classes, sample_weight=weights)

    def _add(self, report, values, lines, start, odd):
        """Add a block, or say which row is to blame; collect warnings."""
        rows = slice(start, start + values.shape[0])
        labels = self.labels.values[rows]
        weights = None if self.weights is None else self.weights.values[rows]

        def check(part):
            own = None if weights is None else weights[part]
            scratch = CalibrationReport(**self.settings)
            self._fit(scratch, labels[part], values[part], own)

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            try:
                self._fit(report, labels, values, weights)
            except (TypeError, ValueError) as error:
                row, own = first_bad(check, len(labels), error)
                raise self._blame(row, own, error, lines, start) from error
        for warning in caught:
            match = _ROW_SUM.fullmatch(str(warning.message))
            if match is None:
                warnings.warn(warning.message, stacklevel=2)
                continue
            advice, row, total = match.groups()
            where = self._place(int(row), lines, start)
            text = f"{where}: the row sums to {total}, not to one. {advice}"
            odd.append((abs(float(total) - 1), text))

    def _place(self, row, lines, start):
        """Where a row of a block is; lines are those of the block."""
        row = row if lines is not None else start + row
        return place(self.scores.spec, row, lines)

    def _blame(self, row, error, of_block, lines, start):
        if row is None:
            return FileError(f"{self.scores.spec}: {reworded(error)}")
        if self.labels.values.ndim == 2:
            of_row = self.labels.values[start + row][None]
            try:
                self._fit(CalibrationReport(), of_row, np.full(of_row.shape, 0.5), None)
            except (TypeError, ValueError) as own:
                return refusal(self.labels, start + row, own)
        # One row of logits may look like log-probabilities: see the whole block.
        message, of_block = str(error), _OUT_OF_RANGE.fullmatch(str(of_block))
        if of_block:
            message = _OUT_OF_RANGE.sub(lambda m: f"{m[1]}. {of_block[2]}", message)
        where = self._place(row, lines, start)
        return FileError(f"{where}: {reworded(message)}")
