"""A fitted report in words."""

import textwrap
from typing import NamedTuple

import numpy as np

from sklearn_tace import __version__
from sklearn_tace.core.bins import bins_asked
from sklearn_tace.core.errors import worst_first
from sklearn_tace.inference.attributes import (
    FEWEST_GROUPS,
    has_intervals,
    has_reference,
)
from sklearn_tace.views.formatting import (
    WIDTH,
    bins_of,
    cell_of,
    count_of,
    level_of,
    name_of,
    names_of,
    number_of,
    part_of,
    percent_of,
)
from sklearn_tace.views.ranking import furthest_from_chance

_HEIGHT = 23
_LABEL_WIDTH = 20
_N_WORST = 5
_FEW_ROWS_A_BIN = 20
_TOO_FEW = 5
_FEW_GROUPS = 20
_REPEATED = 0.02  # of the rows: what is said of chance changes little below


class Statements(NamedTuple):
    """What there is to say of a report, in sentences and lines."""

    value: list[str]  # its value first, with a verdict where there is one
    groups: list[str]  # how much the rows tell, where they are in groups
    settings: list[str]
    kept: list[str]  # of the threshold
    notes: list[str]  # what limits the evidence
    is_undefined: bool
    with_chance: bool  # what chance would give is known
    with_interval: bool  # an interval too
    is_clear: bool | None  # not chance alone; None where that is not known


def state(report, seen, *, draws=True) -> Statements:
    """What there is to say; without ``draws``, of what chance would give only if known.

    ``seen`` is what the report has kept of its rows.
    """
    settings = seen.settings
    is_undefined = bool(np.isnan(report.tace_))
    with_chance = has_reference(seen) and not is_undefined
    with_chance &= draws or "expected_tace_" in vars(report)
    with_interval = with_chance and has_intervals(seen)
    p = _p_value(report, with_interval) if with_chance else None
    is_clear = None if p is None else p <= 1 - settings["confidence_level"]
    notes = [*_notes_on_classes(report), *_notes_on_bins(report, settings)]
    if seen.is_condensed:
        notes.append(
            "More was kept than scikit-learn's working_memory held: what chance would "
            "give, an interval and other settings are not known. It would take "
            f"{seen.needed_memory:,} MiB."
        )
    sizes = seen.group_sizes
    notes += _notes_on_groups(report, sizes, with_chance)
    if with_interval:
        notes += _notes_on_interval(report, is_clear)
    return Statements(
        value=list(_value(report, settings, p, is_clear, with_interval)),
        groups=list(_groups(report, sizes, with_chance)),
        settings=list(_settings(report, seen)),
        kept=list(_kept(report)),
        notes=notes,
        is_undefined=is_undefined,
        with_chance=with_chance,
        with_interval=with_interval,
        is_clear=is_clear,
    )


def summarize(report, seen):
    """The report for a terminal: at most one screen."""
    said = state(report, seen)
    groups = [line for text in said.groups for line in textwrap.wrap(text, WIDTH)]
    lines = said.value + groups + said.settings + said.kept
    notes = "\n".join(
        textwrap.fill(note, WIDTH, initial_indent="- ", subsequent_indent="  ")
        for note in said.notes
    )
    notes = ["", "Read with care:", *notes.splitlines()] if notes else []
    if np.isfinite(report.class_tace_).any():
        n_worst = max(1, min(_N_WORST, _HEIGHT - len(lines) - len(notes) - 2))
        lines += ["", *_worst_classes(report, n_worst, said.with_chance)]
    return "\n".join(lines + notes)


def _value(report, settings, p, is_clear, with_interval):
    name = name_of(settings["threshold"])
    level = level_of(settings["confidence_level"])
    value = "undefined" if np.isnan(report.tace_) else f"{report.tace_:.4f}"
    if p is None:
        yield f"{name} {value}"
        return
    verdict = "not chance alone" if is_clear else "may be chance alone"
    p = f"= {p:.3f}" if p >= 0.0005 else "< 0.001"
    yield f"{name} {value}: {verdict} (p {p})"
    yield (
        f"a calibrated model would have about {report.expected_tace_:.4f} by chance, "
        f"{level} below {report.expected_tace_quantile_:.4f}"
    )
    if with_interval:
        low, high = report.interval_
        yield (
            f"debiased {report.debiased_tace_:.4f}, {level} interval "
            f"{low:.4f} to {high:.4f} (for new rows)"
        )


def _settings(report, seen):
    settings = seen.settings
    n_rows = count_of(report.n_samples_, "row")
    weighted = "" if seen.survivors.weight is None else " (weighted)"
    yield (
        f"threshold {number_of(settings['threshold'])}, {bins_of(settings['n_bins'])}, "
        f"{n_rows}{weighted}, {np.count_nonzero(report.n_kept_):,} of "
        f"{count_of(len(report.classes_), 'class')} measured"
    )
    yield (
        f"ties={settings['ties']}, norm={settings['norm']}, "
        f"average={settings['average']}, sklearn_tace {__version__}"
    )


def _groups(report, sizes, with_chance):
    if sizes is None:
        return
    median = f"{np.median(sizes):,.4g}"
    tells = ""
    if with_chance:
        n_eff = report.n_samples_ / report.design_effect_
        tells = (
            f" tell as much about the error as about {_rounded(n_eff):,} independent "
            "rows"
        )
    yield (
        f"{count_of(report.n_samples_, 'row')} in {count_of(len(sizes), 'group')} "
        f"(median {median}, largest {sizes.max():,}){tells}"
    )


def _rounded(number):
    """To two digits."""
    unit = 10 ** max(0, int(np.log10(number)) - 1)
    return int(np.rint(number / unit)) * unit


def _notes_on_groups(report, sizes, with_chance):
    if sizes is None:
        share = report.repeated_share_ if with_chance else 0
        if share > _REPEATED:
            yield (
                f"{percent_of(share)} of the rows have exactly the predictions of "
                "others. If rows are repeated or belong together, pass groups=: chance "
                "then does more than is said here."
            )
    elif len(sizes) < FEWEST_GROUPS:
        yield (
            f"{count_of(len(sizes), 'group')}: too few to tell an error from chance. "
            f"It takes {FEWEST_GROUPS}."
        )
    elif len(sizes) < _FEW_GROUPS:
        yield (
            f"Only {len(sizes)} groups: p and interval are rough, and small errors "
            "cannot be seen."
        )


def _p_value(report, with_interval):
    """Of both tests at once where there are two."""
    if not with_interval:
        return report.p_value_
    return min(1, 2 * min(report.p_value_, report.direction_p_value_))


def _notes_on_interval(report, is_clear):
    low, high = report.interval_
    if report.tace_ > high:
        yield "The value is above the interval, for noise adds to it: state both."
    if not low and is_clear:
        yield "There is an error, but its size may be near 0."


def _kept(report):
    n_entries = report.n_samples_ * len(report.classes_)
    positives, lost = report.support_.sum(), report.dropped_positives_.sum()
    yield (
        f"Kept {part_of(report.n_kept_.sum(), n_entries)} probabilities, "
        f"{percent_of(report.kept_mass_)} of their sum,"
    )
    yield f"among them {part_of(positives - lost, positives)} of a true class"


def _worst_classes(report, n_worst, with_chance):
    error = report.class_tace_
    measured = worst_first(error)
    worst = measured[:n_worst]
    if with_chance:
        furthest = furthest_from_chance(report, n_worst, with_intervals=False)
        worst = measured[np.isin(measured, furthest)]
    head = f"Worst {len(worst)} of {len(measured):,}"
    chance = "  by chance" if with_chance else ""
    yield f"{head:<{_LABEL_WIDTH}}   error{chance}      kept  true rows  true lost"
    for k in worst:
        if with_chance:
            chance = f"    <{report.expected_class_tace_quantile_[k]:.4f}"
        label = cell_of(report.classes_[k], _LABEL_WIDTH - 2)
        yield (
            f"  {label}  {error[k]:.4f}{chance} "
            f"{report.n_kept_[k]:>9,} {report.support_[k]:>10,} "
            f"{report.dropped_positives_[k]:>10,}"
        )


def _notes_on_classes(report):
    excluded, thin = report.excluded_classes_, report.thin_classes_
    absent = report.classes_[(report.support_ == 0) & (report.n_kept_ > 0)]
    if len(excluded):
        n_rows = count_of(report.support_[report.n_kept_ == 0].sum(), "row")
        yield (
            f"{count_of(len(excluded), 'class')} left out (not counted as 0), nothing "
            f"above the threshold: {names_of(excluded)}; true in {n_rows}."
        )
    if len(thin):
        yield (
            f"{count_of(len(thin), 'class')} with fewer kept than bins, mostly noise: "
            f"{names_of(thin)}."
        )
    if len(absent):
        yield (
            f"{count_of(len(absent), 'class')} true in no row, so the error is the "
            f"mean probability: {names_of(absent)}."
        )


def _notes_on_bins(report, settings):
    kept = report.n_kept_[report.n_kept_ > 0]
    n_bins = bins_asked(kept, settings["n_bins"])
    rows_a_bin = np.median(kept / np.minimum(kept, n_bins)) if len(kept) else np.inf
    if rows_a_bin < _FEW_ROWS_A_BIN:
        speaks = "too few to conclude" if rows_a_bin < _TOO_FEW else "chance adds a lot"
        fewer = 'Take fewer bins, or n_bins="auto".'
        advice = "More rows are needed." if settings["n_bins"] == "auto" else fewer
        yield (
            f"{rows_a_bin:.1f} probabilities a bin in the median class: {speaks}. "
            f"{advice}"
        )
    if len(report.tied_classes_) and settings["ties"] == "ordinal":
        yield (
            f"{count_of(len(report.tied_classes_), 'class')} with cuts through ties: "
            "the order of the rows matters."
        )
