"""Configurations that do not move, for `single_cluster`: no flow is needed."""

from typing import TYPE_CHECKING, Any

from ... import Cell

if TYPE_CHECKING:
    import xarray

TURNED = 1e-4  # angle by which one of two antipodal tokens is turned


def stationary(cell: Cell) -> "xarray.Dataset":
    r"""Greatest speed in stationary configurations, and the rate at which a nearly antipodal pair opens.

    Two tokens at angle $\pi - \varepsilon$ leave at the rate $2K/(1+K)$ (SA) or $K$ (shifted USA), $K = e^{-2\beta}$,
    up to $\varepsilon^2$.
    """
    import jax
    import jax.numpy as jnp
    import numpy as np
    import xarray

    import attnflow as af

    from .runs import kinds

    model = kinds(cell["kind"], beta=cell["beta"])
    simplex = np.eye(4) - 1 / 4
    configurations = {
        "antipodal pair": np.array([[0.6, 0.8, 0.0], [-0.6, -0.8, 0.0]]),
        "regular simplex": simplex / np.linalg.norm(simplex, axis=1, keepdims=True),
        "three clusters": _circle(np.repeat(2 * np.pi * np.arange(3) / 3, 4)),
        "five clusters": _circle(np.repeat(2 * np.pi * np.arange(5) / 5, 3)),
    }
    field = jax.jit(lambda x: af.models.field(model, 0.0, x))
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
