"""Helpers for drawing with matplotlib: axes, styles, legends, scales.

matplotlib is imported when something is drawn. Colours are those of the user's style.
"""

import importlib

import numpy as np

BEYOND = "C1"  # blue and orange are told apart by all eyes
GREY = "0.5"  # seen on white and on black
LABEL_WIDTH, NAME_WIDTH = 28, 60
_MARGIN = 1.2  # beyond the ends of a logarithmic axis
INSTALL = '{} need {}: python -m pip install "sklearn-tace[plot]".'


def import_matplotlib():
    """Matplotlib, or an error that says how to get it."""
    try:
        import matplotlib
    except ImportError as error:
        raise ImportError(INSTALL.format("Pictures", "matplotlib")) from error
    for module in (
        *("axes", "cbook", "collections", "figure", "lines", "markers", "style"),
        "ticker",
    ):
        importlib.import_module(f"matplotlib.{module}")
    return matplotlib


def take_axes(ax, n_panels, n_columns, size, **ratios):
    """Axes row by row: new ones, those given, or some in the place of what is given.

    Parameters
    ----------
    ax : None, Axes, Figure, SubFigure, or as many Axes as there are panels
    n_panels, n_columns : int
    size : (width, height) of a figure of our own, in inches at a font size of 10
    ratios : see Figure.subplots

    Returns
    -------
    axes : (n_panels,) array of Axes
    figure : Figure or SubFigure that holds them
    is_own : bool
        Whether nothing else is drawn there.
    """
    matplotlib = import_matplotlib()
    shape = -(-n_panels // n_columns), n_columns
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.figure()
    if isinstance(ax, matplotlib.figure.FigureBase):
        if ax.axes:
            raise ValueError(
                "The figure passed as ax holds axes already. Pass a SubFigure, or axes."
            )
        if isinstance(ax, matplotlib.figure.Figure):
            ax.set_layout_engine("constrained")
            scale = matplotlib.rcParams["font.size"] / 10
            ax.set_size_inches(np.array(size) * scale)
        axes = ax.subplots(*shape, squeeze=False, **ratios).ravel()
        for blank in axes[n_panels:]:
            blank.remove()
        return axes[:n_panels], ax, True
    axes = np.array(ax, dtype=object).ravel()
    if not all(isinstance(one, matplotlib.axes.Axes) for one in axes):
        raise TypeError(f"ax must be a Figure or Axes, got {ax!r}.")
    if axes.size == 1 < n_panels:
        axes = _subdivide(axes.item(), n_panels, shape, **ratios)
    if axes.size < n_panels:
        raise ValueError(
            f"ax must be a Figure, one Axes or {n_panels} of them, got {axes.size}."
        )
    return axes[:n_panels], axes[0].figure, False


def _subdivide(ax, n_panels, shape, **ratios):
    """Axes in the place of one."""
    spec = ax.get_subplotspec()
    if spec is None:
        raise ValueError(
            "ax must be made by subplots to hold several panels; or pass a Figure."
        )
    ax.set_axis_off()
    grid = spec.subgridspec(*shape, **ratios)
    places = list(np.ndindex(*shape))[:n_panels]
    axes = [ax.figure.add_subplot(grid[place]) for place in places]
    return np.array(axes, dtype=object)


def as_drawn(artists):
    """One as it is, several in an array of objects, None for none."""
    artists = list(artists)
    if len(artists) < 2:
        return artists[0] if artists else None
    array = np.empty(len(artists), dtype=object)
    array[:] = artists
    return array


def styled(given, **defaults):
    """The defaults, unless the user says otherwise under whatever name."""
    matplotlib = import_matplotlib()
    given = matplotlib.cbook.normalize_kwargs(
        given or {}, matplotlib.collections.Collection
    )
    if {"c", "facecolor", "edgecolor"} & set(given):
        defaults.pop("color", None)
    return defaults | given


def show_as_is(*texts):
    """Labels are data: a dollar sign begins no formula."""
    for text in texts:
        text.set_parse_math(False)
        text.set_usetex(False)


def as_line(label, color="C0", **style):
    """What a legend shows for points on lines."""
    return import_matplotlib().lines.Line2D([], [], color=color, label=label, **style)


def add_legend(handles, axes, figure, is_own, n_columns):
    """One legend: beneath what is our own, else added to that of the first panel."""
    if is_own:
        return figure.legend(
            handles=handles,
            loc="outside lower center",
            ncols=n_columns,
            fontsize="small",
            frameon=False,
        )
    known = axes[0].get_legend()
    entries = {}
    if known is not None:
        texts = [text.get_text() for text in known.get_texts()]
        entries = dict(zip(texts, known.legend_handles, strict=True))
    entries |= {handle.get_label(): handle for handle in handles}
    return axes[0].legend(entries.values(), entries.keys(), fontsize="small")


def name_axes(axes, n_columns, xlabel, ylabel, is_own):
    """Name all axes; in a grid of our own the outer ones, which the others share."""
    for k, ax in enumerate(axes):
        if not is_own or k + n_columns >= len(axes):
            ax.set_xlabel(xlabel)
        else:
            ax.tick_params(labelbottom=False)
        if not is_own or k % n_columns == 0:
            ax.set_ylabel(ylabel)
        else:
            ax.tick_params(labelleft=False)


def set_log_ticks(axis, low, high):
    """Ticks at few multiples of powers of ten, or at the ends."""
    n_decades = np.log10(high / low)
    factors = (1, 2, 5) if n_decades < 1.5 else (1, 3) if n_decades < 2.1 else (1,)
    step = int(np.ceil(n_decades / 4)) if n_decades >= 3 else 1
    last = int(np.ceil(np.log10(high)))
    decades = 10.0 ** np.arange(last, np.floor(np.log10(low)) - 1, -step)
    ticks = np.unique(np.outer(decades, factors))
    ticks = ticks[(ticks >= low * 0.999) & (ticks <= high * 1.001)]
    if len(ticks) < 2:
        ticks = np.unique([low, high])
    if axis.get_scale() == "symlog":
        ticks = np.append(0, ticks[ticks > 2 * low])
    axis.set_ticks(ticks, labels=[f"{tick:.3g}" for tick in ticks])
    axis.set_ticks([], minor=True)


def set_probability_limits(ax, scale, least):
    """From 0 to 1; a logarithmic scale becomes linear below ``least``."""
    if scale == "linear":
        margin = 0.02
        ax.set(xlim=(-margin, 1 + margin), ylim=(-margin, 1 + margin))
        return
    if ax.get_xscale() == "log":  # another model has been drawn here
        least = min(least, ax.get_xlim()[0] * _MARGIN)
    ax.set_xscale("log")
    ax.set_yscale("symlog", linthresh=least, linscale=0.5)
    ax.set(xlim=(least / _MARGIN, _MARGIN), ylim=(-least / 10, _MARGIN))
    for axis in (ax.xaxis, ax.yaxis):
        set_log_ticks(axis, least, 1)
