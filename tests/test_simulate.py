"""`simulate`: solvers against theory and SciPy, times, outcomes, programs, memory, restarts, transformations."""

import dataclasses
import functools
import inspect
import os
import subprocess
import sys
import textwrap
from collections import OrderedDict

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import attnflow as af
from attnflow.attention._energy import InteractionEnergy
from attnflow.errors import InputError, SolveError
from attnflow.flows import compiled
from attnflow.flows._force_shape import traced_force
from attnflow.models import AbstractModel
from attnflow.pairsums.native_library import native
from witness import flow, velocity, weyl

X, W = weyl(6, 3), np.arange(1, 7) / 21
EQUAL = np.full(6, 1 / 6)
SA = af.SelfAttention(beta=2.0)
KEY = jax.random.key(0)


class Rate(af.models.AbstractModel):
    """x' = rate * x + drift, a model whose parameters are arrays, in R^d: closed forms without tokens that interact."""

    rate: jax.Array
    space: af.spaces.AbstractSpace
    clock: str = eqx.field(static=True)

    def __init__(self, rate, space=None, clock="t"):
        self.rate, self.space, self.clock = jnp.asarray(rate), af.Euclidean() if space is None else space, clock

    def force(self, t, x, w, *, key=None, kernel="auto"):
        return self.rate.astype(x.dtype) * x


# Solvers -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def exact():
    return flow(X, np.array([0.0, 0.5, 1.0]), W, 2.0)


def errors(solver, steps, exact):
    """The largest error at t = 1 for each number of steps; one program, since dt is data."""
    runs = [af.simulate(SA, X, ts=[0.5, 1.0], weights=W, solver=solver, dt=1 / n) for n in steps]
    for run, n in zip(runs, steps, strict=True):
        assert run.stats["steps"] == n and run.stats["rejected"] == 0
    return np.array([np.abs(run.xs - exact[1:]).max() for run in runs])


@pytest.mark.parametrize("solver, order, steps", [("euler", 1, (20, 40, 80)), ("rk4", 4, (10, 20, 40))])
def test_order_of_convergence(solver, order, steps, exact):
    e = errors(solver, steps, exact)
    orders = np.log2(e[:-1] / e[1:])
    np.testing.assert_allclose(orders, order, rtol=0, atol=0.15 * order)
    assert e[-1] < {"euler": 0.02, "rk4": 1e-6}[solver]


def test_euler_retract_is_the_authors_scheme(exact):
    """x <- (x + h A)/|x + h A| with A not projected, by a NumPy loop; it is another scheme than projected Euler."""
    h, x = 0.1, X.copy()
    states = [x]
    for _ in range(10):
        for_all = velocity(x, W, 2.0, sphere=False)
        x = x + h * for_all
        x = x / np.linalg.norm(x, axis=1)[:, None]
        states.append(x)
    run = af.simulate(SA, X, ts=[0.5, 1.0], weights=W, solver="euler-retract", dt=h)
    np.testing.assert_allclose(run.xs, [states[5], states[10]], rtol=0, atol=1e-12)
    assert run.stats["steps"] == 10
    retract, euler = run.xs[-1], af.simulate(SA, X, ts=[0.5, 1.0], weights=W, solver="euler", dt=h).xs[-1]
    assert np.abs(retract - euler).max() > 1e-3  # the difference is visible
    assert np.abs(retract - exact[-1]).max() < 0.1


@pytest.mark.parametrize("solver", ["tsit5", "dopri8"])
def test_adaptive_solvers_against_scipy(solver, exact):
    """Default tolerances give 8 digits at every saved time, steps or not; tighter ones give more."""
    ts = np.array([0.5, 1.0])
    usual = af.simulate(SA, X, ts=ts, weights=W, solver=solver)
    assert np.abs(usual.xs - exact[1:]).max() < 2e-9
    loose = af.simulate(SA, X, ts=ts, weights=W, solver=solver, rtol=1e-4, atol=1e-6)
    tight = af.simulate(SA, X, ts=ts, weights=W, solver=solver, rtol=1e-12, atol=1e-13)
    assert np.abs(tight.xs - exact[1:]).max() < 1e-11 < np.abs(loose.xs - exact[1:]).max() < 1e-3
    assert loose.stats["steps"] < usual.stats["steps"] < tight.stats["steps"]


def test_a_field_of_your_own_against_scipy():
    """`Flow` with time in it, on the sphere, where it is projected."""

    def fn(t, x, w):
        return jnp.stack([jnp.cos(t) * x[:, 1], -x[:, 0] + t], axis=1)

    x0 = np.array([[1.0, 0.0], [0.6, 0.8]])

    def rhs(t, flat):
        x = flat.reshape(2, 2)
        v = np.stack([np.cos(t) * x[:, 1], -x[:, 0] + t], axis=1)
        return (v - np.sum(v * x, axis=1)[:, None] * x).ravel()

    witness = solve_ivp(rhs, (0.5, 2.0), x0.ravel(), "DOP853", [1.0, 2.0], rtol=1e-12, atol=1e-13).y.T
    run = af.simulate(af.Flow(fn, af.Sphere(), clock="mine"), x0, t0=0.5, ts=[1.0, 2.0])
    np.testing.assert_allclose(run.xs.reshape(2, 4), witness, rtol=0, atol=1e-8)
    assert run.clock == "mine"


def turning(t, x, w):
    """The first token goes round the origin with angular velocity 5; the others rest."""
    first = (jnp.arange(x.shape[0]) == 0)[:, None]
    return jnp.where(first, 5 * jnp.stack([x[:, 1], -x[:, 0]], axis=1), 0)


def test_one_moving_token_among_many_is_resolved_as_if_alone():
    """The error is that of the worst token, whatever its weight: a mean would allow it sqrt(n) times as much."""
    model, options = af.Flow(turning, af.Euclidean()), {"t1": 10.0, "save": 2, "rtol": 1e-6, "atol": 1e-9}
    w = np.append(0.0, np.full(399, 1 / 399))
    alone = af.simulate(model, [[1.0, 0.0]], **options)
    among = af.simulate(model, np.tile([[1.0, 0.0]], (400, 1)), weights=w, **options)
    exact = np.array([np.cos(50.0), -np.sin(50.0)])
    errors = [np.abs(run.xs[-1, 0] - exact).max() for run in (alone, among)]
    assert int(among.stats["steps"]) == int(alone.stats["steps"])
    assert errors[1] == pytest.approx(errors[0], rel=1e-3) and errors[0] < 1e-5


# Times ---------------------------------------------------------------------------------------------------------------

DECAY = Rate(-1.0)
ONE = np.ones((1, 1))


def test_times_to_keep():
    """save=, ts=, t0: which times are kept, and that each state belongs to its time (closed form e^-(t - t0))."""
    whole = af.simulate(DECAY, ONE, t1=2.0, solver="rk4", dt=0.02)
    np.testing.assert_array_equal(whole.ts, np.linspace(0, 2, 201))
    np.testing.assert_allclose(whole.xs[:, 0, 0], np.exp(-whole.ts), rtol=1e-8)
    few = af.simulate(DECAY, ONE, t0=-1.0, t1=2.0, save=4)
    np.testing.assert_array_equal(few.ts, [-1.0, 0.0, 1.0, 2.0])
    np.testing.assert_allclose(few.xs[:, 0, 0], np.exp(-1 - np.asarray(few.ts)), rtol=1e-8)
    irregular = af.simulate(DECAY, ONE, t0=0.5, ts=[0.6, 0.61, 3.0, 4.0])
    np.testing.assert_allclose(irregular.xs[:, 0, 0], np.exp(0.5 - np.asarray(irregular.ts)), rtol=1e-8)
    longer = af.simulate(DECAY, ONE, t1=9.0, ts=[1.0, 1.5, 2.0, 3.0])  # the flow goes on to t1, kept or not
    assert longer.stats["steps"] > irregular.stats["steps"]
    assert longer.provenance["options"]["t1"] == 9.0
    np.testing.assert_allclose(longer.xs[-1, 0, 0], np.exp(-3.0), rtol=1e-8)


def test_fixed_steps_between_saved_times():
    """Steps of dt from t0, the last one shortened; saved times need not be steps and keep the method's order."""
    run = af.simulate(DECAY, ONE, t1=1.05, ts=[0.333, 0.97, 1.01, 1.05], solver="rk4", dt=0.1)
    assert run.stats["steps"] == 11
    np.testing.assert_allclose(run.xs[:, 0, 0], np.exp(-np.asarray(run.ts)), rtol=2e-6)
    euler = af.simulate(DECAY, ONE, t0=1.0, ts=[1.1, 1.2, 2.0, 2.05], solver="euler", dt=0.1)
    steps = [0.9, 0.9**2, 0.9**10, 0.9**10 * 0.95]
    np.testing.assert_allclose(euler.xs[:, 0, 0], steps, rtol=1e-13)


@pytest.mark.parametrize("solver, options", [("tsit5", {}), ("rk4", {"dt": 0.01})])
def test_late_clocks_do_not_shorten_or_lengthen_a_run(solver, options):
    """In float32, where 10^4 + 0.3 is off by 5e-4: the flow runs as long as it should (closed form e^-(t - t0))."""
    for t0 in (1e4, -3e3):
        one = np.ones((1, 1), np.float32)
        run = af.simulate(DECAY, one, t0=t0, t1=t0 + 0.3, save=2, solver=solver, **options)
        np.testing.assert_allclose(run.xs[-1, 0, 0], np.exp(-0.3), rtol=2e-6)
        assert run.ts.dtype == jnp.float32


@pytest.mark.parametrize("t0, t1", [(1e8, 1e8 + 1), (1e6, 1e6 + 0.1), (-1e6, -1e6 + 0.1)])
@pytest.mark.parametrize("options", [{}, {"save": 1}, {"save": 2, "solver": "rk4", "dt": 0.05}])
def test_times_that_a_clock_cannot_hold_are_refused(t0, t1, options):
    with pytest.raises(InputError, match=r"float32 cannot tell the times .* apart; .*precision\('float64'\)\.$"):
        af.simulate(DECAY, np.ones((1, 1), np.float32), t0=t0, t1=t1, **options)
    run = af.simulate(DECAY, ONE, t0=t0, t1=t1, save=2)  # float64 can
    np.testing.assert_allclose(run.xs[-1, 0, 0], np.exp(t0 - t1), rtol=1e-7)


def test_clocks_of_laws_and_of_layers_are_looked_at_too():
    one = np.ones((1, 1), np.float32)
    with jax.enable_x64(False), pytest.raises(InputError, match=r"float32 cannot tell the times .* apart"):
        af.mean_field(SA, lambda angle: np.exp(np.cos(angle)), t0=1e8, t1=1e8 + 1)
    with pytest.raises(InputError, match=r"float32 cannot tell the times .* apart"):
        af.gaussian.flow(af.Softmax(1.0), one[0], 0.1 * one, t0=1e6, t1=1e6 + 0.1, save=2)
    with pytest.raises(InputError, match=r"float32 cannot tell the times .* apart"):
        af.simulate(af.HardmaxLayers(alpha=1.0), one, t0=10**8, t1=10**8 + 3, solver="layers")


def test_first_state_is_the_given_one():
    run = af.simulate(SA, 1.00005 * X, ts=[0.0, 1.0], weights=W)  # norms within 1e-4 of one are mended
    np.testing.assert_allclose(run.xs[0], X, rtol=0, atol=1e-15)


def test_long_runs_stay_on_the_sphere():
    for solver in ("tsit5", "rk4", "euler"):
        options = {} if solver == "tsit5" else {"dt": 0.1}
        run = af.simulate(SA, X, ts=[0.5, 300.0], weights=W, solver=solver, **options)
        np.testing.assert_allclose(np.linalg.norm(run.xs, axis=-1), 1.0, rtol=0, atol=1e-10)


# Outcomes ------------------------------------------------------------------------------------------------------------


class Quadratic(af.models.AbstractModel):
    """x' = x^2: from 1 it blows up at t = 1, x = 1/(1 - t)."""

    space: af.spaces.AbstractSpace
    clock: str = eqx.field(static=True)

    def __init__(self, space=None, clock="t"):
        self.space, self.clock = af.Euclidean() if space is None else space, clock

    def force(self, t, x, w, *, key=None, kernel="auto"):
        return x**2


def test_blow_up_is_an_outcome():
    """STALLED with an adaptive solver; what was reached is kept, the rest is NaN; or an error that says so."""
    ts = [0.5, 0.9, 1.5, 2.0]
    run = af.simulate(Quadratic(), ONE, ts=ts, throw=False)
    assert run.result is af.Outcome.STALLED
    np.testing.assert_allclose(run.xs[:2, 0, 0], [2.0, 10.0], rtol=1e-6)
    assert np.isnan(run.xs[2:]).all()
    with pytest.raises(SolveError, match=r"shrank to round-off .*solver tsit5"):
        af.simulate(Quadratic(), ONE, ts=ts)


def test_overflow_with_fixed_steps_is_an_outcome():
    run = af.simulate(Quadratic(), ONE, ts=[0.5, 0.9, 5.0, 9.0], solver="euler", dt=0.01, throw=False)
    assert run.result is af.Outcome.NOT_FINITE
    assert np.isfinite(run.xs[:2]).all() and np.isnan(run.xs[2:]).all()
    with pytest.raises(SolveError, match="infinite or not-a-number"):
        af.simulate(Quadratic(), ONE, ts=[0.5, 0.9, 5.0, 9.0], solver="euler", dt=0.01)


def test_too_few_steps_are_an_outcome():
    run = af.simulate(SA, X, ts=[0.01, 30.0], weights=W, max_steps=5, throw=False)
    assert run.result is af.Outcome.MAX_STEPS and run.stats["steps"] == 5
    assert np.isfinite(run.xs[0]).all() and np.isnan(run.xs[1]).all()
    with pytest.raises(SolveError, match=r"max_steps steps before the final time.*5 steps"):
        af.simulate(SA, X, ts=[0.01, 30.0], weights=W, max_steps=5)
    assert all(outcome.value.endswith(".") for outcome in af.Outcome)


def test_one_bad_realisation_does_not_stop_the_others():
    """Under vmap nothing is raised: outcomes are data, one per realisation."""
    starts = jnp.array([[[0.1]], [[1.0]], [[0.2]]])
    runs = jax.vmap(lambda x: af.simulate(Quadratic(), x, ts=jnp.array([0.5, 2.0])))(starts)
    codes = [list(af.Outcome)[int(c)] for c in runs.code]
    assert codes == [af.Outcome.SUCCESSFUL, af.Outcome.STALLED, af.Outcome.SUCCESSFUL]
    np.testing.assert_allclose(runs.xs[0, :, 0, 0], [0.1 / 0.95, 0.1 / 0.8], rtol=1e-8)
    assert np.isnan(runs.xs[1, 1]).all() and runs.result is af.Outcome.STALLED


# Programs and memory -------------------------------------------------------------------------------------------------

TRACES = []


class Counted(af.models.AbstractModel):
    """Softmax attention that notes, in Python, every time it is traced."""

    model: AbstractModel
    space: af.spaces.AbstractSpace
    clock: str = eqx.field(static=True)

    def __init__(self, model, space=None, clock="SA"):
        self.model, self.space, self.clock = model, af.Sphere() if space is None else space, clock

    def force(self, t, x, w, *, key=None, kernel="auto"):
        TRACES.append(x.shape)
        return self.model.force(t, x, w, key=key, kernel=kernel)


def test_new_values_do_not_recompile():
    """beta, matrices, tokens, weights, times and tolerances are data; shapes and flags are the program."""

    def run(beta, x=X, V=None, **options):
        matrix = np.eye(3) if V is None else V
        model = Counted(af.SelfAttention(af.Softmax(beta=beta, V=matrix)))
        return af.simulate(model, x, **{"ts": [0.5, 1.0], "weights": W, **options})

    TRACES.clear()
    first = run(2.0)
    assert first.stats["compile_seconds"] > 0 and first.stats["run_seconds"] > 0
    traced = len(TRACES)
    assert traced > 0
    for again in (
        run(3.0), run(7), run(2.0, V=2 * np.eye(3)), run(2.0, weyl(8, 3)[2:]), run(2.0, weights=EQUAL),
        run(2.0, ts=[1.0, 3.0]), run(2.0, t0=0.1), run(2.0, rtol=1e-6),
    ):  # fmt: skip
        assert again.stats["compile_seconds"] == 0 and len(TRACES) == traced
    assert np.abs(run(3.0).xs - first.xs).max() > 1e-2  # and the new value is used
    other = run(2.0, weyl(7, 3), weights=None)
    assert other.stats["compile_seconds"] > 0 and len(TRACES) > traced


def test_energy_does_not_recompile():
    """Nor does a diagnostic: traces are counted in the map's own energy."""
    traced = []

    class WatchedEnergy(InteractionEnergy):
        def value(self, *cloud, **options):
            traced.append(options["scale"])
            return super().value(*cloud, **options)

    class Watched(af.Softmax):
        def energy(self, space):
            return WatchedEnergy(self.score, self.V, self.reduce, True)

    run = af.simulate(SA, X, ts=[0.5, 1.0], weights=W)
    values = [
        af.energy(dataclasses.replace(run, model=af.SelfAttention(Watched(beta=beta)), xs=run.xs + 0))
        for beta in (2.0, 3.0, 4.0)
    ]
    assert len(traced) == 1 and len({float(v[0]) for v in values}) == 3
    np.testing.assert_array_equal(values[0], af.energy(run))


def program_memory(steps, save, n=64):
    """Bytes of temporaries and of output of the compiled program of `steps` Euler steps that keeps `save` states."""
    run = af.simulate(
        SA, weyl(n, 3), t1=1.0, ts=np.linspace(0, 1, save), solver="euler", dt=1 / steps, max_steps=steps + 1
    )
    assert run.stats["compile_seconds"] > 0 and run.stats["steps"] == steps
    analysis = next(reversed(compiled._PROGRAMS.values())).value.memory_analysis()
    return analysis.temp_size_in_bytes, analysis.output_size_in_bytes


def test_memory_is_bounded_by_what_is_saved():
    """The compiled program needs as much for 100,000 steps as for 100, and an output of the states kept."""
    short, out = program_memory(steps=100, save=2)
    long, long_out = program_memory(steps=100_000, save=2)
    assert long <= short + 4096 and long_out == out
    state = 64 * 3 * 8
    assert 2 * state <= out < 2 * state + 4096
    more, more_out = program_memory(steps=100, save=200)
    assert 198 * state <= more_out - out < 198 * state + 8192
    assert more - short < 3 * 198 * state  # temporaries grow with the states kept at most


DOUBLED = {name: functools.partial(jnp.multiply, 2.0) for name in "abc"}


def test_the_program_cache_is_bounded(monkeypatch):
    """What was not used for longest is dropped."""
    monkeypatch.setattr(compiled, "_PROGRAMS", OrderedDict())
    monkeypatch.setattr(compiled, "_CAPACITY", 2)
    ran = []
    for name in "abcacb":
        ran.append((name, compiled.timed_call(DOUBLED[name], jnp.ones(2)).compile_seconds > 0))
        assert len(compiled._PROGRAMS) <= 2
    assert ran == [("a", True), ("b", True), ("c", True), ("a", True), ("c", False), ("b", True)]


# Schedules -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver, options, tolerance", [("tsit5", {}, 1e-8), ("rk4", {"dt": 0.025}, 1e-7)])
def test_piecewise_parameters_are_consecutive_runs(solver, options, tolerance):
    """A jump of beta (and of V) at t = 0.4 is two runs, one after the other."""
    V = np.stack([np.eye(3), np.diag([1.0, -0.5, 2.0])])
    schedule = af.SelfAttention(af.Softmax(beta=af.Piecewise([0.4], [1.0, 6.0]), V=af.Piecewise([0.4], V)))
    run = af.simulate(schedule, X, ts=[0.4, 1.0], weights=W, solver=solver, **options)
    first = flow(X, np.array([0.0, 0.4]), W, 1.0, V=V[0])[-1]
    second = flow(first, np.array([0.4, 1.0]), W, 6.0, V=V[1])[-1]
    np.testing.assert_allclose(run.xs, [first, second], rtol=0, atol=tolerance)
    # The same later, where the time of a jump and the time since the start round differently.
    late = af.SelfAttention(af.Softmax(beta=af.Piecewise([700.7], [1.0, 6.0]), V=af.Piecewise([700.7], V)))
    run = af.simulate(late, X, t0=700.3, ts=[700.7, 701.3], weights=W, solver=solver, **options)
    np.testing.assert_allclose(run.xs, [first, second], rtol=0, atol=tolerance)


def test_piecewise_values():
    schedule = af.Piecewise([1.0, 2.0], [10.0, 20.0, 30.0])
    assert [float(schedule(t)) for t in (0.0, 0.999, 1.0, 1.5, 2.0, 9.0)] == [10, 10, 20, 20, 30, 30]


# Restarts, meshes, progress ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver, options", [("tsit5", {}), ("rk4", {"dt": 0.05}), ("euler-retract", {"dt": 0.05})])
def test_restart_continues(solver, options):
    whole = af.simulate(SA, X, ts=[1.0, 2.0], weights=W, solver=solver, **options)
    first = af.simulate(SA, X, ts=[0.5, 1.0], weights=W, solver=solver, **options)
    second = first.restart(ts=[1.5, 2.0])
    assert second.provenance["options"]["solver"] == solver and second.provenance["options"]["t0"] == 1.0
    np.testing.assert_array_equal(second.ts, [1.5, 2.0])
    np.testing.assert_array_equal(second.weights, first.weights)
    np.testing.assert_allclose(second.xs[-1], whole.xs[-1], rtol=0, atol=1e-8)


def test_restart_keeps_the_options():
    """Kernel, number of saved times, throw: a restart keeps the options of the run, unless it sets others."""
    options = {"kernel": "broadcast", "save": 3, "throw": False, "max_steps": 77, "rtol": 1e-7, "atol": 1e-8}
    first = af.simulate(SA, X, t1=1.0, weights=W, **options)
    second = first.restart(t1=2.0)
    kept = second.provenance["options"]
    assert kept["kernel"] == "broadcast" and second.xs.shape[0] == 3
    assert {k: kept[k] for k in options if k != "kernel"} == {k: v for k, v in options.items() if k != "kernel"}
    other = first.restart(ts=[1.5, 2.0], kernel="dense", throw=True)
    assert other.provenance["options"]["kernel"] == "dense" and other.xs.shape[0] == 2
    np.testing.assert_allclose(other.xs[-1], second.xs[-1], rtol=0, atol=1e-6)


def test_an_unfinished_run_reports_how_far_it_came():
    unfinished = af.simulate(SA, X, ts=[0.01, 30.0], weights=W, max_steps=5, throw=False)
    with pytest.raises(InputError, match=r"not finite, since it ended early \(MAX_STEPS\).*run\.at\(t=0\.01\)\.$"):
        unfinished.restart(t1=40.0)
    with pytest.raises(InputError, match=r"kept from 0\.01 to 0\.01"):
        unfinished.at(0.02)
    nothing = af.simulate(SA, X, ts=[20.0, 30.0], weights=W, max_steps=5, throw=False)
    with pytest.raises(InputError, match=r"reached none of its saved times.*\.$"):
        nothing.restart(t1=40.0)


# Between saved times -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("solver, options, tolerance", [("tsit5", {}, 2e-9), ("rk4", {"dt": 0.02}, 1e-7)])
def test_the_state_at_any_time(solver, options, tolerance):
    """As accurate as the run, however few times it keeps; a saved time gives its row, to the last digit."""
    run = af.simulate(SA, X, t0=0.5, ts=[0.5, 1.5, 3.5], weights=W, solver=solver, **options)
    ts = np.array([0.7, 1.4999, 2.2])
    exact = flow(X, np.append(0.0, ts - 0.5), W, 2.0)[1:]
    np.testing.assert_allclose(np.stack([run.at(t) for t in ts]), exact, rtol=0, atol=tolerance)
    np.testing.assert_array_equal(run.at(t=1.5), run.xs[1])
    np.testing.assert_allclose(np.linalg.norm(run.at(0.7), axis=-1), 1, rtol=0, atol=1e-12)


def test_times_that_a_run_does_not_have():
    run = af.simulate(SA, X, ts=[0.5, 1.0], weights=W)
    for arguments, sentence in [
        ({"t": 0.4}, "t = 0.4 is outside of this run, which is kept from 0.5 to 1"),
        ({"t": 1.1}, "outside"),
        ({"t": np.nan}, "outside"),
        ({"log_t": 0.0}, "has no log_ts"),
        ({}, "needs one time"),
    ]:
        with pytest.raises(InputError, match=sentence):
            run.at(**arguments)
    with pytest.raises(InputError, match=r"carries no model.*saved time"):
        dataclasses.replace(run, model=None).at(0.7)


def test_layers_have_no_time_between_them():
    run = af.simulate(SA, X, t1=1.0, solver="layers", dt=0.1, save=3)
    whole = af.simulate(SA, X, t1=1.0, solver="layers", dt=0.1)
    np.testing.assert_allclose(run.at(t=0.7), whole.xs[7], rtol=0, atol=1e-14)
    with pytest.raises(InputError, match="between two layers"):
        run.at(t=0.75)


def test_restart_with_another_solver():
    first = af.simulate(SA, X, ts=[0.5, 1.0], weights=W, solver="rk4", dt=0.05)
    second = first.restart(ts=[1.5, 2.0], solver="tsit5")
    assert second.provenance["options"]["rtol"] == 1e-9 and "dt" not in second.provenance["options"]


def python(code, **environment):
    """Run a script in a process of its own, with the library but without the test suite's settings."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True, text=True, timeout=120, env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def test_mesh_shares_the_tokens():
    """Two (forced) devices: the same trajectory, from sharded tokens; uneven sharing is refused."""
    python(
        """
        import jax, numpy as np, attnflow as af
        af.precision("float64")
        assert jax.device_count() == 2
        mesh = jax.make_mesh((2,), ("tokens",), axis_types=(jax.sharding.AxisType.Auto,))
        x0, w = af.sphere.weyl(n=6, d=3), np.arange(1, 7) / 21
        model = af.SelfAttention(beta=2.0)
        alone = af.simulate(model, x0, ts=[0.5, 1.0], weights=w)
        shared = af.simulate(model, x0, ts=[0.5, 1.0], weights=w, mesh=mesh)
        np.testing.assert_allclose(shared.xs, alone.xs, rtol=0, atol=1e-10)
        assert shared.stats["compile_seconds"] > 0
        again = shared.restart(ts=[1.5, 2.0])
        assert shared.provenance["options"]["devices"] == again.provenance["options"]["devices"] == 2
        try:
            af.simulate(model, x0, t1=1.0, mesh=2)
        except af.errors.InputError as error:
            assert "mesh = 2 is no device mesh" in str(error)
        else:
            raise AssertionError
        try:
            af.simulate(model, x0[:5], t1=1.0, mesh=mesh)
        except af.errors.InputError as error:
            assert "5 tokens" in str(error) and str(error).endswith(".")
        else:
            raise SystemExit("uneven sharing was accepted")
        """,
        XLA_FLAGS="--xla_force_host_platform_device_count=2",
    )


def test_progress_goes_to_standard_error():
    done = python(
        """
        import attnflow as af
        run = af.simulate(af.SelfAttention(beta=2.0), af.sphere.weyl(n=4, d=3), t1=1.0, progress=True)
        print(run.result.name)
        """,
        TTY_COMPATIBLE="1", FORCE_COLOR="1",
    )  # fmt: skip
    assert done.stdout == "SUCCESSFUL\n"
    assert "integrating" in done.stderr or "compiling" in done.stderr


# Transformations -----------------------------------------------------------------------------------------------------


def test_vmap_over_models_and_tokens_equals_a_loop():
    """A Run is a pytree: it comes out of vmap and jit whole, with its clock, and diagnostics go on from there."""
    betas, clouds = np.array([0.5, 2.0, 5.0]), np.stack([weyl(8, 3)[2:], X, X[::-1]])

    def run(beta, x):
        return af.simulate(af.SelfAttention(beta=beta), x, ts=np.array([0.5, 1.0]), weights=W)

    batch = jax.jit(jax.vmap(run))(betas, jnp.asarray(clouds))
    assert batch.xs.shape == (3, 2, 6, 3) and batch.clock == "SA" and "Run(" in repr(batch)
    single = np.stack([run(b, x).xs for b, x in zip(betas, clouds, strict=True)])
    np.testing.assert_allclose(batch.xs, single, rtol=0, atol=1e-8)
    second = jax.tree.map(lambda a: a[1], batch)
    assert second.result is af.Outcome.SUCCESSFUL and "6 tokens" in repr(second)
    alone = run(2.0, X)
    np.testing.assert_allclose(af.energy(second), af.energy(alone), rtol=1e-8)
    np.testing.assert_allclose(second.restart(ts=[1.5, 2.0]).xs, alone.restart(ts=[1.5, 2.0]).xs, rtol=0, atol=1e-8)
    for call in (lambda: batch.save("/nowhere/run.nc"), batch.to_xarray, lambda: batch.restart(t1=2.0)):
        with pytest.raises(InputError, match=r"a batch of runs, of shape \(3,\); take one, .*\.$"):
            call()


def test_gradient_in_time_and_tolerance_free_quantities():
    """d/dt1 of the final state is the velocity; d/dx0 of a linear flow is e^{rate t}: closed forms for reverse mode."""

    def final(t1, rate, x):
        run = af.simulate(Rate(rate), x, t0=0.0, t1=t1, save=1)
        return run.xs[0, 0, 0], run.ts

    gradient = jax.jit(jax.value_and_grad(final, argnums=(0, 1, 2), has_aux=True))
    (value, ts), (d_time, d_rate, d_x) = gradient(1.5, -0.7, jnp.array([[2.0]]))
    np.testing.assert_array_equal(ts, [1.5])  # save=1 keeps the end alone
    np.testing.assert_allclose(value, 2 * np.exp(-1.05), rtol=1e-8)
    np.testing.assert_allclose(d_time, -0.7 * 2 * np.exp(-1.05), rtol=1e-7)
    np.testing.assert_allclose(d_rate, 1.5 * 2 * np.exp(-1.05), rtol=1e-7)
    np.testing.assert_allclose(d_x[0, 0], np.exp(-1.05), rtol=1e-7)


def test_single_precision_runs():
    """float32 tokens: a float32 run, at its own tolerances, near the float64 one."""
    run = af.simulate(SA, X.astype(np.float32), ts=[0.5, 1.0], weights=W)
    assert run.xs.dtype == run.ts.dtype == run.weights.dtype == jnp.float32
    assert run.provenance["options"]["rtol"] == 1e-5 and run.provenance["options"]["dtype"] == "float32"
    np.testing.assert_allclose(run.xs, flow(X, np.array([0.0, 0.5, 1.0]), W, 2.0)[1:], rtol=0, atol=1e-4)
    assert af.energy(run).dtype == jnp.float32


def test_numpy_arrays_in_a_model():
    """A user's own model may hold NumPy arrays; they are data, like ours."""
    rates = [Rate(-1.0), Rate(-2.0)]
    for k, model in enumerate(rates):
        object.__setattr__(model, "rate", np.asarray(-1.0 - k))
    runs = [af.simulate(model, ONE, t1=1.0, save=3) for model in rates]
    np.testing.assert_allclose([run.xs[-1, 0, 0] for run in runs], np.exp([-1.0, -2.0]), rtol=1e-8)
    assert runs[1].stats["compile_seconds"] == 0


def test_a_map_is_no_model():
    """Also without the type checks of this test suite."""
    with pytest.raises(InputError, match=r"Softmax is no model; an attention map becomes one .*\.$"):
        inspect.unwrap(af.simulate)(af.Softmax(beta=1.0), X, t1=1.0)


def test_provenance_names_the_engine_that_ran():
    """The engine that summed over pairs: a kernel that does not support a map leaves it to another engine."""
    x = weyl(12, 3)
    maps = {"sigmoid": af.Sigmoid(beta=1.0), "linear": af.Linear(), "hardmax": af.Hardmax(), "softmax": af.Softmax(2.0)}
    models = {name: af.SelfAttention(a) for name, a in maps.items()} | {"own": af.Flow(lambda t, x, w: -x, af.Sphere())}
    usual = "native" if native().ready else "dense"
    provenance = af.simulate(models["sigmoid"], x, ts=[0.1], solver="euler", dt=0.1).provenance
    options = provenance["options"]
    assert options["kernel"] == "dense" and options["kernel_requested"] == "auto"
    assert provenance["engine"]["ran"] == "dense" and provenance["engine"]["requested"] == "auto"
    passed_over = provenance["engine"]["passed over"]
    assert set(passed_over) == {"blocked", "broadcast", "direct", "native", "sharded", "spectral"}
    assert passed_over["spectral"] == "they are for exponentials of the score, reduce='softmax' or 'exp'"
    assert passed_over["broadcast"] == "slower here, about 4 times"
    expected = {"sigmoid": "dense", "hardmax": "dense", "softmax": usual, "linear": None, "own": None}
    forces = {name: traced_force("auto", m, 0.0, jnp.asarray(x), None, None) for name, m in models.items()}
    assert {name: force.engines for name, force in forces.items()} == expected
    for kernel in ("blocked", "broadcast", "dense"):
        assert traced_force(kernel, models["sigmoid"], 0.0, jnp.asarray(x), None, None)[:2] == (kernel, {})


def test_errors_of_a_users_own_field_are_shown():
    """Unchanged, with their traceback; shapes that do not fit our models, and wrong results, are a sentence."""

    def broken(t, x, w):
        return len(t)

    def misfit(t, x, w):
        return x @ jnp.ones((7, 7))

    class Own(Rate):
        def force(self, t, x, w, *, key=None, kernel="auto"):
            return x + "text"

    for model in (af.Flow(broken), af.Flow(misfit), Own(1.0)):
        with pytest.raises(TypeError) as caught:
            af.simulate(model, X, t1=1.0)
        assert not isinstance(caught.value, InputError)
        names = [entry.name for entry in caught.traceback]
        assert {"broken", "misfit", "force"} & set(names)

    class Short(Rate):
        def force(self, t, x, w, *, key=None, kernel="auto"):
            return x[:1]

    with pytest.raises(InputError, match=r"force has shape \(1, 3\) and the tokens have shape \(6, 3\).*\.$"):
        af.simulate(Short(1.0), X, t1=1.0)
    with pytest.raises(ZeroDivisionError):
        af.ensemble(
            SA,
            lambda key: jnp.asarray(X),
            realizations=2,
            ts=[1.0],
            reduce=af.flows.Mean(lambda t, x, w: 1 / 0),
            key=KEY,
        )


def test_tokens_too_long_to_be_squared():
    """One layer x <- (x + h V m)/|x + h V m| with V so large that squares overflow, against logarithms in NumPy."""
    V = np.diag([1.0, 0.5, 0.25])
    for dtype, size in ((np.float32, 1e20), (np.float64, 1e200)):
        model = af.SelfAttention(af.Softmax(beta=dtype(1.0), V=(size * V).astype(dtype)))
        run = af.simulate(model, X.astype(dtype), ts=[1.0], solver="layers", dt=1.0)
        P = np.exp(X @ X.T)
        moved = (P / P.sum(axis=1)[:, None]) @ X @ V.T  # x itself is below rounding
        np.testing.assert_allclose(run.xs[-1], moved / np.linalg.norm(moved, axis=1)[:, None], rtol=0, atol=2e-6)
        assert run.result is af.Outcome.SUCCESSFUL
    # A token that lands on the origin is no point of the sphere.
    back = af.Flow(lambda t, x, w: -x, af.Sphere())
    run = af.simulate(back, X, ts=[1.0], solver="layers", dt=1.0, throw=False)
    assert run.result is af.Outcome.NOT_FINITE and np.isnan(run.xs).all()


def test_causal_pairs_in_a_model():
    """The first token of a causal model sees itself alone and stands still; the second, the first two; and so on."""
    run = af.simulate(af.SelfAttention(af.Softmax(beta=2.0), pairs=af.Causal()), X, ts=[0.5, 1.0])
    np.testing.assert_allclose(run.xs[-1, 0], X[0], rtol=0, atol=1e-14)

    def rhs(t, flat):
        x = flat.reshape(6, 3)
        v = np.zeros_like(x)
        for i in range(6):
            v[i] = velocity(x[: i + 1], np.full(i + 1, 1 / (i + 1)), 2.0)[i]
        return v.ravel()

    witness = solve_ivp(rhs, (0, 1), X.ravel(), "DOP853", [0.5, 1.0], rtol=1e-12, atol=1e-13).y.T
    np.testing.assert_allclose(run.xs.reshape(2, -1), witness, rtol=0, atol=1e-8)
    with pytest.raises(af.errors.InputError, match=r"no energy.*sees all\.$"):
        af.energy(run)


@pytest.mark.parametrize("solver", ["euler", "euler-retract"])
@pytest.mark.parametrize("attention", [af.Softmax(1.0), af.Sinkhorn(1.0)])
def test_the_last_of_eulers_steps_is_looked_at(attention, solver):
    """One step of 100 throws the tokens far past each other, and no later step would show it."""
    x0 = af.sphere.uniform(n=5, d=2, key=jax.random.key(0))
    run = af.simulate(af.SelfAttention(attention), x0, t1=100.0, solver=solver, dt=100.0, save=1, throw=False)
    assert run.result is af.Outcome.COARSE_STEPS and not run.ok
