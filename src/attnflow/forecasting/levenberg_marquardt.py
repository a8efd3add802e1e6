r"""The Levenberg-Marquardt method on all windows at once, in float64: for smooth data it goes on where Adam stops.

Residuals r of one step have the Jacobian J over the parameters; a penalty $\lambda|\theta|^2$ is lowered in stages.
A step solves $(J^\top J + \lambda I + \mu D)\,\delta = -(J^\top r + \lambda\theta)$, D the mean of the diagonal of
$J^\top J$; $\mu$ is lowered after a step that helps, raised after one that does not. Normal equations cost a fraction
of a QR decomposition of J; the damping covers the digits that they lose.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array

from ..errors import InputError
from . import rollout
from .losses import Base, residuals
from .network import Form

PENALTIES = (1e-7, 1e-9, 1e-11, 1e-13)
ITERATIONS = 30  # at each of them
LARGEST = 1 << 28  # entries of the Jacobian, 2 GiB


def finish(
    theta: np.ndarray, base: Base, tokens: np.ndarray, future: np.ndarray, weights: np.ndarray, form: Form
) -> np.ndarray:
    """Better parameters of every seed, one seed after the other: each may take all the memory there is for it."""
    rows = len(tokens) * form.d * future.shape[1]
    if rows * form.size > LARGEST:
        raise InputError(
            f"finish = 'levenberg-marquardt' needs a matrix of {rows} x {form.size} numbers; take finish=None, fewer "
            "samples or a smaller width."
        )
    with rollout.double():
        data = [jnp.asarray(np.ascontiguousarray(a)) for a in (tokens, future, np.sqrt(weights))]
        arrays = Base(*(jnp.asarray(a) for a in base))
        done = [np.asarray(_stages(jnp.asarray(one), arrays, *data, form=form)) for one in theta]
    return np.stack(done)


@functools.partial(jax.jit, static_argnames="form")
def _stages(theta: Array, base: Base, tokens: Array, future: Array, roots: Array, *, form: Form) -> Array:
    n = tokens.shape[0] * future.shape[1] * form.d

    def one(theta: Array, z: Array, following: Array, root: Array) -> Array:
        return root * residuals(theta, base, z[None], following[None], form).reshape(-1) / n**0.5

    def error(theta: Array, penalty: Array) -> Array:
        r = jax.vmap(one, (None, 0, 0, 0))(theta, tokens, future, roots)
        return jnp.sum(r**2) + penalty * jnp.sum(theta**2)

    def normal(theta: Array) -> tuple[Array, Array]:
        r = jax.vmap(one, (None, 0, 0, 0))(theta, tokens, future, roots).reshape(-1)
        J = jax.vmap(jax.jacrev(one), (None, 0, 0, 0))(theta, tokens, future, roots).reshape(n, -1)
        return J.T @ J, J.T @ r

    def step(carry: Any) -> Any:
        theta, now, mu, k, penalty, rejected = carry
        A, g = normal(theta)
        eye = jnp.eye(len(theta))
        scale = jnp.trace(A) / len(theta)

        def attempt(inner: Any) -> Any:
            _, _, mu, tries = inner
            # A is symmetric already: making it so once more takes five times as long as the factor itself.
            L = jax.lax.linalg.cholesky(A + (penalty + mu * scale) * eye, symmetrize_input=False)
            new = solve_triangular(L, g + penalty * theta, lower=True)
            new = theta - solve_triangular(L, new, lower=True, trans=1)
            return new, error(new, penalty), mu * 4, tries + 1

        def failed(inner: Any) -> Array:
            _, value, _, tries = inner
            return ~(value < now) & (tries < 8)

        new, value, mu, tries = jax.lax.while_loop(failed, attempt, (theta, jnp.asarray(jnp.inf), mu, jnp.asarray(0)))
        helped = value < now
        rejected = ~helped | (now - value < 1e-6 * now)
        mu = jnp.where(helped & (tries == 1), mu / 12, mu)  # the attempt that helped has raised it
        mu = jnp.clip(mu, 1e-14, 1e3)
        return jnp.where(helped, new, theta), jnp.where(helped, value, now), mu, k + 1, penalty, rejected

    def unfinished(carry: Any) -> Array:
        return (carry[3] < ITERATIONS) & ~carry[5]

    def stage(carry: Any, penalty: Array) -> Any:
        theta, mu = carry
        start = (theta, error(theta, penalty), mu, jnp.asarray(0), penalty, jnp.asarray(False))
        end = jax.lax.while_loop(unfinished, step, start)
        return (end[0], end[2]), end[1]

    with jax.numpy_dtype_promotion("standard"):
        return jax.lax.scan(stage, (theta, jnp.asarray(1e-3)), jnp.asarray(PENALTIES))[0][0]
