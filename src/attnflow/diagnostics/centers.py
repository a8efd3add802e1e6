r"""Rényi centers: the tokens of a prompt at which others gather under causal attention.

Tokens come in order. One is a *center* if its geodesic distance to all earlier centers exceeds $\delta$, and a
*strong* center if that to all earlier tokens does.

Reference: arXiv:2411.04990. How many there are: `attnflow.reductions.expected_strong_centers` and
`attnflow.reductions.parking_count`.
"""

import functools
import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ..checks import number
from ..errors import InputError
from ..reductions.centers import cap_measure
from ..spaces import Count, Number, is_concrete
from ._clouds import Tokens, clouds

BATCH = 128  # clouds that go through the tokens together


class RenyiCenters(NamedTuple):
    """Which tokens are centers, and which of these are strong, in the order of the tokens."""

    centers: Bool[Array, "*batch n"]
    strong: Bool[Array, "*batch n"]


def renyi_centers(tokens: Tokens, delta: Number, *, at: Count | None = None) -> RenyiCenters:
    r"""The centers of unit tokens `(..., n, d)`, or of a run at the saved time of index `at` (all, if `None`).

    A token is compared with earlier centers alone, and only centers with all earlier tokens: work and memory are
    $O(n)$ times the number of centers that fit on the sphere.

    - `delta`: a geodesic distance between 0 and $\pi$; the paper takes $4\beta^{-1/2}$.

    >>> angles = jnp.array([0.0, 0.2, 0.6, 0.9])
    >>> centers, strong = renyi_centers(jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=-1), delta=0.5)
    >>> centers.tolist(), strong.tolist()
    ([True, False, True, False], [True, False, False, False])

    ??? cite "Clustering in causal attention masking, Karagodin, Polyanskiy, Rigollet (arXiv:2411.04990)"
    """
    xs = clouds(tokens, at).xs
    delta = number("delta", delta)
    if not 0 < delta < math.pi:
        raise InputError(f"delta = {delta:g} is no distance that tokens may exceed; take a number between 0 and pi.")
    *batch, n, d = xs.shape
    if is_concrete(xs) and not np.abs(np.sum(np.asarray(xs) ** 2, axis=-1) - 1).max(initial=0) <= 1e-5:  # or NaN
        raise InputError("centers are for tokens on the sphere, and these are not unit vectors; divide by their norms.")
    # Caps of radius delta/2 around centers do not overlap; one more, for rounding.
    room = 2 if d == 1 else int(min(n, 1 / max(cap_measure(delta / 2, d), 1e-300) + 1))
    closest = jnp.asarray(4 * math.sin(delta / 2) ** 2, xs.dtype)  # squared, as a chord
    centers = _all_centers(xs.reshape(-1, n, d), closest, room)
    return RenyiCenters(*(a.reshape(*batch, n) for a in centers))


@functools.partial(jax.jit, static_argnums=2)
def _all_centers(xs: Float[Array, "b n d"], closest: Float[Array, ""], room: int) -> tuple[Array, Array]:
    many, n, d = xs.shape
    rounds = max(-(-many // BATCH), 1)
    together = max(-(-many // rounds), 1)
    # Filled up with clouds of zeros: all rounds are alike, and one program.
    filled = jnp.pad(xs, ((0, rounds * together - many), (0, 0), (0, 0))).reshape(rounds, together, n, d)
    centers = jax.lax.map(jax.vmap(lambda x: _centers(x, closest, room)), filled)
    return jax.tree.map(lambda a: a.reshape(-1, n)[:many], centers)


def _centers(x: Float[Array, "n d"], closest: Float[Array, ""], room: int) -> tuple[Array, Array]:
    n = x.shape[0]
    slot = jnp.arange(room)

    def come(carry: tuple[Array, Array, Array], token: tuple[Array, Array]) -> tuple[tuple[Array, Array, Array], Array]:
        places, numbers, count = carry
        new, number = token
        near = jnp.sum((places - new[None, :]) ** 2, axis=-1) <= closest
        center = ~jnp.any(near & (slot < count))
        mine = center & (slot == count)
        places, numbers = jnp.where(mine[:, None], new[None, :], places), jnp.where(mine, number, numbers)
        return (places, numbers, count + center.astype(count.dtype)), center

    start = (jnp.zeros((room, x.shape[1]), x.dtype), jnp.full(room, n), jnp.asarray(0))
    (places, numbers, _), centers = jax.lax.scan(come, start, (x, jnp.arange(n)))

    def alone(center: tuple[Array, Array]) -> Array:
        place, number = center
        return ~jnp.any((jnp.sum((x - place[None, :]) ** 2, axis=-1) <= closest) & (jnp.arange(n) < number))

    strong = jax.lax.map(alone, (places, numbers))
    # An empty slot has the number n, which is dropped.
    return centers, jnp.zeros(n, bool).at[numbers].set(strong, mode="drop")
