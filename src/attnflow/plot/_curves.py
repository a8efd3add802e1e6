"""Numbers against time."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ._data import times
from ._style import PALETTE, axes_for, style


def order_parameter(run: Any, *, ax: Axes | None = None) -> Figure:
    """Draw the length of the tokens' mean against time; on the sphere it is 1 when all tokens coincide."""
    from ..diagnostics import order_parameter as measure

    with style():
        ax = axes_for(ax, 4.8, 3.2)
        ax.plot(times(run)[0], np.asarray(measure(run)), color=PALETTE["blue"])
        if getattr(getattr(run.model, "space", None), "name", "") == "sphere":
            ceiling(ax, 1.0)
        along_time(ax, run)
        ax.set(ylabel=r"order parameter $|\sum_i w_i x_i|$")
        ax.grid()
    return ax.get_figure(root=True)  # pyright: ignore[reportReturnType]


def ceiling(ax: Axes, height: float) -> None:
    """A quantity that lies between zero and a bound: the whole range, and the bound as a dashed line."""
    ax.axhline(height, color="#8A949E", lw=0.8, ls=(0, (4, 3)), zorder=1)
    ax.set_ylim(0, 1.05 * height)


def along_time(ax: Axes, run: Any) -> None:
    """The axis of the run's own time, from its first to its last saved one."""
    ts, label = times(run)
    ax.set_xlabel(label)
    if ts[-1] > ts[0]:
        ax.set_xlim(ts[0], ts[-1])
