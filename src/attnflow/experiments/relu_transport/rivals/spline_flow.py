r"""A small trained flow to compare with: coupling layers of rational quadratic splines, and of affine maps.

Durkan, Bekasov, Murray, Papamakarios, *Neural Spline Flows*, 2019; Dinh, Sohl-Dickstein, Bengio, *Density estimation
using Real NVP*, 2017. Own code, in the plane: a layer changes one coordinate by a monotone function whose parameters
a network computes from the other one.
"""

from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

BOUND, LEAST = 4.0, 1e-3  # splines are the identity beyond; least width, height and slope of a bin
BINS = 8


class Coupling(eqx.Module):
    """One coordinate changes, by a function of the other one."""

    network: eqx.nn.MLP
    changes: int = eqx.field(static=True)
    kind: Literal["spline", "affine"] = eqx.field(static=True)

    def __init__(self, changes: int, kind: Literal["spline", "affine"], width: int, *, key: Array):
        outputs = 3 * BINS - 1 if kind == "spline" else 2
        network = eqx.nn.MLP(1, outputs, width, depth=2, activation=jax.nn.silu, key=key)
        # The first map is nearly the identity.
        last = network.layers[-1]
        self.network = eqx.tree_at(lambda n: n.layers[-1].weight, network, 0.1 * last.weight)
        self.changes, self.kind = changes, kind

    def __call__(self, x: Float[Array, " 2"], *, back: bool) -> tuple[Float[Array, " 2"], Array]:
        """The image (or where it came from), and the log of the derivative of this very map."""
        numbers = self.network(x[1 - self.changes][None])
        if self.kind == "affine":
            log_scale, shift = 2 * jnp.tanh(numbers[0] / 2), numbers[1]
            s = x[self.changes]
            moved = (s - shift) * jnp.exp(-log_scale) if back else s * jnp.exp(log_scale) + shift
            log_slope = -log_scale if back else log_scale
        else:
            moved, log_slope = spline(numbers, x[self.changes], back)
        return x.at[self.changes].set(moved), log_slope


class TrainedFlow(eqx.Module):
    """Coupling layers from N(0, I) to the target, the coordinates in turn."""

    layers: list[Coupling]

    def __init__(self, kind: Literal["spline", "affine"], depth: int, width: int, *, key: Array):
        keys = jax.random.split(key, depth)
        self.layers = [Coupling(k % 2, kind, width, key=keys[k]) for k in range(depth)]

    def forward(self, z: Float[Array, " 2"]) -> Float[Array, " 2"]:
        for layer in self.layers:
            z, _ = layer(z, back=False)
        return z

    def inverse(self, y: Float[Array, " 2"]) -> tuple[Float[Array, " 2"], Array]:
        """Where a point came from, and the log determinant of the inverse."""
        total = jnp.zeros(())
        for layer in reversed(self.layers):
            y, log_slope = layer(y, back=True)
            total = total + log_slope
        return y, total

    def log_density(self, y: Float[Array, " 2"]) -> Array:
        z, log_det = self.inverse(y)
        return log_det - (z**2).sum() / 2 - jnp.log(2 * jnp.pi)

    @property
    def parameters(self) -> int:
        """How many numbers were trained."""
        return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(self, eqx.is_inexact_array)))


def spline(numbers: Float[Array, " p"], s: Array, back: bool) -> tuple[Array, Array]:
    """A monotone rational quadratic spline on [-BOUND, BOUND] with slope 1 at the ends and beyond, or its inverse."""
    widths, heights = (
        2 * BOUND * (LEAST + (1 - LEAST * BINS) * jax.nn.softmax(part))
        for part in (numbers[:BINS], numbers[BINS : 2 * BINS])
    )
    # softplus(.5413) = 1: numbers near 0 are the identity.
    inner = LEAST + (1 - LEAST) * jax.nn.softplus(numbers[2 * BINS :] + 0.541324854612918)
    slopes = jnp.concatenate([jnp.ones(1), inner, jnp.ones(1)])
    x, y = (jnp.concatenate([jnp.zeros(1), jnp.cumsum(part)]) - BOUND for part in (widths, heights))
    inside = jnp.abs(s) < BOUND
    at = jnp.where(inside, s, 0.0)
    k = jnp.clip(jnp.searchsorted(y if back else x, at, side="right") - 1, 0, BINS - 1)
    mean, left, right = heights[k] / widths[k], slopes[k], slopes[k + 1]
    bend = left + right - 2 * mean
    share = _share_before(at - y[k], heights[k], mean, left, bend) if back else (at - x[k]) / widths[k]
    across = share * (1 - share)
    below = mean + bend * across
    image = x[k] + share * widths[k] if back else y[k] + heights[k] * (mean * share**2 + left * across) / below
    slope = mean**2 * (right * share**2 + 2 * mean * across + left * (1 - share) ** 2) / below**2
    log_slope = -jnp.log(slope) if back else jnp.log(slope)
    return jnp.where(inside, image, s), jnp.where(inside, log_slope, 0.0)


def _share_before(rise: Array, height: Array, mean: Array, left: Array, bend: Array) -> Array:
    """The root of a quadratic equation, in the form that does not cancel."""
    a = height * (mean - left) + rise * bend
    b = height * left - rise * bend
    return 2 * mean * rise / (b + jnp.sqrt(b**2 + 4 * a * mean * rise))


def trained(
    flow: TrainedFlow, sample: Any, *, steps: int, batch: int, rate: float, key: Array
) -> tuple[TrainedFlow, Float[Array, " steps"]]:
    """Maximum likelihood by Adam on new points `sample(key, n)` in every step, with a cosine schedule."""
    optimiser = optax.chain(optax.clip_by_global_norm(5.0), optax.adam(optax.cosine_decay_schedule(rate, steps)))
    weights, rest = eqx.partition(flow, eqx.is_inexact_array)

    def loss(weights: Any, y: Float[Array, "n 2"]) -> Array:
        return -jax.vmap(eqx.combine(weights, rest).log_density)(y).mean()

    def step(state: Any, key: Array) -> tuple[Any, Array]:
        weights, moments = state
        value, gradient = jax.value_and_grad(loss)(weights, sample(key, batch))
        updates, moments = optimiser.update(gradient, moments)
        return (optax.apply_updates(weights, updates), moments), value

    state = (weights, optimiser.init(weights))
    (weights, _), losses = jax.jit(lambda state, keys: jax.lax.scan(step, state, keys))(
        state, jax.random.split(key, steps)
    )
    return eqx.combine(weights, rest), losses
