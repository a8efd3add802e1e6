r"""The flow of a Gaussian law: $\dot\alpha = c$, $\dot L = GL$, by one integrator for every attention map."""

import warnings
from typing import Any, Literal, NamedTuple

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...attention import AbstractAttention
from ...checks import finite_array, flag, number, whole
from ...errors import AttnflowWarning, InputError, SolveError
from ...flows import Info, Outcome, Run
from ...flows.compiled import adjoint_of, timed_call
from ...flows.options import TOLERANCES, check_clock, step_options, times
from ...flows.outcome import ending as solved
from ...flows.provenance import provenance
from ...flows.step_sizes import UntilRoundOff
from ...models import GaussianModel, at_time, jump_times
from ...parameters import parameter
from ...spaces import Count, Number, Numbers, is_concrete
from ._beyond import beyond
from ._ending import BLOW_UP, LARGEST_MEAN, Ending, ending, gone_on
from ._law import law
from ._limits import of_the_closure, of_the_end
from .velocity import check_closes, score_spread

SOLVERS = {"tsit5": diffrax.Tsit5, "dopri8": diffrax.Dopri8, "kvaerno5": diffrax.Kvaerno5}
Parameter = Numbers | eqx.Module  # an array, or a schedule of one
FeedForward = Parameter | tuple[Parameter | None, Parameter | None]  # a matrix W, or a pair (W, b)
TRUSTED = 0.7  # a score spread beyond which finite clouds part from the flow


class _Plan(NamedTuple):
    solver: str
    max_steps: int
    adjoint: diffrax.AbstractAdjoint


def flow(
    attention: AbstractAttention,
    alpha0: Numbers,
    Sigma0: Numbers | None = None,
    *,
    L0: Numbers | None = None,
    t0: Number = 0.0,
    t1: Number | None = None,
    ts: Numbers | None = None,
    save: Count | None = None,
    feedforward: FeedForward | None = None,
    solver: Literal["tsit5", "dopri8", "kvaerno5"] = "tsit5",
    rtol: Number | None = None,
    atol: Number | None = None,
    max_steps: Count = 100_000,
    ceiling: Number = 1e6,
    trusted_spread: Number | None = TRUSTED,
    throw: bool = True,
) -> Run:
    r"""Integrate mean and covariance of a Gaussian law from $N(\alpha_0, \Sigma_0)$ at `t0`.

    **Arguments:**

    - `attention`: Softmax, L2, Sinkhorn, Linear, Sigmoid (projected), or a MultiHead of these. Fields may be schedules;
      the integrator starts again at their jumps.
    - `alpha0 (..., d)`, and `Sigma0 (..., d, d)` or a factor `L0 (..., d, r)` of it, whose width is kept: a covariance
      of rank r stays one. Leading axes are starts, all in one compiled program. Batches of maps come by `jax.vmap`.
    - `t1`, `save`, or `ts`: as for `simulate`.
    - `feedforward`: `(W, b)` adds $Wx + b$ to the velocity; either may be `None`. A matrix `(d, d)` alone is $W$.
    - `solver`: `tsit5`, `dopri8` (for many digits), `kvaerno5` (implicit, for stiff problems).
    - `ceiling`: the flow ends when $\operatorname{tr}\Sigma$ exceeds it.
    - `trusted_spread`: a warning is given where $\|L^\top AL\|$ exceeds it, since clouds of finitely many tokens then
      part from the flow; `None`: never.

    **Returns:** a `Run` with the mean as its one token and, in `info`: `L (time, coordinate, factor)`, `score_spread`,
    the last state `t_last`, `mean_last`, `L_last` (also where the flow ended early), and how it ended: `outcome`,
    `t_star`, `pole_order`, read by `outcome`, `describe`. Growth beyond the ceiling is a result and does not raise;
    such a law is followed further, up to `t_followed`, to find its outcome. What is approximate or not certain is
    listed in `gaussian.limits(run)`, and kept in `run.provenance["limits"]`.
    """
    check_closes(attention)
    if not isinstance(solver, str) or solver not in SOLVERS:
        raise InputError(f"solver {solver!r} is unknown; choose one of {', '.join(SOLVERS)}.")
    mean, L = law(alpha0, Sigma0, L0)
    if str(L.dtype) not in TOLERANCES:
        raise InputError(f"the law has dtype {L.dtype}; integrate in float32 or float64.")
    max_steps = whole("max_steps", max_steps)
    save = None if save is None else whole("save", save)
    options = {"t0": t0, "t1": t1, "rtol": rtol, "atol": atol, "ceiling": ceiling, "trusted_spread": trusted_spread}
    if ceiling is None:
        raise InputError("ceiling is missing; give a trace, by default 1e6.")
    throw = flag("throw", throw)
    for name, value in options.items():
        if value is not None and is_concrete(value):
            number(name, value)
    if ts is not None and is_concrete(ts):
        finite_array("ts", ts)
    start, end, ts = times(t0, t1, ts, save)
    check_clock(start, ts, str(L.dtype))
    if is_concrete(L) and not float(jnp.max(jnp.sum(L * L, axis=(-2, -1)))) < ceiling:
        raise InputError(f"the covariance has a trace beyond the ceiling = {ceiling:g}; raise the ceiling.")
    tolerances = step_options(True, solver, None, rtol, atol, max_steps, end - start, str(L.dtype))
    model = GaussianModel(attention, *_feedforward(feedforward, mean.shape[-1]))
    values = {"t0": start, "t1": end, "ts": ts, "ceiling": ceiling, **tolerances}
    numbers = {name: jnp.asarray(value, L.dtype) for name, value in values.items()}
    batch = mean.shape[:-1]
    laws = (mean.reshape(-1, mean.shape[-1]), L.reshape(-1, *L.shape[-2:])) if batch else (mean, L)
    plan = _Plan(solver, max_steps, adjoint_of((model, laws, numbers)))
    try:
        timed = timed_call(_many if batch else _one, plan, model, *laws, numbers)
    except TypeError as error:  # what JAX says when shapes do not fit
        reason = str(error).splitlines()[0].rstrip(".")
        if "forward-mode" in reason:
            raise InputError("a Gaussian flow has derivatives in reverse mode; take jax.grad or jax.jacrev.") from error
        raise InputError(
            f"the map, or the layer beside it, does not fit a law in dimension {mean.shape[-1]}: {reason}."
        ) from error
    # The second program is another one: most laws never come to the ceiling, and need no continuation.
    follow = not is_concrete(timed.value) or bool(np.any(timed.value["stopped"] | timed.value["stalled"]))
    judged = timed_call(_judged_all if batch else _judged, follow, model, timed.value, numbers["t0"])
    seconds = {
        "compile_seconds": timed.compile_seconds + judged.compile_seconds,
        "run_seconds": timed.run_seconds + judged.run_seconds,
    }
    record = provenance(t0=start, t1=end, solver=solver, max_steps=max_steps, dtype=str(L.dtype), **tolerances)
    record["limits"] = list(of_the_closure(attention, L.shape[-1]))

    def run_of(solved_law: dict[str, Array]) -> Run:
        return Run(
            ts=numbers["ts"],
            xs=solved_law["xs"],
            weights=None,
            code=solved_law["code"],
            stats={"steps": solved_law["steps"], **seconds},
            model=model,
            clock=model.clock,
            info=Info({name: (dims, solved_law[name]) for name, dims in INFO.items()}),
            provenance=record,
        )

    # A batch is what jax.vmap would have made: every array in it has the leading axes.
    run = (
        run_of(judged.value)
        if not batch
        else jax.tree.map(lambda a: a.reshape(*batch, *a.shape[1:]), jax.vmap(run_of)(judged.value))
    )
    if is_concrete(run):
        _warn_of_spread(run, trusted_spread)
        if not batch:
            record["limits"] += of_the_end(run)
    if throw and is_concrete(run.code) and run.result not in (Outcome.SUCCESSFUL, Outcome.UNBOUNDED):
        raise SolveError(f"{run.result.value} (solver {solver}, {int(np.max(run.stats['steps']))} steps)")
    return run


INFO = {
    "L": ("time", "coordinate", "factor"),
    "score_spread": ("time",),
    "t_last": (),
    "mean_last": ("coordinate",),
    "L_last": ("coordinate", "factor"),
    "outcome": (),
    "t_star": (),
    "pole_order": (),
    "t_followed": (),
}


def _many(plan: _Plan, model: GaussianModel, alpha0: Array, L0: Array, numbers: dict[str, Array]) -> dict[str, Array]:
    return jax.vmap(lambda alpha, L: _one(plan, model, alpha, L, numbers))(alpha0, L0)


def _one(
    plan: _Plan,
    model: GaussianModel,
    alpha0: Float[Array, " d"],
    L0: Float[Array, "d r"],
    numbers: dict[str, Array],
) -> dict[str, Array]:
    """The compiled program: saved states, the last state, and how it ended."""
    ts, jumps = numbers["ts"], jump_times(model)
    controller: Any = UntilRoundOff(diffrax.PIDController(rtol=numbers["rtol"], atol=numbers["atol"]))
    # Interpolants are of lower order than these two methods: their steps end at the saved times.
    stops = None if plan.solver == "tsit5" else ts
    if jumps is not None or stops is not None:
        jumps = None if jumps is None else jumps.astype(ts.dtype)
        controller = diffrax.ClipStepSizeController(controller, step_ts=stops, jump_ts=jumps)

    def too_large(t: Any, y: tuple[Array, Array], args: Any, **_: Any) -> Array:
        return (jnp.sum(y[1] ** 2) > numbers["ceiling"]) | (jnp.max(jnp.abs(y[0])) > LARGEST_MEAN[str(y[0].dtype)])

    solution = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, y, _: model.velocity(t, *y)),
        SOLVERS[plan.solver](),
        numbers["t0"],
        numbers["t1"],
        None,
        (alpha0, L0),
        saveat=diffrax.SaveAt(subs=[diffrax.SubSaveAt(ts=ts), diffrax.SubSaveAt(t1=True)]),
        stepsize_controller=controller,
        event=diffrax.Event(too_large),
        max_steps=plan.max_steps,
        adjoint=plan.adjoint,
        throw=False,
    )
    saved: Any = solution.ys
    times: Any = solution.ts
    (xs, Ls), ((last_mean,), (last_L,)), last_t = saved[0], saved[1], times[1][0]
    reached = jnp.isfinite(Ls).all(axis=(1, 2)) & jnp.isfinite(xs).all(axis=1)
    xs, Ls = jnp.where(reached[:, None], xs, jnp.nan), jnp.where(reached[:, None, None], Ls, jnp.nan)
    stopped = solution.result == diffrax.RESULTS.event_occurred
    spread = jax.vmap(lambda t, L: score_spread(at_time(model.attention, t), L))
    return {
        "xs": xs[:, None, :],
        "L": Ls,
        "score_spread": jnp.where(reached, spread(ts, jnp.where(reached[:, None, None], Ls, 0)), jnp.nan),
        "t_last": last_t,
        "mean_last": last_mean,
        "L_last": last_L,
        "trace0": jnp.sum(L0 * L0),
        "stopped": jnp.asarray(stopped),
        "stalled": jnp.asarray(solution.result == diffrax.RESULTS.dt_min_reached),
        "code": solved(solution.result, reached.all()),
        "steps": solution.stats["num_steps"],
    }


def _judged_all(follow: bool, model: GaussianModel, laws: dict[str, Array], start: Array) -> dict[str, Array]:
    return jax.vmap(lambda one: _judged(follow, model, one, start))(laws)


def _judged(follow: bool, model: GaussianModel, law: dict[str, Array], start: Array) -> dict[str, Array]:
    """The rows that are laws, and the outcome; of a stopped flow, the outcome of its continuation."""
    stopped, stalled = law["stopped"], law["stalled"]
    state = law["t_last"], law["mean_last"], law["L_last"]

    def judge(state: Any) -> Ending:
        return ending(model, *state, start=start, trace0=law["trace0"], stopped=stopped, stalled=stalled)

    followed = state
    if follow:
        followed = beyond(model, *state, start=start, follow=stopped | stalled)
        end = gone_on(jax.vmap(judge)(jax.tree.map(lambda *a: jnp.stack(a), state, followed)), followed[0] - start)
    else:
        end = judge(state)
    unbounded = stopped | (end.outcome == BLOW_UP)
    return {
        **law,
        "outcome": end.outcome,
        "t_star": end.t_star,
        "pole_order": end.pole_order,
        "t_followed": followed[0],
        "code": jnp.where(unbounded, Outcome.UNBOUNDED.code, law["code"]),
    }


def _feedforward(pair: Any, d: int) -> tuple[Any, Any]:
    """`W (d, d)` and `b (d,)`, each an array, a schedule or `None`."""
    if pair is None:
        return None, None
    if isinstance(pair, eqx.Module) or _is_matrix(pair):
        pair = (pair, None)
    try:
        W, b = pair
    except (TypeError, ValueError):
        raise InputError(
            f"feedforward is a pair (W, b) of a matrix ({d}, {d}) and a vector ({d},), either of which may be None, or "
            "that matrix alone."
        ) from None
    W, b = parameter("W", W, 2), parameter("b", b, 1)
    for name, value, shape in (("W", W, (d, d)), ("b", b, (d,))):
        if value is not None and not isinstance(value, eqx.Module) and value.shape != shape:
            raise InputError(f"{name} has shape {value.shape} and the law dimension {d}; give {shape}.")
    return W, b


def _is_matrix(value: Any) -> bool:
    """Whether this is one array of two axes: a pair of a matrix and a vector never is."""
    try:
        return np.ndim(value) == 2
    except ValueError:  # of parts with different shapes
        return False


def _warn_of_spread(run: Run, trusted: Number | None) -> None:
    spread = np.asarray(run.info["score_spread"])
    if trusted is not None and np.isfinite(spread).any() and np.nanmax(spread) > trusted:
        warnings.warn(
            f"the score spread |L^T A L| reaches {np.nanmax(spread):.3g}: beyond {trusted:g} a cloud of finitely many "
            "tokens does not follow the Gaussian flow; scale beta or Sigma0 down to compare, or pass "
            "trusted_spread=None.",
            AttnflowWarning,
            stacklevel=3,
        )
