"""Clouds of tokens with leading axes, perhaps of a run, and the loop over them."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..checks import number
from ..errors import InputError
from ..models.frames import writable
from ..spaces import Numbers, is_concrete
from .run import Run


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
