r"""Reductions of the scores of a row: $\sum_j e^{\omega_{ij}} \phi(s_{ij}) v_j$, $\omega$ the outside log weights.

A reduction works tile by tile, relative to a row's `top`, so that an engine may cut the keys as it likes: `top` of a
tile ($-\infty$ for a row without keys), `weights` of a tile given a finite top, `rescale`, the factor from an old top
to a new one, and `finish`. `Hardmax` is a selection of keys before an exponential reduction.
A row without keys ends as `(0, -inf)` with a zero gradient: every division and logarithm is guarded before it is taken.
"""

import abc
from collections.abc import Callable
from typing import Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float

from ..checks import real_array
from ..errors import InputError, shown
from ..parameters import Parameter

Sums = tuple[Float[Array, "n p"], Float[Array, " n"]]  # sum of weight times value, sum of weight


class AbstractReduction(eqx.Module):
    """The contract of a reduction; see the module's docstring."""

    @property
    def exponential(self) -> bool:
        r"""Whether $\phi = \exp$, with sums as `Exponential` ends them."""
        return False

    @property
    def total(self) -> "Total | None":
        """The factor of the mean of an exponential reduction in the result; `None`: the mean is the result."""
        return None

    @abc.abstractmethod
    def top(self, logits: Float[Array, "n m"], log_w: Float[Array, "_ m"] | None) -> Float[Array, " n"]: ...

    @abc.abstractmethod
    def weights(
        self,
        logits: Float[Array, "n m"],
        log_w: Float[Array, "_ m"] | None,
        top: Float[Array, " n"],
        exp: Callable[[Array], Array] = jnp.exp,
    ) -> tuple[Float[Array, "n m"], Float[Array, "n m"]]:
        """The weights of the values, and the terms of the mass, both relative to `top`."""

    @abc.abstractmethod
    def rescale(self, old: Float[Array, " n"], new: Float[Array, " n"]) -> Float[Array, " n"]:
        """The factor that turns sums relative to `old` into sums relative to `new >= old`."""

    @abc.abstractmethod
    def finish(self, top: Float[Array, " n"], sums: Sums) -> Sums:
        """`(num, log_z)` of the contract from the sums over all keys."""

    def log_weights(
        self,
        logits: Float[Array, "n m"],
        log_w: Float[Array, "_ m"] | None,
        log_z: Float[Array, " n"],
        log_c: Float[Array, "*n"],
    ) -> Float[Array, "n m"]:
        """The logarithm of what multiplies the values in the result, `scaled` by `log_c`; nothing underflows."""
        raise InputError(f"a {type(self).__name__} reduction does not say the log of its weights; take log=False.")

    @abc.abstractmethod
    def scaled(self, num: Float[Array, "n p"], log_z: Float[Array, " n"], log_c: Float[Array, "*n"]) -> Sums:
        """The result when every outside weight is multiplied by `exp(log_c)`."""

    def result(self, num: Float[Array, "n p"], log_z: Float[Array, " n"]) -> Sums:
        """The result of `pair_sums` from the `(num, log_z)` of an engine."""
        return num, log_z


class AbstractExponential(AbstractReduction):
    r"""$\phi = \exp$, with sums relative to the row maximum, so nothing overflows."""

    @property
    def exponential(self) -> bool:
        return True

    def top(self, logits, log_w):
        return _row_max(_weighted(logits, log_w))

    def weights(self, logits, log_w, top, exp=jnp.exp):
        e = exp(_weighted(logits, log_w) - top[:, None])
        return e, e

    def rescale(self, old, new):
        return jnp.exp(old - finite(new))

    def finish(self, top, sums):
        return _mean(finite(top), sums)

    def scaled(self, num, log_z, log_c):
        return num, log_z + log_c


class Exponential(AbstractExponential):
    r"""$\phi = \exp$: `(sum / Z, log Z)`."""

    def log_weights(self, logits, log_w, log_z, log_c):
        return _weighted(logits, log_w) - finite(log_z)[:, None]


class Total(AbstractExponential):
    r"""$\phi(s) = c\,e^{s - b}$: `(sum, log Z)` with $Z = \sum_j e^{\log w_j + s_{ij}}$, not divided by it.

    The exponential of $\log Z - b$ is taken last, so that a `shift` $b$ near the largest score keeps it in range.
    """

    shift: Any
    factor: Any

    def __init__(self, shift: Parameter = 0.0, factor: Parameter = 1.0):
        # A schedule is kept as it is, and the model evaluates it at its time.
        self.shift = shift if isinstance(shift, eqx.Module) else real_array("shift", shift, 0)
        self.factor = factor if isinstance(factor, eqx.Module) else real_array("factor", factor, 0)

    @property
    def total(self) -> "Total":
        return self

    def result(self, num, log_z):
        factor = jnp.asarray(self.factor, log_z.dtype) * jnp.exp(log_z - jnp.asarray(self.shift, log_z.dtype))
        return factor[:, None] * num, log_z

    def log_weights(self, logits, log_w, log_z, log_c):
        log_factor = jnp.log(jnp.asarray(self.factor, logits.dtype)) - jnp.asarray(self.shift, logits.dtype)
        return _weighted(logits, log_w) + (log_factor + jnp.broadcast_to(log_c, log_z.shape))[:, None]


class Pointwise(AbstractReduction):
    r"""Any function $\phi$ of the score: `(sum, log of the outside mass)`.

    `log_phi` is its logarithm, where it is known without computing $\phi$, which may underflow.
    """

    phi: Callable[[Array], Array]
    log_phi: Callable[[Array], Array] | None

    def __init__(self, phi: Callable[[Array], Array], log_phi: Callable[[Array], Array] | None = None):
        if not callable(phi):
            raise InputError(f"phi = {shown(phi)} is no function; give one of scores, for example jax.nn.relu.")
        if log_phi is not None and not callable(log_phi):
            raise InputError(f"log_phi = {shown(log_phi)} is no function; give the logarithm of phi, or leave it out.")
        self.phi = phi
        self.log_phi = log_phi

    def top(self, logits, log_w):
        if log_w is None:
            return jnp.zeros_like(logits[:, 0])
        return jnp.broadcast_to(_row_max(log_w), logits.shape[:1])

    def weights(self, logits, log_w, top, exp=jnp.exp):
        if log_w is None:
            return self.phi(logits), jnp.ones_like(logits)
        e = exp(log_w - top[:, None])
        # A pair left out must stay out even where phi overflows: zero times infinity is not zero.
        return jnp.where(e > 0, e * self.phi(jnp.where(e > 0, logits, 0)), 0), e

    def rescale(self, old, new):
        return jnp.exp(old - finite(new))

    def finish(self, top, sums):
        top = finite(top)
        return jnp.exp(top)[:, None] * sums[0], _mean(top, sums)[1]

    def log_weights(self, logits, log_w, log_z, log_c):
        if self.log_phi is None:
            raise InputError(
                "nothing says the logarithm of this function of the score, which may be negative; take log=False, or "
                "reduce=Pointwise(phi, log_phi)."
            )
        return _weighted(self.log_phi(logits), log_w) + jnp.broadcast_to(log_c, log_z.shape)[:, None]

    def scaled(self, num, log_z, log_c):
        return num * jnp.broadcast_to(jnp.exp(log_c), log_z.shape)[:, None], log_z + log_c


class Hardmax(eqx.Module):
    """The best keys alone: `(weighted mean of the tied keys, log tied mass)`.

    Keys tie when their score is within `tol`, an absolute number, of the row's best among the keys with weight. Knowing
    the best, this is the exponential reduction of scores that are 0 for the tied keys and minus infinity for others; so
    an engine takes a first pass for `best`, replaces the scores by `ties`, and goes on as for `Exponential`.
    """

    tol: Float[Array, ""]

    def __init__(self, tol: ArrayLike = 0.0):
        self.tol = real_array("tol", tol, 0)

    def best(self, logits: Float[Array, "n m"], log_w: Float[Array, "_ m"] | None) -> Float[Array, " n"]:
        return _row_max(logits if log_w is None else jnp.where(log_w > -jnp.inf, logits, -jnp.inf))

    def ties(self, logits: Float[Array, "n m"], best: Float[Array, " n"]) -> Float[Array, "n m"]:
        tied = logits >= (best - self.tol.astype(best.dtype))[:, None]
        return jnp.where(tied, 0, -jnp.inf).astype(logits.dtype)


def as_reduction(reduce: Any) -> tuple[AbstractReduction, Hardmax | None]:
    """`"exp"`, `"softmax"` (the same sums: they differ in what the caller does with `log_z`), or a function.

    With it comes the selection of keys that precedes it, if there is one.
    """
    if isinstance(reduce, Hardmax):
        return Exponential(), reduce
    if isinstance(reduce, AbstractReduction):
        return reduce, None
    if isinstance(reduce, str) and reduce in ("exp", "softmax"):
        return Exponential(), None
    if callable(reduce):
        return Pointwise(cast(Callable[[Array], Array], reduce)), None
    raise InputError(f"reduce = {reduce!r} is unknown; give 'softmax', 'exp', Hardmax(tol) or a function of the score.")


def _row_max(a: Float[Array, "n m"]) -> Float[Array, " n"]:
    return jax.lax.stop_gradient(jnp.max(a, axis=1))


def _weighted(logits: Float[Array, "n m"], log_w: Float[Array, "_ m"] | None) -> Float[Array, "n m"]:
    """Scores with their log weights; a pair left out stays out even where its score overflows."""
    if log_w is None:
        return logits
    if log_w.shape[0] < logits.shape[0]:  # one row for all: keys left out by it are replaced before (`_not_finite`)
        return logits + log_w
    return jnp.where(log_w == -jnp.inf, -jnp.inf, logits + log_w)


def finite(top: Float[Array, " n"]) -> Float[Array, " n"]:
    """A top to subtract: zero for a row without keys, since exp(-inf - 0) = 0."""
    return jnp.where(top == -jnp.inf, 0, top)


def _mean(top: Float[Array, " n"], sums: Sums) -> Sums:
    num, z = sums
    empty = z == 0  # and not "z > 0 is false", which would take NaN for an empty row
    safe = jnp.where(empty, 1, z)
    mean = jnp.where(empty[:, None], 0, num / safe[:, None])
    return mean, jnp.where(empty, -jnp.inf, jnp.log(safe) + top)
