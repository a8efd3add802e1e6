"""The results of an experiment, which its claims and figures read."""

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ._claim import Skip

if TYPE_CHECKING:
    import numpy
    import xarray

    from ..flows import Run

    Computed = xarray.Dataset | Run | tuple[xarray.Dataset, Run | None]  # the result of `compute`

Cell = dict[str, Any]


class Results:
    """The data of all cells of one experiment, in the order the experiment lists them.

        data = results.select(kind="SA", n=32)             # the one Dataset whose cell has these parameters
        run = results.run(kind="SA", n=32)                 # the Run that this cell keeps
        betas, times = results.curve("t_star", over="beta", n=32)
        for cell, data in results.where(kind="USA"):
            ...

    `load(cell)` returns what `compute` returned. It is called once for each cell, when the cell is first needed; the
    data must not be changed.
    """

    def __init__(self, cells: Sequence[Cell], load: "Callable[[Cell], Computed]", *, scale: str):
        self.scale = scale
        self._cells = list(cells)
        self._stated: list[Cell] | None = None
        self._reason = ""
        self._load = _once(load)

    @property
    def cells(self) -> list[Cell]:
        if self._stated not in (None, self._cells):
            raise Skip(self._reason)
        return self._cells

    def __len__(self) -> int:
        return len(self.cells)

    def __iter__(self) -> Iterator[tuple[Cell, "xarray.Dataset"]]:
        return ((cell, self._load(cell)[0]) for cell in self.cells)

    def __repr__(self) -> str:
        return f"Results({len(self._cells)} cells at scale {self.scale!r})"

    def where(self, **params: Any) -> "Results":
        """The results whose cells have these parameters."""
        chosen = copy.copy(self)
        chosen._cells = _having(params, self._cells)
        chosen._stated = None if self._stated is None else _having(params, self._stated)
        return chosen

    def stated_for(self, cells: Sequence[Cell], reason: str) -> "Results":
        """These results for a claim about `cells`: a selection of cells that differs from the same selection of those
        raises `Skip`.
        """
        stated = copy.copy(self)
        stated._stated, stated._reason = list(cells), reason
        return stated

    def select(self, **params: Any) -> "xarray.Dataset":
        """The one Dataset whose cell has these parameters."""
        return self._load(self._one(params))[0]

    def run(self, **params: Any) -> "Run":
        """The `Run` of the one cell that has these parameters, as `attnflow.load` gives it."""
        cell = self._one(params)
        run = self._load(cell)[1]
        if run is None:
            raise InputError(f"the cell {cell} keeps no run; its compute returns none.")
        return run

    def runs(self) -> Iterator[tuple[Cell, "Run"]]:
        """The cells with their runs."""
        return ((cell, self.run(**cell)) for cell in self.cells)

    def curve(self, variable: str, *, over: str, **params: Any) -> tuple["numpy.ndarray", "numpy.ndarray"]:
        """`(parameter, value)`: a scalar variable against the cell parameter `over`, sorted by that parameter."""
        import numpy as np

        chosen = [(cell[over], float(data[variable])) for cell, data in self.where(**params) if over in cell]
        if not chosen:
            raise InputError(f"no cell has the parameter {over!r} together with {params}.")
        points = np.array(sorted(chosen), dtype=float)
        return points[:, 0], points[:, 1]

    def _one(self, params: dict[str, Any]) -> Cell:
        chosen = self.where(**params).cells
        if len(chosen) != 1:
            wanted = ", ".join(f"{k}={v!r}" for k, v in params.items())
            raise InputError(f"{len(chosen)} of {len(self)} cells have {wanted or 'no condition'}; exactly one must.")
        return chosen[0]


def parts(computed: "Computed") -> "tuple[xarray.Dataset, Run | None]":
    """The Dataset and the Run in the return value of `compute`, which is one of them or a pair of both."""
    import xarray

    if isinstance(computed, tuple):
        data, run = computed
        return data, run
    if isinstance(computed, xarray.Dataset):
        return computed, None
    if not hasattr(computed, "to_xarray"):
        kind = type(computed).__name__
        raise InputError(f"compute returned a {kind}; it should return an xarray.Dataset, a Run, or both as a pair.")
    return xarray.Dataset(), computed


def _having(params: dict[str, Any], cells: list[Cell]) -> list[Cell]:
    return [c for c in cells if all(k in c and c[k] == v for k, v in params.items())]


def _once(load: "Callable[[Cell], Computed]") -> "Callable[[Cell], tuple[xarray.Dataset, Run | None]]":
    read: dict[str, tuple[xarray.Dataset, Run | None]] = {}

    def loaded(cell: Cell) -> "tuple[xarray.Dataset, Run | None]":
        name = repr(sorted(cell.items()))
        if name not in read:
            read[name] = parts(load(cell))
        return read[name]

    return loaded
