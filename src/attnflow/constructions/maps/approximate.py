"""A diffeomorphism of a box, approximated by the flow of a schedule: unfold, compress, permute, fold."""

from typing import Literal, get_args

import numpy as np

from ...errors import InputError, shown
from ...spaces import Numbers
from ._assignment import assignment, check_cells, permutation
from ._bijection import BOUNDARY, PARTS, cell_volumes
from ._cells import unstretched
from ._compression import slopes
from ._given import GivenMap, PointMap
from ._grid import checked_grid
from .flow import CellFlow

Corners = tuple[Numbers, Numbers]
Method = Literal["auto", "polar", "permutation"]
ETA = 1e-9  # what lands far away from ramps is then below the errors of all grids that can be assigned
PULLED = {2: 4, 3: 3}  # points along each axis of a stretched cell, whose images decide where it goes; 2 beyond
INCOMPRESSIBLE = 1e-6  # from which changes of volume on are worth a compression


def approximate_map(
    phi: PointMap,
    n: int,
    *,
    d: int | None = None,
    box: Corners | None = None,
    jac: PointMap | None = None,
    method: Method = "auto",
    eta: float = ETA,
) -> CellFlow:
    r"""A diffeomorphism $\varphi$ of a box, and the law it makes of the uniform one, approximated by one explicit flow.

    **Arguments:**

    - `phi`: maps points as rows `(m, d)`, each by itself, and the box onto itself, with $\det D\varphi > 0$: a
      function of JAX or of NumPy. What folds, reverses orientation or leaves the box is refused in a sentence.
    - `n`: cells along each axis, $n^d \le 8192$.
    - `d`: the dimension of the unit cube, by default 2; or `box`: two corners `(lower, upper)` in any dimension >= 2.
    - `jac`: $D\varphi$ at points, `(m, d, d)`, or its determinant, `(m,)`; by default from JAX if it can follow `phi`
      (in float64), else from differences.
    - `method`: `"permutation"` moves the cells as they are, which is enough if $\varphi$ keeps volumes; `"polar"`
      stretches them first; `"auto"` decides by the determinants.
    - `eta`: the width of ramps, in parts of a cell. Points in ramps, in all at most $(d + 1)\eta$ of the box, may go
      anywhere.

    The cells are laid in a strip by shears, stretched along it to the volumes of their images, permuted, each to where
    its image is on average (an optimal assignment), and folded to the box. All of it are ReLU neurons with weights that
    are constant in time: about $7n^d$ pieces in the plane. The errors, `flow.report()`, are $O(1/n)$, so that the
    number of pieces grows as $\varepsilon^{-d}$.

    After Geshkovski, Ruiz-Balet, *Constructive conditional normalizing flows*, arXiv:2602.08606; the construction is
    our own, made to meet the claims of the paper: docs/theory/diffeomorphism.md.

    >>> import numpy as np
    >>> flow = approximate_map(lambda x: x + 0.1 * np.sin(2 * np.pi * x), 8)
    >>> flow
    CellFlow: 8^2 cells, 452 pieces of R^2
    """
    if not isinstance(method, str) or method not in get_args(Method):
        raise InputError(f"method = {shown(method)}; choose auto, polar or permutation.")
    given = _given(phi, n, d, box, jac, eta)
    volumes = cell_volumes(given)
    if method == "permutation" or (method == "auto" and abs(volumes - 1).max() < INCOMPRESSIBLE):
        return _permuted(given)
    return _polar(given, volumes)


def polar_flow(
    phi: PointMap,
    n: int,
    *,
    d: int | None = None,
    box: Corners | None = None,
    jac: PointMap | None = None,
    eta: float = ETA,
) -> CellFlow:
    r"""$\varphi$ as the gradient of a convex function, which stretches a strip, and a permutation of cells after it.

    It is `approximate_map(method="polar")`, which stretches even where $\varphi$ keeps volumes.
    """
    return approximate_map(phi, n, d=d, box=box, jac=jac, method="polar", eta=eta)


def permutation_flow(
    psi: PointMap | Numbers, n: int, *, d: int | None = None, box: Corners | None = None, eta: float = ETA
) -> CellFlow:
    r"""Cells of a box permuted by shears: those of a permutation, or the best ones for a map that keeps volumes.

    `psi` is a map of points `(m, d)` that keeps volumes and maps the box to itself, but need not be continuous: each
    cell goes to where its image is on average, by an optimal assignment. Or it is the permutation itself, whole numbers
    `(n^d,)`: the cell in column $c_j$ along axis j has the number $\sum_j c_j n^j$, and cell k goes to the place of
    cell `psi[k]`. At most $6n^d + O(n)$ pieces; $\det D\Psi = 1$ exactly.

    >>> quarter_turn = permutation_flow([2, 0, 3, 1], 2)
    >>> quarter_turn([[0.25, 0.25], [0.3, 0.75]]).round(12).tolist()
    [[0.25, 0.75], [0.8, 0.75]]
    """
    if callable(psi):
        return _permuted(_given(psi, n, d, box, None, eta, smooth=False))
    grid = checked_grid(n, d, eta, box)
    return CellFlow(grid, permutation("psi", psi, grid))


def _given(
    phi: PointMap, n: int, d: int | None, box: Corners | None, jac: PointMap | None, eta: float, smooth: bool = True
) -> GivenMap:
    grid = checked_grid(n, d, eta, box)
    check_cells(grid)
    return GivenMap(phi, grid, jac, smooth)


def _permuted(given: GivenMap) -> CellFlow:
    grid = given.grid
    images = _mean_images(given, grid.midpoints(PARTS.get(grid.d, 2)))
    if (away := np.maximum(grid.lower - images, images - grid.upper).max(axis=1)).max() > BOUNDARY * grid.sides.max():
        where, image = (points[int(away.argmax())].round(4).tolist() for points in (grid.centres, images))
        raise InputError(
            f"psi sends points near {where} out of the box, near {image}; give a map of the box to itself."
        )
    return CellFlow(grid, assignment(images, grid), given=given)


def _polar(given: GivenMap, volumes: np.ndarray) -> CellFlow:
    grid, stretch = given.grid, slopes(volumes, given.grid)
    parts = grid.parts(PULLED.get(grid.d, 2))
    x = unstretched(np.repeat(np.arange(grid.cells), len(parts)), np.tile(parts, (grid.cells, 1)), grid, stretch).x
    return CellFlow(grid, assignment(_mean_images(given, x.reshape(grid.cells, -1, grid.d)), grid), stretch, given)


def _mean_images(given: GivenMap, x: np.ndarray) -> np.ndarray:
    """The mean image of some points of each cell, `(n^d, q, d)`: the nearer a place is to it, the better."""
    return given.images(x.reshape(-1, x.shape[-1])).reshape(x.shape).mean(axis=1)
