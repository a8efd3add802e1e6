"""Continuation of a run: from its last state, or from a saved time to a time before the next one."""

import math
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..checks import real
from ..errors import InputError, SolveError
from ..models import MovingFrame
from ..spaces import is_concrete
from .run import Run

KEPT = ("solver", "dt", "rtol", "atol", "max_steps", "save", "throw", "progress", "key")


def restarted(run: Run, t1: Any, options: dict[str, Any]) -> Run:
    """Continue a run: the body of `Run.restart`."""
    _check_model(run, "pass its last state to simulate yourself")
    if "log_scale" in run.info:
        raise InputError("the growth of these tokens is stored apart (log_scale); simulate again, with a later t1.")
    before = run.provenance["options"]
    if before.get("solver") == "long_time":
        from .long_time import go_on

        return go_on(run, t1=t1, **options)
    reached = _last_reached(run)
    if reached < len(run.ts) - 1:
        raise InputError(
            f"the last state of this run is not finite, since it ended early ({run.result.name}); simulate from the "
            f"last one it reached, run.at(t={float(run.ts[reached]):g})."
        )
    kept = _options(run, mesh=True)
    if "solver" in options:  # another solver brings its own step or tolerances
        kept = {name: value for name, value in kept.items() if name not in ("solver", "dt", "rtol", "atol")}
    if options.get("ts") is not None:
        kept.pop("save", None)
    return _from(run, run.model, -1, {"t1": t1, **kept, **options})


def state_at(run: Run, t: Any, log_t: Any) -> Array:
    """The tokens of a run at any time: the body of `Run.at`."""
    if not is_concrete(run.xs, run.ts, t, log_t):
        raise InputError("run.at reads values and cannot be compiled; call it outside of jit, grad and vmap.")
    if (t is None) == (log_t is None):
        raise InputError("run.at needs one time; give t, or its logarithm log_t.")
    if log_t is not None and run.log_ts is None:
        raise InputError(f"this run has no log_ts; give t in place of log_t = {log_t}.")
    name, wanted = ("t", real("t", t)) if log_t is None else ("log_t", real("log_t", log_t))
    by_log = run.log_ts is not None
    times = np.asarray(run.log_ts if by_log else run.ts)
    time = times.dtype.type(_log(wanted) if by_log and name == "t" else wanted)
    last = _last_reached(run)
    if not times[0] <= time <= times[last]:
        first, end = (np.asarray(run.ts if name == "t" else run.log_ts)[k] for k in (0, last))
        raise InputError(f"{name} = {wanted:.9g} is outside of this run, which is kept from {first:.9g} to {end:.9g}.")
    row = int(np.searchsorted(times[: last + 1], time, side="right")) - 1
    if times[row] == time:
        return run.xs[row]
    return _between(run, row, _log(wanted) if by_log and name == "t" else wanted)


def _log(t: float) -> float:
    return math.log(t) if t > 0 else -math.inf if t == 0 else math.nan


def _between(run: Run, row: int, time: float) -> Array:
    """The tokens at a time after the row and before the next."""
    near = f"take a saved time, for example {float(run.ts[row]):g}"
    _check_model(run, near, rescaled=True)
    before = run.provenance["options"]
    if before.get("solver") == "long_time":
        from .long_time import at_log_time

        return at_log_time(run, row, time)
    if "L" in run.info and hasattr(run.model, "velocity"):
        return _mean_at(run, row, time)
    model: Any = run.model
    if "log_scale" in run.info:
        start = before["t0"]
        rate = float(run.info["log_scale"][-1]) / (float(run.ts[-1]) - start)
        model = MovingFrame(model, rate=jnp.asarray(rate, run.xs.dtype), start=start)
    options = {k: v for k, v in _options(run).items() if k not in ("save", "throw", "progress")}
    if "rescaled" in run.provenance and options["solver"] == "ifrk4":
        options["solver"] = "rk4"  # the same scheme where no linear part is left
    return _from(run, model, row, {"t1": time, "save": 1, **options}).final


def _from(run: Run, model: Any, row: int, options: dict[str, Any]) -> Run:
    # Time goes on from the clock of the row, in full precision.
    arguments = {"t0": float(run.ts[row]), "weights": run.weights, **options}
    if "leader_layer" in run.info:  # the leaders and the absorbed tokens are part of the state
        from .hardmax_layers import through_layers

        return through_layers(model, run.xs[row], before=run, **arguments)
    from .simulate import simulate

    return simulate(model, run.xs[row], **arguments)


def _options(run: Run, mesh: bool = False) -> dict[str, Any]:
    """The options of a run, as far as another call takes them."""
    before = run.provenance["options"]
    kept = {name: before[name] for name in KEPT if before.get(name) is not None}
    if before.get("kernel_requested") is not None:
        kept["kernel"] = before["kernel_requested"]
    if mesh and before.get("devices") is not None:
        kept["mesh"] = _mesh(run, before["devices"])
    return kept


def _mesh(run: Run, size: int) -> Any:
    """The mesh that a run was shared over; after it was read from a file, one of so many devices, if there are."""
    mesh = getattr(getattr(run.xs, "sharding", None), "mesh", None)
    if mesh is not None and mesh.size == size and len(mesh.axis_names) == 1:
        return mesh
    if jax.device_count() < size:
        return None
    return jax.make_mesh((size,), ("tokens",), axis_types=(jax.sharding.AxisType.Auto,), devices=jax.devices()[:size])


def _last_reached(run: Run) -> int:
    """The last row with tokens: those past the end of an unfinished run are not numbers."""
    reached = np.flatnonzero(np.isfinite(np.asarray(run.xs)).all(axis=(1, 2)))
    if reached.size == 0:
        raise InputError(
            "this run reached none of its saved times and is not finite; simulate again, and keep earlier ones."
        )
    return int(reached[-1])


def _check_model(run: Run, instead: str, rescaled: bool = False) -> None:
    if run.model is None:
        raise InputError(f"this run carries no model to go on with; {instead}.")
    if "rescaled" in run.provenance and not rescaled:
        raise InputError("these are rescaled tokens; go on with the run they came from, and rescale what comes out.")
    if "options" not in run.provenance:
        raise InputError(f"this run does not say how it was computed; {instead}.")


def _mean_at(run: Run, row: int, time: float) -> Array:
    """The mean of a Gaussian law, whose covariance moves with it."""
    model: Any = run.model
    before = run.provenance["options"]
    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, _: model.velocity(t, *y)),
        diffrax.Tsit5(),
        run.ts[row],
        jnp.asarray(time, run.ts.dtype),
        None,
        (run.xs[row, 0], run.info["L"][row]),
        stepsize_controller=diffrax.PIDController(rtol=before["rtol"], atol=before["atol"]),
        max_steps=before["max_steps"],
        throw=False,
    )
    means: Any = solution.ys
    if not np.isfinite(np.asarray(means[0])).all():
        raise SolveError(f"the law was not reached at t = {time:g}, from the saved time {float(run.ts[row]):g}")
    return means[0]
