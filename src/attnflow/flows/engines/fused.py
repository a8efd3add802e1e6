r"""Many small clouds, many steps, one kernel: a program of the GPU keeps a realisation on chip from one observation to
the next, and device memory is touched twice in between.

In few dimensions a cloud is a tuple of coordinates, each an array of $n$ numbers, and the pairs are an array with keys
down and queries across: a thread has a query of its own, sums over keys inside it, and reads the keys from the others.
In more dimensions a cloud is a matrix, and both sums over pairs are products of matrices on the tensor cores. These
keep eleven bits of a number; with $x = x_h + x_l$, $x_h$ the leading bits, $x y \approx x_h y_h + x_h y_l + x_l y_h$
has the digits of float32.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...models.schedules import depends_on_time
from ...pairsums import AbstractPairs, as_reduction
from ...pairsums.gpu import LOG2E, launch, multiply_add, power_of_two, whole
from ...pairsums.tensor_cores import Halves
from ...spaces import power_in_range
from .._trajectory_engine import PORTION_BYTES, AbstractTrajectoryEngine, Ensemble, Interval
from ..steps import State
from ..tableaux import Tableau, tableaux

TOKENS = 64  # at most; the pairs of a realisation are registers
DIMENSION = 128  # at most
COORDINATES = 8  # up to here a cloud is a tuple of coordinates


class Fused(AbstractTrajectoryEngine):
    """Whole trajectories by a kernel for a GPU; elsewhere it is interpreted, which is right and slow."""

    name = "fused"

    def why_not(self, problem: Ensemble) -> str | None:
        n, d = problem.n, problem.d
        model: Any = problem.model
        if jnp.dtype(problem.dtype) != jnp.float32:
            return f"tokens are {jnp.dtype(problem.dtype)}, and the kernel computes in float32"
        if n > TOKENS or d > DIMENSION:
            return f"{n} tokens in dimension {d} do not fit on a chip's processor; at most {TOKENS} in {DIMENSION}"
        attention = getattr(model, "attention", None) if model.attention_alone else None
        if attention is None or depends_on_time(attention):
            return "the kernel supports only self-attention whose parameters do not change with time"
        hard = attention.one_sum and as_reduction(attention.reduce)[1] is not None
        if not (attention.exponential or hard) or not attention.score.is_bilinear:
            return "the kernel supports only softmax, unnormalised and hardmax self-attention"
        if hard and not model.pairs.complete:
            return "the kernel supports only hardmax among all tokens"
        if hard and d > COORDINATES:
            return f"the kernel supports hardmax in at most {COORDINATES} dimensions"
        if not (model.space.unit or model.space.flat):
            return f"the kernel does not support the space {type(model.space).__name__}"
        return None

    def cost(self, problem: Ensemble) -> float:
        return problem.batched_seconds * (0.02 if problem.backend == "gpu" else 1000)

    def chunk(self, problem: Ensemble, realizations: int) -> int:
        # A kernel fills the GPU with thousands of them.
        return int(np.clip(PORTION_BYTES // (problem.n * problem.d * problem.itemsize), 1, realizations))

    def run(self, problem: Interval, state: State) -> State:
        return fused_steps(problem.model, state, problem.h, problem.steps, problem.w, problem.solver)


ENGINE = Fused()


def fused_steps(
    model: Any, state: State, h: Float[Array, ""], steps: Array, w: Float[Array, " n"] | None, solver: str
) -> State:
    """All realisations `(c, n, d)`, `steps` steps of size `h` on; a state is what the steps of `steps` carry."""
    from jax.experimental import pallas as pl

    x = state[0]
    c, n, d = x.shape
    flat = d <= COORDINATES
    rows = max(32 if flat else 16, 1 << (n - 1).bit_length())
    width = d if flat else max(16, 1 << (d - 1).bit_length())
    wide = lambda a, *by: jnp.pad(a, [(0, k - s) for s, k in zip(a.shape, by, strict=True)])  # noqa: E731
    attention = model.attention
    B = attention.score.matrix
    score = jnp.eye(d, dtype=x.dtype) if B is None else jnp.asarray(B, x.dtype)
    value = jnp.eye(d, dtype=x.dtype) if attention.V is None else jnp.asarray(attention.V, x.dtype).T
    reduction, selection = as_reduction(attention.reduce)
    total = reduction.total
    beta, tol = LOG2E * attention.score.beta, jnp.zeros(())
    if selection is not None:
        beta, tol = jnp.ones(()), selection.tol
    if total is not None:  # a factor is a faster clock, which is a longer step
        h = h * jnp.asarray(total.factor, h.dtype)
    shift = LOG2E * jnp.asarray(0.0 if total is None else total.shift, x.dtype)
    masses = jnp.full(n, 1 / n, x.dtype) if w is None else w.astype(x.dtype)
    everyone = model.pairs.complete
    between = _positional(model.pairs, masses)
    kind = _Kind(
        flat=flat,
        sphere=model.space.unit,
        scored=B is not None,
        everyone=everyone,
        valued=attention.V is not None,
        hard=selection is not None,
        normalized=total is None,
        solver=solver,
    )
    # Tokens that fill up to a power of two have no weight, and stand somewhere on the space.
    filled = jnp.pad(x, ((0, 0), (0, rows - n), (0, 0)), mode="edge")
    filled = jnp.moveaxis(filled, 2, 0) if flat else wide(filled, c, rows, width)
    shape = (d, 1, rows) if flat else (1, rows, width)
    place = (lambda i: (0, i, 0)) if flat else (lambda i: (i, 0, 0))
    cloud = pl.BlockSpec(shape, place)
    inputs = (
        jnp.stack([a.astype(x.dtype) for a in (h, beta, tol, shift)]),
        jnp.atleast_1d(steps.astype(jnp.int32)),
        LOG2E * jnp.log(wide(masses, rows)),
        wide(score, width, width),
        wide(value, width, width),
        None if everyone else wide(LOG2E * (between.T if flat else between), rows, rows),
    )
    out = launch(
        functools.partial(_kernel, kind),
        out_shape=jax.ShapeDtypeStruct(filled.shape, filled.dtype),
        grid=(c,),
        in_specs=[*jax.tree.map(whole, inputs), cloud],
        out_specs=cloud,
        warps=rows // 32 if flat else 1 if width <= 64 else 2,  # as measured
    )(*inputs, filled)
    x = jnp.moveaxis(out[:, :, :n], 0, 2) if flat else out[:, :n, :d]
    return x, model.space.nearest(x)


def _positional(pairs: AbstractPairs, masses: Float[Array, " n"]) -> Float[Array, "n n"]:
    """The positional terms of scores, queries down and keys across: for exponentials inside and outside are one."""
    n, i = masses.size, jnp.arange(masses.size)
    inside, outside = pairs.logit(i, i, n, n), pairs.log_weight(i, i, n, n)
    total = sum((a for a in (inside, outside) if a is not None), start=jnp.zeros((n, n)))
    if pairs.normalized:
        outside = jnp.zeros((n, n)) if outside is None else outside
        mass = jax.nn.logsumexp(outside + jnp.log(masses).astype(outside.dtype)[None, :], axis=1)
        total = total - jnp.where(mass > -jnp.inf, mass, 0)[:, None]
    return total.astype(masses.dtype)


class _Kind(NamedTuple):
    """What a kernel is specialised to, besides shapes."""

    flat: bool
    sphere: bool
    scored: bool
    everyone: bool
    valued: bool
    hard: bool
    normalized: bool
    solver: str

    @property
    def bounded(self) -> bool:
        """On the sphere no score exceeds beta, and one's own reaches it; elsewhere the greatest is computed."""
        return self.sphere and self.everyone and not self.scored and not self.hard


def _kernel(
    kind: _Kind,
    number_ref: Any,
    steps_ref: Any,
    log_w_ref: Any,
    score_ref: Any,
    value_ref: Any,
    between_ref: Any,
    x_ref: Any,
    out_ref: Any,
) -> None:
    h, c, tol, shift = (number_ref[k] for k in range(4))
    layout = _Coordinates if kind.flat else _Matrix
    log_w = jnp.expand_dims(log_w_ref[:], 1 - layout.KEYS)
    start = jnp.where(log_w > -jnp.inf, 0.0, -jnp.inf) if kind.hard else log_w - c if kind.bounded else log_w
    start = start if between_ref is None else start + between_ref[...]
    weigh = functools.partial(_weights, kind, c, tol, shift, log_w, layout.KEYS)
    attend = layout.attention(kind, c, start, weigh, score_ref, value_ref)
    space = _Space(layout.inner, kind.sphere)
    step = functools.partial(_step(kind.solver), space, attend, h)
    x = layout.load(x_ref)
    x, _ = jax.lax.fori_loop(0, steps_ref[0], lambda _, state: step(state), (x, space.nearest(x)))
    layout.store(out_ref, x)


# A cloud is a tree of arrays; the steps are those of `steps`, in its arithmetic.


class _Space(NamedTuple):
    inner: Callable[[Any, Any], Array]
    sphere: bool

    def nearest(self, x: Any) -> Any:
        if not self.sphere:
            return x
        power = power_in_range(self.inner(x, x))  # tokens may be too long to be squared
        x = jax.tree.map(lambda a: a * power, x)
        r = jax.lax.rsqrt(self.inner(x, x))
        return jax.tree.map(lambda a: a * r, x)

    def project(self, x: Any, v: Any) -> Any:
        if not self.sphere:
            return v
        along = -self.inner(x, v)
        return jax.tree.map(lambda a, b: multiply_add(along, a, b), x, v)


def _moved(x: Any, h: Any, v: Any) -> Any:
    return jax.tree.map(lambda a, b: multiply_add(jnp.full_like(b, h), b, a), x, v)


def _euler_retract(space: _Space, force: Any, h: Any, state: Any) -> Any:
    y = space.nearest(_moved(state[1], h, force(state[1])))
    return y, y


def _runge_kutta(tableau: Tableau, space: _Space, force: Any, h: Any, state: Any) -> Any:
    x, y = state
    total = jax.tree.map(jnp.zeros_like, x)
    for stage in range(tableau.stages):
        v = space.project(y, force(y))
        total = _moved(total, tableau.weights[stage], v)
        if stage + 1 < tableau.stages:
            y = space.nearest(_moved(x, tableau.ahead[stage] * h, v))
    x = _moved(x, h, total)
    return x, space.nearest(x)


def _step(solver: str) -> Callable[..., Any]:
    tableau = tableaux().get(solver)  # none: the bare force and a retraction
    return _euler_retract if tableau is None else functools.partial(_runge_kutta, tableau)


class _Coordinates:
    """A cloud as a tuple of coordinates, each with an entry per token."""

    KEYS = 0  # the axis of the keys among pairs

    @staticmethod
    def load(ref: Any) -> tuple[Array, ...]:
        return tuple(ref[k, 0, :] for k in range(ref.shape[0]))

    @staticmethod
    def store(ref: Any, x: tuple[Array, ...]) -> None:
        for k, a in enumerate(x):
            ref[k, 0, :] = a

    @staticmethod
    def inner(x: tuple[Array, ...], y: tuple[Array, ...]) -> Array:
        total = x[0] * y[0]
        for a, b in zip(x[1:], y[1:], strict=True):
            total = multiply_add(a, b, total)
        return total

    @staticmethod
    def attention(kind: _Kind, c: Any, start: Array, weigh: Any, score_ref: Any, value_ref: Any) -> Any:
        def times(x: tuple[Array, ...], ref: Any, present: bool) -> tuple[Array, ...]:
            if not present:
                return x
            d = range(len(x))
            return tuple(_Coordinates.inner(x, tuple(jnp.full_like(x[0], ref[k, m]) for k in d)) for m in d)

        def attend(x: tuple[Array, ...]) -> tuple[Array, ...]:
            queries = [(c * a)[None, :] for a in times(x, score_ref, kind.scored)]
            keys = [a[:, None] for a in x]
            s = jnp.broadcast_to(start, (x[0].size, x[0].size))
            for q, k in zip(queries, keys, strict=True):
                s = multiply_add(q, k, s)
            e, scale = weigh(s)
            sums = [jnp.sum(e * a[:, None], axis=0) for a in times(x, value_ref, kind.valued)]
            return tuple(a * scale for a in sums)

        return attend


class _Matrix:
    """A cloud as a matrix with a row per token."""

    KEYS = 1

    @staticmethod
    def load(ref: Any) -> Array:
        return ref[0]

    @staticmethod
    def store(ref: Any, x: Array) -> None:
        ref[0] = x

    @staticmethod
    def inner(x: Array, y: Array) -> Array:
        return jnp.sum(x * y, axis=1)[:, None]

    @staticmethod
    def attention(kind: _Kind, c: Any, start: Array, weigh: Any, score_ref: Any, value_ref: Any) -> Any:
        def attend(x: Array) -> Array:
            queries = _times(x, score_ref[...]) if kind.scored else x
            e, scale = weigh(multiply_add(c, _times(queries, x.T), start))
            values = _times(x, value_ref[...]) if kind.valued else x
            return _times(e, values) * scale[:, None]

        def attend_units(x: Array) -> Array:
            halves = Halves.of(x)
            e, scale = weigh(multiply_add(c, halves.gram(), start))
            return Halves.of(e).times(halves) * scale[:, None]

        # What lies between -1 and 1 is two numbers of half precision, whose products are twice as fast.
        return attend_units if kind.sphere and not kind.scored and not kind.valued else attend


def _weights(kind: _Kind, c: Any, tol: Any, shift: Any, log_w: Array, axis: int, s: Array) -> tuple[Array, Array]:
    """Weights of all pairs from their scores, and what sums with them are to be multiplied by."""
    if kind.bounded:  # the scores are relative to it already
        top = jnp.full((s.shape[1 - axis],), c)
    else:
        top = jnp.max(s, axis=axis)
        top = top if kind.everyone else jnp.where(top > -jnp.inf, top, 0)  # a query may see no key
    if kind.hard:
        e = jnp.where(s >= jnp.expand_dims(top - tol, axis), power_of_two(log_w), 0)
    else:
        e = power_of_two(s if kind.bounded else s - jnp.expand_dims(top, axis))
    if kind.normalized:
        mass = jnp.sum(e, axis=axis)
        return e, 1 / mass if kind.everyone else jnp.where(mass > 0, 1 / mass, 0)
    return e, power_of_two(top - shift)


def _times(a: Array, b: Array) -> Array:
    """A product of matrices with the digits of float32."""
    product = functools.partial(jnp.dot, preferred_element_type=jnp.float32)
    (ah, al), (bh, bl) = _split(a), _split(b)
    return product(ah, bh) + (product(ah, bl) + product(al, bh))


def _split(a: Array) -> tuple[Array, Array]:
    """The leading bits, which a tensor core keeps, and the rest."""
    bits = jax.lax.bitcast_convert_type(a, jnp.uint32) & jnp.uint32(0xFFFFE000)
    leading = jax.lax.bitcast_convert_type(bits, jnp.float32)
    return leading, a - leading
