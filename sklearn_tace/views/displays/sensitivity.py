"""TACE for other settings, as a picture."""

import warnings
from dataclasses import KW_ONLY, dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import UndefinedMetricWarning

from sklearn_tace.inference.attributes import has_reference
from sklearn_tace.views.displays.base import Display
from sklearn_tace.views.displays.drawing import (
    GREY,
    add_legend,
    as_drawn,
    import_matplotlib,
    name_axes,
    set_log_ticks,
    styled,
    take_axes,
)
from sklearn_tace.views.formatting import gap_of, name_of

_LEAST_THRESHOLD = 1e-3
_BIN_COUNTS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100)


@dataclass(eq=False, repr=False)
class SensitivityDisplay(Display):
    """TACE and the evidence kept, for other thresholds and numbers of bins.

    Make it with :meth:`from_report`, :meth:`from_predictions` or
    :meth:`from_estimator`.

    Parameters
    ----------
    by_threshold, by_n_bins : structured ndarray
        From :meth:`CalibrationReport.sensitivity`.
    threshold : float or None
        The report's own threshold.
    n_bins : int or "auto"
        Its own number of bins.
    tace : float
        Its value.
    n_entries : int
        Rows times classes, of which the share kept is taken.
    norm : {"l1", "l2", "max"}, default="l1"
        What the error of a class is, for the name of the axis.
    name : str, default=None
        Name of the model, for the title.

    Attributes
    ----------
    ax_ : ndarray of 4 Axes
        TACE by threshold and by number of bins; below, the share kept.
    figure_ : matplotlib Figure
        Figure that holds them.
    tace_lines_, kept_lines_ : ndarray of 2 Line2D
        The curves of the upper and of the lower panels.
    expected_lines_ : ndarray of 2 Line2D, or None
        What calibrated models would have.
    own_ : ndarray of 2 Line2D
        The value of the report, at its own setting.

    See Also
    --------
    CalibrationReport.sensitivity : The numbers that are drawn.
    CalibrationReport.plot : Draws it from a report.

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
    >>> display = report.plot("sensitivity", thresholds=[0.1, 0.3], bin_counts=[1, 2])
    >>> display.tace_lines_[1].get_ydata().round(3).tolist()
    [0.025, 0.325]
    >>> plt.close(display.figure_)
    """

    by_threshold: NDArray
    by_n_bins: NDArray
    _: KW_ONLY
    threshold: float | None
    n_bins: int | str
    tace: float
    n_entries: int
    norm: str = "l1"
    name: str | None = None

    @classmethod
    def from_report(
        cls, report, *, thresholds=None, bin_counts=None, name=None, **plot_params
    ):
        """Measure a fitted report for other settings and draw it.

        Parameters
        ----------
        report : CalibrationReport
            Fitted.
        thresholds : array-like of float, default=None
            At or above the report's own. By default from there to 0.5 or more.
        bin_counts : array-like of int, default=None
            Numbers of bins a class. By default from 1 to 100.
        name : str, default=None
            Name of the model, for the title.
        **plot_params : dict
            Passed to :meth:`plot`.

        Returns
        -------
        display : SensitivityDisplay
            The display, drawn.

        Raises
        ------
        ValueError, TypeError
            As :meth:`CalibrationReport.sensitivity`.
        ImportError
            Without matplotlib.
        """
        import_matplotlib()
        display = cls._collect(
            report, thresholds=thresholds, bin_counts=bin_counts, name=name
        )
        return display.plot(**plot_params)

    @classmethod
    def _collect(cls, report, *, thresholds=None, bin_counts=None, name=None):
        """What from_report draws."""
        seen = report._sorted_rows()
        settings = seen.settings
        threshold, n_bins = settings["threshold"], settings["n_bins"]
        if thresholds is not None:
            thresholds = _in_order(thresholds)
        else:
            thresholds = [threshold, *_higher_thresholds(threshold or 0)]
        if bin_counts is not None:
            if np.asarray(bin_counts).dtype.kind not in "iu":
                raise ValueError(f"bin_counts must be integers, got {bin_counts!r}.")
            bin_counts = _in_order(bin_counts)
        else:
            own = () if n_bins == "auto" else (n_bins,)
            bin_counts = sorted({*_BIN_COUNTS, *own})
        with warnings.catch_warnings():
            # Where nothing is left the curve ends.
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            expected = has_reference(seen)
            by_threshold = report.sensitivity(thresholds=thresholds, expected=expected)
            by_n_bins = report.sensitivity(n_bins=bin_counts, expected=expected)
        return cls(
            by_threshold,
            by_n_bins,
            threshold=threshold,
            n_bins=n_bins,
            tace=report.tace_,
            n_entries=report.n_samples_ * len(report.classes_),
            norm=settings["norm"],
            name=name,
        )

    def plot(
        self,
        *,
        ax=None,
        name=None,
        legend=True,
        tace_kwargs=None,
        expected_kwargs=None,
        kept_kwargs=None,
    ):
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, 4 of them, Figure or SubFigure, default=None
            Where to draw; one Axes gives its place to all panels. A new figure by
            default.
        name : str, default=None
            Name of the model, for the title; that of the display by default.
        legend : bool, default=True
            Whether to say what is what: beneath a figure that nothing else is drawn
            in, else in the first panel.
        tace_kwargs, expected_kwargs, kept_kwargs : dict, default=None
            Passed to ``Axes.plot``, for the curves of TACE, of what chance would give,
            and of the share kept.

        Returns
        -------
        display : SensitivityDisplay
            The display itself.
        """
        axes, self.figure_, is_own = take_axes(
            ax, 4, 2, (5.8, 4.6), height_ratios=[2, 1]
        )
        self.ax_ = as_drawn(axes)
        name = self._name_model(is_own, name)
        what = name_of(self.threshold)
        look = {"color": GREY, "linestyle": "--", "label": "calibrated models"}
        ink = import_matplotlib().rcParams["text.color"]
        styles = (
            styled(tace_kwargs, color="C0", marker=".", label=name or what),
            styled(expected_kwargs, **look),
            styled(kept_kwargs, color=ink, marker="."),
        )
        sides = (
            (self.by_threshold, "threshold", self.threshold or 0),
            (self.by_n_bins, "n_bins", self.n_bins),
        )
        drawn = [
            self._draw_side(*panels, *side, styles)
            for panels, side in zip(axes.reshape(2, 2).T, sides, strict=True)
        ]
        name_axes(axes[::2], 1, "Threshold", f"{what} ({gap_of(self.norm)})", is_own)
        name_axes(axes[1::2], 1, "Bins per class", what, is_own)
        _set_y_scales(axes)
        tace, own, expected, kept = map(list, zip(*drawn, strict=True))
        expected = [line for line in expected if line is not None]
        self.tace_lines_, self.kept_lines_ = as_drawn(tace), as_drawn(kept)
        self.expected_lines_, self.own_ = as_drawn(expected), as_drawn(own)
        if legend:
            handles = [tace[0], own[1], *expected[:1]]
            add_legend(handles, axes, self.figure_, is_own, 3)
        return self

    def _draw_side(self, upper, lower, table, field, at, styles):
        """TACE and the share kept by one of the settings."""
        tace_style, expected_style, kept_style = styles
        x = np.nan_to_num(table[field])  # threshold None
        (tace,) = upper.plot(x, table["tace"], **tace_style)
        look = {"color": tace.get_color(), "label": "this report"}
        if at == "auto":
            own = upper.axhline(self.tace, linestyle=":", **look)
        else:
            (own,) = upper.plot(at, self.tace, "o", zorder=4, **look)
        expected = None
        if "expected_tace" in table.dtype.names:
            (expected,) = upper.plot(x, table["expected_tace"], **expected_style)
        share = table["n_kept"] / max(self.n_entries, 1)
        (kept,) = lower.plot(x, share, **kept_style)
        # Of other models too that have been drawn here.
        x = [line.get_xdata() for line in upper.lines if not _is_level(line)]
        for panel in (upper, lower):
            _set_x_scale(panel, np.concatenate(x))
        return tace, own, expected, kept


def _higher_thresholds(threshold):
    least = threshold if threshold >= _LEAST_THRESHOLD else _LEAST_THRESHOLD
    most = 0.5 if threshold < 0.4 else (1 + threshold) / 2
    return np.geomspace(least, most, 16)[threshold == least :].tolist()


def _in_order(values):
    values = np.atleast_1d(np.asarray(values, dtype=object)).tolist()
    return sorted(set(values), key=lambda value: -1 if value is None else value)


def _is_level(line):
    """Whether it goes across the axes, in their coordinates."""
    return line.get_transform() != line.axes.transData


def _set_x_scale(ax, x):
    positive = x[x > 0]
    if not positive.size:
        return
    low, high = positive.min(), positive.max()
    if len(positive) < len(x):
        ax.set_xscale("symlog", linthresh=low, linscale=0.3)
        ax.set_xlim(-low / 3, high * 1.2)
    else:
        ax.set_xscale("log")
        margin = (high / low) ** 0.05 if high > low else 1.5
        ax.set_xlim(low / margin, high * margin)
    set_log_ticks(ax.xaxis, low, high)


def _set_y_scales(axes):
    """From 0 to the highest curve of a row; shares in percent."""
    percent = import_matplotlib().ticker.PercentFormatter(1)
    for panel in axes[2:]:
        panel.set_ylabel("Kept (% of all)")
        panel.yaxis.set_major_formatter(percent)
    for row in (axes[:2], axes[2:]):
        values = [line.get_ydata() for ax in row for line in ax.lines]
        top = np.nanmax(np.concatenate(values), initial=0)
        for panel in row:
            panel.set_ylim(0, 1.08 * top or 1)
