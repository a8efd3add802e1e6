"""Statistics of an ensemble: those of an observable that are updated one realisation at a time.

Realisations are added in their own order, so a statistic does not depend on how they were cut into chunks (on a GPU
the last digits of a mean do). An observable is a function `(t, x, weights) -> array` of one cloud; a statistic sees its
values at all times, `(T, ...)`.
"""

import abc
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..checks import finite_array, whole
from ..errors import InputError, shown
from ..spaces import Count, Numbers

# `observable(t, x, weights)`: of the time, a cloud (n, d) on its space, and its weights (n,) or None; the result is an
# array of one shape.
Observable = Callable[[Array, Float[Array, "n d"], Float[Array, " n"] | None], Array]


def _function(observable: Observable) -> Observable:
    if not callable(observable):
        raise InputError(f"observable = {shown(observable)} is no function; give one of t, x and weights.")
    return observable


class AbstractStatistic(eqx.Module):
    """The contract: `observe` one cloud, `start` from nothing, `add` realisation number `r`, `finish`."""

    last_only: ClassVar[bool]

    @abc.abstractmethod
    def observe(self, t: Array, x: Float[Array, "n d"], weights: Float[Array, " n"] | None) -> Array: ...

    @abc.abstractmethod
    def start(self, values: jax.ShapeDtypeStruct, realizations: int) -> Any:
        """The state before any realisation; `values` is the shape of what one realisation gives, `(T, ...)`."""

    @abc.abstractmethod
    def add(self, state: Any, r: Int[Array, ""], values: Array, counts: Bool[Array, ""]) -> Any:
        """The state with realisation `r` added, or as it was unless it `counts`."""

    def add_all(self, state: Any, rows: Int[Array, " R"], values: Array, counts: Bool[Array, " R"]) -> Any:
        """The state with many realisations added, in their order unless that makes no difference."""

        def one(state: Any, item: Any) -> tuple[Any, None]:
            return self.add(state, *item), None

        return jax.lax.scan(one, state, (rows, values, counts))[0]

    @abc.abstractmethod
    def finish(self, state: Any) -> Any: ...


class Estimate(NamedTuple):
    """A mean over realisations and its standard error."""

    mean: Array
    stderr: Array


class Mean(AbstractStatistic):
    """Mean and standard error of an observable at every time, by Welford's update."""

    observable: Observable
    last_only: ClassVar[bool] = False

    def __init__(self, observable: Observable):
        self.observable = _function(observable)

    def observe(self, t, x, weights):
        return self.observable(t, x, weights)

    def start(self, values, realizations):
        zero = jnp.zeros(values.shape, jnp.result_type(float))
        return jnp.zeros((), zero.dtype), zero, zero

    def add(self, state, r, values, counts):
        count, mean, square = state
        delta = jnp.where(counts, values.astype(mean.dtype) - mean, 0)
        count = count + counts.astype(count.dtype)
        step = delta / jnp.maximum(count, 1)
        return count, mean + step, square + delta * (delta - step)

    def add_all(self, state, rows, values, counts):
        if jax.default_backend() != "gpu":
            return super().add_all(state, rows, values, counts)
        # One after the other would leave a GPU idle: mean and squares of all, then those of two groups together.
        count, mean, square = state
        counted = counts.reshape(-1, *[1] * (values.ndim - 1))
        values = values.astype(mean.dtype)
        more = jnp.sum(counts).astype(count.dtype)
        middle = jnp.sum(jnp.where(counted, values, 0), axis=0) / jnp.maximum(more, 1)
        around = jnp.sum(jnp.where(counted, (values - middle) ** 2, 0), axis=0)
        total = jnp.maximum(count + more, 1)
        delta = middle - mean
        return count + more, mean + delta * more / total, square + around + delta**2 * count * more / total

    def finish(self, state):
        count, mean, square = state
        variance = square / jnp.maximum(count - 1, 1)
        return Estimate(mean, jnp.where(count > 1, jnp.sqrt(variance / count), jnp.inf))


class Histogram(AbstractStatistic):
    """Counts of an observable's entries in bins, at every time; entries outside the edges are not counted."""

    observable: Observable
    edges: Float[Array, " bins_plus_1"]
    last_only: ClassVar[bool] = False

    def __init__(self, observable: Observable, edges: Numbers):
        self.observable = _function(observable)
        self.edges = jnp.asarray(finite_array("edges", edges), jnp.result_type(float))
        if self.edges.ndim != 1 or self.edges.size < 2 or (np.diff(np.asarray(edges)) <= 0).any():
            raise InputError("the edges of a histogram are two or more increasing numbers.")

    def observe(self, t, x, weights):
        return self.observable(t, x, weights)

    def start(self, values, realizations):
        return jnp.zeros((values.shape[0], self.edges.size - 1), jnp.int32)

    def add(self, state, r, values, counts):
        flat = values.reshape(values.shape[0], -1).astype(self.edges.dtype)
        bins = self.edges.size - 1
        # The last edge belongs to the last bin, as in NumPy.
        place = jnp.searchsorted(self.edges, flat, side="right") - 1
        place = jnp.where(flat == self.edges[-1], bins - 1, place)
        place = jnp.where((place < 0) | (place >= bins) | ~counts, bins, place)  # dropped
        return jax.vmap(lambda row, p: row.at[p].add(1, mode="drop"))(state, place)

    def finish(self, state):
        return state


class Quantiles(AbstractStatistic):
    """Quantiles of a scalar observable over realisations, from a sketch of `bins` counts between `bounds`.

    The answer is off by at most one bin, `(high - low) / bins`; values outside the bounds are counted at the ends, and
    one that is not a number makes the quantiles not a number.
    """

    observable: Observable
    q: tuple[float, ...] = eqx.field(static=True)
    bounds: tuple[float, float] = eqx.field(static=True)
    bins: int = eqx.field(static=True)
    last_only: ClassVar[bool] = False

    def __init__(
        self,
        observable: Observable,
        q: Sequence[float] = (0.25, 0.5, 0.75),
        *,
        bounds: tuple[float, float],
        bins: Count = 1024,
    ):
        levels, ends = finite_array("q", q), finite_array("bounds", bounds)
        if levels.ndim != 1 or not levels.size or ends.shape != (2,):
            raise InputError(f"q = {shown(q)} and bounds = {shown(bounds)}; give a list of levels and two numbers.")
        if not ((levels >= 0) & (levels <= 1)).all() or not ends[0] < ends[1]:
            raise InputError(f"quantiles {tuple(q)} between {bounds}: take levels in [0, 1] and increasing bounds.")
        self.observable, self.bins = _function(observable), whole("bins", bins)
        self.q, self.bounds = tuple(levels.tolist()), (float(ends[0]), float(ends[1]))

    def observe(self, t, x, weights):
        return self.observable(t, x, weights)

    def start(self, values, realizations):
        return jnp.zeros((*values.shape, self.bins), jnp.int32), jnp.zeros(values.shape, bool)

    def add(self, state, r, values, counts):
        sketch, spoilt = state
        low, high = self.bounds
        place = jnp.floor((values - low) / (high - low) * self.bins).astype(jnp.int32)
        place = jnp.where(counts, jnp.clip(place, 0, self.bins - 1), self.bins)  # in no bin
        return sketch + jax.nn.one_hot(place, self.bins, dtype=sketch.dtype), spoilt | (counts & jnp.isnan(values))

    def finish(self, state):
        low, high = self.bounds
        sketch, spoilt = state
        total = jnp.cumsum(sketch, axis=-1).astype(jnp.result_type(float))
        middle = low + (high - low) * (jnp.arange(self.bins, dtype=total.dtype) + 0.5) / self.bins
        # The smallest bin below which at least a fraction p of the realisations lies.
        rank = [jnp.maximum(jnp.ceil(p * total[..., -1:]), 1) for p in self.q]
        quantiles = jnp.stack([middle[jnp.sum(total < k, axis=-1)] for k in rank], axis=-1)
        return jnp.where(spoilt[..., None], jnp.nan, quantiles)


class LastState(AbstractStatistic):
    """The final tokens of every realisation, `(realizations, n, d)`."""

    last_only: ClassVar[bool] = True

    def observe(self, t, x, weights):
        return x

    def start(self, values, realizations):
        return jnp.zeros((realizations, *values.shape[1:]), values.dtype)

    def add(self, state, r, values, counts):
        return state.at[jnp.where(counts, r, state.shape[0])].set(values[-1], mode="drop")  # in place

    def add_all(self, state, rows, values, counts):
        return state.at[jnp.where(counts, rows, state.shape[0])].set(values[:, -1], mode="drop")

    def finish(self, state):
        return state


class Finite(AbstractStatistic):
    """How many realisations ended with finite tokens."""

    last_only: ClassVar[bool] = True

    def observe(self, t, x, weights):
        return jnp.isfinite(x).all()

    def start(self, values, realizations):
        return jnp.zeros((), jnp.int32)

    def add(self, state, r, values, counts):
        return state + (values[-1] & counts).astype(state.dtype)

    def add_all(self, state, rows, values, counts):
        return state + jnp.sum(values[:, -1] & counts).astype(state.dtype)

    def finish(self, state):
        return state


class Largest(AbstractStatistic):
    """The largest value over all realisations of a number that the integration itself gives; it is not negative."""

    last_only: ClassVar[bool] = True

    def observe(self, t, x, weights):
        return jnp.zeros((), x.dtype)

    def start(self, values, realizations):
        return jnp.zeros((), values.dtype)

    def add(self, state, r, values, counts):
        return jnp.maximum(state, jnp.where(counts, values[-1], 0))

    def add_all(self, state, rows, values, counts):
        return jnp.maximum(state, jnp.max(jnp.where(counts, values[:, -1], 0)))

    def finish(self, state):
        return state
