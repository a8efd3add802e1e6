"""Test systems, measures of forecasts, baselines, rolling origins and pictures; theory/07, sections 3 to 6."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.integrate import solve_ivp

from attnflow import forecasting as fc
from attnflow.errors import InputError, SolveError
from attnflow.forecasting import baselines, pictures, systems

RNG = np.random.default_rng


# Systems -------------------------------------------------------------------------------------------------------------


def test_two_tone_is_the_formula():
    x = systems.two_tone(50, dt=0.1)
    t = np.arange(50) * 0.1
    np.testing.assert_allclose(x.values[:, 0], np.sin(t) + 0.5 * np.sin(np.sqrt(5) * t + 0.3), atol=1e-14)
    np.testing.assert_allclose(x["time"], t)
    noisy = systems.tones(20_000, frequencies=[1.0], noise=0.1, key=jax.random.key(0))
    clean = systems.tones(20_000, frequencies=[1.0])
    assert abs(float((noisy - clean).std()) - 0.1) < 0.003
    with pytest.raises(InputError, match="needs a key"):
        systems.tones(5, frequencies=[1.0], noise=0.1)


FLOWS = {
    "lorenz": (lambda x, y, z: [10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z], (1.0, 2.0, 3.0), 0.02),
    "roessler": (lambda x, y, z: [-y - z, x + 0.2 * y, 0.2 + z * (x - 5.7)], (1.0, 1.0, 0.0), 0.1),
    "van_der_pol": (lambda x, y: [y, (1 - x * x) * y - x], (0.5, 0.0), 0.1),
    "wake": (
        lambda x, y, z: [0.1 * x - y - 0.1 * x * z, x + 0.1 * y - 0.1 * y * z, -10 * (z - x * x - y * y)],
        (0.02, 0.0, 0.0),
        0.1,
    ),
}


@pytest.mark.parametrize("name", FLOWS)
def test_flows_against_another_integrator(name):
    """Runge and Kutta's method of order four with small steps; both are written here again."""
    field, start, dt = FLOWS[name]
    made = getattr(systems, name)(6, start=start, transient=0.0)
    v, path, h = np.array(start), [np.array(start)], dt / 200
    f = lambda v: np.array(field(*v))  # noqa: E731
    for _ in range(5):
        for _ in range(200):
            k1 = f(v)
            k2 = f(v + h / 2 * k1)
            k3 = f(v + h / 2 * k2)
            v = v + h / 6 * (k1 + 2 * k2 + 2 * k3 + f(v + h * k3))
        path.append(v)
    np.testing.assert_allclose(made.values, path, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(made["time"], dt * np.arange(6))


def test_observed_components_and_bad_arguments():
    whole, part = systems.lorenz(4), systems.lorenz(4, observed="zx")
    np.testing.assert_array_equal(part.values, whole.values[:, [2, 0]])
    assert part["variable"].values.tolist() == ["z", "x"] and whole.attrs["lyapunov"] == 0.9056
    for bad in ("w", "xx", "", 3):
        with pytest.raises(InputError, match="observed"):
            systems.lorenz(4, observed=bad)
    with pytest.raises(InputError, match="start has shape"):
        systems.lorenz(4, start=(1.0, 2.0))
    with pytest.raises(SolveError, match="could not be integrated"):
        systems.wake(2000, start=(1e150, 0.0, -1e200))


def test_wake_tends_to_its_cycle():
    end = systems.wake(1000, start=(0.02, 0.0, 0.0))[-1]
    assert abs(float(end[0] ** 2 + end[1] ** 2) - 1) < 1e-4


def test_aerofoil_by_a_loop():
    angle = 0.1 + 0.25 * np.sin(0.2 * np.arange(60))
    made = systems.aerofoil(angle)
    b1, b2, h = 0.0455, 0.3, 0.125
    attached = lambda e: 1 / (1 + np.exp(40 * (abs(e) - 0.26)))  # noqa: E731
    x1, x2 = angle[0] / b1, angle[0] / b2
    effective = lambda a: 0.5 * a + 0.165 * b1 * x1 + 0.335 * b2 * x2  # noqa: E731
    f, rows = attached(effective(angle[0])), []
    for a in angle:
        e = effective(a)
        # At the sample the flow has followed the old angle; the new one acts from here on.
        lift = 2 * np.pi * e * ((1 + np.sqrt(f)) / 2) ** 2
        rows.append([lift, 0.01 + 0.9 * lift * a + 0.3 * (1 - f) * abs(e)])
        for _ in range(4):
            df = (attached(effective(a)) - f) / 3
            x1, x2, f = x1 + h * (a - b1 * x1), x2 + h * (a - b2 * x2), f + h * df
    np.testing.assert_allclose(made["y"].values, rows, rtol=1e-12)
    np.testing.assert_array_equal(made["u"].values[:, 0], angle)
    twin = systems.aerofoil(angle, stall=False)
    assert np.ptp(twin["y"].sel(output="drag").values) == 0.0
    pitch = systems.pitching(400, mean=0.0, amplitude=0.3)
    assert abs(np.abs(pitch).max() - 0.3) < 1e-15


def test_reaction_and_diffusion():
    """Row 17 needs the whole run and is a claim; here are its equation and the rotation of its homogeneous state."""
    made = systems.reaction_diffusion(3, points=32, dt=0.005)
    w = made.values[:, 0] + 1j * made.values[:, 1]
    k = 2 * np.pi * np.fft.fftfreq(32, 20 / 32)
    laplacian = np.fft.ifft2(-(k[:, None] ** 2 + k**2) * np.fft.fft2(w[1]))
    rate = 0.1 * laplacian + (1 - abs(w[1]) ** 2) * w[1] - 1j * abs(w[1]) ** 2 * w[1]
    np.testing.assert_allclose((w[2] - w[0]) / 0.01, rate, atol=2e-3)
    assert made.dims == ("time", "field", "y", "x") and float(made["x"][0]) == -10 and float(made["x"][-1]) < 10
    with pytest.raises(InputError, match="too many"):
        systems.reaction_diffusion(2, points=512, side=5.0)


def test_kuramoto_sivashinsky_by_an_implicit_solver():
    made = systems.kuramoto_sivashinsky(5, points=32, transient=20.0)
    k = 2 * np.pi * np.fft.rfftfreq(32, 22 / 32)

    def rate(t, u):
        square = np.fft.rfft(u * u) * (k < 2 / 3 * k.max())
        return np.fft.irfft((k**2 - k**4) * np.fft.rfft(u) - 0.5j * k * square, 32)

    solved = solve_ivp(rate, (0, 1), made.values[0], method="BDF", rtol=1e-8, atol=1e-9, t_eval=made["time"].values)
    np.testing.assert_allclose(made.values, solved.y.T, atol=1e-5)
    assert abs(made.values.mean()) < 1e-12
    with pytest.raises(InputError, match="odd"):
        systems.kuramoto_sivashinsky(2, points=33)


# Measures ------------------------------------------------------------------------------------------------------------


def test_nrmse():
    true = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    assert fc.nrmse(np.broadcast_to(true.mean(axis=0), true.shape), true) == 1.0
    assert fc.nrmse(true, true) == 0.0
    assert abs(fc.nrmse(true + 1, true) - 1 / np.sqrt(8 / 3)) < 1e-15
    assert fc.nrmse(true[:2], true) == np.inf and fc.nrmse(np.where(true == 3, np.nan, true), true) == np.inf
    assert fc.nrmse(true[:, 0], true[:, 0]) == 0.0
    with pytest.raises(InputError, match="does not vary"):
        fc.nrmse(np.ones(3), np.ones(3))


def test_valid_prediction_time():
    true = np.zeros((3, 10, 1))
    true[:, ::2] = 2.0  # mean 1, spread 1
    wrong = true.copy()
    wrong[0, 4:] += 0.41  # wrong from the fifth step on
    wrong[1, 4] += 0.39  # never wrong enough
    wrong[2, 2] = np.nan
    found = fc.valid_prediction_time(wrong, true, 0.1, exponent=2.0)
    np.testing.assert_allclose(found.time, [1.0, 2.0, 0.6])
    assert found.capped.tolist() == [False, True, False] and abs(found.median - 1.0) < 1e-12


def test_distances_of_laws():
    rng = RNG(0)
    x = rng.normal(size=(4000, 2))
    assert fc.histogram_distance(x, x).tolist() == [0.0, 0.0]
    far = fc.histogram_distance(x + 100, x)
    assert (far > 0.95).all()  # all of it in the last bin
    moved = fc.wasserstein1d(x + np.array([1.0, 0.5]), x)
    np.testing.assert_allclose(moved * x.std(axis=0), [1.0, 0.5], rtol=1e-9)
    uniform, half = np.linspace(0, 1, 10_001), np.linspace(0, 0.5, 10_001)
    assert abs(fc.histogram_distance(half, uniform)[0] - 0.5) < 0.02


def lorenz_step(v, steps=4, h=0.005):
    def field(v):
        x, y, z = v[0], v[1], v[2]
        return jnp.stack([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])

    def step(v, _):
        k1 = field(v)
        k2 = field(v + h / 2 * k1)
        k3 = field(v + h / 2 * k2)
        return v + h / 6 * (k1 + 2 * k2 + 2 * k3 + field(v + h * k3)), None

    return jax.lax.scan(step, v, None, length=steps)[0]


def test_largest_exponent_of_maps_with_known_ones():
    """Row 15; a linear map with eigenvalues 0.9 and -0.5; the doubling map; a decay that the window has to show."""
    true = fc.largest_lyapunov(lorenz_step, [-8.0, -8.0, 27.0], 0.02, steps=20_000, size=[8e-4, 9e-4, 8.6e-4])
    assert 0.85 < true.exponent < 0.96 and 0 < true.error < 0.05
    A = jnp.array([[0.9, 0.3], [0.0, -0.5]])
    linear = fc.largest_lyapunov(lambda v: A @ v, [1.0, 1.0], 0.5, steps=500)
    assert abs(linear.exponent - np.log(0.9) / 0.5) < 1e-9
    doubling = fc.largest_lyapunov(lambda v: (2 * v) % 1.0 + 1e-12, [0.2137], 1.0, steps=200, size=1e-9)
    assert abs(doubling.exponent - np.log(2)) < 1e-4
    diverging = fc.largest_lyapunov(lambda v: v**3, [2.0], 1.0, steps=200)
    assert np.isnan(diverging.exponent)


def test_the_window_of_a_forecaster_is_a_map():
    t = 0.1 * np.arange(400)
    model = fc.TDDMD(4).fit(np.exp(-0.05 * t) * np.sin(t))
    step = fc.window_step(model)
    window = jnp.asarray(np.exp(-0.05 * t[:4]) * np.sin(t[:4]))[::-1, None]
    following = step(window)
    assert following.shape == (4, 1) and jnp.array_equal(following[1:], window[:-1])
    assert abs(float(following[0, 0]) - np.exp(-0.05 * t[4]) * np.sin(t[4])) < 1e-9
    found = fc.largest_lyapunov(step, window, 0.1, steps=1000, size=1e-3)
    assert abs(found.exponent + 0.05) < found.error < 0.05
    with pytest.raises(InputError, match="no forecaster"):
        fc.window_step("TD-DMD")


# Baselines and rolling origins ---------------------------------------------------------------------------------------


def test_baselines_with_gaps():
    history = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, np.nan], [5.0, 50.0], [6.0, np.nan]])
    np.testing.assert_array_equal(baselines.persistence(history, 2), [[6.0, 50.0]] * 2)
    # The rows to come stand at the places of rows 1, 4 and of 2, 5: a period of three.
    np.testing.assert_array_equal(baselines.seasonal_mean(history, 4, 3)[:, 0], [2.5, 3.5, 4.5, 2.5])
    np.testing.assert_array_equal(baselines.seasonal_mean(history, 3, 3)[:, 1], [10.0, 35.0, 30.0])
    np.testing.assert_allclose(baselines.seasonal_mean(history, 1, None), [[3.5, 27.5]])


@pytest.mark.parametrize("period", [7, 12, 52])
def test_the_season_is_found(period):
    rows = np.arange(8 * period)
    noise = RNG(1).normal(size=len(rows))
    series = np.sin(2 * np.pi * rows / period) + 0.4 * np.cos(4 * np.pi * rows / period) + 0.2 * noise + 0.01 * rows
    assert baselines.season_of(series[:, None]) == period
    assert baselines.season_of(RNG(2).normal(size=(400, 1))) is None


def test_rolling_origin_counts_what_is_known():
    X = np.column_stack([np.arange(40.0), np.sin(np.arange(40.0))])
    X[35, 1] = np.nan

    def exact(history, n_steps):
        k = len(history)
        return np.column_stack([np.arange(k, k + n_steps), np.sin(np.arange(k, k + n_steps))])

    def dies(history, n_steps):
        return exact(history, n_steps)[: 1 + len(history) % 2]

    seen = []

    def spy(history, n_steps):
        seen.append(len(history))
        return baselines.persistence(history, n_steps)

    found = fc.rolling_origin({"exact": exact, "dies": dies, "last": spy}, X, 5, first=30, origins=6)
    assert found.origins.tolist() == seen == [30, 31, 32, 33, 34, 35] and found.chosen_with == 3
    assert found.best == "exact" and found.nrmse("exact") == 0.0 and found.nrmse("dies") == np.inf
    assert found.diverged("dies") == 6 and found.diverged("last") == 0 and found.wins("exact", "last") == 3
    spread = X[:30, 0].std()
    np.testing.assert_allclose(found.errors["last"][:, :, 0] / np.arange(1, 6), 1.0)
    np.testing.assert_allclose(found.rmse("last")[:, 0], np.arange(1, 6))
    assert found.spread[0] == spread and np.isnan(found.errors["last"][2, 3, 1])
    assert found.horizon == 5 and found.by_lead("last").shape == (5,)


# Pictures ------------------------------------------------------------------------------------------------------------


def test_pictures_are_figures():
    rng, t = RNG(0), np.arange(30.0)
    rows = rng.normal(size=(30, 2))
    ahead = np.arange(30.0, 40.0)
    made = [
        pictures.singular_values(np.array([3.0, 1.0, 1e-9]), rank=2),
        pictures.eigenvalues(np.exp(1j * np.linspace(0, 3, 5)), others=np.array([0.5, 1.2 + 0.1j])),
        pictures.modes(rng.normal(size=(6, 3)) + 1j, frequencies=np.array([1.0, 2.0, 3.0])),
        pictures.attention(rng.dirichlet(np.ones(5), size=30), times=t),
        pictures.forecast(
            t, rows, ahead, {"TD-TF": rows[:10], "TD-DMD": rows[:4]}, low=rows[:10] - 1, high=rows[:10] + 1,
            held_out=rows[10:20], names=["a", "b"],
        ),
        pictures.phase_portrait({"truth": rows, "TD-TF": rows[::-1]}),
        pictures.phase_portrait({"truth": rows[:, 0]}, delay=3),
        pictures.error_growth({"TD-TF": abs(rng.normal(size=(9, 20))), "TD-DMD": np.full(20, np.inf)}, exponent=0.9),
    ]  # fmt: skip
    assert all(isinstance(figure, Figure) for figure in made)
    assert len(made[4].axes) == 2 and made[4].axes[1].get_ylabel() == "b"
    low, high = made[4].axes[0].get_ylim()
    assert low < rows[:, 0].min() and high > rows[:, 0].max()
