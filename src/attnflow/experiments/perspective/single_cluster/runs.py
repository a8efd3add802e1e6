"""Many draws of one system in one compiled program, for `single_cluster` and `random_matrices`."""

import functools
from typing import Any

from ... import Cell

STEP = 0.02


def kinds(kind: str, *, beta: Any, B: Any = None, V: Any = None) -> Any:
    """The model of that kind: SA, USA or shifted USA."""
    import attnflow as af

    if kind == "SA":
        return af.SelfAttention(af.Softmax(beta=beta, B=B, V=V))
    return af.SelfAttention(af.Unnormalized(beta=beta, B=B, V=V, shifted=kind == "shifted USA"))


def follow(kind: str, x0: Any, ts: Any, *, beta: float, step: float = STEP, B: Any = None, V: Any = None) -> Any:
    """Tokens `(draws, times, n, d)` from `x0 (draws, n, d)` at equispaced times, by the classical method of order 4.

    `B` and `V`, where given, are matrices of each draw. A step h of the equation of consensus errs by h⁵/120, 3e-11 for
    the default.
    """
    import jax.numpy as jnp
    import numpy as np

    substeps = int(np.ceil((ts[1] - ts[0]) / step - 1e-9))
    h = (ts[1] - ts[0]) / substeps
    B, V = (None if matrix is None else jnp.asarray(matrix) for matrix in (B, V))
    run = _program(kind, len(ts))
    return np.asarray(run(jnp.asarray(x0), B, V, jnp.asarray(beta), jnp.asarray(h), jnp.asarray(substeps)))


@functools.cache
def _program(kind: str, times: int) -> Any:
    """Steps and their number are inputs, so that one program serves every β and time."""
    import jax

    def one(x: Any, B: Any, V: Any, beta: Any, h: Any, substeps: Any) -> Any:
        return orbit(kinds(kind, beta=beta, B=B, V=V), x, h, substeps, times)

    return jax.jit(jax.vmap(one, in_axes=(0, 0, 0, None, None, None)))


def orbit(
    model: Any, x: Any, h: Any, substeps: Any, times: int, *, solver: str = "rk4", observe: Any = lambda x: x
) -> Any:
    """Observations of one cloud at the start and after every `substeps` steps of size h; to be compiled.

    The steps are those of `af.ensemble`, which draws tokens but not matrices.
    """
    import jax
    import jax.numpy as jnp

    from attnflow.flows.steps import fixed_steps

    def step(_: Any, state: Any) -> Any:
        return fixed_steps()[solver](lambda fn, y: fn(y), model, jnp.zeros_like(h), h, state, None, "dense")

    def between(state: Any, _: Any) -> Any:
        state = jax.lax.fori_loop(0, substeps, step, state)
        return state, observe(state[1])

    y = model.space.nearest(x)
    return jnp.concatenate([observe(y)[None], jax.lax.scan(between, (y, y), length=times - 1)[1]])


def uniform(cell: Cell) -> Any:
    """Uniform tokens `(draws, n, d)`."""
    import numpy as np

    x = np.random.default_rng(cell["seed"]).normal(size=(cell["draws"], cell["n"], cell["d"]))
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def velocity(x: Any, beta: float, *, kind: str = "SA") -> Any:
    """The field in the identity case from its definition, tokens `(..., n, d)`, for comparison with the flow."""
    import numpy as np

    kernel = np.exp(beta * (np.einsum("...ia,...ja->...ij", x, x) - (kind == "shifted USA")))
    total = kernel.sum(axis=-1, keepdims=True) if kind == "SA" else x.shape[-2]
    force = np.einsum("...ij,...ja->...ia", kernel / total, x)
    return force - (force * x).sum(axis=-1, keepdims=True) * x
