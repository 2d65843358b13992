"""Warnings that point at the line of the user."""

import inspect
import warnings


def warn(message, category=UserWarning):
    """Warn the first caller outside of this package."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and package_of(frame) == "sklearn_tace":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def package_of(frame):
    """Name of the package whose code runs in a frame."""
    return str(frame.f_globals.get("__name__")).partition(".")[0]
