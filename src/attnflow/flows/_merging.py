r"""Weighted clusters on the sphere that attract by softmax or unnormalised attention: their direction, their merging.

`n` slots are kept from beginning to end. `labels[i]` is the slot of token $i$, the smallest index in its cluster, and a
slot is alive when it is its own label. All digits of a slow motion are kept:

- only differences enter, $\langle x,y\rangle - 1 = -|x-y|^2/2$ and $P_x y = (y - x) + \tfrac12|x-y|^2x$, and no token
  attracts itself;
- the velocity of slot $i$ is $e^{\sigma_i} f_i$ with $f_i$ of order one, and only $e^{\sigma_i - \max\sigma}$ is
  formed; the factor $e^{\max\sigma}$, which may be below the smallest number, goes into the logarithm of time.

Reference: docs/theory/metastability.md; arXiv:2410.06833.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from ..spaces import Sphere, log_weights

# Relative to the merge distance: a pair this close to it has reached it.
LANDED = 1e-6


class Clusters(NamedTuple):
    """Slots `x (n, d)` with masses `w (n,)`, zero where a slot is empty, and the slot of every token."""

    x: Float[Array, "n d"]
    w: Float[Array, " n"]
    labels: Int[Array, " n"]

    @property
    def alive(self) -> Bool[Array, " n"]:
        return self.labels == jnp.arange(self.labels.size, dtype=self.labels.dtype)

    @property
    def left(self) -> Int[Array, ""]:
        return jnp.sum(self.alive)

    @property
    def pairs(self) -> Bool[Array, "n n"]:
        """Which slots form a pair: both alive, and not the same."""
        return self.alive[:, None] & self.alive[None, :] & ~jnp.eye(self.labels.size, dtype=bool)

    @property
    def tokens(self) -> Float[Array, "n d"]:
        """The position of every token: that of its cluster."""
        return self.x[self.labels]


class Motion(NamedTuple):
    r"""The unit tangent `u` of the path, $\log(dt/ds)$ along it, and whether all forces cancel up to rounding."""

    u: Float[Array, "n d"]
    log_rate: Float[Array, ""]
    resting: Bool[Array, ""]


def motion(clusters: Clusters, beta: Float[Array, ""], normalised: Bool[Array, ""]) -> Motion:
    r"""The direction $v/|v|$ with $|v|^2 = \sum_i|v_i|^2$, and $\log(1/|v|)$, for SA or shifted USA.

    $$ v_i = \frac{\sum_{j\ne i} w_j e^{-\beta|x_i-x_j|^2/2}\, P_{x_i}(x_j - x_i)}
                 {w_i + \sum_{j\ne i} w_j e^{-\beta|x_i-x_j|^2/2}} \quad\text{(SA)}; $$

    shifted USA (not `normalised`) has no denominator.
    """
    x = Sphere().nearest(clusters.x)
    log_w = log_weights(clusters.w)
    y = x[None, :, :] - x[:, None, :]
    square = jnp.sum(y * y, axis=-1)
    logits = jnp.where(clusters.pairs, log_w[None, :] - beta * square / 2, -jnp.inf)
    top = jax.lax.stop_gradient(jnp.max(logits, axis=1))
    top = jnp.where(jnp.isfinite(top), top, 0)
    pull = jnp.exp(logits - top[:, None])
    total = jnp.sum(pull, axis=1)
    force = jnp.sum(pull[:, :, None] * y, axis=1) + jnp.sum(pull * square, axis=1)[:, None] / 2 * x
    # Before cancellation: what the sum would be if all pulls had one direction.
    terms = jnp.sum(pull * jnp.sqrt(square), axis=1)
    # Both maps in one program: compiling costs more than either.
    log_z = jnp.logaddexp(log_w, top + jnp.log(jnp.where(total > 0, total, 1)))
    scale = jnp.where(total > 0, top - jnp.where(normalised, log_z, 0), -jnp.inf)
    largest = jax.lax.stop_gradient(jnp.max(scale))
    factor = jnp.where(total > 0, jnp.exp(scale - jnp.where(jnp.isfinite(largest), largest, 0)), 0)
    v = factor[:, None] * force
    speed = jnp.sqrt(jnp.sum(v * v))
    rounding = 16 * float(jnp.finfo(x.dtype).eps) * (1 + beta)
    resting = ~(speed > rounding * jnp.max(factor * terms))
    speed = jnp.where(speed > 0, speed, 1)
    return Motion(v / speed, -largest - jnp.log(speed), resting)


def distances(clusters: Clusters) -> Float[Array, "n n"]:
    """Chords between the slots that are alive; infinite where there is no pair."""
    y = clusters.x[None, :, :] - clusters.x[:, None, :]
    pairs = clusters.pairs
    square = jnp.where(pairs, jnp.sum(y * y, axis=-1), 1)
    return jnp.where(pairs, jnp.sqrt(square), jnp.inf)


def closing(clusters: Clusters, here: Motion, apart: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The derivative of every distance along the path; zero where there is no pair."""
    x, u = clusters.x, here.u
    y, z = x[None, :, :] - x[:, None, :], u[None, :, :] - u[:, None, :]
    return jnp.where(clusters.pairs, jnp.sum(y * z, axis=-1) / apart, 0)


def turned(before: Clusters, after: Clusters) -> Bool[Array, "n n"]:
    """Which pairs have changed sides."""
    y, z = (c.x[None, :, :] - c.x[:, None, :] for c in (before, after))
    return before.pairs & (jnp.sum(y * z, axis=-1) < 0)


def merged(clusters: Clusters, reach: Float[Array, ""]) -> Clusters:
    """Pairs within `reach`, and the closest one in any case, joined: masses add, the place is the normalised mean."""
    n = clusters.labels.size
    slots = jnp.arange(n, dtype=clusters.labels.dtype)
    apart = distances(clusters)
    near = clusters.pairs & (apart <= jnp.maximum(reach, jnp.min(apart)))
    head = jnp.minimum(slots, jnp.min(jnp.where(near, slots[None, :], n), axis=1))
    for _ in range(n.bit_length()):  # repeat until the labels of a chain of pairs agree
        head = head[head]
    member = (head[None, :] == slots[:, None]) & clusters.alive[None, :]
    share = jnp.where(member, (clusters.w + 1e-300)[None, :], 0)  # a mean that does not underflow for light tokens
    w = jnp.sum(jnp.where(member, clusters.w[None, :], 0), axis=1)
    mass = jnp.sum(share, axis=1)
    mean = Sphere().nearest((share @ clusters.x) / jnp.where(mass > 0, mass, 1)[:, None])
    x = jnp.where((jnp.sum(member, axis=1) > 1)[:, None], mean, clusters.x)
    return Clusters(x, w, head[clusters.labels])


def energy(clusters: Clusters, beta: Float[Array, ""]) -> Float[Array, ""]:
    r"""$\widehat E = \sum_{ij} w_iw_j e^{-\beta|x_i-x_j|^2/2}$."""
    square = jnp.where(clusters.pairs, distances(clusters), 0) ** 2
    both = clusters.w[:, None] * clusters.w[None, :]
    return jnp.sum(jnp.where(clusters.pairs, both * jnp.exp(-beta * square / 2), 0)) + jnp.sum(clusters.w**2)
