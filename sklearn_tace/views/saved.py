"""A fitted report as JSON that later versions can read.

The survivors (batches, or cells where they were too many) are saved in full, so that
nothing is lost. The numbers of the report stand beside them for other programs; of
these, only what was drawn at random is read back.
"""

import base64
import io
import numbers

import numpy as np

from sklearn_tace import __version__
from sklearn_tace.core.batch import Batch, Groups, Totals, join_groups
from sklearn_tace.core.bins import are_cut, as_table
from sklearn_tace.core.cells import Cells
from sklearn_tace.inference.attributes import INFERENCE_SETTINGS
from sklearn_tace.inputs.labels import check_labels
from sklearn_tace.inputs.parameters import check_parameters
from sklearn_tace.scale.arrays import SETTINGS
from sklearn_tace.scale.seen_rows import SeenRows
from sklearn_tace.views.saved_checks import (
    check_batch,
    check_cells,
    check_inferred,
    check_totals,
    demand,
)

FORMAT = "sklearn_tace.CalibrationReport"
FORMAT_VERSION = 1

# Names of arrays in the file, and of the attributes that they come from.
_OF_BATCH = {"code": "class_index", "word": "key", "weight": "weight", "row": "row"}
_OF_CELLS = {name: name for name in ("indptr", "lower", "upper", "sums")}
_OF_TOTALS = {name: name for name in ("support", "support_weight")}
_WIDEST = 4 * 10_000  # label, in bytes
# Where numpy does not check the place in its buffer: its name, and the last.
_POSITIONS = {
    "MT19937": ("pos", 624),
    "PCG64": (None, 0),
    "PCG64DXSM": (None, 0),
    "Philox": ("buffer_pos", 4),
    "SFC64": (None, 0),
}


def to_document(parameters, seen, measured, inferred):
    """Everything as values that JSON knows."""
    check_parameters(**parameters)
    parameters, settings = _plain(parameters), _plain(seen.settings)
    changed = {
        name: value
        for name, value in settings.items()
        if name not in parameters or value != parameters[name]
    }
    parts = [seen.survivors] if seen.is_condensed else seen.batches
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "written_by": f"sklearn_tace {__version__}",
        "parameters": parameters,
        "measured": _plain(measured),
        "inferred": _plain(inferred),
        "held": {
            "settings": changed,  # since the rows were seen
            "classes": _labels(seen.classes),
            "names": _plain(seen.names),
            "accounts": [_totals(part.totals) for part in parts],
            "arrays": _arrays(parts),
            "is_condensed": seen.is_condensed,
            "groups": [_group_labels(batch) for batch in seen.batches],
        },
    }


def from_document(document):
    """Parameters, what was seen, and what was inferred."""
    if not isinstance(document, dict):
        raise TypeError(f"A saved report is a dict, got {type(document).__name__}.")
    if document.get("format") != FORMAT:
        raise ValueError(
            f"This is no saved report: format is {document.get('format')!r}, not "
            f"{FORMAT!r}."
        )
    version = document.get("format_version")
    if version != FORMAT_VERSION:
        raise ValueError(
            f"The report is in format {version!r}, written by "
            f"{document.get('written_by')}; sklearn_tace {__version__} reads format "
            f"{FORMAT_VERSION}. Upgrade sklearn_tace."
        )
    try:
        return _read(document)
    except Exception as error:  # of a damaged document anything may come
        raise ValueError(f"The saved report is damaged: {error!r}.") from error


def _read(document):
    parameters = _settings(document["parameters"])
    saved = document["held"]
    settings = parameters | _settings(saved["settings"])
    demand(len(settings) == len(SETTINGS + INFERENCE_SETTINGS), "parameters")
    classes = _read_labels(**saved["classes"])
    names = tuple(saved["names"])
    demand(len(names) == 2 and all(map(_are_names, names)), "names")
    demand(len(saved["accounts"]) > 0, "accounts")
    batches, cells = _read_parts(saved, len(classes))
    if cells is not None:
        demand(not are_cut(cells, settings["n_bins"]).any(), "the bins")
    seen = SeenRows(classes, names, settings, batches, cells)
    inferred = {
        name: _inferred(value, classes.dtype)
        for name, value in document["inferred"].items()
    }
    check_inferred(inferred, len(classes))
    return parameters, seen, inferred


def _are_names(names):
    return names is None or (
        isinstance(names, list) and all(isinstance(name, str) for name in names)
    )


def _read_labels(dtype, values):
    dtype = np.dtype(dtype)
    is_known = dtype.itemsize <= (_WIDEST if dtype.kind == "U" else 8)
    demand(is_known, "the type of the classes")
    classes = check_labels(np.array(values, dtype), "classes")
    demand(classes.dtype == dtype, "the type of the classes")
    return classes


def _totals(totals):
    saved = {name: v for name, v in vars(totals).items() if name not in _OF_TOTALS}
    return _plain(saved | {"dtype": totals.dtype.str})


def _group_labels(batch):
    return None if batch.groups is None else _labels(batch.groups.labels)


def _arrays(parts):
    """The arrays of all batches, or of cells, as one .npz in base64."""
    arrays = {}
    for k, part in enumerate(parts):
        of_part = vars(part) | vars(part.totals)
        if of_part.get("groups") is not None:
            arrays[f"group_{k}"] = part.groups.code
        for name, attribute in (_OF_BATCH | _OF_CELLS | _OF_TOTALS).items():
            if of_part.get(attribute) is not None:
                arrays[f"{name}_{k}"] = of_part[attribute]
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return base64.b64encode(file.getvalue()).decode()


def _read_parts(saved, n_classes):
    """Batches; or none, and cells."""
    is_condensed, parts = saved.get("is_condensed", False), []
    names = _OF_CELLS if is_condensed else _OF_BATCH
    file = io.BytesIO(base64.b64decode(saved["arrays"]))
    with np.load(file, allow_pickle=False) as arrays:
        for k, values in enumerate(saved["accounts"]):
            of_totals = {name: arrays[f"{name}_{k}"] for name in _OF_TOTALS}
            of_totals |= values | {"dtype": np.dtype(values["dtype"])}
            totals = Totals(**of_totals)
            check_totals(totals, n_classes)
            parts.append((totals, *(arrays.get(f"{name}_{k}") for name in names)))
        codes = [arrays.get(f"group_{k}") for k in range(len(parts))]
    if is_condensed:
        (part,) = parts
        cells = Cells(*part, level=0)
        check_cells(cells, n_classes)
        return [], cells
    saved_labels = saved.get("groups", [None] * len(parts))  # none in earlier versions
    batches = [
        Batch(*part, _read_groups(labels, code))
        for part, labels, code in zip(parts, saved_labels, codes, strict=True)
    ]
    for batch in batches:
        check_batch(batch, n_classes)
    join_groups(batches)  # refuses what does not go together
    return batches, None


def _read_groups(labels, code):
    if labels is None:
        return None
    values = np.array(labels["values"], np.dtype(labels["dtype"]))
    return Groups(values, code)


def _labels(labels):
    values = labels.astype(str) if labels.dtype.kind == "M" else labels
    return {"dtype": labels.dtype.str, "values": values.tolist()}


def _inferred(value, label_type):
    """A number, an array or a table of bins as the report holds them."""
    if isinstance(value, dict):
        types = {"class": label_type, "bin": int}
        return as_table({
            name: np.array(column, types.get(name, float))
            for name, column in value.items()
        })
    value = np.array(value, float)  # nan where it says None
    return value if value.ndim else float(value)


def _plain(value):
    """Values of numpy and of other types of numbers as those of Python."""
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return list(map(_plain, value))
    if isinstance(value, np.ndarray):
        if value.dtype.names:
            return {name: _plain(value[name]) for name in value.dtype.names}
        return _plain(_labels(value)["values"])
    if isinstance(value, np.random.Generator):
        return {"Generator": _plain(value.bit_generator.state)}
    if isinstance(value, np.random.RandomState):
        return {"RandomState": _plain(value.get_state(legacy=False))}
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    value = value.item() if isinstance(value, np.bool_) else float(value)
    return None if value != value else value


def _settings(saved):
    demand(set(saved) <= set(SETTINGS + INFERENCE_SETTINGS), "parameters")
    settings = dict(saved)
    random_state = settings.get("random_state")
    if isinstance(random_state, dict):
        settings["random_state"] = _random_state(**random_state)
    check_parameters(**settings)
    return settings


def _random_state(*, Generator=None, RandomState=None):
    state = Generator or RandomState
    name = state["bit_generator"]
    demand(name in _POSITIONS, f"bit generator {name!r}")
    where, last = _POSITIONS[name]
    inner = state["state"] if where == "pos" else state
    demand(where is None or 0 <= inner[where] <= last, "the place in the stream")
    bit_generator = getattr(np.random, name)()
    if Generator:
        bit_generator.state = state
        return np.random.Generator(bit_generator)
    made = np.random.RandomState(bit_generator)
    made.set_state(state)
    return made
