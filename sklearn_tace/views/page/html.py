"""A fitted report as a page, and in short for a notebook."""

from __future__ import annotations

import base64
import hashlib
import io
import warnings
from html import escape
from importlib.resources import files

import numpy as np

from sklearn_tace import __version__
from sklearn_tace.core.errors import worst_first
from sklearn_tace.inference.attributes import has_intervals, has_reference
from sklearn_tace.views.displays.class_errors import ClassErrorDisplay
from sklearn_tace.views.displays.drawing import import_matplotlib
from sklearn_tace.views.displays.reliability import ReliabilityDisplay, classes_to_draw
from sklearn_tace.views.displays.sensitivity import SensitivityDisplay
from sklearn_tace.views.formatting import count_of, cut, gap_of, level_of
from sklearn_tace.views.page.advice import advise, caution, conclude, explain, is_beyond
from sklearn_tace.views.summary import state

_N_ROWS = 5000  # of the table, so that the page stays small
_N_WORST = 5
_LABEL_WIDTH = 80
_SKEWED = 0.1
_SORTED = ' aria-sort="descending"'
# Blue and orange as Okabe and Ito chose them, for all eyes.
_THEMES = {
    "light": {"page": "#ffffff", "ink": "#1b1f24", "cycle": ("#0072b2", "#d55e00")},
    "dark": {"page": "#14171b", "ink": "#e6e9ec", "cycle": ("#56b4e9", "#e69f00")},
}


def page(report, seen, name=None):
    """One page that needs nothing else."""
    import_matplotlib()  # or say what is missing before anything is drawn
    said = state(report, seen)
    title = "Calibration report" + ("" if name is None else f": {name}")
    pictures = _pictures(report, seen) if report.n_kept_.any() else ""
    style, script = (
        files(__package__).joinpath(file).read_text("utf-8")
        for file in ("page.css", "page.js")
    )
    policy = (
        "default-src 'none'; img-src data:; "
        f"style-src '{_digest(style)}'; script-src '{_digest(script)}'"
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="sklearn_tace {__version__}">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{escape(title)}</h1>
{_paragraphs(said.value[:1], "value")}
{_paragraphs(said.value[1:])}
{_paragraphs(said.settings, "soft")}
</header>
<main>
{_paragraphs([explain(seen.settings)])}
<h2>What these rows tell</h2>
{_list(conclude(report, seen, said))}
<h2>What they do not tell</h2>
{_list(caution(seen.settings, said))}
<h2>What to do</h2>
{_list(advise(said))}
<h2>What the threshold kept</h2>
{_paragraphs([" ".join(said.kept) + "."])}
{pictures}
<h2>Classes</h2>
{_class_table(report, seen.settings, said.with_chance)}
</main>
<script>{script}</script>
</body>
</html>
"""


def compact(report, seen):
    """The report in short; nothing is drawn at random for it."""
    said = state(report, seen, draws=False)
    worst = worst_first(report.class_tace_)[:_N_WORST]
    columns = _columns(seen.settings, said.with_chance)
    head = "".join(f"<th>{name}</th>" for name in columns)
    table = _rows(report, worst, said.with_chance)
    lines = "<br>".join(map(escape, said.value[1:] + said.settings + said.kept))
    caption = (
        f"Largest errors: {len(worst)} of {count_of(len(report.classes_), 'class')}"
    )
    return (
        f"<div><p><strong>{escape(said.value[0])}</strong><br>{lines}</p>"
        f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{table}</tbody></table>{_list(said.notes)}</div>"
    )


def _digest(text):
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _paragraphs(lines, kind=""):
    kind = f' class="{kind}"' if kind else ""
    return "".join(f"<p{kind}>{escape(line)}</p>" for line in lines)


def _list(lines):
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f"<ul>{items}</ul>" if items else ""


def _pictures(report, seen):
    """The three pictures; those of the bins one by one, so that they fit a phone."""
    level = level_of(seen.settings["confidence_level"])
    bins = report.bins_["mean_proba"]
    scale = "log" if np.median(bins) < _SKEWED else "linear"
    with_chance = has_reference(seen)
    panels = []
    for k in classes_to_draw(report):
        label = cut(report.classes_[k], _LABEL_WIDTH)
        display = ReliabilityDisplay._collect(report, classes=report.classes_[[k]])
        alt = f"Reliability diagram of class {label}, {len(display.bins)} bins"
        panels.append(_picture(display, alt, legend=False, scale=scale))
    of_bins = (
        "Each point is a bin of a class: its mean probability, and how often the class "
        "was true in it. The line spans its probabilities; the area is proportional to "
        "its weight. Below the diagonal, probabilities are too high."
    )
    if with_chance:
        of_bins += (
            f" Grey boxes: where {level} of calibrated models' bins would be. Points "
            "outside are orange diamonds."
        )
    if scale == "log":
        of_bins += " The axes are logarithmic; near 0 that of the frequency is linear."
    of_errors = "Full: the error on these rows."
    if has_intervals(seen):
        of_errors += (
            f" Hollow: an estimate without what chance adds; line: {level} interval "
            "for the error on new rows."
        )
    of_settings = "With fewer probabilities in a bin, chance adds more."
    if with_chance:
        of_errors += f" Grey: {level} of calibrated models are within."
        of_settings += (
            " What counts is the distance from calibrated models (dashed), not a rise "
            "alone."
        )
    which = "furthest from chance" if with_chance else "of largest error"
    errors = ClassErrorDisplay._collect(report)
    errors = _picture(errors, "Errors of classes, largest first; see the table below")
    figures = [
        _figure(f"Bins of the classes {which}", panels, of_bins, "pictures"),
        _figure("Errors of the classes", [errors], of_errors),
    ]
    if not seen.is_condensed:
        settings = SensitivityDisplay._collect(report)
        settings = _picture(settings, "TACE by threshold and by number of bins")
        figures.append(_figure("Other settings", [settings], of_settings))
    return "".join(figures)


def _figure(heading, pictures, caption, kind="scrolls wide"):
    return (
        f"<h2>{heading}</h2>\n<figure><div class='{kind}'>{''.join(pictures)}</div>"
        f"<figcaption>{escape(caption)}</figcaption></figure>\n"
    )


def _picture(display, alt, **plot_params):
    matplotlib = import_matplotlib()
    sources = {}
    for theme, colors in _THEMES.items():
        with matplotlib.style.context(["default", _style(**colors)]):
            figure = matplotlib.figure.Figure(layout="constrained")
            display.plot(ax=figure, **plot_params)
            file = io.BytesIO()
            with warnings.catch_warnings():
                # The browser has fonts of its own for what this one lacks.
                warnings.filterwarnings("ignore", "Glyph .* missing from font")
                figure.savefig(file, format="svg", metadata={"Date": None})
        source = base64.b64encode(file.getvalue()).decode()
        sources[theme] = f"data:image/svg+xml;base64,{source}"
    return "".join(
        f'<img class="{theme}" src="{source}" alt="{escape(alt)}">'
        for theme, source in sources.items()
    )


def _style(page, ink, cycle):
    matplotlib = import_matplotlib()
    of_page = ("figure.facecolor", "axes.facecolor", "savefig.facecolor")
    of_ink = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color")
    return {
        **dict.fromkeys(of_page, page),
        **dict.fromkeys((*of_ink, "ytick.color"), ink),
        "axes.prop_cycle": matplotlib.cycler(color=cycle),
        "svg.fonttype": "none",
        "svg.hashsalt": "sklearn_tace",  # the same page for the same report
    }


def _class_table(report, settings, with_chance):
    columns = _columns(settings, with_chance)
    meaning = "; ".join(f"{name}: {words}" for name, words in columns.items() if words)
    measured = worst_first(report.class_tace_)
    order = np.append(measured, np.flatnonzero(np.isnan(report.class_tace_)))
    kinds = _kinds(report, with_chance)
    options = "".join(
        f'<option value="{kind}">{words}</option>'
        for kind, (words, is_kind) in kinds.items()
        if is_kind.any()
    )
    hidden = len(order) - _N_ROWS
    note = [f"{hidden:,} more are in the report's to_frame."] if hidden > 0 else []
    head = "".join(
        f'<th scope="col"{_SORTED if name == "Error" else ""}>'
        f'<button type="button">{name}</button></th>'
        for name in columns
    )
    return f"""{_paragraphs([meaning + "."], "soft")}
<div class="controls" id="controls" hidden>
<label>Class contains <input type="search" id="filter"></label>
<label>Show <select id="kind"><option value="">all</option>{options}</select></label>
<span class="soft" id="shown" role="status"></span>
</div>
<div class="scrolls classes" tabindex="0" role="region" aria-label="Classes">
<table id="classes">
<thead><tr>{head}</tr></thead>
<tbody>
{_rows(report, order[:_N_ROWS], with_chance, kinds)}
</tbody>
</table>
</div>
{_paragraphs(note, "soft")}"""


def _columns(settings, with_chance):
    """Columns of the table of classes, and what they hold."""
    level = level_of(settings["confidence_level"])
    columns = {
        "Class": None,
        "Error": f"{gap_of(settings['norm'])} of its bins",
        "By chance": f"what {level} of calibrated models stay below",
        "Too high by": "mean probability minus observed frequency, of what is kept",
        "Kept": "probabilities above the threshold",
        "True rows": "rows of the class",
        "True lost": "rows of the class whose probability for it was discarded",
    }
    if not with_chance:
        del columns["By chance"]
    return columns


def _kinds(report, with_chance):
    """What the table can be restricted to: words, and which classes."""
    has_survivors = report.n_kept_ > 0
    is_thin = np.isin(report.classes_, report.thin_classes_)
    kinds = {
        "thin": ("fewer kept than bins", is_thin),
        "absent": ("true in no row", has_survivors & (report.support_ == 0)),
        "excluded": ("left out", ~has_survivors),
    }
    if with_chance:
        kinds = {"beyond": ("beyond chance", is_beyond(report))} | kinds
    return kinds


def _rows(report, classes, with_chance, kinds=None):
    """Rows of the table; cells bear the numbers that they are sorted by."""
    table = report._class_columns()
    is_number = report.classes_.dtype.kind in "biuf"
    rows = []
    for k in classes:
        error = table["tace"][k]
        cells = [_cell(error, "left out" if np.isnan(error) else f"{error:.4f}")]
        if with_chance:
            limit = report.expected_class_tace_quantile_[k]
            cells.append(_cell(limit, "" if np.isnan(limit) else f"&lt; {limit:.4f}"))
        excess = table["mean_proba"][k] - table["observed_frequency"][k]
        cells.append(_cell(excess, "" if np.isnan(excess) else f"{excess:+.4f}"))
        for name in ("n_kept", "support", "dropped_positives"):
            cells.append(_cell(table[name][k], f"{table[name][k]:,}"))
        kind = [name for name, (_, is_kind) in (kinds or {}).items() if is_kind[k]]
        kind = f' class="{" ".join(kind)}"' if kind else ""
        label = report.classes_[k]
        number = f' data-v="{float(label):.17g}"' if is_number else ""
        label = escape(cut(label, _LABEL_WIDTH))
        rows.append(f"<tr{kind}><td{number}>{label}</td>{''.join(cells)}</tr>")
    return "\n".join(rows)


def _cell(number, text):
    number = "" if np.isnan(number) else f"{number:.9g}"
    return f'<td data-v="{number}">{text}</td>'
