"""Labels in files, and which column of the scores belongs to which label."""

import re
import warnings
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sklearn_tace.command_line.files import FileError, Spec, parse_spec, restated
from sklearn_tace.command_line.sources import open_source
from sklearn_tace.inputs.labels import (
    as_label_array,
    check_labels,
    encode_labels,
    find_classes,
    listed,
)

_WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]*))(?:\.0+)?")
_BOOLEANS = {"true": True, "false": False}


class Labels(NamedTuple):
    """Labels of rows or of columns; those of rows may be an indicator."""

    spec: Spec
    values: NDArray
    names: list[str] | None = None  # of the columns of an indicator
    texts: list[str] | None = None  # the labels, where the file has no types


def as_labels(texts):
    """Whole numbers if all texts are, booleans if all are, else strings.

    They stay strings where two of them would become one label, such as 1 and 1.0.
    """
    distinct, values = list(dict.fromkeys(texts)), []
    if all(map(_WHOLE.fullmatch, distinct)):
        values = [int(_WHOLE.fullmatch(text)[1]) for text in distinct]
    elif all(text.lower() in _BOOLEANS for text in distinct):
        values = [_BOOLEANS[text.lower()] for text in distinct]
    if len(set(values)) == len(distinct) and np.array(values).dtype.kind in "biu":
        known = dict(zip(distinct, values, strict=True))
        return np.array([known[text] for text in texts])
    return np.array(texts, dtype=object)


def read_labels(spec, options) -> Labels:
    """One label a row, or an indicator."""
    source = open_source(spec, options)
    if source.columns and source.n_columns > 1:
        names = None if _is_count(source.names) else source.names
        return Labels(spec, np.concatenate(list(source.read(source.columns))), names)
    values = source.read_values(source.columns)
    if spec.suffix != ".csv":
        if hasattr(values, "toarray"):
            raise FileError(f"{spec} is sparse. Save its .toarray().")
        with restated(spec):
            values = as_label_array(values)
            return Labels(spec, values[:, 0] if values.shape[1:] == (1,) else values)
    if "" in values:
        raise FileError(f"{spec}, row {values.index('')}: there is no label.")
    return Labels(spec, as_labels(values), texts=values)


def read_classes(text, options) -> Labels | None:
    """Labels of the columns, from a list or a file, if they are given."""
    if text is None:
        return None
    if "," in text:
        texts = text.split(",")
        given = Labels(Spec("--classes"), as_labels(texts), texts=texts)
    else:
        given = read_labels(parse_spec(text), options)
    with restated(given.spec):
        return given._replace(values=check_labels(given.values, "--classes"))


def match_columns(labels, scores, given):
    """Labels of the rows and of the columns, of one kind.

    ``given`` are the labels that --classes gives, or None.
    """
    names = None if scores.spec.name else scores.names
    values, known = labels.values, None
    if values.ndim == 2:
        found = labels.names or (None if _is_count(names) else names) or []
        found = np.array(found, object) if given is None else given.values
        known = found if found.size else None
    else:
        others = names if given is None else given.texts
        if labels.texts and set(labels.texts) <= set(others or ()):
            values = as_labels(labels.texts + others)[: len(values)]
        with restated(labels.spec):
            hint = " LABELS come first, then SCORES."
            found, _ = encode_labels(values, "y_true", hint)
        if given is not None:
            known = _as_kind_of(found, given.texts or given.values.tolist())
            if known is None:
                raise _mismatch(given.spec, given.values, labels.spec, found)
    own = _names_among(found if known is None else known, names)
    if known is None and found.size:
        is_named = own is not None and set(found.tolist()) <= set(own.tolist())
        with restated(labels.spec):
            known = own if is_named else find_classes(found, None)
    if known is not None:
        _check_columns(own, known, scores, labels.spec if given is None else given.spec)
        if own is None and given is None and names and as_labels(names).dtype == object:
            warnings.warn(
                f"{scores.spec}: the names of the columns ({listed(names)}) are not "
                f"labels; columns are taken as {listed(known[-scores.n_columns :])}. "
                "Say --classes to be sure.",
                stacklevel=2,
            )
    return values, known


def _as_kind_of(labels, others):
    """Others as labels of the same kind; None where they are of another."""
    is_text = isinstance(others[0], str)
    if labels.dtype.kind in "UOT":
        return np.array(others, dtype=object) if is_text else None
    others, kind = as_labels(others) if is_text else np.array(others), labels.dtype.kind
    if kind == "b" and set(others.tolist()) <= {0, 1}:
        return others.astype(bool)
    return None if others.dtype.kind in "UO" else others


def _names_among(labels, names):
    """Names of columns as labels; None if none is a label, or they just count."""
    own = _as_kind_of(labels, names) if names and len(labels) else None
    if own is None:
        return None
    some, others = set(own.tolist()), set(labels.tolist())
    if not some & others or (_is_count(names) and own[0] not in others):
        return None
    return own


def _is_count(names):
    return names == [str(k) for k in range(len(names or ()))]


def _check_columns(own, known, scores, spec):
    """Refuse labels in another number, or columns that are named by others."""
    n_columns = scores.n_columns
    if own is not None and own.tolist() != known[-n_columns:].tolist():
        raise _mismatch(scores.spec, own, spec, known)
    if len(known) != max(2, n_columns):
        raise FileError(
            f"{scores.spec} has {n_columns} column{'s' * (n_columns > 1)} for "
            f"{len(known)} labels, {listed(known)}. Pass the labels of all columns, in "
            "their order, by --classes. (One column is that of the second label.)"
        )


def _mismatch(spec, labels, other, others):
    return FileError(
        f"{spec} has the labels {listed(labels)}, {other} has {listed(others)}. They "
        "must be the same, in the same order."
    )
