"""Rows in batches that can be read more than once."""

from collections.abc import Iterable, Iterator
from functools import partial

from sklearn_tace.core.batch import append_part
from sklearn_tace.inputs.predictions import check_predictions, is_wide
from sklearn_tace.scale.gather import filter_part, gather, merge_parts
from sklearn_tace.scale.seen_rows import SeenRows, add_names


def filter_batches(batches, settings, labels) -> SeenRows:
    """Survivors of batches (y, proba), with weights and groups or without."""
    if isinstance(batches, Iterator):
        raise TypeError(
            "batches can be read only once, and may have to be read again. Pass a "
            "list, or a function that returns an iterator; for a stream take "
            "partial_fit."
        )
    if not isinstance(batches, Iterable) and not callable(batches):
        raise TypeError(
            "batches must be a list, or a function that returns an iterator, got "
            f"{type(batches).__name__}."
        )
    known = {"classes": None, "names": (None, None)}

    def visit(request):
        merge, parts = partial(merge_parts, request=request), []
        for given in _check_batches(batches, labels, known):
            parts = append_part(parts, filter_part(given, request), merge)
        if not parts:
            raise ValueError(
                "batches is empty, or was when it was read again. A function must "
                "return a new iterator each time."
            )
        return merge(parts)

    return gather(visit, settings, with_rows=True, may_be_empty=False, known=known)


def _check_batches(batches, labels, known):
    """Predictions batch by batch; their classes and names are put into ``known``."""
    first_row = 0
    for k, batch in enumerate(batches if isinstance(batches, Iterable) else batches()):
        y, proba, weight, groups = _unpack(batch)
        if labels is None and not is_wide(y):
            raise ValueError(
                "labels must be passed: those of all columns of proba, in their order."
            )
        try:
            given = check_predictions(
                y,
                proba,
                labels=labels,
                classes=known["classes"] if labels is None else None,
                sample_weight=weight,
                groups=groups,
                caller=("from_batches", "y", "proba"),
                is_part=True,
                first_row=first_row,
                argument="labels",
            )
            known["names"] = add_names(known["names"], given.names)
        except (TypeError, ValueError) as error:
            error.add_note(f"This is of batch {k}, counted from 0.")
            raise
        known["classes"] = given.classes
        first_row += len(given.truth)
        yield given


def _unpack(batch):
    is_tuple = isinstance(batch, (tuple, list))
    if not is_tuple or len(batch) not in {2, 3, 4}:
        got = type(batch).__name__ + (f" of {len(batch)}" if is_tuple else "")
        raise TypeError(
            "Each batch must be (y, proba), (y, proba, sample_weight) or (y, proba, "
            f"sample_weight, groups), got a {got}."
        )
    return (*batch, None, None)[:4]
