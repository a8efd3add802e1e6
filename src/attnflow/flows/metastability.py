r"""The drift of clusters that have not met, however slow, and how long it takes two of them to meet."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..spaces import log_weights
from ._limits import ROUNDING as ROUNDING
from ._limits import log_duration as log_duration
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
    odds = log_w[None, :] - log_w[:, None]
    softmax = jnp.logaddexp(jax.nn.log_sigmoid(odds - k), jax.nn.log_sigmoid(-odds - k))
    rate = softmax if normalised else jnp.logaddexp(log_w[None, :], log_w[:, None]) - k
    first = jnp.argmax(jnp.where(clusters.pairs, rate, -jnp.inf))
    i, j = jnp.unravel_index(first, square.shape)
    mass = w[i] + w[j]
    return Drift(
        log_speed=jnp.log(fastest) - here.log_rate + zonal.log_speed.astype(x.dtype),
        resting=here.resting,
        angle=2 * jnp.arcsin(jnp.minimum(jnp.sqrt(square[i, j]) / 2, 1)),
        share=w[i] / jnp.where(mass > 0, mass, 1),
        mass=mass,
    )


def meeting_time(model: Any, found: Drift, chord: np.ndarray) -> np.ndarray:
    """How long the first two clusters take until they are at the distance `chord`, if they are alone."""
    from ..reductions import two_cluster_time

    end = 2 * np.arcsin(np.minimum(chord / 2, 1))
    start = np.clip(np.asarray(found.angle, float), end, np.pi - 1e-6)
    share = np.clip(np.asarray(found.share, float), 0, 1)
    between = {"u0": start, "u1": np.minimum(end, start), "weight": share}
    zonal = model.attention.zonal
    clock = "SA" if zonal.normalized else "shifted USA"
    log_time = two_cluster_time(float(zonal.beta), **between, clock=clock, log=True) - float(zonal.log_speed)
    with np.errstate(over="ignore"):  # infinite is what is said of a time that cannot be written
        time = np.exp(np.asarray(log_time, float))
    return time if zonal.normalized else time / np.asarray(found.mass, float)
