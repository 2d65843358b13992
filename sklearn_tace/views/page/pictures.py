"""Pictures of a page, each in the colours of a light and of a dark screen."""

import base64
import io
import warnings

import numpy as np

from sklearn_tace.views.displays.class_errors import ClassErrorDisplay
from sklearn_tace.views.displays.drawing import import_matplotlib
from sklearn_tace.views.displays.reliability import ReliabilityDisplay, classes_to_draw
from sklearn_tace.views.displays.sensitivity import SensitivityDisplay
from sklearn_tace.views.formatting import cut

_LABEL_WIDTH = 80
_SKEWED = 0.1  # of the bins' mean probabilities, half are lower: a logarithmic scale
# Blue and orange as Okabe and Ito chose them, for all eyes.
_THEMES = {
    "light": ("#ffffff", "#1b1f24", ("#0072b2", "#d55e00")),
    "dark": ("#14171b", "#e6e9ec", ("#56b4e9", "#e69f00")),
}


def draw_pictures(report, seen):
    """The three pictures; that of the bins in panels, so that they fit a phone."""
    is_skewed = np.median(report.bins_["mean_proba"]) < _SKEWED
    scale = "log" if is_skewed else "linear"
    panels = []
    for k in classes_to_draw(report):
        display = ReliabilityDisplay._collect(report, classes=report.classes_[[k]])
        label, n_bins = cut(report.classes_[k], _LABEL_WIDTH), len(display.bins)
        picture = _draw(display, legend=False, scale=scale)
        alt = f"Reliability diagram of class {label}, {n_bins} bins"
        panels.append({"alt": alt, **picture})
    errors = _draw(ClassErrorDisplay._collect(report))
    settings = None
    if not seen.is_condensed:
        settings = _draw(SensitivityDisplay._collect(report))
    return {"bins": panels, "scale": scale, "errors": errors, "settings": settings}


def _draw(display, **plot_params):
    """Addresses of one picture that hold it whole, by theme."""
    matplotlib = import_matplotlib()
    sources = {}
    for theme, colors in _THEMES.items():
        with matplotlib.style.context(["default", _style(*colors)]):
            figure = matplotlib.figure.Figure(layout="constrained")
            display.plot(ax=figure, **plot_params)
            file = io.BytesIO()
            with warnings.catch_warnings():
                # The browser has fonts of its own for what this one lacks.
                warnings.filterwarnings("ignore", "Glyph .* missing from font")
                figure.savefig(file, format="svg", metadata={"Date": None})
        source = base64.b64encode(file.getvalue()).decode()
        sources[theme] = f"data:image/svg+xml;base64,{source}"
    return sources


def _style(page, ink, cycle):
    of_page = ("figure.facecolor", "axes.facecolor", "savefig.facecolor")
    of_ink = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color")
    return {
        **dict.fromkeys(of_page, page),
        **dict.fromkeys((*of_ink, "ytick.color"), ink),
        "axes.prop_cycle": import_matplotlib().cycler(color=cycle),
        "svg.fonttype": "none",
        "svg.hashsalt": "sklearn_tace",  # the same page for the same report
    }
