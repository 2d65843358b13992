"""Rows in dask arrays: each chunk is checked and filtered where it is."""

import dask
import dask.array as da
import numpy as np

from sklearn_tace.inputs.arrays import as_array, check_weight_shape
from sklearn_tace.inputs.groups import check_groups_shape
from sklearn_tace.inputs.labels import (
    as_label_array,
    check_labels,
    column_names,
    encode_labels,
)
from sklearn_tace.inputs.predictions import (
    check_predictions,
    check_shapes,
    is_dask,
    order_of_arguments,
)
from sklearn_tace.inputs.scores import as_scores
from sklearn_tace.inputs.warnings import warn
from sklearn_tace.scale.gather import filter_part, gather, merge_parts
from sklearn_tace.scale.seen_rows import SeenRows

_CONVERT = {
    "y_true": as_label_array,
    "y_proba": as_scores,
    "sample_weight": np.asarray,
    "groups": as_label_array,
}
# Results of so many tasks are brought together in one; the fewer, the less memory.
_N_TOGETHER = 2


def filter_chunks(
    y_true,
    y_proba,
    settings,
    with_rows,
    *,
    sample_weight,
    groups=None,
    labels=None,
    classes=None,
    caller=None,
    fitted=None,
    is_part=False,
) -> SeenRows:
    """What is above the threshold; for the arguments see ``check_predictions``."""
    arguments = {"y_true": y_true, "y_proba": y_proba}
    if is_dask(sample_weight) or np.ndim(sample_weight):
        arguments["sample_weight"] = sample_weight
    if groups is not None:
        arguments["groups"] = groups
    arrays = _lazy_arrays(arguments)
    y, proba = arrays["y_true"], _by_rows(arrays["y_proba"])
    weight = arrays.get("sample_weight", sample_weight)
    check_shapes(y, proba, caller)
    if "sample_weight" in arrays:
        check_weight_shape(weight.shape, len(proba))
    if groups is not None:
        groups = arrays["groups"]
        check_groups_shape(groups.shape, len(proba))

    # Labels and columns are checked as ever, with a few rows in the place of all.
    few = _few_labels(y, labels, classes, fitted, order_of_arguments(caller))
    given = check_predictions(
        _named_as(y_true, few),
        _named_as(y_proba, np.zeros((len(few), *proba.shape[1:]))),
        labels=labels,
        classes=classes,
        sample_weight=None,
        caller=caller,
        fitted=fitted,
        is_part=is_part,
    )
    n_columns = len(given.classes if labels is None else labels)
    own, unseen = np.split(given.classes, [n_columns])
    options = {
        "labels": None,
        "classes": own,
        "unseen": unseen if len(unseen) else None,
        "caller": caller,
    }
    if y.shape[1:] == (1,):
        y = y[:, 0]
    visit = _visitor(y, proba, weight, groups, options)
    known = {"classes": given.classes, "names": given.names}
    return gather(
        visit, settings, with_rows=with_rows, may_be_empty=is_part, known=known
    )


def _lazy_arrays(arguments):
    """Dask arrays of known chunks; of what is in memory, numpy arrays."""
    frames = {
        name: values
        for name, values in arguments.items()
        if is_dask(values) and hasattr(type(values), "to_dask_array")
    }
    arrays = {
        name: _lazy_array(values, name)
        for name, values in arguments.items()
        if name not in frames
    }
    for n in {frame.npartitions for frame in frames.values()}:
        alike = {name: f for name, f in frames.items() if f.npartitions == n}
        arrays |= _arrays_of_frames(alike)
    return arrays


def _lazy_array(values, name):
    if not is_dask(values):
        return as_array(values, name, _CONVERT[name])
    is_xarray = type(values).__module__.partition(".")[0] == "xarray"
    if not is_xarray and not isinstance(values, da.Array):
        kind = type(values).__name__
        raise TypeError(f"{name} must be a dask array or data frame, got {kind}.")
    array = da.asarray(values)
    is_known = not np.isnan(array.shape).any()
    return array if is_known else array.copy().compute_chunk_sizes()


def _arrays_of_frames(frames):
    """Arrays of data frames that have as many partitions.

    All from one expression: else each would be computed by itself, from a shuffle or a
    sample with its rows in an order of its own.
    """
    import dask.dataframe as dd

    names = list(frames)
    partitions = dd.map_partitions(
        _convert,
        *frames.values(),
        names=names,
        align_dataframes=False,
        enforce_metadata=False,
        meta=(None, object),
    ).to_delayed(optimize_graph=True)
    shapes = dask.compute([dask.delayed(_shapes)(part) for part in partitions])[0]
    arrays = {}
    for k, name in enumerate(names):
        chunks = [
            da.from_delayed(part[k], shape=shape[k], dtype=object)
            for part, shape in zip(partitions, shapes, strict=True)
        ]
        arrays[name] = da.concatenate(chunks)
    return arrays


def _convert(*frames, names):
    return tuple(_CONVERT[name](f) for name, f in zip(names, frames, strict=True))


def _shapes(arrays):
    return [array.shape for array in arrays]


def _by_rows(proba):
    """Chunks of whole rows."""
    if proba.ndim < 2 or proba.numblocks[1] == 1:
        return proba
    warn(
        f"The rows of y_proba are split into {proba.numblocks[1]} chunks each, which "
        "have to be brought together first. Chunks of whole rows, as from "
        "y_proba.rechunk({1: -1}), take less time and memory."
    )
    return proba.rechunk({1: -1})


def _few_labels(y, labels, classes, fitted, hint):
    """Rows enough to tell which labels there are, and of which kind."""
    if not len(y):
        return np.zeros(y.shape)
    if y.shape[1:] not in {(), (1,)}:
        return np.zeros((1, y.shape[1]), dtype=int)
    if labels is not None:
        labels = check_labels(labels)
    known = classes if labels is None else labels
    if known is not None and fitted is None:
        return known[:1].reshape(-1, *y.shape[1:])
    if is_dask(y):
        labels_in = dask.delayed(_labels_in)
        chunks = y.ravel().to_delayed(optimize_graph=False)
        found = _tree([labels_in(chunk, hint) for chunk in chunks], _join_labels)
    else:
        found = _labels_in(y.ravel(), hint)
    return found.reshape(-1, *y.shape[1:])


def _labels_in(values, hint):
    if not len(values):
        return None
    values = as_array(values, "y_true", as_label_array)
    return encode_labels(values, "y_true", hint)[0]


def _join_labels(parts):
    parts = [part for part in parts if part is not None]
    if len({part.dtype.kind for part in parts}) > 1:
        parts = [part.astype(object) for part in parts]
    return encode_labels(np.concatenate(parts), "y_true")[0] if parts else None


def _named_as(frame, values):
    """Values with the names of the columns of a frame, if it has some."""
    names = column_names(frame)
    if values.ndim < 2 or not names:
        return values
    import pandas as pd

    return pd.DataFrame(values, columns=names)


def _visitor(y, proba, weight, groups, options):
    """A function that filters all chunks and adds up what they keep."""
    sizes = proba.chunks[0]
    first_row = da.from_array(np.cumsum(sizes) - sizes, chunks=1)
    arrays = [proba, _chunked_as(y, sizes), first_row]
    if weight is not None and np.ndim(weight):
        arrays.append(_chunked_as(weight, sizes))
    else:
        options = options | {"sample_weight": weight}
    if groups is not None:
        arrays.append(_chunked_as(groups, sizes))
    else:
        options = options | {"groups": None}
    options = dask.delayed(options, traverse=False)
    with_axes = [item for array in arrays for item in (array, "ij"[: array.ndim])]

    def visit(request):
        request = dask.delayed(request, traverse=False)
        # One layer over all arrays: what several are computed from is computed once.
        # What it holds are no arrays, but nothing looks at them as such.
        parts = da.blockwise(
            _filter_chunk,
            "i",
            *with_axes,
            request=request,
            options=options,
            align_arrays=False,
            dtype=object,
            meta=np.empty(0, dtype=object),
        )
        # Not optimized: tasks of one name would differ from visit to visit.
        parts = parts.to_delayed(optimize_graph=False)[np.array(sizes) > 0]
        return _tree(list(parts), merge_parts, request)

    return visit


def _chunked_as(array, sizes):
    sizes = (sizes, *array.shape[1:])
    if is_dask(array):
        return array.rechunk(sizes)
    return da.from_array(array, chunks=sizes, name=False)


def _filter_chunk(proba, y, first_row, *of_rows, request, options):
    # Of arrays with columns, dask gives the chunks in a row: a list of one.
    proba, y = (part[0] if isinstance(part, list) else part for part in (proba, y))
    # What is not in the options has come in chunks.
    names = [name for name in ("sample_weight", "groups") if name not in options]
    options = options | dict(zip(names, of_rows, strict=True))
    first_row = int(first_row[0])
    try:
        given = check_predictions(
            y, proba, is_part=True, first_row=first_row, argument="labels", **options
        )
        return filter_part(given, request)
    except (TypeError, ValueError) as error:
        error.add_note(f"This is of the chunk that begins with row {first_row}.")
        raise


def _tree(parts, merge, *args):
    """Compute what neighbours give when they are merged until one part is left."""
    merge = dask.delayed(merge)
    while len(parts) > 1:
        first = range(0, len(parts), _N_TOGETHER)
        parts = [merge(parts[k : k + _N_TOGETHER], *args) for k in first]
    return dask.compute(parts[0])[0]
