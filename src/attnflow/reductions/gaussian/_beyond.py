r"""The continuation of a Gaussian flow beyond its ceiling, which gives the time of a blow-up.

Let $\kappa = |\dot L|/|L| + |\dot\alpha|/(|\alpha| + |L|)$, the rate at which the law changes relative to its size, and
$dt = ds/\kappa$ (at most the time of the flow, times $ds$). In the time $s$ a law grows exponentially at most,
whatever it does in $t$: a pole is at $s = \infty$. The law is followed until what is left of the time is rounding (a
blow-up), it grows no more, or its size leaves the range of numbers (exponential growth, so far). At the ceiling itself
a pole may not be seen yet: on the line a variance with $\dot v = 2v + 2av^2$ grows exponentially up to $v \approx 1/a$.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...models import GaussianModel
from ._ending import STILL

STEP = 1 / 32  # of the method of Runge and Kutta, in s: an error of some 1e-8 of what is left of the time
STEPS = 8192  # e-folds of the law at most, times 32
STAGES = ((0.0, 1 / 6), (1 / 2, 1 / 3), (1 / 2, 1 / 3), (1.0, 1 / 6))


class _Law(NamedTuple):
    """Time, mean and factor, in units of those at the ceiling."""

    late: Array
    mean: Array
    factor: Array

    def plus(self, share: Any, rates: "_Law") -> "_Law":
        return _Law(*(a + share * b for a, b in zip(self, rates, strict=True)))


def beyond(
    model: GaussianModel,
    t: Float[Array, ""],
    alpha: Float[Array, " d"],
    L: Float[Array, "d r"],
    *,
    start: Float[Array, ""],
    follow: Array,
) -> tuple[Float[Array, ""], Float[Array, " d"], Float[Array, "d r"]]:
    """Time, mean and factor as far as the law could be followed; as they came where it should not be."""
    info = jnp.finfo(L.dtype)
    tiny, eps = float(info.tiny), float(info.eps)
    elapsed = jnp.where(t > start, t - start, 1)
    size = jnp.sqrt(jnp.sum(L * L) + jnp.sum(alpha * alpha))
    size = jnp.where(size > 0, size, 1)
    # A field of third order, its derivative along itself, and cubes of scores in that of Sinkhorn attention: finite.
    largest = float(info.max) ** 0.15 / size

    def rates(now: _Law) -> tuple[_Law, Array]:
        """The derivative in s, and the rate in t at which the law grows."""
        c, GL = model.velocity(t + (now.late - 1) * elapsed, size * now.mean, size * now.factor)
        c, GL = elapsed / size * c, elapsed / size * GL
        factor, mean = jnp.sqrt(jnp.sum(now.factor**2)), jnp.sqrt(jnp.sum(now.mean**2))
        kappa = jnp.sqrt(jnp.sum(GL * GL)) / jnp.maximum(factor, tiny)
        kappa = kappa + jnp.sqrt(jnp.sum(c * c)) / jnp.maximum(factor + mean, tiny)
        pace = 1 / jnp.maximum(kappa, 1 / now.late)  # a law that grows no more is not followed in strides
        growth = 2 * (jnp.sum(now.factor * GL) + jnp.sum(now.mean * c)) / jnp.maximum(factor**2 + mean**2, tiny)
        return _Law(pace, pace * c, pace * GL), growth

    def step(carry: tuple[_Law, Array, Array]) -> tuple[_Law, Array, Array]:
        now, _, count = carry

        def stage(carry: tuple[_Law, _Law], part: Array) -> tuple[tuple[_Law, _Law], Array]:
            before, total = carry
            slope, growth = rates(now.plus(STEP * part[0], before))
            return (slope, total.plus(STEP * part[1], slope)), growth

        zero = jax.tree.map(jnp.zeros_like, now)
        (_, new), growth = jax.lax.scan(stage, (zero, now), jnp.asarray(STAGES, L.dtype))
        over = growth[0] * eps * now.late > 1  # what is left of the time is rounding
        large = jnp.maximum(jnp.max(jnp.abs(now.mean)), jnp.max(jnp.abs(now.factor))) > largest
        finite = jnp.all(jnp.stack([jnp.isfinite(a).all() for a in new]))
        ended = over | large | (growth[0] * now.late < STILL) | ~finite
        return jax.tree.map(lambda a, b: jnp.where(ended, a, b), now, new), ended, count + 1

    first = _Law(jnp.ones_like(t), alpha / size, L / size)
    last, _, _ = jax.lax.while_loop(lambda c: ~c[1] & (c[2] < STEPS), step, (first, ~follow, jnp.asarray(0)))
    # To the last digit where nothing was followed.
    return (
        jnp.where(follow, t + (last.late - 1) * elapsed, t),
        jnp.where(follow, size * last.mean, alpha),
        jnp.where(follow, size * last.factor, L),
    )
