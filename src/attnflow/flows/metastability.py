"""The drift of clusters that have not met, however slow."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..spaces import log_weights
from ._doubtful_runs import ROUNDING as ROUNDING
from ._doubtful_runs import log_duration as log_duration
from ._merging import Clusters, motion
from .long_time import applies as applies


class Drift(NamedTuple):
    r"""How weighted clusters on the sphere move by softmax or unnormalised attention with $B = V = I$.

    - `log_speed`: the natural logarithm of the speed of the fastest cluster, in the model's clock; `resting`: whether
      all forces cancel up to rounding.
    - `angle`, `share`, `mass`: of the two clusters that would meet first if they were alone, the angle between them,
      the share of one in their mass, and their mass.
    """

    log_speed: Float[Array, "*batch"]
    resting: Bool[Array, "*batch"]
    angle: Float[Array, "*batch"]
    share: Float[Array, "*batch"]
    mass: Float[Array, "*batch"]


def drift(x: Float[Array, "n d"], w: Float[Array, " n"], labels: Int[Array, " n"], model: Any) -> Drift:
    """The drift of slots `x` with masses `w`; slot `i` holds a cluster if `labels[i] == i`, and is empty otherwise."""
    zonal = model.attention.zonal
    beta, normalised = zonal.beta.astype(x.dtype), zonal.normalized
    clusters = Clusters(x, w, labels)
    here = motion(clusters, beta, jnp.asarray(normalised))
    fastest = jnp.max(jnp.linalg.norm(here.u, axis=-1))
    square = jnp.sum((x[None, :, :] - x[:, None, :]) ** 2, axis=-1)
    # The rate of log tan(u/2) of a pair that is alone, see reductions/two_clusters.py.
    log_w, k = log_weights(w), beta * square / 2
    heavy = jnp.isfinite(jnp.maximum(log_w[None, :], log_w[:, None]))  # two without mass do not attract
    odds = jnp.where(heavy, log_w[None, :] - log_w[:, None], 0)
    softmax = jnp.logaddexp(jax.nn.log_sigmoid(odds - k), jax.nn.log_sigmoid(-odds - k))
    rate = softmax if normalised else jnp.logaddexp(log_w[None, :], log_w[:, None]) - k
    first = jnp.argmax(jnp.where(clusters.pairs & heavy, rate, -jnp.inf))
    i, j = jnp.unravel_index(first, square.shape)
    mass = w[i] + w[j]
    return Drift(
        log_speed=jnp.log(fastest) - here.log_rate + zonal.log_speed.astype(x.dtype),
        resting=here.resting,
        angle=2 * jnp.arcsin(jnp.minimum(jnp.sqrt(square[i, j]) / 2, 1)),
        share=w[i] / jnp.where(mass > 0, mass, 1),
        mass=mass,
    )
