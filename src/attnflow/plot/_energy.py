"""The energy of a run against time."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ._curves import along_time, ceiling
from ._data import times
from ._style import PALETTE, axes_for, style

SYMBOLS = {"Ehat": r"\widehat{E}", "E": "E", "E_p": "E_p", "E_B": "E_B", "E_S": "E_S", "E+U": "(E + U)"}


def energy(run: Any, *, scale: str | None = None, ax: Axes | None = None) -> Figure:
    """Draw the model's declared energy along the run, on the scale named or the model's own.

    `"Ehat"` lies in (0, 1] and reaches 1 when all tokens coincide; its axis shows the whole range.
    """
    from ..diagnostics import energy as measure

    values = np.asarray(measure(run, scale=scale), dtype=float)
    name = str(run.model.energy().scale(scale))
    ts, _ = times(run)
    with style():
        ax = axes_for(ax, 4.8, 3.2)
        ax.plot(ts, values, color=PALETTE["blue"])
        if name == "Ehat":
            ceiling(ax, 1.0)
        along_time(ax, run)
        ax.set(ylabel=rf"energy ${SYMBOLS.get(name, name)}(t)$")
        ax.grid()
    return ax.get_figure(root=True)  # pyright: ignore[reportReturnType]
