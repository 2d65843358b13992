"""Numbers, labels and settings as text."""

import unicodedata

import numpy as np

WIDTH = 72  # of what is printed, in terminal columns


def count_of(number, noun):
    plural = "" if number == 1 else "es" if noun.endswith("s") else "s"
    return f"{number:,} {noun}{plural}"


def part_of(part, whole):
    share = part / whole if whole else np.nan
    return f"{part:,} of {whole:,} ({percent_of(share)})"


def bins_of(n_bins):
    return "auto bins" if n_bins == "auto" else count_of(n_bins, "bin")


def number_of(threshold):
    return threshold if threshold is None else f"{float(threshold):.6g}"


def percent_of(share):
    if np.isnan(share):
        return "n/a"
    if 0 < share < 0.0005:
        return "<0.1%"
    return ">99.9%" if 0.9995 <= share < 1 else f"{share:.1%}"


def name_of(threshold):
    return "ACE" if threshold is None else "TACE"


def gap_of(norm):
    """What the error of a class is."""
    gaps = {"l1": "mean gap", "l2": "root mean square gap", "max": "largest gap"}
    return gaps[norm]


def level_of(level):
    return f"{100 * level:.4g}%"


def names_of(labels):
    """The first labels, as many as half of ``WIDTH`` holds, and how many more."""
    shown = [cut(label, 14) for label in labels[:WIDTH]]
    while len(shown) > 1 and columns_of(", ".join(shown)) > WIDTH // 2:
        shown.pop()
    more = len(labels) - len(shown)
    return ", ".join(shown) + (f" and {more:,} more" if more else "")


def cell_of(label, width):
    text = cut(label, width)
    return text + " " * (width - columns_of(text))


def cut(label, width):
    """A label as printable text of at most ``width`` terminal columns."""
    text = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode()
        for c in unicodedata.normalize("NFC", str(label))
    )
    if columns_of(text) <= width:
        return text or "''"
    # Long labels tend to differ at their ends: cut the middle.
    head, tail = text[:width], ""
    while columns_of(head) > (width - 3) // 2:
        head = head[:-1]
    while columns_of(tail) + columns_of(text[-len(tail) - 1]) <= width - 3 - columns_of(
        head
    ):
        tail = text[-len(tail) - 1 :]
    return f"{head}...{tail}"


def columns_of(text):
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )
