"""What a report means, for readers who do not know the terms."""

from __future__ import annotations

import numpy as np

from sklearn_tace.views.formatting import count_of, gap_of, level_of, name_of, number_of


def explain(settings):
    """What is measured."""
    long = "the thresholded adaptive calibration error"
    left_out = " Probabilities at or below the threshold are discarded."
    if settings["threshold"] is None:
        long, left_out = "the adaptive calibration error", ""
    name, gap = name_of(settings["threshold"]), gap_of(settings["norm"])
    return (
        "Calibrated means: of all cases that are given 70%, 70% come true. "
        f"{name}, {long}, is the {gap} between predicted probability and observed "
        "frequency, class by class, in bins of equal count: 0.05 is five percentage "
        "points. 0 is best, but chance keeps even a perfectly calibrated model above "
        f"it.{left_out}"
    )


def conclude(report, seen, said):
    """What these rows tell."""
    if np.isnan(report.tace_):
        reason = "no probability was kept"
        if report.n_kept_.any():
            reason = "no class with evidence has a row"
        yield (
            f"Nothing about the model: {reason}. The value is undefined, which is not "
            "0."
        )
        return
    settings = seen.settings
    level, name = settings["confidence_level"], name_of(settings["threshold"])
    if said.is_clear is None:
        where = "" if seen.is_condensed else f" for average={settings['average']}"
        yield (
            f"{name} describes these rows. How much of it is chance is not known"
            f"{where}."
        )
    elif said.is_clear:
        yield (
            "The model is not perfectly calibrated: its probabilities and the observed "
            "frequencies differ by more than chance explains."
        )
    else:
        yield (
            "These rows cannot distinguish the model from a perfectly calibrated one. "
            "That does not show that it is calibrated."
        )
    if said.with_chance:
        yield (
            f"{name} is {report.tace_:.4f}. By chance alone, a perfectly calibrated "
            f"model would have about {report.expected_tace_:.4f} on these rows."
        )
    if said.with_interval:
        low, high = report.interval_
        yield (
            "Without what chance adds, the error of the model on new rows is "
            f"estimated at {report.debiased_tace_:.4f}, and lies between {low:.4f} and "
            f"{high:.4f} (with {level_of(level)} confidence)."
        )
    if said.with_chance:
        n_beyond = int(np.sum(is_beyond(report)))
        n_measured = np.count_nonzero(report.n_kept_)
        have = "has" if n_beyond == 1 else "have"
        by_chance = (1 - level) * n_measured
        digits = 0 if by_chance >= 10 else 1
        yield (
            f"{n_beyond:,} of {count_of(n_measured, 'class')} {have} a larger error "
            f"than {level_of(level)} of calibrated models would have; by chance "
            f"alone about {by_chance:,.{digits}f} would."
        )


def caution(settings, said):
    """What they do not tell."""
    yield from said.notes
    if settings["threshold"] is not None:
        threshold = number_of(settings["threshold"])
        yield f"Probabilities of {threshold} or less are not assessed."
    yield (
        "Values with another threshold, number of bins or number of rows are not "
        "comparable."
    )
    if said.with_chance:
        yield (
            "All this assumes independent rows. Where rows are repeated or belong "
            "together, chance does more than stated here."
        )
    yield (
        "What is said of single bins and classes holds for each alone. Those picked "
        "for a large error owe some of it to chance."
    )
    yield (
        "A calibrated model need not be a good one: a forecast that is always the base "
        "rate is calibrated. Look at log-loss or accuracy too."
    )


def advise(said):
    """What to do."""
    if said.is_clear:
        yield (
            "Recalibrate on rows that were held out, by temperature scaling or "
            "scikit-learn's CalibratedClassifierCV; then report on other rows."
        )
        yield "Begin with the classes pictured below: they are furthest from chance."
    if said.with_chance and not said.is_clear:
        yield "To detect a smaller error, take more rows."
    if said.with_interval:
        yield (
            "To choose between two models, compare them on the same rows "
            "(sklearn_tace.compare): by their debiased values and the interval of the "
            "difference, not by TACE."
        )
    else:
        yield "To choose between two models, report on the same rows for both."


def is_beyond(report):
    """Which classes err by more than calibrated ones would; False where left out."""
    return report.class_tace_ > report.expected_class_tace_quantile_
