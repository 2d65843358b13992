"""Pictures: what they draw is what the report's tables hold."""

import io
import subprocess
import sys
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB

from sklearn_tace import (
    CalibrationReport,
    ClassErrorDisplay,
    ReliabilityDisplay,
    SensitivityDisplay,
)

KINDS = ("reliability", "classes", "sensitivity")


@pytest.fixture(autouse=True)
def _no_figure_is_left():
    with mpl.rc_context({"backend": "agg"}):
        yield
    plt.close("all")


def problem(n_classes=4, n=400, seed=0):
    rng = np.random.default_rng(seed)
    proba = rng.dirichlet(np.full(n_classes, 0.3), n)
    code = (proba.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    overconfident = proba**1.5
    return code, overconfident / overconfident.sum(axis=1, keepdims=True)


def fitted(n_classes=4, labels=None, **settings):
    code, proba = problem(n_classes)
    labels = np.arange(n_classes) if labels is None else np.array(labels)
    settings = {"n_draws": 100, "n_bins": 5} | settings
    return CalibrationReport(**settings).fit(labels[code], proba, labels=labels)


def offsets(points):
    return np.asarray(points.get_offsets())


def test_points_are_the_rows_of_the_table():
    report = fitted(labels=list("abcd"))
    display = report.plot(classes=["c", "a"])
    assert isinstance(display, ReliabilityDisplay)
    for k, label in enumerate("ca"):
        bins = report.bins_[report.bins_["class"] == label]
        expected = report.expected_bins_[report.bins_["class"] == label]
        points, widths = display.points_[k], display.widths_[k]
        assert_array_equal(offsets(points)[:, 0], bins["mean_proba"])
        assert_array_equal(offsets(points)[:, 1], bins["observed_frequency"])
        ends = np.array(widths.get_segments())
        assert_array_equal(ends[:, :, 0], np.c_[bins["lower"], bins["upper"]])
        assert_array_equal(ends[:, 0, 1], bins["observed_frequency"])
        boxes = [box.get_bbox() for box in display.bands_[k]]
        assert_array_equal([box.y0 for box in boxes], expected["lower"])
        assert_allclose([box.y1 for box in boxes], expected["upper"])
        assert_array_equal([box.x0 for box in boxes], bins["lower"])
        assert_allclose([box.x1 for box in boxes], bins["upper"])
        assert display.ax_[k].get_title().startswith(f"{label}\nerror 0.")


def test_bins_beyond_their_box_have_another_colour():
    report = fitted()
    display = report.plot(classes=[0, 1, 2, 3])
    frequency, expected = report.bins_["observed_frequency"], report.expected_bins_
    is_beyond = (frequency < expected["lower"]) | (frequency > expected["upper"])
    assert 0 < is_beyond.sum() < 20
    colors = np.concatenate([points.get_facecolors() for points in display.points_])
    blue, orange = (mpl.colors.to_rgba(color) for color in ("C0", "C1"))
    assert_array_equal(colors, [orange if beyond else blue for beyond in is_beyond])


def test_area_goes_with_weight():
    code, proba = problem()
    weight = np.where(code == 0, 3.0, 1.0)
    report = CalibrationReport(n_bins=4).fit(code, proba, sample_weight=weight)
    display = report.plot(classes=[0, 3])
    sizes = np.concatenate([points.get_sizes() for points in display.points_])
    rows = np.isin(report.bins_["class"], [0, 3])
    assert_allclose(
        sizes / sizes.max(),
        report.bins_["weight"][rows] / report.bins_["weight"][rows].max(),
    )


def titles(display):
    return [ax.get_title().partition("\n")[0] for ax in display.ax_]


def test_the_six_furthest_from_chance_are_shown():
    """Those of largest error are mostly those with few rows."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, (4000, 200))
    truth = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    code = (truth.cumsum(axis=1) > rng.random((4000, 1))).argmax(axis=1)
    proba = truth * np.where(np.arange(200) < 6, 3, 1)
    report = CalibrationReport().fit(code, proba / proba.sum(axis=1, keepdims=True))
    largest = np.argsort(-report.class_tace_)[:6]
    assert np.sum(largest < 6) <= 3
    assert sum(int(label) < 6 for label in titles(report.plot())) >= 5


def test_few_classes_are_shown_in_the_order_of_what_is_beyond_chance():
    report = fitted()
    excess = report.class_tace_ - report.expected_class_tace_quantile_
    assert titles(report.plot()) == [str(k) for k in np.argsort(-excess)]
    report = fitted(average="weighted")
    assert titles(report.plot()) == [str(k) for k in np.argsort(-report.class_tace_)]


@pytest.mark.parametrize("settings", [{"norm": "l2"}, {"norm": "max"}])
def test_without_an_interval_there_are_boxes(settings):
    report = fitted(**settings)
    assert report.plot().bands_ is not None
    display = report.plot("classes")
    assert display.intervals_ is None
    assert display.expected_ is not None


def test_without_a_reference_there_are_no_boxes():
    report = fitted(average="weighted")
    assert report.plot().bands_ is None
    display = report.plot("classes")
    assert display.expected_ is None
    assert display.intervals_ is not None
    assert report.plot("sensitivity").expected_lines_ is None


def test_class_errors_are_sorted_with_intervals_and_expectation():
    report = fitted(labels=list("abcd"))
    display = report.plot("classes")
    assert isinstance(display, ClassErrorDisplay)
    order = np.argsort(-report.class_tace_)
    assert_array_equal(offsets(display.points_)[:, 0], report.class_tace_[order])
    ticks = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    assert ticks == [list("abcd")[k] for k in order]
    table = report.class_intervals(report.classes_[order])
    ends = np.array(display.intervals_.get_segments())[:, :, 0]
    assert_array_equal(ends, np.c_[table["lower"], table["upper"]])
    assert_array_equal(offsets(display.debiased_)[:, 0], table["debiased_tace"])
    limits = [bar.get_width() for bar in display.expected_]
    assert_array_equal(limits, report.expected_class_tace_quantile_[order])
    assert display.overview_ is None


def test_classes_left_out_are_shown_as_such():
    y = ["a", "b", "a", "b"]
    proba = [[0.6, 0.4, 0, 0], [0.3, 0.7, 0, 0], [0.8, 0.2, 0, 0], [0.4, 0.6, 0, 0]]
    report = CalibrationReport(n_bins=2).fit(y, proba, labels=list("abcd"))
    display = report.plot("classes")
    assert len(offsets(display.points_)) == 2
    ticks = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    assert ticks[2:] == ["c", "d"]
    words = [text.get_text() for text in display.excluded_]
    assert words == ["left out: nothing above the threshold"] * 2


def test_many_classes_are_shown_by_rank():
    code, proba = problem(60)
    proba = np.hstack([proba, np.zeros((len(code), 40))])
    report = CalibrationReport(n_bins=3, n_draws=50).fit(code, proba, labels=range(100))
    display = report.plot("classes")
    n_measured = int(np.isfinite(report.class_tace_).sum())
    assert len(offsets(display.points_)) == 30
    assert len(display.excluded_) == 5
    errors = np.sort(report.class_tace_[np.isfinite(report.class_tace_)])[::-1]
    assert_array_equal(display.overview_.get_ydata(), errors)
    assert_array_equal(display.overview_.get_xdata(), np.arange(n_measured) + 1)
    texts = [text.get_text() for text in display.ax_[1].texts]
    assert texts == [f"{100 - n_measured} classes left out"]


def test_curves_are_those_of_sensitivity():
    report = fitted()
    display = report.plot("sensitivity", thresholds=[0.01, 0.1], bin_counts=[2, 9])
    assert isinstance(display, SensitivityDisplay)
    for k, table in enumerate((
        report.sensitivity(thresholds=[0.01, 0.1], expected=True),
        report.sensitivity(n_bins=[2, 9], expected=True),
    )):
        assert_array_equal(display.tace_lines_[k].get_ydata(), table["tace"])
        assert_array_equal(
            display.expected_lines_[k].get_ydata(), table["expected_tace"]
        )
        share = display.kept_lines_[k].get_ydata()
        assert_array_equal(share, table["n_kept"] / 1600)
    x, y = display.own_[1].get_data()
    assert (x, y) == ([5], [report.tace_])


@pytest.mark.parametrize("threshold", [None, 0, 0.01, 0.45, 0.97])
@pytest.mark.parametrize("n_bins", [15, "auto"])
def test_own_settings_are_on_the_default_curves(threshold, n_bins):
    report = fitted(threshold=threshold, n_bins=n_bins)
    display = report.plot("sensitivity")
    x, y = display.tace_lines_[0].get_data()
    assert x[0] == (threshold or 0)
    assert y[0] == report.tace_
    assert (np.diff(x) > 0).all()
    assert x[-1] >= 0.5
    if n_bins == "auto":
        assert display.own_[1].get_ydata() == [report.tace_] * 2
    else:
        assert report.tace_ in display.tace_lines_[1].get_ydata()
    display.figure_.savefig(io.BytesIO())


@pytest.mark.parametrize("kind", KINDS)
def test_three_ways_give_the_same_picture(kind):
    X, y = load_iris(return_X_y=True)
    classifier = GaussianNB().fit(X[::2], y[::2])
    proba = classifier.predict_proba(X[1::2])
    cls = type(fitted().plot(kind))
    settings = {"n_bins": 3, "threshold": 0.02, "n_draws": 20}
    report = CalibrationReport(**settings).fit(y[1::2], proba)
    displays = [
        cls.from_report(report, name="nb"),
        cls.from_predictions(y[1::2], proba, name="nb", **settings),
        cls.from_estimator(classifier, X[1::2], y[1::2], **settings),
        report.plot(kind, name="nb"),
    ]
    for display in displays:
        assert isinstance(display, cls)
        assert isinstance(display.figure_, Figure)
        assert display.figure_.get_suptitle() == display.name
    assert displays[2].name == "GaussianNB"
    first, *others = [display_numbers(display) for display in displays]
    for other in others:
        assert_array_equal(other, first)


def display_numbers(display):
    """All points and lines of all axes."""
    numbers = []
    for ax in np.ravel(display.ax_):
        numbers += [np.ravel(line.get_xydata()) for line in ax.lines]
        numbers += [np.ravel(artist.get_offsets()) for artist in ax.collections]
    return np.concatenate(numbers)


@pytest.mark.parametrize("kind", KINDS)
def test_axes_of_the_user_are_drawn_in(kind):
    report = fitted()
    n_axes = np.size(report.plot(kind).ax_)
    n_open = len(plt.get_fignums())
    figure, axes = plt.subplots(n_axes, squeeze=False)
    display = report.plot(kind, ax=axes)
    assert display.figure_ is figure
    assert list(np.ravel(display.ax_)) == list(axes.ravel())
    for ax in axes.ravel():
        assert ax.has_data()
    figure, ax = plt.subplots()
    display = report.plot(kind, ax=ax)
    assert display.figure_ is figure
    assert np.size(display.ax_) == n_axes
    blank = Figure(layout="constrained")
    assert report.plot(kind, ax=blank).figure_ is blank
    half = plt.figure(layout="constrained").subfigures(1, 2)[1]
    assert np.ravel(report.plot(kind, ax=half).ax_)[0].figure is half
    half.figure.savefig(io.BytesIO())
    assert len(plt.get_fignums()) == n_open + 3


def test_axes_that_do_not_fit_are_refused():
    report = fitted()
    with pytest.raises(ValueError, match="one Axes or 4 of them, got 2"):
        report.plot(ax=plt.subplots(2)[1])
    with pytest.raises(ValueError, match="ax must be made by subplots"):
        report.plot(ax=plt.figure().add_axes((0, 0, 1, 1)))
    with pytest.raises(ValueError, match="holds axes already"):
        report.plot(ax=plt.subplots()[0])
    with pytest.raises(TypeError, match="ax must be a Figure or Axes, got 'x'"):
        report.plot(ax="x")


def test_axes_beyond_those_needed_stay_as_they_are():
    axes = plt.subplots(2, 2)[1]
    display = fitted().plot(classes=[0, 1, 2], ax=axes)
    assert list(display.ax_) == list(axes.ravel()[:3])
    assert axes[1, 1].axison


def test_models_are_compared_in_the_same_axes():
    ax = plt.subplots()[1]
    first = fitted().plot(classes=[0], ax=ax, name="first")
    second = fitted(n_bins=3).plot(
        classes=[0], ax=ax, name="second", bands=False, point_kwargs={"color": "C2"}
    )
    assert second.bands_ is None
    green = mpl.colors.to_rgba("C2")
    assert (second.points_.get_facecolors() == green).all()
    assert (second.widths_.get_colors() == green).all()
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [text for text in texts if text in {"first", "second"}] == [
        "first",
        "second",
    ]
    assert texts.count("calibrated") == 1
    assert first.ax_ is second.ax_


def test_a_box_of_no_width_is_seen():
    report = CalibrationReport(n_bins=4).fit([0, 1] * 40, [0.3, 0.7] * 40)
    display = report.plot(classes=[1])
    assert display.bands_[0].get_width() == 0
    assert display.bands_[0].get_edgecolor()[3] > 0
    assert display.bands_[0].get_linewidth() > 0


@pytest.mark.parametrize("kind", KINDS)
def test_settings_of_matplotlib_stay_as_they_were(kind):
    before = dict(mpl.rcParams)
    display = fitted().plot(kind)
    display.figure_.savefig(io.BytesIO(), format="svg")
    assert dict(mpl.rcParams) == before


def test_keywords_reach_the_artists():
    report = fitted()
    display = report.plot(
        classes=[1],
        point_kwargs={"c": "red", "s": 7},
        width_kwargs={"lw": 5, "color": "green"},
        band_kwargs={"alpha": 0.9, "fc": "yellow"},
        ref_line_kwargs={"linestyle": "-"},
    )
    red = mpl.colors.to_rgba("red")
    assert (display.points_.get_facecolors() == red).all()
    assert display.points_.get_sizes().tolist() == [7]
    assert display.widths_.get_linewidths().tolist() == [5]
    assert display.bands_[0].get_alpha() == 0.9
    assert display.ref_line_.get_linestyle() == "-"
    (handle, *_) = display.figure_.legends[0].legend_handles
    assert (handle.get_facecolor() == red).all()
    assert report.plot(classes=[1], ref_line=False, legend=False).ref_line_ is None
    assert not display.plot(legend=False).figure_.legends
    display = report.plot("classes", interval_kwargs={"colors": "red"})
    display = report.plot("classes", point_kwargs={"marker": "s"}, overview_kwargs={})
    display = report.plot("sensitivity", tace_kwargs={"lw": 4, "c": "red"})
    assert display.tace_lines_[0].get_linewidth() == 4


def test_log_axes_keep_bins_near_the_threshold_apart():
    display = fitted(40).plot(scale="log")
    ax = display.ax_[0]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "symlog")
    display.figure_.savefig(io.BytesIO())
    places = ax.transData.transform(offsets(display.points_[0]))
    inside = ax.get_window_extent()
    assert (places[:, 0] > inside.x0).all()
    assert (places[:, 1] > inside.y0).all()
    with pytest.raises(ValueError, match="scale must be 'linear' or 'log', got 'x'"):
        display.plot(scale="x")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "labels", [["$\\frac{$", "a_b", "%", "{x}"], ["é" * 200, "\n", "", "\u202e"]]
)
def test_labels_are_shown_as_they_are(kind, labels):
    report = fitted(labels=labels)
    with mpl.rc_context({"text.parse_math": True}):
        display = report.plot(kind, name="$\\frac{$")
        display.figure_.savefig(io.BytesIO(), format="svg")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_classes", [2, 10, 97])
@pytest.mark.parametrize("scale", ["linear", "log"])
def test_nothing_overlaps(kind, n_classes, scale):
    settings = {"scale": scale} if kind == "reliability" else {}
    display = fitted(n_classes).plot(kind, name="a model", **settings)
    figure = display.figure_
    figure.canvas.draw()
    axes = [ax for ax in figure.axes if ax.axison]
    boxes = [ax.get_tightbbox() for ax in axes] + [
        legend.get_window_extent() for legend in figure.legends
    ]
    for k, box in enumerate(boxes):
        assert figure.bbox.padded(1).contains(*box.min)
        assert figure.bbox.padded(1).contains(*box.max)
        for other in boxes[:k]:
            assert not box.padded(-1).overlaps(other)
    for ax in axes:
        labels = [t.get_window_extent() for t in ax.get_yticklabels() if t.get_text()]
        for one, other in pairwise(labels):
            assert not one.padded(-1).overlaps(other)


@pytest.mark.parametrize("n_classes", range(2, 7))
def test_every_column_and_row_of_panels_is_named(n_classes):
    axes = fitted(n_classes).plot().ax_
    n_columns = min(n_classes, 3)
    for k, ax in enumerate(axes):
        is_lowest = k + n_columns >= n_classes
        assert (ax.get_xlabel() == "Mean predicted probability") == is_lowest
        assert bool(ax.get_ylabel()) == (k % n_columns == 0)
        ticks = [label.get_text() for label in ax.get_xticklabels()]
        assert bool(ticks) == is_lowest or not any(ticks)


@pytest.mark.parametrize(
    ("norm", "words"),
    [("l1", "mean gap"), ("l2", "root mean square gap"), ("max", "largest gap")],
)
def test_axes_say_what_the_error_is(norm, words):
    report = fitted(norm=norm)
    assert words in report.plot("classes").ax_.get_xlabel()
    assert f"TACE ({words})" == report.plot("sensitivity").ax_[0].get_ylabel()


@pytest.mark.parametrize("threshold", [None, 0, 0.01, 0.05, 0.15, 0.2, 0.5, 0.9])
def test_both_panels_of_a_column_share_their_numbers(threshold):
    display = fitted(threshold=threshold, n_bins=13).plot(
        "sensitivity", bin_counts=[20, 10, 12]
    )
    display.figure_.canvas.draw()
    for upper, lower in zip(display.ax_[:2], display.ax_[2:], strict=True):
        assert upper.get_xlim() == lower.get_xlim()
        low, high = lower.get_xlim()
        inside = [tick for tick in lower.get_xticks() if low <= tick <= high]
        assert len(inside) >= 2
    assert (np.diff(display.tace_lines_[1].get_xdata()) > 0).all()
    with pytest.raises(ValueError, match="bin_counts must be integers, got"):
        fitted().plot("sensitivity", bin_counts=["auto", 3])


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(NotFittedError):
        CalibrationReport().plot()
    report = fitted()
    with pytest.raises(
        ValueError, match="kind must be one of 'reliability', 'classes'"
    ):
        report.plot("roc")
    with pytest.raises(ValueError, match="classes contains \\[7\\]"):
        report.plot(classes=[0, 7])
    with pytest.raises(ValueError, match="duplicates"):
        report.plot("classes", classes=[0, 0])
    code, proba = problem()
    with pytest.warns(match="undefined"):
        empty = CalibrationReport(threshold=0.999999).fit(code, proba)
    with pytest.raises(ValueError, match="nothing to draw"):
        empty.plot()
    display = empty.plot("classes")
    assert len(display.excluded_) == 4
    empty.plot("sensitivity")
    some = CalibrationReport(n_bins=1).fit(
        [0, 1], [[0.4, 0.6, 0], [0.3, 0.7, 0]], labels=range(3)
    )
    with pytest.raises(ValueError, match="Class 2 has no bin"):
        some.plot(classes=[2])


def test_without_matplotlib_the_error_says_what_to_install():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from sklearn_tace import CalibrationReport\n"
        "report = CalibrationReport().fit([0, 1], [0.2, 0.7])\n"
        "try: report.plot()\n"
        "except ImportError as error: print(error)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    words = 'Pictures need matplotlib: python -m pip install "sklearn-tace[plot]".'
    assert run.stdout.splitlines() == [words]


def test_models_in_the_same_axes_keep_all_of_both():
    low, high = fitted(threshold=0.001), fitted(threshold=0.2)
    for kind, settings in (("reliability", {"scale": "log"}), ("sensitivity", {})):
        classes = {"classes": [0]} if kind == "reliability" else {}
        first = low.plot(kind, **classes, **settings)
        before = [ax.get_xlim() for ax in np.ravel(first.ax_)]
        high.plot(kind, ax=first.ax_, name="high", **classes, **settings)
        for ax, (least, most) in zip(np.ravel(first.ax_), before, strict=True):
            assert ax.get_xlim()[0] <= least * 1.001
            assert ax.get_xlim()[1] >= most * 0.999
    axes = plt.subplots()[1]
    low.plot("classes", ax=axes)
    with pytest.raises(ValueError, match="ax holds a picture already"):
        high.plot("classes", ax=axes)


@pytest.mark.parametrize("n_classes", [4, 5])
def test_one_axes_makes_room_for_just_the_panels(n_classes):
    figure, ax = plt.subplots()
    fitted(n_classes).plot(ax=ax)
    assert len(figure.axes) == 1 + n_classes


@pytest.mark.parametrize("threshold", [None, 0, 1e-6, 0.001, 0.01, 0.3])
@pytest.mark.parametrize("kind", ["reliability", "sensitivity"])
def test_numbers_of_an_axis_stay_apart(kind, threshold):
    settings = {"scale": "log"} if kind == "reliability" else {}
    display = fitted(5, threshold=threshold).plot(kind, **settings)
    display.figure_.canvas.draw()
    for ax in np.ravel(display.ax_):
        for axis in (ax.xaxis, ax.yaxis):
            boxes = [
                label.get_window_extent()
                for label in axis.get_ticklabels()
                if label.get_visible() and label.get_text()
            ]
            for one, other in pairwise(boxes):
                assert not one.overlaps(other)
