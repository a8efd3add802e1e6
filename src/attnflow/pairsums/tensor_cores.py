r"""Sums over pairs in many dimensions, in float32, on the tensor cores of a GPU.

Tensor cores multiply numbers of half precision, which have eleven bits. Relative to the largest of its kind a number is
two of them, $x = s\,(x_h + 2^{-11} x_l)$, and three products

$$ \langle q, k\rangle \approx s_q s_k\,\bigl(\langle q_h, k_h\rangle
   + 2^{-11}(\langle q_h, k_l\rangle + \langle q_l, k_h\rangle)\bigr) $$

have the digits of a product in float32, at several times its speed. The weights, which lie between 0 and 1, and the
values are multiplied in the same way.
"""

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ._gpu_causal import Visible, fold, positional
from .gpu import launch, own, power_of_two, whole

WIDTH = 128  # dimensions and values, at most
QUERIES, KEYS = 128, 64
HALF = 2.0**11


class Halves(NamedTuple):
    """A number as `leading + second / HALF`."""

    leading: Array
    second: Array

    @classmethod
    def of(cls, a: Array) -> "Halves":
        """For numbers between -1 and 1."""
        leading = a.astype(jnp.float16)
        return cls(leading, cls.rest(a, leading))

    @staticmethod
    def rest(a: Array, leading: Array) -> Array:
        return ((a - leading.astype(jnp.float32)) * HALF).astype(jnp.float16)

    @property
    def T(self) -> "Halves":
        return Halves(self.leading.T, self.second.T)

    def times(self, other: "Halves") -> Array:
        """A product of matrices with the digits of float32."""
        mixed = _product(self.leading, other.second) + _product(self.second, other.leading)
        return _product(self.leading, other.leading) + mixed * (1 / HALF)

    def gram(self) -> Array:
        """All inner products of rows; the two mixed products are each other's transpose."""
        mixed = _product(self.leading, self.second.T)
        return _product(self.leading, self.leading.T) + (mixed + mixed.T) * (1 / HALF)


def _product(a: Array, b: Array) -> Array:
    return jnp.dot(a, b, preferred_element_type=jnp.float32)


class _KernelInputs(NamedTuple):
    """The inputs of a kernel: of its own queries, and of all keys."""

    scale: Any
    start: Any
    queries: Halves
    seen: Visible | None
    bias: Any
    keys: Halves
    values: Halves


def tensor_sums(
    queries: Float[Array, "n k"],
    start: Float[Array, " n"],
    keys: Float[Array, "m k"],
    bias: Float[Array, " m"] | None,
    values: Float[Array, "m p"],
    seen: Visible | None = None,
) -> tuple[Float[Array, "n p"], Float[Array, " n"]]:
    r"""$\sum_j e_{ij} v_j$ and $\sum_j e_{ij}$ with $e_{ij} = 2^{\langle q_i, k_j\rangle + b_j + a_i}$ at most 1."""
    n, (m, p) = queries.shape[0], values.shape
    bias = jnp.zeros(m, jnp.float32) if bias is None else bias
    fill = lambda a, rows: jnp.pad(a, ((0, -a.shape[0] % rows), (0, _width(a.shape[1]) - a.shape[1])))  # noqa: E731
    (q, q_scale), (y, y_scale), (v, v_scale) = (
        _scaled(fill(a, rows)) for a, rows in ((queries, QUERIES), (keys, KEYS), (values, KEYS))
    )
    inputs = _KernelInputs(
        jnp.atleast_1d(q_scale * y_scale),
        jnp.pad(start, (0, -n % QUERIES)),
        q,
        seen if seen is None else seen._replace(count=jnp.pad(seen.count, (0, -n % QUERIES), mode="edge")),
        jnp.pad(bias, (0, -m % KEYS), constant_values=-jnp.inf),
        y,
        v,
    )
    mine = functools.partial(jax.tree.map, functools.partial(own, size=QUERIES, axis=0))
    every = functools.partial(jax.tree.map, whole)
    specs = _KernelInputs(
        every(inputs.scale),
        mine(inputs.start),
        mine(q),
        None if inputs.seen is None else Visible(mine(inputs.seen.count), every(inputs.seen.slope)),
        *map(every, inputs[4:]),
    )
    rows = q.leading.shape[0]
    out = [jax.ShapeDtypeStruct((rows, v.leading.shape[1]), jnp.float32), jax.ShapeDtypeStruct((rows,), jnp.float32)]
    num, mass = launch(
        _kernel,
        out_shape=out,
        grid=(rows // QUERIES,),
        in_specs=[specs],
        out_specs=mine(out),
        warps=4 if max(q.leading.shape[1], v.leading.shape[1]) <= 64 else 8,  # as measured
        stages=2,
    )(inputs)
    return v_scale * num[:n, :p], mass[:n]


def _width(k: int) -> int:
    """Tensor cores want a power of two, and at least sixteen."""
    return max(16, 1 << max(0, k - 1).bit_length())


def _scaled(a: Array) -> tuple[Halves, Array]:
    """Halves relative to a power of two that is not below any entry."""
    top = jnp.max(jnp.abs(a))
    scale = jnp.exp2(jnp.ceil(jnp.log2(jnp.where((top > 0) & jnp.isfinite(top), top, 1))))
    a = a / scale
    # Without the barrier the compiler takes a number that is rounded and widened again for the number itself.
    leading = jax.lax.optimization_barrier(a.astype(jnp.float16))
    return Halves(leading, Halves.rest(a, leading)), scale


def _kernel(inputs: _KernelInputs, num_ref: Any, mass_ref: Any) -> None:
    from jax.experimental import pallas as pl

    queries = Halves(*(ref[...] for ref in inputs.queries))
    start, scale = inputs.start[:][:, None], inputs.scale[0]

    def add(first: Any, masked: bool, sums: tuple[Array, Array]) -> tuple[Array, Array]:
        at = pl.ds(first, KEYS)
        keys, values = (Halves(*(ref[at, :] for ref in halves)) for halves in (inputs.keys, inputs.values))
        s = scale * queries.times(keys.T) + (start + inputs.bias[at][None, :])
        e = power_of_two(positional(inputs.seen, s, first, masked))
        return sums[0] + Halves.of(e).times(values), sums[1] + jnp.sum(e, axis=1)

    nothing = (jnp.zeros(num_ref.shape, jnp.float32), jnp.zeros(QUERIES, jnp.float32))
    num_ref[...], mass_ref[:] = fold(inputs.seen, 0, inputs.bias.shape[0], KEYS, add, nothing)
