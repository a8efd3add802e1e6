"""The extremes of the energy, and a flow along which it is not monotone, for `single_cluster`."""

from typing import TYPE_CHECKING, Any

from ... import Cell

if TYPE_CHECKING:
    import xarray

GRID = 64  # tokens on the circle: their energy is the uniform measure's up to round-off
WAVES = (1, 2, 3, 5)
SMALL = 1e-3  # displacement of tokens


def extremes(cell: Cell) -> "xarray.Dataset":
    """Energies of random measures: from 2 to 64 tokens, random weights, from nearly uniform to nearly one point."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    import xarray

    import attnflow as af

    d, beta, draws = cell["d"], cell["beta"], cell["draws"]
    rng = np.random.default_rng(cell["seed"])
    x = rng.normal(size=(draws, 64, d))
    x[:, :, 0] += np.geomspace(0.01, 100.0, draws)[:, None]  # from uniform to a narrow beam
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    w = rng.exponential(size=(draws, 64)) * (np.arange(64) < rng.integers(2, 65, size=(draws, 1)))
    w /= w.sum(axis=1, keepdims=True)
    attention = af.Softmax(beta=beta)
    of_all = jax.jit(jax.vmap(lambda x, w: attention.energy(af.Sphere()).value(x, w, scale="E")))
    return xarray.Dataset({"energy": ("draw", np.asarray(of_all(jnp.asarray(x), jnp.asarray(w))))})


def near_extremes(cell: Cell) -> "xarray.Dataset":
    r"""The change of energy by a small displacement, divided by its square.

    On the circle a displacement $\varepsilon\sin k\theta$ of the uniform measure raises $E$ by
    $\tfrac{\varepsilon^2}4 \frac{k^2 I_k(\beta)}{\beta}$, and a cloud of variance $\varepsilon^2$ about one point has
    $\tfrac{\varepsilon^2}2 e^\beta$ less than the point, both up to a relative $\varepsilon^2$.
    """
    import jax
    import jax.numpy as jnp
    import numpy as np
    import xarray

    import attnflow as af

    beta = cell["beta"]
    attention = af.Softmax(beta=beta)

    of_cloud = jax.jit(lambda x: attention.energy(af.Sphere()).value(x, None, scale="E"))

    def energy(x: Any) -> float:
        return float(of_cloud(jnp.asarray(x)))

    def circle(angles: Any) -> Any:
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)

    grid = 2 * np.pi * np.arange(GRID) / GRID
    uniform = energy(circle(grid))
    rises = [4 * (energy(circle(grid + SMALL * np.sin(k * grid))) - uniform) / SMALL**2 for k in WAVES]
    cloud = np.eye(1, 3) + SMALL * np.random.default_rng(cell["seed"]).normal(size=(GRID, 3))
    cloud /= np.linalg.norm(cloud, axis=1, keepdims=True)
    variance = ((cloud - cloud.mean(axis=0)) ** 2).sum(axis=1).mean()
    point = energy(np.tile(np.eye(1, 3), (GRID, 1)))
    return xarray.Dataset(
        {
            "rise": ("wave", rises),
            "fall": 2 * (point - energy(cloud)) / variance,
            "uniform": uniform,
            "point": point,
        },
        coords={"wave": list(WAVES)},
    )


def no_gradient(cell: Cell) -> "xarray.Dataset":
    r"""$B = I$ and $V$ a quarter turn of a plane, which is skew: the energy $E$ along the flow, and its derivative

    $\sum_i w_i\langle\dot x_i, \sum_j w_j e^{\beta\langle x_i, x_j\rangle}x_j\rangle$ from the definitions.
    """
    import numpy as np
    import xarray

    import attnflow as af

    from .runs import follow

    n, d, beta = cell["n"], cell["d"], cell["beta"]
    V = np.zeros((d, d))
    V[0, 1], V[1, 0] = -1.0, 1.0
    ts = np.linspace(0.0, 20.0, 201)
    (xs,) = follow("SA", np.asarray(af.sphere.weyl(n=n, d=d))[None], ts, beta=beta, V=V[None])
    kernel = np.exp(beta * np.einsum("tia,tja->tij", xs, xs))
    pull = np.einsum("tij,tja->tia", kernel, xs) / n
    force = np.einsum("tij,tja->tia", kernel / kernel.sum(axis=2, keepdims=True), xs) @ V.T
    speed = force - (force * xs).sum(axis=2, keepdims=True) * xs
    return xarray.Dataset(
        {
            "energy": ("time", kernel.mean(axis=(1, 2)) / (2 * beta)),
            "slope": ("time", (speed * pull).sum(axis=(1, 2)) / n),
        },
        coords={"time": ts},
    )
