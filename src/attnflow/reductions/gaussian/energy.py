r"""The energy of Sinkhorn attention on Gaussian laws."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...attention import Sinkhorn
from ...attention._energy import is_symmetric
from ...attention._gaussian import gaussian_scores
from ...errors import InputError
from ...flows import Run
from ...models import GaussianModel
from ...models.schedules import depends_on_time


def energy(run: Any) -> Float[Array, " T"]:
    r"""The energy along a flow of converged Sinkhorn attention with a symmetric $A = \beta B$.

    $E(\mu) = \max_\pi \int\langle Ax, y\rangle\,d\pi - \mathrm{KL}(\pi\,|\,\mu\otimes\mu)$ over plans,

    $$ E = \sum_i b_iz_i + \tfrac12\sum_i\log(1 - z_i^2) + \langle A\alpha, \alpha\rangle, $$

    with the singular values $b$ of $L^\top AL$ and $z = 2b/(1 + \sqrt{1 + 4b^2})$. It climbs for $V = B$ and falls for
    $V = -B$, at the rate $\pm 2\beta\int|\Gamma|^2d\mu$. Reference: docs/theory/gaussian.md, Energy.
    """
    if not isinstance(run, Run):
        raise InputError(f"a {type(run).__name__} is no run; give a Gaussian flow of Sinkhorn attention.")
    run.single()
    model = run.model
    attention = model.attention if isinstance(model, GaussianModel) else None
    if not isinstance(attention, Sinkhorn) or attention.half_steps is not None:
        raise InputError("this run has no energy here; take a Gaussian flow of Sinkhorn attention, converged.")
    if depends_on_time(attention):
        raise InputError("this run has no energy: its attention map depends on time.")
    if not is_symmetric(attention, run.xs.shape[-1]):
        raise InputError("this run has no energy: B is not symmetric, and its flow is no gradient flow.")
    return _energies(attention, run.xs[:, 0], run.info["L"])


@eqx.filter_jit
def _energies(attention: Sinkhorn, alphas: Float[Array, "T d"], Ls: Float[Array, "T d r"]) -> Float[Array, " T"]:
    def one(alpha: Array, L: Array) -> Array:
        s = gaussian_scores(attention.score, alpha, L)
        b = jnp.linalg.svd(s.factor, compute_uv=False)
        z = 2 * b / (1 + jnp.sqrt(1 + 4 * b * b))
        return jnp.sum(b * z + jnp.log1p(-z * z) / 2) + s.own

    return jax.vmap(one)(alphas, Ls)
