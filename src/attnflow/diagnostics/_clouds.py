"""The input of every diagnostic: a run, or tokens with leading axes; and the loop over its clouds."""

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..checks import number
from ..errors import InputError, shown
from ..flows import Run
from ..models.frames import writable
from ..spaces import Count, Numbers, check_weights, is_concrete, warn_if_narrowed

Tokens = Run | Numbers
"""A run, or tokens `(..., n, d)`; then `weights (n,)` may be given, `None` for equal ones."""


LARGEST = 1 << 28  # 2 GB in float64


class Clouds(NamedTuple):
    """Tokens `(..., n, d)` with their weights; the times `(...)` and the run, if they come from one.

    `growth (...)`: the logarithm of what they must be multiplied by, if the run stores that apart.
    """

    xs: Float[Array, "*batch n d"]
    w: Float[Array, " n"] | None
    ts: Float[Array, "*batch"] | None = None
    run: Run | None = None

    growth: Float[Array, "*batch"] | None = None

    def log_scale(self) -> np.ndarray:
        """The logarithm of the growth that a long run in R^d stores apart, for every cloud; zero elsewhere."""
        return np.zeros(self.xs.shape[:-2]) if self.growth is None else np.asarray(self.growth, float)

    def log_largest(self) -> float:
        """The largest growth at which products of tokens can be written."""
        with jax.ensure_compile_time_eval():  # a number, inside `jit` too
            return float(writable(np.inf, self.xs.dtype))

    def grown(self) -> Float[Array, "*batch n d"]:
        """The tokens with the growth that a long run in R^d stores apart, as far as products of them can be written."""
        if self.growth is None:
            return self.xs
        return self.xs * jnp.exp(writable(self.growth, self.xs.dtype))[..., None, None]

    def true(self, what: str) -> Float[Array, "*batch n d"]:
        """The tokens with their growth, for a quantity that grows with them; refused where it cannot be written."""
        most = float(self.log_scale().max(initial=0)) if is_concrete(self.growth) else 0.0
        if most > self.log_largest():
            raise InputError(
                f"the tokens have grown by e^{most:.4g}, and {what} cannot be written; end the run earlier, or give "
                "the scaled tokens run.xs."
            )
        return self.grown()


def clouds(tokens: Tokens, at: Count | None = None, weights: Numbers | None = None) -> Clouds:
    """The tokens of a run at the saved time of index `at`, at all times if `None`; or those of an array."""
    if isinstance(tokens, Run):
        tokens.single()
        if weights is not None:
            raise InputError("a run has its own weights; leave out weights=, or give run.xs instead of the run.")
        growth = tokens.info["log_scale"] if "log_scale" in tokens.info else None
        if at is None:
            return Clouds(tokens.xs, tokens.weights, tokens.ts, tokens, growth)
        at = saved_time(at, tokens.xs.shape[0])
        return Clouds(tokens.xs[at], tokens.weights, tokens.ts[at], tokens, None if growth is None else growth[at])
    warn_if_narrowed("tokens", tokens)
    xs = real_tokens(tokens)
    if at is not None:
        if xs.ndim == 2:
            raise InputError(f"at = {shown(at)} chooses a time, and one cloud {xs.shape} has none; leave it out.")
        xs = xs[saved_time(at, xs.shape[0])]
    w = check_weights(weights, xs.shape[-2])
    return Clouds(xs, None if w is None else w.astype(xs.dtype))


def real_tokens(tokens: Numbers) -> Float[Array, "*batch n d"]:
    """Clouds `(..., n, d)` of real numbers, finite or not; anything else is refused in a sentence."""
    try:
        xs = jnp.asarray(tokens)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"a {type(tokens).__name__} holds no tokens; give a run, or an array (..., n, d).") from None
    if not (jnp.issubdtype(xs.dtype, jnp.floating) or jnp.issubdtype(xs.dtype, jnp.integer)):
        raise InputError(f"tokens have dtype {xs.dtype}; give real numbers.")
    if not jnp.issubdtype(xs.dtype, jnp.floating):
        xs = xs.astype(jnp.result_type(float))
    if xs.ndim < 2 or 0 in xs.shape:
        raise InputError(f"tokens have shape {xs.shape}; give (..., n, d), tokens as rows.")
    return xs


def reached(batch: Clouds) -> Clouds:
    """The same clouds; clouds with tokens that are not finite are refused in a sentence."""
    if is_concrete(batch.xs):
        finite = np.isfinite(np.asarray(batch.xs)).all(axis=(-2, -1))
        if not finite.all():
            where = f" at saved time {int(np.argmin(finite))}" if batch.run is not None and finite.ndim == 1 else ""
            raise InputError(f"some tokens are not finite{where}; remove them, or choose a time that was reached, at=.")
    return batch


def saved_time(at: Any, count: int) -> int:
    """`at` as an index from the beginning, refused when there is no such saved time."""
    try:
        if isinstance(at, bool):
            raise TypeError
        index = operator.index(at)
    except TypeError:
        raise InputError(f"at = {shown(at)} is not an index of a saved time; give a whole number.") from None
    if not -count <= index < count:
        raise InputError(f"at = {at} is none of the {count} saved times; give an index from {-count} to {count - 1}.")
    return index % count


def linking_distance(eps: Any) -> float:
    """A distance within which tokens are linked, at least 0; anything else is refused in a sentence."""
    distance = number("eps", eps)
    if distance < 0:
        raise InputError(f"eps = {distance} is no distance; take a number, at least 0.")
    return distance


def masses(x: Float[Array, "n d"], w: Float[Array, " n"] | None) -> Float[Array, " n"]:
    """The weights as an array, equal ones if there are none."""
    return jnp.full(x.shape[0], 1 / x.shape[0], x.dtype) if w is None else w


@eqx.filter_jit
def along(fn: Callable[..., Any], each: Array | tuple[Any, ...], *args: Any) -> Any:
    """`fn(x, *args)` of every cloud, one after the other in one compiled program; results get the leading axes.

    `each` is the tokens `(..., n, d)`, or a tuple of them and of more arrays with the same leading axes. `fn` is a
    function of a module, never made anew: a fresh one would compile again at every call.
    """
    each = each if isinstance(each, tuple) else (each,)
    batch = each[0].shape[:-2]
    if not batch:
        return fn(*each, *args)
    flat = [a.reshape(-1, *a.shape[len(batch) :]) for a in each]
    results = jax.lax.map(lambda item: fn(*item, *args), flat)
    return jax.tree.map(lambda a: a.reshape(*batch, *a.shape[1:]), results)


def in_memory(entries: int, what: str) -> None:
    """Refuse a result of more than `LARGEST` numbers."""
    if entries > LARGEST:
        raise InputError(f"{what} are {entries:.2g} numbers; choose one time with at=, or fewer tokens.")
