"""Draws the pictures of the documentation, light and dark.

``python docs/draw_pictures.py`` writes them to ``docs/images``: those of the README's
report, and the worked example of the definition.
"""

from pathlib import Path

import numpy as np
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


def style_of(theme):
    ink, page, colors = THEMES[theme]
    settings = dict.fromkeys(INK, ink)
    settings |= {"figure.facecolor": page, "axes.facecolor": page}
    settings |= {
        "axes.prop_cycle": cycler(color=colors),
        "svg.fonttype": "none",
        "svg.hashsalt": "sklearn_tace",
    }
    return style.context(["default", settings])


def save(figure, name, theme):
    figure.savefig(IMAGES / f"{name}_{theme}.svg", metadata={"Date": None})


def worked_example(figure):
    """Rows, threshold, bins and gaps of one class, from the report's own table."""
    y, p = np.array([0, 0, 0, 0, 1, 1]), np.array([0.01, 0.03, 0.1, 0.4, 0.6, 0.8])
    report = CalibrationReport(threshold=0.05, n_bins=2).fit(y, p)
    ax = figure.subplots()
    kept = p > report.threshold
    ax.scatter(p[kept], y[kept], color="C0", zorder=3, label="rows kept")
    ax.scatter(
        p[~kept], y[~kept], facecolor="none", edgecolor="C0", label="rows discarded"
    )
    ax.axvline(report.threshold, color="C0", linestyle=":", label="threshold")
    ax.plot([0, 1], [0, 1], color="0.5", linewidth=0.8, label="calibrated")
    bins = report.bins_[report.bins_["class"] == 1]
    for k, row in enumerate(bins):
        first = k == 0
        mean, observed = row["mean_proba"], row["observed_frequency"]
        ax.axvspan(
            row["lower"],
            row["upper"],
            color="0.5",
            alpha=0.15,
            linewidth=0,
            label="a bin" if first else None,
        )
        ax.plot(
            [mean, mean],
            [mean, observed],
            color="C1",
            linewidth=3,
            label="its gap" if first else None,
        )
        ax.plot(mean, observed, "D", color="C1", zorder=4)
        ax.annotate(
            f"|{mean:.2f} \N{MINUS SIGN} {observed:.0f}| = {row['gap']:.2f}",
            (mean, (mean + observed) / 2),
            xytext=(8 if mean > observed else -8, 0),
            textcoords="offset points",
            ha="left" if mean > observed else "right",
            va="center",
        )
    ax.set(
        xlabel="probability of class A",
        ylabel="is A, and its frequency",
        title=f"Error of class A: {report.class_tace_[1]:.3f}",
        ylim=(-0.08, 1.08),
    )
    figure.legend(loc="outside right upper", frameon=False)


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    digits = report()
    for theme in THEMES:
        with style_of(theme):
            for kind, kwargs in PICTURES.items():
                figure = Figure(layout="constrained")
                digits.plot(kind, ax=figure, **kwargs)
                save(figure, kind, theme)
            figure = Figure(figsize=(7, 4), layout="constrained")
            worked_example(figure)
            save(figure, "definition", theme)
