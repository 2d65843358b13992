"""A fitted report as an HTML page, and in short for a notebook."""

import base64
import hashlib
from html import escape
from importlib.resources import files

import numpy as np

from sklearn_tace import __version__
from sklearn_tace.core.errors import worst_first
from sklearn_tace.inference.attributes import has_intervals
from sklearn_tace.views import formatting
from sklearn_tace.views.displays.drawing import INSTALL, import_matplotlib
from sklearn_tace.views.formatting import count_of, cut
from sklearn_tace.views.page.pictures import draw_pictures
from sklearn_tace.views.summary import state

_N_ROWS = 5000  # of the table, so that the page stays small
_N_WORST = 5
_LABEL_WIDTH = 80


def page(report, seen, name=None):
    """The whole report as one page, rendered from the template ``page.html``."""
    import_matplotlib()  # or say what is missing before anything is drawn
    template = _load_template()
    said = state(report, seen)
    error = report.class_tace_
    beyond = np.zeros(len(error), dtype=bool)
    if said.with_chance:
        beyond = error > report.expected_class_tace_quantile_
    order = np.append(worst_first(error), np.flatnonzero(np.isnan(error)))[:_N_ROWS]
    kinds = _kinds(report, beyond)
    folder = files(__package__)
    style, script = (
        folder.joinpath(name).read_text("utf-8") for name in ("page.css", "page.js")
    )
    return template.render(
        version=__version__,
        title="Calibration report" + ("" if name is None else f": {name}"),
        style=style,
        script=script,
        policy=f"style-src '{_digest(style)}'; script-src '{_digest(script)}'",
        text=formatting,
        report=report,
        seen=seen,
        settings=seen.settings,
        said=said,
        has_intervals=has_intervals(seen),
        n_beyond=beyond.sum(),
        n_measured=np.count_nonzero(report.n_kept_),
        pictures=draw_pictures(report, seen) if report.n_kept_.any() else None,
        kinds=[kind for kind, is_kind in kinds.items() if is_kind.any()],
        columns=_columns(said),
        rows=list(_rows(report, order, said.with_chance, kinds)),
    )


def _load_template():
    try:
        import jinja2
    except ImportError as error:
        raise ImportError(INSTALL.format("Pages", "jinja2")) from error
    return jinja2.Environment(
        loader=jinja2.PackageLoader(__package__, ""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    ).get_template("page.html")


def compact(report, seen):
    """The report in short; nothing is drawn at random for it, and jinja2 not needed."""
    said = state(report, seen, draws=False)
    worst = worst_first(report.class_tace_)[:_N_WORST]
    rows = "".join(
        f"<tr><td>{escape(label)}</td>"
        + "".join(f"<td>{escape(text)}</td>" for _, text in cells)
        + "</tr>"
        for _, (_, label), cells in _rows(report, worst, said.with_chance)
    )
    lines = "<br>".join(
        map(escape, said.value[1:] + said.groups + said.settings + said.kept)
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in said.notes)
    n_classes = count_of(len(report.classes_), "class")
    return (
        f"<div><p><strong>{escape(said.value[0])}</strong><br>{lines}</p><table>"
        f"<caption>Largest errors: {len(worst)} of {n_classes}</caption><thead><tr>"
        + "".join(f"<th>{name}</th>" for name in _columns(said))
        + f"</tr></thead><tbody>{rows}</tbody></table>"
        + (f"<ul>{notes}</ul></div>" if notes else "</div>")
    )


def _digest(text):
    """What the content security policy allows the text by."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _columns(said):
    by_chance = ["By chance"] if said.with_chance else []
    return [
        "Class",
        "Error",
        *by_chance,
        "Too high by",
        "Kept",
        "True rows",
        "True lost",
    ]


def _kinds(report, beyond):
    """What the table can be restricted to, and which classes that shows."""
    has_survivors = report.n_kept_ > 0
    return {
        "beyond": beyond,
        "thin": np.isin(report.classes_, report.thin_classes_),
        "absent": has_survivors & (report.support_ == 0),
        "excluded": ~has_survivors,
    }


def _rows(report, classes, with_chance, kinds=()):
    """Rows of the table of classes: kinds, and (number to sort by, text) of cells."""
    table = report._class_columns()
    excess = table["mean_proba"] - table["observed_frequency"]
    columns = [(table["tace"], "{:.4f}", "left out"), (excess, "{:+.4f}", "")]
    for name in ("n_kept", "support", "dropped_positives"):
        columns.append((table[name], "{:,}", ""))
    if with_chance:
        columns.insert(1, (report.expected_class_tace_quantile_, "< {:.4f}", ""))
    is_number = report.classes_.dtype.kind in "biuf"
    for k in classes:
        label = report.classes_[k]
        cells = [
            ("", missing)
            if np.isnan(values[k])
            else (f"{values[k]:.9g}", form.format(values[k]))
            for values, form, missing in columns
        ]
        number = f"{float(label):.17g}" if is_number else None
        yield (
            " ".join(kind for kind in kinds if kinds[kind][k]),
            (number, cut(label, _LABEL_WIDTH)),
            cells,
        )
