r"""Which series a spectral sum takes, and how far its results are to be trusted.

**The error is absolute**, about `ERROR` times the weight that a query sees through moments. A query's $Z$ is trusted
down to `FLOOR` times it. What is not to be trusted is refused: in a sentence where values are known, as NaN inside a
transformation. The same holds for tokens that are not unit vectors, and for a temperature that the number of modes
does not cover.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from ..errors import InputError
from ..spaces import is_concrete
from ._circle import Circle
from ._harmonics import Harmonics
from ._prefix import TILE, seen_weight
from .modes import modes_for

# Largest error of a sum at a query far from a unit charge, by dimension of the tokens.
ERROR = {2: 2e-15, 3: 1e-14}
# Below this part of the total weight fewer than seven digits of Z are left.
FLOOR = 1e-8
# How large the last term of the series may be: counts for a truncation of 1e-12 pass.
LAST_TERM = 1e-11
# Relative to the heaviest key; what is less has lost digits to underflow.
LIGHTEST = 1e-290


class Series(NamedTuple):
    """Which expansion, by dimension, with how many modes; and whether only the past is seen (`strict`: not oneself)."""

    d: int
    modes: int
    causal: bool = False
    strict: bool = False

    @property
    def expansion(self) -> Circle | Harmonics:
        return Circle(self.modes) if self.d == 2 else Harmonics(self.modes)

    def weight(self, w: Float[Array, " m"], slope: Float[Array, ""]) -> Float[Array, "*n"]:
        """The weight that queries see through moments."""
        if not self.causal:
            return jnp.sum(w)
        row = jnp.arange(w.shape[0])
        start = row // TILE[self.d] * TILE[self.d]  # what a tile sees in itself is summed directly
        return jnp.exp(-slope * (row - start).astype(w.dtype)) * seen_weight(w, slope, strict=True)[start]


def trusted(
    series: Series,
    x: Float[Array, "n d"],
    y: Float[Array, "m d"],
    log_w: Float[Array, " m"],
    w: Float[Array, " m"],
    beta: Float[Array, ""],
    slope: Float[Array, ""],
    mass: Float[Array, " n"],
) -> Float[Array, " n"]:
    """The masses, if they are what they are taken for; otherwise a sentence or, inside a transformation, NaN."""
    x, y, log_w, w, beta, slope, measured = jax.lax.stop_gradient((x, y, log_w, w, beta, slope, mass))
    unit, covered, near = _verdict(series, x, y, log_w, w, beta, slope, measured)
    if is_concrete(x, y, w, beta, slope, measured):
        if not bool(unit.all()):
            raise InputError("spectral sums are for unit tokens, |x| = 1; choose another kernel.")
        if not bool(covered):
            raise InputError(
                f"{series.modes} modes do not resolve beta = {float(beta):g}; "
                f"give kernel='spectral:{modes_for(float(beta), series.d)}'."
            )
        if not bool(near.all()):
            i = int(np.argmin(np.where(np.asarray(near), np.inf, np.asarray(measured))))
            raise InputError(
                f"query {i} is too far from all keys for spectral sums: they err by {ERROR[series.d]:g} of all weight, "
                f"and its Z is below {FLOOR:g} of it; choose another kernel."
            )
    return jnp.where(unit & covered & near, mass, jnp.nan)


@functools.partial(jax.jit, static_argnums=0)  # jitted, so that a call outside of other programs is one program
def _verdict(
    series: Series,
    x: Float[Array, "n d"],
    y: Float[Array, "m d"],
    log_w: Float[Array, " m"],
    w: Float[Array, " m"],
    beta: Float[Array, ""],
    slope: Float[Array, ""],
    mass: Float[Array, " n"],
) -> tuple[Bool[Array, " n"], Bool[Array, ""], Bool[Array, " n"]]:
    """Whether queries and all keys are unit vectors, the modes cover beta, and a query is near enough to some key."""
    length = jnp.abs(jnp.sum(x * x, axis=1) - 1)
    key_length = jnp.max(jnp.where(w > 0, jnp.abs(jnp.sum(y * y, axis=1) - 1), 0))
    _, last = series.expansion.coefficients(beta)
    weight = series.weight(w, slope)
    # A sum that underflows would pass for that of a query that sees no key.
    near = ((mass >= FLOOR * weight) | (weight == 0)) & ((mass > LIGHTEST) | ~_sees_a_key(series, log_w))
    return jnp.maximum(length, key_length) < 1e-6, last <= LAST_TERM, near


def _sees_a_key(series: Series, log_w: Float[Array, " m"]) -> Bool[Array, "*n"]:
    """Whether a query sees any key."""
    if not series.causal:
        return jnp.any(log_w > -jnp.inf)
    weighs = jax.lax.optimization_barrier(log_w > -jnp.inf)  # if all do, that is not searched while compiling
    first = jnp.where(jnp.any(weighs), jnp.argmax(weighs), len(weighs))
    row = jnp.arange(len(weighs))
    return row > first if series.strict else row >= first
