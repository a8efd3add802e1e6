"""How every picture looks: a palette safe for colour-blind readers, readable sizes, nothing overlapping."""

from contextlib import AbstractContextManager
from typing import Any

import matplotlib as mpl
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from ..errors import InputError, shown
from ..palette import PALETTE
from ._data import positive

INK, FAINT = "#333333", "#B8BEC4"

TIME = LinearSegmentedColormap.from_list("attnflow-time", ["#B5D1E8", "#6FA8D6", "#2F74B5", "#0B2F5B"])
"""Early is light, late is dark: also in print without colours."""

HEAT = LinearSegmentedColormap.from_list(
    "attnflow-heat",
    ["#F5FAFC", "#CBDFEA", "#A0C5DB", "#74AACD", "#4B8FBC", "#2175A8", "#005A8E", "#02416C", "#0A2948"],
)
"""For numbers in a plane: little is light and much is dark, the lightness (CIE L*) in equal steps, one hue."""

_RC: dict[str, Any] = {
    "axes.prop_cycle": cycler(color=list(PALETTE.values())),
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.labelsize": 10,
    "axes.titlesize": 11,
    "axes.titlepad": 8,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.axisbelow": True,
    "figure.constrained_layout.use": True,
    "figure.dpi": 120,
    "figure.facecolor": "white",
    "font.family": "sans-serif",
    "font.size": 10,
    "grid.color": "#E4E7EA",
    "grid.linewidth": 0.7,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "mathtext.fontset": "dejavusans",
    "pdf.fonttype": 42,  # text stays text, as journals ask
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "svg.hashsalt": "attnflow",  # the same picture gives the same file
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
}


def style(**changes: Any) -> AbstractContextManager[None]:
    """A context in which figures look like the library's own; `changes` are further matplotlib settings
    (with `__` for the dot: `font__size=12`).

    >>> with style():
    ...     figure = new_figure()
    """
    settings: dict[Any, Any] = {**_RC, **{name.replace("__", "."): value for name, value in changes.items()}}
    return mpl.rc_context(settings)


def axes_for(ax: Any, width: float | int, height: float | int, in_space: bool = False) -> Axes:
    """The axes that were given, or those of a new figure; three-dimensional ones where the picture is `in_space`."""
    if ax is None:
        return new_figure(width, height).add_subplot(projection="3d" if in_space else None)
    if not isinstance(ax, Axes) or (ax.name == "3d") != in_space:
        kind = "axes in space; give ax with projection='3d'" if in_space else "plain axes; give ax of add_subplot()"
        raise InputError(f"ax = {shown(ax)}, and pictures like this need {kind}.")
    return ax


def new_figure(width: float | int = 4.8, height: float | int = 3.4) -> Figure:
    """An empty figure of that size in inches, in the style, without pyplot."""
    size = positive("width", width), positive("height", height)
    with style():
        return Figure(figsize=size)
