"""A fitted report in words, for a terminal."""

import textwrap
import unicodedata

import numpy as np

from sklearn_tace._binning import bins_asked
from sklearn_tace._calibration import chance_gap, pool_gaps
from sklearn_tace._version import __version__

_WIDTH = 72
_LABEL_WIDTH = 20
_N_WORST = 5
# With fewer rows a bin the value speaks of these predictions, not of the model.
_FEW_ROWS_A_BIN = 20


def summarize(report, is_weighted, *, threshold, n_bins, ties, norm, average):
    """The value and its settings, the filter's account, the worst classes, caveats."""
    name = "ACE" if threshold is None else "TACE"
    undefined = np.isnan(report.tace_)
    lines = [f"{name} undefined" if undefined else f"{name} {report.tace_:.4f}"]
    if (norm, average, is_weighted, undefined) == ("l1", "macro", False, False):
        bins = report.bins_
        gap = chance_gap(bins["count"], bins["mean_proba"])
        chance = pool_gaps(gap, bins["bin"], norm).mean()
        lines += [f"a calibrated model would have about {chance:.4f}, by chance alone"]
    lines += [
        f"threshold {_number(threshold)}, {_bins(n_bins)}, "
        f"{_count(report.n_samples_, 'row')}{' (weighted)' if is_weighted else ''}, "
        f"{np.count_nonzero(report.n_kept_):,} of "
        f"{_count(len(report.classes_), 'class')} measured",
        f"ties={ties}, norm={norm}, average={average}, sklearn_tace {__version__}",
        *_account(report),
    ]
    if np.isfinite(report.class_tace_).any():
        lines += ["", *_worst_classes(report)]
    notes = [
        textwrap.fill(note, _WIDTH, initial_indent="- ", subsequent_indent="  ")
        for note in _notes(report, n_bins, ties)
    ]
    if notes:
        lines += ["", "Read with care:", *notes]
    return "\n".join(lines)


def _account(report):
    n_entries = report.n_samples_ * len(report.classes_)
    positives, lost = report.support_.sum(), report.dropped_positives_.sum()
    yield (
        f"Kept {_part(report.n_kept_.sum(), n_entries)} probabilities, "
        f"{_percent(report.kept_mass_)} of their sum,"
    )
    yield f"among them {_part(positives - lost, positives)} of a true class"


def _worst_classes(report):
    error = report.class_tace_
    measured = np.flatnonzero(np.isfinite(error))
    worst = measured[np.argsort(-error[measured], kind="stable")][:_N_WORST]
    head = f"Worst {len(worst)} of {len(measured):,}"
    yield f"{head:<{_LABEL_WIDTH}}   error      kept  true rows  true lost"
    for k in worst:
        yield (
            f"  {_cell(report.classes_[k], _LABEL_WIDTH - 2)}  {error[k]:.4f} "
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
            yield (
                f"{rows_a_bin:.1f} probabilities a bin in the median class: take "
                "fewer bins."
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
