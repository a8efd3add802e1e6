"""Figures 3 and 4 of the first paper: what is observed, how tokens are drawn, and small cases against NumPy loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray

import attnflow as af
from attnflow.experiments import Results
from attnflow.experiments.perspective import circle
from attnflow.experiments.perspective import probability_map as pm
from attnflow.experiments.perspective.circle import claims as circle_claims
from attnflow.experiments.perspective.probability_map import claims as map_claims

N, DELTA = map_claims.N, map_claims.DELTA
RNG = np.random.default_rng(0)


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def loop_fraction(x):
    pairs = [(i, j) for i in range(len(x)) for j in range(len(x)) if i != j]
    return sum(1 - ((x[i] - x[j]) ** 2).sum() / 2 >= 1 - DELTA for i, j in pairs) / len(pairs)


def loop_components(x):
    """Union-find over all pairs."""
    parent = list(range(len(x)))

    def root(i):
        while parent[i] != i:
            i = parent[i]
        return i

    for i in range(len(x)):
        for j in range(i):
            if ((x[i] - x[j]) ** 2).sum() <= 2 * DELTA:
                parent[root(i)] = root(j)
    return sum(parent[i] == i for i in range(len(x)))


def on_the_circle(angles):
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def clumps(d, spread):
    """Tokens around three places, some pairs within the threshold and some not."""
    rng = np.random.default_rng([d, int(1000 * spread)])
    return unit(unit(rng.normal(size=(3, d)))[rng.integers(3, size=N)] + spread * rng.normal(size=(N, d)))


def force(x, beta):
    weights = np.exp(beta * (x @ x.T))
    return weights @ x / weights.sum(axis=1, keepdims=True)


def loop_euler(x, beta, steps):
    for _ in range(steps):
        x = unit(x + pm.STEP * force(x, beta))
    return x


def loop_rk4(x, beta, steps):
    def velocity(x):
        x = unit(x)
        a = force(x, beta)
        return a - (a * x).sum(axis=1, keepdims=True) * x

    h = pm.STEP
    for _ in range(steps):
        k1 = velocity(x)
        k2 = velocity(x + h / 2 * k1)
        k3 = velocity(x + h / 2 * k2)
        k4 = velocity(x + h * k3)
        x = unit(x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
    return x


# What is observed.


@pytest.mark.parametrize("observe", [pm._met, pm._met_in_the_plane])
@pytest.mark.parametrize("d", [2, 5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fraction_of_pairs_that_have_met(observe, d, dtype):
    for spread in (0.0, 0.02, 0.05):
        x = clumps(d, spread)
        expected = loop_fraction(x)
        assert 0 < expected < 1
        np.testing.assert_allclose(observe(0.0, jnp.asarray(x, dtype), None), expected, rtol=1e-6)


def test_components_on_the_circle():
    link = np.arccos(1 - DELTA)
    special = [
        np.zeros(N),
        np.full(N, np.pi),
        np.pi + 1e-3 * np.arange(N),  # across the cut of the arctangent
        np.where(np.arange(N) < 3, 0.0, np.pi),
        2 * np.pi * np.arange(N) / N,  # all apart
        0.999 * link * np.arange(N),
        1.001 * link * np.arange(N),
        link * 0.999 * np.arange(150),  # a chain closed around the circle
    ]
    random = [RNG.uniform(0, 2 * np.pi, n) for n in (1, 2, 8, N, 60, 90) for _ in range(20)]
    random += [RNG.uniform(0, 2 * np.pi, 4)[RNG.integers(4, size=N)] + 0.03 * RNG.normal(size=N) for _ in range(40)]
    actual = [int(circle.components_on_the_circle(jnp.asarray(on_the_circle(a)), DELTA)) for a in special + random]
    assert actual == [loop_components(on_the_circle(a)) for a in special + random]
    assert actual[:4] == [1, 1, 1, 2] and actual[4:8] == [N, 1, N, 1]


# How tokens are drawn.


@pytest.mark.parametrize("d", [3, N, 40])
def test_tokens_in_few_coordinates_have_the_inner_products_of_the_draws(d):
    key = jax.random.key(7)
    keys, clouds = pm._draw(d, 5, key)
    assert clouds.shape == (5, N, N) and (np.asarray(clouds)[:, :, d:] == 0).all()
    for r in (0, 3, 4):
        own = jax.random.fold_in(key, r)
        x, y = np.asarray(af.sphere.uniform(n=N, d=d, key=own)), np.asarray(pm._tokens_of_key(keys, clouds, own))
        np.testing.assert_allclose(y @ y.T, x @ x.T, rtol=0, atol=1e-13)


def test_a_flow_needs_the_inner_products_only():
    """Six tokens in twenty dimensions, and the same six in the coordinates of their triangular factor."""
    x0 = unit(RNG.normal(size=(6, 20)))
    long, short = loop_euler(x0, 4.0, 20), loop_euler(np.linalg.cholesky(x0 @ x0.T), 4.0, 20)
    np.testing.assert_allclose(short @ short.T, long @ long.T, rtol=0, atol=1e-12)
    assert abs(long @ long.T - x0 @ x0.T).max() > 0.1  # they have moved


# Small maps.


@pytest.mark.parametrize("d", [2, 5])
def test_small_map_against_a_loop(d):
    cell = {"draws": 3, "seed": 4, "scheme": "euler-retract"}
    betas, ts, steps = np.array([1.0, 6.0]), np.array([2.0, 5.0, 12.0]), (20, 50, 120)
    result = pm._probability(cell, betas, ts, d=d, dtype="float64").values
    x0s = [np.asarray(af.sphere.uniform(n=N, d=d, key=jax.random.fold_in(jax.random.key(4), r))) for r in range(3)]
    each = np.array([[[loop_fraction(loop_euler(x, b, k)) for x in x0s] for k in steps] for b in betas])
    assert 0 < each.mean() < 1
    np.testing.assert_allclose(result.mean, each.mean(axis=-1), rtol=1e-10)
    np.testing.assert_allclose(result.stderr, each.std(axis=-1, ddof=1) / np.sqrt(3), rtol=1e-9, atol=1e-15)
    again = pm._probability(cell, betas, ts, d=d if d == 2 else 300, dtype="float64")
    assert again.stats["compile_seconds"] == 0  # panels share a program


def test_dataset_of_a_panel():
    cell = {"part": "map", "d": 2, "scheme": "rk4", "betas": 3, "draws": 4, "checkpoints": 30, "seed": 0}
    data = pm.compute(cell)
    assert data["beta"].values.tolist() == [3.0, 6.0, 9.0] and data["time"].values[[0, -1]].tolist() == [1.0, 30.0]
    assert data["probability"].shape == (3, 30) and int(data["not_finite"]) == 0
    np.testing.assert_allclose(data["phase_time"], [5.897609, 15.995314, 178.73093], atol=1e-5)
    assert data.attrs["run_seconds"] > 0 and data.attrs["compile_seconds"] >= 0
    assert data.attrs["gigapairs"] == 3 * 4 * N * N * 300 * 4 / 1e9
    draws = [np.asarray(pm._in_the_plane(jax.random.fold_in(jax.random.key(0), r))) for r in range(4)]
    expected = np.mean([loop_fraction(loop_rk4(x, 6.0, 300)) for x in draws])
    assert abs(float(data["probability"].sel(beta=6.0, time=30.0)) - expected) <= 2 / (N * (N - 1))  # single precision


def test_single_precision_and_the_step_are_fine_enough():
    data = pm.compute({"part": "precision", "scheme": "rk4", "draws": 48, "seed": 1})
    assert float(abs(data["single"] - data["double"]).max()) <= 1e-3
    assert float(abs(data["half_step"] - data["double"]).max()) <= 1e-3


# What is claimed.


def step_results(ratio):
    """A map that jumps at t* times a function of beta and d."""
    betas, ts = np.linspace(0.5, 9, 18), np.arange(1, 301) * 0.1
    expected = np.asarray(af.reductions.phase_time(betas, n=N))
    jump = expected * ratio(betas)
    values = (1 + np.tanh((ts[None, :] - jump[:, None]) / 0.2)) / 2
    variables = {"probability": (("beta", "time"), values), "phase_time": ("beta", expected)}
    data = xarray.Dataset(variables, coords={"beta": betas, "time": ts})
    return Results([{"part": "map", "d": 128, "scheme": "rk4"}], lambda cell: data, scale="quick")


def test_time_of_the_jump():
    jumps = map_claims.jump_times(step_results(lambda b: 0.98 + 0 * b), 128)
    assert [b for b, _, _ in jumps] == np.arange(0.5, 6.6, 0.5).tolist()
    np.testing.assert_allclose([t / expected for _, t, expected in jumps], 0.98, atol=2e-3)


@pytest.mark.parametrize("ratio, late, early", [(0.98, True, True), (1.1, False, True), (0.8, True, False)])
def test_jumps_are_judged_on_both_sides(ratio, late, early):
    r = step_results(lambda b: ratio + 0 * b)
    assert (max(map_claims.jump_lateness(128)(r)) <= 1.05) == late
    assert (min(map_claims.jump_earliness(128)(r)) >= 0.95) == early


def test_no_jump_is_no_number():
    never = step_results(lambda b: 1e3 + 0 * b)
    assert np.isnan(map_claims.jump_lateness(128)(never)).all()


def test_numbers_of_clusters_are_counted():
    cell = {"part": "counts", "betas": [4.0, 9.0], "draws": 12, "seed": 3}
    draws = circle.compute(cell)["draws"]
    assert (draws.sum("clusters") == 12).all()
    for beta in cell["betas"]:
        for t in circle_claims.COUNTED:
            options = {"realizations": 12, "ts": [t], "reduce": af.flows.LastState(), "key": jax.random.key(3)}
            xs = np.asarray(af.ensemble(af.SelfAttention(beta=beta), circle._tokens, **options).values)
            expected = np.bincount([loop_components(x) for x in xs], minlength=N + 1)[1:]
            assert draws.sel(beta=beta, time=t).values.tolist() == expected.tolist()


@pytest.mark.parametrize("beta, clusters", [(4.0, 2), (9.0, 3)])
def test_tolerance_of_the_counts(beta, clusters):
    """For 256 draws no wider than 0.12."""
    coords = {"beta": [4.0, 9.0], "time": [18.0, 30.0], "clusters": np.arange(1, 6)}
    counts = np.zeros((2, 2, 5), int)
    counts[:, :, clusters - 1] = 256
    many = xarray.Dataset({"draws": (tuple(coords), counts)}, coords=coords)
    r = Results([{"part": "counts"}], lambda cell: many, scale="quick")
    actual, stderr = circle_claims.compared(beta, 30.0, clusters)(r)
    assert actual == 1.0 and 0.05 < circle_claims.SIGMA * stderr <= 0.12
