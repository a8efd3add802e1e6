"""How an ensemble is computed: which engine, which sums over pairs, and how many realisations go together."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..errors import InputError
from ..models import AbstractModel, AbstractRandomModel
from ..pairsums import plain_kernel, resolve_kernel
from . import _fused as fused
from . import _native_steps as native
from .compiled import traced

ENGINES = ("auto", "innermost", "batched", "fused", "native")
# Up to this dimension, elementwise products over the innermost axis, and sums by the kernel for this processor, beat
# batched matrix products.
FEW_DIMENSIONS = 8
# From so many tokens on they fill the vectors of that kernel: for whole trajectories, and for single sums.
TRAJECTORY_TOKENS, SUM_TOKENS = 8, 16
# Bytes that the pairs of a chunk may take: a quarter of the second-level cache of one core.
CHUNK_BYTES = 1 << 18
# Bytes of observed values that a portion may take.
PORTION_BYTES = 1 << 26
# Above this a vector of 16 realisations is too large to be computed together.
INNERMOST_BYTES = 1 << 25


def choose_engine(
    engine: Any, model: AbstractModel, x0: Float[Array, "n d"], w: Float[Array, " n"] | None = None, known: bool = True
) -> str:
    """The engine asked for, or chosen; all values are `known` unless a transformation is tracing them."""
    if not isinstance(engine, str) or engine not in ENGINES:
        raise InputError(f"engine {engine!r} is unknown; choose one of {', '.join(ENGINES)}.")
    (n, d), dtype = x0.shape, x0.dtype
    reasons = {"fused": fused.why_not(model, n, d, dtype), "native": native.why_not(model, dtype)}
    if not known:
        reasons["native"] = "the kernel has no derivatives, and values are not known inside a transformation"
    if reasons.get(engine) is not None:
        raise InputError(f"no {engine} ensemble here: {reasons[engine]}; choose another engine.")
    if engine != "auto":
        return engine
    if jax.default_backend() == "gpu" and reasons["fused"] is None:
        return "fused"
    if reasons["native"] is None and n >= TRAJECTORY_TOKENS:
        return "native"
    if isinstance(model, AbstractRandomModel):  # numbers are drawn realisation by realisation, and that takes the time
        return "batched"
    small = 16 * n * n * jnp.dtype(dtype).itemsize <= INNERMOST_BYTES
    few = d <= FEW_DIMENSIONS
    return "innermost" if few and small and not (n >= SUM_TOKENS and _has_kernel(model, x0, w)) else "batched"


def kernel_for(engine: str, n: int, d: int) -> str:
    """The sums over pairs of an engine."""
    if engine == "innermost":
        return "broadcast"
    return resolve_kernel("auto", n, n) if d <= FEW_DIMENSIONS and n >= SUM_TOKENS else plain_kernel(n, n)


def chunk_size(engine: str, n: int, d: int, dtype: Any, realizations: int) -> int:
    """As many realisations as keep a chunk in the cache; innermost, in whole vectors of 16."""
    size = jnp.dtype(dtype).itemsize
    if engine == "fused":  # a kernel fills the GPU with thousands of them
        return int(np.clip(PORTION_BYTES // (n * d * size), 1, realizations))
    if engine == "native":  # one after the other
        return int(np.clip(CHUNK_BYTES // (n * d * size), 1, realizations))
    if engine == "batched":
        return int(np.clip(CHUNK_BYTES // (n * n * size), 1, realizations))
    # Coordinates are read again for every pair: with many of them, fewer realisations go together.
    fit = CHUNK_BYTES // (n * (n + 3 * d) * size)
    return int(np.clip(round(fit / 16) * 16, 16, -(-realizations // 16) * 16))


def _has_kernel(model: AbstractModel, x0: Array, w: Array | None) -> bool:
    """Whether the forces of a model are summed by the kernel for this processor."""
    return "ffi_call" in traced(_force, model, x0, w)[1]


def _force(model: AbstractModel, x: Array, w: Array | None) -> Array:
    return model.force(0.0, x, w, kernel="native")
