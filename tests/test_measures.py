"""Distances between clouds: theory/02, section 3, and rows 25 and 26 of its table."""

import importlib.util
import itertools
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import norm, wasserstein_distance

import attnflow as af
from attnflow.errors import InputError, SolveError
from attnflow.measures import (
    conditional_wasserstein,
    gaussian_w2,
    sinkhorn_divergence,
    sliced,
    synchronous,
    two_diracs,
    wasserstein,
    wasserstein_1d,
    wasserstein_circle,
)
from attnflow.measures import transport as transport_module
from witness import on_circle

POT = pytest.mark.skipif(importlib.util.find_spec("ot") is None, reason="POT is not installed (extra 'ot')")


def masses(rng, n):
    return rng.dirichlet(np.ones(n))


def least_cost(costs, a, b):
    """The transport problem as a plain linear program, constraint by constraint."""
    n, m = costs.shape
    equations, values = [], []
    for i in range(n):
        row = np.zeros((n, m))
        row[i] = 1
        equations.append(row.ravel())
        values.append(a[i])
    for j in range(m):
        column = np.zeros((n, m))
        column[:, j] = 1
        equations.append(column.ravel())
        values.append(b[j])
    solution = linprog(costs.ravel(), A_eq=np.array(equations), b_eq=np.array(values))
    assert solution.success
    return solution.fun


# On the line ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1, 1.5, 2, 3])
def test_the_line_is_a_linear_program(p):
    rng = np.random.default_rng(int(10 * p))
    x, y, a, b = rng.normal(size=7), rng.normal(size=5), masses(rng, 7), masses(rng, 5)
    expected = least_cost(np.abs(x[:, None] - y[None, :]) ** p, a, b) ** (1 / p)
    assert wasserstein_1d(x, y, p, a, b) == pytest.approx(expected, rel=1e-9)
    if p == 1:
        assert wasserstein_1d(x, y, 1, a, b) == pytest.approx(wasserstein_distance(x, y, a, b), rel=1e-12)


def test_gaussians_on_the_line():
    """Quantiles of N(m, s²): the squared distance is (m - m')² + (s - s')²; cut at n levels it is nearly so."""
    u = norm.ppf((np.arange(4000) + 0.5) / 4000)
    assert wasserstein_1d(u, 3 + u) == pytest.approx(3.0, rel=1e-13)
    assert wasserstein_1d(u, 1 + 2 * u) == pytest.approx(np.sqrt(2), rel=1e-3)


def test_copies_and_splittings_on_the_line():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=6), rng.normal(size=4)
    several = wasserstein_1d(np.repeat(x, 2), np.repeat(y, 3))
    assert wasserstein_1d(x, y) == pytest.approx(several, rel=1e-12)
    assert wasserstein_1d(x, x[::-1]) == 0
    assert wasserstein_1d(x, x, weights=np.full(6, 1 / 6)) < 1e-7
    assert wasserstein_1d(x, y, 2, None, [1, 0, 0, 0]) == pytest.approx(np.sqrt(np.mean((x - y[0]) ** 2)))


def test_leading_axes_on_the_line():
    rng = np.random.default_rng(1)
    x, y, a = rng.normal(size=(3, 2, 6)), rng.normal(size=(2, 5)), masses(rng, 6)
    actual = wasserstein_1d(jnp.asarray(x), y, 2, a)
    assert actual.shape == (3, 2)
    for i, j in itertools.product(range(3), range(2)):
        assert actual[i, j] == pytest.approx(wasserstein_1d(x[i, j], y[j], 2, a), rel=1e-12)


# On the circle -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1, 1.5, 2, 4])
def test_the_circle_is_a_linear_program(p):
    rng = np.random.default_rng(int(10 * p))
    for case in range(6):
        n, m = rng.integers(1, 9, 2)
        x, y = rng.uniform(-7, 7, n), (rng.uniform(-7, 7, m) if case % 2 else rng.normal(0, 0.3, m))
        a, b = masses(rng, n), masses(rng, m)
        arc = np.abs((x[:, None] - y[None, :] + np.pi) % (2 * np.pi) - np.pi)
        expected = least_cost(arc**p, a, b) ** (1 / p)
        assert wasserstein_circle(x, y, p, a, b) == pytest.approx(expected, rel=1e-8, abs=1e-9)


def test_the_median_and_the_search_agree():
    """p = 1 in closed form, and p near 1 by the search; points and angles; a rotation of both changes nothing."""
    rng = np.random.default_rng(3)
    x, y = rng.uniform(0, 6, 40), rng.normal(1, 0.5, 30)
    exact = wasserstein_circle(x, y, 1)
    assert wasserstein_circle(x, y, 1 + 1e-9) == pytest.approx(exact, rel=1e-7)
    assert wasserstein_circle(on_circle(x), 5 * on_circle(y), 1) == pytest.approx(exact, rel=1e-12)
    assert wasserstein_circle(x + 2, y + 2) == pytest.approx(wasserstein_circle(x, y), rel=1e-12)
    both = wasserstein_circle(np.stack([on_circle(x), on_circle(x + 1)]), on_circle(y))
    np.testing.assert_allclose(both, [wasserstein_circle(x, y), wasserstein_circle(x + 1, y)], rtol=1e-12)


def test_a_turned_law_on_the_circle():
    """Equispaced points turned by less than half a spacing, and one cluster turned by more than a right angle."""
    theta = 2 * np.pi * np.arange(10) / 10
    for p in (1, 2):
        assert wasserstein_circle(theta, theta + 0.2, p) == pytest.approx(0.2, rel=1e-9)
        assert wasserstein_circle([0.0, 0.1], [3.0, 3.1], p) == pytest.approx(3.0, rel=1e-9)
        assert wasserstein_circle([0.0, 0.1], [3.3, 3.4], p) == pytest.approx(2 * np.pi - 3.3, rel=1e-9)


# Clouds --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("p", [1, 2])
def test_clouds_by_all_permutations(p):
    rng = np.random.default_rng(p)
    for n in range(1, 7):
        x, y = rng.normal(size=(n, 3)), rng.normal(size=(n, 3))
        costs = np.linalg.norm(x[:, None] - y[None, :], axis=-1) ** p
        best = min(costs[range(n), s].mean() for s in itertools.permutations(range(n)))
        for method in ("auto", "linprog"):
            assert wasserstein(x, y, p, method=method) == pytest.approx(best ** (1 / p), rel=1e-9)


@pytest.mark.parametrize("method", ["linprog", pytest.param("simplex", marks=POT), "auto"])
def test_clouds_with_masses(method):
    rng = np.random.default_rng(5)
    x, y, a, b = rng.normal(size=(8, 2)), rng.normal(size=(6, 2)), masses(rng, 8), masses(rng, 6)
    costs = np.linalg.norm(x[:, None] - y[None, :], axis=-1) ** 2
    assert wasserstein(x, y, 2, a, b, method=method) == pytest.approx(np.sqrt(least_cost(costs, a, b)), rel=1e-9)


def test_clouds_on_the_line_and_masses_that_are_equal():
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(50, 1)), rng.normal(size=(50, 1))
    by_sorting = wasserstein(x, y)
    assert by_sorting == wasserstein_1d(x[:, 0], y[:, 0])
    assert wasserstein(x, y, method="assignment") == pytest.approx(by_sorting, rel=1e-12)
    assert wasserstein(x, y, 2, np.full(50, 0.02), None, method="assignment") == pytest.approx(by_sorting, rel=1e-12)


@pytest.mark.usefixtures("as_users_run")
def test_without_pot_scipy_is_enough_for_few_points(monkeypatch):
    monkeypatch.setattr(transport_module, "_pot", lambda: None)
    rng = np.random.default_rng(7)
    x, y, a = rng.normal(size=(9, 2)), rng.normal(size=(9, 2)), masses(rng, 9)
    assert wasserstein(x, y, 2, a) == wasserstein(x, y, 2, a, method="linprog")
    with pytest.raises(InputError, match=r"attnflow\[ot\]"):
        wasserstein(x, y, 2, a, method="simplex")
    with pytest.raises(InputError, match=r"90000 entries.*attnflow\[ot\]"):
        wasserstein(np.zeros((300, 2)), np.zeros((300, 2)), 2, masses(rng, 300))


def test_two_diracs_are_an_assignment():
    """Row 25: integer masses, equal weights; and a linear program for masses that split a point."""
    rng = np.random.default_rng(8)
    for d, n, k in ((2, 40, 13), (3, 60, 37), (5, 30, 30)):
        x = rng.normal(size=(n, d))
        x /= np.linalg.norm(x, axis=1)[:, None]
        e = np.eye(d)[1]
        target = np.where(np.arange(n)[:, None] < k, e, -e)
        expected = wasserstein(x, target, method="assignment")
        assert two_diracs(x, e, (k / n, 1 - k / n)) == pytest.approx(expected, abs=1e-10)
    x, w, e = rng.normal(size=(7, 3)), masses(rng, 7), rng.normal(size=3)
    for p in (1, 2, 3):
        costs = np.stack([np.linalg.norm(x - e, axis=1), np.linalg.norm(x + e, axis=1)], axis=1) ** p
        expected = least_cost(costs, w, np.array([0.3, 0.7])) ** (1 / p)
        actual = two_diracs(np.stack([x, x]), e, (0.3, 0.7), p, w)
        np.testing.assert_allclose(actual, expected, rtol=1e-9)


def test_the_synchronous_distance_is_an_upper_bound():
    rng = np.random.default_rng(9)
    x, y = rng.normal(size=(3, 30, 2)), rng.normal(size=(30, 2))
    actual = synchronous(x, y)
    np.testing.assert_allclose(actual, np.sqrt(((x - y) ** 2).sum(-1).mean(-1)), rtol=1e-13)
    assert all(actual[i] >= wasserstein(x[i], y) for i in range(3))
    w = masses(rng, 30)
    assert synchronous(y + np.array([3, 4]), y, p=1, weights=w) == pytest.approx(5.0)


@pytest.mark.parametrize("d", [2, 10])
def test_the_sliced_distance_of_a_shift(d):
    """Row 26, with 5000 projections: |a|/sqrt(d) within 3 %, which is at least 4.5 standard errors."""
    rng = np.random.default_rng(d)
    x, a = rng.normal(size=(30, d)), rng.normal(size=d)
    actual = sliced(x, x + a, key=jax.random.key(d), projections=5000)
    assert actual == pytest.approx(np.linalg.norm(a) / np.sqrt(d), rel=0.03)
    few = sliced(x, x + a, key=jax.random.key(d), projections=7)
    directions = np.asarray(jax.random.normal(jax.random.key(d), (7, d)))
    shifts = directions @ a / np.linalg.norm(directions, axis=1)
    assert few == pytest.approx(np.sqrt(np.mean(shifts**2)), rel=1e-12)


def test_chunks_of_projections_change_nothing(monkeypatch):
    rng = np.random.default_rng(1)
    x, y, a = rng.normal(size=(20, 3)), rng.normal(size=(15, 3)), masses(rng, 20)
    whole = sliced(x, y, 1, a, key=jax.random.key(0), projections=50)
    monkeypatch.setattr(importlib.import_module("attnflow.measures.sliced"), "NUMBERS", 35 * 8)
    assert sliced(x, y, 1, a, key=jax.random.key(0), projections=50) == pytest.approx(whole, rel=1e-13)


# Sinkhorn ------------------------------------------------------------------------------------------------------------


def entropic(x, y, a, b, reg):
    """Matrix scaling, in the plain domain: the cost of the plan and its entropy."""
    costs = ((x[:, None] - y[None, :]) ** 2).sum(-1)
    kernel = np.exp(-costs / reg)
    u = np.ones(len(x))
    for _ in range(20000):
        v = 1 / (kernel.T @ (a * u))
        u = 1 / (kernel @ (b * v))
    plan = a[:, None] * u[:, None] * kernel * v[None, :] * b[None, :]
    return (plan * costs).sum() + reg * (plan * np.log(plan / (a[:, None] * b[None, :]))).sum()


@pytest.fixture(scope="module")
def clouds():
    rng = np.random.default_rng(10)
    return rng.normal(size=(12, 2)), 0.5 + rng.normal(size=(9, 2)), masses(rng, 12), masses(rng, 9)


def test_the_sinkhorn_divergence_by_matrix_scaling(clouds):
    x, y, a, b = clouds
    for reg in (0.3, 1.0):
        expected = entropic(x, y, a, b, reg) - (entropic(x, x, a, a, reg) + entropic(y, y, b, b, reg)) / 2
        result = sinkhorn_divergence(x, y, reg, a, b, tol=1e-10)
        assert float(result.value) == pytest.approx(expected, rel=1e-8)
        assert result.converged and result.message.startswith("converged: ")
    # Large eps: half the energy distance of |x - y|², which is the squared distance of the means; small eps: W2.
    far = sinkhorn_divergence(x, y, 1e6, a, b, tol=1e-13)
    assert float(far.value) == pytest.approx(((a @ x - b @ y) ** 2).sum(), rel=1e-4)
    near = sinkhorn_divergence(x, y, 0.02, a, b, tol=1e-4, max_iterations=100_000)
    assert float(near.distance) == pytest.approx(wasserstein(x, y, 2, a, b), rel=0.01)


def test_the_divergence_of_a_shift_and_of_a_law_with_itself(clouds):
    """S(mu, mu shifted by a) = |a|² at every eps: the costs are those of mu with itself up to sums of potentials."""
    x, _, a, _ = clouds
    shift = np.array([0.6, -0.8])
    assert float(sinkhorn_divergence(x, x + shift, 0.5, a, a, tol=1e-12).value) == pytest.approx(1.0, rel=1e-10)
    same = sinkhorn_divergence(x, x, 0.5, a, a, tol=1e-12)
    assert 0 <= float(same.value) < 1e-12


def test_the_gradient_of_the_divergence(clouds):
    x, y, a, b = clouds

    def value(x):
        return sinkhorn_divergence(x, y, 0.5, a, b, tol=1e-11, max_iterations=5000).value

    actual = np.asarray(jax.jit(jax.grad(value))(jnp.asarray(x)))
    for i, k in ((0, 0), (5, 1)):
        h = np.zeros_like(x)
        h[i, k] = 1e-5
        assert actual[i, k] == pytest.approx(float(value(x + h) - value(x - h)) / 2e-5, rel=1e-5)


def test_a_divergence_that_did_not_converge_is_no_number(clouds):
    x, y, a, b = clouds
    with pytest.raises(SolveError, match="not converged: 3 iterations left"):
        sinkhorn_divergence(x, y, 0.3, a, b, max_iterations=3)
    result = sinkhorn_divergence(x, y, 0.3, a, b, max_iterations=3, throw=False)
    assert np.isnan(result.value) and not result.converged and "larger eps" in result.message


# At every scale ------------------------------------------------------------------------------------------------------


def quantiles(x, y, p, a, b):
    """The distance on the line, by walking along both laws with fractions; powers relative to the longest way."""
    order_x, order_y = np.argsort(x), np.argsort(y)
    left, right = [Fraction(a[i]) for i in order_x], [Fraction(b[j]) for j in order_y]
    i = j = 0
    moved, ways = [], []
    while i < len(x) and j < len(y):
        mass = min(left[i], right[j])
        if mass > 0:
            moved.append(float(mass))
            ways.append(abs(x[order_x[i]] - y[order_y[j]]))
        left[i], right[j] = left[i] - mass, right[j] - mass
        i, j = i + (left[i] == 0), j + (right[j] == 0)
    ways = np.array(ways)
    return ways.max() * (np.array(moved) @ (ways / ways.max()) ** p) ** (1 / p)


def on_a_line(x):
    """In R^3, along (2, -1, 2)/3: lengths do not change, nor do they round on a grid of multiples of 3."""
    return x[:, None] * np.array([2.0, -1.0, 2.0]) / 3


def two_clusters(rng, n, radius):
    """Whole numbers times 3 radius/64, half of them one apart: distances within a cluster do not round."""
    return 3 * radius / 64 * rng.integers(-64, 64, n) + np.where(np.arange(n) < n // 2, 0, 3.0)


def halves(rng, n):
    """Masses in whole 1/4096, half of the mass on the first half of the points."""
    parts = [rng.multinomial(2048 - n // 2, np.full(n // 2, 2 / n)) + 1 for _ in range(2)]
    return np.concatenate(parts) / 4096


@pytest.mark.parametrize("method", ["linprog", pytest.param("simplex", marks=POT)])
@pytest.mark.parametrize("p", [1, 1.5, 2, 50, 1000])
def test_tight_clusters_and_scaled_clouds(method, p):
    """Unequal masses, and equal ones of unequal sizes; radii of clusters 2^-23 and 2^-30, sizes up to 1e200."""
    rng = np.random.default_rng(int(10 * p))
    n, m = 8, 12
    for radius in (1.0, 2.0**-23, 2.0**-30):
        x, y = two_clusters(rng, n, radius), two_clusters(rng, m, radius)
        masses_of = {
            "unequal": (halves(rng, n), halves(rng, m)),
            "equal": ([Fraction(1, n)] * n, [Fraction(1, m)] * m),
        }
        for kind, (a, b) in masses_of.items():
            weights = (None, None) if kind == "equal" else (a, b)
            expected = quantiles(x, y, p, a, b)
            for scale in (1.0, 2.0**-23, 2.0**660, 2.0**-660):
                actual = wasserstein(on_a_line(scale * x), on_a_line(scale * y), p, *weights, method=method)
                assert actual / scale == pytest.approx(expected, rel=1e-12)
            both = np.stack([on_a_line(x)] * 2, axis=1), np.stack([on_a_line(y)] * 2, axis=1)
            if kind == "equal":
                assert conditional_wasserstein(*both, p) == pytest.approx(expected, rel=1e-12)
            assert wasserstein_1d(x, y, p, *weights) == pytest.approx(expected, rel=1e-12)
            assert wasserstein_circle(x / 8, y / 8, p, *weights) * 8 == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("scale", [1e-7, 1e-150, 1e150, 1e160, 1e-162])
@pytest.mark.parametrize("p", [1, 2, 1000])
def test_the_distance_of_scaled_clouds_is_the_scaled_distance(scale, p):
    rng = np.random.default_rng(11)
    x, y, z, e = rng.normal(size=(7, 3)), rng.normal(size=(5, 3)), rng.normal(size=(7, 3)), rng.normal(size=3)
    a, b, key = masses(rng, 7), masses(rng, 5), jax.random.key(0)
    L, M = rng.normal(size=(3, 3)), rng.normal(size=(3, 2))
    distances = {
        "clouds": lambda s: wasserstein(s * x, s * y, p, a, b),
        "assignment": lambda s: wasserstein(s * x, s * z, p),
        "line": lambda s: wasserstein_1d(s * x[:, 0], s * y[:, 0], p, a, b),
        "synchronous": lambda s: synchronous(s * x, s * z, p, a),
        "sliced": lambda s: sliced(s * x, s * y, p, a, b, key=key, projections=9),
        "two Diracs": lambda s: two_diracs(s * x, s * e, (0.3, 0.7), p, a),
        "sequences": lambda s: conditional_wasserstein(s * x, s * z, p, a),
        "laws of sequences": lambda s: conditional_wasserstein(s * np.stack([x, z, x + 1]), s * np.stack([z, x]), p),
        "Gaussians": lambda s: gaussian_w2(s * e, s * x[0], L_x=s * L, L_y=s * M),
    }
    for name, distance in distances.items():
        assert distance(scale) / scale == pytest.approx(distance(1.0), rel=1e-12), name


@pytest.mark.parametrize("p", [1, 2, 1000])
def test_a_law_and_its_copies_are_one_law(p):
    """Split tokens, another order: the rounding of masses, whose p-th root is no small number, is not moved."""
    rng = np.random.default_rng(12)
    x, w = rng.normal(size=(9, 2)), masses(rng, 9)
    order = rng.permutation(12)
    y, v = np.concatenate([x, x[:3]])[order], np.concatenate([0.7 * w[:3], w[3:], 0.3 * w[:3]])[order]
    assert wasserstein(x, y, p, w, v) == wasserstein(y, x, p, v, w) == 0
    assert wasserstein(x, y, p, w, v, method="linprog") == 0
    assert wasserstein_1d(x[:, 0], y[:, 0], p, w, v) == 0
    assert wasserstein_circle(x[:, 0], y[:, 0], p, w, v) < 1e-15
    z = rng.normal(size=(4, 2))
    assert wasserstein(y, z, p, v) == pytest.approx(wasserstein(x, z, p, w), rel=1e-12)


def test_large_orders_by_all_permutations():
    rng = np.random.default_rng(13)
    x, y = rng.normal(size=(6, 2)), rng.normal(size=(3, 2))
    lengths = np.linalg.norm(x[:, None] - np.repeat(y, 2, axis=0), axis=-1)
    ways = np.array([lengths[range(6), s] for s in itertools.permutations(range(6))])
    for p in (4, 30, 1000):
        longest = ways.max(axis=1)
        best = np.min(longest * np.mean((ways / longest[:, None]) ** p, axis=1) ** (1 / p))
        for method in ("auto", "linprog"):
            assert wasserstein(x, y, p, method=method) == pytest.approx(best, rel=1e-12)
    e = np.array([1.0, 0.0])
    lengths = np.linalg.norm(x[:, None] - np.array([e, e, -e, -e, -e, -e]), axis=-1)
    ways = np.array([lengths[range(6), s] for s in itertools.permutations(range(6))])
    longest = ways.max(axis=1)
    best = np.min(longest * np.mean((ways / longest[:, None]) ** 1000, axis=1) ** (1 / 1000))
    assert two_diracs(x, e, (1 / 3, 2 / 3), 1000) == pytest.approx(best, rel=1e-12)


def test_a_small_mass_that_is_moved_counts():
    """Masses 1e-12 and 1e-18 that go far: neither below the tolerance of a solver nor taken for rounding."""
    x, y = np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 0.0], [0.0, 0.0]])
    for mass in (1e-12, 1e-18):
        for method in ("auto", "linprog"):
            actual = wasserstein(x, y, 2, [1 - mass, mass], [0.5, 0.5], method=method)
            assert actual == pytest.approx(np.sqrt(mass), rel=1e-3)


def test_a_plan_that_is_not_certain_is_not_given_out(monkeypatch):
    """A solver that stops early, and one that loses mass."""
    rng = np.random.default_rng(14)
    x, y, a = rng.normal(size=(4, 2)), rng.normal(size=(3, 2)), masses(rng, 4)

    def bad(costs, a, b):
        i, j = np.indices(costs.shape).reshape(2, -1)
        return transport_module.Plan(i, j, np.outer(a, b).ravel(), np.zeros(len(a)), np.zeros(len(b)))

    monkeypatch.setattr(transport_module, "_linprog", bad)
    with pytest.raises(SolveError, match="may be longer than the best one"):
        wasserstein(x, y, 2, a, method="linprog")
    monkeypatch.setattr(transport_module, "_linprog", lambda *problem: bad(*problem)._replace(mass=np.full(12, 0.08)))
    with pytest.raises(SolveError, match="lost"):
        wasserstein(x, y, 2, a, method="linprog")


NO_CLOUDS = {
    "nothing": np.zeros((0, 3)),
    "no coordinates": np.zeros((4, 0)),
    "a number": 1.0,
    "text": [["1", "2", "3"]],
    "bool": np.ones((4, 3), bool),
    "NaN": np.full((4, 3), np.nan),
    "inf": np.full((4, 3), np.inf),
    "ragged": [[1.0], [1.0, 2.0]],
    "dates": np.zeros((4, 3), "M8[s]"),
}


@pytest.mark.parametrize("kind", NO_CLOUDS)
@pytest.mark.usefixtures("as_users_run")
def test_arguments_that_are_not_clouds_are_refused(kind):
    bad, good, key = NO_CLOUDS[kind], np.ones((4, 3)), jax.random.key(0)
    calls = [
        lambda: wasserstein(bad, good),
        lambda: wasserstein(good, bad),
        lambda: conditional_wasserstein(bad, good),
        lambda: synchronous(good, bad),
        lambda: sliced(bad, good, key=key),
        lambda: sinkhorn_divergence(bad, good, 1.0),
        lambda: sinkhorn_divergence(good, bad, 1.0),
        lambda: two_diracs(bad, good[0], (0.5, 0.5)),
        lambda: two_diracs(good, bad, (0.5, 0.5)),
        lambda: gaussian_w2(good[0], good[0], bad, np.eye(3)),
        lambda: wasserstein(good, good, 2, bad),
        lambda: sinkhorn_divergence(good, good, 1.0, bad),
    ]
    for call in calls:
        with pytest.raises(InputError) as error:
            call()
        assert str(error.value).endswith(".") and "\n" not in str(error.value)


@pytest.mark.usefixtures("as_users_run")
def test_the_divergence_in_single_precision(clouds):
    x, y, a, b = (jnp.asarray(v, jnp.float32) for v in clouds)
    with jax.enable_x64(False):
        result = sinkhorn_divergence(x, y, 0.5, a, b)
        assert result.value.dtype == jnp.float32
        with pytest.raises(InputError, match="eps = 1e-60 must be a positive number of float32"):
            sinkhorn_divergence(x, y, 1e-60)
        with pytest.raises(InputError, match="beyond the range of float32"):
            sinkhorn_divergence(np.full((2, 2), 1e60), y, 1.0)
    exact = sinkhorn_divergence(*clouds[:2], 0.5, *clouds[2:])
    assert float(result.value) == pytest.approx(float(exact.value), rel=1e-4)


# What is refused -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wasserstein_1d([0.0], [1.0], 0.5), "p = 0.5 is no order"),
        (lambda: wasserstein_1d([0.0, np.nan], [1.0]), "x has an entry that is not finite"),
        (lambda: wasserstein_1d([], [1.0]), "x has shape"),
        (lambda: wasserstein_1d([0.0, 1.0], [1.0], 2, [0.5, 0.6]), "sum to 1.1"),
        (lambda: jax.jit(wasserstein_1d)(jnp.ones(2), jnp.ones(2)), "outside jit"),
        (lambda: wasserstein_circle(np.ones((4, 3)), [0.0]), "angles"),
        (lambda: wasserstein_circle(np.zeros((1, 2)), [0.0]), "no angle"),
        (lambda: two_diracs(np.ones((4, 3)), [1.0, 0.0], (0.5, 0.5)), "must agree"),
        (lambda: two_diracs(np.ones((4, 2)), [1.0, 0.0], (0.5, 0.4)), "sum to 0.9"),
        (lambda: wasserstein(np.ones((4, 2)), np.ones((4, 3))), "one space"),
        (lambda: wasserstein(np.ones((4, 2)), np.ones((4, 2)), method="magic"), "'magic' is unknown"),
        (lambda: wasserstein(np.ones((4, 2)), np.ones((3, 2)), method="assignment"), "as many points"),
        (lambda: wasserstein(np.ones((2001, 2)), np.ones((2001, 2))), "32 MB.*limit=2001"),
        (lambda: sliced(np.ones((4, 2)), np.ones((4, 2)), key=jax.random.key(0), projections=0), "at least 1"),
        (lambda: synchronous(np.ones((4, 2)), np.ones((3, 2))), "4 points and y 3"),
        (lambda: sinkhorn_divergence(np.ones((4, 2)), np.ones((3, 2)), -1.0), "eps = -1.0"),
        (lambda: sinkhorn_divergence(np.ones((4, 2)), np.ones((3, 2)), np.ones(2)), "give one number"),
        (lambda: sinkhorn_divergence(np.ones((4, 2)), np.ones((3, 2)), 1.0, tol=-1.0), "tol = -1.0"),
        (lambda: sinkhorn_divergence(np.ones((4, 2)), np.ones((3, 2)), 1.0, max_iterations=0), "max_iterations = 0"),
        (lambda: sinkhorn_divergence(np.ones((4, 2)), np.ones((3, 3)), 1.0), "one space"),
        (lambda: wasserstein(np.ones((4, 2)), np.ones((4, 2)), True), "p = True"),
        (lambda: wasserstein(np.ones((4, 2)), np.ones((4, 2)), np.inf), "finite number"),
        (lambda: wasserstein(np.ones((4, 2)), np.ones((4, 2)), limit=0), "limit = 0"),
        (lambda: wasserstein_1d(np.ones((2, 3)), np.ones((4, 3))), "leading axes"),
        (lambda: synchronous(np.ones((2, 3, 1)), np.ones((4, 3, 1))), "leading axes"),
    ],
)
@pytest.mark.usefixtures("as_users_run")
def test_bad_clouds_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_the_room_is_public():
    assert af.measures.wasserstein is wasserstein and "chordal" in af.measures.__doc__
