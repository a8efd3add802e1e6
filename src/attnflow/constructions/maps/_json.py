"""Cell flows as JSON: the grid, the permutation and the stretches, of which everything else is made again."""

import json
import os
from typing import Any, NamedTuple

import numpy as np

from ...checks import finite_array
from ...files import check_format, read_json, write_atomically
from ..schedules.folding import Grid
from ._assignment import permutation
from ._grid import checked_grid

FORMAT = "attnflow cell flow 1"


class Saved(NamedTuple):
    """What a file holds."""

    grid: Grid
    tau: np.ndarray
    stretch: np.ndarray | None


def written(path: str | os.PathLike, grid: Grid, tau: np.ndarray, stretch: np.ndarray | None) -> None:
    record = {
        "format": FORMAT,
        "n": grid.n,
        "d": grid.d,
        "eta": grid.eta,
        "box": None if grid.box is None else [corner.tolist() for corner in grid.box],
        "tau": tau.tolist(),
        "stretch": None if stretch is None else stretch.tolist(),
    }
    write_atomically(path, json.dumps(record, allow_nan=False))


def read(path: str | os.PathLike) -> Saved:
    return read_json(path, _saved, "cell flow")


def _saved(record: Any) -> Saved:
    check_format(record, FORMAT)
    grid = checked_grid(record["n"], record["d"], record["eta"], record["box"])
    if grid.d != record["d"]:
        raise ValueError("its box has another dimension")
    tau = permutation("tau", record["tau"], grid)
    return Saved(grid, tau, None if record["stretch"] is None else _stretch(record["stretch"], grid))


def _stretch(values: Any, grid: Grid) -> np.ndarray:
    stretch = finite_array("stretch", values)
    if stretch.shape != (grid.cells,) or (stretch <= 0).any():
        raise ValueError("its cells are not stretched by one positive number each")
    rows = stretch.reshape(-1, grid.n).sum(axis=1)
    if abs(rows - np.round(rows)).max() > 1e-6 or abs(stretch.sum() - grid.cells) > 1e-6 * grid.cells:
        raise ValueError("its rows are not stretched to a whole number of cells")
    return stretch
