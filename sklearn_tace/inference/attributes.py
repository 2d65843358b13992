"""Attributes of a report that describe chance, computed on demand."""

import numpy as np
from sklearn.utils import check_random_state

from sklearn_tace.core.bins import as_table, bin_survivors
from sklearn_tace.inference.binned_rows import assign_to_bins
from sklearn_tace.inference.debiased import Debiased, debias
from sklearn_tace.inference.dependence import fit_dependence, repeated_share
from sklearn_tace.inference.reference import UNDEFINED, draw_reference

INFERENCE_SETTINGS = ("confidence_level", "n_draws", "random_state")

# Where many settings are looked at: draws of labels, and outcomes in all of them.
_LEAST_DRAWS, _FEW_DRAWS, _FEW_OUTCOMES = 20, 200, 2**22

# With fewer groups no method that was tried keeps its level.
FEWEST_GROUPS = 5

# Attributes of a report by what they come from.
_OF_REFERENCE = (
    "expected_tace_",
    "expected_tace_quantile_",
    "p_value_",
    "expected_class_tace_",
    "expected_class_tace_quantile_",
    "expected_bins_",
    "design_effect_",
    "repeated_share_",
)
_OF_DEBIASED = ("debiased_tace_", "interval_", "direction_p_value_")
INFERRED = _OF_REFERENCE + _OF_DEBIASED


def has_reference(seen):
    """Whether there is a reference distribution."""
    return why_no_reference(seen) is None and not seen.is_condensed


def has_intervals(seen):
    """Whether there are debiased errors and intervals."""
    return why_no_intervals(seen) is None and not seen.is_condensed


def why_no_reference(seen):
    """Why there is no reference distribution; None if there is."""
    average = seen.settings["average"]
    if average != "macro":
        return f"is for average='macro', not {average!r}"
    return _why_too_few_groups(seen)


def why_no_intervals(seen):
    """Why there are no debiased errors and intervals; None if there are."""
    norm = seen.settings["norm"]
    return (
        f"is for norm='l1', not {norm!r}" if norm != "l1" else _why_too_few_groups(seen)
    )


def _why_too_few_groups(seen):
    sizes = seen.group_sizes
    if sizes is None or len(sizes) >= FEWEST_GROUPS:
        return None
    return f"needs {FEWEST_GROUPS} groups or more, and there are {len(sizes)}"


def infer(seen, tace, name):
    """Attributes by name: the one that is asked for, and those that come with it."""
    settings = seen.settings
    level = float(settings["confidence_level"])
    if seen.is_condensed:
        raise AttributeError(seen.refusal(name))
    why = why_no_reference(seen)
    if why is None and name in _OF_DEBIASED:
        why = why_no_intervals(seen)
    if why is not None:
        raise AttributeError(f"{name} {why}.")
    binned = bin_rows(seen.sorted_rows(), settings)
    rng = as_generator(settings["random_state"])
    reference, debiased = UNDEFINED, Debiased(*[np.nan] * 4)
    if binned.n_rows:
        binned = fit_dependence(binned, rng)
        reference = draw_reference(
            binned, settings["norm"], settings["n_draws"], level, rng
        )
        if has_intervals(seen):
            debiased = debias(binned, level, tace, rng)
    attributes = _reference_attributes(reference, binned, seen.classes)
    if has_intervals(seen):
        attributes |= {
            "debiased_tace_": debiased.tace,
            "interval_": np.array([debiased.lower, debiased.upper]),
            "direction_p_value_": debiased.direction_p_value,
        }
    return attributes


def expected_tace(survivors, settings):
    """Mean value under calibration, from fewer draws: good to a few percent."""
    binned = bin_rows(survivors, settings)
    if not binned.n_rows:
        return np.nan
    n_draws = max(_LEAST_DRAWS, min(_FEW_DRAWS, _FEW_OUTCOMES // len(binned.part)))
    n_draws = min(n_draws, settings["n_draws"])
    rng = as_generator(settings["random_state"])
    binned = fit_dependence(binned, rng)
    level = float(settings["confidence_level"])
    return draw_reference(binned, settings["norm"], n_draws, level, rng).mean


def class_estimates(seen, class_tace, classes):
    """Debiased error and interval of each of these classes, from its column alone."""
    settings = seen.settings
    level, survivors = float(settings["confidence_level"]), seen.sorted_rows()
    estimates = {}
    for k in classes:
        estimates[k] = [np.nan] * 3
        if survivors.n_kept[k]:
            binned = bin_rows(survivors.of_classes(k, k + 1), settings)
            rng = as_generator(settings["random_state"])  # whatever the other classes
            binned = fit_dependence(binned, rng)
            estimates[k] = debias(binned, level, class_tace[k], rng)[:3]
    return estimates


def _reference_attributes(reference, binned, classes):
    def of_classes(values):
        spread = np.full(len(classes), np.nan)
        spread[binned.class_index[binned.head]] = values
        return spread

    return {
        "expected_tace_": reference.mean,
        "expected_tace_quantile_": reference.quantile,
        "p_value_": reference.p_value,
        "expected_class_tace_": of_classes(reference.class_mean),
        "expected_class_tace_quantile_": of_classes(reference.class_quantile),
        "expected_bins_": as_table({
            "class": classes[binned.class_index],
            "bin": binned.index,
            "gap": reference.gap,
            "lower": reference.lower,
            "upper": reference.upper,
        }),
        "design_effect_": binned.design if binned.n_rows else np.nan,
        "repeated_share_": repeated_share(binned) if binned.n_rows else np.nan,
    }


def bin_rows(survivors, settings):
    """Survivors with their shares in the bins."""
    bins = bin_survivors(survivors, settings["n_bins"], settings["ties"])
    return assign_to_bins(survivors, bins)


def as_generator(random_state):
    """A numpy generator from what scikit-learn takes for a random state."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    seeds = check_random_state(random_state).randint(2**31, size=8)
    return np.random.default_rng(seeds)
