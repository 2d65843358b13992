"""Reliability diagrams: the bins of some classes."""

from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sklearn_tace.inference.attributes import has_reference
from sklearn_tace.inputs.labels import positions
from sklearn_tace.views.displays.base import Display
from sklearn_tace.views.displays.drawing import (
    BEYOND,
    GREY,
    LABEL_WIDTH,
    add_legend,
    as_drawn,
    as_line,
    import_matplotlib,
    name_axes,
    set_probability_limits,
    show_as_is,
    styled,
    take_axes,
)
from sklearn_tace.views.formatting import cut, level_of
from sklearn_tace.views.ranking import furthest_from_chance

_N_PANELS = 6
_POINT_SIZE = 36  # of the heaviest bin, in square points
_LEAST = 1e-6  # of a logarithmic axis


@dataclass(eq=False, repr=False)
class ReliabilityDisplay(Display):
    """Reliability diagram: mean probability against observed frequency, bin by bin.

    One panel per class. Each bin is a point, with a line from its least to its greatest
    probability; the area of the point goes with the weight of the bin. Boxes show
    where the bins of a calibrated model would be, each taken alone.

    Make it with :meth:`from_report`, :meth:`from_predictions` or
    :meth:`from_estimator`.

    Parameters
    ----------
    bins : structured ndarray of shape (n_bins,)
        Rows of ``CalibrationReport.bins_``, of all classes to draw.
    expected_bins : structured ndarray of shape (n_bins,), default=None
        Rows of ``CalibrationReport.expected_bins_`` for these bins. Without them
        there are no boxes.
    class_tace : array-like of shape (n_panels,), default=None
        Errors of the classes, in the order of the panels, for their titles.
    expected_class_tace_quantile : array-like of shape (n_panels,), default=None
        What calibrated models stay below.
    confidence_level : float in (0, 1), default=0.95
        Level of the boxes and of these quantiles.
    name : str, default=None
        Name of the model, for the title.

    Attributes
    ----------
    ax_ : matplotlib Axes or ndarray of Axes
        One panel, or all of them.
    figure_ : matplotlib Figure
        Figure that holds them.
    points_ : PathCollection or ndarray of PathCollection
        Bins at (mean_proba, observed_frequency).
    widths_ : LineCollection or ndarray of LineCollection
        Lines from lower to upper probability.
    bands_ : BarContainer, ndarray of BarContainer, or None
        Boxes of a calibrated model.
    ref_line_ : Line2D, ndarray of Line2D, or None
        The diagonal.

    See Also
    --------
    CalibrationReport.plot : Draws it from a report.
    ClassErrorDisplay : Errors of all classes.
    SensitivityDisplay : TACE for other settings.

    References
    ----------
    .. [1] J. Bröcker, L. A. Smith (2007). "Increasing the Reliability of Reliability
       Diagrams". Weather and Forecasting 22(3), 651-661.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn_tace import ReliabilityDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = GaussianNB().fit(X[::2], y[::2])
    >>> display = ReliabilityDisplay.from_estimator(
    ...     classifier, X[1::2], y[1::2], n_bins=5, classes=[1]
    ... )
    >>> display.points_.get_offsets().shape
    (5, 2)
    >>> plt.close(display.figure_)
    """

    bins: NDArray
    _: KW_ONLY
    expected_bins: NDArray | None = None
    class_tace: ArrayLike | None = None
    expected_class_tace_quantile: ArrayLike | None = None
    confidence_level: float = 0.95
    name: str | None = None

    @classmethod
    def from_report(cls, report, *, classes=None, name=None, **plot_params):
        """Draw the bins of a fitted report.

        Parameters
        ----------
        report : CalibrationReport
            Fitted. What chance would give is computed, as ``print`` does.
        classes : array-like of labels, default=None
            Classes to draw, in this order. By default the six whose error is furthest
            from chance.
        name : str, default=None
            Name of the model, for the title.
        **plot_params : dict
            Passed to :meth:`plot`.

        Returns
        -------
        display : ReliabilityDisplay
            The display, drawn.

        Raises
        ------
        ValueError
            Where the report has no such class, or nothing to draw of it.
        ImportError
            Without matplotlib.
        """
        import_matplotlib()
        return cls._collect(report, classes=classes, name=name).plot(**plot_params)

    @classmethod
    def _collect(cls, report, *, classes=None, name=None):
        """What from_report draws."""
        seen = report._sorted_rows()
        shown = classes_to_draw(report, classes)
        of_bins = _class_of_bins(report)
        rows = np.concatenate([np.flatnonzero(of_bins == k) for k in shown])
        chance = {}
        if has_reference(seen):
            chance["expected_bins"] = report.expected_bins_[rows]
            chance["expected_class_tace_quantile"] = (
                report.expected_class_tace_quantile_[shown]
            )
        return cls(
            report.bins_[rows],
            class_tace=report.class_tace_[shown],
            confidence_level=seen.settings["confidence_level"],
            name=name,
            **chance,
        )

    def plot(
        self,
        *,
        ax=None,
        name=None,
        scale="linear",
        ref_line=True,
        bands=True,
        legend=True,
        point_kwargs=None,
        width_kwargs=None,
        band_kwargs=None,
        ref_line_kwargs=None,
    ):
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib Axes, array of Axes, Figure or SubFigure, default=None
            Where to draw: as many axes as there are classes; or one, made by
            ``subplots``, that is replaced by the panels. A new figure by default.
        name : str, default=None
            Name of the model, for the title; that of the display by default.
        scale : {"linear", "log"}, default="linear"
            Axes of probability and frequency. With "log" bins near the threshold
            stay apart; frequencies below the least probability are on a linear
            stretch, which ends at 0.
        ref_line : bool, default=True
            Whether to draw the diagonal.
        bands : bool, default=True
            Whether to draw the boxes of a calibrated model, where they are known.
        legend : bool, default=True
            Whether to say what is what: beneath a figure that nothing else is drawn
            in, else in the first panel. To compare models, draw them in the same axes,
            each with a ``name`` and a colour, one without ``bands``.
        point_kwargs, width_kwargs, band_kwargs, ref_line_kwargs : dict, default=None
            Passed to ``Axes.scatter``, ``hlines``, ``bar`` and ``plot``, for the
            points, the widths of bins, the boxes and the diagonal.

        Returns
        -------
        display : ReliabilityDisplay
            The display itself.
        """
        if scale not in {"linear", "log"}:
            raise ValueError(f"scale must be 'linear' or 'log', got {scale!r}.")
        first = np.flatnonzero(self.bins["bin"] == 0)
        panels = np.split(np.arange(len(self.bins)), first[1:])
        n_columns = min(len(panels), 3)
        height = 0.4 + 3.2 * -(-len(panels) // n_columns)
        size = max(3.3 * n_columns, 4.8 * legend), height + 0.6 * legend
        axes, self.figure_, is_own = take_axes(ax, len(panels), n_columns, size)
        self.ax_ = as_drawn(axes)
        least = max(self.bins["lower"].min(), self.bins["mean_proba"].min() / 10)
        least = np.clip(least, _LEAST, 0.1)
        bands = bands and self.expected_bins is not None
        is_beyond = self._is_beyond() & bands
        name = self._name_model(is_own, name)

        points, widths, boxes, lines = [], [], [], []
        for k, (panel, rows) in enumerate(zip(axes, panels, strict=True)):
            points.append(self._draw_points(panel, rows, is_beyond[rows], point_kwargs))
            color = points[-1].get_facecolor()
            widths.append(self._draw_widths(panel, rows, color, width_kwargs))
            if bands:
                boxes.append(self._draw_bands(panel, rows, band_kwargs))
            if ref_line:
                lines.append(_draw_diagonal(panel, least, ref_line_kwargs))
            set_probability_limits(panel, scale, least)
            show_as_is(panel.set_title(self._title(k, rows), fontsize="medium"))
        xlabel, ylabel = "Mean predicted probability", "Observed frequency"
        name_axes(axes, n_columns, xlabel, f"{ylabel} (share of rows)", is_own)
        self.points_, self.widths_ = as_drawn(points), as_drawn(widths)
        self.bands_, self.ref_line_ = as_drawn(boxes), as_drawn(lines)
        if legend:
            handles = _as_handles(points[0], name, is_beyond.any(), point_kwargs)
            handles[1:1] = boxes[:1]
            handles += lines[:1]
            add_legend(handles, axes, self.figure_, is_own, 1 + (n_columns > 1))
        return self

    def _is_beyond(self):
        """Whether each bin is outside its box."""
        if self.expected_bins is None:
            return np.zeros(len(self.bins), dtype=bool)
        frequency, expected = self.bins["observed_frequency"], self.expected_bins
        within = 0.5 / self.bins["count"]  # the ends of boxes are good to half a row
        is_below = frequency < expected["lower"] - within
        return is_below | (frequency > expected["upper"] + within)

    def _draw_points(self, ax, rows, is_beyond, given):
        table = self.bins[rows]
        area = _POINT_SIZE * table["weight"] / self.bins["weight"].max()
        if given:  # the look is the user's
            style = styled(given, s=area, color="C0", zorder=3)
            return ax.scatter(table["mean_proba"], table["observed_frequency"], **style)
        color = np.where(is_beyond, BEYOND, "C0")
        points = ax.scatter(
            table["mean_proba"], table["observed_frequency"], area, color, zorder=3
        )
        markers = import_matplotlib().markers
        shapes = [markers.MarkerStyle("D" if beyond else "o") for beyond in is_beyond]
        points.set_paths([
            shape.get_path().transformed(shape.get_transform()) for shape in shapes
        ])
        return points

    def _draw_widths(self, ax, rows, color, given):
        table = self.bins[rows]
        return ax.hlines(
            table["observed_frequency"],
            table["lower"],
            table["upper"],
            **styled(given, color=color, linewidth=1.5, zorder=2),
        )

    def _draw_bands(self, ax, rows, given):
        table, expected = self.bins[rows], self.expected_bins[rows]
        style = styled(
            given,
            color=GREY,
            alpha=0.3,
            edgecolor=GREY,
            linewidth=1,  # a bin of equal probabilities has no width
            zorder=1,
            label=f"where {level_of(self.confidence_level)} of calibrated models' bins "
            "would be",
        )
        return ax.bar(
            table["lower"],
            expected["upper"] - expected["lower"],
            table["upper"] - table["lower"],
            bottom=expected["lower"],
            align="edge",
            **style,
        )

    def _title(self, k, rows):
        title = cut(self.bins["class"][rows[0]], LABEL_WIDTH)
        if self.class_tace is None:
            return title
        title += f"\nerror {self.class_tace[k]:.3f}"
        if self.expected_class_tace_quantile is not None:
            title += f", by chance < {self.expected_class_tace_quantile[k]:.3f}"
        return title


def _as_handles(points, name, any_beyond, given):
    """What the legend shows for the points."""
    label = name or "bin (its mean), from least to greatest probability"
    if given:
        points.set_label(given.get("label", label))
        return [points]
    handles = [as_line(label, marker="o")]
    if any_beyond:
        handles.append(as_line("bin outside its box", color=BEYOND, marker="D"))
    return handles


def _draw_diagonal(ax, least, given):
    ends = np.r_[0, np.geomspace(least / 2, 1, 200)]  # a curve where scales differ
    style = styled(given, color=GREY, linestyle=":", zorder=0, label="calibrated")
    return ax.plot(ends, ends, **style)[0]


def classes_to_draw(report, chosen=None):
    """Numbers of the classes to draw; by default of those furthest from chance."""
    has_bins = report.n_kept_ > 0
    if not has_bins.any():
        raise ValueError(
            "There is nothing to draw: no probability is above the threshold."
        )
    if chosen is None:
        return furthest_from_chance(report, _N_PANELS)
    shown = positions(chosen, report.classes_)
    if not has_bins[shown].all():
        raise ValueError(
            f"Class {report.classes_[shown[~has_bins[shown]][0]]} has no bin: no "
            "probability of it is above the threshold."
        )
    return shown


def _class_of_bins(report):
    """The number of the class of every bin."""
    (with_bins,) = np.nonzero(report.n_kept_)
    return with_bins[np.cumsum(report.bins_["bin"] == 0) - 1]
