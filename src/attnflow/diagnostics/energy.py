r"""The energy along a run, its dissipation, and whether a model is a gradient flow at all.

A model offers its energy as one object, `model.energy()` (`attnflow.attention.AbstractEnergy`).
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..attention import AbstractEnergy
from ..checks import whole
from ..errors import InputError
from ..flows import Run
from ..models import AbstractModel, field
from ..spaces import Count
from ._clouds import clouds


def energy(run: Run, scale: str | None = None) -> Float[Array, " T"]:
    r"""The model's declared energy at every saved time, with the run's own weights, $B$ and $\beta$.

    For $B = I$ on the sphere `scale` is `"Ehat"` (default, in $(0, 1]$), `"E"` or `"E_p"`; otherwise `"E_B"`. See
    `attnflow.attention` for the formulas. A perceptron block has `"E+U"`, `"E"` and its potential. A model without an
    energy is refused in a sentence. Of a run that stores the growth of its tokens apart (`log_scale`) it is the energy
    of the true tokens, infinite where that is beyond the largest number.
    """
    energy = _energy_of(run)
    return _along(_value, energy, clouds(run).grown(), run.weights, energy.scale(scale))


def dissipation(run: Run, scale: str | None = None) -> Float[Array, " T"]:
    r"""$dE/dt$ as the theory gives it, from the velocity alone: $\pm\sum_i w_i m_i |\dot x_i|^2$.

    The metric $m_i$ is $Z_i$ for softmax and 1 for the unnormalised map; the sign is + for $V = B$, - for $V = -B$
    (of a perceptron block, - where it is repulsive).
    Compare with finite differences of `energy` to check the gradient-flow structure (arXiv:2312.10794, section 3).
    """
    energy = _energy_of(run)
    if energy.direction == 0:
        raise InputError("this model is no gradient flow (V is neither B nor -B); its energy has no dissipation law.")
    xs = clouds(run).true("dissipation")
    return _along(_rate, (run.model, energy), xs, run.weights, energy.scale(scale), energy.direction)


def is_gradient_flow(model: AbstractModel, d: Count) -> bool:
    """Whether the model's flow in dimension `d` climbs or descends its declared energy."""
    if not isinstance(model, AbstractModel):
        raise InputError(f"a {type(model).__name__} is no model; give one, for example af.SelfAttention(beta=1.0).")
    whole("d", d)
    try:
        return model.energy().direction != 0
    except InputError:
        return False


def _energy_of(run: Any) -> AbstractEnergy:
    if not isinstance(run, Run):
        raise InputError(
            f"a {type(run).__name__} has no energy of its own; give a run, or ask the model for one cloud: "
            "model.energy().value(x, weights, scale='Ehat')."
        )
    run.single()
    if run.model is None:
        raise InputError("this run carries no model, so it has no energy.")
    return run.model.energy()


def _value(energy: Any, x: Float[Array, "n d"], w: Float[Array, " n"] | None, scale: str) -> Float[Array, ""]:
    return energy.value(x, w, scale=scale)


def _rate(both: Any, x: Float[Array, "n d"], w: Float[Array, " n"] | None, scale: str, sign: int) -> Float[Array, ""]:
    model, energy = both
    speed = jnp.sum(field(model, 0.0, x, w) ** 2, axis=-1)
    mass = 1 / x.shape[0] if w is None else w
    # In logarithms: a token that rests has no part in it, however large its metric.
    return sign * jnp.sum(mass * jnp.exp(energy.log_metric(x, w, scale=scale) + jnp.log(speed)))


@eqx.filter_jit
def _along(
    fn: Any, model: Any, xs: Float[Array, "T n d"], w: Float[Array, " n"] | None, *options: Any
) -> Float[Array, " T"]:
    # `fn` is one of the functions above, never made anew: a fresh one would compile again at every call.
    return jax.lax.map(lambda x: fn(model, x, w, *options), xs)
