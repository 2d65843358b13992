"""Labels and names of columns as texts, and when they are alike."""

from __future__ import annotations

import contextlib
import re
import unicodedata

import numpy as np

from sklearn_tace.command_line.files import FileError
from sklearn_tace.command_line.tables import as_labels, as_number_text, is_number
from sklearn_tace.inputs.labels import listed

_KINDS = {"b": "booleans", "M": "dates", "O": "strings", "U": "strings", "T": "strings"}
_BOOLEANS = {"true": True, "false": False}
_DATE = re.compile(r"\d{4}(-\d\d(-\d\d([ T]\d\d(:\d\d(:\d\d(\.\d+)?)?)?)?)?)?")
_LIKE_A_DATE = re.compile(
    r"\d{8}|\d{1,4}[-/]\d{1,4}|\d{1,4}[-/. ]\d{1,2}[-/. ]\d{1,4}(\D.*)?"
)


def are_numbered(names):
    """Whether columns are called 0, 1, 2, ..., as those that nobody named."""
    return names == [str(k) for k in range(len(names))]


def without_numbering(names, labels):
    """Names of columns; nothing for 0, 1, 2, ... unless these are the labels."""
    if not names or not are_numbered(names):
        return names or None
    # Of labels that begin with 1 some are among these numbers, too.
    some, others = set(names), set(labels or ())
    are_labels = "0" in others and (others <= some or some <= others)
    return names if are_labels else None


def refuse_numbers_as_names(spec, names, advice=""):
    """Refuse a first line that looks like a row; a parquet file has no such line."""
    if spec.suffix != ".csv" or not names or are_numbered(names):
        return
    if all(map(is_number, names)):
        raise FileError(
            f"{spec}: the names of the columns are numbers, {listed(names)}. If they "
            f"are the first row, say --no-header.{advice}"
        )


def kind_of(labels):
    return _KINDS.get(labels.dtype.kind, "numbers")


def read_as(texts, labels):
    """Texts as labels of the kind of some others; None where they are of another."""
    kind = kind_of(labels)
    if kind == "strings":
        return np.array(texts, dtype=object)
    if kind == "booleans" and {text.lower() for text in texts} <= set(_BOOLEANS):
        return np.array([_BOOLEANS[text.lower()] for text in texts])
    if kind == "dates" and all(map(_DATE.fullmatch, texts)):
        with contextlib.suppress(TypeError, ValueError):
            return np.array(texts, dtype=labels.dtype)
    values = as_labels(texts)
    return values if kind == kind_of(values) == "numbers" else None


def comparable(labels):
    """Labels so that str gives the text that a column of that label is named by."""
    kind = kind_of(labels)
    if kind == "numbers":  # all of which are whole
        return list(map(int, labels.tolist()))
    if kind == "dates":
        days = labels.astype("M8[D]")
        return np.datetime_as_string(
            days if (days == labels).all() else labels
        ).tolist()
    return labels.tolist()


def as_texts(labels):
    """The texts that columns of these labels are named by."""
    return list(map(str, comparable(labels)))


def shown(labels):
    """A list of labels for a message."""
    return listed(comparable(labels))


def names_like(names, labels):
    """Names in the spelling of labels, where they are numbers, booleans or dates."""
    kind = kind_of(labels)
    if names and kind == "numbers":
        return list(map(as_number_text, names))
    if names and kind == "booleans" and set(names) <= {"0", "1"}:
        return [str(name == "1") for name in names]
    values = read_as(names, labels) if names and kind == "dates" else None
    return names if values is None else comparable(values)


def refuse_similar_names(spec, names, labels, whose):
    """Refuse names of columns that are labels in another spelling."""
    exact = set(names) & set(labels)
    similar = {_plain(label): label for label in labels if label not in exact}
    for name in names:
        label = similar.get(_plain(name))
        if name not in exact and label is not None:
            look_alike = _in_one_form(name) == _in_one_form(label)
            show = ascii if look_alike else repr
            raise FileError(
                f"{spec}: the name of the column {show(name)} is almost {show(label)} "
                f"of {whose}. Write both alike."
            )


def refuse_other_dates(spec, names, labels, whose):
    """Refuse names that are dates, but no labels, where these are dates."""
    are_dates = all(map(_LIKE_A_DATE.fullmatch, labels))
    if are_dates and any(map(_LIKE_A_DATE.fullmatch, names)):
        raise FileError(
            f"{spec}: the columns are called {listed(names)}, but {whose} has the "
            f"dates {listed(labels)}. Write both alike."
        )


def _in_one_form(text):
    return unicodedata.normalize("NFKC", text)


def _plain(text):
    """What remains of a label without spaces, quotes, case and ways to write it."""
    text = _in_one_form(text).strip().strip("'\"`").strip().casefold()
    text = str(int(_BOOLEANS[text])) if text in _BOOLEANS else text
    return repr(float(text)) if is_number(text) else text


def are_continuous(texts):
    """Whether texts are numbers, some of them not whole."""
    if not all(map(is_number, texts)):
        return False
    return not all(float(text).is_integer() for text in texts)
