"""Merging clusters over exponentially long times: the staircases of theory/01, section 3, and what they rest on."""

import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import expit, logsumexp

import attnflow as af
import witness
from attnflow.errors import InputError, SolveError
from attnflow.flows import compiled
from witness import on_circle

I32 = np.arange(1.0, 33)
W32 = on_circle(2 * np.pi * np.mod(I32**2 * np.sqrt(2), 1))
FIVE = 0.5 * np.array([0, 0.5, 2, 4, 7]) * np.log(2000) / np.sqrt(2000)
ANIMATION = np.array([0.06219714, 0.21432297, 1.81912262, 2.91107101, -3.09524835])
I24 = np.arange(1.0, 25)
HEIGHT, LONGITUDE = 1 - 2 * np.mod(I24**2 * np.sqrt(2), 1), 2 * np.pi * np.mod(I24**2 * np.sqrt(3), 1)
S2 = np.concatenate([np.sqrt(1 - HEIGHT**2)[:, None] * on_circle(LONGITUDE), HEIGHT[:, None]], axis=1)
DATA = {"W32": W32, "five": on_circle(FIVE), "animation": on_circle(ANIMATION), "S2": S2}


def softmax(beta):
    return af.SelfAttention(beta=beta)


def usa(beta, shifted=True):
    return af.SelfAttention(af.Unnormalized(beta=beta, shifted=shifted))


MODELS = {"SA": softmax, "shifted USA": usa}

# Section 3.5: (data, clock, beta, {clusters left: (time, relative digits)}, {clusters left: Ehat after}).
STAIRCASES = [
    ("W32", "SA", 4.0, {2: (12.7559, 1e-5), 1: (2773.677, 1e-6)}, {2: 0.517742}),
    (
        "W32",
        "SA",
        9.0,
        {3: (13.1832, 1e-5), 2: (337.5959, 1e-6), 1: (1.8718137e7, 1e-7)},
        {3: 0.380875404, 2: 0.517578134},
    ),
    (
        "W32",
        "SA",
        16.0,
        {5: (10.8306, 1e-5), 4: (50.7361, 1e-6), 3: (178.7590, 1e-6), 2: (1.7289288e6, 1e-6), 1: (8.3794e12, 1e-5)},
        {5: 0.220873, 4: 0.298861, 3: 0.380859, 2: 0.517578},
    ),
    (
        "W32",
        "SA",
        30.0,
        {
            6: (10.7511, 1e-5),
            5: (54.6531, 1e-6),
            4: (1.2686337e4, 1e-6),
            3: (1.6272586e5, 1e-6),
            2: (1.0028692e13, 1e-6),
            1: (6.504290e24, 1e-6),
        },
        {6: 0.191425, 5: 0.210938, 4: 0.298828, 3: 0.380859375, 2: 0.517578125},
    ),
    ("W32", "shifted USA", 9.0, {3: (67.2077, 1e-5), 2: (774.1726, 1e-6), 1: (3.2242423e8, 1e-6)}, {}),
    (
        "W32",
        "shifted USA",
        30.0,
        {6: (192.675, 1e-5), 3: (4.14186909e6, 1e-6), 2: (1.10355e13, 1e-5), 1: (4.09894e26, 1e-5)},
        {},
    ),
    (
        "five",
        "SA",
        500.0,
        {4: (7.262, 1e-4), 3: (19.326, 1e-4), 2: (1.9514e5, 1e-4), 1: (3.1958e15, 1e-4)},
        {4: pytest.approx(0.2825, abs=5e-5), 2: 0.52},
    ),
    (
        "five",
        "SA",
        2000.0,
        {4: (8.3249, 1e-5), 3: (3.6991e7, 1e-4), 2: (4.7432e25, 1e-4), 1: (6.9907e69, 1e-4)},
        {4: 0.28, 3: 0.44, 2: 0.52, 1: 1.0},
    ),
    ("five", "SA", 4000.0, {1: (1.3237e143, 1e-4)}, {4: 0.28, 3: 0.44, 2: 0.52, 1: 1.0}),
    (
        "five",
        "shifted USA",
        2000.0,
        {4: (22.750, 1e-4), 3: (1.5412e8, 1e-4), 2: (2.3724e26, 1e-4), 1: (8.7005e64, 1e-4)},
        {},
    ),
    (
        "animation",
        "SA",
        4.0,
        {4: (5.785, 1e-4), 3: (7.096, 1e-4), 2: (9.732, 1e-4), 1: (332.8588, 1e-6)},
        {2: 0.520324},
    ),
    ("S2", "SA", 9.0, {3: (17.3394, 1e-5), 2: (75.2837, 1e-5), 1: (6.18429e6, 1e-6)}, {2: 0.503472}),
    (
        "S2",
        "SA",
        30.0,
        {5: (1479.41, 1e-5), 4: (9.55051e4, 1e-5), 3: (3.96739e5, 1e-5), 2: (1.0795e9, 1e-4), 1: (1.09743e24, 1e-5)},
        {3: 0.378472},
    ),
]


@pytest.mark.parametrize(("data", "clock", "beta", "times", "energies"), STAIRCASES)
def test_reference_staircases(data, clock, beta, times, energies):
    run = af.long_time(MODELS[clock](beta), DATA[data])
    after = {e["clusters"]: e for e in run.events}
    assert run.result is af.Outcome.SUCCESSFUL
    assert run.clock == clock
    for left, (t, digits) in times.items():
        assert after[left]["t"] == pytest.approx(t, rel=digits)
        assert after[left]["log_t"] == pytest.approx(np.log(t), abs=digits)
    for left, value in energies.items():
        assert after[left]["energy"] == (pytest.approx(value, abs=6e-7) if isinstance(value, float) else value)


def test_acceptance_rows_a15_to_a17():
    times = {e["clusters"]: e["t"] for e in af.long_time(softmax(9.0), W32).events}
    assert times[2] == pytest.approx(337.596, abs=1e-2)
    assert times[1] == pytest.approx(1.8718137e7, rel=1e-5)
    run = af.long_time(softmax(30.0), W32)
    assert run.events[-1]["t"] == pytest.approx(6.50429e24, rel=1e-4)
    run = af.long_time(softmax(2000.0), DATA["five"])
    plateaus = [np.sum(np.square(e["masses"])) for e in run.events]
    np.testing.assert_allclose(plateaus, [0.28, 0.44, 0.52, 1], atol=1e-4)
    np.testing.assert_allclose([e["energy"] for e in run.events], plateaus, atol=1e-4)
    assert run.events[-1]["t"] == pytest.approx(6.9907e69, rel=1e-2)


def log_quadrature(u0, u1, p, beta, normalised=True):
    """The log of the time two clusters take from the angle u0 to u1 (theory/01, 1.6), in v = log tan(u/2)."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    ends = np.linspace(np.log(np.tan(u1 / 2)), np.log(np.tan(u0 / 2)), 401)
    half = np.diff(ends)[:, None] / 2
    v = ends[:-1, None] + half * (nodes[None, :] + 1)
    k = 2 * beta * expit(2 * v)
    odds = np.log((1 - p) / p)
    log_speed = -np.logaddexp(0, k - odds), -np.logaddexp(0, k + odds)
    log_speed = np.logaddexp(*log_speed) if normalised else -k
    return logsumexp(np.log(weights)[None, :] + np.log(half) - log_speed)


PAIR = {"x0": on_circle([0.0, 0.0, 2.0, 2.0, 2.0]), "weights": [0.1, 0.2, 0.3, 0.2, 0.2]}


def pair_log_time(model, **options):
    return float(af.long_time(model, **PAIR, **options).events[-1]["log_t"])


@pytest.mark.parametrize(("beta", "expected"), [(9.0, 15477.2527), (30.0, 4.00049338e16)])
def test_two_clusters_a18(beta, expected):
    run = af.long_time(softmax(beta), **PAIR)
    assert len(run.events) == 1  # tokens that coincide are one cluster from the start
    assert run.events[0]["tokens"] == [0, 2]
    assert run.events[0]["t"] == pytest.approx(expected, rel=1e-6)
    closed = af.reductions.two_cluster_time(beta, u0=2.0, u1=2 * np.arcsin(5e-4 / np.sqrt(beta)), weight=0.3)
    assert run.events[0]["t"] == pytest.approx(float(closed), rel=1e-8)


@pytest.mark.parametrize("kind", ["SA", "shifted USA"])
def test_times_beyond_the_largest_number(kind):
    beta = 600.0
    run = af.long_time(MODELS[kind](beta), **PAIR)
    event = run.events[0]
    assert event["t"] is None
    assert np.isinf(run.ts[-1])
    assert event["log_t"] > np.log(1e300)
    expected = log_quadrature(2.0, 2 * np.arcsin(5e-4 / np.sqrt(beta)), 0.3, beta, kind == "SA")
    assert event["log_t"] == pytest.approx(expected, abs=1e-8)


def test_unshifted_usa_is_faster_by_e_to_the_beta():
    slow, fast = (pair_log_time(usa(30.0, shifted=s)) for s in (True, False))
    assert slow - fast == pytest.approx(30.0, abs=1e-9)


@pytest.mark.parametrize("model", [softmax(0.0), usa(0.0)])
def test_kuramoto_at_beta_zero(model):
    u1 = 2 * np.arcsin(5e-4)
    expected = np.log(np.tan(1.0)) - np.log(np.tan(u1 / 2))  # u' = -sin u
    assert np.exp(pair_log_time(model)) == pytest.approx(expected, rel=1e-8)


def witness_staircase(theta, w, beta, normalised):
    """Section 3.4 in angles, by SciPy: (t, clusters left) of every merging."""
    theta, w, t, merges = np.array(theta, float), np.array(w, float), 0.0, []
    reach = 1e-3 / np.sqrt(beta)

    def gaps(angles):
        u = angles[None, :] - angles[:, None]
        return u, 2 * np.abs(np.sin(u / 2)) + 10 * np.eye(len(angles))

    while len(theta) > 1:

        def rhs(s, y, w=w):
            u, _ = gaps(y[:-1])
            kernel = np.exp(-2 * beta * np.sin(u / 2) ** 2) * (1 - np.eye(len(w)))
            v = (kernel * np.sin(u)) @ w
            v = v / (w + kernel @ w) if normalised else v
            return np.append(v, 1.0) / np.sqrt(np.sum(v**2))

        def touch(s, y):
            return gaps(y[:-1])[1].min() - reach

        touch.terminal = True
        solution = solve_ivp(rhs, (0, 50), np.append(theta, t), "DOP853", events=touch, rtol=1e-11, atol=1e-12)
        theta, t = solution.y[:-1, -1], solution.y[-1, -1]
        i, j = np.unravel_index(np.argmin(gaps(theta)[1]), (len(theta), len(theta)))
        mean = (w[i] * np.exp(1j * theta[i]) + w[j] * np.exp(1j * theta[j])) / (w[i] + w[j])
        theta[i], w[i] = np.angle(mean), w[i] + w[j]
        theta, w = np.delete(theta, j), np.delete(w, j)
        merges.append((t, len(theta)))
    return merges


@pytest.mark.parametrize("kind", ["SA", "shifted USA"])
def test_weighted_tokens_against_an_independent_integrator(kind):
    w = np.array([1, 2, 3, 4, 5]) / 15
    run = af.long_time(MODELS[kind](9.0), DATA["animation"], weights=w)
    expected = witness_staircase(ANIMATION, w, 9.0, kind == "SA")
    assert [e["clusters"] for e in run.events] == [left for _, left in expected]
    np.testing.assert_allclose([e["t"] for e in run.events], [t for t, _ in expected], rtol=1e-6)


def test_without_merging_a_stiff_solver_misses_the_last_step():
    # Theory/01, 3.4: at beta = 30 the drift of the last two clusters is below the rounding of what is in them.
    theta, beta = 2 * np.pi * np.mod(I32**2 * np.sqrt(2), 1), 30.0

    def kernel(angles):
        u = angles[None, :] - angles[:, None]
        return u, np.exp(-2 * beta * np.sin(u / 2) ** 2)

    def rhs(t, angles):
        u, k = kernel(angles)
        return np.sum(k * np.sin(u), axis=1) / np.sum(k, axis=1)

    end = solve_ivp(rhs, (0, 1e25), theta, "LSODA", rtol=1e-9, atol=1e-12).y[:, -1]
    assert np.mean(kernel(end)[1]) == pytest.approx(0.517578, abs=1e-6)
    assert af.long_time(softmax(beta), W32).events[-1]["t"] < 1e25


@pytest.mark.parametrize(
    ("data", "betas"), [("W32", (4.0, 9.0, 16.0, 30.0)), ("five", (500.0, 1000.0, 2000.0, 4000.0))]
)
def test_the_number_of_evaluations_does_not_grow_with_beta(data, betas):
    # Times grow by 22 and by 128 decades.
    evaluations = [int(af.long_time(softmax(b), DATA[data]).stats["evaluations"]) for b in betas]
    assert max(evaluations) <= 2 * min(evaluations)
    assert max(evaluations) < 5000


def test_rows_labels_energy_and_manifold():
    run = af.long_time(softmax(16.0), W32)
    log_ts, labels, xs = (np.asarray(a) for a in (run.log_ts, run.labels, run.xs))
    assert log_ts[0] == -np.inf
    assert np.all(np.diff(log_ts[1:]) >= 0)  # the last bit of a path takes no time that a float would notice
    np.testing.assert_allclose(run.ts, np.exp(log_ts), rtol=1e-15)
    assert np.all(np.diff(np.asarray(run.info["arclength"])) > 0)
    assert np.abs(np.linalg.norm(xs, axis=-1) - 1).max() < 1e-12
    # Merged tokens coincide, and a label is the first token of its cluster.
    np.testing.assert_array_equal(xs, np.take_along_axis(xs, labels[:, :, None], axis=1))
    for row in labels:
        assert all(row[row == label].size and np.flatnonzero(row == label)[0] == label for label in np.unique(row))
    for event in run.events:
        k = event["index"]
        assert log_ts[k] == event["log_t"]
        assert np.unique(labels[k]).size == event["clusters"] == len(event["masses"])
        assert np.unique(labels[k - 1]).size > event["clusters"]
        assert sum(event["masses"]) == pytest.approx(1, abs=1e-13)
        assert event["masses"] == sorted(event["masses"], reverse=True)
        heads = np.unique(labels[k])
        assert event["energy"] == pytest.approx(
            2 * 16 * np.exp(-16.0) * witness.energy(xs[k][heads], np.bincount(labels[k])[heads] / 32, 16.0), rel=1e-12
        )
    assert np.all(np.diff(np.asarray(af.energy(run))) > -1e-13)
    assert [af.clusters(run, at=e["index"], eps=1e-6).count for e in run.events] == [e["clusters"] for e in run.events]


def test_permutation_rotation_and_splitting():
    w = np.array([1, 2, 3, 4, 2]) / 12
    model, x = softmax(9.0), DATA["animation"]
    run = af.long_time(model, x, weights=w)
    times = [e["log_t"] for e in run.events]
    order = np.array([3, 0, 4, 2, 1])
    permuted = af.long_time(model, x[order], weights=w[order])
    np.testing.assert_allclose([e["log_t"] for e in permuted.events], times, atol=1e-8)
    assert [e["masses"] for e in permuted.events] == [pytest.approx(e["masses"], abs=1e-15) for e in run.events]
    turned = af.long_time(model, x @ witness.rotation(2, seed=1).T, weights=w)
    np.testing.assert_allclose([e["log_t"] for e in turned.events], times, atol=1e-8)
    # One token of weight 1/3 and the same in two parts; and in other parts.
    whole, split = (
        af.long_time(model, x[[0, 1, 2, 3, 3]], weights=np.array([1, 2, 3, *parts]) / 12) for parts in ((4, 2), (0, 6))
    )
    np.testing.assert_allclose([e["log_t"] for e in split.events], [e["log_t"] for e in whole.events], atol=1e-9)
    assert split.labels[0].tolist() == [0, 1, 2, 3, 3]
    expected = witness_staircase(ANIMATION[:4], np.array([1, 2, 3, 6]) / 12, 9.0, True)
    np.testing.assert_allclose([e["t"] for e in split.events], [t for t, _ in expected], rtol=1e-6)


def test_pairs_that_meet_at_the_same_time_and_then_rest():
    a = 0.5
    x0 = on_circle([a, a, -a, np.pi + a, np.pi - a])
    run = af.long_time(softmax(3.0), x0, weights=[0.125, 0.125, 0.25, 0.25, 0.25], throw=False)
    assert [e["tokens"] for e in run.events] == [[0, 2], [3, 4]]
    assert run.events[0]["log_t"] == run.events[1]["log_t"]
    assert [e["clusters"] for e in run.events] == [2, 2]
    assert run.result is af.Outcome.STATIONARY  # an antipodal pair
    np.testing.assert_array_equal(run.info["merge_clusters"], [2, 0, 0, 0])


@pytest.mark.parametrize("model", [softmax(9.0), usa(9.0), softmax(400.0)])
def test_equilibria_are_reported(model):
    pentagon = on_circle(2 * np.pi * np.arange(5) / 5)
    with pytest.raises(SolveError, match=r"do not move.*5 clusters left"):
        af.long_time(model, pentagon)
    run = af.long_time(model, pentagon, throw=False)
    assert run.xs.shape == (1, 5, 2)
    assert run.events == ()


def test_one_token_and_one_cluster():
    run = af.long_time(softmax(9.0), [[0.0, 1.0]])
    assert run.result is af.Outcome.SUCCESSFUL
    assert run.xs.shape == (1, 1, 2)
    run = af.long_time(softmax(9.0), on_circle([1.0] * 5))
    assert run.result is af.Outcome.SUCCESSFUL
    assert run.labels.tolist() == [[0] * 5]


def test_light_tokens_follow():
    # Without mass a token moves with the flow and changes nothing, even where e^{-beta |x-y|^2/2} is no number.
    x0, beta = on_circle([0.0, 2.0, 1.2, 1.1, -2.0]), 900.0
    run = af.long_time(softmax(beta), x0, weights=[0.3, 0.7, 0, 0, 0])
    expected = log_quadrature(2.0, 2 * np.arcsin(5e-4 / np.sqrt(beta)), 0.3, beta)
    assert run.events[-1]["log_t"] == pytest.approx(expected, abs=1e-7)


def test_too_few_steps():
    run = af.long_time(softmax(9.0), DATA["animation"], max_steps=20, throw=False)
    assert run.result is af.Outcome.MAX_STEPS
    assert int(run.stats["steps"]) == 20
    with pytest.raises(SolveError, match="max_steps"):
        af.long_time(softmax(9.0), DATA["animation"], max_steps=20)


def test_a_batch_with_few_points_is_what_its_members_are(key):
    """`points` bound the rows between mergings and change nothing else."""
    x0 = jnp.stack([af.sphere.uniform(n=5, d=2, key=k) for k in jax.random.split(key, 4)])
    betas = jnp.array([1.0, 9.0, 30.0, 300.0])
    runs = jax.jit(jax.vmap(lambda beta, x: af.long_time(softmax(beta), x, points=6)))(betas, x0)
    for k in range(4):
        alone = af.long_time(softmax(betas[k]), x0[k])
        log_t, rows = (np.asarray(runs.info[name][k]) for name in ("merge_log_t", "merge_index"))
        np.testing.assert_allclose(log_t, alone.info["merge_log_t"], atol=1e-7)
        own = [e["index"] for e in alone.events]
        for at, points in ((own, 64), (rows[: len(own)], 6)):
            between = np.diff([0, *at])
            assert between.max() <= points + 1
            assert between.min() >= 2
        np.testing.assert_allclose(runs.xs[k, rows[: len(own)]], alone.xs[np.array(own)], atol=1e-7)
        np.testing.assert_array_equal(runs.labels[k, rows[: len(own)]], alone.labels[np.array(own)])
        # What is not needed repeats the last row.
        np.testing.assert_array_equal(runs.xs[k, rows.max() :] - runs.xs[k, -1:], 0)
        assert runs.log_ts[k, -1] == np.nanmax(log_t)


def slopes(z, x0, bend, w):
    """Derivatives of the logarithms of the merging times in beta and along `bend`, at beta = z[0]; outside of jit."""

    def log_times(z):
        model = softmax(z[0])
        run = af.long_time(model, x0 + z[1] * bend, weights=w, points=0, rtol=1e-12, atol=1e-14)
        return run.info["merge_log_t"]

    return jax.jacfwd(log_times)(z)


def test_forward_derivatives_against_finite_differences():
    bend, w, step = on_circle(ANIMATION + np.pi / 2) * np.arange(5.0)[:, None], np.array([1, 2, 3, 4, 5]) / 15, 1e-4

    def log_times(beta, along):
        x0 = DATA["animation"] + along * bend
        run = af.long_time(softmax(beta), x0 / np.linalg.norm(x0, axis=1)[:, None], weights=w, rtol=1e-12, atol=1e-14)
        return np.array([e["log_t"] for e in run.events])

    actual = slopes(jnp.array([9.0, 0.0]), jnp.asarray(DATA["animation"]), jnp.asarray(bend), jnp.asarray(w))
    by_beta = (log_times(9 + step, 0.0) - log_times(9 - step, 0.0)) / (2 * step)
    by_place = (log_times(9.0, step) - log_times(9.0, -step)) / (2 * step)
    np.testing.assert_allclose(actual[:, 0], by_beta, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(actual[:, 1], by_place, rtol=1e-5, atol=1e-6)


def test_the_derivative_in_beta_against_quadrature():
    actual = slopes(*(jnp.asarray(a) for a in ([30.0, 0.0], PAIR["x0"], 0 * PAIR["x0"], PAIR["weights"])))
    end = [log_quadrature(2.0, 2 * np.arcsin(5e-4 / np.sqrt(b)), 0.3, b) for b in (30 + 1e-4, 30 - 1e-4)]
    assert float(actual[0, 0]) == pytest.approx((end[0] - end[1]) / 2e-4, rel=1e-7)


def test_files_and_pictures(tmp_path):
    run = af.long_time(softmax(600.0), **PAIR)
    run.save(tmp_path / "run.nc")
    read = af.load(tmp_path / "run.nc")
    for name in ("xs", "ts", "log_ts", "labels", "weights"):
        np.testing.assert_array_equal(getattr(read, name), getattr(run, name))
    assert read.events == run.events
    assert read.result is run.result
    np.testing.assert_array_equal(read.info["merge_log_t"], run.info["merge_log_t"])
    assert run.to_xarray().sizes["time"] == run.xs.shape[0]
    assert "log t from -inf to 8" in repr(run)
    assert af.clusters(run, at=-1).count == 1
    for draw in (af.plot.tokens, af.plot.energy, af.plot.clusters):
        draw(run).savefig(tmp_path / "figure.png")


def test_a_path_in_portions_is_the_same_path(monkeypatch):
    """Memory is that of what is kept: one segment at a time gives the rows and events of all at once."""
    whole = af.long_time(softmax(9.0), DATA["animation"])
    room = next(reversed(compiled._PROGRAMS.values())).value.memory_analysis().output_size_in_bytes
    monkeypatch.setattr(importlib.import_module("attnflow.flows.long_time"), "PORTION_BYTES", 1)
    parts = af.long_time(softmax(9.0), DATA["animation"])
    less = next(reversed(compiled._PROGRAMS.values())).value.memory_analysis().output_size_in_bytes
    assert less < room / 3  # one segment and not five
    assert int(parts.stats["evaluations"]) == int(whole.stats["evaluations"])
    for name in ("xs", "log_ts", "labels"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-9, atol=1e-12)
    for name in whole.info:
        np.testing.assert_allclose(parts.info[name], whole.info[name], rtol=1e-9, atol=1e-12)
    assert [e["tokens"] for e in parts.events] == [e["tokens"] for e in whole.events]


def test_the_state_at_any_time_of_a_long_run():
    """Against simulate as long as it resolves the flow; between the plateaus by the logarithm of time."""
    run = af.long_time(softmax(4.0), DATA["animation"])
    for t in (0.3, 5.0, 50.0, 330.0):
        expected = af.simulate(softmax(4.0), DATA["animation"], t1=t, save=1, rtol=1e-11, atol=1e-13).xs[-1]
        np.testing.assert_allclose(run.at(t=t), expected, rtol=0, atol=2e-8)
        np.testing.assert_array_equal(run.at(log_t=np.log(t)), run.at(t=t))
    np.testing.assert_array_equal(run.at(t=0.0), run.xs[0])
    np.testing.assert_array_equal(run.at(log_t=run.log_ts[7]), run.xs[7])
    # Far beyond: two clusters at the angle u, whose time the quadrature knows.
    late = af.long_time(softmax(600.0), **PAIR)
    tokens = np.asarray(late.at(log_t=log_quadrature(2.0, 1.999, 0.3, 600.0)))
    assert np.arccos(tokens[0] @ tokens[2]) == pytest.approx(1.999, abs=1e-9)
    for arguments in ({"t": -1.0}, {"t": 1e6}, {"log_t": 20.0}, {"t": np.inf}):
        with pytest.raises(InputError, match="outside of this run"):
            run.at(**arguments)


def test_restart_goes_on_where_the_steps_ended():
    whole = af.long_time(softmax(9.0), DATA["animation"])
    first = af.long_time(softmax(9.0), DATA["animation"], max_steps=60, throw=False)
    second = first.restart(max_steps=20_000)
    assert first.result is af.Outcome.MAX_STEPS and second.result is af.Outcome.SUCCESSFUL
    assert second.log_ts[0] == first.log_ts[-1]
    np.testing.assert_array_equal(second.xs[0], first.xs[-1])
    np.testing.assert_array_equal(second.labels[0], first.labels[-1])
    events = [*first.events, *second.events]
    assert [e["tokens"] for e in events] == [e["tokens"] for e in whole.events]
    np.testing.assert_allclose([e["log_t"] for e in events], [e["log_t"] for e in whole.events], rtol=0, atol=1e-8)
    assert second.info["arclength"][-1] == pytest.approx(float(whole.info["arclength"][-1]), abs=1e-8)
    for call, sentence in (
        (whole.restart, "one cluster is left"),
        (lambda: first.restart(t1=1e9), "leave out t1"),
        (lambda: first.restart(solver="rk4"), "takes no solver"),
    ):
        with pytest.raises(InputError, match=sentence):
            call()


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        (af.SelfAttention(af.Hardmax()), "for exponential maps .*, not Hardmax"),
        (af.SelfAttention(af.Softmax(V=-np.eye(2))), "B = V = I"),
        (af.SelfAttention(beta=1.0, space=af.Euclidean()), "on the sphere"),
        (af.SelfAttention(beta=1.0, pairs=af.Causal()), "every token sees all"),
        (af.SelfAttention(af.Softmax(beta=af.Piecewise([1.0], [1.0, 2.0]))), "change with time"),
        (af.Flow(lambda t, x, w: x, af.Sphere()), "Flow is none"),
    ],
)
def test_unsupported_models_are_refused(model, sentence):
    with pytest.raises(InputError, match=sentence):
        af.long_time(model, on_circle(ANIMATION))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"merge_distance": 0.0}, "merge_distance = 0"),
        ({"points": -1}, "points = -1"),
        ({"rtol": 2.0}, "rtol = 2"),
        ({"x0": np.float32(on_circle(ANIMATION))}, "float64"),
    ],
)
def test_unsupported_options_are_refused(options, sentence):
    with pytest.raises(InputError, match=sentence):
        af.long_time(softmax(1.0), **({"x0": on_circle(ANIMATION)} | options))
