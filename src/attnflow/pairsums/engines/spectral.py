r"""The spectral engine: sums over unit tokens on the circle and on $S^2$ in $O(nK)$ and $O(nL^2)$, not $O(n^2)$.

$$ S(x; q) = \sum_j q_j\, e^{\beta(\langle x, y_j\rangle - 1)} $$

is computed from moments of the charges $q$, tile by tile: memory is proportional to the tokens. Derivatives are sums of
the same kind, $\nabla_x S(x; q) = \beta\, S(x; q \otimes y)$ and so on, which is how they are taken: to the last digit
as accurate as the sum, equal to those of the dense engine in every direction, and smooth at the poles.
Causal pairs, with a slope or without, are summed in one walk along the tokens (`_prefix`).

The error is absolute (`_series`). A token that is its own key has $Z \ge w_i$; a query far from all keys may have less,
and is refused.
"""

import functools
import math
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Float

from ...errors import InputError
from ...spaces import Sphere, is_concrete
from .._engine import AbstractPairSumEngine, Accuracy, Inputs, Problem
from .._pairs import Causal
from .._prefix import TILE as CAUSAL_TILE
from .._prefix import prefix_sums
from .._reductions import Sums
from .._series import ERROR, FLOOR, Series, trusted
from .._tiles import cut
from ..modes import DIMENSIONS, modes_for
from . import blocked, dense, native, sharded

# Tokens in a tile: their trigonometric functions stay in the second-level cache.
TILE = {2: 2048, 3: 512}


class Spectral(AbstractPairSumEngine):
    """With a number of `modes`, or as many as the temperature needs, where it is known.

    Whoever gives a number vouches for the temperature, for unit tokens and for the error.
    """

    name = "spectral"
    looks_at_pairs = False

    def __init__(self, modes: int | None = None):
        self.modes = modes

    @property
    def full_name(self) -> str:
        return self.name if self.modes is None else f"{self.name}:{self.modes}"

    def configured(self, option: str) -> "Spectral":
        if not re.fullmatch(r"[1-9]\d{0,4}", option):
            raise InputError(f"kernel 'spectral:{option}' names no number of modes; write for example 'spectral:64'.")
        return Spectral(int(option))

    def prepared(self, problem: Problem) -> "Spectral":
        return self if self.modes is not None else Spectral(_modes(problem))

    def why_not(self, problem: Problem) -> str | None:
        if self.modes is not None:
            return None if problem.score is None else _structure(problem)
        if problem.score is None:
            return f"{problem.silent}, so that the number of modes must be given, for example kernel='spectral:64'"
        if not problem.constant:
            return "the parameters change with time; give modes for the largest beta, for example kernel='spectral:64'"
        if not problem.unit:
            return "the tokens are not unit vectors"
        reason = _structure(problem)
        if reason is not None:
            return reason
        if not is_concrete(problem.score):
            return (
                "beta is not known inside a transformation; give the number of modes, for example kernel='spectral:64'"
            )
        if problem.exact:
            return "their error is absolute, and here sums are exact up to rounding unless it is named"
        return None if problem.accuracy is None else _accuracy(problem, problem.accuracy)

    def cost(self, problem: Problem) -> float:
        """Relative to the fastest direct sums, as the break-even was measured."""
        direct = [e for e in (blocked.ENGINE, dense.ENGINE, native.ENGINE, sharded.ENGINE) if not e.why_not(problem)]
        modes = _modes(problem) if self.modes is None else self.modes
        enough = break_even(problem.d, modes, causal=problem.pairs.prefix)
        return min(engine.cost(problem) for engine in direct) * enough / (problem.n + 0.5)

    def run(self, problem: Problem, inputs: Inputs) -> Sums:
        return _sums(self.modes, problem, inputs)


ENGINE = Spectral()


def break_even(d: int, modes: int, causal: bool = False) -> float:
    """From how many tokens on spectral sums are faster than direct ones, as measured (docs/theory/fast-sums.md)."""
    if d == 2:
        return 800.0 + 9 * modes if causal else 256.0 + modes
    return 10.0 * modes**2 if causal else 170.0 * modes


def _modes(problem: Problem) -> int:
    return modes_for(float(_temperature(problem)[0]), problem.d)


def _temperature(problem: Any) -> Any:
    """`(beta, s_0)` of the score."""
    return problem.score.zonal or (0.0, 0.0)


def _structure(problem: Any) -> str | None:
    """Why a sum cannot be taken spectrally, whatever its numbers; `None` if it can."""
    d, pairs, dtype = problem.d, problem.pairs, jnp.dtype(problem.dtype)
    if problem.partitioned:
        return "XLA cannot cut the series into parts for the devices of a mesh"
    if d not in DIMENSIONS:
        return f"they are for the circle and the sphere in three dimensions, and the tokens have {d}"
    if not problem.exponential:
        return "they are for exponentials of the score, reduce='softmax' or 'exp'"
    if problem.score.zonal is None:
        name = type(problem.score).__name__
        return f"{name} with matrices depends on more than <x, y> (a multiple of I belongs into beta)"
    if isinstance(pairs, Causal) and not pairs.prefix:
        return "the queries stand at positions of their own, and causal ones are taken in order"
    if not pairs.prefix and not pairs.complete:
        return "some pairs are left out or weighted by position, and they need all, or causal ones"
    if dtype != jnp.float64:
        return f"their error is absolute, and {dtype.name} leaves too few digits; use af.precision('float64')"
    if pairs.prefix and problem.n != problem.m:
        return f"causal ones are of tokens among themselves, and there are {problem.n} queries and {problem.m} keys"
    return None


def _accuracy(problem: Any, accuracy: Accuracy) -> str | None:
    r"""Why the absolute error is too large for a run; `None` if it is not.

    It is up to `ERROR` of all weight in every sum, so up to `ERROR` / $w_i$ in the velocity of a token that is alone
    (softmax: $Z_i \ge w_i$). Over a run of length $T$ that moves it by $T$ times as much, which must be below the
    relative tolerance. So the engine is never taken for the metastable tail, where drifts below 1e-13 decide and times
    are exponentially long.
    """
    span, tolerance, w, V = accuracy
    if not is_concrete(*accuracy):
        return (
            "weights, times or tolerances are not known inside a transformation, so the accuracy cannot be judged; "
            "give the number of modes, for example kernel='spectral:64'"
        )
    lightest = 1 / problem.n if w is None else float(np.min(np.asarray(w)))
    if lightest == 0:
        return "a token of weight zero may be far from all others, where no digit of Z is left"
    beta, offset = (float(number) for number in _temperature(problem))
    strict = problem.pairs.prefix and problem.pairs.strict
    least = math.exp(-2 * abs(beta))  # of the kernel, at the antipode
    if strict and least < FLOOR:
        return "a token that does not see itself may be far from all it sees, where at this beta no digit of Z is left"
    error = ERROR[problem.d] * (1.0 if V is None else float(np.linalg.norm(np.asarray(V), 2)))
    total = problem.reduction.total
    if total is not None:  # the sums themselves, at most e^(s(x, x) - shift)
        error = error * float(total.factor) * math.exp(min(offset - float(total.shift), 700))
    else:
        error = error / (least if strict else lightest)
    if error * span <= tolerance:
        return None
    return (
        f"their error of up to {error:.1g} in a velocity makes {error * span:.1g} over a time of {span:g}, more than "
        f"the tolerance {tolerance:g}; allow rtol >= {error * span:.1g} "
        f"('spectral:{_modes(problem)}' is not checked)"
    )


def _sums(modes: int | None, problem: Any, inputs: Inputs) -> Sums:
    assert modes is not None  # `prepared` has chosen it
    x, y, _, values, log_w, _ = inputs
    pairs, causal = problem.pairs, problem.pairs.prefix
    beta, offset = (jnp.asarray(number, x.dtype) for number in _temperature(problem))
    slope = pairs.slope.astype(x.dtype) if causal and pairs.slope is not None else jnp.zeros((), x.dtype)
    series = Series(problem.d, modes, causal, causal and pairs.strict)
    log_w = jnp.zeros(problem.m, x.dtype) if log_w is None else log_w.astype(x.dtype)
    heaviest = jax.lax.stop_gradient(jnp.max(log_w))
    top = jnp.where(heaviest == -jnp.inf, 0, heaviest)
    w = jnp.exp(log_w - top)
    charges = jnp.concatenate([w[:, None] * values, w[:, None]], axis=1)
    sums = _kernel_sums(series, x, y, charges, beta, slope)
    mass = trusted(series, x, y, log_w, w, beta, slope, sums[:, -1])
    shift = jnp.where(beta >= 0, 0, -2 * beta)  # the series is that of e^{beta <x, y> - |beta|}
    return problem.reduction.finish(jnp.broadcast_to(top + offset + shift, mass.shape), (sums[:, :-1], mass))


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
    """A stop of differentiation through the series, which holds for unit tokens only.

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
    # Charges that are tangents are summed apart: reverse mode computes the other sums before it has these.
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


@functools.partial(jax.jit, static_argnums=(0, 1))  # jitted, so that a call outside of other programs is one program
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
