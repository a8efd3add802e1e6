r"""The derivative of a kernel density on a line or a circle, with three more derivatives and a bound of the next.

In units of the bandwidth $h = \beta^{-1/2}$, with $z = (x_j - t)/h$ on the line and $z = \sin(\theta_j - t)/h$,
$c = \cos(\theta_j - t)$ on the circle (on the line $c = 1$, and $1/\beta = 0$ below), the derivative of the density is
$F = \sum_j w_j z K$, where $K = e^{-z^2/2}$ and $K = e^{\beta(c - 1)}$, and

$$ F' = \sum w (z^2 - c) K, \quad F'' = \sum w\, z(z^2 - 3c - \tfrac1\beta) K, \quad
   F''' = \sum w\big(z^4 - 6cz^2 + 3c^2 - \tfrac4\beta z^2 + \tfrac c\beta\big) K , $$
$$ |F''''| \le B = \big(1 + \tfrac1\beta\big)^2 \sum w\,(15 + 15|z| + 10|z|^3 + |z|^5)\,K . $$

Sums are over the tokens near a block of points, a tile of tokens at a time; what is left out is below rounding.
Derivation: docs/theory/modes.md, Counting modes.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

TILE = 128  # tokens summed at once; with a block of 65 points their kernels stay in the cache
CELLS = 64  # of a block, between 65 points


class Draws(NamedTuple):
    """The tokens of many draws, sorted, on a circle three turns of them; then at least a tile of padding at infinity.

    `place` are coordinates or angles. `sine`, `cosine` are those of half the angle, and empty on the line.
    """

    place: Float[Array, "draws m"]
    sine: Float[Array, "draws k"]
    cosine: Float[Array, "draws k"]
    w: Float[Array, "draws m"]

    @property
    def circle(self) -> bool:
        return self.sine.shape[-1] > 0


class Scales(NamedTuple):
    """Numbers that all blocks share: bandwidth, half-width of the window of tokens, their number, errors."""

    h: Float[Array, ""]
    window: Float[Array, ""]
    tokens: Int[Array, ""]
    rounding: Float[Array, ""]  # of F and its derivative, relative to B
    left_out: Float[Array, ""]  # largest sum over tokens outside the window
    growth: Float[Array, ""]  # of B over half a cell, per unit of cell/h


class Sums(NamedTuple):
    """$F$, $F'$, $F''$, $F'''$ and $B$ at some points."""

    f: Float[Array, "4 points"]
    bound: Float[Array, " points"]


def sums(draws: Draws, which: Int[Array, ""], t: Float[Array, " points"], scales: Scales) -> Sums:
    """The sums of one draw at increasing points `t`, over all tokens within the window of any of them."""
    place = draws.place[which]
    lo, hi = jnp.searchsorted(place, jnp.stack([t[0] - scales.window, t[-1] + scales.window])).astype(jnp.int64)
    hi = jnp.minimum(hi, lo + scales.tokens)  # around the circle, every token once

    def add(i: Array, total: Array) -> Array:
        at = lo + i * TILE
        w = jax.lax.dynamic_slice_in_dim(draws.w[which], at, TILE)
        near = at + jnp.arange(TILE) < hi
        return total + _tile(draws, which, at, near, jnp.where(near, w, 0), t, scales.h)

    total = jax.lax.fori_loop(0, (hi - lo + TILE - 1) // TILE, add, jnp.zeros((5, t.size), t.dtype))
    return Sums(total[:4], total[4])


def _tile(
    draws: Draws,
    which: Array,
    at: Array,
    near: Bool[Array, " tile"],
    w: Float[Array, " tile"],
    t: Float[Array, " points"],
    h: Float[Array, ""],
) -> Float[Array, "5 points"]:
    def tokens(a: Array) -> Float[Array, "tile 1"]:
        return jnp.where(near, jax.lax.dynamic_slice_in_dim(a[which], at, TILE), 0)[:, None]  # none at infinity

    if draws.circle:
        # By half angles: 1 - cos u = 2 sin²(u/2) keeps its digits where tokens are close.
        cos, sin = jnp.cos(t / 2)[None, :], jnp.sin(t / 2)[None, :]
        half = tokens(draws.sine) * cos - tokens(draws.cosine) * sin
        z = 2 * half * (tokens(draws.cosine) * cos + tokens(draws.sine) * sin) / h
        c, inverse, exponent = 1 - 2 * half**2, h**2, 2 * (half / h) ** 2
    else:
        z = (tokens(draws.place) - t[None, :]) / h
        c, inverse, exponent = jnp.ones_like(z), jnp.zeros_like(h), z**2 / 2
    k, z2, size = w[:, None] * jnp.exp(-exponent), z**2, jnp.abs(z)
    terms = (
        z * k,
        (z2 - c) * k,
        z * (z2 - 3 * c - inverse) * k,
        (z2 * (z2 - 6 * c - 4 * inverse) + c * (3 * c + inverse)) * k,
        (1 + inverse) ** 2 * (15 + size * (15 + z2 * (10 + z2))) * k,
    )
    return jnp.stack([jnp.sum(term, axis=0) for term in terms])


class Block(NamedTuple):
    """The decisions about the cells of a block.

    - `mode`: the cell has exactly one mode, near `where`; `open`: not known; other cells have none.
    - `crossing`: $F$ falls through zero from one end to the other, up to rounding.
    - `hopeless`: an open cell where rounding hides the signs, so that smaller cells would not help.
    - `loose`: a sign that neighbours rely on is below rounding.
    """

    mode: Array
    open: Array
    crossing: Array
    hopeless: Array
    loose: Array
    where: Float[Array, "..."]


def examine(draws: Draws, which: Int[Array, ""], t0: Array, step: Array, scales: Scales) -> Block:
    r"""Decide the cells of the block $t_0 + k\,$`step`.

    A cell has no zero of $F$ if both ends have one sign and $|F| > \frac18\sigma^2\max|F''|$ there (the error of
    linear interpolation; $\sigma$ is the cell in units of $h$). It has at most one, found by the signs at its ends, if
    the same holds for $F'$ and $F'''$. And $F' > 0$, so that no mode is there, where no token is within $h$.
    """
    t = t0 + step * jnp.arange(CELLS + 1).astype(t0.dtype)
    f, bound = sums(draws, which, t, scales)
    cell = jnp.diff(t) / scales.h
    fourth = _larger(bound) * jnp.exp(scales.growth * cell)
    third = _larger(jnp.abs(f[3])) + cell / 2 * fourth
    second = _larger(jnp.abs(f[2])) + cell / 2 * third
    error = scales.rounding * bound + scales.left_out
    free = _one_sign(f[0], cell**2 / 8 * second + _larger(error))
    monotone = _one_sign(f[1], cell**2 / 8 * third + _larger(error))
    place = draws.place[which]
    far = jnp.searchsorted(place, t[1:] + scales.h) == jnp.searchsorted(place, t[:-1] - scales.h)
    falling = monotone & (f[1, 1:] < 0) & ~far
    crossing = (f[0, :-1] > 0) & (f[0, 1:] <= 0) & ~far
    undecided = ~(free | monotone | far)
    dark = jnp.abs(f[0]) <= error
    hidden = dark & (jnp.abs(f[1]) <= 4 * error)
    return Block(
        mode=falling & crossing,
        open=undecided,
        crossing=crossing,
        hopeless=undecided & hidden[1:] & hidden[:-1],
        loose=jnp.any(undecided & (dark[1:] | dark[:-1])) | (falling[0] & dark[0]) | (falling[-1] & dark[-1]),
        where=_zero(t, f, scales.h),
    )


def _larger(a: Float[Array, " points"]) -> Float[Array, " cells"]:
    return jnp.maximum(a[1:], a[:-1])


def _one_sign(f: Float[Array, " points"], least: Float[Array, " cells"]) -> Array:
    return (f[1:] * f[:-1] > 0) & (jnp.minimum(jnp.abs(f[1:]), jnp.abs(f[:-1])) > least)


def _zero(t: Float[Array, " points"], f: Float[Array, "4 points"], h: Float[Array, ""]) -> Float[Array, " cells"]:
    """The zero of the Taylor polynomial at the left end of each cell, by Newton's method from a linear guess."""
    a = f[:, :-1]
    width = jnp.diff(t) / h
    s = width * a[0] / jnp.where(a[0] == f[0, 1:], 1, a[0] - f[0, 1:])
    for _ in range(3):
        value = a[0] + s * (a[1] + s / 2 * (a[2] + s / 3 * a[3]))
        slope = a[1] + s * (a[2] + s / 2 * a[3])
        s = jnp.clip(s - value / jnp.where(slope == 0, 1, slope), 0, width)
    return t[:-1] + h * s
