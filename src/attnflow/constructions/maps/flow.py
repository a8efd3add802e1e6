"""What `approximate_map` returns: a schedule that moves the cells of a box, and how it came about."""

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from ...errors import AttnflowWarning, InputError
from ...spaces import Key, Numbers
from ..schedules import AbstractPiece, Schedule
from ..schedules.checked import points
from ..schedules.densities import BaseDensity
from ..schedules.folding import Box, Grid, folding, merged, permuting, pieces, unfolding
from ._compression import compression
from ._given import GivenMap, PointMap
from ._json import read, written
from ._ramps import meets_ramp
from ._report import MapReport, report
from ._verification import Verification, verification


class Stage(NamedTuple):
    """A step of the construction: its name, and its pieces of a schedule."""

    name: str
    blocks: tuple[AbstractPiece, ...]

    @property
    def pieces(self) -> int:
        return sum(block.count for block in self.blocks)


class Counts(NamedTuple):
    """Pieces of constant weights, after shears along the same axes were merged and before; and their bounds."""

    merged: int
    unmerged: int
    most: int
    most_unmerged: int


@final
@dataclass(frozen=True, eq=False, repr=False)
class CellFlow:
    r"""A map of a box that stretches the cells of a grid and permutes them: the flow of a `schedule`.

    `flow(x)` maps points `(m, d)`, `inverse`, `log_det` and `log_density` are exact. Cell k goes to the place of cell
    `tau[k]`, where `stretch` is `None`; else the cells are first stretched, laid in a strip, by the factors `stretch`,
    and `tau` permutes the cells of the stretched strip. Points within `eta / 2` cells of an edge are in a ramp, and may
    go anywhere (`in_ramps`); their share of the box is at most `ramp_mass`.

    `schedule` is a `Schedule`: it is drawn by `timeline` and `animate`, saved by `save`, and becomes a run by `to_run`
    and a model by `to_model`, which adds up steep neurons one by one: for that take wider ramps, say `eta=1e-4`.
    """

    grid: Grid
    tau: np.ndarray
    stretch: np.ndarray | None = None
    given: GivenMap | None = None

    def __post_init__(self):
        for array in (self.tau, self.stretch):
            if array is not None:
                array.flags.writeable = False  # the schedule is made of them once

    @property
    def n(self) -> int:
        """Cells along an axis."""
        return self.grid.n

    @property
    def d(self) -> int:
        """The dimension of points."""
        return self.grid.d

    @property
    def eta(self) -> float:
        """The width of a ramp, in parts of a cell."""
        return self.grid.eta

    @property
    def box(self) -> Box:
        """The lower and the upper corner."""
        return self.grid.lower, self.grid.upper

    # The schedule ----------------------------------------------------------------------------------------------------

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """Unfold, compress (unless volumes are kept), permute, fold."""
        shears = [
            ("unfold", unfolding(self.grid)),
            ("permute", permuting(self.tau, self.grid)),
            ("fold", folding(self.grid)),
        ]
        stages = [Stage(name, pieces(steps, self.grid)) for name, steps in shears]
        return tuple(stages if self.stretch is None else [stages[0], self._compress, *stages[1:]])

    @cached_property
    def schedule(self) -> Schedule:
        """All pieces, first to last; shears along the same axes are one."""
        first, later = unfolding(self.grid), permuting(self.tau, self.grid) + folding(self.grid)
        if self.stretch is None:
            return Schedule(pieces(merged(first + later), self.grid))
        return Schedule([*pieces(first, self.grid), *self._compress.blocks, *pieces(merged(later), self.grid)])

    @cached_property
    def unmerged(self) -> Schedule:
        """The pieces of all stages one after another."""
        return Schedule([block for stage in self.stages for block in stage.blocks])

    @property
    def counts(self) -> Counts:
        """Pieces of constant weights."""
        n, d, M = self.n, self.d, self.grid.cells
        cells, folds = 6 * (M - 1) + 2, 8 * (d - 1) * (n - 1)
        if self.stretch is None:
            return Counts(self.schedule.pieces, self.unmerged.pieces, cells + folds - 6 * (n - 1), cells + folds)
        cells += M + 2
        return Counts(self.schedule.pieces, self.unmerged.pieces, cells + folds - 2 * (n - 1), cells + folds)

    # What it does ----------------------------------------------------------------------------------------------------

    def __call__(self, x: Numbers) -> np.ndarray:
        """The images of points `(m, d)`. A warning tells of points on edges of cells, which land anywhere."""
        x = points("x", x, self.d)
        self._warn_of_edges(x)
        return self.schedule.forward(x)

    def inverse(self, y: Numbers) -> np.ndarray:
        """The points `(m, d)` whose images these are."""
        return self.schedule.inverse(y)

    def log_det(self, x: Numbers) -> np.ndarray:
        r"""$\log\det D\Psi$ at points `(m, d)`."""
        return self.schedule.log_det(x)

    def trace(self, x: Numbers) -> np.ndarray:
        """Points `(m, d)` before, between and after the blocks of the schedule: `(L + 1, m, d)`."""
        states = [points("x", x, self.d)]
        for block in self.schedule.blocks:
            states.append(block.forward(states[-1]))
        return np.stack(states)

    def in_ramps(self, x: Numbers) -> np.ndarray:
        """Of points `(m, d)`, which ones meet a ramp on their way, and need not go where their cell goes."""
        return meets_ramp(self.schedule, points("x", x, self.d))

    @property
    def ramp_mass(self) -> float:
        """A bound of the share of the box that is in ramps: every edge of a cell has one, `eta` cells wide."""
        return min((self.d if self.stretch is None else self.d + 1) * self.eta, 1.0)

    # How well --------------------------------------------------------------------------------------------------------

    def report(
        self,
        phi: PointMap | None = None,
        *,
        jac: PointMap | None = None,
        base: BaseDensity | None = None,
        points: int = 100_000,
        key: Key | None = None,
    ) -> MapReport:
        """Errors against the map that is approximated, from random points of the box, with their standard errors.

        They are means over the uniform law of the box, or over the part of a law `base` in it, which is known by its
        bounded density: `log_density(x (m, d)) -> (m,)`, or that function. After `load` the map is not known: give it
        again as `phi`.
        """
        given = self.given if phi is None else GivenMap(phi, self.grid, jac)
        if given is None and self.stretch is not None:
            raise InputError("this flow does not know the map it approximates; give it as phi.")
        return report(self, given, points, key, base)

    def verify(self, *, points: int = 20_000, key: Key | None = None) -> Verification:
        """Whether the schedule moves points as the cells should go, keeps volumes and can be inverted."""
        return verification(self, points, key)

    def explain(self) -> str:
        """The steps in words, with what they cost."""
        return "\n".join(self._sentences())

    def _sentences(self) -> Iterator[str]:
        words = {
            "unfold": f"lay the {self.grid.cells} cells of the box beside each other, in a strip",
            "compress": "stretch each cell of the strip by the volume of its image",
            "permute": "lift every cell to a height of its own, move it to its place, let it down",
            "fold": "stack the strip to the box again",
        }
        yield repr(self)
        for k, stage in enumerate(self.stages, 1):
            yield f"{k}. {stage.name}: {words[stage.name]} ({len(stage.blocks)} blocks, {stage.pieces} pieces)"
        yield (
            f"Blocks along the same axes are merged: {len(self.schedule.blocks)} blocks, {self.counts.merged} pieces. "
            f"Ramps take at most {self.ramp_mass:.2g} of the box."
        )

    def save(self, path: str | os.PathLike) -> None:
        """Write the flow as JSON, without the map that it approximates."""
        written(path, self.grid, self.tau, self.stretch)

    @classmethod
    def load(cls, path: str | os.PathLike) -> "CellFlow":
        """Read what `save` wrote."""
        return cls(*read(path))

    def __repr__(self) -> str:
        return f"CellFlow: {self.n}^{self.d} cells, {self.counts.merged} pieces of R^{self.d}"

    def _warn_of_edges(self, x: np.ndarray) -> None:
        cells = (x - self.grid.lower) / self.grid.h
        near = (abs(cells - np.round(cells)) <= self.eta / 2).any(axis=1)
        if lost := int(self.in_ramps(x[near]).sum()):
            warnings.warn(
                f"{lost} of {len(x)} points lie on edges of the {self.n}^{self.d} cells, in ramps, and land anywhere; "
                "`in_ramps` says which. Take other points, such as midpoints of a mesh.",
                AttnflowWarning,
                stacklevel=3,
            )

    @property
    def _compress(self) -> Stage:
        assert self.stretch is not None
        return Stage("compress", (compression(self.stretch, self.grid),))
