r"""The spectral engine: sums over unit tokens on the circle and on $S^2$ in $O(nK)$ and $O(nL^2)$, not $O(n^2)$.

$$ S(x; q) = \sum_j q_j\, e^{\beta(\langle x, y_j\rangle - 1)} $$

is found from moments of the charges $q$, tile by tile: memory is proportional to the tokens. Derivatives are sums of
the same kind, $\nabla_x S(x; q) = \beta\, S(x; q \otimes y)$ and so on, which is how they are taken: to the last digit
as accurate as the sum, equal to those of the dense engine in every direction, and smooth at the poles.
Causal pairs, with a slope or without, are summed in one walk along the tokens (`_prefix`).

The error is absolute (`_series`). A token that is its own key has $Z \ge w_i$; a query far from all keys may have less,
and is refused.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Float

from ..errors import InputError
from ..spaces import Sphere
from ._pairs import AbstractPairs, Causal
from ._prefix import TILE as CAUSAL_TILE
from ._prefix import prefix_sums
from ._reductions import AbstractReduction, Exponential, Hardmax, Sums
from ._scores import AbstractScore
from ._series import ERROR as ERROR
from ._series import FLOOR as FLOOR
from ._series import Series, trusted
from ._tiles import cut
from .modes import DIMENSIONS

# Tokens in a tile: their trigonometric functions stay in the second-level cache.
TILE = {2: 2048, 3: 512}


def refusal(score: AbstractScore, d: int, dtype: Any, pairs: Any, reduction: Any, selection: Any) -> str | None:
    """Why a sum cannot be taken spectrally, as far as structure says; `None` if it can."""
    if d not in DIMENSIONS:
        return f"they are for the circle and the sphere in three dimensions, and the tokens have {d}"
    if score.zonal is None:
        return f"{type(score).__name__} with matrices depends on more than <x, y> (a multiple of I belongs into beta)"
    if isinstance(pairs, Causal) and pairs.at is not None:
        return "the queries stand at positions of their own, and causal ones are taken in order"
    if not isinstance(pairs, Causal) and not pairs.complete:
        return "some pairs are left out or weighted by position, and they need all, or causal ones"
    if not isinstance(reduction, Exponential) or selection is not None:
        return "they are for exponentials of the score, reduce='softmax' or 'exp'"
    if jnp.dtype(dtype) != jnp.float64:
        return (
            f"their error is absolute, and {jnp.dtype(dtype).name} leaves too few digits; use af.precision('float64')"
        )
    return None


def spectral_sums(
    modes: int,
    x: Float[Array, "n d"],
    y: Float[Array, "m d"],
    score: AbstractScore,
    values: Float[Array, "m p"],
    log_w: Float[Array, " m"] | None,
    pairs: AbstractPairs,
    reduction: AbstractReduction,
    selection: Hardmax | None = None,
) -> Sums:
    """`(num, log_z)` by `modes` modes; `log_w=None` counts every key with weight one."""
    why = refusal(score, x.shape[1], x.dtype, pairs, reduction, selection)
    if why is not None:
        raise InputError(f"no spectral sums here: {why}; choose another kernel.")
    causal = isinstance(pairs, Causal)
    if causal and x.shape[0] != y.shape[0]:
        raise InputError(
            f"no spectral sums here: causal ones are of tokens among themselves, and there are {x.shape[0]} queries "
            f"and {y.shape[0]} keys; choose another kernel."
        )
    beta, offset = (jnp.asarray(number, x.dtype) for number in score.zonal or (0, 0))
    slope = pairs.slope.astype(x.dtype) if causal and pairs.slope is not None else jnp.zeros((), x.dtype)
    series = Series(x.shape[1], modes, causal, causal and pairs.strict)
    log_w = jnp.zeros(y.shape[0], x.dtype) if log_w is None else log_w.astype(x.dtype)
    heaviest = jax.lax.stop_gradient(jnp.max(log_w))
    top = jnp.where(heaviest == -jnp.inf, 0, heaviest)
    w = jnp.exp(log_w - top)
    charges = jnp.concatenate([w[:, None] * values, w[:, None]], axis=1)
    sums = _kernel_sums(series, x, y, charges, beta, slope)
    mass = trusted(series, x, y, log_w, w, beta, slope, sums[:, -1])
    shift = jnp.where(beta >= 0, 0, -2 * beta)  # the series is that of e^{beta <x, y> - |beta|}
    return reduction.finish(jnp.broadcast_to(top + offset + shift, mass.shape), (sums[:, :-1], mass))


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _kernel_sums(
    series: Series,
    x: Float[Array, "n d"],
    y: Float[Array, "m d"],
    q: Float[Array, "m p"],
    beta: Float[Array, ""],
    slope: Float[Array, ""],
) -> Float[Array, "n p"]:
    r"""$S(x; q)$ for every query and column of charges."""
    x, y, beta, slope = map(_first_order, (x, y, beta, slope))
    tile = (CAUSAL_TILE if series.causal else TILE)[series.d]
    return _plain_sums(series, tile, x, y, q, beta, slope)


@jax.custom_jvp
def _first_order(a: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """What is not to be differentiated through the series, which knows unit tokens only.

    Tangents take the rule below. A gradient is the transpose of the series in the charges; to differentiate it again
    would be to differentiate the series, and wrong in directions that leave the sphere.
    """
    return a


@_first_order.defjvp
def _second_order(primals: Any, tangents: Any) -> Any:
    raise InputError("spectral sums have no derivative of a gradient; take kernel='dense' or 'blocked' for that.")


def _kernel_sums_jvp(series: Series, primals: Any, tangents: Any) -> tuple[Array, Array]:
    x, y, q, beta, slope = primals
    dx, dy, dq, dbeta, dslope = (None if isinstance(t, SymbolicZero) else t for t in tangents)
    m, (d, p) = y.shape[0], (y.shape[1], q.shape[1])

    def first_moment(a: Array) -> Array:
        """Charges q ⊗ a, `(m, p * d)`."""
        return (q[:, :, None] * a[:, None, :]).reshape(m, p * d)

    def sums(charges: list[Array]) -> list[Array]:
        widths = np.cumsum([c.shape[1] for c in charges])[:-1]
        return jnp.split(_kernel_sums(series, x, y, jnp.concatenate(charges, axis=1), beta, slope), widths, axis=1)

    # S(x; dq) + beta x . S(x; q ⊗ dy) + (beta dx + dbeta x) . S(x; q ⊗ y) - sign dbeta S(x; q)
    # Charges that are tangents are summed apart: reverse mode knows the others before it knows them.
    moved = dx is not None or dbeta is not None
    value, *pull = sums([q, first_moment(y)] if moved else [q])
    change = jnp.zeros_like(value)
    if dq is not None:
        change = change + sums([dq])[0]
    if dy is not None:
        change = change + beta * jnp.sum(x[:, None, :] * sums([first_moment(dy)])[0].reshape(-1, p, d), axis=-1)
    if moved:
        direction = jnp.zeros_like(x) if dx is None else beta * dx
        direction = direction if dbeta is None else direction + dbeta * x
        change = change + jnp.sum(direction[:, None, :] * pull[0].reshape(-1, p, d), axis=-1)
    if dbeta is not None:
        change = change - jnp.where(beta >= 0, dbeta, -dbeta) * value
    if dslope is not None:  # - sum_j (i - j) ...
        place = jnp.arange(m, dtype=q.dtype)[:, None]
        change = change + dslope * (sums([place * q])[0] - place * value) if series.causal else change
    return value, change


_kernel_sums.defjvp(_kernel_sums_jvp, symbolic_zeros=True)


@functools.partial(jax.jit, static_argnums=(0, 1))  # called by itself, too, it is one program
def _plain_sums(
    series: Series, tile: int, x: Array, y: Array, q: Array, beta: Array, slope: Array
) -> Float[Array, "n p"]:
    expansion = series.expansion
    x, y = Sphere().nearest(x), Sphere().nearest(y)
    if series.causal:
        return prefix_sums(expansion, tile, series.strict, x, y, q, beta, slope)
    coefficients, _ = expansion.coefficients(beta)

    def one_tile(part: tuple[Array, Array]) -> Array:
        return expansion.moments(*part)

    if y.shape[0] <= tile:
        moments = one_tile((y, q))
    else:
        parts = (cut(y, tile), cut(q, tile))
        start = jnp.zeros(jax.eval_shape(one_tile, jax.tree.map(lambda a: a[0], parts)).shape, q.dtype)
        # A checkpoint: differentiation makes the trigonometric functions again instead of keeping them.
        add = jax.checkpoint(lambda total, part: (total + one_tile(part), None))
        moments, _ = jax.lax.scan(add, start, parts)
    convolved = expansion.convolve(moments, coefficients)
    if x.shape[0] <= tile:
        return expansion.evaluate(x, convolved)
    values = jax.lax.map(jax.checkpoint(lambda part: expansion.evaluate(part, convolved)), cut(x, tile))
    return values.reshape(-1, q.shape[1])[: x.shape[0]]
