r"""The energy of Sinkhorn attention on Gaussian laws."""

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float

from ...errors import InputError
from ...flows import Run
from ...models import GaussianModel
from ...models.schedules import depends_on_time
from ...spaces import Sphere


def energy(run: Run) -> Float[Array, " T"]:
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
    attention: Any = model.attention if isinstance(model, GaussianModel) else None
    if not hasattr(attention, "gaussian_energy") or getattr(attention, "half_steps", None) is not None:
        raise InputError("this run has no energy here; take a Gaussian flow of Sinkhorn attention, converged.")
    if depends_on_time(attention):
        raise InputError("this run has no energy: its attention map depends on time.")
    attention.energy(Sphere())  # refuses, in its own sentence, a B that is not symmetric
    return _energies(attention, run.xs[:, 0], run.info["L"])


@eqx.filter_jit
def _energies(attention: Any, alphas: Float[Array, "T d"], Ls: Float[Array, "T d r"]) -> Float[Array, " T"]:
    return jax.vmap(attention.gaussian_energy)(alphas, Ls)
