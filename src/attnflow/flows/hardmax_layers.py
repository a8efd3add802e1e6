"""Hardmax layers in one compiled scan: leaders, moving tokens, absorbed tokens.

A layer finds the leaders among the tokens it is given, moves the others, and then (with `merge_tol`) absorbs those that
have reached a leader. Leaders and absorptions are recorded, and become the events of the run.
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..errors import InputError
from ..models.hardmax_layers import attended, each_row, largest_score
from ..spaces import Numbers, check_tokens, check_weights, is_concrete
from .compiled import timed_call
from .options import check_clock, whole_layers
from .outcome import Outcome
from .provenance import provenance
from .run import Info, Run

# A token so close to a leader, in units of the longest token, is that leader up to rounding, and not another one.
ROUNDING = 64


class State(NamedTuple):
    """Tokens at a layer, the way from each to its target, and its history: the layer at which it began to lead,
    the leader that absorbed it and when (-1: none, never)."""

    x: Float[Array, "n d"]
    ahead: Float[Array, "n d"]
    leader_layer: Int[Array, " n"]
    absorbed_by: Int[Array, " n"]
    absorbed_layer: Int[Array, " n"]


class Scales(NamedTuple):
    """The largest score and the longest token at the start: the units of `tie_tol` and `merge_tol`."""

    score: Float[Array, ""]
    length: Float[Array, ""]


def through_layers(
    model: Any,
    x0: Numbers,
    *,
    t0: Any = 0.0,
    t1: Any = None,
    ts: Numbers | None = None,
    save: int | None = None,
    weights: Numbers | None = None,
    max_steps: int = 100_000,
    before: Run | None = None,
    **unused: Any,
) -> Run:
    """Run hardmax layers, for `simulate`; `before` is a run that ended in `x0`, whose leaders are known."""
    _check_options(type(model).__name__, **unused)
    x0 = check_tokens(x0, model.space)
    n = x0.shape[0]
    w = check_weights(weights, n)
    w = None if w is None else w.astype(x0.dtype)
    _check_precision(model, x0)
    _check_size(model, x0)
    first, kept, layers = whole_layers(t0, t1, ts, save, max_steps)
    check_clock(first, kept, str(x0.dtype))
    masses = jnp.ones(n, x0.dtype) if w is None else w
    known = None if before is None else _known(before, first, x0.dtype)
    timed = timed_call(_solve, layers - first, model, x0, masses, jnp.asarray(first), known)
    xs, end, scales = timed.value
    if is_concrete(scales) and not math.isfinite(scales.score):
        raise InputError(f"scores of these tokens overflow {x0.dtype}; divide the tokens, or B, by a number.")
    rows = kept - first
    xs = xs if len(rows) == len(xs) else xs[rows]
    labels = None
    if model.merge_tol is not None:
        gone = (end.absorbed_layer >= 0)[None, :] & (end.absorbed_layer[None, :] <= jnp.asarray(kept)[:, None])
        labels = jnp.where(gone, end.absorbed_by[None, :], jnp.arange(n)[None, :])
    per_token = {name: getattr(end, name) for name in ("leader_layer", "absorbed_by", "absorbed_layer")}
    units = {"score_scale": scales.score, "length_scale": scales.length}
    finite = jnp.isfinite(xs).all()
    return Run(
        ts=jnp.asarray(kept, x0.dtype),
        xs=xs,
        weights=w,
        code=jnp.where(finite, Outcome.SUCCESSFUL.code, Outcome.NOT_FINITE.code),
        stats={
            "steps": layers - first,
            "compile_seconds": timed.compile_seconds,
            "run_seconds": timed.run_seconds,
        },
        model=model,
        clock="layers",
        provenance=provenance(
            t0=float(first),
            t1=float(layers),
            solver="layers",
            dt=1.0,
            max_steps=max_steps,
            save=save,
            dtype=str(x0.dtype),
        ),
        labels=labels,
        events=_events(per_token, kept) if is_concrete(per_token) else (),
        info=Info(
            {
                **{k: (("token",), a) for k, a in per_token.items()},
                "ahead": (("token", "coordinate"), end.ahead),
                **{k: ((), a) for k, a in units.items()},
            }
        ),
    )


def _solve(
    layers: int, model: Any, x0: Array, w: Array, first: Array, known: tuple[State, Scales] | None
) -> tuple[Array, State, Scales]:
    """All states, from the first on, and what is known at the last."""
    if known is None:
        never = jnp.full(x0.shape[0], -1, first.dtype)
        scales = Scales(largest_score(model.queries(first, x0), x0, w), _longest(x0, w))
        state = State(x0, jnp.zeros_like(x0), never, never, never)
    else:
        state, scales = known
        state = state._replace(x=x0)

    def layer(state: State, k: Array) -> tuple[State, Array]:
        # It begins where the last one moved the tokens to: the first layer moves no token, and the last finds leaders.
        x = state.x + model.rate(k - 1, state.x.dtype) * state.ahead
        state = _look(model, w, scales, k, *_absorbed(model, w, scales, k, state._replace(x=x)))
        return state, state.x

    end, xs = jax.lax.scan(layer, state, first + jnp.arange(layers + 1, dtype=first.dtype))
    return xs, end, scales


def _absorbed(model: Any, w: Array, scales: Scales, k: Array, state: State) -> tuple[State, Array]:
    """Tokens that have reached a leader put there; and how far each is from one."""
    x = state.x
    leader, apart = _distance(x, state.leader_layer >= 0)
    if model.merge_tol is None:
        return state, apart
    free = (w > 0) & (state.leader_layer < 0) & (state.absorbed_by < 0)
    met = free & (apart <= model.merge_tol.astype(x.dtype) * scales.length)
    state = state._replace(
        x=jnp.where(met[:, None], x[leader], x),
        absorbed_by=jnp.where(met, leader, state.absorbed_by),
        absorbed_layer=jnp.where(met, k, state.absorbed_layer),
    )
    return state, apart


def _look(model: Any, w: Array, scales: Scales, k: Array, state: State, apart: Array) -> State:
    """Leaders among the tokens of layer k, and the targets of all others. `apart`: how far each is from a leader."""
    x = state.x
    competes = jnp.where(state.absorbed_by < 0, w, 0)
    seen = attended(model.queries(k, x), x, competes, model.tie_tol.astype(x.dtype) * scales.score)
    # Of tokens with one value the first leads. One that has come to a leader up to rounding may seem to win alone.
    near = apart <= ROUNDING * jnp.finfo(x.dtype).eps * scales.length
    new = seen.alone & (competes > 0) & (seen.first == jnp.arange(x.shape[0])) & ~near & (state.leader_layer < 0)
    leader_layer = jnp.where(new, k, state.leader_layer)
    still = seen.alone | (competes == 0)
    if model.merge_tol is not None:
        still = still | (leader_layer >= 0)
    return state._replace(ahead=jnp.where(still[:, None], 0, seen.ahead), leader_layer=leader_layer)


def _distance(x: Array, leads: Array) -> tuple[Array, Array]:
    """The nearest leader of every token, and how far it is; infinitely far if there is none."""

    def of(own: Array) -> tuple[Array, Array]:
        square = jnp.where(leads, jnp.sum((x - own[None, :]) ** 2, axis=1), jnp.inf)
        nearest = jnp.argmin(square)
        return nearest, jnp.sqrt(square[nearest])

    # Distances decide who has arrived and are no part of the map: they have no gradient.
    return each_row(of, jax.lax.stop_gradient(x))


def _longest(x: Array, w: Array) -> Array:
    return jnp.sqrt(jnp.max(jnp.where(w > 0, jnp.sum(x * x, axis=1), 0)))


def _check_options(name: str, *, solver: str = "layers", dt: Any = None, **others: Any) -> None:
    """Refuse what belongs to flows, the engine of the sums and the like aside."""
    if solver != "layers" or (dt is not None and dt != 1):
        raise InputError(f'{name} is a map and no flow; give solver="layers" without dt, and t1, how many layers.')
    for option in ("rtol", "atol", "mesh"):
        if others.get(option) is not None:
            raise InputError(f"hardmax layers are computed as they are, on one device; drop {option}.")


def _check_precision(model: Any, x0: Array) -> None:
    finest = float(jnp.finfo(x0.dtype).eps)
    tol = model.merge_tol
    if tol is not None and is_concrete(tol) and float(tol) < 4 * finest:
        raise InputError(
            f"merge_tol = {float(tol):g} is below the rounding of {x0.dtype} tokens; call attnflow.precision('float64')"
            " before they are made, or take a larger one."
        )


def _check_size(model: Any, x0: Array) -> None:
    """Refuse scores that are all zero by underflow: every token would tie with every other."""
    B = model.B if isinstance(model.B, jax.Array) else 1.0
    if is_concrete(x0, B):
        largest, of_B, smallest = np.abs(x0).max(), np.abs(B).max(), jnp.finfo(x0.dtype).tiny / jnp.finfo(x0.dtype).eps
        if largest > 0 and of_B > 0 and float(largest) * float(of_B) * float(largest) < float(smallest):
            raise InputError(f"scores of these tokens underflow {x0.dtype}; multiply the tokens, or B, by a number.")


def _known(before: Run, layer: int, dtype: Any) -> tuple[State, Scales]:
    """Leaders, absorbed tokens and scales of an earlier run at a layer."""
    info = before.single().info
    leads = jnp.where(info["leader_layer"] <= layer, info["leader_layer"], -1)
    gone = info["absorbed_layer"] <= layer
    absorbed = (jnp.where(gone, info[name], -1) for name in ("absorbed_by", "absorbed_layer"))
    scales = Scales(info["score_scale"].astype(dtype), info["length_scale"].astype(dtype))
    return State(before.final, jnp.zeros_like(before.final), leads, *absorbed), scales


def _events(per_token: dict[str, Array], kept: np.ndarray) -> tuple[dict[str, Any], ...]:
    """One plain dictionary for every leader and every absorption, in order: `index` is the first row kept from then on,
    `None` if there is no such row."""
    leads, by, when = (np.asarray(a) for a in per_token.values())
    events = [{"kind": "leader", "t": float(leads[i]), "token": int(i)} for i in np.flatnonzero(leads >= 0)]
    events += [
        {"kind": "absorbed", "t": float(when[i]), "token": int(i), "leader": int(by[i])}
        for i in np.flatnonzero(when >= 0)
    ]
    rows = [int(np.searchsorted(kept, event["t"])) for event in events]
    events = [{**event, "index": row if row < len(kept) else None} for event, row in zip(events, rows, strict=True)]
    return tuple(sorted(events, key=lambda event: (event["t"], event["kind"], event["token"])))
