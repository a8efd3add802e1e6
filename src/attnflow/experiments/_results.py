"""What an experiment computed, as claims and figures read it."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InputError

if TYPE_CHECKING:
    import numpy
    import xarray

Cell = dict[str, Any]


class Results:
    """The data of all cells of one experiment, in the order the experiment lists them.

    Read it aloud: *the cell with n = 32 and beta = 3*, *t\\* over beta at n = 32*.

        data = results.select(kind="SA", n=32)             # the one Dataset whose cell has these parameters
        betas, times = results.curve("t_star", over="beta", n=32)
        for cell, data in results.where(kind="USA"):
            ...

    Datasets are read from the run folder when they are asked for.
    """

    def __init__(self, cells: Sequence[Cell], load: Callable[[Cell], Any], *, scale: str):
        self.cells = list(cells)
        self.scale = scale
        self._load = load

    def __len__(self) -> int:
        return len(self.cells)

    def __iter__(self) -> Iterator[tuple[Cell, "xarray.Dataset"]]:
        return ((cell, self._load(cell)) for cell in self.cells)

    def __repr__(self) -> str:
        return f"Results({len(self)} cells at scale {self.scale!r})"

    def where(self, **params: Any) -> "Results":
        """The results whose cells have these parameters."""
        chosen = [c for c in self.cells if all(k in c and c[k] == v for k, v in params.items())]
        return Results(chosen, self._load, scale=self.scale)

    def select(self, **params: Any) -> "xarray.Dataset":
        """The one Dataset whose cell has these parameters."""
        chosen = self.where(**params)
        if len(chosen) != 1:
            asked = ", ".join(f"{k}={v!r}" for k, v in params.items())
            raise InputError(f"{len(chosen)} of {len(self)} cells have {asked or 'no condition'}; exactly one must.")
        return next(data for _, data in chosen)

    def curve(self, variable: str, *, over: str, **params: Any) -> tuple["numpy.ndarray", "numpy.ndarray"]:
        """`(parameter, value)`: a scalar variable against the cell parameter `over`, sorted by that parameter."""
        import numpy as np

        chosen = [(cell[over], float(data[variable])) for cell, data in self.where(**params) if over in cell]
        if not chosen:
            raise InputError(f"no cell has the parameter {over!r} together with {params}.")
        points = np.array(sorted(chosen), dtype=float)
        return points[:, 0], points[:, 1]
