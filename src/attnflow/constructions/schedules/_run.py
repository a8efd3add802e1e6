"""A schedule among the models: its neurons as a model, and the way of points as a run."""

from collections.abc import Iterator, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from ...checks import real
from ...errors import InputError
from ...floating_point import precision
from ...flows import Outcome, Run
from ...flows.provenance import provenance
from ...models import Piecewise, ReluFlow
from ...spaces import Numbers, check_weights
from .checked import increasing, points
from .relu_pieces import ReluPieces

MOST = 201  # rows of a run, unless times are given


def model_of(many: ReluPieces) -> ReluFlow:
    """Neurons one after another as a model; the last one stays on."""
    _check_precision()
    jumps = jnp.asarray(np.cumsum(many.t)[:-1])
    w, a, b = (Piecewise(jumps, jnp.asarray(values)) for values in (many.W, many.A, many.b))
    return ReluFlow(w, a, b)


def run_of(schedule: Any, x: Numbers, weights: Numbers | None, ts: Numbers | None) -> Run:
    """The way of points through a schedule."""
    model = model_of(schedule.neurons)
    x = points("x", x, schedule.d)
    w = check_weights(weights, len(x))
    wanted = _ends(schedule.blocks) if ts is None else increasing("ts", ts)
    for t in wanted[[0, -1]]:
        check_within(t, schedule.duration)
    return Run(
        ts=jnp.asarray(wanted),
        xs=jnp.asarray(np.stack(list(_states(schedule.blocks, x, wanted)))),
        weights=w,
        code=jnp.asarray(Outcome.SUCCESSFUL.code),
        stats={"steps": 0},
        model=model,
        clock=model.clock,
        provenance=provenance(t0=0.0, t1=float(wanted[-1]), solver="exact", dtype="float64"),
    )


def check_within(t: float | int, duration: float) -> None:
    """Refuse times at which there is no schedule; one that is a rounding past the end is the end."""
    if not 0 <= real("t", t) <= duration * (1 + 1e-12):
        raise InputError(f"t = {t:g} is outside of the schedule, which runs from 0 to {duration:g}.")


def _states(blocks: Sequence[Any], x: np.ndarray, ts: np.ndarray) -> Iterator[np.ndarray]:
    """The points at increasing times, each from the last point of the way where that is possible."""
    waiting, start = list(blocks), 0.0
    for t in ts:
        while waiting and start + waiting[0].duration <= t + 1e-12 * abs(t):
            piece = waiting.pop(0)
            x, start = piece.forward(x), start + piece.duration
        if not waiting or t <= start:
            yield x
            continue
        if isinstance(waiting[0], ReluPieces):  # it can go on from here, fused pieces only from their start
            before, after = waiting[0].split(t - start)
            waiting[:1] = after
            x, start = _through(before, x), t
            yield x
        else:
            yield _through(waiting[0].until(t - start), x)


def _through(pieces: Sequence[Any], x: np.ndarray) -> np.ndarray:
    for piece in pieces:
        x = piece.forward(x)
    return x


def _ends(blocks: Sequence[Any]) -> np.ndarray:
    """0 and the times at which blocks end, at most `MOST` of them; neurons that come as arrays end one by one."""
    each = [piece.t if isinstance(piece, ReluPieces) else [piece.duration] for piece in blocks]
    ends = np.concatenate([[0.0], np.cumsum(np.concatenate(each))])
    return ends[np.unique(np.linspace(0, len(ends) - 1, min(MOST, len(ends))).round().astype(int))]


def _check_precision() -> None:
    if precision() != "float64":
        raise InputError("models and runs of a schedule need 64 bits; call af.precision('float64') before.")
