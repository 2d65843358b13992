"""A fitted report as plain values, for a file that later versions can read.

What the report holds of its rows (batches, or cells where survivors were too many) is
kept whole, so that nothing is lost. Beside it stand its numbers, for people and for
other programs; of these only what was drawn at random is read back.
"""

from __future__ import annotations

import base64
import io
import numbers

import numpy as np

from sklearn_tace import __version__
from sklearn_tace.core.bins import are_cut
from sklearn_tace.core.cells import Cells
from sklearn_tace.core.survivors import MASS_ONE, Batch, Totals, unpack
from sklearn_tace.inference.attributes import INFERENCE_SETTINGS, INFERRED
from sklearn_tace.inputs.labels import check_labels
from sklearn_tace.inputs.predictions import check_parameters
from sklearn_tace.scale.arrays import SETTINGS, as_table
from sklearn_tace.scale.seen_rows import SeenRows

FORMAT = "sklearn_tace.CalibrationReport"
FORMAT_VERSION = 1

_OF_BATCH = ("code", "word", "weight", "row")
_OF_CELLS = ("indptr", "lower", "upper", "sums")
_OF_ACCOUNT = ("support", "support_weight")
# Of an account, besides the arrays and the precision.
_KINDS = {
    "n_samples": int,
    "mass": int,
    "largest_score": (int, float),
    "one_column": bool,
    "one_label": bool,
}
_WIDEST = 4 * 10_000  # label, in bytes
_MOST = 2**50  # rows times classes
_SLACK = 1 + 1e-9
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
            "accounts": [_account(part.totals) for part in parts],
            "arrays": _arrays(parts),
            "is_condensed": seen.is_condensed,
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
    _demand(len(settings) == len(SETTINGS + INFERENCE_SETTINGS), "parameters")
    classes = _read_labels(**saved["classes"])
    names = tuple(saved["names"])
    _demand(len(names) == 2 and all(map(_are_names, names)), "names")
    _demand(saved["accounts"], "accounts")
    batches, cells = _read_parts(saved, len(classes))
    if cells is not None:
        _demand(not are_cut(cells, settings["n_bins"]).any(), "the bins")
    seen = SeenRows(classes, names, settings, batches, cells)
    inferred = {
        name: _inferred(value, classes.dtype)
        for name, value in document["inferred"].items()
    }
    _check_inferred(inferred, len(classes))
    return parameters, seen, inferred


def _demand(condition, what):
    if not condition:
        raise ValueError(f"{what} cannot be right")


def _are_names(names):
    return names is None or (
        isinstance(names, list) and all(isinstance(name, str) for name in names)
    )


def _read_labels(dtype, values):
    dtype = np.dtype(dtype)
    is_known = dtype.itemsize <= (_WIDEST if dtype.kind == "U" else 8)
    _demand(is_known, "the type of the classes")
    classes = check_labels(np.array(values, dtype), "classes")
    _demand(classes.dtype == dtype, "the type of the classes")
    return classes


def _account(account):
    saved = {
        name: value for name, value in vars(account).items() if name not in _OF_ACCOUNT
    }
    return _plain(saved | {"dtype": account.dtype.str})


def _arrays(parts):
    """The arrays of all batches, or of cells, as one .npz, in characters."""
    arrays = {}
    for k, part in enumerate(parts):
        of_part = vars(part) | vars(part.totals)
        for name in _OF_BATCH + _OF_CELLS + _OF_ACCOUNT:
            if of_part.get(name) is not None:
                arrays[f"{name}_{k}"] = of_part[name]
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return base64.b64encode(file.getvalue()).decode()


def _read_parts(saved, n_classes):
    """Batches; or none, and cells."""
    is_condensed, parts = saved.get("is_condensed", False), []
    names = _OF_CELLS if is_condensed else _OF_BATCH
    characters = io.BytesIO(base64.b64decode(saved["arrays"]))
    with np.load(characters, allow_pickle=False) as arrays:
        for k, account in enumerate(saved["accounts"]):
            of_account = {name: arrays[f"{name}_{k}"] for name in _OF_ACCOUNT}
            of_account |= account | {"dtype": np.dtype(account["dtype"])}
            account = Totals(**of_account)
            _check_account(account, n_classes)
            parts.append((account, *(arrays.get(f"{name}_{k}") for name in names)))
    if not is_condensed:
        batches = [Batch(*part) for part in parts]
        for batch in batches:
            _check_batch(batch, n_classes)
        return batches, None
    (part,) = parts
    cells = Cells(*part, level=0)
    _check_cells(cells, n_classes)
    return [], cells


def _check_account(account, n_classes):
    """Refuse, as below, what could not come from any rows, or reads foreign memory."""
    for name, kind in (("support", "i"), ("support_weight", "f")):
        values = getattr(account, name)
        is_whole = values.dtype.kind == kind and values.shape == (n_classes,)
        _demand(is_whole and (values >= 0).all() and np.isfinite(values).all(), name)
    for name, kinds in _KINDS.items():
        value = getattr(account, name)
        _demand(isinstance(value, kinds) and value >= 0, name)
    n_scores = account.n_samples * n_classes
    _demand(n_scores < _MOST, "n_samples")
    _demand(account.mass <= 2 * n_scores * MASS_ONE, "mass")
    _demand(account.largest_score <= 1, "largest_score")
    _demand(account.dtype.kind == "f", "the precision")


def _check_batch(batch, n_classes):
    account, shape = batch.totals, batch.word.shape
    for name, kind in (("code", "u"), ("word", "u"), ("row", "u"), ("weight", "f")):
        values = getattr(batch, name)
        is_absent = name == "weight" and values is None
        _demand(
            is_absent or (values.dtype.kind == kind and values.shape == shape),
            f"the array of each {name}",
        )
    _demand(len(shape) == 1 and batch.word.itemsize in {4, 8}, "the scores")
    score, _ = unpack(batch.word.copy())
    _demand(((score >= 0) & (score <= 1)).all(), "a score")
    _demand(batch.code.max(initial=0) < n_classes, "a class")
    _demand(not shape[0] or batch.row.max() < account.n_samples, "a row")
    if batch.weight is not None:
        _demand((batch.weight > 0).all() and batch.weight.sum() < np.inf, "a weight")


def _check_cells(cells, n_classes):
    n_cells, indptr, sums = len(cells.lower), cells.indptr, cells.sums
    _demand(indptr.dtype.kind == "i" and indptr.shape == (n_classes + 1,), "indptr")
    _demand(indptr[0] == 0 and indptr[-1] == n_cells, "indptr")
    _demand((np.diff(indptr) >= 0).all(), "indptr")
    _demand(sums.ndim == 2 and len(sums) in {3, 6}, "a sum")
    for values in (cells.lower, cells.upper, *sums):
        is_right = values.dtype == np.float64 and values.shape == (n_cells,)
        _demand(is_right, "a cell")
    is_in_order = (cells.lower >= 0) & (cells.lower <= cells.upper) & (cells.upper <= 1)
    _demand(is_in_order.all(), "a score")
    _demand((sums >= 0).all() and np.isfinite(sums).all(), "a sum")
    _demand((sums[:2] == np.rint(sums[:2])).all() and (sums[0] >= 1).all(), "a count")
    for total, positive, mass in sums.reshape(-1, 3, n_cells):
        _demand((positive <= total * _SLACK).all(), "a sum")
        _demand((mass <= total * cells.upper * _SLACK).all(), "a sum")
        _demand((mass * _SLACK >= total * cells.lower).all(), "a sum")
    follows = np.ones(n_cells + 1, dtype=bool)
    follows[1:-1] = cells.lower[1:] > cells.upper[:-1]
    follows[indptr] = True
    _demand(follows.all(), "the order of scores")
    _demand((cells.n_kept <= cells.totals.n_samples).all(), "a count")
    _demand((cells.kept_positives <= cells.totals.support).all(), "a count")


def _check_inferred(inferred, n_classes):
    unknown = set(inferred) - set(INFERRED)
    _demand(not unknown, f"attributes {sorted(unknown)}")
    for name, value in inferred.items():
        shape = np.shape(value)
        if name == "expected_bins_":
            names = ("class", "bin", "gap", "lower", "upper")
            _demand(value.dtype.names == names, name)
            _demand(not any(np.isinf(value[of]).any() for of in names[2:]), name)
            continue
        expected = (n_classes,) if "class" in name else (2,) * (name == "interval_")
        _demand(shape == expected and not np.isinf(value).any(), name)


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
    _demand(set(saved) <= set(SETTINGS + INFERENCE_SETTINGS), "parameters")
    settings = dict(saved)
    random_state = settings.get("random_state")
    if isinstance(random_state, dict):
        settings["random_state"] = _random_state(**random_state)
    check_parameters(**settings)
    return settings


def _random_state(*, Generator=None, RandomState=None):
    state = Generator or RandomState
    name = state["bit_generator"]
    _demand(name in _POSITIONS, f"bit generator {name!r}")
    where, last = _POSITIONS[name]
    inner = state["state"] if where == "pos" else state
    _demand(where is None or 0 <= inner[where] <= last, "the place in the stream")
    bit_generator = getattr(np.random, name)()
    if Generator:
        bit_generator.state = state
        return np.random.Generator(bit_generator)
    made = np.random.RandomState(bit_generator)
    made.set_state(state)
    return made
