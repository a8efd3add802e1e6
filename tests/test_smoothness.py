"""Theory/04, sections 1.3, 1.4 and 4: the derivative of attention, its norm, bounds, stability; rows P17 to P21."""

import math

import jax
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expi, shichi

import attnflow as af
from attnflow.diagnostics import smoothness
from attnflow.errors import AttnflowWarning, InputError
from attnflow.experiments.unified import smoothness as experiment
from attnflow.experiments.unified.smoothness import witness
from attnflow.measures import conditional_wasserstein, synchronous, wasserstein
from judging import computed, holds

RNG = np.random.default_rng(0)
X, H, G = RNG.normal(size=(3, 7, 3))
V, B = RNG.normal(size=(2, 3, 3))
W = RNG.dirichlet(np.ones(7))
SOFTMAX = af.Softmax(beta=0.7, B=B, V=V)
DISC = {"radius": 0.5, "V": 0.854 * np.eye(2)}
MASKS = {"full": af.pairsums.Full(), "masked": af.Causal()}


def norm(matrix):
    return np.linalg.norm(matrix, 2)


def formula(x, A, V, masked=False, w=None):
    """Formula (4), entry by entry, from the text: A acts on the query."""
    n, d = x.shape
    J = np.zeros((n, d, n, d))
    for i in range(n):
        seen = [j for j in range(n) if j <= i or not masked]
        e = np.array([(1.0 if w is None else w[j]) * np.exp((A @ x[i]) @ x[j]) for j in seen])
        P = e / e.sum()
        m = sum(p * x[j] for p, j in zip(P, seen, strict=True))
        C = sum(p * np.outer(x[j] - m, x[j] - m) for p, j in zip(P, seen, strict=True))
        for p, j in zip(P, seen, strict=True):
            J[i, :, j] += p * (np.eye(d) + np.outer(x[j] - m, A @ x[i]))
        J[i, :, i] += C @ A
        J[i] = np.einsum("ab,bjc->ajc", V, J[i])
    return J.reshape(n * d, n * d)


def in_weights(J, w, d):
    """The matrix in units in which the norm of L²(μ) is the Euclidean one."""
    root = np.repeat(np.sqrt(w), d)
    return root[:, None] * J / root[None, :]


# The derivative ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mask", MASKS)
def test_the_derivative_is_its_formula(mask):
    """Row P17; one of them with weights, without them against differences."""
    pairs, w = MASKS[mask], W if mask == "masked" else None
    apart = formula(X, 0.7 * B.T, V, mask == "masked") @ H.ravel()
    central = witness.differences(X, H, 0.7 * B.T, V, mask == "masked")
    np.testing.assert_allclose(apart, central.ravel(), atol=1e-8)
    J = formula(X, 0.7 * B.T, V, mask == "masked", w)
    forward, backward = (J @ H.ravel()).reshape(7, 3), (J.T @ G.ravel()).reshape(7, 3)
    np.testing.assert_allclose(smoothness.jvp(SOFTMAX, X, H, w, pairs=pairs), forward, atol=1e-12)
    np.testing.assert_allclose(smoothness.vjp(SOFTMAX, X, G, w, pairs=pairs), backward, atol=1e-12)
    whole = smoothness.jacobian(SOFTMAX, X, w, pairs=pairs)
    np.testing.assert_allclose(np.asarray(whole).reshape(21, 21), J, atol=1e-12)


def test_other_maps_have_a_derivative():
    """Sigmoid attention, against central differences of its formula in NumPy."""
    chosen, step = af.Sigmoid(B=0.5 * B), 1e-5

    def f(x):
        return np.mean(1 / (1 + np.exp(-0.5 * x @ B @ x.T))[:, :, None] * x[None], axis=1)

    central = (f(X + step * H) - f(X - step * H)) / (2 * step)
    np.testing.assert_allclose(smoothness.jvp(chosen, X, H), central, atol=1e-7)


def test_the_norm_by_singular_values_and_by_iteration():
    """Dense and blocked engines, masked and not, with weights; a batch is its members."""
    J = formula(X, 0.7 * B.T, V)
    result = smoothness.local_lipschitz(SOFTMAX, X, method="power", kernel="blocked")
    assert float(result.value) == pytest.approx(norm(J), rel=2e-6) and 2 < int(result.iterations) < 200
    reached = J @ np.asarray(result.direction).ravel()
    assert np.linalg.norm(reached) / np.linalg.norm(result.direction) == pytest.approx(norm(J), rel=2e-6)
    assert np.mean(np.sum(np.asarray(result.direction) ** 2, axis=1)) == pytest.approx(1)
    masked = smoothness.local_lipschitz(SOFTMAX, np.stack([X, H]), W, pairs=af.Causal())
    expected = [norm(in_weights(formula(x, 0.7 * B.T, V, True, W), W, 3)) for x in (X, H)]
    np.testing.assert_allclose(masked.value, expected, rtol=1e-12)
    assert masked.converged.all() and not masked.iterations.any()
    assert np.sum(W[:, None] * np.asarray(masked.direction[0]) ** 2) == pytest.approx(1)
    iterated = smoothness.local_lipschitz(SOFTMAX, np.stack([X, H]), W, pairs=af.Causal(), method="power")
    np.testing.assert_allclose(iterated.value, expected, rtol=2e-6)


@pytest.mark.parametrize("scale", [1e3, 1e8, 1e15])
def test_the_norm_at_scores_beyond_all_digits(scale):
    """Every token reads one token alone: the norm is the root of how many read the same one."""
    reads = (X @ X.T).argmax(axis=1)
    result = smoothness.local_lipschitz(af.Softmax(1.0), scale * X, method="dense")
    np.testing.assert_allclose(result.value, np.sqrt(np.bincount(reads).max()), rtol=1e-9)


def test_precision_is_that_of_the_tokens():
    """Also when they come from NumPy; nothing is computed here."""
    single = X.astype("float32")
    shapes = jax.eval_shape(lambda: smoothness.local_lipschitz(af.Softmax(), single, method="power"))
    assert shapes.value.dtype == shapes.direction.dtype == np.float32


def test_an_iteration_that_does_not_converge_reports_it():
    with pytest.warns(AttnflowWarning, match="ended after 3 steps before 2 of 2 norms"):
        result = smoothness.local_lipschitz(
            SOFTMAX, np.stack([X, H]), W, pairs=af.Causal(), method="power", max_iterations=3
        )
    assert not result.converged.any() and (np.asarray(result.iterations) == 3).all()
    still = smoothness.local_lipschitz(af.Softmax(beta=0.7, B=B, V=0 * V), X, method="power", kernel="blocked")
    assert float(still.value) == 0 and bool(still.converged)


# Bounds --------------------------------------------------------------------------------------------------------------


def clouds_in_balls(count):
    """Random clouds, half of them on a line through the origin with few places, where derivatives are large."""
    rng = np.random.default_rng(1)
    for k in range(count):
        n, d, R = int(rng.integers(1, 10)), int(rng.integers(1, 4)), rng.uniform(0.2, 2.0)
        x = rng.normal(size=(n, d))
        if k % 2:
            x = np.where(rng.random((n, 1)) < 0.3, 1.0, -1.0) * x[:1]
        yield x * R / np.linalg.norm(x, axis=1).max(), rng.normal(size=(d, d)), rng.normal(size=(d, d)), R


@pytest.mark.parametrize("mask", MASKS)
def test_no_cloud_violates_a_bound(mask):
    """All bounds, by the formula in NumPy; with the diameter of the cloud as well."""
    tightest = 0.0
    for x, A, V, R in clouds_in_balls(150):
        n = len(x)
        D = max(np.linalg.norm(x[i] - x[j]) for i in range(n) for j in range(n))
        J = norm(witness.derivative(x, A, V, mask == "masked"))
        for diameter in (None, min(D, 2 * R)):
            result = smoothness.bounds(R, V=V, B=A.T, n=n, masked=mask == "masked", diameter=diameter)
            assert J <= result.best.value * (1 + 1e-12), result
            tightest = max(tightest, J / result.best.value)
            if mask == "full":
                assert result["columns"] == pytest.approx(result.best.value)
    assert tightest > 0.9


def test_bounds_are_the_formulas():
    """Printed values of B3, and the others from the text; without a mask and with."""
    for gamma, printed in ((1.0, 5.629), (2.0, 20.81)):
        actual = smoothness.bounds(1.0, V=-3 * np.eye(2), B=-np.eye(2), beta=gamma, n=16)
        assert actual["kantorovich"] / 3 == pytest.approx(printed, abs=5e-3)
        assert actual["root-n"] / 3 == pytest.approx(np.sqrt(3) * np.sqrt(gamma**2 * 65 + 16))
        assert actual["wasserstein"] / 3 == pytest.approx((1 + 3 * gamma) * np.exp(2 * gamma))
        assert actual["diameter"] / 3 == pytest.approx(np.sqrt((2 * gamma) ** 2 * 17 + 16))
    masked = smoothness.bounds(2.0, beta=0.25, n=16, masked=True)
    assert masked["hardy"] == pytest.approx(1 + 2 * 3 * np.exp(2))
    assert masked["columns"] == pytest.approx(1 + math.sqrt(2 * sum(1 / (1 + i * math.exp(-2)) for i in range(16))))
    many = sum(1 / (1 + np.arange(10**6) * np.exp(-2.0)))
    actual = smoothness.bounds(2.0, beta=0.25, n=10**6, masked=True)["columns"]
    assert 1 + math.sqrt(2 * many) <= actual == pytest.approx(1 + math.sqrt(2 * many), rel=1e-4)
    assert smoothness.bounds(1.0, beta=1e4, n=10**12, masked=True)["columns"] == pytest.approx(
        1e4 * (1 + 1e6), rel=1e-6
    )
    assert {b.name for b in masked} == {"columns", "diameter", "root-n", "hardy"}
    assert {b.name for b in smoothness.bounds(1.0)} == {"columns", "kantorovich", "wasserstein"}
    assert [b.name for b in smoothness.bounds(1.0, masked=True)] == ["hardy"]
    many, limit = smoothness.bounds(1.0, n=10**9), smoothness.bounds(1.0)
    assert many["columns"] == pytest.approx(limit["columns"], rel=1e-6) == pytest.approx(1 + np.e * np.sqrt(2))
    assert smoothness.bounds(100.0)["wasserstein"] == np.inf
    assert "kantorovich" in repr(limit) and len(limit) == 3
    with pytest.raises(InputError, match="no bound 'hardy' here"):
        limit["hardy"]


@pytest.mark.parametrize(
    ("gamma", "printed"),
    [(1.0, [1.6015, 2.2078, 2.8741, 3.0638, 2.8054, 2.3482]), (2.0, [1.2466, 2.0686, 3.5854, 5.9417, 9.0239, 11.8379])],
)
def test_printed_norms_of_adversarial_tokens(gamma, printed):
    """Row P18, by the formula; the experiment has them by the library."""
    B = -np.eye(2)
    for n, expected in zip((2, 4, 8, 16, 32, 64), printed, strict=True):
        x = np.asarray(smoothness.adversarial_tokens(B=B, beta=gamma, n=n))
        actual = smoothness.bounds(1.0, B=B, beta=gamma, n=n)
        J = norm(witness.derivative(x, gamma * B.T, np.eye(2), False))
        assert J == pytest.approx(expected, abs=1e-3)
        assert smoothness.lower_bound(B=B, beta=gamma, n=n) <= J <= min(actual["root-n"], actual["kantorovich"])


@pytest.mark.parametrize("B", [-np.eye(2), np.eye(2), np.array([[0.3, 1.0], [0.0, -0.2]]), np.diag([4.0, -0.1])])
def test_adversarial_tokens(B):
    """Both cases, skew matrices, and V: between the lower bound and the upper ones."""
    V = np.array([[0.5, 1.0], [0.0, 2.0]])
    for n, R in ((2, 1.0), (9, 1.5), (40, 1.0)):
        x = np.asarray(smoothness.adversarial_tokens(B=B, beta=1.7, n=n, radius=R))
        assert x.shape == (n, 2) and np.linalg.norm(x, axis=1).max() == pytest.approx(R)
        J = norm(witness.derivative(x, 1.7 * B.T, V, False))
        assert smoothness.lower_bound(V=V, B=B, beta=1.7, n=n, radius=R) <= J
        assert J <= smoothness.bounds(R, V=V, B=B, beta=1.7, n=n).best.value
    values = np.linalg.eigvals(B)
    g = max(-values.min(), values.max() / 8) * 1.7
    p = 1 / (1 + 8 * np.exp(-2 * g))
    expected = np.sqrt(8) * p * (1 + 2 * (1 - p) * g)
    actual = smoothness.lower_bound(B=B, beta=1.7, n=np.array([3, 9]))
    assert actual[1] == pytest.approx(expected) and actual.shape == (2,)


def test_the_largest_lower_bound():
    """At n - 1 = e^{2γR²} it is e^{γR²}(1 + γR²)/2; the maximum is at most 30 per cent higher, at up to triple n."""
    n = np.arange(2, 10**6)

    def excess(c, g):
        """At n - 1 = c e^{2γR²}, over the value at c = 1."""
        return 2 * np.sqrt(c) / (1 + c) * (1 + 2 * g * c / (1 + c)) / (1 + g)

    c = np.linspace(1, 4, 3001)
    assert excess(c, 1.0).max() == pytest.approx(1.10, abs=0.005) and excess(c, 2.0).max() == pytest.approx(
        1.16, abs=0.005
    )
    for g in (1.0, 2.0, 6.0):
        curve = smoothness.lower_bound(B=-np.eye(2), beta=g, n=n)
        value = np.exp(g) * (1 + g) / 2
        assert curve.max() / value == pytest.approx(excess(c, g).max(), abs=2e-3) and curve.max() / value < 1.3
        assert 2 < n[np.argmax(curve)] / np.exp(2 * g) < 3
        assert np.interp(1 + np.exp(2 * g), n, curve) == pytest.approx(value, rel=1e-2)


@pytest.mark.parametrize(("n", "printed"), [(1, 1.0), (8, 1.37978), (32, 1.53929), (64, 1.59785), (256, 1.68643)])
def test_the_cesaro_norm(n, printed):
    """Row P19, and against the matrix itself, which is masked attention without scores."""
    matrix = np.tril(np.ones((n, n))) / np.arange(1, n + 1)[:, None]
    assert smoothness.cesaro_norm(n) == pytest.approx(printed, abs=1e-4)
    assert smoothness.cesaro_norm(n) == pytest.approx(norm(matrix), rel=1e-10)
    if n == 8:
        np.testing.assert_allclose(witness.weights(np.ones((n, 1)), np.zeros((1, 1)), True), matrix, atol=1e-15)


@pytest.mark.parametrize("masked", [False, True])
def test_the_limit_of_large_radius(masked):
    """The most followers of a key, which softmax has far from the origin; and hardmax."""
    best = [max(range(i + 1 if masked else 7), key=lambda j, i=i: X[i] @ B @ X[j]) for i in range(7)]
    expected = norm(V) * np.sqrt(max(best.count(j) for j in range(7)))
    for scale in (1.0, 1e200):
        assert smoothness.large_radius_limit(scale * X, V=V, B=B, masked=masked) == pytest.approx(expected, rel=1e-12)
    assert norm(witness.derivative(1e3 * X, B.T, V, masked)) == pytest.approx(expected, rel=1e-9)
    if masked:
        hard = smoothness.local_lipschitz(af.Hardmax(B=B, V=V), X, pairs=af.Causal())
        assert float(hard.value) == pytest.approx(expected, rel=1e-12)


def test_ties_up_to_rounding_are_ties():
    """Three tokens of a triangle that repel: each has two best keys, whatever cosines are rounded to."""
    angle = 2 * np.pi * np.arange(3) / 3
    with pytest.raises(InputError, match="two best keys"):
        smoothness.large_radius_limit(np.stack([np.cos(angle), np.sin(angle)], axis=1), B=-np.eye(2))


# Stability -----------------------------------------------------------------------------------------------------------


def test_the_stability_factor_in_closed_form():
    """a = a₀e^{2|V|t} makes the exponents integrals of hyperbolic functions: Chi, sinh, Ei, exp."""
    v, alpha, R, t = 0.854, 0.8, 0.5, np.array([0.0, 0.3, 1.0])
    a0, a = alpha * R * R, alpha * R * R * np.exp(2 * v * t)
    arguments = {"radius": R, "V": v * np.eye(2), "B": -np.eye(2), "beta": alpha}
    full = 0.5 * (a - a0 + 2 * (np.sinh(a) - np.sinh(a0)) + shichi(a)[1] - shichi(a0)[1])
    np.testing.assert_allclose(smoothness.stability_factor(t, **arguments), np.exp(full), rtol=1e-12)
    assert float(smoothness.stability_factor(1.0, **arguments)) == pytest.approx(13.5, abs=0.05)
    masked = 0.5 * (a - a0) + expi(2 * a) - expi(2 * a0) + np.exp(2 * a) - np.exp(2 * a0)
    np.testing.assert_allclose(smoothness.stability_factor(t, masked=True, **arguments), np.exp(masked), rtol=1e-10)
    for n in (None, 60):

        def rate(s, n=n):
            a = alpha * R * R * np.exp(2 * v * s)
            return v * smoothness.bounds(math.sqrt(a), n=n)["columns"]

        actual = float(smoothness.stability_factor(1.0, bound="columns", n=n, **arguments))
        assert actual == pytest.approx(math.exp(quad(rate, 0, 1)[0]), rel=1e-9)
    np.testing.assert_allclose(smoothness.support_radius(t, radius=R, V=arguments["V"]), R * np.exp(v * t))
    # Without scores tokens read the mean, and the factor is that of the mean (and Hardy's constant, masked).
    assert float(smoothness.stability_factor(2.0, radius=1.0, beta=0.0)) == pytest.approx(np.exp(2))
    assert float(smoothness.stability_factor(2.0, radius=1.0, beta=0.0, masked=True)) == pytest.approx(np.exp(4))
    assert smoothness.stability_factor([0.0, 9.0], radius=5.0).tolist() == [1.0, np.inf]
    # Zero times what overflows is zero.
    assert smoothness.stability_factor(1.0, radius=1.0, beta=1e4, V=[[0.0]]) == 1
    assert (
        smoothness.support_radius(1e5, radius=0.0) == 0 and smoothness.bounds(1.0, beta=1e4, V=[[0.0]]).best.value == 0
    )


@pytest.mark.parametrize("mask", MASKS)
def test_no_pair_of_clouds_violates_the_stability_bound(mask):
    """Row P20 by NumPy: discs of radius 0.5, |V| = 0.854, |A| = 0.8, Runge and Kutta with 8 steps until t = 1."""
    rng, masked, h = np.random.default_rng(5), mask == "masked", 1 / 8
    distance = conditional_wasserstein if masked else wasserstein
    arguments = {**DISC, "B": 0.8 * np.eye(2), "masked": masked}
    upper = [smoothness.stability_factor([0.5, 1.0], **arguments, **o) for o in ({}, {"bound": "columns", "n": 60})]
    for _ in range(4):
        V, A = rng.normal(size=(2, 2, 2))
        V, A = 0.854 * V / norm(V), 0.8 * A / norm(A)
        radius, angle = 0.5 * np.sqrt(rng.random((2, 60))), 2 * np.pi * rng.random((2, 60))
        clouds = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=-1)
        apart = [distance(*clouds)]
        for step in range(8):
            for i, x in enumerate(clouds):
                a = witness.attention(x, A, V, masked)
                b = witness.attention(x + h / 2 * a, A, V, masked)
                c = witness.attention(x + h / 2 * b, A, V, masked)
                clouds[i] = x + h / 6 * (a + 2 * b + 2 * c + witness.attention(x + h * c, A, V, masked))
            assert np.linalg.norm(clouds, axis=-1).max() <= smoothness.support_radius((step + 1) * h, **DISC)
            apart.append(distance(*clouds))
        for bound in upper:
            assert 0.3 < apart[8] / apart[0] < bound[1] and apart[4] / apart[0] < bound[0]


# The conditional distance --------------------------------------------------------------------------------------------


def test_sequences_of_equal_length():
    """Row P21: the root mean square by index; at least W_p of the tokens; masses of positions."""
    x, y = np.random.default_rng(2).normal(size=(2, 12, 3))
    for p in (1, 2, 3.5):
        expected = np.mean([np.linalg.norm(a - b) ** p for a, b in zip(x, y, strict=True)]) ** (1 / p)
        assert conditional_wasserstein(x, y, p) == pytest.approx(expected, rel=1e-13)
        assert conditional_wasserstein(x, y, p, relax="piecewise") == pytest.approx(expected, rel=1e-13)
        assert conditional_wasserstein(x, y, p) >= wasserstein(x, y, p)
    theta = np.arange(1, 13) / 78
    assert conditional_wasserstein(x, y, 2, theta) == pytest.approx(float(synchronous(x, y, weights=theta)))
    assert conditional_wasserstein(x, x[::-1]) > 1 and wasserstein(x, x[::-1]) == 0


def test_several_tokens_per_position():
    """At each position an assignment: not that of sequences as a whole, which is larger, nor of all tokens."""
    x, y = np.random.default_rng(3).normal(size=(2, 5, 4, 2))
    parts = [wasserstein(x[:, i], y[:, i]) ** 2 for i in range(4)]
    actual = conditional_wasserstein(x, y)
    assert actual == pytest.approx(np.sqrt(np.mean(parts)), rel=1e-12)
    assert actual <= wasserstein(x.reshape(5, 8), y.reshape(5, 8)) / 2 + 1e-12
    assert actual >= wasserstein(x.reshape(20, 2), y.reshape(20, 2)) - 1e-12
    theta = np.array([0.4, 0.3, 0.2, 0.1])
    assert conditional_wasserstein(x, y, 2, theta) == pytest.approx(np.sqrt(np.dot(theta, parts)))
    # Copies of the sequences change nothing, whether both have as many or not.
    assert conditional_wasserstein(np.tile(x, (2, 1, 1)), np.tile(y, (2, 1, 1))) == pytest.approx(actual)
    assert conditional_wasserstein(np.tile(x, (2, 1, 1)), y) == pytest.approx(actual, rel=1e-8)


def test_sequences_of_unequal_lengths():
    """Infinitely far apart; or as step functions, by quadrature on a fine grid."""
    x, y = np.random.default_rng(4).normal(size=(2, 7, 2))
    assert conditional_wasserstein(x, y[:4]) == np.inf
    s = (np.arange(28 * 50) + 0.5) / (28 * 50)
    steps = np.linalg.norm(x[(7 * s).astype(int)] - y[:4][(4 * s).astype(int)], axis=1)
    for p in (1, 2):
        expected = np.mean(steps**p) ** (1 / p)
        assert conditional_wasserstein(x, y[:4], p, relax="piecewise") == pytest.approx(expected, rel=1e-12)
    laws = conditional_wasserstein(x[None], y[None, :4], relax="piecewise")
    assert laws == pytest.approx(conditional_wasserstein(x, y[:4], relax="piecewise"), rel=1e-12)


# Bad input -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: smoothness.jvp(SOFTMAX, X, H[:3]), "h has shape"),
        (lambda: smoothness.vjp(SOFTMAX, X, G[:, :2]), "g has shape"),
        (lambda: smoothness.jacobian(af.Softmax(beta=af.Piecewise([1.0], [1.0, 2.0])), X), "depend on time"),
        (lambda: smoothness.local_lipschitz(SOFTMAX, X, method="lanczos"), "unknown; choose one of auto"),
        (lambda: smoothness.local_lipschitz(SOFTMAX, X, tol="small"), "not an array of numbers"),
        (lambda: smoothness.local_lipschitz(SOFTMAX, X, tol=np.float32(1)), "no relative error"),
        (lambda: smoothness.local_lipschitz(SOFTMAX, X, max_iterations=0), "max_iterations = 0"),
        (lambda: smoothness.local_lipschitz(SOFTMAX, X, kernel="fast"), "kernel 'fast' is unknown"),
        (lambda: smoothness.local_lipschitz(SOFTMAX, [["1", "2"]]), "a list holds no tokens"),
        (lambda: smoothness.local_lipschitz(SOFTMAX, np.ones((20_000, 3)), method="dense"), "3.6e"),
        (lambda: smoothness.jacobian(SOFTMAX, np.ones((20_000, 3))), "3.6e"),
        (lambda: smoothness.local_lipschitz(SOFTMAX, np.full((7, 3), np.nan)), "not finite"),
        (lambda: smoothness.local_lipschitz(SOFTMAX, X, [1.0, 0, 0, 0, 0, 0, 0]), "token 1 has weight zero"),
        (lambda: smoothness.bounds("one"), "radius = 'one' is not an array of numbers"),
        (lambda: smoothness.bounds(-1.0), "at least 0"),
        (lambda: smoothness.bounds(1.0, diameter=3.0), "more than twice the radius"),
        (lambda: smoothness.bounds(1.0, V=np.eye(2), B=np.eye(3)), "they must agree"),
        (lambda: smoothness.bounds(1.0, n=0), "n = 0 is too small"),
        (lambda: smoothness.stability_factor(1.0, radius=1.0, bound="hardy"), "'hardy' is none of those"),
        (lambda: smoothness.stability_factor(1.0, radius=1.0, bound="columns", masked=True), "give n"),
        (lambda: smoothness.stability_factor(1.0, radius=1.0, n=5), "is for the bound 'columns'"),
        (lambda: smoothness.support_radius(-1.0, radius=1.0), "negative"),
        (lambda: smoothness.adversarial_tokens(B=[[0.0, -1.0], [1.0, 0.0]], n=4), "no real eigenvalue"),
        (lambda: smoothness.adversarial_tokens(B=np.eye(2), n=1), "at least 2"),
        (lambda: smoothness.adversarial_tokens(B=1j * np.eye(2), n=2), "B holds complex numbers"),
        (lambda: smoothness.lower_bound(B=np.eye(2), n=[2.5]), "whole numbers, at least 2"),
        (lambda: smoothness.large_radius_limit([[1.0, 0.0], [1.0, 0.0]]), "two best keys"),
        (lambda: smoothness.large_radius_limit([1.0, 2.0]), "tokens as rows"),
        (lambda: conditional_wasserstein(X, X[None]), "two sequences"),
        (lambda: conditional_wasserstein(X, X[:4], relax="linear"), "relax = 'linear'"),
        (lambda: conditional_wasserstein(X, X[:4], 2, W, relax="piecewise"), "share none"),
        (lambda: conditional_wasserstein(X, X, 0.5), "no order"),
    ],
)
@pytest.mark.usefixtures("as_users_run")
def test_bad_input_is_refused_in_a_sentence(call, message):
    with pytest.raises(InputError, match=message) as caught:
        call()
    assert str(caught.value).count("\n") == 0


# The experiment ------------------------------------------------------------------------------------------------------


PARTS = {  # what a test can afford; `attnflow reproduce unified-smoothness` judges the rest
    "counterexample": ["counterexample"],
    "conditional": ["conditional", "conditional-order"],
}


@pytest.mark.parametrize("part", PARTS)
def test_claims_hold(part):
    """Row P21, and that queries alone do not bound."""
    results = computed(experiment, [cell for cell in experiment.cells("quick") if cell["part"] == part])
    holds(experiment, results, *(f"smoothness-{name}" for name in PARTS[part]))
