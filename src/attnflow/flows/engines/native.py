r"""Many clouds, many steps, one call: a kernel for this processor (`pairsums/pair_sums.cc`) keeps a realisation in the
cache from one observation to the next. What `fused` is for a GPU.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...models.schedules import depends_on_time
from ...pairsums import as_reduction
from ...pairsums.engines.native import seen
from ...pairsums.native_library import TRAJECTORIES, native
from .._trajectory_engine import TRAJECTORY_TOKENS, AbstractTrajectoryEngine, Ensemble, Interval
from ..steps import State
from ..tableaux import tableaux


class NativeTrajectories(AbstractTrajectoryEngine):
    """Whole trajectories by the kernel for this processor."""

    name = "native"

    def why_not(self, problem: Ensemble) -> str | None:
        if not native().ready:
            return f"kernels for this processor: {native().reason}"
        if jnp.dtype(problem.dtype) not in (jnp.float32, jnp.float64):
            return f"tokens are {jnp.dtype(problem.dtype)}, and the kernel computes in float32 and float64"
        model: Any = problem.model
        attention = model.attention if model.attention_alone else None
        if attention is None or depends_on_time(attention):
            return "the kernel supports only self-attention whose parameters do not change with time"
        if not attention.exponential or not attention.score.is_bilinear:
            return "the kernel supports only softmax and unnormalised self-attention"
        pairs = model.pairs
        if not (pairs.complete or pairs.prefix) or pairs.normalized:
            return "the kernel supports only all pairs and causal pairs, without normalised weights"
        if not (model.space.unit or model.space.flat):
            return f"the kernel does not support the space {type(model.space).__name__}"
        if not problem.known:
            return "the kernel has no derivatives, and values are not known inside a transformation"
        return None

    def cost(self, problem: Ensemble) -> float:
        return problem.batched_seconds * (0.2 if problem.n >= TRAJECTORY_TOKENS else 5)

    def run(self, problem: Interval, state: State) -> State:
        return native_steps(problem.model, state, problem.h, problem.steps, problem.w, problem.solver)


ENGINE = NativeTrajectories()


def native_steps(
    model: Any, state: State, h: Float[Array, ""], steps: Array, w: Float[Array, " n"] | None, solver: str
) -> State:
    """All realisations `(c, n, d)`, `steps` steps of size `h` on; a state is what the steps in `steps.py` carry."""
    x = jnp.swapaxes(state[0], 1, 2)
    _, d, n = x.shape
    attention, dtype = model.attention, x.dtype
    total = as_reduction(attention.reduce)[0].total
    nothing, no_matrix = jnp.zeros(0, dtype), jnp.zeros((d, 0), dtype)
    B = attention.score.matrix
    last, slope = seen(model.pairs, jnp.arange(n), n, n, dtype)
    log_w = nothing if w is None else jnp.log(w.astype(dtype))
    if total is not None:
        log_w = jnp.full(n, -jnp.log(n), dtype) if w is None else log_w
        log_w = log_w - slope if slope.size and model.pairs.strict else log_w  # from the last key seen to oneself
        log_w = log_w - jnp.asarray(total.shift, dtype)
        h = h * jnp.asarray(total.factor, h.dtype)  # a factor is a faster clock, which is a longer step
    beta = attention.score.beta.astype(dtype)
    tableau = tableaux().get(solver)  # none: the bare force and a retraction
    stages = () if tableau is None else (*tableau.ahead[: tableau.stages], *tableau.weights[: tableau.stages])
    flags = (model.space.unit, total is None)
    out = (jax.ShapeDtypeStruct(x.shape, dtype),) * 2
    x, y = jax.ffi.ffi_call(TRAJECTORIES, out)(
        *(x, log_w, last, slope),
        *(no_matrix if a is None else jnp.asarray(a, dtype) for a in (B, attention.V)),
        jnp.concatenate([jnp.stack([h.astype(dtype), beta]), jnp.asarray(stages, dtype)]),
        jnp.stack([steps.astype(jnp.int32), *(jnp.int32(flag) for flag in flags)]),
    )
    return jnp.swapaxes(x, 1, 2), jnp.swapaxes(y, 1, 2)
