r"""The velocity of a Gaussian law under an attention map, and how widely its scores are spread."""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...attention import AbstractAttention, AffineField, heads_of
from ...checks import finite_array, number
from ...errors import InputError
from ...models import at_time
from ...pairsums.algebra import matmul
from ...spaces import is_concrete
from ._law import law


def velocity(
    attention: Any,
    alpha: Any,
    Sigma: Any = None,
    *,
    L: Any = None,
    t: Any = 0.0,
) -> AffineField:
    r"""`(GL, c)` with $\Gamma(x) = c + G(x - \alpha)$ on $N(\alpha, \Sigma)$, $\Sigma = LL^\top$; many by leading axes.

    If only `Sigma` is given, $L$ is its factor by eigenvectors; $G$ itself is `GL @ pinv(L)`. Schedules are
    taken at the time `t`.
    """
    check_closes(attention)
    check_time(t)
    mean, factor = law(alpha, Sigma, L)
    batch = mean.shape[:-1]
    flat = _velocities(
        at_time(attention, t), mean.reshape(-1, *mean.shape[-1:]), factor.reshape(-1, *factor.shape[-2:])
    )
    return AffineField(*(a.reshape(*batch, *a.shape[1:]) for a in flat))


@eqx.filter_jit
def _velocities(attention: AbstractAttention, alpha: Array, L: Array) -> AffineField:
    return jax.vmap(attention.gaussian)(alpha, L)


def score_spread(attention: Any, L: Any) -> Float[Array, ""]:
    r"""$\|L^\top AL\|$, the standard deviation of scores, roughly; of several heads the largest.

    The law of finitely many tokens follows the Gaussian flow where this is at most ½ (docs/theory/gaussian.md).
    """
    if not isinstance(attention, AbstractAttention):
        raise InputError(f"{type(attention).__name__} is no attention map; give one, for example Softmax(beta=1.0).")
    L = jnp.asarray(finite_array("L", L) if is_concrete(L) else L, getattr(L, "dtype", float))
    if L.ndim != 2 or 0 in L.shape:
        raise InputError(f"L has shape {L.shape}; give a factor (d, r) of one covariance.")
    if len(heads_of(attention)) > 1:
        return functools.reduce(jnp.maximum, (score_spread(head, L) for head in heads_of(attention)))
    (attention,) = heads_of(attention)
    score = getattr(attention.score, "inner", attention.score)
    tile = score.project(L.T, L.T)
    return jnp.linalg.norm(matmul(tile.queries, tile.keys.T), 2)


def check_time(t: Any) -> None:
    """One finite number, where it is known."""
    if is_concrete(t):
        number("t", t)


def check_closes(attention: Any) -> None:
    """Refuse, in the map's own sentence, what moves no Gaussian law."""
    if not isinstance(attention, AbstractAttention):
        raise InputError(f"{type(attention).__name__} is no attention map; give one, for example Softmax(beta=1.0).")
    if attention.closure == "none":
        next(head for head in heads_of(attention) if head.closure == "none").gaussian(jnp.zeros(1), jnp.zeros((1, 1)))
