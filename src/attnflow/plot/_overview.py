"""A run on one page."""

from typing import Any

from matplotlib.figure import Figure

from ..errors import InputError
from ._attention import attention
from ._clusters import clusters
from ._curves import order_parameter
from ._data import Camera, index, read
from ._energy import energy
from ._inner_products import inner_products
from ._style import new_figure, style
from ._tokens import tokens, view_of


def overview(run: Any, *, at: int = -1, camera: Camera | None = None) -> Figure:
    """Draw the tokens, their energy, the number of clusters and the attention matrix in one figure.

    A model without an energy shows the order parameter instead, and one without an attention matrix (a field of one's
    own, several heads) the law of inner products.
    """
    frames = read(run)
    at = index(at, frames)
    with style():
        figure = new_figure(9.6, 7.4)
        grid = figure.add_gridspec(2, 2, width_ratios=(1.15, 1), height_ratios=(1.25, 1))
        first = figure.add_subplot(grid[0, 0], projection="3d" if view_of(frames).in_space else None)
        tokens(run, at=at, ax=first, camera=camera)
        _either(attention, inner_products, run, figure.add_subplot(grid[0, 1]), at=at)
        _either(energy, order_parameter, run, figure.add_subplot(grid[1, 0]))
        last = figure.add_subplot(grid[1, 1])
        clusters(run, ax=last)
        if len(frames.ts) > 1:
            for ax in (figure.axes[-2], last):
                ax.axvline(frames.ts[at], color="#8A949E", lw=0.8, zorder=1)
    return figure


def _either(first: Any, second: Any, run: Any, ax: Any, **options: Any) -> None:
    """The first picture, or the second if the run cannot have it; both refuse before they draw."""
    try:
        first(run, ax=ax, **options)
    except InputError:
        second(run, ax=ax, **options)
