r"""Times as long as $e^{\beta}$: the flow by arclength, with clusters that merge when they touch."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike

from ..attention import Zonal
from ..checks import flag, real, whole
from ..errors import InputError, SolveError
from ..models import AbstractModel
from ..models.schedules import depends_on_time
from ..spaces import Numbers, check_tokens, check_weights, is_concrete
from ._arclength import Plan, State, first_state, integrate
from ._merging import Clusters
from ._merging_path import unrolled
from ._progress import progress_bar
from .compiled import Timed, timed_call
from .options import tolerances
from .outcome import Outcome
from .provenance import provenance
from .run import Info, Run

TOLERANCES = (1e-10, 1e-13)
# Bytes of rows that one call of the program has room for; what it kept is then taken out.
PORTION_BYTES = 1 << 24


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
    - `points`: at most so many rows are kept between two mergings; they are steps of the solver. Memory is that of the
      rows that are kept: the path is followed in portions. `run.at(log_t=...)` gives the tokens at any time.
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
    length has no reverse mode): then there are no events, and all arrays have full length, `n (points + 1) + 1` rows,
    the last one repeated; take few `points` there.
    For many draws on a processor `jax.lax.map` is faster than `jax.vmap`, which waits for the slowest draw and computes
    a merging with every step: 1000 draws of 32 tokens took 20 s of one core instead of 54.

    ??? cite "Dynamic metastability in the self-attention model (arXiv:2410.06833)"
    """
    throw, progress = flag("throw", throw), flag("progress", progress)
    zonal = _zonal(model)
    x0 = check_tokens(x0, model.space)
    if x0.dtype != jnp.float64:
        raise InputError(f"long times need float64 and the tokens are {x0.dtype}; call attnflow.precision('float64').")
    n = x0.shape[0]
    w = check_weights(weights, n)
    numbers = _numbers(zonal, merge_distance, rtol, atol)
    points, max_steps = whole("points", points, least=0), whole("max_steps", max_steps)
    numbers["max_steps"] = jnp.asarray(max_steps, jnp.int32)
    labels = jnp.arange(n, dtype=jnp.int32)
    return _follow(model, x0, w, labels, numbers, points=points, throw=throw, progress=progress)


def go_on(run: Run, **options: Any) -> Run:
    """Follow a run that did not reach one cluster from its last state, for `Run.restart`."""
    if options.pop("t1", None) is not None:
        raise InputError("long_time follows the tokens until one cluster is left; leave out t1, or raise max_steps.")
    if run.ok:
        raise InputError("one cluster is left, and it does not move; there is nothing to go on with.")
    if run.result is not Outcome.MAX_STEPS:
        raise InputError(f"this run ended where nothing follows ({run.result.name}); start another one.")
    allowed = ("merge_distance", "points", "rtol", "atol", "max_steps", "throw", "progress")
    unknown = sorted(set(options) - set(allowed))
    if unknown:
        raise InputError(f"long_time takes no {unknown[0]}; there are {', '.join(allowed)}.")
    before = run.provenance["options"]
    usual = {"points": 64, "throw": True, "progress": False}
    chosen = {**usual, **{k: before[k] for k in allowed if k in before}, **options}
    numbers = _from_row(run, -1, **{k: chosen[k] for k in ("merge_distance", "rtol", "atol", "max_steps")})
    rest = {k: chosen[k] for k in ("points", "throw", "progress")}
    return _follow(run.model, run.final, run.weights, _standing(run, -1)[0], numbers, **rest)


def at_log_time(run: Run, row: int, log_t: float) -> Array:
    """The tokens at a time between the row and the next one, by the same steps from there."""
    before = run.provenance["options"]
    numbers = _from_row(run, row, **{k: before[k] for k in ("merge_distance", "rtol", "atol", "max_steps")})
    numbers["until"] = log_t + numbers["offset"]
    plain = {"points": 0, "throw": False, "progress": False}
    between = _follow(run.model, run.xs[row], run.weights, _standing(run, row)[0], numbers, **plain)
    reached = float(_standing(between, -1)[1])
    if not abs(reached - log_t) < 1e-9:
        raise SolveError(f"{between.result.value} (between two rows, at log t = {reached:g})")
    return between.final


def _from_row(run: Run, row: int, *, max_steps: int, **options: Any) -> dict[str, Array]:
    numbers = _numbers(_zonal(run.model), **options)
    numbers["max_steps"] = jnp.asarray(max_steps, jnp.int32)
    _, log_t, s = _standing(run, row)
    return numbers | {"log_t0": log_t + numbers["offset"], "s0": s}


def _standing(run: Run, row: int) -> tuple[Array, Array, Array]:
    """The cluster labels in a row of a run, the logarithm of its time, and the arclength to it."""
    labels: Any = run.labels
    log_ts: Any = run.log_ts
    return labels[row], log_ts[row], run.info["arclength"][row]


def _follow(
    model: Any, x0: Array, w: Array | None, labels: Array, numbers: Any, *, points: int, throw: bool, progress: bool
) -> Run:
    """Follow clusters, portion by portion of their path, to the end; the rows are collected outside the program."""
    n, d = x0.shape
    known = is_concrete(x0, w, numbers)
    bytes_each = (points + 1) * (n * d + 2) * x0.dtype.itemsize
    # Inside a transformation there is one portion, with room for everything.
    segments = min(n, max(1, PORTION_BYTES // bytes_each)) if known else n
    plan = Plan(points, progress, segments)
    masses = jnp.full(n, 1 / n, x0.dtype) if w is None else w.astype(x0.dtype)
    start = Clusters(x0, jnp.zeros_like(masses).at[labels].add(masses), labels)
    with progress_bar(progress):
        if segments == n:
            timed = [timed_call(_whole, plan, start, numbers, unroll=False)]
            parts = [_cut(timed[0].value) if known else timed[0].value]
        else:
            timed, parts = _portions(plan, start, numbers)
    code, counts = parts[-1].code, parts[-1].counts
    rows, merges = _joined(parts, n) if known else _padded(parts[0])
    run = Run(
        ts=rows["ts"],
        xs=rows["xs"],
        weights=w,
        code=code,
        stats={
            **counts,
            "compile_seconds": sum(t.compile_seconds for t in timed),
            "run_seconds": sum(t.run_seconds for t in timed),
        },
        model=model,
        clock=model.clock,
        provenance=provenance(
            solver="long_time",
            points=points,
            max_steps=_plain(numbers["max_steps"]),
            throw=throw,
            progress=progress,
            dtype=str(x0.dtype),
            **{k: _plain(numbers[k]) for k in ("merge_distance", "rtol", "atol")},
        ),
        log_ts=rows["log_ts"],
        labels=rows["labels"],
        events=_events(merges, np.asarray(rows["labels"]), np.asarray(masses)) if known else (),
        info=Info({"arclength": (("time",), rows["arclength"]), **{k: (("merge",), a) for k, a in merges.items()}}),
    )
    if throw and known and not run.ok:
        left = np.unique(np.asarray(rows["labels"])[-1]).size
        raise SolveError(f"{run.result.value} ({left} clusters left after {int(counts['steps'])} steps)")
    return run


class _Part(NamedTuple):
    """The result of a compiled call: its last state, rows and mergings with their numbers, and its outcome."""

    end: State
    full: Array  # whether the path continues in another part
    rows: dict[str, Array]
    merges: dict[str, Array]
    total: Array
    merged: Array
    code: Array
    counts: dict[str, Array]


def _whole(plan: Plan, start: Clusters, numbers: dict[str, Array]) -> _Part:
    return _part(plan, first_state(start, numbers), numbers)


def _part(plan: Plan, begun: State, numbers: dict[str, Array]) -> _Part:
    end, path, code, counts = integrate(plan, begun, numbers)
    rows, merges, total, merged = unrolled(path, end.clusters, end.log_t, end.s)
    rows["log_ts"] -= numbers["offset"]
    rows["ts"] = jnp.exp(rows["log_ts"])
    merges["merge_log_t"] -= numbers["offset"]
    return _Part(end, path.full, rows, merges, total, merged, code, counts)


def _portions(plan: Plan, start: Clusters, numbers: dict[str, Array]) -> tuple[list[Timed], list[_Part]]:
    """Calls of one compiled program, each for some mergings, until the path ends."""
    timed = [timed_call(first_state, start, numbers, unroll=False)]
    parts, state = [], timed[0].value
    while not parts or parts[-1].full:
        timed.append(timed_call(_part, plan, state, numbers, unroll=False))
        parts.append(_cut(timed[-1].value))
        state = parts[-1].end
        timed[-1] = timed[-1]._replace(value=None)
    return timed, parts


def _cut(part: _Part) -> _Part:
    """The rows and mergings that there are, by NumPy: JAX would compile a slice for every length."""
    rows = {name: np.asarray(a)[: int(part.total)].copy() for name, a in part.rows.items()}
    merges = {name: np.asarray(a)[: int(part.merged)] for name, a in part.merges.items()}
    return part._replace(rows=rows, merges=merges)


def _joined(parts: list[_Part], n: int) -> tuple[dict[str, Array], dict[str, Array]]:
    """All rows, and one entry for each merging, up to `n - 1` of them."""
    before = np.cumsum([0, *(int(part.total) for part in parts[:-1])])
    # The first segment of all begins with the start, which is no merging.
    merges = {name: np.concatenate([part.merges[name] for part in parts])[1:] for name in parts[0].merges}
    merges["merge_index"] = np.concatenate(
        [part.merges["merge_index"] + k for part, k in zip(parts, before, strict=True)]
    )[1:].astype(np.int32)
    rows = {name: jnp.asarray(np.concatenate([part.rows.pop(name) for part in parts])) for name in (*parts[0].rows,)}
    return rows, {name: jnp.asarray(_filled(a, n - 1, _NOTHING[name])) for name, a in merges.items()}


_NOTHING = {"merge_log_t": np.nan, "merge_clusters": 0, "merge_energy": np.nan, "merge_index": -1}


def _filled(values: np.ndarray, size: int, nothing: float | int) -> np.ndarray:
    return np.concatenate([values, np.full(size - values.size, nothing, values.dtype)])


def _padded(part: _Part) -> tuple[dict[str, Array], dict[str, Array]]:
    """The same inside a transformation, where all arrays have full length."""
    return part.rows, {name: a[1:] for name, a in part.merges.items()}


def _zonal(model: Any) -> Zonal:
    """The attention of a model whose long times are known; others are refused in a sentence."""
    if not getattr(model, "attention_alone", False):
        raise InputError(
            f"long_time follows models of attention alone, SelfAttention, and {type(model).__name__} is none; take "
            "simulate."
        )
    attention = model.attention
    if not attention.exponential:
        raise InputError(
            f"long_time is for exponential maps (Softmax, Unnormalized, L2), not {type(attention).__name__} attention; "
            "take simulate."
        )
    if not model.space.unit:
        raise InputError(f"long_time is for tokens on the sphere, not in {model.space.name!r} space; take simulate.")
    if not model.pairs.complete:
        raise InputError("long_time is for models in which every token sees all; drop pairs, or take simulate.")
    if depends_on_time(attention):
        raise InputError("long_time is for a beta that does not change with time; give a number, or take simulate.")
    if attention.zonal is None:
        raise InputError("long_time is for B = V = I; leave out the matrices, or take simulate.")
    return attention.zonal


def applies(model: Any) -> bool:
    """Whether `long_time` follows this model."""
    try:
        _zonal(model)
    except InputError:
        return False
    return True


def _numbers(zonal: Zonal, merge_distance: Any, rtol: Any, atol: Any) -> dict[str, Array]:
    beta = zonal.beta.astype(jnp.float64)
    if merge_distance is None:
        merge_distance = 1e-3 / jnp.sqrt(jnp.maximum(beta, 1))
    elif is_concrete(merge_distance) and not 1e-10 <= real("merge_distance", merge_distance) <= 0.1:
        raise InputError(
            f"merge_distance = {merge_distance} is no small chord; take a number from 1e-10 to 0.1, for example 1e-4."
        )
    values = {"beta": beta, "offset": zonal.log_speed, "merge_distance": merge_distance}
    values |= tolerances(rtol, atol, TOLERANCES)
    values |= {"log_t0": -jnp.inf, "s0": 0.0, "until": jnp.inf}  # the whole path, from its beginning
    return {"normalised": jnp.asarray(zonal.normalized), **{k: jnp.asarray(v, jnp.float64) for k, v in values.items()}}


def _plain(number: Array) -> float | int | None:
    return number.item() if is_concrete(number) else None


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
