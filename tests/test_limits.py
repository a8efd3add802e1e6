"""The limits that an answer reports: below rounding, metastable, steps too long, growth stored apart, NaN.

Runs of two tokens share their shape, and with it their programs.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

import attnflow as af
from attnflow.errors import AttnflowWarning, InputError, SolveError

P, Q, U0, BETA = 0.3, 0.7, 2.0, 30.0
W = np.array([P, Q])
EPS = np.sqrt(2e-3)


def on_circle(angles):
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


PAIR = on_circle([0.1, 2.1])
SA = af.SelfAttention(beta=BETA)


def go(model, x, t1, **options):
    return af.simulate(model, x, t1=t1, **{"save": 3, "weights": W.astype(x.dtype), **options})


def waiting(beta, p, u0, unit=1.0):
    """The time until two clusters are at the chord EPS, by SciPy's quadrature of du/dt (theory/01, two clusters)."""

    def slowness(u):
        k, q = np.exp(-2 * beta * np.sin(u / 2) ** 2), 1 - p
        return 1 / (np.sin(u) * k * (q / (p + q * k) + p / (q + p * k)))

    return quad(slowness, 2 * np.arcsin(EPS / 2), u0, epsrel=1e-10, limit=200)[0] * unit


# Below rounding ----------------------------------------------------------------------------------------------------


def test_a_drift_below_rounding_is_reported_and_long_time_is_recommended():
    with pytest.warns(AttnflowWarning, match="below the rounding of its velocities.*long_time"):
        run = go(SA, PAIR, 1e20)
    assert run.result is af.Outcome.BELOW_ROUNDING and "long_time" in run.sentence and run.sentence in repr(run)
    result = af.clusters(run, at=-1)
    assert result.state == "below rounding" and result.converged is False
    assert "long_time" in str(result) and "at rest" not in str(result) and "long_time" in result.limits[0]
    assert af.clusters(run).state.tolist() == ["below rounding"] * 3
    # Shorter than the wait, yet longer than what the tokens can hold: the state is a metastable one, and known.
    early = go(SA, PAIR, 1e12, throw=False)
    assert early.result is af.Outcome.BELOW_ROUNDING
    result = af.clusters(early, at=-1)
    assert result.state == "metastable" and result.converged is False and result.limits
    np.testing.assert_allclose(result.time, waiting(BETA, P, U0), rtol=1e-3)
    np.testing.assert_allclose(result.time, 4.0005e16, rtol=1e-3)
    k = np.exp(-2 * BETA * np.sin(U0 / 2) ** 2)
    np.testing.assert_allclose(result.speed, np.sin(U0) * k * Q / (P + Q * k), rtol=1e-9)


def test_a_metastable_state_is_called_that_with_its_time():
    run = go(SA, np.eye(2), 1e6)
    assert run.result is af.Outcome.SUCCESSFUL
    result = af.clusters(run, at=-1)
    assert result.state == "metastable" and result.converged is False and not result.limits
    np.testing.assert_allclose(result.time, waiting(BETA, P, np.pi / 2), rtol=1e-3)
    assert "2 clusters at t = 1e+06 (SA), linked within 0.0447, metastable for a time of about" in str(result)


def test_unnormalised_attention_has_its_own_clock():
    unit = np.exp(-BETA)
    time = quad(lambda u: np.exp(2 * BETA * np.sin(u / 2) ** 2) / np.sin(u), 2 * np.arcsin(EPS / 2), U0)[0] * unit
    run = go(af.SelfAttention(af.Unnormalized(BETA)), PAIR, 1e-6 * time, throw=False)
    assert run.result is af.Outcome.BELOW_ROUNDING and "long_time" in run.sentence
    result = af.clusters(run, at=-1)
    assert result.state == "metastable"
    np.testing.assert_allclose(result.time, time, rtol=1e-3)
    x, y = np.asarray(run.xs[-1])
    chord = np.linalg.norm(x - y)  # rounding has moved the tokens by 1e-7 meanwhile
    speed = chord * np.sqrt(1 - chord**2 / 4) * np.exp(-BETA * chord**2 / 2) * Q / unit
    np.testing.assert_allclose(result.speed, speed, rtol=1e-9)


def test_single_precision():
    x = np.eye(2, dtype=np.float32)
    run = go(af.SelfAttention(beta=np.float32(20)), x, 3e3, throw=False)
    assert run.result is af.Outcome.BELOW_ROUNDING and run.xs.dtype == jnp.float32
    result = af.clusters(run, at=-1)
    assert result.state == "metastable" and "long_time" in str(result)
    np.testing.assert_allclose(result.time, waiting(20.0, P, np.pi / 2), rtol=1e-3)


def test_another_matrix_has_no_closed_form_and_is_not_at_rest_either():
    """B = 2I at beta / 2 is the same flow, and long_time refuses it."""
    model = af.SelfAttention(af.Softmax(BETA / 2, B=2 * np.eye(2)))
    run = go(model, PAIR, 1e20, throw=False)
    assert run.result is af.Outcome.BELOW_ROUNDING and "long_time" not in run.sentence
    assert af.clusters(run, at=-1).state == "below rounding"
    creeping = af.clusters(go(model, np.eye(2), 1e6), at=-1)
    assert creeping.state == "metastable" and creeping.converged is False
    np.testing.assert_allclose(creeping.time, waiting(BETA, P, np.pi / 2), rtol=0.5)  # "about": an e-folding


def test_equilibria_rest_for_any_time():
    balanced = go(SA, np.array([[1.0, 0.0], [-1.0, 0.0]]), 1e20)
    assert balanced.result is af.Outcome.SUCCESSFUL
    assert af.clusters(balanced, at=-1).state == "at rest"
    one = go(af.SelfAttention(beta=1.0), PAIR, 1e4)
    result = af.clusters(one, at=-1)
    assert one.result is af.Outcome.SUCCESSFUL and result.count == 1 and result.converged is True
    same = go(SA, np.array([[1.0, 0.0], [1.0, 0.0]]), 1e4)
    assert same.result is af.Outcome.SUCCESSFUL and af.clusters(same, at=-1).converged is True


def test_two_wells_are_an_equilibrium_without_a_closed_form():
    well = af.Flow(lambda t, x, w: x - x**3)
    result = af.clusters(go(well, np.array([[0.5, 0.5], [-0.5, -0.4]]), 40.0), at=-1)
    assert result.count == 2 and result.state == "at rest"


def test_many_clusters_wait_for_the_first_pair():
    """Three on the sphere: the closest pair by far is as if it were alone."""
    x = np.concatenate([on_circle(np.array([0.0, 1.3, 3.4])), np.zeros((3, 1))], axis=1)
    result = af.clusters(go(SA, x, 100.0, weights=np.array([0.2, 0.2, 0.6])), at=-1)
    assert result.state == "metastable"
    np.testing.assert_allclose(result.time, waiting(BETA, 0.5, 1.3), rtol=1e-3)


# Steps too long ----------------------------------------------------------------------------------------------------

CLOUD = on_circle(np.random.default_rng(1).uniform(0, 2 * np.pi, 12))


@pytest.mark.parametrize(
    ("solver", "good", "bad"), [("rk4", 0.25, 5.0), ("euler", 0.25, 5.0), ("euler-retract", 0.25, 5.0)]
)
def test_steps_too_long_for_the_flow(solver, good, bad):
    def steps(dt, **options):
        return af.simulate(SA, CLOUD, t1=100.0, save=3, solver=solver, dt=dt, max_steps=512, **options)

    fine = steps(good)
    assert fine.result is af.Outcome.SUCCESSFUL and fine.stats["coarseness"] < 1
    with pytest.warns(AttnflowWarning, match="too long to follow the flow.*dt = 0.[0-9]+ would do"):
        coarse = steps(bad)
    assert coarse.result is af.Outcome.COARSE_STEPS
    result = af.clusters(coarse, at=-1)
    assert result.converged is None and result.state == "unknown" and "too long" in str(result)
    if solver != "rk4":
        return
    # The outcome is part of the program.
    codes = jax.vmap(lambda dt: steps(dt, throw=False).code)(jnp.asarray([good, bad]))
    assert codes.tolist() == [af.Outcome.SUCCESSFUL.code, af.Outcome.COARSE_STEPS.code]


def test_layers_are_taken_for_themselves():
    run = af.simulate(SA, CLOUD, t1=100.0, solver="layers", dt=5.0, max_steps=512, save=3)
    assert run.result is af.Outcome.SUCCESSFUL and "coarseness" not in run.stats  # whose limit is not known


# Growth stored apart -----------------------------------------------------------------------------------------------


def test_energies_and_speeds_are_those_of_the_true_tokens():
    x = np.random.default_rng(2).standard_normal((6, 2))
    model = af.SelfAttention(af.Softmax(1.0), af.Euclidean())
    early = [0.0, 0.5, 1.0]
    short = af.simulate(model, x, ts=early)
    long = af.simulate(model, x, ts=[*early, 250.0, 800.0])
    assert "log_scale" in long.info and "log_scale" not in short.info
    np.testing.assert_allclose(af.energy(long)[:3], af.energy(short), rtol=1e-6)
    assert np.isinf(np.asarray(af.energy(long)[3:])).all()
    ours, theirs = af.clusters(long), af.clusters(short)
    np.testing.assert_allclose(ours.speed[:3], theirs.speed, rtol=1e-6)
    # dx/dt = x far out, where every token attends to the corner of the hull that it sees
    tokens = np.linalg.norm(np.asarray(long.xs[3]), axis=1).max()
    np.testing.assert_allclose(np.log(ours.speed[3]), np.log(tokens) + 250.0, atol=0.1)
    assert ours.state[3] == "moving" and ours.converged[3:].tolist() == [False, False]
    scale = np.exp(np.asarray(long.info["log_scale"])[:3])
    np.testing.assert_allclose(
        af.diagnostics.order_parameter(short), af.diagnostics.order_parameter(long.xs[:3]) * scale, rtol=1e-6
    )
    np.testing.assert_allclose(
        [af.diagnostics.order_parameter(long, at=k) for k in range(3)], af.diagnostics.order_parameter(short), rtol=1e-6
    )
    for refused in (
        af.diagnostics.order_parameter,
        af.inner_products,
        af.diagnostics.dissipation,
        af.diagnostics.hull_nonincreasing,
        af.diagnostics.log_partition,
        lambda run: af.attention_matrix(run, log=True),
        af.diagnostics.staircase,
    ):
        with pytest.raises(InputError, match=r"grown by e\^800|log_scale"):
            refused(long)


# Remedies of a model -----------------------------------------------------------------------------------------------


def test_a_solve_that_takes_too_many_steps_names_long_time():
    with pytest.raises(SolveError, match=r"max_steps.*long_time"):
        go(SA, PAIR, 1e3, max_steps=3)


def test_overflow_without_a_shift_names_the_shift():
    run = go(af.SelfAttention(af.Unnormalized(800.0)), PAIR, 1.0, throw=False, max_steps=100)
    assert not run.result.finished and "shifted=True" in run.sentence
    other = dataclasses.replace(run, model=af.SelfAttention(af.Unnormalized(1.0, V=np.eye(2))))
    assert "shifted" not in other.sentence and "long_time" not in other.sentence  # neither would help


# No numbers --------------------------------------------------------------------------------------------------------


def test_tokens_that_are_no_numbers_are_not_counted():
    x = CLOUD.copy()
    x[3, 1] = np.nan
    with pytest.raises(InputError, match="token 3 is not a number"):
        af.clusters(x, space=af.Sphere())
    with pytest.raises(InputError, match="token 3 of cloud \\[1\\]"):
        af.clusters(np.stack([CLOUD, x]), space=af.Sphere())
    with pytest.raises(InputError, match="not a number"):
        af.clusters(np.full((4, 2), np.inf), eps=1.0)
    result = af.clusters(np.stack([CLOUD, np.full_like(x, np.nan)]), space=af.Sphere())  # a time that was not reached
    assert result.count.tolist()[1] == 0 and (result.labels[1] == -1).all() and "not known" in str(result)
    run = go(SA, PAIR, 1.0)
    with pytest.raises(InputError, match="token 0 of cloud"):
        af.clusters(dataclasses.replace(run, xs=run.xs.at[1, 0].set(jnp.nan)))
