"""Points of a density on a box, by rejection: a cell by the bound of its mass, then a point in the cell."""

import itertools
from collections.abc import Callable

import numpy as np

from ....errors import InputError
from .law import Box

CELLS = {1: 4096, 2: 256, 3: 40}  # along each side
WITHIN = np.linspace(-0.5, 0.5, 3)  # places in a cell where the bound is taken


class CellRejection:
    """The density is at most that at the corners, the middles and the centre of a cell, and a tenth more."""

    def __init__(self, log_density: Callable[[np.ndarray], np.ndarray], box: Box):
        self.log_density, self.box, d = log_density, box, len(box.low)
        self.cells, self.sides = CELLS[d], box.sides / CELLS[d]
        axes = np.meshgrid(*(np.arange(self.cells) + 0.5,) * d, indexing="ij")
        self.centres = np.stack([a.ravel() for a in axes], axis=1)
        values = [self.log_density(self._place(self.centres + w)) for w in itertools.product(WITHIN, repeat=d)]
        self.bound = np.max(values, axis=0) + np.log(1.1)
        if not np.isfinite(self.bound.max()):
            raise InputError(
                f"the density is zero on the box from {box.low} to {box.high}; give one that holds its mass."
            )
        masses = np.exp(self.bound - self.bound.max())
        self.masses = masses / masses.sum()

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        kept: list[np.ndarray] = []
        while sum(map(len, kept)) < n:
            cell = rng.choice(len(self.masses), 2 * n, p=self.masses)
            x = self._place(self.centres[cell] + rng.uniform(-0.5, 0.5, (2 * n, len(self.sides))))
            kept.append(x[np.log(rng.uniform(size=2 * n)) < self.log_density(x) - self.bound[cell]])
        return np.concatenate(kept)[:n]

    def _place(self, cells: np.ndarray) -> np.ndarray:
        x = self.box.low + cells * self.sides
        return np.clip(x, self.box.low, self.box.high)
