"""The map that is to be approximated: its images, and the determinant of its Jacobian."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np

from ...checks import finite_array
from ...errors import InputError, shown
from ...spaces import Numbers
from ..schedules.folding import Grid

PointMap = Callable[[Any], Numbers]
Derivative = Literal["given", "automatic", "differences"]
TILE = 4096  # points that a compiled function takes
STEP = 1e-5  # of differences, in parts of a side: errors of size STEP**2 and 1e-16 / STEP are alike


@dataclass(frozen=True, eq=False)
class GivenMap:
    """A function `phi` of points as rows `(m, d)` in the box of `grid`, and its Jacobian if the user knows it."""

    phi: PointMap
    grid: Grid
    jac: PointMap | None = None
    smooth: bool = True  # whether differences of `phi` mean anything

    def __post_init__(self):
        for name, function in (("phi", self.phi), ("jac", self.jac)):
            if function is not None and not callable(function):
                raise InputError(f"{name} = {shown(function)} is no function; give a function of points (m, d).")
        m = self.grid.d + 3  # an array (d, d) would not show which axis is which
        x = self.grid.lower + self.grid.sides * np.modf(np.outer(np.arange(1, m + 1), np.sqrt(range(2, m - 1))))[0]
        apart = abs(self.images(x)[:2] - self.images(x[:2])).max() / self.grid.sides.max()
        if not apart < 1e-9:
            raise InputError(
                f"phi moves a point by {apart:.2g} sides of the box if other points stand below it; give a function of "
                "rows (m, d), each mapped by itself, such as jax.vmap of a function of one point."
            )

    @cached_property
    def derivative(self) -> Derivative | None:
        """How determinants are known, if they are."""
        if self.jac is not None:
            return "given"
        return "automatic" if self._traced else "differences" if self.smooth else None

    def images(self, x: np.ndarray) -> np.ndarray:
        """`phi` at points `(m, d)`."""
        y = _in_tiles(self._compiled, x) if self._traced else self.phi(x.copy())
        return _numbers("phi", y, x, [x.shape])

    def determinants(self, x: np.ndarray) -> np.ndarray:
        r"""$\det D\varphi$ at points `(m, d)`."""
        if self.jac is None:
            J = _in_tiles(self._automatic, x) if self._traced else np.linalg.det(self._differences(x))
            return _numbers("the Jacobian of phi", J, x, [x.shape[:1]])
        given = self.jac(jnp.asarray(x) if self._traced else x.copy())
        J = _numbers("jac", given, x, [x.shape[:1], (*x.shape, x.shape[1])])
        return J if J.ndim == 1 else np.linalg.det(J)

    @cached_property
    def _traced(self) -> bool:
        """Whether JAX can follow `phi`, and in float64."""
        if not jax.config.jax_enable_x64:  # pyright: ignore[reportAttributeAccessIssue]
            return False
        try:
            return jax.eval_shape(self.phi, jax.ShapeDtypeStruct((5, self.grid.d), float)).dtype == np.float64
        except Exception:  # a function of NumPy, or of anything else
            return False

    @cached_property
    def _compiled(self) -> PointMap:
        return jax.jit(self.phi)

    @cached_property
    def _automatic(self) -> PointMap:
        """Determinants; a column of the Jacobian is a derivative along one axis, at all points at once."""

        def determinants(x: Any) -> Any:
            axes = jnp.eye(x.shape[1])
            columns = [jax.jvp(self.phi, (x,), (jnp.broadcast_to(e, x.shape),))[1] for e in axes]
            return jnp.linalg.det(jnp.stack(columns, axis=-1))

        return jax.jit(determinants)

    def _differences(self, x: np.ndarray) -> np.ndarray:
        """Central differences, and those to one side at the boundary."""
        grid, columns = self.grid, []
        for j, e in enumerate(np.eye(grid.d)):
            step = STEP * grid.sides * e
            behind, ahead = (np.clip(x + s, grid.lower, grid.upper) for s in (-step, step))
            columns.append((self.images(ahead) - self.images(behind)) / (ahead - behind)[:, [j]])
        return np.stack(columns, axis=-1)


def _in_tiles(compiled: PointMap, x: np.ndarray) -> np.ndarray:
    """What a compiled function gives for the rows of `x`: as many at a time as it is compiled for, once."""
    m = len(x)
    padded = np.pad(x, ((0, -m % TILE), (0, 0)), mode="edge").reshape(-1, TILE, x.shape[1])
    return np.concatenate([np.asarray(compiled(tile)) for tile in padded])[:m]


def _numbers(name: str, values: Any, x: np.ndarray, shapes: list[tuple[int, ...]]) -> np.ndarray:
    if not hasattr(values, "dtype"):
        values = finite_array(f"what {name} gives", values)
    dtype = values.dtype
    if np.dtype(dtype).kind == "f" and np.dtype(dtype).itemsize < 8:
        raise InputError(
            f"{name} gives {np.dtype(dtype).name}, and this needs float64; call af.precision('float64') first, or "
            "compute in float64."
        )
    shape = np.shape(values)
    if shape not in shapes:
        wanted = " or ".join(map(str, shapes))
        raise InputError(f"{name} gives the shape {shape} for {len(x)} points as rows; it must be {wanted}.")
    if np.dtype(dtype).kind == "f":
        lost = ~np.isfinite(np.asarray(values)).reshape(len(x), -1).all(axis=1)
        if lost.any():
            raise InputError(
                f"{name} is not finite at the point {x[lost][0].tolist()}; give a map that is smooth there."
            )
    return finite_array(f"what {name} gives", values)
