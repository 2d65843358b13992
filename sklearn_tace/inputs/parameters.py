"""Parameters of scorers and reports, checked."""

import numbers

import numpy as np
from sklearn.utils import check_scalar

_OPTIONS = {
    "ties": ("average", "ordinal"),
    "norm": ("l1", "l2", "max"),
    "average": ("macro", "weighted"),
}


def check_parameters(**settings):
    """Refuse parameters of a wrong type or value."""
    for name, value in settings.items():
        check = _CHECKS.get(name, _check_option)
        check(name, value)


def _check_threshold(name, value):
    if value is None:
        return
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number or None, got {value!r}.")
    if not 0 <= value < 1:
        raise ValueError(f"{name} must fulfil 0 <= {name} < 1, got {value!r}.")


def _check_number_of_bins(name, value):
    if not isinstance(value, str):
        _check_count(name, value)
    elif value != "auto":
        raise ValueError(f"{name} must be an integer or 'auto', got {value!r}.")


def _check_count(name, value):
    if isinstance(value, bool):
        raise TypeError(f"{name} must be an integer, got {value!r}.")
    check_scalar(value, name, numbers.Integral, min_val=1)


def _check_level(name, value):
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, got {value!r}.")
    if not 0 < value < 1:
        raise ValueError(f"{name} must fulfil 0 < {name} < 1, got {value!r}.")


def _check_random_state(name, value):
    if value is None or isinstance(value, np.random.Generator | np.random.RandomState):
        return
    if not isinstance(value, numbers.Integral) or isinstance(value, bool):
        raise TypeError(
            f"{name} must be an integer, a numpy Generator or RandomState, or None, "
            f"got {value!r}."
        )
    if not 0 <= value < 2**32:
        raise ValueError(f"{name} must fulfil 0 <= {name} < 2**32, got {value!r}.")


def _check_option(name, value):
    allowed = ", ".join(map(repr, _OPTIONS[name]))
    also = " (or, in tace_error, None)" if name == "average" else ""
    message = f"{name} must be one of {allowed}{also}, got {value!r}."
    if name == "average" and value is None:
        raise ValueError(message)
    if not isinstance(value, str):
        raise TypeError(message)
    if value not in _OPTIONS[name]:
        raise ValueError(message)


_CHECKS = {
    "threshold": _check_threshold,
    "n_bins": _check_number_of_bins,
    "confidence_level": _check_level,
    "n_draws": _check_count,
    "random_state": _check_random_state,
}
