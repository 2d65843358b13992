"""Draws the pictures of the documentation, light and dark, from the README's example.

``python docs/draw_pictures.py`` writes them to ``docs/images``.
"""

from pathlib import Path

from matplotlib import cycler, style
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from sklearn_tace import CalibrationReport

IMAGES = Path(__file__).with_name("images")
INK = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
# Blue and orange as Okabe and Ito chose them; the background is that of the page.
THEMES = {
    "light": ("#1b1f24", "#ffffff", ("#0072b2", "#d55e00")),
    "dark": ("#e6e9ec", "#0d1117", ("#56b4e9", "#e69f00")),
}
PICTURES = {
    "reliability": {"classes": [9, 1, 7]},
    "classes": {},
    "sensitivity": {},
}


def report():
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.5, random_state=0
    )
    classifier = GaussianNB(var_smoothing=0.1).fit(X_train, y_train)
    return CalibrationReport.from_estimator(classifier, X_test, y_test)


def draw(report, kind, theme, **kwargs):
    ink, page, colors = THEMES[theme]
    settings = dict.fromkeys(INK, ink)
    settings |= {"figure.facecolor": page, "axes.facecolor": page}
    settings |= {
        "axes.prop_cycle": cycler(color=colors),
        "svg.fonttype": "none",
        "svg.hashsalt": "sklearn_tace",
    }
    with style.context(["default", settings]):
        display = report.plot(kind, ax=Figure(layout="constrained"), **kwargs)
        path = IMAGES / f"{kind}_{theme}.svg"
        display.figure_.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    digits = report()
    for kind, kwargs in PICTURES.items():
        for theme in THEMES:
            draw(digits, kind, theme, **kwargs)
