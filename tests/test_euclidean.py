"""Theory/02, section 1: tokens in R^d. The integrating factor, rescaled tokens, residual layers, long times.

Runs share their shapes (9 tokens in the plane, 15 times; 4 tokens on the line, 7 times), and with them their programs.
"""

import dataclasses
import itertools

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from scipy.integrate import solve_ivp
from scipy.special import logsumexp

import attnflow as af
from attnflow.errors import AttnflowWarning, InputError
from witness import velocity

T9 = np.array([(1, 0.2), (0.3, 1.1), (-0.9, 0.8), (-1.2, -0.3), (-0.2, -1), (0.8, -0.9), (0.1, 0.05), (0.4, 0.3)])
T9 = np.vstack([T9, (-0.5, 0.1)])
EYE = np.eye(2)
V2 = np.array([[0.64709742, 0.81911926], [0.61210449, 0.63263484]])
TURNING = np.array([[0.4, -1.0], [1.0, 0.4]])
JORDAN = np.array([[0.8, 1.0], [0.0, 0.8]])
SKEW_B = np.array([[1.0, 0.5], [-0.2, 0.7]])
TIMES = np.linspace(0.0, 14.0, 15)


def model(V=EYE, B=EYE, **options):
    """Always with both matrices, so that one program serves all of them."""
    return af.SelfAttention(af.Softmax(1.0, B=jnp.asarray(B), V=jnp.asarray(V)), af.Euclidean(), **options)


def flow(V=EYE, B=EYE, ts=TIMES, dt=0.02, x0=T9, **options):
    return af.simulate(model(V, B), x0, ts=ts, solver="ifrk4", dt=dt, **options)


def witness(x0, ts, V, B):
    """DOP853 on z, in NumPy and SciPy alone: the equation of z with weights of P at e^{tV} z."""
    n, d = x0.shape

    def rhs(t, flat):
        z = flat.reshape(n, d)
        x = z @ scipy.linalg.expm(t * V).T
        scores = x @ B @ x.T
        P = np.exp(scores - scores.max(axis=1)[:, None])
        P /= P.sum(axis=1)[:, None]
        return ((P @ z - z) @ V.T).ravel()

    solution = solve_ivp(rhs, (0, ts[-1]), x0.ravel(), "DOP853", t_eval=ts, rtol=1e-11, atol=1e-12)
    assert solution.success
    return solution.y.T.reshape(-1, n, d)


# The solver --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("V", "B"), [(EYE, [[2, 0.5], [0.5, 1]]), (V2, EYE), (TURNING, EYE), (JORDAN, EYE), (-EYE, SKEW_B)]
)
def test_rescaled_tokens_solve_their_own_equation(V, B):
    """Real, complex and defective matrices, until components of very different size would lose digits."""
    ts = np.linspace(0, 3.5, 15)
    z = af.rescaled(flow(V, B, ts=ts))
    np.testing.assert_allclose(z.xs, witness(T9, ts, np.asarray(V), np.asarray(B)), rtol=0, atol=2e-7)


def test_order_four_also_between_steps():
    """The differences of runs at halved steps fall by 16, at a time that is no multiple of the step as well."""
    ts = np.append(np.linspace(0, 1e-3, 13), [1.2345, 5.0])  # saved times cut steps: only two count here
    fine = [np.asarray(af.rescaled(flow(ts=ts, dt=h)).xs) for h in (0.1, 0.05, 0.025)]
    first, second = (np.abs(a - b).max(axis=(1, 2))[13:] for a, b in itertools.pairwise(fine))
    assert (12 < first / second).all() and (first / second < 20).all()
    assert first[-1] < 4e-6


def test_saved_times_do_not_depend_on_each_other():
    """Steps that are cut at saved times change the result by the error of a step, no more."""
    ts = np.sort(np.append(np.linspace(0.0137, 13.9, 14), 14.0))
    np.testing.assert_allclose(flow(V2, ts=ts).xs[-1] / flow(V2).xs[-1], 1, atol=1e-7)


def test_causal_rows_and_hardmax_have_a_linear_part():
    causal = af.SelfAttention(af.Softmax(1.0, V=V2), af.Euclidean(), af.Causal())
    assert causal.linear_part(2).tolist() == V2.tolist()
    assert af.SelfAttention(af.Hardmax(), af.Euclidean()).linear_part(3).tolist() == np.eye(3).tolist()


@pytest.mark.parametrize(
    "other",
    [
        af.SelfAttention(beta=1.0),
        af.SelfAttention(af.Unnormalized(1.0), af.Euclidean()),
        af.SelfAttention(af.Softmax(1.0, V=af.Piecewise([1.0], [EYE, 2 * EYE])), af.Euclidean()),
        af.SelfAttention(af.Softmax(1.0), af.Euclidean(), af.Causal(strict=True)),
        af.SelfAttention(af.Softmax(1.0), af.Euclidean(), af.pairsums.Full(skip=np.arange(9))),
        af.Flow(lambda t, x, w: x),
    ],
)
def test_models_without_linear_part_are_refused(other):
    x0 = T9 / np.linalg.norm(T9, axis=1)[:, None]
    assert other.linear_part(2) is None
    with pytest.raises(InputError, match="ifrk4' needs a model whose force is"):
        af.simulate(other, x0, t1=1.0, solver="ifrk4", dt=0.1)


def test_steps_that_are_too_long_are_refused_or_warned_about():
    with pytest.raises(InputError, match=r"dt = 0.8 is too long for V of norm 1.3\d*; take dt <= 0.07"):
        flow(V2, dt=0.8)
    with pytest.warns(AttnflowWarning, match="dt <= 0.07\\d* is advised"):
        flow(V2, ts=TIMES / 14, dt=0.2)
    with pytest.raises(InputError, match="needs a positive step"):
        af.simulate(model(), T9, t1=1.0, solver="ifrk4")


# Long times --------------------------------------------------------------------------------------------------------


def test_sixty_units_of_time():
    """1.5: V = I, T = 60 is finite, and tokens stand on their limits."""
    run = flow(ts=np.append(np.linspace(0, 14, 14), 60.0), dt=0.05)
    assert run.info == {}
    z = np.asarray(af.rescaled(run).xs[-1])
    for group in ([0, 4, 5], [1, 6, 7], [3, 8]):
        assert np.ptp(z[group], axis=0).max() < 2e-14
    # The vertices have long stopped at t = 14, others come closer like e^{-t}.
    np.testing.assert_allclose(z[[2, 3]], np.asarray(flow().xs[-1])[[2, 3]] * np.exp(-14), atol=1e-5)


@pytest.mark.parametrize("V", [EYE, V2, TURNING])
@pytest.mark.parametrize("solver", [{"solver": "ifrk4", "dt": 0.05}, {}], ids=["ifrk4", "tsit5"])
def test_past_the_overflow_of_scores(V, solver):
    """x itself could not be written; its direction and its attention can. The first times agree with a short run."""
    T = 1000.0
    run = af.simulate(model(V), T9, ts=np.append(TIMES[:14], T), **solver)
    rate = np.linalg.eigvals(V).real.max()
    np.testing.assert_allclose(run.info["log_scale"], rate * np.asarray(run.ts), rtol=1e-12)
    assert np.isfinite(run.xs).all() and 1e-3 < np.abs(run.xs[-1]).max() < 10
    short, soon = flow(V), np.exp(-rate * TIMES[:14])[:, None, None]
    np.testing.assert_allclose(run.xs[:14], soon * np.asarray(short.xs)[:14], atol=1e-4)
    P = np.asarray(af.attention_matrix(run))
    np.testing.assert_allclose(P[:14], af.attention_matrix(short)[:14], atol=1e-4)
    # Rows are equal shares of the best keys: components that were left behind no longer count, and tokens tie.
    np.testing.assert_allclose(P[-1].sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(np.sum(P[-1] > 0, axis=1) * P[-1].max(axis=1), 1, rtol=1e-12)
    assert af.leaders(run, at=-1).follows.tolist() == P[-1].argmax(axis=1).tolist()


def test_a_long_run_is_stored_and_rescaled(tmp_path):
    run = flow(ts=np.append(TIMES[:14], 400.0), dt=0.05)
    run.save(tmp_path / "run.nc")
    again = af.load(tmp_path / "run.nc")
    np.testing.assert_array_equal(again.info["log_scale"], run.info["log_scale"])
    z = af.rescaled(again)
    assert z.info == {} and np.ptp(np.asarray(z.xs[-1])[[0, 4, 5]], axis=0).max() < 2e-14
    np.testing.assert_allclose(z.xs[13], af.rescaled(flow(dt=0.05)).xs[13], atol=1e-12)
    with pytest.raises(InputError, match="stored apart"):
        run.restart(t1=500.0)


def test_single_precision_overflows_sooner_and_is_kept():
    x0 = T9.astype(np.float32)
    long = af.simulate(model(), x0, ts=np.append(TIMES[:14], 60.0), solver="ifrk4", dt=0.05)
    assert "log_scale" in long.info and long.xs.dtype == "float32"
    groups = np.asarray(long.xs[-1])
    assert np.isfinite(groups).all() and np.ptp(groups[[0, 4, 5]], axis=0).max() < 1e-5


# Rescaled tokens ---------------------------------------------------------------------------------------------------


def test_every_component_by_its_own_factor():
    """diag(1, -0.5): one component shrinks by e^{-t}, the other grows by e^{t/2}, to the last digit."""
    run = flow(np.diag([1.0, -0.5]))
    factors = np.exp(-np.outer(TIMES, [1.0, -0.5]))
    np.testing.assert_allclose(af.rescaled(run).xs, run.xs * factors[:, None, :], rtol=1e-13)


def test_a_rescaled_run_is_a_run():
    run = af.rescaled(flow())
    assert (run.clock, run.xs.shape, run.provenance["rescaled"]) == ("SA", (15, 9, 2), "exp(-tV)")
    result = af.clusters(run, at=-1, eps=1e-3)
    assert result.count == 4 and result.labels.tolist() == [0, 1, 3, 2, 0, 0, 1, 1, 2]
    speed = np.linalg.norm((np.asarray(run.xs[-1]) - np.asarray(flow().xs[-2]) * np.exp(-13)), axis=1).max()
    # z - limit falls like e^{-t}: the step from t = 13 to 14 is (e - 1) times the speed at 14.
    assert result.speed == pytest.approx(speed / (np.e - 1), rel=1e-3)
    between = witness(T9, np.array([0.0, 2.5]), EYE, EYE)[1]
    np.testing.assert_allclose(run.at(t=2.5), between, rtol=0, atol=2e-7)
    with pytest.raises(InputError, match="rescaled tokens"):
        run.restart(t1=20.0)


def test_time_counts_from_zero_through_a_restart():
    first, whole = flow(V2, ts=TIMES / 7), flow(V2, ts=TIMES / 3.5)
    second = first.restart(ts=2 + TIMES / 7)
    np.testing.assert_allclose(af.rescaled(second).xs[-1], af.rescaled(whole).xs[-1], rtol=1e-7)


def test_components_without_digits_are_reported():
    with pytest.warns(AttnflowWarning, match=r"real part up to -0.068\d* have lost their digits at t = 30"):
        af.rescaled(flow(V2, ts=np.linspace(0, 30, 15)))


def test_runs_that_cannot_be_rescaled():
    run = flow()

    def refused(match, **changes):
        with pytest.raises(InputError, match=match):
            af.rescaled(dataclasses.replace(run, **changes))

    def steps(dt):
        return {"options": {"solver": "euler", "dt": dt}}

    refused("lives in Sphere", model=af.SelfAttention(beta=1.0))
    refused("carries no model", model=None)
    refused("no linear part", model=af.Flow(lambda t, x, w: x))
    refused(r"R = I \+ dt V is singular at dt = 0.5", model=model(np.diag([1.0, -2.0])), provenance=steps(0.5))
    refused("multiples of dt = 0.3", provenance=steps(0.3))


# Residual layers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("V", [V2, TURNING, JORDAN, np.array([[-0.3, 0.8], [0.1, 0.4]])])
def test_14_the_discrete_rescaling_identity(V):
    """Row 14: z^{k+1} = z^k + dt sum_j P_ij(R^k z^k) R^{-1} V (z_j - z_i), ten layers."""
    dt = 0.1
    run = af.simulate(model(V, SKEW_B), T9, t1=1.0, solver="layers", dt=dt)
    assert run.clock == "layers" and run.stats["steps"] == 10
    np.testing.assert_allclose(run.ts, dt * np.arange(11), rtol=1e-15)
    R = np.eye(2) + dt * V
    z, zs = T9, [T9]
    for k in range(10):
        x = z @ np.linalg.matrix_power(R, k).T
        scores = x @ SKEW_B @ x.T
        P = np.exp(scores - logsumexp(scores, axis=1)[:, None])
        z = z + dt * (P @ z - z) @ (np.linalg.inv(R) @ V).T
        zs.append(z)
    np.testing.assert_allclose(af.rescaled(run).xs, zs, rtol=0, atol=1e-12)


def test_layers_are_steps_with_the_force_and_nothing_between():
    run = af.simulate(model(V2), T9, t1=1.0, solver="layers", dt=0.1)
    by_hand = T9 + 0.1 * velocity(T9, np.full(9, 1 / 9), 1.0, V=V2, sphere=False)
    np.testing.assert_allclose(run.xs[1], by_hand, rtol=1e-13)
    np.testing.assert_array_equal(af.simulate(model(V2), T9, t1=1.0, solver="layers", dt=0.1, save=11).xs, run.xs)
    for options in ({"t1": 0.95}, {"ts": [0.1, 0.25]}, {"t1": 1.0, "save": 8}):
        with pytest.raises(InputError, match=r"lies between two layers of dt = 0\.1"):
            af.simulate(model(V2), T9, solver="layers", dt=0.1, **options)


# Acceptance rows ---------------------------------------------------------------------------------------------------


def test_4_the_hull_never_grows():
    z = np.asarray(af.rescaled(flow(EYE, [[2, 0.5], [0.5, 1]], ts=np.linspace(0, 7, 15))).xs)
    for a in np.stack([np.cos(np.linspace(0, 2 * np.pi, 360)), np.sin(np.linspace(0, 2 * np.pi, 360))], 1):
        assert np.diff((z @ a).max(axis=1)).max() < 1e-10


def test_8_the_origin_is_approached_algebraically():
    """Row 8, and 1.3: the largest norm never grows."""
    ts = np.append(np.linspace(0, 400, 14), 500.0)
    x = np.asarray(flow(-EYE, ts=ts).xs)
    actual = 500 * np.linalg.eigvalsh(np.cov(x[-1].T, bias=True))
    np.testing.assert_allclose(actual, [0.49887, 0.49905], atol=1e-3)
    assert np.diff(np.linalg.norm(x, axis=2).max(axis=1)).max() < 0


def on_the_line(tokens, ts):
    """Up to four tokens on the line, at 7 times; the others have no weight."""
    k = len(tokens)
    w = np.append(np.full(k, 1 / k), np.zeros(4 - k))
    x0 = np.append(tokens, np.zeros(4 - k))[:, None]
    line = af.SelfAttention(af.Softmax(1.0), af.Euclidean())
    run = af.simulate(line, x0, ts=ts, solver="ifrk4", dt=0.02, weights=w)
    return np.asarray(run.xs)[:, :k, 0], np.asarray(af.attention_matrix(run))[:, :k, :k]


def test_10_a_gap_converges_and_attention_is_doubly_exponential():
    x, _ = on_the_line([-1, -0.4, 0.3, 1.2], np.arange(7.0))
    assert x[6, 3] - x[6, 2] == pytest.approx(1.543634, abs=1e-4)
    scores = x[4, 3] * x[4]
    assert logsumexp(scores) - logsumexp(scores[:3]) == pytest.approx(88.5789, abs=1e-2)


def test_11_two_tokens():
    x, _ = on_the_line([-0.5, 0.5], np.linspace(0, 3, 7))
    exact = solve_ivp(lambda t, w: 2 * w * np.tanh(w), (0, 3), [0.25], rtol=1e-12, atol=1e-14).y[0, -1]
    assert x[-1, 1] ** 2 == pytest.approx(14.16441, abs=1e-4) and exact == pytest.approx(14.16441, abs=1e-5)


def test_12_three_tokens_keep_an_exceptional_row():
    x, P = on_the_line([-0.5, 0, 0.5], np.linspace(0, 3, 7))
    assert x[-1, 2] ** 2 == pytest.approx(2.709878, abs=1e-5)
    np.testing.assert_allclose(P[:, 1], 1 / 3, atol=1e-12)


def test_15_large_scores_are_the_identity():
    with np.errstate(all="raise"):
        P = af.pairsums.pair_weights(
            af.pairsums.Inner(jnp.asarray(1.0)), jnp.array([[-30.0, 0], [25, 10]]), jnp.array([[-30.0, 0], [25, 10]])
        )
    np.testing.assert_allclose(P, np.eye(2), atol=1e-12)
