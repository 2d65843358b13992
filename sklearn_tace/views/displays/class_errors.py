"""Errors of the classes, as a picture."""

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray

from sklearn_tace.core.errors import worst_first
from sklearn_tace.inference.attributes import has_intervals, has_reference
from sklearn_tace.inputs.labels import positions
from sklearn_tace.views.displays.base import Display
from sklearn_tace.views.displays.drawing import (
    GREY,
    LABEL_WIDTH,
    add_legend,
    as_drawn,
    as_line,
    import_matplotlib,
    show_as_is,
    styled,
    take_axes,
)
from sklearn_tace.views.formatting import count_of, cut, gap_of, level_of
from sklearn_tace.views.ranking import furthest_from_chance

_N_ROWS = 30
_N_EXCLUDED = 5  # classes left out that get a row
_LEFT_OUT = "left out: nothing above the threshold"


@dataclass(eq=False, repr=False)
class ClassErrorDisplay(Display):
    """Errors of the classes, worst first, with intervals and what chance would give.

    Make it with :meth:`from_report`, :meth:`from_predictions` or
    :meth:`from_estimator`.

    Parameters
    ----------
    classes : ndarray of shape (n_shown,)
        Labels of the classes to show, in this order.
    class_tace : ndarray of shape (n_shown,)
        Their errors, nan for those left out.
    all_class_tace : ndarray of shape (n_measured,)
        Errors of all classes that have one, largest first.
    n_excluded : int
        How many classes were left out.
    intervals : structured ndarray of shape (n_shown,), default=None
        From :meth:`CalibrationReport.class_intervals`.
    expected : ndarray of shape (n_shown,), default=None
        Mean errors of calibrated models.
    expected_quantile : ndarray of shape (n_shown,), default=None
        What the errors of calibrated models stay below.
    all_expected_quantile : ndarray of shape (n_measured,), default=None
        The same for all classes.
    confidence_level : float in (0, 1), default=0.95
        Level of intervals and quantiles.
    norm : {"l1", "l2", "max"}, default="l1"
        What the error of a class is, for the name of the axis.
    name : str, default=None
        Name of the model, for the title.

    Attributes
    ----------
    ax_ : matplotlib Axes or ndarray of 2 Axes
        The classes shown; where not all are, also the errors of all by rank.
    figure_ : matplotlib Figure
        Figure that holds them.
    points_ : PathCollection
        Errors at (error, row), without the classes left out.
    intervals_, debiased_ : LineCollection, PathCollection or None
        Intervals and debiased errors.
    expected_ : BarContainer or None
        From 0 to the quantile of calibrated models.
    excluded_ : list of Text
        What is written for classes left out.
    overview_ : Line2D or None
        Errors of all classes at (rank, error).

    See Also
    --------
    CalibrationReport.plot : Draws it from a report.
    ReliabilityDisplay : Bins of some classes.

    References
    ----------
    .. [1] J. Nixon, M. W. Dusenberry, L. Zhang, G. Jerfel, D. Tran (2019).
       "Measuring Calibration in Deep Learning". CVPR Workshops.
       `arXiv:1904.01685 <https://arxiv.org/abs/1904.01685>`_

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn_tace import CalibrationReport
    >>> report = CalibrationReport(n_bins=2).fit([0, 1, 1, 0], [0.2, 0.6, 0.7, 0.4])
    >>> display = report.plot("classes")
    >>> display.points_.get_offsets().data.round(3).tolist()
    [[0.325, 0.0], [0.325, 1.0]]
    >>> plt.close(display.figure_)
    """

    classes: NDArray
    class_tace: NDArray
    _: KW_ONLY
    all_class_tace: NDArray
    n_excluded: int = 0
    intervals: NDArray | None = None
    expected: NDArray | None = None
    expected_quantile: NDArray | None = None
    all_expected_quantile: NDArray | None = None
    confidence_level: float = 0.95
    norm: str = "l1"
    name: str | None = None

    @classmethod
    def from_report(cls, report, *, classes=None, name=None, **plot_params):
        """Draw the class errors of a fitted report.

        Parameters
        ----------
        report : CalibrationReport
            Fitted. What chance would give is computed, as ``print`` does.
        classes : array-like of labels, default=None
            Classes to show, in this order. By default the 30 whose error is
            furthest from chance, the largest error first, and 5 of those left out.
        name : str, default=None
            Name of the model, for the title.
        **plot_params : dict
            Passed to :meth:`plot`.

        Returns
        -------
        display : ClassErrorDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            Where the report has no such class.
        ImportError
            Without matplotlib.
        """
        import_matplotlib()
        return cls._collect(report, classes=classes, name=name).plot(**plot_params)

    @classmethod
    def _collect(cls, report, *, classes=None, name=None):
        """What from_report draws."""
        seen = report._sorted_rows()
        settings = seen.settings
        worst = worst_first(report.class_tace_)
        if classes is None:
            excluded = np.flatnonzero(report.n_kept_ == 0)
            furthest = furthest_from_chance(report, _N_ROWS)
            shown = worst[np.isin(worst, furthest)]
            shown = np.append(shown, excluded[:_N_EXCLUDED])
        else:
            shown = positions(classes, report.classes_)
        known = {}
        if has_intervals(seen) and len(shown):
            known["intervals"] = report.class_intervals(report.classes_[shown])
        if has_reference(seen) and len(worst):
            quantile = report.expected_class_tace_quantile_
            known["expected"] = report.expected_class_tace_[shown]
            known["expected_quantile"] = quantile[shown]
            known["all_expected_quantile"] = quantile[worst]
        return cls(
            report.classes_[shown],
            report.class_tace_[shown],
            all_class_tace=report.class_tace_[worst],
            n_excluded=len(report.excluded_classes_),
            confidence_level=settings["confidence_level"],
            norm=settings["norm"],
            name=name,
            **known,
        )

    def plot(
        self,
        *,
        ax=None,
        name=None,
        legend=True,
        point_kwargs=None,
        interval_kwargs=None,
        expected_kwargs=None,
        overview_kwargs=None,
    ):
        """Draw the errors.

        Parameters
        ----------
        ax : matplotlib Axes, 2 of them, Figure or SubFigure, default=None
            Where to draw; one Axes gives its place to both panels. A new figure by
            default.
        name : str, default=None
            Name of the model, for the title; that of the display by default.
        legend : bool, default=True
            Whether to say what is what: beneath a figure that nothing else is drawn
            in, else among the rows.
        point_kwargs, interval_kwargs, expected_kwargs, overview_kwargs : dict, \
                default=None
            Passed to ``Axes.scatter``, ``hlines``, ``barh`` and ``plot``, for the
            errors, their intervals, what chance would give, and the errors by rank.

        Returns
        -------
        display : ClassErrorDisplay
            The display itself.
        """
        n_measured, n_rows = len(self.all_class_tace), len(self.classes)
        with_overview = n_measured + self.n_excluded > n_rows
        heights = [0.6 + 0.21 * n_rows, *[2.2] * with_overview]
        size = 5.4, 1.0 + sum(heights)
        axes, self.figure_, is_own = take_axes(
            ax, len(heights), 1, size, height_ratios=heights
        )
        if any(ax.has_data() for ax in axes):
            raise ValueError(
                "ax holds a picture already, which may be of other classes. Pass other "
                "axes."
            )
        name = self._name_model(is_own, name)
        self.ax_ = as_drawn(axes)
        rows, place = axes[0], np.arange(n_rows)
        is_measured = ~np.isnan(self.class_tace)
        errors = self.class_tace[is_measured]
        style = styled(point_kwargs, s=25, color="C0", zorder=4, label=name or "error")
        self.points_ = rows.scatter(errors, place[is_measured], **style)
        handles = [self.points_]
        self.intervals_ = self.debiased_ = self.expected_ = self.overview_ = None
        if self.intervals is not None:
            handles.append(self._draw_intervals(rows, place, interval_kwargs))
        if self.expected is not None:
            handles.append(self._draw_expected(rows, place, expected_kwargs))
        self.excluded_ = [
            _write(rows, _LEFT_OUT, (0, k), (4, 0), va="center", color=GREY)
            for k in place[~is_measured]
        ]

        self._name_rows(rows, place)
        if with_overview:
            self.overview_ = self._draw_overview(axes[1], overview_kwargs)
        if legend:
            add_legend(handles, axes, self.figure_, is_own, 1)
        return self

    def _draw_intervals(self, ax, place, given):
        """Intervals and debiased errors; returns what the legend shows."""
        style = styled(given, color="C0", linewidth=1.5, zorder=2)
        self.intervals_ = ax.hlines(
            place, self.intervals["lower"], self.intervals["upper"], **style
        )
        color, hollow = self.intervals_.get_color(), ax.get_facecolor()
        self.debiased_ = ax.scatter(
            self.intervals["debiased_tace"],
            place,
            s=25,
            marker="o",
            facecolor=hollow,
            edgecolor=color,
            zorder=3,
        )
        level = level_of(self.confidence_level)
        label = f"debiased error, with {level} interval for new rows"
        return as_line(label, color=color[0], marker="o", markerfacecolor=hollow)

    def _draw_expected(self, ax, place, given):
        level = level_of(self.confidence_level)
        style = styled(
            given,
            color=GREY,
            alpha=0.3,
            height=0.7,
            zorder=1,
            label=f"range of {level} of calibrated models (tick: their mean)",
        )
        self.expected_ = ax.barh(place, self.expected_quantile, **style)
        ax.plot(self.expected, place, "|", color=GREY, markersize=9, zorder=1)
        return self.expected_

    def _name_rows(self, ax, place):
        labels = [cut(label, LABEL_WIDTH) for label in self.classes]
        ax.set_yticks(place, labels=labels, fontsize="small")
        show_as_is(*ax.get_yticklabels())
        ax.set_xlim(-ax.get_xlim()[1] / 80, None)  # room for points at 0
        xlabel = f"Class error ({gap_of(self.norm)}, in probability)"
        ax.set(ylim=(len(place) - 0.4, -0.6), xlabel=xlabel, ylabel="Class")

    def _draw_overview(self, ax, given):
        n_measured = len(self.all_class_tace)
        total = n_measured + self.n_excluded
        rank = np.arange(1, n_measured + 1)
        if self.all_expected_quantile is not None:
            look = {"step": "mid", "color": GREY, "alpha": 0.3, "linewidth": 0}
            ax.fill_between(rank, self.all_expected_quantile, **look)
        style = styled(given, color="C0", zorder=3)
        (line,) = ax.plot(rank, self.all_class_tace, **style)
        ax.set(xlim=(0.5, total + 0.5), ylim=(0, None), ylabel="Class error")
        ax.set_xlabel(f"Rank of all {count_of(total, 'class')}")
        if self.n_excluded:
            look = {"facecolor": "none", "edgecolor": GREY, "hatch": "///"}
            ax.axvspan(n_measured + 0.5, total + 0.5, linewidth=0, **look)
            place = {"xycoords": ("data", "axes fraction"), "ha": "right", "va": "top"}
            background = {"backgroundcolor": ax.get_facecolor()}
            text = f"{count_of(self.n_excluded, 'class')} left out"
            _write(ax, text, (total + 0.5, 1), (-4, -4), **place, **background)
        return line


def _write(ax, text, place, offset, **style):
    """A small text, at a distance in points from a place."""
    return ax.annotate(
        text,
        place,
        xytext=offset,
        textcoords="offset points",
        fontsize="small",
        **style,
    )
