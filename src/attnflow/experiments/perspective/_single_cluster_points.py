"""Stationary configurations and the chance of a hemisphere, for `single_cluster`: no flow is needed."""

import itertools
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .. import Cell

if TYPE_CHECKING:
    import xarray

TURNED = 1e-4  # angle by which one of two antipodal tokens is turned


def stationary(cell: Cell) -> "xarray.Dataset":
    r"""Greatest speed in configurations that must not move, and how fast a nearly antipodal pair opens.

    Two tokens at angle $\pi - \varepsilon$ leave at the rate $2K/(1+K)$ (SA) or $K$ (shifted USA), $K = e^{-2\beta}$,
    up to $\varepsilon^2$.
    """
    import jax
    import jax.numpy as jnp
    import numpy as np
    import xarray

    import attnflow as af

    from ._single_cluster_runs import kinds

    model = kinds(cell["kind"], beta=cell["beta"])
    simplex = np.eye(4) - 1 / 4
    configurations = {
        "antipodal pair": np.array([[0.6, 0.8, 0.0], [-0.6, -0.8, 0.0]]),
        "regular simplex": simplex / np.linalg.norm(simplex, axis=1, keepdims=True),
        "three clusters": _circle(np.repeat(2 * np.pi * np.arange(3) / 3, 4)),
        "five clusters": _circle(np.repeat(2 * np.pi * np.arange(5) / 5, 3)),
    }
    field = jax.jit(lambda x: af.field(model, 0.0, x))
    speeds = [np.linalg.norm(field(jnp.asarray(x)), axis=1).max() for x in configurations.values()]
    pair = _circle(np.array([0.0, np.pi - TURNED]))
    v = np.asarray(field(jnp.asarray(pair)))
    # Both turn towards each other: their angle falls by the sum of their speeds.
    opening = np.linalg.norm(v, axis=1).sum() / TURNED
    return xarray.Dataset(
        {"speed": ("configuration", speeds), "leaving": opening}, coords={"configuration": list(configurations)}
    )


def _circle(angles: Any) -> Any:
    import numpy as np

    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def wendel(cell: Cell) -> "xarray.Dataset":
    """How many of many draws of n uniform tokens lie in a hemisphere."""
    import numpy as np
    import xarray

    x = np.random.default_rng(cell["seed"]).normal(size=(cell["draws"], cell["n"], cell["d"]))
    inside = _in_a_hemisphere(x)
    p = float(wendel_probability(cell["n"], cell["d"]))
    return xarray.Dataset({"fraction": inside.mean(), "stderr": math.sqrt(p * (1 - p) / len(x))})


def wendel_probability(n: int, d: int) -> Fraction:
    r"""$2^{-(n-1)}\sum_{k<d}\binom{n-1}{k}$, exactly."""
    return Fraction(sum(math.comb(n - 1, k) for k in range(d)), 2 ** (n - 1))


def _in_a_hemisphere(x: Any) -> Any:
    """Whether the points `(draws, n, d)`, n >= d, lie in an open half-space, which almost surely means:

    some d - 1 of them span a hyperplane with all the others on one side.
    """
    import numpy as np

    n, d = x.shape[1:]
    found = np.zeros(len(x), bool)
    for chosen in itertools.combinations(range(n), d - 1):
        normal = _normal(x[:, chosen])
        side = np.einsum("rja,ra->rj", np.delete(x, chosen, axis=1), normal)
        found |= (side > 0).all(axis=1) | (side < 0).all(axis=1)
    return found


def _normal(rows: Any) -> Any:
    """A vector orthogonal to d - 1 rows in dimension d: signed minors, the cross product of any dimension."""
    import numpy as np

    d = rows.shape[-1]
    minors = [np.linalg.det(np.delete(rows, k, axis=-1)) for k in range(d)]
    return np.stack([(-1) ** k * m for k, m in enumerate(minors)], axis=-1)
