"""Flows that a model knows in closed form: no steps, and no error but rounding."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..errors import InputError
from ..models import AbstractModel
from ..spaces import Numbers, check_tokens, check_weights, is_concrete
from ._doubtful_runs import report
from .compiled import timed_call
from .options import check_clock, times
from .outcome import Outcome
from .provenance import provenance
from .run import Run


def in_closed_form(
    model: AbstractModel,
    x0: Numbers,
    *,
    t0: Any = 0.0,
    t1: Any = None,
    ts: Numbers | None = None,
    save: int | None = None,
    weights: Numbers | None = None,
    throw: bool = True,
    **unused: Any,
) -> Run:
    """Evaluate the flow of a model at the times to keep, for `simulate(solver="exact")`."""
    for name, value in unused.items():
        if value is not None:
            raise InputError(f'solver "exact" has no steps and no tolerance, on one device; drop {name}.')
    if not is_concrete(t0, t1, ts):
        raise InputError('times of the solver "exact" cannot be traced; give numbers.')
    x0 = check_tokens(x0, model.space)
    w = check_weights(weights, x0.shape[0])
    start, end, wanted = times(t0, t1, ts, save)
    check_clock(start, wanted, str(x0.dtype))
    clock = jnp.asarray(np.append(start, np.asarray(wanted)), x0.dtype)
    if jax.eval_shape(model.exact_flow, clock[0], clock[-1], x0) is None:
        raise InputError(f"a {type(model).__name__} knows no flow in closed form; take an adaptive solver, tsit5.")
    timed = timed_call(_rows, model, x0, clock)
    finite = jnp.isfinite(timed.value).all()
    run = Run(
        ts=clock[1:],
        xs=timed.value,
        weights=None if w is None else w.astype(x0.dtype),
        code=jnp.where(finite, Outcome.SUCCESSFUL.code, Outcome.NOT_FINITE.code),
        stats={"steps": 0, "compile_seconds": timed.compile_seconds, "run_seconds": timed.run_seconds},
        model=model,
        clock=model.clock,
        provenance=provenance(t0=start, t1=end, solver="exact", save=save, dtype=str(x0.dtype)),
    )
    if throw and is_concrete(run.code):
        report(run, "in closed form")
    return run


def _rows(model: AbstractModel, x0: Float[Array, "n d"], clock: Float[Array, " t"]) -> Float[Array, "T n d"]:
    """The tokens at every time of the clock but the first."""

    def row(x: Array, edges: Array) -> tuple[Array, Array]:
        y: Any = model.exact_flow(edges[0], edges[1], x)
        return y, y

    return jax.lax.scan(row, x0, jnp.stack([clock[:-1], clock[1:]], axis=1))[1]
