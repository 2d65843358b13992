"""Other implementations of TACE and class-wise ACE that pip can install."""

from functools import partial
from importlib import import_module
from importlib.metadata import version

import numpy as np
from sklearn.calibration import calibration_curve


def _uncertainty_metrics_tace(module, y, proba):
    return module.tace(y, proba, num_bins=15, threshold=0.01)


def _uncertainty_metrics_ace(module, y, proba):
    return module.ace(y, proba, num_bins=15)


def _uncertainty_calibration(module, y, proba):
    return module.get_ece_em(proba, y, num_bins=15, mode="marginal")


def _kyle(module, y, proba):
    return module.class_wise_expected_calibration_error(
        y, proba, n_bins=15, strategy="quantile"
    )


def _mapie(module, y, proba):
    return module.expected_calibration_error(
        y,
        proba,
        num_bins=15,
        split_strategy="quantile",
        classwise=True,
        class_labels=y,
    )


def _calzone(module, y, proba):
    return [
        module.CalibrationMetrics(class_to_calculate=1, num_bins=15).calculate_metrics(
            (y == k).astype(int), np.column_stack([1 - p, p]), metrics=["ECE-C"]
        )
        for k, p in enumerate(proba.T)
    ]


def _scikit_learn(_, y, proba):
    return [
        calibration_curve(y == k, column, n_bins=15, strategy="quantile")
        for k, column in enumerate(proba.T)
    ]


# Name, distribution, module and call.
_PEERS = [
    (
        "uncertainty-metrics `tace`",
        "uncertainty-metrics",
        "uncertainty_metrics.numpy",
        _uncertainty_metrics_tace,
    ),
    (
        "uncertainty-metrics `ace`",
        "uncertainty-metrics",
        "uncertainty_metrics.numpy",
        _uncertainty_metrics_ace,
    ),
    (
        "scikit-learn `calibration_curve`, a class at a time",
        "scikit-learn",
        "sklearn",
        _scikit_learn,
    ),
    (
        "calzone-tool ECE-C, a class at a time",
        "calzone-tool",
        "calzone.metrics",
        _calzone,
    ),
    (
        "kyle-calibration class-wise",
        "kyle-calibration",
        "kyle.evaluation.reliabilities",
        _kyle,
    ),
    ("mapie class-wise", "mapie", "mapie.metrics.calibration", _mapie),
    (
        "uncertainty-calibration `get_ece_em`",
        "uncertainty-calibration",
        "calibration",
        _uncertainty_calibration,
    ),
]


def installed_peers():
    """Functions of labels and probabilities, by name."""
    peers = {}
    for name, distribution, module, function in _PEERS:
        try:
            version(distribution)
            peers[name] = partial(function, import_module(module))
        except ImportError:  # not installed, or something that it needs is not
            continue
    return peers
