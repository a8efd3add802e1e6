"""Many realisations, and many parameter values, in one compiled program.

The work of an ensemble is cut into chunks whose pairs fit into a core's cache. Within a chunk the realisations are the
innermost axis for few dimensions (see `trailing_vmap` and the broadcast engine of the pair sums), and a leading batch
axis otherwise. A thread on every core (on every GPU) runs the program for chunk after chunk of its own, up to a portion
of the realisations that memory has room for; then their values enter the statistics in order, and the next portion
begins.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from ..checks import finite_array, real, whole
from ..engines import choose
from ..errors import AttnflowWarning, InputError, shown
from ..models import AbstractModel, AbstractRandomModel, jump_times
from ..spaces import Numbers, check_tokens, check_weights, is_concrete, warn_if_narrowed
from ._force_shape import fitting
from ._random_models import natural_step, typed
from ._trailing_vmap import trailing_vmap
from ._trajectory_engine import PORTION_BYTES, AbstractTrajectoryEngine, Ensemble, Interval
from .compiled import FACTORIZATIONS, Timed, once, places, timed_call, timed_rows, traced
from .engines import batched
from .options import at_layers, check_clock
from .outcome import Outcome
from .provenance import engine_record, provenance
from .statistics import AbstractStatistic, Finite, Largest
from .step_sizes import Errors, relative
from .steps import State, fixed_steps, step_error
from .tableaux import tableaux

_FINITE, _COARSE = " finite", " coarse"  # names that no user would give
FORWARDS = "an ensemble has no derivatives in reverse mode; take jax.jvp or jax.jacfwd, or differences with one key."
ERROR_CHECKS = 4  # the error of at most so many steps is computed, at the start, at the end and between


class _Plan(NamedTuple):
    """What the compiled program is specialised to, besides shapes."""

    sampler: Callable[..., Array]
    chunk: int
    engine: AbstractTrajectoryEngine
    solver: str
    kernel: str


class EnsembleResult(NamedTuple):
    """The result of `ensemble`.

    - `ts (T,)`: the times of the observations.
    - `values`: what the statistic gives, or a dictionary of that, by the names in `reduce`; several models give every
      array a first axis. `Mean` gives an `Estimate(mean, stderr)`, each `(T, ...)` with the shape of the observable;
      `Histogram` counts `(T, bins)`; `Quantiles` `(T, ..., levels)`; `LastState` tokens `(realizations, n, d)`.
    - `stats`: `compile_seconds`, `run_seconds`, `pairs` (how many pairs of tokens were summed over), and `not_finite`,
      how many members (realisations times models) ended without being points of their space: infinite, not-a-number,
      or at the origin of a sphere. Their values are not numbers, and a mean that holds one is none. `coarseness` is
      above one if the steps of some member are too long to follow the flow: some steps of `rk4` and `euler` are
      checked; other schemes have no estimate, and no such entry.
    - `provenance`: versions and options, as of a run; `provenance["engine"]` says which engine ran, and why others did
      not.
    """

    ts: Float[Array, " T"]
    values: Any
    stats: dict[str, float]
    provenance: dict[str, Any]


def ensemble(
    model: AbstractModel | Sequence[AbstractModel],
    sampler: Callable[[PRNGKeyArray], Float[Array, "n d"]],
    *,
    realizations: int,
    ts: Numbers,
    reduce: AbstractStatistic | Mapping[str, AbstractStatistic],
    key: PRNGKeyArray,
    t0: float = 0.0,
    weights: Numbers | None = None,
    solver: str = "rk4",
    dt: float | None = None,
    dtype: Any = None,
    engine: str = "auto",
    chunk: int | None = None,
) -> EnsembleResult:
    """Statistics of a flow from random tokens.

    **Arguments:**

    - `model`: one model, or a list of models that differ in numbers only (all betas of a figure): then results get a
      leading axis. All models see the same draws.
    - `sampler(key) -> (n, d)`: realisation `r` starts from `sampler(k)` with `k = jax.random.fold_in(key, r)`. A random
      model takes two keys from it, `start, weights = jax.random.split(k)`.
    - `ts`: increasing times at which `reduce` observes; `reduce` is a statistic (`Mean`, `Histogram`, `Quantiles`,
      `LastState`, or an `AbstractStatistic` of your own) or a dictionary of them.
    - An observable, the argument of a statistic, is a function `observable(t, x, weights) -> array` of the time, of one
      cloud `x (n, d)` on its space and of its `weights (n,)`, `None` for equal ones; it is compiled, so written in JAX,
      and gives a number or an array of one shape.
    - `solver`, `dt`: `rk4`, `euler` or `euler-retract`, in equal steps of at most `dt` (default 0.1) between
      observations; or `layers` of weight `dt`, at whole numbers of which `ts` are. Random models bring their own `dt`.
    - `dtype`: of the tokens; default the sampler's.
    - `engine`: `innermost` or `batched` layout of the realisations; or whole trajectories in one kernel, `native` for
      this processor (see `attnflow doctor`), `fused` for a GPU (float32; interpreted, and slow, elsewhere). `auto`
      chooses. `chunk`: realisations computed together; no result depends on it.

    **Returns:** an `EnsembleResult`, `(ts, values, stats, provenance)`. Members that end with infinities or
    not-a-number, or that are drawn where their space has no point (a zero token on the sphere), are counted in
    `stats["not_finite"]`. Steps too long for the flow are a warning, and `stats["coarseness"]` above one. Random
    numbers, and the order in which realisations enter a statistic, follow from `key` alone. Works under
    `jax.jit`, `jax.vmap` and, in forward mode, `jax.jvp` and `jax.jacfwd`, where values cannot be checked.

    >>> import jax, jax.numpy as jnp, attnflow as af
    >>> result = af.ensemble(
    ...     af.SelfAttention(beta=1.0),
    ...     lambda key: af.sphere.uniform(n=4, d=2, key=key),
    ...     realizations=16,
    ...     ts=[0.0, 1.0],
    ...     reduce=af.flows.Mean(lambda t, x, w: jnp.linalg.norm(jnp.mean(x, axis=0))),
    ...     key=jax.random.key(0),
    ... )
    >>> result.values.mean.shape, result.values.stderr.shape, result.stats["not_finite"]
    ((2,), (2,), 0)
    """
    models = list(model) if isinstance(model, Sequence) else [model]
    if (random_key := typed(key)) is None:
        raise InputError("an ensemble draws its starts at random; give a key, for example key=jax.random.key(0).")
    if any(isinstance(m, AbstractRandomModel) for m in models):
        key = random_key  # an array of keys, since two keys come of each
    statistics = {"": reduce} if isinstance(reduce, AbstractStatistic) else reduce
    if not isinstance(statistics, Mapping) or not all(isinstance(s, AbstractStatistic) for s in statistics.values()):
        raise InputError(
            f"reduce = {shown(reduce)} is no statistic; give af.flows.Mean(observable), or several by name."
        )
    x0 = _checked_sample(models, sampler, key, realizations, dtype)
    n = len(x0)
    warn_if_narrowed("weights", weights, stacklevel=3)
    w = check_weights(weights, n)
    dt = _step(models, solver, dt, key, t0)
    times = _check_times(ts, t0, solver, dt)
    check_clock(t0, times, str(x0.dtype))
    known = is_concrete(models, key, x0)
    problem = Ensemble(models[0], x0, w, known)
    with fitting(x0.shape):
        choice = choose("trajectory engine", problem, engine)
    threads = min(len(places()), realizations) if known else 1
    share = -(-realizations // threads)
    size = choice.engine.chunk(problem, share) if chunk is None else chunk
    plan = _Plan(sampler, min(size, share), choice.engine, solver, choice.engine.kernel(problem))
    # Steps stop at the observations, and at the jumps of parameters that depend on time.
    jumps = _jumps(models, t0, times[-1])
    stops = np.union1d(times, jumps)
    before = np.concatenate([[t0], stops[:-1]])
    substeps = np.ceil((stops - before) / dt - 1e-9).astype(np.int32)
    checked = _error_checks(substeps)
    # One more interval, of no steps, serves to estimate the error at the end.
    before, stops, substeps = np.append(before, stops[-1]), np.append(stops, stops[-1]), np.append(substeps, 0)
    h = (stops - before) / np.maximum(substeps, 1)  # not from rounded times
    h[-1] = h[np.flatnonzero(h)[-1]] if h.any() else 0
    arrays = {
        "ts": jnp.asarray(times, x0.dtype),
        "before": jnp.asarray(before, x0.dtype),
        "stops": jnp.asarray(_just_before(stops, jumps, x0.dtype)),
        "h": jnp.asarray(h, x0.dtype),
        "observed": jnp.asarray(np.searchsorted(stops, times)),
        "substeps": jnp.asarray(substeps),
        "w": None if w is None else w.astype(x0.dtype),
        "like": x0[:0],
        "checked": jnp.asarray(checked),
    }
    watched = {_FINITE: Finite()} | ({_COARSE: Largest()} if solver in tableaux() else {})
    with fitting(x0.shape):
        result, times_taken = _run(plan, threads, realizations, _stack(models), arrays, {**statistics, **watched}, key)
    if not known:
        result = eqxi.nondifferentiable_backward(result, msg=FORWARDS)
    finite, coarseness = result.pop(_FINITE), result.pop(_COARSE, None)
    values = result if not isinstance(model, AbstractModel) else jax.tree.map(lambda a: a[0], result)
    stages = tableaux()[solver].stages if solver in tableaux() else 1
    pairs = float(realizations) * len(models) * n * n * int(substeps.sum()) * stages
    stats = {
        "compile_seconds": sum(t.compile_seconds for t in times_taken),
        "run_seconds": sum(t.run_seconds for t in times_taken),
        "pairs": pairs,
        "not_finite": realizations * len(models) - (int(jnp.sum(finite)) if is_concrete(finite) else jnp.sum(finite)),
    }
    if coarseness is not None:
        worst = jnp.max(coarseness)
        stats["coarseness"] = worst = float(worst) if is_concrete(worst) else worst
        if is_concrete(worst) and worst > 1:
            reason = Outcome.COARSE_STEPS.value.replace("tsit5 or ", "").rstrip(".")  # there is no adaptive solver here
            warnings.warn(f"{reason}; dt = {dt / (2 * worst):.1g} would do.", AttnflowWarning, stacklevel=2)
    values = values[""] if isinstance(reduce, AbstractStatistic) else values
    origin = {
        "engine": engine_record(engine, choice.engine.full_name, choice.passed_over),
        **provenance(t0=t0, solver=solver, dt=dt, realizations=realizations, dtype=str(x0.dtype), kernel=plan.kernel),
    }
    return EnsembleResult(arrays["ts"], values, stats, origin)


def _run(
    plan: _Plan,
    threads: int,
    realizations: int,
    models: "_Stacked",
    arrays: Any,
    statistics: dict[str, AbstractStatistic],
    key: Any,
) -> tuple[dict[str, Any], list[Timed]]:
    """Portion after portion: observe, then add to the statistics, each a compiled program."""
    count = models.which.size
    inputs = (models, arrays, statistics, key)
    args = (plan, *inputs)
    shapes, operations = once("traced", _one_realization, args, lambda: traced(_one_realization, *args))
    if operations & FACTORIZATIONS:
        threads = 1
    states = {
        name: jax.tree.map(lambda a: jnp.broadcast_to(a, (count, *a.shape)), s.start(shapes[name], realizations))
        for name, s in statistics.items()
    }
    bytes_each = count * sum(a.size * a.dtype.itemsize for a in jax.tree.leaves(shapes))
    together = plan.chunk * threads
    rounds = max(1, min(PORTION_BYTES // (bytes_each * together), -(-realizations // together)))
    times = []
    for first in range(0, realizations, rounds * together):
        rows = jnp.arange(first, first + rounds * together)
        options = {"threads": threads, "axis": 1, "unroll": plan.engine.innermost}
        observed = timed_rows(_portion, plan, *inputs, rows=rows, **options)
        added = timed_call(_add, statistics, states, rows, observed.value, jnp.asarray(realizations))
        states, times = added.value, [*times, observed, added]
    done = timed_call(_finish, statistics, states)
    return done.value, [*times, done]


def _portion(
    plan: _Plan, models: Any, arrays: Any, statistics: dict[str, AbstractStatistic], key: Any, rows: Array
) -> dict[str, Any]:
    """The observed values of these realisations, (models, rows, T, ...)."""

    def one_model(item: Any) -> dict[str, Any]:
        model = eqx.combine(item[1], models.static)

        def one_chunk(rows: Array) -> dict[str, Any]:
            x, keys = jax.vmap(_draw(plan, model, arrays, key))(rows)
            return _observe(plan, model, x, keys, arrays, statistics)

        observed = jax.lax.map(one_chunk, rows.reshape(-1, plan.chunk))
        return jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), observed)

    return jax.lax.map(one_model, (models.which, models.numbers))


def _draw(plan: _Plan, model: Any, arrays: Any, key: Any) -> Callable[[Array], tuple[Array, Any]]:
    """The initial tokens of a realisation, and the key of its layers if the model is random."""

    def draw(r: Array) -> tuple[Array, Any]:
        start, weights = _keys(model, key, r)
        x = model.space.nearest(plan.sampler(start).astype(arrays["like"].dtype))
        return _on_space(model, x), weights

    return draw


def _on_space(model: AbstractModel, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
    """The tokens; what is no point of the space is not a number, so that nothing computed from it is one."""
    return jnp.where(model.space.holds(x)[:, None], x, jnp.nan)


def _keys(model: Any, key: Any, r: Any) -> tuple[PRNGKeyArray, PRNGKeyArray | None]:
    """The key of the start of realisation `r`, and that of its layers."""
    own = jax.random.fold_in(key, r)
    if not isinstance(model, AbstractRandomModel):
        return own, None
    start, weights = jax.random.split(own)
    return start, weights


def _one_realization(plan: _Plan, models: Any, arrays: Any, statistics: dict[str, AbstractStatistic], key: Any) -> Any:
    """The values of one realisation; the function is traced for its shapes and never computed."""
    model = eqx.combine(jax.tree.map(lambda a: a[0], models.numbers), models.static)
    x, keys = jax.vmap(_draw(plan, model, arrays, key))(jnp.arange(1))
    alone = plan._replace(engine=batched.ENGINE, kernel="dense")
    return jax.tree.map(lambda a: a[0], _observe(alone, model, x, keys, arrays, statistics))


def _add(
    statistics: dict[str, AbstractStatistic], states: Any, rows: Array, observed: dict[str, Any], realizations: Array
) -> dict[str, Any]:
    """The statistics of every model, with the realisations of a portion added."""

    def one_model(item: Any) -> dict[str, Any]:
        states, observed = item
        counts = rows < realizations  # the last chunks may go beyond the requested number
        for name, statistic in statistics.items():
            states[name] = statistic.add_all(states[name], rows, observed[name], counts)
        return states

    return jax.lax.map(one_model, (states, observed))


def _finish(statistics: dict[str, AbstractStatistic], states: Any) -> dict[str, Any]:
    return {name: jax.lax.map(s.finish, states[name]) for name, s in statistics.items()}


def _observe(
    plan: _Plan,
    model: Any,
    x: Float[Array, "c n d"],
    keys: Any,
    arrays: dict[str, Any],
    statistics: dict[str, AbstractStatistic],
) -> dict[str, Float[Array, "c T ..."]]:
    """Integrate one chunk and observe it; realisations first again in the result."""
    innermost = plan.engine.innermost
    last = -1 if innermost else 0
    w = arrays["w"]

    def every(fn: Callable[..., Any], *each: Any) -> Any:
        return trailing_vmap(fn, each, (True,) * len(each)) if innermost else jax.vmap(fn)(*each)

    def error(state: State, t: Array, h: Array) -> tuple[Array, Array]:
        error, moved = step_error(tableaux()[plan.solver], every, model, t, h, state, w, plan.kernel)
        return every(relative, error, state[1]), every(relative, moved, state[1])

    def between(state: State, item: tuple[Array, ...]) -> tuple[State, dict[str, Any]]:
        t0, t1, h, steps, checked = item
        errors = {}
        if _COARSE in statistics:
            none = jnp.zeros(x.shape[last], x.dtype)
            errors[_COARSE] = jax.lax.cond(checked, error, lambda *_: (none, none), state, t0, h)

        def advance(k: Array, state: State) -> State:
            t = t0 + k.astype(t0.dtype) * h
            drawn = {} if keys is None else {"keys": keys}
            drawn = {"latest": t1} if plan.solver in tableaux() else drawn
            return fixed_steps()[plan.solver](every, model, t, h, state, w, plan.kernel, **drawn)

        state = plan.engine.run(Interval(model, h, steps, w, plan.solver, advance), state)
        along = {k: s for k, s in statistics.items() if not s.last_only}
        return state, errors | {
            k: every(lambda z, s=s: s.observe(t1, _on_space(model, z), w), state[1]) for k, s in along.items()
        }

    x = jnp.moveaxis(x, 0, last)
    intervals = tuple(arrays[name] for name in ("before", "stops", "h", "substeps", "checked"))
    (_, x), seen = jax.lax.scan(between, (x, x), intervals)
    checks = seen.pop(_COARSE, None)
    seen = {k: v[arrays["observed"]] for k, v in seen.items()}
    at_end = {k: s for k, s in statistics.items() if s.last_only and k != _COARSE}
    end = {k: every(lambda y, s=s: s.observe(arrays["ts"][-1], _on_space(model, y), w), x) for k, s in at_end.items()}
    # (T, ..., c) or (T, c, ...) -> (c, T, ...)
    seen = {k: jnp.moveaxis(v, -1 if innermost else 1, 0) for k, v in seen.items()}
    coarse = {} if checks is None else {_COARSE: _coarseness(*checks)[:, None]}
    return seen | coarse | {k: jnp.moveaxis(v, last, 0)[:, None] for k, v in end.items()}


def _coarseness(error: Float[Array, "checks c"], moved: Float[Array, "checks c"]) -> Float[Array, " c"]:
    """The coarseness of every member, as of a run; zero where it is NaN: `not_finite` counts such members."""
    each = jax.vmap(lambda e, m: Errors(jnp.max(e), jnp.sum(e), jnp.sum(m)).coarseness, in_axes=1)(error, moved)
    return jnp.where(jnp.isnan(each), 0, each)


def _error_checks(substeps: np.ndarray) -> np.ndarray:
    """The intervals at whose start the error of a step is computed; the last entry is the end. Few, for few steps."""
    stepping = np.flatnonzero(substeps)
    count = min(ERROR_CHECKS, 1 + int(substeps.sum()) // 100)
    places = np.append(stepping, len(substeps))
    checked = np.zeros(len(substeps) + 1, bool)
    checked[places[np.unique(np.linspace(0, len(places) - 1, count).astype(int))]] = True
    return checked


class _Stacked(eqx.Module):
    """Models that differ in numbers only: their numbers with a leading axis, and what they share."""

    which: Int[Array, " models"]  # a model may have no numbers at all
    numbers: Any
    static: Any


def _stack(models: list[AbstractModel]) -> _Stacked:
    parts = [eqx.partition(m, eqx.is_array) for m in models]
    if any(not eqx.tree_equal(static, parts[0][1]) for _, static in parts):
        raise InputError("the models of an ensemble may differ in numbers only; run different models one by one.")
    try:
        numbers = jax.tree.map(lambda *leaves: jnp.stack(leaves), *[numbers for numbers, _ in parts])
    except ValueError:
        raise InputError("the models of an ensemble must have parameters of the same shapes.") from None
    return _Stacked(jnp.arange(len(models)), numbers, parts[0][1])


def _checked_sample(models: Any, sampler: Any, key: Any, realizations: int, dtype: Any) -> Array:
    whole("realizations", realizations)
    if not models or not all(isinstance(model, AbstractModel) for model in models):
        raise InputError(f"{shown(models)} holds no models; give one, or a list of them.")
    if not callable(sampler):
        raise InputError(f"sampler = {shown(sampler)} is no function; give one of a random key that returns tokens.")
    drawn: Any = sampler(_keys(models[0], key, 0)[0])
    x0 = check_tokens(drawn, models[0].space)
    return x0 if dtype is None else x0.astype(_precision(dtype))


def _precision(dtype: Any) -> np.dtype:
    try:
        requested = np.dtype(dtype)
    except (TypeError, ValueError):
        requested = None
    if requested not in (np.float32, np.float64):
        raise InputError(f"dtype = {shown(dtype)} is no precision; choose 'float32' or 'float64'.")
    if requested == np.float64 and jnp.result_type(float) != np.float64:
        raise InputError("dtype = float64, and JAX computes in 32 bits; call attnflow.precision('float64') first.")
    return requested


def _check_times(ts: Numbers, t0: float, solver: Any, dt: float) -> np.ndarray:
    times = np.atleast_1d(finite_array("ts", ts))
    if times.ndim != 1 or times.size == 0 or (np.diff(times) <= 0).any() or times[0] < t0:
        raise InputError(f"ts must be finite, increasing times from t0 = {t0:g} on.")
    if not isinstance(solver, str) or solver not in fixed_steps():
        raise InputError(f"solver {solver!r} has no fixed step; an ensemble takes one of {', '.join(fixed_steps())}.")
    if not 0 < dt < np.inf:
        raise InputError(f"dt = {dt:g} is no step; take dt > 0.")
    return at_layers(t0, times[-1], times, False, dt)[1] if solver == "layers" else times


def _step(models: list[AbstractModel], solver: Any, dt: float | None, key: Any, t0: float) -> float:
    dt = None if dt is None else real("dt", dt)
    steps = {natural_step(model, solver, dt, key, t0) for model in models}
    if len(steps) > 1:
        listed = ", ".join(f"{step:g}" for step in sorted(steps))
        raise InputError(f"the layers of these models take different times ({listed}); run them one by one.")
    (step,) = steps
    return 0.1 if step is None else step


def _jumps(models: list[AbstractModel], t0: float, t1: float) -> np.ndarray:
    times = [np.asarray(jumps) for jumps in map(jump_times, models) if jumps is not None]
    jumps = np.concatenate(times) if times else np.zeros(0)
    return jumps[(jumps > t0) & (jumps < t1)]


def _just_before(stops: np.ndarray, jumps: np.ndarray, dtype: Any) -> np.ndarray:
    """The stops, those at a jump moved to the number before it: the last stage of a step sees the old value."""
    exact = stops.astype(dtype)
    return np.where(np.isin(stops, jumps), np.nextafter(exact, exact.dtype.type(-np.inf)), exact)
