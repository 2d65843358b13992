"""Errors of the package in the words of the command line, and the row to blame."""

from __future__ import annotations

import re
import warnings

from sklearn_tace.command_line.files import FileError, FileWarning
from sklearn_tace.command_line.inputs import Column

PASS_CLASSES = "Pass the labels of all columns, in their order, by --classes."
LABELS_FIRST = " LABELS come first, then SCORES."
# Messages are about arguments of a function; here they are files and options.
_IN_OTHER_WORDS = (
    (r" One is in row \d+\.", ""),
    (r"^(Input )?(y_proba|y_true|sample_weight) ", ""),
    (r"Please provide the labels .* labels argument\.", PASS_CLASSES),
    (r" partial_fit takes \(y, proba\): .*", LABELS_FIRST),
    (r"\by_proba\.toarray\(\)", "a dense array"),
    (r"\by_proba\.astype\(np\.float32\)", "single precision"),
    (r"\bthreshold=None\b", "--threshold none"),
    (r"\bthreshold=", "--threshold "),
    (r"\by_proba\b(?!\.\w)", "SCORES"),
    (r"\by_true\b", "LABELS"),
    (r"\bsample_weight\b", "--weights"),
)


def reworded(message):
    text = str(message)
    if isinstance(message, FileWarning):  # columns may be called y_proba
        return text
    for pattern, words in _IN_OTHER_WORDS:
        text = re.sub(pattern, words, text, flags=re.DOTALL)
    return text


def first_bad(check, n_rows, error):
    """The first row that is refused, and why; None where only all together are."""
    start, stop = 0, n_rows
    while stop - start > 1:
        middle = (start + stop) // 2
        if _error_of(check, slice(start, middle)) is None:
            start = middle
        else:
            stop = middle
    own = _error_of(check, slice(start, stop))
    return (None, error) if own is None else (start, own)


def _error_of(check, rows):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            check(rows)
    except (TypeError, ValueError) as error:
        return error


def refusal(column: Column, row, error):
    where = column.spec if row is None else column.place(row)
    return FileError(f"{where}: {reworded(error)}")
