"""Which column is which class."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_tace.command_line.faults import (
    LABELS_FIRST,
    PASS_CLASSES,
    first_bad,
    refusal,
    reworded,
)
from sklearn_tace.command_line.files import FileError, FileWarning
from sklearn_tace.command_line.inputs import Column
from sklearn_tace.command_line.spelling import (
    are_continuous,
    are_numbered,
    as_texts,
    comparable,
    kind_of,
    names_like,
    read_as,
    refuse_numbers_as_names,
    refuse_other_dates,
    refuse_similar_names,
    shown,
    without_numbering,
)
from sklearn_tace.command_line.tables import as_labels
from sklearn_tace.inputs.labels import (
    check_labels,
    encode_labels,
    find_classes,
    find_columns,
    listed,
    refuse_other_names,
)


class Labels(NamedTuple):
    """Labels of the rows: those that occur, and which of them each row has."""

    column: Column
    found: NDArray | None = None  # nothing for an indicator
    code: NDArray | None = None


def in_one_kind(labels: Column, given: Column):
    """Labels and those of the columns, both strings, numbers, booleans or dates."""
    kind, other = kind_of(labels.values), kind_of(given.values)
    if kind == other or {kind, other} == {"booleans", "numbers"}:
        return labels, given
    if given.texts is not None:
        values = read_as(given.texts.tolist(), labels.values)
        if values is not None:
            return labels, replace(given, values=values)
    texts = set(() if labels.texts is None else labels.texts)
    if other == "strings" and texts and texts <= set(given.values.tolist()):
        return replace(labels, values=labels.texts), given
    raise FileError(
        f"{given.spec}: the labels {shown(given.values)} are {other}, but those in "
        f"{labels.spec} are {kind}, such as {comparable(labels.values[:1])[0]!r}. "
        "Write both alike."
    )


def label_rows(column) -> Labels:
    if not len(column.values):
        raise FileError(f"{column.spec} has no rows.")
    if column.values.ndim == 2:
        return Labels(column)

    def check(rows):
        return encode_labels(column.values[rows], "y_true", LABELS_FIRST)

    try:
        return Labels(column, *check(slice(None)))
    except (TypeError, ValueError) as error:
        raise refusal(column, *first_bad(check, len(column.values), error)) from error


def name_columns(given, labels, scores):
    """Labels, and those of the columns: None for an indicator without names."""
    column = labels.column
    try:
        labels, classes = _labels_of_columns(given, labels, scores)
    except (TypeError, ValueError) as error:
        blamed = column.spec if str(error).startswith("y_true") else scores.spec
        raise FileError(f"{blamed}: {reworded(error)}") from error
    if labels.found is None:
        shape = column.values.shape
        if scores.n_columns != shape[1] or scores.zeros.ndim == 1:
            raise FileError(
                f"{column.spec} is an indicator of shape {shape}, but {scores.spec} "
                f"has {_columns(scores)}.{LABELS_FIRST}"
            )
    n_classes = scores.n_columns if classes is None else len(classes)
    is_single = labels.found is not None and scores.n_columns == 1
    if n_classes != (2 if is_single else scores.n_columns):
        if given is not None:
            raise FileError(
                f"{scores.spec} has {_columns(scores)}, but --classes has {n_classes} "
                f"labels, {shown(classes)}."
            )
        raise FileError(
            f"{scores.spec} has {_columns(scores)} for {n_classes} labels, "
            f"{shown(classes)}. {PASS_CLASSES} (One column is the "
            "probability of the second of two labels.)"
        )
    if labels.found is not None:
        columns = find_columns(labels.found, classes)
        unknown = np.flatnonzero(columns[labels.code] < 0)
        if unknown.size:
            (label,) = comparable(labels.found[labels.code[unknown[:1]]])
            raise FileError(
                f"{labels.column.place(unknown[0])}: the label {label!r} is not among "
                f"those of the columns, {shown(classes)}."
            )
    return labels, classes


def _columns(scores):
    noun = "column" if scores.n_columns == 1 else "columns"
    names = f" ({listed(scores.names)})" if scores.names else ""
    return f"{scores.n_columns} {noun}{names}"


def _labels_of_columns(given, labels, scores):
    spec, names = scores.spec, scores.names
    if labels.found is None:
        return labels, _name_indicator(given, labels.column, spec, names)
    if given is None:
        labels = _as_texts_like(labels, names)
    found = labels.found
    known, whose = (
        (found, labels.column.spec) if given is None else (given.values, "--classes")
    )
    texts = as_texts(known)
    names = without_numbering(names_like(names, known), texts)
    _refuse_unlike(spec, names, texts, whose)
    has_labels = bool(set(names or ()) & set(texts))
    if not has_labels:
        refuse_numbers_as_names(spec, names)
    if given is not None:
        _refuse_others(spec, names, texts, "y_proba", "--classes is")
        return labels, known
    if not has_labels:
        return labels, _sorted_labels(labels, texts)
    if len(names) == 1:
        _refuse_others(spec, names, texts, "y_proba", "the labels in y_true are")
    # Names are texts: compare them with the labels as such.
    position = {text: k for k, text in enumerate(texts)}
    classes = find_classes(np.array(texts, dtype=object), names).tolist()
    if set(classes) == set(position):
        return labels, found[[position[text] for text in classes]]
    values = read_as(classes, found)
    if values is None:
        raise FileError(
            f"{spec}: the columns are called {listed(classes)}, but the labels in "
            f"{labels.column.spec} are {kind_of(found)}. Save the labels as strings, "
            "or name the columns of labels and weights as FILE:NAME."
        )
    return labels, check_labels(values)


def _sorted_labels(labels, texts):
    if labels.column.texts is not None and are_continuous(texts):
        raise FileError(
            f"{labels.column.spec}: the labels {listed(texts)} look like continuous "
            f"numbers.{LABELS_FIRST} If they are labels, say --classes."
        )
    return find_classes(labels.found, None)


def _as_texts_like(labels, names):
    """Labels as they are written, if they stand so among names that are no numbers."""
    texts = labels.column.texts
    if names is None or texts is None or kind_of(labels.found) == "strings":
        return labels
    if set(texts) <= set(names) and kind_of(as_labels(names)) == "strings":
        return label_rows(replace(labels.column, values=texts))
    return labels


def _refuse_unlike(spec, names, texts, whose):
    """Refuse names that look like labels in another spelling."""
    if names is None or texts is None:
        return
    refuse_similar_names(spec, names, texts, whose)
    if not set(names) & set(texts):
        refuse_other_dates(spec, names, texts, whose)


def _refuse_others(spec, names, texts, argument, what):
    """Refuse names of another order, or of which only some are labels."""
    try:
        refuse_other_names(names, texts, argument, what)
    except ValueError as error:
        advice = " Write both alike."
        if len(names) == 1:
            advice = (
                f" If it is that of the first, say --classes {texts[1]},{texts[0]}."
            )
        if are_numbered(names) and spec.suffix == ".csv":
            advice += " If the line of names says nothing, remove it: --no-header."
        raise FileError(f"{spec}: {reworded(error)}{advice}") from error


def _name_indicator(given, column, spec, names):
    known = None if given is None else as_texts(given.values)
    own = without_numbering(column.names, known or names)
    names = without_numbering(names, known or own)
    for where, argument, some, others, whose, what in (
        (column.spec, "LABELS", own, known, "--classes", "--classes is"),
        (spec, "y_proba", names, known, "--classes", "--classes is"),
        (spec, "y_proba", names, own, column.spec, "those of LABELS are"),
    ):
        _refuse_unlike(where, some, others, whose)
        _refuse_others(where, some, others, argument, what)
    if not set(names or ()) & {*(known or ()), *(own or ())}:
        advice = "" if given is not None else " If they are names, say --classes."
        refuse_numbers_as_names(spec, names, advice)
    if given is not None:
        return given.values
    names = own or names
    return None if names is None or are_numbered(names) else check_labels(names)


def warn_of_names(labels, scores, classes):
    """Say that the names of the columns have no meaning, unless nobody named them."""
    names, is_indicator = scores.names, labels.found is None
    others = labels.column.names if is_indicator else as_texts(classes)
    if not names or not others or scores.spec.name is not None:
        return
    if are_numbered(names) or (is_indicator and are_numbered(others)):
        return
    if set(names_like(names, classes)) & set(others):
        return
    taken = f"columns are taken as {listed(others)}"
    if scores.n_columns == 1 and not is_indicator:
        taken = f"the column is taken for the probability of {others[1]!r}"
    warnings.warn(
        f"{scores.spec}: the names of the columns ({listed(names)}) are not labels; "
        f"{taken}. Say --classes to be sure.",
        FileWarning,
        stacklevel=2,
    )
