r"""The stochastic equation of two tokens computed without the library, in NumPy, SciPy and diffrax.

The coefficients are the printed integrals over two correlated logits, by the trapezoidal rule; paths are those of
diffrax in the ambient space, by Euler's scheme for the equation of Itô and by Heun's for that of Stratonovich; means
come from the backward equation on an even grid.
"""

import functools
from typing import Any

import numpy as np

POINTS = 801  # of the even grid in q
NODES = np.linspace(-6.5, 6.5, 105)  # of a standard Gaussian variable


def coefficients(q: np.ndarray, beta: float) -> tuple[np.ndarray, np.ndarray]:
    r"""$C_{11}$ and $C_{12}$ per $\sigma_V^2$: logits of variance $2\beta^2(1-q)$ and correlation $-q$."""
    g, w = NODES, np.exp(-NODES * NODES / 2)
    w = w / w.sum()
    scale, q = beta * np.sqrt(2 * (1 - q))[:, None, None], q[:, None, None]
    first = 1 / (1 + np.exp(-scale * g[None, :, None]))
    second = 1 / (1 + np.exp(-scale * (-q * g[None, :, None] + np.sqrt(1 - q * q) * g[None, None, :])))
    alone = np.sum(w * (first**2 + (1 - first) ** 2)[:, :, 0], axis=1)
    both = np.sum(w[:, None] * w[None, :] * (first * (1 - second) + (1 - first) * second), axis=(1, 2))
    q = q[:, 0, 0]
    return q + (1 - q) * alone, q + (1 - q) * both


def _table(q: np.ndarray, beta: float) -> list[np.ndarray]:
    """The coefficients on a fine grid, interpolated from a coarse one."""
    from scipy.interpolate import CubicSpline

    coarse = np.linspace(-1, 1, 101)
    return [CubicSpline(coarse, c)(q) for c in coefficients(coarse, beta)]


def backward(q0: float, ts: Any, *, d: int, beta: float, stratonovich: bool = False) -> tuple[np.ndarray, np.ndarray]:
    r"""Mean and deviation of $q$ at equispaced times, by Crank and Nicolson; the ends need no boundary condition.

    `stratonovich` adds the drift $\tfrac12(1-q^2)(C_{11}' - qC_{12}')$ of this interpretation.
    """
    from scipy.sparse import diags, identity
    from scipy.sparse.linalg import splu

    q = np.linspace(-1, 1, POINTS)
    h = q[1] - q[0]
    alone, both = (c / d for c in _table(q, beta))
    drift = both * (d - 2 + q * q) - (d - 1) * alone * q
    spread = (1 - q * q) * (2 * alone - 2 * q * both)
    if stratonovich:
        drift = drift + 0.5 * (1 - q * q) * (np.gradient(alone, h) - q * np.gradient(both, h))
    second, first = spread / (2 * h * h), drift / (2 * h)
    A: Any = diags([(second - first)[1:], -2 * second, (second + first)[:-1]], [-1, 0, 1]).tolil()  # pyright: ignore
    A[0, :2], A[-1, -2:] = [[-drift[0] / h, drift[0] / h]], [[-drift[-1] / h, drift[-1] / h]]
    ts = np.asarray(ts, float)
    steps = 50
    dt = (ts[1] - ts[0] if len(ts) > 1 else ts[0]) / steps
    one, A = identity(POINTS, format="csc"), A.tocsc()
    solve = splu((one - dt / 2 * A).tocsc()).solve
    u, moments, t = np.stack([q, q * q], axis=1), [], 0.0
    for t_end in ts:
        while t < t_end - dt / 2:
            u, t = solve(u + dt / 2 * (A @ u)), t + dt
        moments.append([np.interp(q0, q, column) for column in u.T])
    mean, square = np.array(moments).T
    return mean, np.sqrt(square - mean**2)


@functools.lru_cache
def _program(beta: float, dt: float, stratonovich: bool) -> Any:
    """Inner products at a time `T` of paths from `x0`, one for each key, compiled once."""
    import diffrax
    import jax
    import jax.numpy as jnp

    table = np.linspace(-1, 1, POINTS)
    alone, both = (jnp.asarray(c) for c in _table(table, beta))

    def here(x):
        y = x / jnp.linalg.norm(x, axis=1, keepdims=True)
        q = jnp.clip(y[0] @ y[1], -1, 1)
        return y, *(jnp.interp(q, table, c) / x.shape[1] for c in (alone, both))

    def drift(t, x, args):
        y, c, _ = here(x)
        return -(x.shape[1] - 1) / 2 * c * y

    def noise(t, x, args):
        y, c, c12 = here(x)
        plus, minus = jnp.sqrt((c + c12) / 2), jnp.sqrt(jnp.maximum(c - c12, 0) / 2)
        S = jnp.array([[plus, minus], [plus, -minus]])
        P = jnp.eye(x.shape[1])[None] - y[:, :, None] * y[:, None, :]
        return jnp.einsum("iab,ij->iajb", P, S)

    def path(key, x0, T):
        control = diffrax.ControlTerm(noise, diffrax.UnsafeBrownianPath(jax.ShapeDtypeStruct(x0.shape, x0.dtype), key))
        terms = control if stratonovich else diffrax.MultiTerm(diffrax.ODETerm(drift), control)
        solver = diffrax.Heun() if stratonovich else diffrax.Euler()
        forward = diffrax.ForwardMode()
        solution: Any = diffrax.diffeqsolve(terms, solver, 0.0, T, dt, x0, max_steps=None, adjoint=forward)
        y = here(solution.ys[-1])[0]
        return y[0] @ y[1]

    return jax.jit(jax.vmap(path, (0, None, None)))


def diffrax_paths(
    x0: Any, T: float, *, beta: float, dt: float, replicas: int, key: Any, stratonovich: bool
) -> np.ndarray:
    r"""Inner products of two tokens at time `T`, `(replicas,)`.

    Itô: $dx_i = P_i\sum_jS_{ij}dB_j - \tfrac{d-1}2C_{ii}x_idt$ by Euler's scheme, in the ambient space and never
    normalised on the way. Stratonovich: $dx_i = P_i\sum_jS_{ij}\circ dB_j$ by Heun's.
    """
    import jax
    import jax.numpy as jnp

    return np.asarray(_program(beta, dt, stratonovich)(jax.random.split(key, replicas), jnp.asarray(x0), float(T)))
