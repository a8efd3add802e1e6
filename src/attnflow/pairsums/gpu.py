"""Shared parts of GPU kernels: how one is launched, and two instructions that XLA's compiler does not choose itself.

A product and a sum are contracted to one instruction here (nothing else contracts them, and they are most of what a
sum over pairs does), and a power of two is taken without the three instructions that mend denormal results. Outside a
GPU, in the interpreter, both are written out.
"""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array

LOG2E = 1.4426950408889634


def interpreted() -> bool:
    """Whether kernels are interpreted: right and slow, where there is no GPU."""
    return jax.default_backend() != "gpu"


def launch(kernel: Any, *, warps: int, stages: int = 1, **options: Any) -> Any:
    """`pallas_call`, interpreted where there is no GPU."""
    from jax.experimental import pallas as pl
    from jax.experimental.pallas import triton

    if interpreted():
        return pl.pallas_call(kernel, interpret=True, **options)
    return pl.pallas_call(kernel, compiler_params=triton.CompilerParams(num_warps=warps, num_stages=stages), **options)


def whole(a: Any) -> Any:
    """The block of an array that every program sees: all of it."""
    from jax.experimental import pallas as pl

    return pl.BlockSpec(a.shape, lambda i: (0,) * len(a.shape))


def own(a: Any, size: int, axis: int) -> Any:
    """The block of an array that belongs to one program: `size` entries along an axis.

    The last ones come first: where pairs are causal they see most keys, and what takes long should not start last.
    """
    from jax.experimental import pallas as pl

    axis %= len(a.shape)
    shape = tuple(size if k == axis else many for k, many in enumerate(a.shape))
    last = a.shape[axis] // size - 1
    return pl.BlockSpec(shape, lambda i: tuple(last - i if k == axis else 0 for k in range(len(shape))))


def multiply_add(a: Array, b: Array, c: Array) -> Array:
    """`a * b + c`, broadcast, in one instruction."""
    if interpreted():
        return a * b + c
    return _instruction("fma.rn.f32 $0, $1, $2, $3;", jnp.broadcast_arrays(a, b, c))


def power_of_two(x: Array) -> Array:
    """`2**x` in one instruction; results below the smallest normal number are zero."""
    return jnp.exp2(x) if interpreted() else _instruction("ex2.approx.ftz.f32 $0, $1;", [x])


def _instruction(text: str, args: Sequence[Array]) -> Array:
    from jax.experimental.pallas import triton

    result = jax.ShapeDtypeStruct(args[0].shape, jnp.float32)
    constraints = ",".join(["=r"] + ["r"] * len(args))
    return triton.elementwise_inline_asm(
        text, args=args, constraints=constraints, pack=1, result_shape_dtypes=[result]
    )[0]
