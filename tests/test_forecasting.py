"""Forecasters, arXiv:2602.08478; theory/07, sections 1, 2 and 5, rows 1 to 9, 16, 22 to 24."""

import copy
import pickle
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import xarray
from scipy.integrate import solve_ivp
from scipy.optimize import nnls

import attnflow as af
from attnflow.errors import AttnflowWarning, FileError, InputError
from attnflow.forecasting import PODReducer, load, losses, network, rollout, training
from attnflow.forecasting.candidates import Candidate, best, listed
from attnflow.forecasting.holding_back import Stretch, held, split
from attnflow.forecasting.linear import decompose
from attnflow.forecasting.losses import Base
from attnflow.forecasting.network import Form
from attnflow.forecasting.windows import Piece, windows

RNG = np.random.default_rng
ROOT5 = np.sqrt(5)


def two_tones(n=2000, dt=0.1):
    t = dt * np.arange(n)
    return t, np.sin(t) + 0.5 * np.sin(ROOT5 * t + 0.3)


def lorenz(start, n, dt=0.02):
    def f(t, v):
        x, y, z = v
        return [10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z]

    on = solve_ivp(f, (0, 20), start, method="DOP853", rtol=1e-9, atol=1e-9).y[:, -1]
    t = dt * np.arange(n)
    return solve_ivp(f, (0, t[-1]), on, method="DOP853", rtol=1e-10, atol=1e-10, t_eval=t).y.T


ONE = two_tones(120)[1]
TWO = np.column_stack([ONE, 5 + 2 * two_tones(120, 0.15)[1]])


def nrmse(predicted, true):
    return np.sqrt(np.mean((predicted - true) ** 2) / np.mean((true - true.mean(axis=0)) ** 2))


def linear_series(A, b, n, seed=0):
    """A vector autoregression, by a loop."""
    m, d, _ = A.shape
    x = list(RNG(seed).normal(size=(m, d)))
    for _ in range(n - m):
        x.append(b + sum(A[j] @ x[-1 - j] for j in range(m)))
    return np.array(x)


def stable_lags(m, d, seed=0, radius=0.97):
    A = RNG(seed).normal(size=(m, d, d)) / (m * d)
    C = np.eye(m * d, k=-d)
    C[:d] = np.concatenate(list(A), axis=1)
    size = np.abs(np.linalg.eigvals(C)).max()
    return np.stack([A[j] * (radius / size) ** (j + 1) for j in range(m)])


def tiny(**options):
    """A transformer whose fit is a matter of a second, and one compiled program for most of them."""
    quick = {
        "width": 4,
        "ff_width": 4,
        "max_steps": 40,
        "loss": "plain",
        "linear_skip": False,
        "refit": False,
        "n_seeds": 2,
    }
    return af.TimeDelayedTransformer(3, **{**quick, **options})


# TD-DMD --------------------------------------------------------------------------------------------------------------


def test_frequencies_of_two_tones():
    """Row 1."""
    t, x = two_tones()
    model = af.TDDMD(8).fit(x[:1000], t=t[:1000])
    assert model.dt_ == pytest.approx(0.1, abs=1e-12) and model.rank_ == 4
    np.testing.assert_allclose(2 * np.pi * model.frequencies_[:4], [1, -1, ROOT5, -ROOT5], rtol=0, atol=1e-8)
    np.testing.assert_allclose(model.growth_rates_[:4], 0, atol=1e-8)
    np.testing.assert_allclose(model.amplitudes_[:4], [0.5, 0.5, 0.25, 0.25], rtol=1e-2)  # a pair makes one tone
    assert np.abs(model.eigs_[4:]).max() < 0.9 and np.all(model.amplitudes_[4:] < 1e-9)


@pytest.mark.parametrize(("m", "most"), [(4, 1e-8), (32, 1e-9)])
def test_two_tones_far_ahead(m, most):
    """Row 2."""
    _, x = two_tones()
    forecast = af.TDDMD(m).fit(x[:1000]).forecast(1000)
    assert forecast.shape == (1000,) and nrmse(forecast, x[1000:2000]) < most


def test_modes_of_the_whole_record_forecast_the_same():
    """Row 3: exact Hankel DMD of rank 4, whose modes and amplitudes are fitted to the record and extrapolated."""
    _, x = two_tones()
    H = np.lib.stride_tricks.sliding_window_view(x[:1000], 32).T
    U, s, Vt = (a[..., :4] if k < 2 else a[:4] for k, a in enumerate(np.linalg.svd(H[:, :-1], full_matrices=False)))
    values, W = np.linalg.eig(U.T @ H[:, 1:] @ Vt.T / s)
    modes = H[:, 1:] @ Vt.T / s @ W
    powers = values[None, :] ** np.arange(2000)[:, None]
    amplitudes = np.linalg.lstsq(powers[: H.shape[1]] * modes[0], x[: H.shape[1]].astype(complex), rcond=None)[0]
    extrapolated = (powers * modes[0] @ amplitudes).real
    assert nrmse(extrapolated[1000:], x[1000:2000]) < 1e-8
    assert nrmse(af.TDDMD(32).fit(x[:1000]).forecast(1000), extrapolated[1000:]) < 1e-8


def test_noisy_tones_with_a_given_rank():
    """The constant must not take one of the directions: with a column of ones the error is .99."""
    _, x = two_tones()
    noisy = x + 0.05 * x.std() * RNG(0).normal(size=len(x))
    for bias in (False, True):
        forecast = af.TDDMD(32, rank=4, bias=bias).fit(noisy[:1000]).forecast(1000)
        assert nrmse(forecast, x[1000:2000]) < 0.2


def test_a_vector_autoregression_is_found_and_followed():
    A, b = stable_lags(3, 2), np.array([0.3, -0.2])
    x = linear_series(A, b, 90)
    model = af.TDDMD(3).fit(x[:60])
    np.testing.assert_allclose(model.lag_matrices_, A, atol=1e-8)
    np.testing.assert_allclose(model.intercept_, b, atol=1e-8)
    np.testing.assert_allclose(model.forecast(30), x[60:], atol=1e-8)
    np.testing.assert_allclose(model.effective_lag_matrices(), A, atol=1e-8)
    expected = np.sort(np.abs(np.linalg.eigvals(model.companion_)))
    np.testing.assert_allclose(np.sort(np.abs(model.jacobian_eigs())), expected, atol=1e-12)
    np.testing.assert_allclose(np.sort(np.abs(model.eigs_)), expected, atol=1e-12)
    assert model.n_parameters_ == 3 * 4 + 2
    assert model.score(x) == pytest.approx(1) and model.score_rollout(x, 10) == pytest.approx(1)


def test_truncated_least_squares_against_scipy():
    rng = RNG(1)
    H, Y = rng.normal(size=(40, 6)), rng.normal(size=(40, 2))
    parts = lambda: iter([(H[:3], Y[:3]), (H[3:29], Y[3:29]), (H[29:], Y[29:])])  # noqa: E731
    found = decompose(parts).solve()
    expected = np.linalg.lstsq(np.column_stack([H, np.ones(40)]), Y, rcond=None)[0]
    np.testing.assert_allclose(np.column_stack([found.A, found.b]).T, expected, atol=1e-12)
    U, s, Vt = np.linalg.svd(H, full_matrices=False)
    kept = decompose(parts, bias=False).solve(rank=3)
    np.testing.assert_allclose(kept.A, (Vt[:3].T / s[:3] @ U[:, :3].T @ Y).T, atol=1e-12)


def test_inputs_of_a_driven_system():
    """x_{k+1} = .8 x_k - .3 x_{k-1} + .5 u_{k+1} - .2 u_k, and the inputs of a forecast come from its u alone."""
    rng, n = RNG(2), 120
    u, x = rng.normal(size=(n, 1)), np.zeros((n, 1))
    for k in range(1, n - 1):
        x[k + 1] = 0.8 * x[k] - 0.3 * x[k - 1] + 0.5 * u[k + 1] - 0.2 * u[k]
    model = af.TDDMD(2).fit(x[:80], u=u[:80])
    np.testing.assert_allclose(model.lag_matrices_[:, 0, 0], [0.8, -0.3], atol=1e-10)
    np.testing.assert_allclose(model.input_matrices_[:, 0, 0], [0.5, -0.2], atol=1e-10)
    np.testing.assert_allclose(model.forecast(40, u=u[80:]), x[80:], atol=1e-10)
    np.testing.assert_allclose(model.forecast(40, x[70:80], u=u[70:]), x[80:], atol=1e-10)
    np.testing.assert_allclose(model.predict(x, u), x[2:], atol=1e-10)
    assert model.predict(x[:80], u[:81]).shape == (79, 1)
    assert model.score_rollout(x, 9, u) == pytest.approx(1)
    window, known = x[50:52][::-1], u[51:53][::-1]
    np.testing.assert_allclose(model.step(window, known), x[52], atol=1e-10)
    for wrong in ({"u": u[80:100]}, {"u": None}, {"x0": x[70:80], "u": u[80:]}):
        with pytest.raises(InputError):
            model.forecast(40, **wrong)


# The network ---------------------------------------------------------------------------------------------------------


def form(d=3, c=None, m=5, D=16, f=64, values="shared", activation="silu"):
    return Form(d, d if c is None else c, m, D, f, values, activation)


def parts_of(given, seed=0):
    return network.unpacked(jnp.asarray(network.initial(RNG(seed), given)), given)


@pytest.mark.parametrize("values", ["shared", "per_delay"])
@pytest.mark.parametrize("activation", ["silu", "tanh"])
def test_the_factored_form_is_the_attention_of_the_library(values, activation):
    given = form(2, 3, 6, 5, 7, values, activation)
    parts, z = parts_of(given), RNG(1).normal(size=(4, 6, 3))
    expected = jax.jit(jax.vmap(lambda one: network.literal(parts, one, given)))(jnp.asarray(z))
    found = jax.jit(lambda z: network.forward(parts, z, given))(jnp.asarray(z))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-14)


def test_the_formulas_one_window_at_a_time():
    """In NumPy, as the page writes them."""
    given = form(2, 3, 4, 5, 7)
    P = {name: np.asarray(value) for name, value in parts_of(given).items()}
    forward = jax.jit(lambda z: network.forward({k: jnp.asarray(v) for k, v in P.items()}, z, given))
    for z in RNG(2).normal(size=(3, 4, 3)):
        e = [P["E"] @ z[j] + P["p"][j] for j in range(4)]
        scores = np.array([(P["W_Q"] @ e[0]) @ (P["W_K"] @ e[j]) / np.sqrt(5) for j in range(4)])
        alpha = np.exp(scores) / np.exp(scores).sum()
        g = e[0] + sum(alpha[j] * (P["W_V"] @ e[j]) for j in range(4))
        h = P["W_1"] @ g + P["b_1"]
        g = g + P["W_2"] @ (h / (1 + np.exp(-h))) + P["b_2"]
        np.testing.assert_allclose(forward(jnp.asarray(z[None]))[0], P["C"] @ g + P["c_0"], atol=1e-13)


def test_numbers_of_parameters():
    """Row 7, and equations (9a) and (9b)."""
    assert form(3, m=8).size == 3123 and form(3, m=5).size == 3075 and form(1, m=16, f=32).size == 2129
    d, m, D, f = 3, 5, 16, 64
    assert form(values="per_delay").size == d * D + m * D + 2 * D**2 + m * d * D + 2 * D * f + f + D + D * d + d
    assert tiny().fit(ONE).n_parameters_ == form(1, m=3, D=4, f=4).size


def test_td_dmd_is_a_transformer_with_values_per_delay():
    """Row 4, Fact A."""
    d, m, D = 3, 5, 4
    given = form(d, m=m, D=D, f=2, values="per_delay")
    A = stable_lags(m, d, seed=3)
    parts = {name: np.zeros(shape) for name, shape in given.shapes.items()}
    parts["C"][:, :d] = np.eye(d)
    parts["V"][:, :d] = A - np.eye(d)[None] * (np.arange(m) == 0)[:, None, None]
    theta = jnp.concatenate([parts[name].reshape(-1) for name in given.shapes])
    base = Base(jnp.zeros((d, m * d)), jnp.zeros(d), jnp.ones(d))
    x = linear_series(A, np.zeros(d), 60, seed=4)
    cut = windows([Piece(x, np.zeros((60, 0)), 0, True)], m)
    found = jax.jit(lambda z: losses.advance(theta, base, z, given))(jnp.asarray(cut.tokens))
    np.testing.assert_allclose(found, cut.future[:, 0], rtol=0, atol=1e-10)


def test_shared_values_give_static_lags_on_a_ray():
    """Row 5, Fact B: scores by position alone, here log weights in a channel of p that no value reads."""
    m, D = 6, 3
    given = form(1, m=m, D=D, f=2)
    weights = RNG(5).dirichlet(np.ones(m))
    parts = {name: np.zeros(shape) for name, shape in given.shapes.items()}
    parts["E"][0, 0] = 1.0
    parts["p"][:, 1], parts["p"][:, 2] = np.log(weights), 1.0
    parts["W_K"][0, 1], parts["W_Q"][0, 2] = np.sqrt(D), 1.0
    parts["W_V"][0, 0], parts["C"][0, 0] = 1.0, 1.0
    z = RNG(6).normal(size=(9, m, 1))
    named = {k: jnp.asarray(v) for k, v in parts.items()}
    both = jax.jit(lambda z: (network.weights(named, z)[0], network.forward(named, z, given)[:, 0]))
    alpha, found = both(jnp.asarray(z))
    np.testing.assert_allclose(alpha, np.tile(weights, (9, 1)), atol=1e-12)
    np.testing.assert_allclose(found, z[:, 0, 0] + z[:, :, 0] @ weights, atol=1e-12)


def test_the_smallest_window_for_two_tones():
    """Row 6, Fact C: cos and sin of both tones, a free coefficient on lag 0, the others of one sign."""

    def feasible(m, sign):
        lags = np.arange(1, m)
        rows, target = [], []
        for theta in (0.1, 0.1 * ROOT5):
            rows += [np.r_[1, -1, sign * np.cos(theta * lags)], np.r_[0, 0, -sign * np.sin(theta * lags)]]
            target += [np.cos(theta), np.sin(theta)]
        return nnls(np.array(rows), np.array(target))[1] < 1e-9

    assert min(m for m in range(2, 40) if feasible(m, 1) or feasible(m, -1)) == 31


def test_the_cost_is_linear_in_the_delays():
    """Row 22, by the operations that XLA counts: four times the delays, at most four times the work."""

    def work(m):
        given = form(3, m=m)
        theta = jax.ShapeDtypeStruct((given.size,), jnp.float32)
        z = jax.ShapeDtypeStruct((256, m, 3), jnp.float32)
        program = jax.jit(lambda theta, z: network.forward(network.unpacked(theta, given), z, given))
        return program.lower(theta, z).compile().cost_analysis()["flops"]

    assert 2 < work(1024) / work(256) < 4.5


# Training ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tones():
    """Row 8's two windows, the best of three seeds, and a linear part for row 9."""
    _, x = two_tones()
    options = {"width": 16, "ff_width": 32, "loss": "plain", "linear_skip": False, "refit": False}
    options |= {"lr": 5e-3, "n_seeds": 3}
    return {m: af.TimeDelayedTransformer(m, max_steps=1500, **options).fit(x[:1000]) for m in (16, 40)}


def test_a_window_below_half_the_slow_period_is_too_short(tones):
    """Row 8: the expected numbers are 1.3 and 5e-4."""
    _, x = two_tones()
    error = {}
    for m, model in tones.items():
        error[m] = [nrmse(run[:, 0], x[1000:2000]) for run in model.forecast_ensemble(1000)]
    assert np.nanmin(error[16]) > 0.5 and np.nanmin(error[40]) < 0.05


def test_a_linear_part_leaves_nothing_for_the_network():
    """Row 9."""
    _, x = two_tones()
    model = af.TimeDelayedTransformer(32, linear_skip=True, loss="plain").fit(x[:1000])
    assert not model.network_ and model.linear_ and model.n_parameters_ == 33
    assert nrmse(model.forecast(1000), x[1000:2000]) < 1e-7


def test_fits_repeat_and_seeds_differ():
    x = TWO
    one, again = tiny().fit(x), tiny().fit(x)
    np.testing.assert_array_equal(one.forecast_ensemble(5), again.forecast_ensemble(5))
    other = tiny(random_state=7).fit(x)
    assert not np.allclose(one.forecast_ensemble(5), other.forecast_ensemble(5))
    keyed = tiny(key=jax.random.key(7)).fit(x)
    np.testing.assert_array_equal(keyed.forecast_ensemble(5), other.forecast_ensemble(5))
    first, second = one.forecast_ensemble(5)
    assert not np.allclose(first, second)
    np.testing.assert_allclose(one.forecast(5), (first, second)[one.best_seed_], rtol=1e-13)
    assert one.loss_curve_.shape[1] == 2 and one.loss_curve_[-1].mean() < one.loss_curve_[0].mean()
    best_run, every = one.forecast(5, spread=True)
    np.testing.assert_allclose(every[one.best_seed_], best_run, rtol=1e-13)
    with jax.enable_x64(False):
        np.testing.assert_array_equal(tiny().fit(x).forecast_ensemble(5), one.forecast_ensemble(5))


def test_step_window_attention_and_lags_of_a_fitted_network():
    x = TWO
    model = tiny().fit(x)
    newest_first = x[10:13][::-1]
    np.testing.assert_allclose(model.step(newest_first), model.predict(x[10:13])[0], atol=1e-12)
    np.testing.assert_allclose(model.predict(x)[:-1][10], model.forecast(1, x[:13])[0], atol=1e-12)
    lags = model.effective_lag_matrices(x[10:13])
    h = 1e-6
    for j in range(3):
        for channel in range(2):
            up, down = newest_first.copy(), newest_first.copy()
            up[j, channel] += h
            down[j, channel] -= h
            slope = (np.asarray(model.step(up)) - np.asarray(model.step(down))) / (2 * h)
            np.testing.assert_allclose(lags[j, :, channel], slope, atol=1e-7)
    assert model.jacobian_eigs(x[10:13]).shape == (6,)
    alpha = model.attention(x)
    assert alpha.shape == (118, 3)
    np.testing.assert_allclose(alpha.sum(axis=1), 1, atol=1e-12)
    e = model.tokens(newest_first)
    np.testing.assert_allclose(model.softmax().matrix(e, None, rows=jnp.arange(1))[0], alpha[10], atol=1e-12)


def test_inputs_of_a_network():
    rng = RNG(3)
    u = rng.normal(size=(120, 1))
    x = np.convolve(u[:, 0], [0.5, 0.3, 0.2])[:120, None]
    model = tiny().fit(x, u=u)
    assert model.n_inputs_ == 1
    forecast = model.forecast(10, x[:60], u=u[:70])
    for k in range(10):  # one step at a time, from the model's own past
        history = np.concatenate([x[:60], forecast[:k]])
        np.testing.assert_allclose(model.forecast(1, history, u=u[: 61 + k])[0], forecast[k], atol=1e-9)
    assert model.effective_lag_matrices().shape == (3, 1, 1)


def test_losses_against_loops():
    given = form(2, 3, 4, 5, 6)
    theta = jnp.asarray(network.initial(RNG(0), given))
    rng = RNG(1)
    base = Base(jnp.asarray(0.1 * rng.normal(size=(2, 12))), jnp.asarray([0.1, -0.1]), jnp.asarray([0.5, 0.0]))
    z, future = rng.normal(size=(5, 4, 3)), rng.normal(size=(5, 3, 3))
    found = jax.jit(lambda z, future: losses.residuals(theta, base, z, future, given))(z, future)
    L, constant, s = (np.asarray(a) for a in base)
    found, forward = np.asarray(found), jax.jit(lambda z: network.forward(network.unpacked(theta, given), z, given))
    for i in range(5):
        window = z[i]
        for r in range(3):
            out = np.asarray(forward(jnp.asarray(window[None])))[0]
            state = window[0, :2] + L @ window.reshape(-1) + constant + s * out
            assert found[i, r, 0] == pytest.approx((state[0] - future[i, r, 0]) / 0.5, abs=1e-12)
            assert found[i, r, 1] == 0  # a channel that never moves
            window = np.concatenate([np.r_[state, future[i, r, 2:]][None], window[:-1]])
    weights = losses.relative_weights(np.array([[0.0, 0.0], [1.0, 1.0]]), 0.1)
    np.testing.assert_allclose(weights[0] / weights[1], 1.01 / 0.01)
    assert weights.mean() == pytest.approx(1)


def test_roll_out_errors_against_a_loop():
    """Geometric means over roll-outs, of new and of seen data; the larger one counts."""
    given, m = form(1, 2, 2, 3, 4), 2
    theta = jnp.asarray(network.initial(RNG(0), given))
    base = Base(jnp.zeros((1, 4)), jnp.zeros(1), jnp.ones(1))
    rng, lengths = RNG(1), (5, 3, 5)
    x, u = rng.normal(size=(3, 9, 1)), rng.normal(size=(3, 9, 1))
    mean, std = np.array([0.1, -0.2]), np.array([2.0, 0.5])
    whole = [Piece(x[k, : n + m], u[k, : n + m], k, True) for k, n in enumerate(lengths)]
    rollouts = held([Stretch(piece, m) for piece in whole[:2]], whole[2:], m, mean, std)
    advance = jax.jit(lambda z: losses.advance(theta, base, z, given)[0])
    errors = {}
    for k, start in [(0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (2, 2)]:  # in the first half; where five steps are left
        piece, wrong = whole[k], []
        z = np.concatenate([(piece.x - 0.1) / 2, (piece.u + 0.2) / 0.5], axis=1)
        window = np.stack([[z[start - 1 - j, 0], z[start - j, 1]] for j in range(m)])
        for i in range(start, len(piece)):
            state = float(advance(jnp.asarray(window[None]))[0])
            wrong.append(min(abs(state - z[i, 0]), 1.5))
            if i + 1 < len(piece):
                window = np.stack([[state, z[i + 1, 1]], window[0]])
        errors[k, start] = np.mean(wrong)
    new = np.exp(np.mean([np.log(e) for (k, _), e in errors.items() if k < 2]))
    arrays = training.Held(*(jnp.asarray(a) for a in rollouts))
    found = float(jax.jit(lambda h: training.rollout_error(theta, base, h, given))(arrays))
    assert found == pytest.approx(max(new, errors[2, 2]), rel=1e-9)


def test_windows_of_the_compiled_program_are_the_windows():
    from attnflow.forecasting.fitting import _reversed

    rng = RNG(4)
    given = [Piece(rng.normal(size=(n, 2)), rng.normal(size=(n, 1)), i, True) for i, n in enumerate((9, 3, 7))]
    cut = windows(given, 3, 2)
    stream, places = _reversed(given, 3, 2)
    data = losses.Data(jnp.asarray(stream), jnp.asarray(places), None, len(places))
    tokens, future = data.windows(jnp.arange(len(places)), 3, 2)
    np.testing.assert_array_equal(tokens, cut.tokens)
    np.testing.assert_array_equal(future[:, :, :2], cut.future[:, :, :2])
    np.testing.assert_array_equal(future[:, 0, 2:], cut.future[:, 0, 2:])


def test_every_option_trains():
    x = ONE
    many = {"input_noise": 0.02, "values": "per_delay", "progress": True, "rollout_steps": 3, "weight_decay": 1e-3}
    for options in (many, {"refit": True, "loss": "auto"}):
        model = tiny(**options).fit(x)
        assert np.isfinite(model.forecast(20)).all() and np.isfinite(model.loss_curve_).all()


def test_second_order_steps_go_on_where_the_first_stopped():
    x, options = ONE, {"max_steps": 200, "validation": 0.0}
    plain, finished = tiny(**options).fit(x), tiny(**options, finish="levenberg-marquardt").fit(x)
    assert 1 - finished.score(x) < 0.5 * (1 - plain.score(x))


def test_the_choice_sees_the_held_back_part_alone():
    """Which candidates there are, how one is chosen, and that a nearly linear system gets its linear part alone."""
    assert [c.name for c in listed("auto", "auto")] == [
        "linear part alone",
        "plain loss",
        "relative loss",
        "plain loss, with a linear part",
        "relative loss, with a linear part",
    ]
    assert listed("plain", False) == [Candidate("plain", False, True)]
    a, b, c = listed("plain", "auto")
    assert best({a: 1.0, b: 0.9, c: 0.99}) == a and best({a: 1.0, b: 0.7, c: 0.69}) == b
    assert best({a: np.nan, b: 2.0, c: 3.0}) == b
    x = np.sin(0.3 * np.arange(120))
    model = tiny(loss="auto", linear_skip="auto").fit(x)
    assert [row["chosen"] for row in model.selection_] == [True, False, False, False, False]
    assert model.linear_ and not model.network_


def test_what_is_held_back():
    def piece(n, trajectory, start=0.0):
        return Piece(start + np.arange(float(n))[:, None], np.zeros((n, 0)), trajectory, True)

    kept, back = split([piece(100, 0)], 0.1, 5)
    assert [len(p) for p in kept] == [90] and [(len(s.piece), s.first) for s in back] == [(100, 90)]
    kept, back = split([piece(100, i, start) for i, start in enumerate((0, 400, 100, 9000))], 0.1, 5)
    assert [s.piece.trajectory for s in back] == [2] and len(kept) == 3  # sums of distances: 9500, 9300, 9300, 26500
    assert split([piece(8, 0)], 0.1, 5)[1] == []
    with pytest.warns(AttnflowWarning, match="nothing is held back"):
        tiny(loss="auto").fit(two_tones(10)[1])


def test_validation_data_can_be_given():
    x, other = ONE, two_tones(15, 0.11)[1]
    assert np.isfinite(tiny().fit(x, X_val=other).validation_scores_).all()
    with pytest.raises(InputError, match="X_val has no"):
        tiny().fit(x, X_val=other[:3])


# Divergence ----------------------------------------------------------------------------------------------------------


def test_a_roll_out_that_diverges_stops():
    """Row 23."""
    x = np.sin(0.3 * np.arange(60))[:, None] * [1.0, -2.0]
    model = af.TDDMD(1).fit(x)
    model._A = 2 * np.eye(2)
    with pytest.warns(AttnflowWarning, match="diverged: of 500 steps"):
        forecast = model.forecast(500)
    assert 0 < len(forecast) == model.diverged_at_ < 20 and np.isfinite(forecast).all()
    assert model.score_rollout(x, 40) == -np.inf
    assert af.TDDMD(2).fit(x).diverged_at_ is None


# Data in, the same kind out ------------------------------------------------------------------------------------------


def test_trajectories_of_unequal_length_are_never_joined():
    A, b = stable_lags(2, 2, seed=7), np.array([0.1, 0.2])
    runs = [linear_series(A, b, n, seed=n) for n in (30, 12, 21)]
    model = af.TDDMD(2).fit(runs)
    np.testing.assert_allclose(model.lag_matrices_, A, atol=1e-8)
    np.testing.assert_allclose(model.forecast(1)[0], b + A[0] @ runs[2][-1] + A[1] @ runs[2][-2], atol=1e-8)
    scalar = [runs[0][:, 0], runs[1][:, 0]]
    assert len(af.TDDMD(2).fit(scalar).predict(scalar)) == 2
    parts = model.predict(runs)
    assert [p.shape for p in parts] == [(29, 2), (11, 2), (20, 2)]


def test_columns_as_times():
    x = np.column_stack([two_tones(80)[1], two_tones(80, 0.15)[1]])
    turned = af.TDDMD(4, time_axis=1).fit(x.T)
    np.testing.assert_array_equal(turned.forecast(7), af.TDDMD(4).fit(x).forecast(7).T)
    with pytest.raises(InputError, match="time_axis=1"):
        af.TDDMD(4).fit(x.T)


def test_pandas_in_pandas_out():
    t, x = two_tones(200)
    days = pd.date_range("2020-01-01", periods=200, freq="h", name="when")
    frame = pd.DataFrame({"a": x, "b": np.cos(t)}, index=days)
    model = af.TDDMD(8).fit(frame)
    forecast = model.forecast(24)
    assert isinstance(forecast, pd.DataFrame) and list(forecast.columns) == ["a", "b"]
    expected = pd.date_range(days[-1], periods=25, freq="h", name="when")[1:]
    pd.testing.assert_index_equal(forecast.index, expected)
    assert model.dt_ == 3600 and list(model.feature_names_in_) == ["a", "b"]
    predicted = model.predict(frame)
    pd.testing.assert_index_equal(predicted.index[:-1], days[8:], check_exact=True, exact="equiv")
    np.testing.assert_allclose(predicted.iloc[:-1], frame.iloc[8:], atol=1e-8)
    column = af.TDDMD(8).fit(frame["a"]).forecast(3)
    assert isinstance(column, pd.Series) and column.name == "a"


@pytest.mark.parametrize(
    ("index", "last"),
    [
        (pd.period_range("2001-01", periods=60, freq="M"), pd.Period("2006-02", "M")),
        (pd.date_range("2001-01-01", periods=60, freq="MS"), pd.Timestamp("2006-02-01")),
        (pd.Index(0.5 * np.arange(60)), 30.5),
        (pd.RangeIndex(10, 70), 71),
        (pd.Index([f"row {k}" for k in range(60)]), 61),
    ],
)
def test_times_go_on_in_their_own_calendar(index, last):
    """Months have no constant length, and are regular all the same."""
    frame = pd.DataFrame({"x": two_tones(60)[1]}, index=index)
    assert af.TDDMD(4).fit(frame).forecast(2).index[-1] == last


def test_xarray_in_xarray_out():
    t, x = two_tones(120)
    array = xarray.DataArray(
        np.stack([x, np.cos(t)]), {"channel": ["a", "b"], "time": t}, ("channel", "time"), name="signal"
    )
    forecast = af.TDDMD(8).fit(array).forecast(5)
    assert forecast.dims == ("channel", "time") and forecast.name == "signal"
    np.testing.assert_allclose(forecast["time"], 12.0 + 0.1 * np.arange(5))
    assert list(forecast["channel"].values) == ["a", "b"]
    dated = array.assign_coords(time=np.datetime64("2020-01-01", "ns") + np.arange(120) * np.timedelta64(1, "m"))
    later = af.TDDMD(8).fit(dated).forecast(2)["time"].values
    assert later[-1] == np.datetime64("2020-01-01T02:01", "ns")


def test_missing_samples_are_told_and_left_out():
    t, x = two_tones(300)
    torn = x.copy()
    torn[[100, 101, 200]] = np.nan
    with pytest.warns(AttnflowWarning, match="3 samples are missing; the data were cut into 3 stretches"):
        model = af.TDDMD(8).fit(torn, t=t)
    assert nrmse(model.forecast(500), two_tones(800)[1][300:]) < 1e-6
    kept = np.delete(np.arange(300), [100, 101, 200])
    with pytest.warns(AttnflowWarning, match="3 samples are missing"):
        again = af.TDDMD(8).fit(x[kept], t=t[kept])
    np.testing.assert_allclose(again.lag_matrices_, model.lag_matrices_, atol=1e-12)
    predicted = model.predict(torn)
    assert np.isnan(predicted[93:102]).all() and np.isfinite(predicted[:93]).all()
    torn[-3] = np.nan
    with pytest.warns(AttnflowWarning):
        open_ended = af.TDDMD(8).fit(torn)
    with pytest.raises(InputError, match="do not end with 8 samples"):
        open_ended.forecast(3)


def test_times_as_they_are_printed():
    """Rounded to a sixtieth of a step, as dates, as dates of Python; with a gap."""
    n, x = 60, ONE[:60]
    rounded = np.round(np.arange(n) / 30, 3)
    assert af.TDDMD(4).fit(x, t=rounded).dt_ == pytest.approx(1 / 30, rel=1e-3)
    with pytest.warns(AttnflowWarning, match="2 samples are missing"):
        af.TDDMD(4).fit(np.delete(x, [30, 31]), t=np.delete(rounded, [30, 31]))
    hours = np.datetime64("2020-01-01T00", "h") + np.arange(n)
    assert af.TDDMD(4).fit(x, t=hours).dt_ == af.TDDMD(4).fit(x, t=hours.tolist()).dt_ == 3600
    back = pd.Series(x, index=pd.date_range("2020", periods=n)[::-1])
    with pytest.raises(InputError, match="do not increase"):
        af.TDDMD(4).fit(back)


def test_constant_columns_stay_constant():
    x = np.column_stack([ONE, np.full(120, 7.0)])
    for model in (af.TDDMD(8), tiny(), tiny(linear_skip=True)):
        forecast = model.fit(x).forecast(20)
        np.testing.assert_allclose(forecast[:, 1], 7, atol=1e-8)
    still = tiny().fit(np.ones((40, 2)))
    np.testing.assert_allclose(still.forecast(5), 1, atol=1e-12)


BAD = [
    (np.zeros((3, 1)), {}, "n_delays = 3 needs 4"),
    (np.zeros((1, 1)), {}, "X has 1 sample"),
    (np.zeros((0, 2)), {}, "shape"),
    (np.zeros((9, 2, 2)), {}, "PODReducer"),
    (np.array([[1.0], [np.inf], [2.0], [1.0], [0.0]]), {}, "infinite in row 1"),
    (np.full((9, 1), np.nan), {}, "every row of X"),
    (np.array([["a"], ["b"]]), {}, "no array of numbers|not an array of numbers"),
    (pd.DataFrame({"x": range(9), "city": ["Rome"] * 9}), {}, "column 'city'"),
    (np.arange(9.0), {"t": np.arange(8.0)}, "one time for each row"),
    (np.arange(9.0), {"t": np.r_[0, 1, 2, 2, 3, 4, 5, 6, 7.0]}, "do not increase .look at row 3"),
    (np.arange(9.0), {"t": np.arange(9.0) ** 2}, "irregular"),
    (np.arange(9.0), {"u": np.arange(8.0)}, "8 rows of inputs"),
    ([np.zeros((9, 2)), np.zeros((9, 3))], {}, "columns"),
    ([np.zeros((9, 2))], {"t": [np.arange(9), np.arange(9)]}, "give t as a list of 1"),
    ([np.arange(9.0)[:, None]] * 2, {"t": [np.arange(9.0), 2 * np.arange(9.0)]}, "time steps from 1 to 2"),
    ([], {}, "empty list"),
    (np.zeros((9, 1)) + 1j, {}, "[Cc]omplex data"),
]


@pytest.mark.parametrize(("X", "more", "sentence"), BAD)
def test_bad_data_are_refused_in_a_sentence(X, more, sentence):
    for model in (af.TDDMD(3), tiny()):
        with pytest.raises(InputError, match=sentence):
            model.fit(X, **more)


BAD_OPTIONS = [
    {"n_delays": 0},
    {"n_delays": 2.5},
    {"width": -1},
    {"values": "own"},
    {"activation": "sin"},
    {"loss": "best"},
    {"linear_skip": "maybe"},
    {"validation": 0.9},
    {"lr": np.nan},
    {"finish": "newton"},
    {"random_state": -1},
    {"key": "magic"},
    {"time_axis": 2},
    {"progress": "no"},
]


@pytest.mark.parametrize("options", BAD_OPTIONS, ids=lambda o: next(iter(o)))
def test_bad_options_are_refused_by_fit(options):
    """A constructor stores only, as scikit-learn has it."""
    model = tiny().set_params(**options)
    with pytest.raises(InputError, match=next(iter(options))):
        model.fit(two_tones(60)[1])


# Conventions ---------------------------------------------------------------------------------------------------------


def test_parameters_copies_and_pickles():
    model = tiny(width=8, key=jax.random.key(3))
    assert model.get_params()["width"] == 8 and type(model)(**model.get_params()).get_params() == model.get_params()
    assert repr(af.TDDMD(4, rank=2)) == "TDDMD(n_delays=4, rank=2)"
    linear = af.TDDMD(3).fit(ONE)
    before = linear.forecast(4)
    np.testing.assert_array_equal(linear.set_params(n_delays=5).forecast(4), before)
    with pytest.raises(InputError, match="no parameter 'depth'"):
        model.set_params(depth=2)
    for method in ("forecast", "predict", "score"):
        with pytest.raises(InputError, match="not fitted"):
            getattr(model, method)(np.zeros((9, 1)))
    fitted = tiny().fit(ONE)
    for twin in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        np.testing.assert_array_equal(twin.forecast(4), fitted.forecast(4))


@pytest.mark.parametrize("make", [lambda: af.TDDMD(3, rank=4), lambda: tiny(linear_skip="auto")])
def test_saved_and_loaded(make, tmp_path):
    u = RNG(0).normal(size=(120, 1))
    model = make().fit(ONE, u=u, t=0.1 * np.arange(120))
    path = model.save(tmp_path / "model.nc")
    for twin in (load(path), type(model).load(path)):
        np.testing.assert_array_equal(twin.forecast(6, u=u[:6]), model.forecast(6, u=u[:6]))
        assert twin.get_params() == model.get_params() and twin.dt_ == model.dt_
        assert twin.n_parameters_ == model.n_parameters_
    other = af.TDDMD if isinstance(model, af.TimeDelayedTransformer) else af.TimeDelayedTransformer
    with pytest.raises(InputError, match="load it by that class"):
        other.load(path)
    path.write_bytes(b"nothing")
    with pytest.raises(FileError, match="damaged"):
        load(path)
    with pytest.raises(InputError, match="not fitted"):
        make().save(path)


# Fields --------------------------------------------------------------------------------------------------------------


def test_fields_to_coefficients_and_back():
    rng = RNG(0)
    modes = np.linalg.qr(rng.normal(size=(30, 3)))[0].T
    a = rng.normal(size=(40, 3)) * [5.0, 2.0, 1.0]
    fields = (4 + a @ modes).reshape(40, 5, 6)
    pod = PODReducer(2).fit(fields[:30])
    assert pod.modes_.shape == (2, 5, 6) and pod.mean_.shape == (5, 6)
    np.testing.assert_allclose(PODReducer(3).fit(fields).projection_error(fields), 0, atol=1e-12)
    centred = fields[:30].reshape(30, -1) - fields[:30].reshape(30, -1).mean(axis=0)
    s = np.linalg.svd(centred)[1]
    np.testing.assert_allclose(pod.energy_[:3], np.cumsum(s**2)[:3] / np.sum(s**2))
    assert pod.projection_error(fields[:30]) == pytest.approx(np.sqrt(1 - pod.energy_[1]))
    restored = pod.inverse_transform(pod.transform(fields))
    assert restored.shape == fields.shape
    back = (restored - pod.mean_).reshape(40, -1)
    np.testing.assert_allclose(back, back @ pod.modes_.reshape(2, -1).T @ pod.modes_.reshape(2, -1), atol=1e-12)
    assert PODReducer(0.99).fit(fields).rank_ == int(np.searchsorted(PODReducer(1).fit(fields).energy_, 0.99)) + 1
    assert [c.shape for c in pod.transform([fields[:4], fields[4:9]])] == [(4, 2), (5, 2)]
    with pytest.raises(InputError, match="at most 10"):
        PODReducer(11).fit(fields[:10])
    with pytest.raises(InputError, match="the modes have"):
        pod.transform(fields[:, :4])


# Chaos ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def chaos():
    return lorenz((1, 1, 1.05), 2000), lorenz((-5, 3, 20), 2000)


def test_one_step_errors_on_lorenz(chaos):
    """Row 16 for TD-DMD, 1.3e-4, within a factor of 3; the network, 2.4e-4, is judged by the experiment, which trains
    for longer."""
    train, test = chaos
    model = af.TDDMD(32, tol=1e-8).fit(train)
    assert 1.3e-4 / 3 < nrmse(model.predict(test)[:-1], test[32:]) < 3 * 1.3e-4


def test_the_guard_of_the_compiled_roll_out(chaos):
    """Steps are rounded up to few lengths; what comes back has the length that was asked for."""
    assert [rollout.rounded_up(n) for n in (1, 7, 8, 9, 100, 1000)] == [1, 7, 8, 10, 112, 1024]
    train, _ = chaos
    model = af.TDDMD(8).fit(train)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_array_equal(model.forecast(9), model.forecast(100)[:9])
