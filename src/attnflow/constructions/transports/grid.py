r"""The plane: from the uniform law on a box to any density that is constant on the cells of an n x n grid, exactly.

Two shears cut the box into its n rows and lay them one after another: a strip one row high and n boxes long. On it a
monotone map along the strip gives every cell its mass, and the inverse shears fold the strip. Only ramps of the shears
between rows and between columns, of width $\eta$ times a cell, go elsewhere.
"""

from collections.abc import Callable

import numpy as np

from ...checks import whole
from ...errors import InputError
from ...spaces import Count, Numbers
from ..schedules import MonotonePL, Schedule
from ..schedules.folding import unfold
from .laws import AbstractLaw, Box, GridDensity, Law, UniformBox, as_law

ETA = 1e-7  # width of a ramp over that of a cell
LEAST = 1e-6  # mass of a cell over the largest one
SEEN = 0.9  # of the mass of a law that the box must hold
NODES = 6  # of the rule in a cell, along each side


def grid_transport(
    density: Law | Callable[[np.ndarray], Numbers],
    n: Count = 16,
    *,
    low: Numbers = (0.0, 0.0),
    high: Numbers = (1.0, 1.0),
) -> Schedule:
    r"""The schedule of $n^2 + 8n - 6$ pieces from the uniform law on a box of the plane to cell averages of a density.

    - `density`: a law on the plane, or a function of points `(m, 2)`, positive, of any mass.
    - `low`, `high`: corners of the box, by default the unit square. The density is renormalised to it.

    Total variation is $O(1/n)$. Cells with less than 1e-6 of the largest mass are given that much. The result is exact
    up to a share of about $4\eta$ of the mass, $\eta = 10^{-7}$, that lies on ramps of the shears, where the density
    is far too small: for this reason the divergence $KL(\rho_*|\rho_T)$ is stated off these layers.

    The construction is ours, for the claims of arXiv:2412.19366; see docs/theory/relu-transport.md.
    """
    n, box = whole("n", n, least=2, most=4096), UniformBox(low, high).box
    if len(box.low) != 2:
        raise InputError(f"the box has {len(box.low)} sides; the grid is one of the plane: give two.")
    return schedule_of_cells(cell_averages(density, n, box))


def cell_averages(density: Law | Callable[[np.ndarray], Numbers], n: int, box: Box) -> GridDensity:
    """The masses of the cells, by a Gauss-Legendre rule in each; no cell is left empty."""
    given = _law_or_function(density)
    x, weights = cell_rule(n, box, NODES)
    found = _values(given, x) * weights
    masses = found.reshape(n, NODES, n, NODES).sum(axis=(1, 3))
    if not masses.sum() > 0:
        raise InputError(f"the density is zero on the box from {box.low} to {box.high}; take one that holds its mass.")
    if isinstance(given, AbstractLaw) and given.normalized and masses.sum() < SEEN:
        raise InputError(
            f"the box from {box.low} to {box.high} holds {masses.sum():.2g} of the mass of the density; take a larger "
            "one."
        )
    return GridDensity(np.maximum(masses, LEAST * masses.max()), *box)


def cell_rule(n: int, box: Box, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Points `(n^2 nodes^2, 2)` of a Gauss-Legendre rule in each of n x n cells, and weights that sum to the area."""
    at, weights = np.polynomial.legendre.leggauss(nodes)
    places = (np.arange(n)[:, None] + (1 + at) / 2).ravel() / n
    axes = np.meshgrid(*(box.low[k] + box.sides[k] * places for k in (0, 1)), indexing="ij")
    line = np.tile(weights / 2 / n, n)
    return np.stack(axes, axis=-1).reshape(-1, 2), np.outer(line, line).ravel() * box.volume


def schedule_of_cells(cells: GridDensity) -> Schedule:
    """The schedule of a density that is constant on cells: unfold, give every cell its mass, fold."""
    n, box = len(cells.weights), cells.box
    there = unfold(n, 2, ETA, box=(box.low, box.high))
    # Rows are laid one after another, so cells are numbered along the first coordinate first.
    cumulated = np.concatenate([[0.0], np.cumsum(cells.weights.T.ravel())])
    cumulated[-1] = 1.0
    sources = box.low[0] + n * box.sides[0] * cumulated
    targets = box.low[0] + box.sides[0] * np.arange(n**2 + 1) / n
    spread = MonotonePL([1.0, 0.0], sources, targets)
    return Schedule([*there, spread, *(shear.inverted for shear in reversed(there))])


def _law_or_function(density: Law | Callable[[np.ndarray], Numbers]) -> "AbstractLaw | Callable[[np.ndarray], Numbers]":
    if callable(density) and not hasattr(density, "logpdf"):
        return density
    return as_law("density", density)  # type: ignore[arg-type]  # what is left is no function


def _values(density: AbstractLaw | Callable[[np.ndarray], Numbers], x: np.ndarray) -> np.ndarray:
    if isinstance(density, AbstractLaw):
        known = getattr(density, "log_density", None)
        if known is None or density.d != 2:
            raise InputError(f"{density!r} has no density on the plane; the grid needs one: give laws.FromDensity.")
        return np.exp(known(x))
    values = np.asarray(density(x), float)
    if values.shape != (len(x),) or not np.isfinite(values).all() or (values < 0).any():
        raise InputError("density must give one number for each point (m, 2), finite and not negative.")
    return values
