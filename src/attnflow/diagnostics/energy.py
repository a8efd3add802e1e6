r"""The energy along a run, its dissipation, and whether a model is a gradient flow at all.

A model declares an energy by four methods: `energy_scale(scale, x)`, the scale that is asked for, or a refusal in a
sentence; `energy(x, w, scale=)`; `energy_direction(d)`, +1 where the flow climbs it, -1 where it descends, 0 for
neither; and `log_metric(x, w, scale=)`, $\log m_i$ of the metric in which it does. `SelfAttention` asks its attention
map.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._numbers import whole
from ..errors import InputError
from ..flows import Run
from ..models import AbstractModel, field
from ._clouds import clouds


def energy(run: Any, scale: Any = None) -> Float[Array, " T"]:
    r"""The model's declared energy at every saved time, with the run's own weights, $B$ and $\beta$.

    For $B = I$ on the sphere `scale` is `"Ehat"` (default, in $(0, 1]$), `"E"` or `"E_p"`; otherwise `"E_B"`. See
    `attnflow.attention` for the formulas. A perceptron block has `"E+U"`, `"E"` and its potential. A model without an
    energy is refused in a sentence. Of a run that stores the growth of its tokens apart (`log_scale`) it is the energy
    of the true tokens, infinite where that is beyond the largest number.
    """
    model = _model(run)
    scale = model.energy_scale(scale, run.xs[0])
    return _along(_energy, run.model, clouds(run).grown(), run.weights, scale)


def dissipation(run: Any, scale: Any = None) -> Float[Array, " T"]:
    r"""$dE/dt$ as the theory gives it, from the velocity alone: $\pm\sum_i w_i m_i |\dot x_i|^2$.

    The metric $m_i$ is $Z_i$ for softmax and 1 for the unnormalised map; the sign is + for $V = B$, - for $V = -B$
    (of a perceptron block, - where it is repulsive).
    Compare with finite differences of `energy` to check the gradient-flow structure (arXiv:2312.10794, section 3).
    """
    model = _model(run)
    chosen = model.energy_scale(scale, run.xs[0])
    sign = model.energy_direction(run.xs.shape[-1])
    if sign == 0:
        raise InputError("this model is no gradient flow (V is neither B nor -B); its energy has no dissipation law.")
    return _along(_rate, run.model, clouds(run).true("dissipation"), run.weights, chosen, sign)


def is_gradient_flow(model: Any, d: Any) -> bool:
    """Whether the model's flow in dimension `d` climbs or descends its declared energy."""
    if not isinstance(model, AbstractModel):
        raise InputError(f"a {type(model).__name__} is no model; give one, for example af.SelfAttention(beta=1.0).")
    d = whole("d", d)
    try:
        getattr(model, "energy_scale", _none)(None, jnp.zeros((1, d)))
    except InputError:
        return False
    return model.energy_direction(d) != 0  # pyright: ignore[reportAttributeAccessIssue]


def _none(scale: str | None, x: Array) -> str:
    raise InputError("this model declares no energy.")


def _model(run: Any) -> Any:
    if not isinstance(run, Run):
        raise InputError(
            f"a {type(run).__name__} has no energy of its own; give a run, or ask the model for one cloud: "
            "model.energy(x, weights, scale='Ehat')."
        )
    run.single()
    if run.model is None:
        raise InputError("this run carries no model, so it has no energy.")
    if not hasattr(run.model, "energy_scale"):
        raise InputError(f"{type(run.model).__name__} declares no energy.")
    return run.model


def _energy(model: Any, x: Float[Array, "n d"], w: Float[Array, " n"] | None, scale: str) -> Float[Array, ""]:
    return model.energy(x, w, scale=scale)


def _rate(model: Any, x: Float[Array, "n d"], w: Float[Array, " n"] | None, scale: str, sign: int) -> Float[Array, ""]:
    speed = jnp.sum(field(model, 0.0, x, w) ** 2, axis=-1)
    mass = 1 / x.shape[0] if w is None else w
    # In logarithms: a token that rests has no part in it, however large its metric.
    return sign * jnp.sum(mass * jnp.exp(model.log_metric(x, w, scale=scale) + jnp.log(speed)))


@eqx.filter_jit
def _along(
    fn: Any, model: Any, xs: Float[Array, "T n d"], w: Float[Array, " n"] | None, *options: Any
) -> Float[Array, " T"]:
    # `fn` is one of the functions above, never made anew: a fresh one would compile again at every call.
    return jax.lax.map(lambda x: fn(model, x, w, *options), xs)
