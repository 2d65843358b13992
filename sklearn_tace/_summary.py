"""A fitted report in words, for a terminal."""

import textwrap
import unicodedata

import numpy as np

from sklearn_tace._binning import bins_asked
from sklearn_tace._version import __version__

_WIDTH, _HEIGHT = 72, 23
_LABEL_WIDTH = 20
_N_WORST = 5
_FEW_ROWS_A_BIN = 20
_TOO_FEW = 5


def summarize(
    report,
    is_weighted,
    *,
    threshold,
    n_bins,
    ties,
    norm,
    average,
    confidence_level,
    **_,
):
    """The value and what chance has to do with it, settings, worst classes, caveats."""
    undefined = np.isnan(report.tace_)
    with_chance = average == "macro" and not undefined
    with_interval = with_chance and norm == "l1"
    lines = list(
        _value(report, threshold, confidence_level, with_chance, with_interval)
    )
    lines += [
        f"threshold {_number(threshold)}, {_bins(n_bins)}, "
        f"{_count(report.n_samples_, 'row')}{' (weighted)' if is_weighted else ''}, "
        f"{np.count_nonzero(report.n_kept_):,} of "
        f"{_count(len(report.classes_), 'class')} measured",
        f"ties={ties}, norm={norm}, average={average}, sklearn_tace {__version__}",
        *_account(report),
    ]
    notes = list(_notes(report, n_bins, ties))
    if with_interval:
        notes += _notes_on_interval(report, confidence_level)
    notes = "\n".join(
        textwrap.fill(note, _WIDTH, initial_indent="- ", subsequent_indent="  ")
        for note in notes
    )
    notes = ["", "Read with care:", *notes.splitlines()] if notes else []
    if np.isfinite(report.class_tace_).any():
        n_worst = max(1, min(_N_WORST, _HEIGHT - len(lines) - len(notes) - 2))
        lines += ["", *_worst_classes(report, n_worst, with_chance)]
    return "\n".join(lines + notes)


def _value(report, threshold, level, with_chance, with_interval):
    name = "ACE" if threshold is None else "TACE"
    if np.isnan(report.tace_):
        yield f"{name} undefined"
        return
    value = f"{name} {report.tace_:.4f}"
    if not with_chance:
        yield value
        return
    p = _p_value(report, with_interval)
    verdict = "not chance alone" if p <= 1 - level else "may be chance alone"
    yield f"{value}: {verdict} (p {f'= {p:.3f}' if p >= 0.0005 else '< 0.001'})"
    yield (
        f"a calibrated model would have about {report.expected_tace_:.4f} by chance, "
        f"{_level(level)} below {report.expected_tace_quantile_:.4f}"
    )
    if with_interval:
        low, high = report.interval_
        yield (
            f"debiased {report.debiased_tace_:.4f}, {_level(level)} interval "
            f"{low:.4f} to {high:.4f} (for new rows)"
        )


def _p_value(report, with_interval):
    """Of both tests at once where there are two."""
    if not with_interval:
        return report.p_value_
    return min(1, 2 * min(report.p_value_, report.direction_p_value_))


def _notes_on_interval(report, level):
    low, high = report.interval_
    if report.tace_ > high:
        yield "The value is above the interval, for noise adds to it: state both."
    if not low and _p_value(report, with_interval=True) <= 1 - level:
        yield "There is an error, but its size may be near 0."


def _account(report):
    n_entries = report.n_samples_ * len(report.classes_)
    positives, lost = report.support_.sum(), report.dropped_positives_.sum()
    yield (
        f"Kept {_part(report.n_kept_.sum(), n_entries)} probabilities, "
        f"{_percent(report.kept_mass_)} of their sum,"
    )
    yield f"among them {_part(positives - lost, positives)} of a true class"


def _worst_classes(report, n_worst, with_chance):
    error = report.class_tace_
    measured = np.flatnonzero(np.isfinite(error))
    worst = measured[np.argsort(-error[measured], kind="stable")][:n_worst]
    head = f"Worst {len(worst)} of {len(measured):,}"
    chance = "  by chance" if with_chance else ""
    yield f"{head:<{_LABEL_WIDTH}}   error{chance}      kept  true rows  true lost"
    for k in worst:
        if with_chance:
            chance = f"    <{report.expected_class_tace_quantile_[k]:.4f}"
        yield (
            f"  {_cell(report.classes_[k], _LABEL_WIDTH - 2)}  {error[k]:.4f}{chance} "
            f"{report.n_kept_[k]:>9,} {report.support_[k]:>10,} "
            f"{report.dropped_positives_[k]:>10,}"
        )


def _notes(report, n_bins, ties):
    """What limits the evidence, in plain words."""
    excluded, thin = report.excluded_classes_, report.thin_classes_
    absent = report.classes_[(report.support_ == 0) & (report.n_kept_ > 0)]
    if len(excluded):
        n_rows = report.support_[report.n_kept_ == 0].sum()
        yield (
            f"{_count(len(excluded), 'class')} left out (not counted as 0), nothing "
            f"above the threshold: {_names(excluded)}; true in {_count(n_rows, 'row')}."
        )
    if len(thin):
        yield (
            f"{_count(len(thin), 'class')} with fewer kept than bins, mostly noise: "
            f"{_names(thin)}."
        )
    if len(absent):
        yield (
            f"{_count(len(absent), 'class')} true in no row, so the error is the mean "
            f"probability: {_names(absent)}."
        )
    kept = report.n_kept_[report.n_kept_ > 0]
    if len(kept):
        rows_a_bin = np.median(kept / np.minimum(kept, bins_asked(kept, n_bins)))
        if rows_a_bin < _FEW_ROWS_A_BIN:
            speaks = (
                "too few to conclude" if rows_a_bin < _TOO_FEW else "chance adds a lot"
            )
            advice = "Take fewer bins." if n_bins != "auto" else "More rows are needed."
            yield (
                f"{rows_a_bin:.1f} probabilities a bin in the median class: {speaks}. "
                f"{advice}"
            )
    if len(report.tied_classes_) and ties == "ordinal":
        yield (
            f"{_count(len(report.tied_classes_), 'class')} with cuts through ties: the "
            "order of the rows matters."
        )


def _count(number, noun):
    plural = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{plural}"


def _part(part, whole):
    share = part / whole if whole else np.nan
    return f"{part:,} of {whole:,} ({_percent(share)})"


def _bins(n_bins):
    return "auto bins" if n_bins == "auto" else _count(n_bins, "bin")


def _number(threshold):
    return threshold if threshold is None else f"{float(threshold):.6g}"


def _percent(share):
    if np.isnan(share):
        return "n/a"
    if 0 < share < 0.0005:
        return "<0.1%"
    return ">99.9%" if 0.9995 <= share < 1 else f"{share:.1%}"


def _level(level):
    return f"{100 * level:.4g}%"


def _names(labels):
    """As many of the labels as fit in part of a line, and how many more."""
    shown = [_cut(label, 14) for label in labels[:_WIDTH]]
    while len(shown) > 1 and _columns(", ".join(shown)) > _WIDTH // 2:
        shown.pop()
    more = len(labels) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def _cell(label, width):
    text = _cut(label, width)
    return text + " " * (width - _columns(text))


def _cut(label, width):
    """A label as printable text of at most ``width`` terminal columns."""
    text = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode()
        for c in unicodedata.normalize("NFC", str(label))
    )
    if _columns(text) <= width:
        return text or "''"
    # Long labels tend to differ at their ends: cut the middle.
    head, tail = text[:width], ""
    while _columns(head) > (width - 3) // 2:
        head = head[:-1]
    while _columns(tail) + _columns(text[-len(tail) - 1]) <= width - 3 - _columns(head):
        tail = text[-len(tail) - 1 :]
    return f"{head}...{tail}"


def _columns(text):
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )
