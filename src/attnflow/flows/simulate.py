"""Integrate a model from given tokens."""

import functools
from typing import Any, NamedTuple

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from ..checks import flag, whole
from ..engines import Choice
from ..errors import InputError, shown
from ..models import AbstractLayers, AbstractModel, AbstractRandomModel, field, jump_times
from ..pairsums import DENSE_PAIRS
from ..pairsums.engines.sharded import all_devices, everywhere, on_one_device
from ..spaces import Numbers, check_tokens, check_weights, is_concrete
from ._doubtful_runs import doubted, report
from ._force_shape import Force, fitting, traced_force
from ._integrating_factor import check_step, growth_removed
from ._progress import ProgressBar, progress_bar
from ._random_models import natural_step, typed, written
from ._solvers import euler_error, get_scheme
from ._sums_of_run import SumsOfRun
from ._warm_start import WarmStart, warm_started
from .closed_form import in_closed_form
from .compiled import FACTORIZATIONS, adjoint_of, timed_call
from .hardmax_layers import through_layers
from .layer_runs import through_model
from .options import TOLERANCES, at_layers, check_clock, step_options, times
from .outcome import Outcome, ending
from .provenance import engine_record, provenance
from .run import Info, Run
from .step_sizes import clock_from, relative, step_errors, step_sizes


class _Plan(NamedTuple):
    """What the compiled program is specialised to, besides shapes."""

    solver: str
    kernel: str
    max_steps: int
    progress: bool
    adjoint: diffrax.AbstractAdjoint


def simulate(
    model: AbstractModel,
    x0: Numbers,
    *,
    t0: ArrayLike = 0.0,
    t1: ArrayLike | None = None,
    ts: Numbers | None = None,
    weights: Numbers | None = None,
    solver: str = "tsit5",
    dt: ArrayLike | None = None,
    rtol: ArrayLike | None = None,
    atol: ArrayLike | None = None,
    max_steps: int = 100_000,
    save: int | None = None,
    kernel: str = "auto",
    mesh: jax.sharding.Mesh | None = None,
    key: PRNGKeyArray | str | None = None,
    throw: bool = True,
    progress: bool = False,
) -> Run:
    r"""Integrate $\dot x = P_x F(t, x, w)$ from the tokens `x0` at `t0`.

    **Arguments:**

    - `model`: for example `SelfAttention(beta=9.0)`.
    - `x0`: tokens `(n, d)`; their dtype is the precision of the solve (NumPy's float64 becomes float32, with a warning,
      unless `attnflow.precision("float64")` was called).
    - `t1`, `save`: final time, and how many equispaced times to keep (default 201, both ends included; `save=1` keeps
      the end alone). Or `ts`, the increasing times to keep; the last one is then the final time unless `t1` is given.
    - `weights`: `(n,)`, summing to one; `None` means equal.
    - `solver`: `tsit5`, `dopri8` (adaptive, `rtol` and `atol`, by default 1e-9 and 1e-12 in float64, 1e-5 and 1e-7 in
      float32; in every step the worst token keeps to them, however many rest); `rk4`, `euler`, `euler-retract` (fixed
      steps `dt`); `ifrk4`, which solves the linear part of a model in $\mathbb R^d$ exactly (fixed steps `dt` that end
      at the times kept); `layers`, residual layers of weight `dt`, and the layers of the models that have layers
      of their own and take no `dt`: `models.LayerStack` (pretrained ones; without `t1` it runs all), `HardmaxLayers`
      and random models; `exact`, the closed form of models that have one (`models.ReluFlow`;
      it has forward derivatives alone).
    - `kernel`: the engine of the pair sums, resolved here once. By default that is spectral sums for many tokens on the
      circle or in $S^2$ where they are accurate enough for `rtol`. `mesh`: a device mesh with one axis to share the
      tokens over. `key`: for random models; a run keeps it as text, which is taken, too.
    - `throw=False` returns an unfinished run, with `run.result` saying why, instead of raising; rows of `run.xs` past
      the last time reached are NaN. A run that reached its final time and is doubtful all the same (`COARSE_STEPS`,
      fixed steps too long for the flow; `BELOW_ROUNDING`, a drift that rounding hides) is a warning, or with
      `throw=False` the result alone; `run.sentence` says what to do.
    - `progress`: a bar on standard error.

    **Returns:** a `Run`; `run.at(t=...)` are its tokens at any time, and `run.provenance["engine"]` says which
    engine ran (`None` where the model sums over no pairs) and why others did not. Where tokens of $\mathbb R^d$ would
    grow too large to be squared, the run holds $e^{-\lambda_1(t - t_0)}x$ and says so in `run.info["log_scale"]`
    (docs/theory/euclidean.md). Works under `jax.grad`, `jax.vmap` and `jax.jit`, where values cannot be checked.
    """
    if not isinstance(model, AbstractModel):
        raise InputError(f"{type(model).__name__} is no model; an attention map becomes one as SelfAttention(map).")
    throw, progress = flag("throw", throw), flag("progress", progress)
    if model.has_leaders:
        arguments = {"solver": solver, "dt": dt, "rtol": rtol, "atol": atol, "mesh": mesh, "max_steps": max_steps}
        return through_layers(model, x0, t0=t0, t1=t1, ts=ts, save=save, weights=weights, **arguments)
    if isinstance(model, AbstractLayers):
        arguments = {"solver": solver, "dt": dt, "rtol": rtol, "atol": atol, "mesh": mesh, "key": key}
        kept = {"t0": t0, "t1": t1, "ts": ts, "save": save, "max_steps": max_steps, "progress": progress}
        return through_model(model, x0, weights=weights, kernel=kernel, throw=throw, **kept, **arguments)
    if isinstance(solver, str) and solver == "exact":
        arguments = {"dt": dt, "rtol": rtol, "atol": atol, "mesh": mesh, "key": key}
        return in_closed_form(model, x0, t0=t0, t1=t1, ts=ts, save=save, weights=weights, throw=throw, **arguments)
    x0 = check_tokens(x0, model.space)
    w = check_weights(weights, x0.shape[0])
    w = None if w is None else w.astype(x0.dtype)
    scheme = get_scheme(solver)
    every = ts is None and save is None
    start, end, ts = times(t0, t1, ts, save)
    if str(x0.dtype) not in TOLERANCES:
        raise InputError(f"tokens have dtype {x0.dtype}; integrate in float32 or float64.")
    max_steps = whole("max_steps", max_steps)
    key = typed(key)
    dt = natural_step(model, solver, dt, key, start)
    options = step_options(scheme.adaptive, solver, dt, rtol, atol, max_steps, end - start, str(x0.dtype))
    if solver == "layers":
        end, ts = at_layers(start, end, ts, every, dt)
    if solver == "ifrk4":
        check_step(model, x0.shape[1], dt)
    check_clock(start, ts, str(x0.dtype))
    tolerance = options.get("rtol", TOLERANCES[str(x0.dtype)][0])
    # A solver counts time from the start, where numbers are dense, and the model gets the time of its own clock.
    since = {"t0": start, "span": end - start, "since": (ts if isinstance(ts, np.ndarray) else jnp.asarray(ts)) - start}
    numbers = {k: jnp.asarray(v, x0.dtype) for k, v in (*since.items(), *options.items())}
    frame = growth_removed(model, x0, start, end) if scheme.continuous else None
    moving = model if frame is None else frame
    inputs = (moving, x0, w, numbers, key)
    if mesh is not None:
        inputs = (moving, *_shard(x0, w, mesh), numbers, key)
    with progress_bar(progress), fitting(x0.shape):
        alone = kernel != "auto" or mesh is not None or not is_concrete(inputs) or len(x0) ** 2 <= DENSE_PAIRS
        devices = 1 if alone else all_devices().size
        sums = SumsOfRun(model, x0, w, start, end - start, tolerance, devices, partitioned=mesh is not None)
        chosen, choice, force = _engine(sums, kernel, key)
        if choice.engine.on_all_devices and kernel == "auto":
            inputs = everywhere(inputs)
        plan = _Plan(solver, chosen, max_steps, progress, adjoint_of(inputs))
        timed = timed_call(_solve, plan, *inputs)
    xs, code, steps = on_one_device(timed.value) if choice.engine.on_all_devices else timed.value
    stats = {**steps, "compile_seconds": timed.compile_seconds, "run_seconds": timed.run_seconds}
    run = Run(
        ts=jnp.asarray(ts, x0.dtype),
        xs=xs,
        weights=w,
        code=code,
        stats=stats,
        model=model,
        clock="layers" if solver == "layers" and not isinstance(model, AbstractRandomModel) else model.clock,
        info=Info() if frame is None else Info({"log_scale": (("time",), frame.rate * numbers["since"])}),
        provenance={"engine": engine_record(kernel, force.engines, choice.passed_over | force.passed_over)}
        | provenance(
            t0=start,
            t1=end,
            solver=solver,
            max_steps=max_steps,
            kernel=force.engines,
            kernel_requested=kernel,
            save=save,
            throw=throw,
            progress=progress,
            devices=None if mesh is None else mesh.size,
            dtype=str(x0.dtype),
            key=written(key),
            **options,
        ),
    )
    run = doubted(run, tolerance)
    if throw and is_concrete(code):
        report(run, f"solver {solver}, {int(steps['steps'])} steps")
    return run


def _engine(sums: SumsOfRun, kernel: str, key: PRNGKeyArray | None) -> tuple[str, Choice, Force]:
    """The kernel argument of the sums, the choice behind it, and the force; factorizations stay on one device."""
    chosen, choice = sums.choose(kernel)
    force = traced_force(chosen, sums.model, sums.start, sums.x0, sums.w, key)
    if sums.devices > 1 and force.operations & FACTORIZATIONS:
        return _engine(sums._replace(devices=1), kernel, key)
    return chosen, choice, force


def _solve(
    plan: _Plan,
    model: AbstractModel,
    x0: Float[Array, "n d"],
    w: Float[Array, " n"] | None,
    numbers: dict[str, Array],
    key: PRNGKeyArray | None,
) -> tuple[Float[Array, "T n d"], Array, dict[str, Array]]:
    """The compiled program: saved states, the outcome's code, and counts of steps."""
    scheme = get_scheme(plan.solver)

    jumps = jump_times(model)
    jumps = None if jumps is None else jumps.astype(x0.dtype)
    clock = clock_from(numbers["t0"], jumps, numbers["span"])

    def right_hand_side(since, x, state):
        velocity = model.force if scheme.steps_with_force else functools.partial(field, model)
        warm = {} if state is None else {"state": state}
        return velocity(clock(since), x, w, key=key, kernel=plan.kernel, **warm)

    stops = numbers["since"] if scheme.exact_times else None
    controller, dt0 = step_sizes(numbers, None if jumps is None else jumps - numbers["t0"], stops)
    solver = warm_started(scheme, model, w, plan.kernel, clock, x0)
    late = scheme.late  # the error of the last step is known one step later
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(right_hand_side),
        solver,
        jnp.zeros_like(numbers["span"]),
        numbers["span"],
        dt0,
        x0,
        saveat=diffrax.SaveAt(
            ts=numbers["since"],
            t1=late,
            fn=lambda t, x, _: model.space.nearest(x),
            controller_state="dt" in numbers,
            solver_state=late,
        ),
        stepsize_controller=controller,
        max_steps=plan.max_steps,
        adjoint=plan.adjoint,
        throw=False,
        progress_meter=ProgressBar() if plan.progress else diffrax.NoProgressMeter(),
    )
    ys: Any = solution.ys
    xs, end = (ys[:-1] if late else ys), ys[-1]
    stats: Any = solution.stats
    reached = model.space.holds(xs).all(axis=1)  # diffrax fills what it did not reach with infinities
    xs = jnp.where(reached[:, None, None], xs, jnp.nan)
    counts = {
        "steps": stats["num_steps"],
        "accepted": stats["num_accepted_steps"],
        "rejected": stats["num_rejected_steps"],
    }
    code = ending(solution.result, reached.all())
    if "dt" in numbers and scheme.estimates_error:
        errors = step_errors(solution.controller_state)
        if late:
            carried: Any = solution.solver_state
            inner, state = carried if isinstance(solver, WarmStart) else (carried, None)
            velocity = right_hand_side(numbers["span"], end, state)
            velocity = model.space.project(end, velocity) if scheme.steps_with_force else velocity
            last = euler_error(velocity, inner)
            errors = errors.after(relative(last, end), jnp.zeros((), x0.dtype))
        counts["coarseness"] = errors.coarseness
        coarse = (code == Outcome.SUCCESSFUL.code) & ~(counts["coarseness"] <= 1)
        code = jnp.where(coarse, Outcome.COARSE_STEPS.code, code)
    return xs, code, counts


def _shard(x0: Array, w: Array | None, mesh: jax.sharding.Mesh) -> tuple[Array, Array | None]:
    """Share the tokens over the devices of a one-axis mesh."""
    if not isinstance(mesh, jax.sharding.Mesh):
        raise InputError(f"mesh = {shown(mesh)} is no device mesh; give one of jax.make_mesh.")
    if len(mesh.axis_names) != 1 or x0.shape[0] % mesh.size:
        raise InputError(
            f"a mesh with axes {mesh.axis_names} of {mesh.size} devices cannot share {x0.shape[0]} tokens evenly; "
            "take a one-axis mesh whose size divides the number of tokens."
        )
    rows = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(mesh.axis_names[0]))
    return jax.device_put(x0, rows), None if w is None else jax.device_put(w, rows)
