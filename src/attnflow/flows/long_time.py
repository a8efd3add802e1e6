r"""Times as long as $e^{\beta}$: the flow by arclength, with clusters that merge when they touch."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike

from ..attention import Softmax, Unnormalized
from ..errors import InputError, SolveError
from ..models import AbstractModel, SelfAttention
from ..models.schedules import depends_on_time
from ..pairsums import Full
from ..spaces import Numbers, Sphere, check_tokens, check_weights, is_concrete
from ._arclength import Plan, integrate
from ._compiled import timed_call
from ._outcome import Outcome
from ._path import flattened
from ._progress import progress_bar
from ._provenance import provenance
from .run import Info, Run

TOLERANCES = (1e-10, 1e-13)


def long_time(
    model: AbstractModel,
    x0: Numbers,
    *,
    weights: Numbers | None = None,
    merge_distance: ArrayLike | None = None,
    points: int = 64,
    rtol: ArrayLike | None = None,
    atol: ArrayLike | None = None,
    max_steps: int = 20_000,
    throw: bool = True,
    progress: bool = False,
) -> Run:
    r"""Follow softmax or unnormalised attention on the sphere until one cluster is left, however long that takes.

    Clusters attract with forces of the order $e^{-\beta(1-\cos u)}$, so that the flow passes through plateaus of
    exponentially increasing length, and the drift of a plateau is soon below the rounding of what moves inside a
    cluster. Therefore the path is followed by arclength, $dx/ds = v/|v|$, $dt/ds = 1/|v|$, and two clusters at the
    distance `merge_distance` become one, at their normalised weighted mean. The number of steps does not grow with
    beta, and time is kept as its logarithm.

    **Arguments:**

    - `model`: `SelfAttention` with `Softmax` or `Unnormalized` attention, B = V = I, every token seeing all, on the
      sphere of any dimension.
    - `x0`, `weights`: tokens `(n, d)` in float64, and their weights, as in `simulate`.
    - `merge_distance`: the chord $r$ at which clusters merge, by default $10^{-3}/\sqrt{\max(\beta, 1)}$. The merging
      itself changes what follows by $O(\beta r^3)$; the recorded time of a merging depends on it by
      $\log r$ (over the mass of the pair for shifted USA), which is little when the time is long.
    - `points`: at most so many rows are kept between two mergings; they are steps of the solver.
    - `rtol`, `atol`: tolerances of a step, by default 1e-10 and 1e-13. `max_steps`: trial steps in all.
    - `throw=False` returns a run that did not reach one cluster, with `run.result` saying why, instead of raising.

    **Returns:** a `Run` with

    - `log_ts (T,)`: the natural logarithm of time, $-\infty$ at the start; `ts` is its exponential, infinite where
      that overflows. The clock is the model's (USA, unshifted, is faster than shifted USA by $e^\beta$);
    - `xs (T, n, d)`: all tokens; those that have merged coincide. `labels (T, n)`: the smallest index of a token in
      its cluster. Tokens within the merge distance at the start are one cluster from the first row on, without an
      event;
    - `events`: one plain dictionary for each new cluster: `kind` ("merge"), `t` (`None` where it overflows), `log_t`,
      `clusters` left after it, `tokens` joined (the labels of the clusters that became one), their `mass`, all `masses`
      in descending order, the `energy` $\widehat E$ after it, and `index`, the first row after it;
    - `info`: `arclength (T,)`; `merge_log_t`, `merge_clusters`, `merge_energy`, `merge_index` `(n - 1,)`, one entry for
      each time at which clusters merge, filled up with NaN, 0, NaN and -1.

    Works under `jax.jit`, `jax.vmap` and forward-mode differentiation (`jax.jvp`, `jax.jacfwd`; a loop of unknown
    length has no reverse mode): then there are no events, and all arrays have full length, the last row repeated.
    For many draws on a processor `jax.lax.map` is faster than `jax.vmap`, which waits for the slowest draw and computes
    a merging with every step: 1000 draws of 32 tokens took 20 s of one core instead of 54.

    ??? cite "Dynamic metastability in the self-attention model (arXiv:2410.06833)"
    """
    attention = _attention(model)
    x0 = check_tokens(x0, model.space)
    if x0.dtype != jnp.float64:
        raise InputError(f"long times need float64 and the tokens are {x0.dtype}; call attnflow.precision('float64').")
    n = x0.shape[0]
    w = check_weights(weights, n)
    numbers = _numbers(attention, merge_distance, rtol, atol)
    if points != int(points) or points < 0 or max_steps < 1:
        raise InputError(
            f"points = {points} and max_steps = {max_steps}; take whole numbers, points >= 0 and max_steps >= 1."
        )
    numbers["max_steps"] = jnp.asarray(max_steps, jnp.int32)
    plan = Plan(int(points), progress)
    masses = jnp.full(n, 1 / n, x0.dtype) if w is None else w.astype(x0.dtype)
    with progress_bar(progress):
        timed = timed_call(_solve, plan, x0, masses, numbers, unroll=False)
    rows, merges, total, code, counts = timed.value
    if is_concrete(total):  # by NumPy: JAX would compile a slice for every length
        rows = {name: jnp.asarray(np.asarray(a)[: int(total)]) for name, a in rows.items()}
    log_ts, labels = rows["log_ts"], rows["labels"]
    known = is_concrete(rows, merges, masses)
    run = Run(
        ts=rows["ts"],
        xs=rows["xs"],
        weights=w,
        code=code,
        stats={**counts, "compile_seconds": timed.compile_seconds, "run_seconds": timed.run_seconds},
        model=model,
        clock=model.clock,
        provenance=provenance(
            solver="long_time",
            points=points,
            max_steps=max_steps,
            dtype=str(x0.dtype),
            **{k: _plain(numbers[k]) for k in ("merge_distance", "rtol", "atol")},
        ),
        log_ts=log_ts,
        labels=labels,
        events=_events(merges, np.asarray(labels), np.asarray(masses)) if known else (),
        info=Info({"arclength": (("time",), rows["arclength"]), **{k: (("merge",), a) for k, a in merges.items()}}),
    )
    if throw and is_concrete(code) and run.result is not Outcome.SUCCESSFUL:
        left = np.unique(np.asarray(labels)[-1]).size
        raise SolveError(f"{run.result.value} ({left} clusters left after {int(counts['steps'])} steps)")
    return run


def _solve(plan: Plan, x0: Array, w: Array, numbers: dict[str, Array]) -> Any:
    end, code, counts = integrate(plan, x0, w, numbers)
    rows, merges, total = flattened(end.path, end.clusters, end.log_t, end.s)
    rows["log_ts"] -= numbers["offset"]
    rows["ts"] = jnp.exp(rows["log_ts"])
    merges["merge_log_t"] -= numbers["offset"]
    return rows, merges, total, code, counts


def _attention(model: Any) -> Softmax | Unnormalized:
    """The attention of a model whose long times are known; others are refused in a sentence."""
    if not isinstance(model, SelfAttention):
        raise InputError(f"long_time follows SelfAttention models, and {type(model).__name__} is none; take simulate.")
    attention = model.attention
    if not isinstance(attention, Softmax | Unnormalized):
        raise InputError(
            f"long_time is for Softmax and Unnormalized, not {type(attention).__name__} attention; take simulate."
        )
    if not isinstance(model.space, Sphere):
        raise InputError(f"long_time is for tokens on the sphere, not in {model.space.name!r} space; take simulate.")
    if any(m is not None for m in (attention.B, attention.V, attention.Q, attention.K)):
        raise InputError("long_time is for B = V = I; leave out the matrices, or take simulate.")
    if not isinstance(model.pairs, Full) or model.pairs.skip is not None or model.pairs.normalized:
        raise InputError("long_time is for models in which every token sees all; drop pairs, or take simulate.")
    if depends_on_time(attention):
        raise InputError("long_time is for a beta that does not change with time; give a number, or take simulate.")
    return attention


def applies(model: Any) -> bool:
    """Whether `long_time` follows this model."""
    try:
        _attention(model)
    except InputError:
        return False
    return True


def _numbers(attention: Any, merge_distance: Any, rtol: Any, atol: Any) -> dict[str, Array]:
    beta = attention.beta.astype(jnp.float64)
    if merge_distance is None:
        merge_distance = 1e-3 / jnp.sqrt(jnp.maximum(beta, 1))
    elif is_concrete(merge_distance) and not (math.isfinite(merge_distance) and 1e-10 <= merge_distance <= 0.1):
        raise InputError(
            f"merge_distance = {merge_distance} is no small chord; take a number from 1e-10 to 0.1, for example 1e-4."
        )
    rtol, atol = (d if v is None else v for v, d in zip((rtol, atol), TOLERANCES, strict=True))
    for name, value in (("rtol", rtol), ("atol", atol)):
        if is_concrete(value) and not 0 < value < 1:
            raise InputError(f"{name} = {value:g} is no tolerance; take a number between 0 and 1.")
    softmax = isinstance(attention, Softmax)
    # USA and beta-USA are shifted USA with a faster clock.
    offset = 0.0 if softmax or attention.shifted else beta
    if not softmax and attention.gradient:
        offset = offset + jnp.log(jnp.maximum(beta, jnp.finfo(beta.dtype).tiny))
    values = {"beta": beta, "offset": offset, "merge_distance": merge_distance, "rtol": rtol, "atol": atol}
    return {"normalised": jnp.asarray(softmax), **{k: jnp.asarray(v, jnp.float64) for k, v in values.items()}}


def _plain(number: Array) -> float | None:
    return float(number) if is_concrete(number) else None


def _events(merges: dict[str, Array], labels: np.ndarray, w: np.ndarray) -> tuple[dict[str, Any], ...]:
    """The mergings in words and plain numbers: one dictionary for each cluster that came into being."""
    events = []
    columns = (np.asarray(merges[f"merge_{k}"]) for k in ("log_t", "clusters", "energy", "index"))
    for log_t, count, energy, row in zip(*columns, strict=True):
        if row < 0:
            break
        before, after = labels[row - 1], labels[row]
        masses = np.bincount(after, w, minlength=w.size)
        for slot in np.unique(after[before != after]):
            joined = np.unique(before[after == slot])
            events.append(
                {
                    "kind": "merge",
                    "t": float(np.exp(log_t)) if log_t < 709 else None,
                    "log_t": float(log_t),
                    "clusters": int(count),
                    "tokens": joined.tolist(),
                    "mass": float(masses[slot]),
                    "masses": sorted(masses[np.unique(after)].tolist(), reverse=True),
                    "energy": float(energy),
                    "index": int(row),
                }
            )
    return tuple(events)
