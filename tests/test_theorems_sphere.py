"""The theorems of theory/01, section 2, on single runs: cones, rates, hemispheres, extremes, matrices that are no
gradient. Witnesses are NumPy and SciPy; stationary configurations (row A25) are in test_acceptance_sphere.py.
"""

import itertools
import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import linprog
from scipy.special import iv

import attnflow as af
from attnflow.experiments.perspective.closed_forms.hemisphere import in_a_hemisphere
from attnflow.experiments.perspective.random_matrices import ensembles
from attnflow.experiments.perspective.single_cluster import leaving_rate, runs
from witness import energy, flow, rotation, velocity, weyl


def uniform(rng, *shape):
    x = rng.normal(size=shape)
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


# The programs that the experiments run many draws with, against the witness.


@pytest.mark.parametrize("kind", ["SA", "USA", "shifted USA"])
def test_many_runs_are_the_runs_of_the_witness(kind):
    """With matrices of each draw, B and V not symmetric: a transposed one would be seen."""
    rng = np.random.default_rng(1)
    x0, B, V = uniform(rng, 2, 4, 3), rng.normal(size=(2, 3, 3)), rng.normal(size=(2, 3, 3))
    ts = np.linspace(0.0, 1.0, 3)
    ours = runs.follow(kind, x0, ts, beta=0.7, step=0.01, B=B, V=V)
    options = {"normalised": kind == "SA", "shift": 0.7 if kind == "shifted USA" else 0.0}
    for draw in range(2):
        expected = flow(x0[draw], ts, np.full(4, 0.25), 0.7, B=B[draw], V=V[draw], **options)
        np.testing.assert_allclose(ours[draw], expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("kind", ["SA", "USA", "shifted USA"])
def test_the_velocity_of_many_clouds(kind):
    x = uniform(np.random.default_rng(2), 3, 5, 4)
    options = {"normalised": kind == "SA", "shift": 1.5 if kind == "shifted USA" else 0.0}
    expected = [velocity(each, np.full(5, 0.2), 1.5, **options) for each in x]
    np.testing.assert_allclose(runs.velocity(x, 1.5, kind=kind), expected, rtol=0, atol=1e-13)


# 2.1: one cluster, and configurations that wait or stay.


def test_two_tokens_meet_from_everywhere_but_the_antipode():
    """n = 2, SA on the circle: their angle u obeys u' = -2 K sin u/(1 + K), K = exp(-2 beta sin^2(u/2))."""
    beta, ts = 1.0, np.linspace(0.0, 40.0, 5)
    angles = np.array([np.pi - 0.1, 2.0, 0.5])
    x0 = np.stack([[[1.0, 0.0], [np.cos(u), np.sin(u)]] for u in angles])
    xs = runs.follow("SA", x0, ts, beta=beta)
    between = 2 * np.arcsin(np.linalg.norm(xs[:, :, 0] - xs[:, :, 1], axis=-1) / 2)
    assert (np.diff(between, axis=1) <= 1e-15).all() and (between[:, -1] < 1e-6).all()
    still = runs.follow("SA", np.array([[[1.0, 0.0], [-1.0, 0.0]]]), ts, beta=beta)
    np.testing.assert_allclose(still[0, -1], still[0, 0], rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind, n, d, beta", [("SA", 9, 2, 1.0), ("USA", 9, 2, 1.0), ("SA", 9, 3, 2.0)])
def test_uniform_tokens_meet(kind, n, d, beta):
    fast = 1.0 if kind == "SA" else np.exp(beta)
    t1 = 40 / leaving_rate(kind, beta) + 20 / fast
    x0 = uniform(np.random.default_rng(3), 8, n, d)
    xs = runs.follow(kind, x0, np.array([0.0, t1]), beta=beta, step=0.5 / fast)
    assert np.linalg.norm(xs[:, -1, :, None] - xs[:, -1, None], axis=-1).max() < 1e-6
    early = runs.follow(kind, x0, np.array([0.0, 0.5 / fast]), beta=beta, step=0.5 / fast)
    assert np.linalg.norm(early[:, -1, :, None] - early[:, -1, None], axis=-1).max() > 1  # the test sees a flow


@pytest.mark.parametrize("kind", ["SA", "USA"])
@pytest.mark.parametrize("beta", [0.0, 1.0, 3.0])
def test_the_slowest_rate_from_the_field_of_the_witness(kind, beta):
    """Two equal masses at the angle pi - eps, turned towards each other."""
    eps = 1e-4
    pair = np.array([[1.0, 0.0], [-np.cos(eps), np.sin(eps)]])
    v = velocity(pair, np.full(2, 0.5), beta, normalised=kind == "SA")
    assert np.linalg.norm(v, axis=1).sum() / eps == pytest.approx(leaving_rate(kind, beta), rel=1e-6)
    masses = [velocity(pair, np.array([p, 1 - p]), beta, normalised=kind == "SA") for p in (0.1, 0.3, 0.7)]
    others = [np.linalg.norm(v, axis=1).sum() / eps for v in masses]
    assert min(others) >= leaving_rate(kind, beta) * (1 - 1e-6)  # equal masses are the slowest


# 2.2: cones, rates, hemispheres.


@pytest.mark.parametrize("kind", ["SA", "USA"])
@pytest.mark.parametrize("n, d, beta", [(12, 3, 4.0), (6, 6, 1.0), (20, 2, 0.5)])
def test_the_cone_lemma(kind, n, d, beta):
    rng = np.random.default_rng(4)
    x0, v = uniform(rng, 6, n, d), uniform(rng, 6, d)
    x0 = x0 * np.sign(np.einsum("rna,ra->rn", x0, v))[:, :, None]
    fast = 1.0 if kind == "SA" else np.exp(beta)
    xs = runs.follow(kind, x0, np.linspace(0.0, 8.0 / fast, 41), beta=beta, step=0.05 / fast)
    least = np.einsum("rtna,ra->rtn", xs, v).min(axis=2)
    assert (least[:, 0] > 0).all() and np.diff(least, axis=1).min() >= -1e-12
    assert (least[:, -1] > 1.1 * least[:, 0]).all()


def test_outside_a_hemisphere_the_least_product_may_fall():
    """The lemma needs its hypothesis: else tokens are drawn to where the others are, away from v."""
    rng = np.random.default_rng(5)
    xs = runs.follow("SA", uniform(rng, 8, 12, 3), np.linspace(0.0, 8.0, 41), beta=1.0)
    assert np.diff(xs[..., 0].min(axis=2), axis=1).min() < -1e-2


def test_independent_tokens_lie_in_a_hemisphere_and_meet_exponentially_fast():
    rng = np.random.default_rng(6)
    n, beta, ts = 5, 1.0, np.linspace(0.0, 24.0, 49)
    x0 = uniform(rng, 6, n, n)
    v = np.linalg.solve(x0, np.ones((6, n, 1)))[:, :, 0]
    assert (np.einsum("rna,ra->rn", x0, v) > 0).all()
    for kind, rate in (("SA", 1.0), ("USA", np.e)):
        xs = runs.follow(kind, x0, ts / rate, beta=beta, step=0.02 / rate)
        spread = np.linalg.norm(xs - xs.mean(axis=2, keepdims=True), axis=(2, 3))
        late = -np.diff(np.log(spread), axis=1) / (ts[1] - ts[0]) * rate
        rest = spread[:, :-1]
        good = (rest < 1e-2) & (rest > 1e-6)  # small, and far above round-off
        assert good.any(axis=1).all()
        # The next term of the theory; and the error of the method, some h^4/120 with h = 0.02.
        assert (abs(late / rate - 1) <= 1.01 * (1 + 2 * beta) * rest**2 + 1e-8)[good].all()


@pytest.mark.parametrize("n, d", [(3, 2), (6, 3), (5, 5), (8, 4)])
def test_wendel_by_exact_counting(n, d):
    """Of the 2^n signs that points in general position may get, 2 sum_{k<d} C(n-1, k) put them in a half-space."""
    x = np.random.default_rng(7).normal(size=(n, d))
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=n)))
    inside = in_a_hemisphere(signs[:, :, None] * x)
    assert int(inside.sum()) / 2**n == af.reductions.hemisphere_probability(n, d)


def test_the_hemisphere_test_against_linear_programming():
    """Points lie in an open half-space if and only if some v has <x_i, v> >= 1 for all i."""
    x = np.random.default_rng(8).normal(size=(40, 6, 3))
    feasible = [linprog(np.zeros(3), A_ub=-each, b_ub=-np.ones(6), bounds=(None, None)).status == 0 for each in x]
    assert in_a_hemisphere(x).tolist() == feasible
    assert 5 < sum(feasible) < 35


# 1.4 and 1.5: extremes of the energy, and flows that are no gradient.


def test_the_energy_near_its_extremes():
    """A wave on the uniform grid raises E by eps^2 k^2 I_k/(4 beta); a spread about a point lowers it by e^beta/2."""
    beta, eps, n = 2.0, 1e-3, 24
    grid, w = 2 * np.pi * np.arange(n) / n, np.full(n, 1 / n)

    def at(angles):
        return energy(np.stack([np.cos(angles), np.sin(angles)], axis=1), w, beta)

    assert at(grid) == pytest.approx(float(af.reductions.uniform_energy(2, beta=beta, scale="E")), rel=1e-12)
    for k in (1, 2, 4):
        rise = at(grid + eps * np.sin(k * grid)) - at(grid)
        assert rise == pytest.approx(eps**2 / 4 * k**2 * iv(k, beta) / beta, rel=1e-4)
    angles = eps * np.random.default_rng(9).normal(size=n)
    fall = np.exp(beta) / (2 * beta) - at(angles)
    assert fall == pytest.approx(np.exp(beta) / 2 * angles.var(), rel=1e-4)


def test_a_skew_value_matrix_is_no_gradient():
    """B = I, V a quarter turn: E rises and falls, by SciPy's solution too."""
    V = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    ts, w = np.linspace(0.0, 10.0, 41), np.full(6, 1 / 6)
    model = af.SelfAttention(af.Softmax(beta=2.0, V=V))
    assert not af.diagnostics.is_gradient_flow(model, 3)
    run = af.simulate(model, weyl(6, 3), ts=ts)
    ours = np.asarray(af.energy(run, scale="E"))
    theirs = [energy(x, w, 2.0) for x in flow(weyl(6, 3), ts, w, 2.0, V=V)]
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-8)
    assert np.diff(theirs).max() > 1e-3 and np.diff(theirs).min() < -1e-3


def test_which_matrices_give_a_gradient_flow():
    B, turn = np.diag([2.0, 1.0, -1.0]), rotation(3)
    symmetric = turn @ B @ turn.T
    for good in ((symmetric, symmetric), (symmetric, -symmetric), (None, -np.eye(3))):
        assert af.diagnostics.is_gradient_flow(af.SelfAttention(af.Softmax(beta=1.0, B=good[0], V=good[1])), 3)
    for bad in ((symmetric, 2 * symmetric), (turn, turn), (symmetric, None), (None, B)):
        assert not af.diagnostics.is_gradient_flow(af.SelfAttention(af.Softmax(beta=1.0, B=bad[0], V=bad[1])), 3)


# 2.8: random matrices.


@pytest.mark.parametrize("name", ensembles.ENSEMBLES)
def test_the_law_of_the_matrices(name):
    """Mean of |Vx|^2, the shape of V, and the variance one of <x, By> for orthogonal unit vectors."""
    d, draws = 12, 4000
    B, V, x = ensembles.draw(name, np.random.default_rng(10), draws=draws, n=2, d=d)
    square = (np.einsum("rab,rb->ra", V, x[:, 0]) ** 2).sum(axis=1)
    assert abs(square.mean() - ensembles.expected_square(name, d)) < 4.5 * square.std() / math.sqrt(draws)
    logits = B[:, 0, 1] ** 2  # of the first two basis vectors
    assert abs(logits.mean() - 1) < 4.5 * logits.std() / math.sqrt(draws)
    np.testing.assert_allclose(np.linalg.norm(x, axis=-1), 1.0, rtol=0, atol=1e-12)
    transposed = V.swapaxes(-1, -2)
    if name.startswith("goe"):
        np.testing.assert_array_equal(B, B.swapaxes(-1, -2))
    scale = math.sqrt(d + 1 if name.startswith("goe") else d)
    for end, expected in (("ascent", B / scale), ("descent", -B / scale), ("-transpose", B.swapaxes(-1, -2) / scale)):
        if name.endswith(end):
            np.testing.assert_allclose(V, expected, rtol=1e-12)
    if "psd" in name:
        np.testing.assert_allclose(V, transposed, rtol=0, atol=1e-12)
        assert np.linalg.eigvalsh(V).min() > -1e-10


def test_rows_times_V_apply_the_transpose():
    """The authors' X V moves token j by V^T x_j; the library's V is the matrix that acts."""
    rng = np.random.default_rng(11)
    x, B, V = uniform(rng, 5, 4), rng.normal(size=(4, 4)), rng.normal(size=(4, 4))
    logits = 1.3 * x @ B @ x.T
    weights = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    rows = weights @ x @ V
    ours = af.Softmax(beta=1.3, B=B, V=V.T)(jnp.asarray(x), jnp.asarray(x))
    np.testing.assert_allclose(ours, rows, rtol=0, atol=1e-13)
    other = af.Softmax(beta=1.3, B=B, V=V)(jnp.asarray(x), jnp.asarray(x))
    assert abs(np.asarray(other) - rows).max() > 0.1


def test_tokens_that_met_follow_the_exponential_of_V():
    """x(t) = e^{tV} x / |e^{tV} x| for tokens at one point, whatever B and beta; V, not its transpose."""
    rng = np.random.default_rng(12)
    B, V, x = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), uniform(rng, 3)
    ts = np.linspace(0.0, 2.0, 5)
    run = af.simulate(af.SelfAttention(af.Softmax(beta=5.0, B=B, V=V)), np.tile(x, (4, 1)), ts=ts)
    expected = np.array([expm(t * V) @ x for t in ts])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(run.xs, np.repeat(expected[:, None], 4, axis=1), rtol=0, atol=1e-7)
