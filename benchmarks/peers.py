"""Other implementations of calibration errors that pip can install."""

from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from importlib.metadata import version
from typing import NamedTuple

import numpy as np
from sklearn.calibration import calibration_curve


class Peer(NamedTuple):
    """A function of a package, called with labels 0 to K - 1 and K columns."""

    name: str
    distribution: str
    module: str
    call: Callable  # module, y, proba, n_bins, threshold


def _tace(module, y, proba, n_bins, threshold):
    return module.tace(y, proba, num_bins=n_bins, threshold=threshold)


def _ace(module, y, proba, n_bins, threshold):
    return module.ace(y, proba, num_bins=n_bins)


def _sce(module, y, proba, n_bins, threshold):
    return module.sce(y, proba, num_bins=n_bins)


def _uncertainty_calibration(module, y, proba, n_bins, threshold):
    return module.get_ece_em(proba, y, num_bins=n_bins, mode="marginal")


def _kyle(module, y, proba, n_bins, threshold):
    return module.class_wise_expected_calibration_error(
        y, proba, n_bins=n_bins, strategy="quantile"
    )


def _mapie(module, y, proba, n_bins, threshold):
    return module.expected_calibration_error(
        y,
        proba,
        num_bins=n_bins,
        split_strategy="quantile",
        classwise=True,
        class_labels=y,
    )


def _calzone(module, y, proba, n_bins, threshold):
    metric = module.CalibrationMetrics(class_to_calculate=1, num_bins=n_bins)
    return np.mean([
        metric.calculate_metrics(
            (y == k).astype(int), np.column_stack([1 - p, p]), metrics=["ECE-C"]
        )["ECE-C"]
        for k, p in enumerate(proba.T)
    ])


def _scikit_learn(module, y, proba, n_bins, threshold):
    errors = []
    for k, column in enumerate(proba.T):
        frequency, mean = calibration_curve(
            y == k, column, n_bins=n_bins, strategy="quantile"
        )
        errors.append(np.abs(frequency - mean).mean())
    return np.mean(errors)


def _torchmetrics_binary(module, y, proba, n_bins, threshold):
    from torch import from_numpy

    return np.mean([
        module.binary_calibration_error(
            from_numpy(p.copy()), from_numpy((y == k).astype(int)), n_bins=n_bins
        ).item()
        for k, p in enumerate(proba.T)
    ])


def _torchmetrics_top(module, y, proba, n_bins, threshold):
    from torch import from_numpy

    return module.multiclass_calibration_error(
        from_numpy(proba), from_numpy(y), num_classes=proba.shape[1], n_bins=n_bins
    ).item()


def _torch_uncertainty_classwise(module, y, proba, n_bins, threshold):
    metric = module.ClasswiseCalibrationError(proba.shape[1], num_bins=n_bins)
    return _torch_result(metric, y, proba)


def _torch_uncertainty_top(module, y, proba, n_bins, threshold):
    metric = module.AdaptiveCalibrationError(
        task="multiclass", num_classes=proba.shape[1], num_bins=n_bins
    )
    return _torch_result(metric, y, proba)


def _torch_result(metric, y, proba):
    from torch import from_numpy

    metric.update(from_numpy(proba), from_numpy(y))
    return metric.compute().item()


def _netcal_ace(module, y, proba, n_bins, threshold):
    return module.ACE(bins=n_bins).measure(proba, y)


def _netcal_ece(module, y, proba, n_bins, threshold):
    return module.ECE(bins=n_bins, equal_intervals=False).measure(proba, y)


# One class at a time, what is above the threshold.
THRESHOLDED = [
    Peer(
        "uncertainty-metrics `tace`",
        "uncertainty-metrics",
        "uncertainty_metrics.numpy",
        _tace,
    ),
]

# One class at a time, bins of equal count.
EQUAL_COUNT = [
    Peer(
        "uncertainty-metrics `ace`",
        "uncertainty-metrics",
        "uncertainty_metrics.numpy",
        _ace,
    ),
    Peer(
        "scikit-learn `calibration_curve`, a class at a time",
        "scikit-learn",
        "sklearn",
        _scikit_learn,
    ),
    Peer(
        "calzone-tool ECE-C, a class at a time",
        "calzone-tool",
        "calzone.metrics",
        _calzone,
    ),
    Peer(
        "kyle-calibration class-wise",
        "kyle-calibration",
        "kyle.evaluation.reliabilities",
        _kyle,
    ),
    Peer("mapie class-wise", "mapie", "mapie.metrics.calibration", _mapie),
    Peer(
        "uncertainty-calibration `get_ece_em`",
        "uncertainty-calibration",
        "calibration",
        _uncertainty_calibration,
    ),
]

# One class at a time, bins of equal width.
EQUAL_WIDTH = [
    Peer(
        "uncertainty-metrics `sce`",
        "uncertainty-metrics",
        "uncertainty_metrics.numpy",
        _sce,
    ),
    Peer(
        "torchmetrics `binary_calibration_error`, a class at a time",
        "torchmetrics",
        "torchmetrics.functional.classification",
        _torchmetrics_binary,
    ),
    Peer(
        "torch-uncertainty `ClasswiseCalibrationError`",
        "torch-uncertainty",
        "torch_uncertainty.metrics",
        _torch_uncertainty_classwise,
    ),
]

# Was the most probable class right?
TOP_LABEL = [
    Peer(
        "torchmetrics `multiclass_calibration_error`",
        "torchmetrics",
        "torchmetrics.functional.classification",
        _torchmetrics_top,
    ),
    Peer(
        "torch-uncertainty `AdaptiveCalibrationError`",
        "torch-uncertainty",
        "torch_uncertainty.metrics",
        _torch_uncertainty_top,
    ),
    Peer("netcal `ACE`", "netcal", "netcal.metrics", _netcal_ace),
    Peer(
        "netcal `ECE(equal_intervals=False)`", "netcal", "netcal.metrics", _netcal_ece
    ),
]


@cache
def load(peer):
    """A function of labels, probabilities, bins, threshold; None if not to be had."""
    try:
        version(peer.distribution)
        return partial(peer.call, import_module(peer.module))
    except (ImportError, OSError, RuntimeError):  # it, or something that it needs
        return None


def installed_peers(n_bins=15, threshold=0.01):
    """TACE and class-wise ACE: functions of labels and probabilities, by name."""
    loaded = {peer.name: load(peer) for peer in THRESHOLDED + EQUAL_COUNT}
    return {
        name: partial(function, n_bins=n_bins, threshold=threshold)
        for name, function in loaded.items()
        if function is not None
    }
