"""Theory/05, parts A2 to A4: correlations of causal tokens, the retrieval profile, Monte Carlo; rows A-1 to A-11."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.linalg import expm
from scipy.optimize import brentq
from scipy.special import eval_gegenbauer, iv, ive, roots_jacobi

import attnflow as af
from attnflow.errors import InputError
from attnflow.experiments.causal import correlations, retrieval
from attnflow.pairsums import weight_matrix
from attnflow.reductions.causal._circle import Alibi, CircleTokens, Weights, circle_force
from attnflow.reductions.causal._sphere import SphereTokens, by_parts
from attnflow.reductions.causal._steps import rk4
from attnflow.reductions.causal.monte_carlo import STEEP, _bessel
from judging import computed, holds

ONE: dict[str, Any] = {"beta": 1.0, "context_slope": 1.0}


def alibi(n, slope):
    """The weights of spec A1, by a loop."""
    w = np.zeros((n, n))
    for j in range(1, n):
        row = np.exp(-slope / n * (j - np.arange(j)))
        w[j, :j] = row / row.sum()
    return w


def series(c, y, shift=1):
    """psi (shift 1) or its derivative (2), term by term."""
    terms = (c ** (k + shift) * y**k / (math.factorial(k) * math.factorial(k + shift)) for k in range(80))
    return sum(terms)


# Closed forms --------------------------------------------------------------------------------------------------------


def test_a1_psi_is_its_series():
    c, y = np.meshgrid(np.geomspace(1e-3, 10, 40), np.geomspace(1e-3, 10, 40))
    np.testing.assert_allclose(af.reductions.causal.psi(c, y), series(c, y), rtol=1e-12)
    np.testing.assert_allclose(af.reductions.causal.psi(c, y), np.sqrt(c / y) * iv(1, 2 * np.sqrt(c * y)), rtol=1e-12)
    np.testing.assert_allclose(af.reductions.causal.psi_derivative(c, y), series(c, y, 2), rtol=1e-12)
    assert af.reductions.causal.psi(3.0, 0.0) == 3 and af.reductions.causal.psi_derivative(3.0, 0.0) == 4.5
    assert af.reductions.causal.psi(0.0, 5.0) == 0
    np.testing.assert_allclose(af.reductions.causal.psi(1e-200, 1e-200), 1e-200, rtol=1e-12)
    np.testing.assert_allclose(af.reductions.causal.psi(300.0, 300.0), iv(1, 600.0), rtol=1e-11)


@pytest.mark.parametrize("slope", [0.0, 1e-9, 1.0, 30.0])
def test_a4_the_total_is_exponential(slope):
    """Over all sources, for every slope and target; quadrature in log s, where the singularity is gone."""
    a, t, at = iv(1, 1.0), 1.0, 0.7

    def integrand(x):
        return (
            float(af.reductions.causal.two_time(t, at * np.exp(-x), a=a, context_slope=slope, target=at))
            * at
            * np.exp(-x)
        )

    actual = quad(integrand, 0, 300, epsabs=1e-10, limit=400)[0]
    np.testing.assert_allclose(actual, af.reductions.causal.two_time_total(t, a=a), atol=1e-7)
    assert abs(float(af.reductions.causal.two_time_total(t, a=a)) - 0.759728) < 1e-6


@pytest.mark.parametrize("slope", [0.0, 1.0, 4.0])
def test_the_equal_time_correlation_is_its_integral(slope):
    """Adaptive quadrature over sources, in log r; the code's own quadrature uses other nodes and another variable."""
    a, t, s, at = 1.7, 0.8, 0.4, 0.9

    def g(target, r):
        return float(af.reductions.causal.two_time(t, r, a=a, context_slope=slope, target=target))

    inside = quad(lambda x: g(at, s * np.exp(-x)) * g(s, s * np.exp(-x)) * s * np.exp(-x), 0, 200, limit=400)[0]
    np.testing.assert_allclose(
        af.reductions.causal.equal_time(t, s, a=a, context_slope=slope, target=at), g(at, s) + inside, rtol=1e-7
    )


def test_equal_times_of_far_sources():
    """Where the peak of the integrand has left its usual place; adaptive quadrature of logarithms."""
    c, s = 30.0, 1e-100
    far = np.log(1 / s)

    def log_psi(y):
        x = 2 * np.sqrt(c * y)
        return np.log(2 * c * ive(1, x) / x) + x

    def part(v):
        return 2 * v * np.exp(log_psi(v**2) + log_psi(v**2 + far) - v**2 - log_psi(far))

    inside = sum(quad(part, a, a + 2, epsabs=0, epsrel=1e-12)[0] for a in range(0, 30, 2))
    actual = af.reductions.causal.equal_time(1.0, s, a=c, context_slope=0.0)
    np.testing.assert_allclose(np.log(actual), log_psi(far) + np.log1p(inside), atol=1e-12)


def test_a6_equal_times():
    actual = af.reductions.causal.equal_time(1.0, [0.1, 0.5, 0.9], a=iv(1, 1.0), context_slope=1.0)
    np.testing.assert_allclose(actual, [1.4600, 1.2782, 1.4247], atol=1e-4)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_rates_are_those_of_the_linearised_force(d):
    """The kernel averaged against a zonal polynomial, by quadrature over the sphere (Funk and Hecke)."""
    beta, (nodes, mass) = 1.3, roots_jacobi(60, (d - 3) / 2, (d - 3) / 2)
    zonal = af.reductions.causal.zonal(nodes, 4, d)
    kappa = (mass * np.exp(beta * nodes)) @ zonal / mass.sum()
    l = np.arange(1, 5)  # noqa: E741
    np.testing.assert_allclose(af.reductions.causal.rates(beta, 4, d), l * (l + d - 2) * kappa, rtol=1e-9)
    first = mass @ np.exp(beta * nodes) / mass.sum()
    soft = af.reductions.causal.rates(beta, [2, 4], d, normalize="softmax")
    np.testing.assert_allclose(soft, (l * (l + d - 2) * kappa / (beta * first))[[1, 3]], rtol=1e-9)
    tiny, none = (af.reductions.causal.rates(b, 3, d, normalize="softmax") for b in (1e-9, 0.0))
    np.testing.assert_allclose(tiny, none, atol=1e-8)


def test_zonal_polynomials():
    u = np.linspace(-1, 1, 9)
    np.testing.assert_allclose(af.reductions.causal.zonal(np.cos(3 * u), 5)[:, 4], np.cos(15 * u), atol=1e-13)
    gegenbauer = eval_gegenbauer(4, 1.5, u) / eval_gegenbauer(4, 1.5, 1.0)
    np.testing.assert_allclose(af.reductions.causal.zonal(u, 4, 5)[:, 3], gegenbauer, atol=1e-13)


# Matrices ------------------------------------------------------------------------------------------------------------


def test_matrix_forms_are_rows_of_exponentials():
    rng = np.random.default_rng(0)
    w = np.tril(rng.uniform(size=(40, 40)), -1) / 20
    t, a = np.array([0.5, 3.0])[:, None], np.array([0.3, 1.0, 4.0])
    two, equal = (
        f(t, a, w, target=30) for f in (af.reductions.causal.two_time_matrix, af.reductions.causal.equal_time_matrix)
    )
    for i, j in np.ndindex(2, 3):
        E = expm(float(t[i, 0] * a[j]) * w)
        np.testing.assert_allclose(two[i, j], 40 * E[30], rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(equal[i, j], 40 * E @ E[30], rtol=1e-11, atol=1e-11)


def test_a5_many_tokens_are_the_continuum():
    n, at = 1000, [0.1, 0.5, 0.9]
    s = (np.arange(n - 1) + 0.5) / n
    actual = np.interp(at, s, af.reductions.causal.two_time_matrix(1.0, iv(1, 1.0), alibi(n, 1.0))[:-1])
    np.testing.assert_allclose(actual, [0.7367, 0.7059, 0.8469], rtol=3e-3)
    np.testing.assert_allclose(
        af.reductions.causal.two_time(1.0, at, a=iv(1, 1.0), context_slope=1.0), [0.7367, 0.7059, 0.8469], atol=6e-5
    )


def test_matrix_forms_solve_their_equation():
    """d/dt E = a w E, integrated by SciPy."""
    w, a = alibi(12, 2.0), 1.4
    E = solve_ivp(
        lambda t, E: (a * w @ E.reshape(12, 12)).ravel(), (0, 1.5), np.eye(12).ravel(), rtol=1e-11, atol=1e-12
    )
    last = E.y[:, -1].reshape(12, 12)
    np.testing.assert_allclose(af.reductions.causal.two_time_matrix(1.5, a, w), 12 * last[-1], rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(af.reductions.causal.equal_time_matrix(1.5, a, w), 12 * last @ last[-1], rtol=1e-8)


# The profile ---------------------------------------------------------------------------------------------------------


def test_a2_critical_times():
    actual = af.reductions.causal.critical_time(beta=[0.5, 1.0, 2.0, 3.0], context_slope=1.0)
    np.testing.assert_allclose(actual, [5.911579, 2.457489, 0.600716, 0.174018], atol=1e-6)
    assert af.reductions.causal.critical_time(beta=1.0, context_slope=0.0) == 0
    far = [1e-200, 400.0]  # one mode, where squares of rates underflow and overflow
    expected = [2 * -np.expm1(-1.0) / first for first in (0.5e-200, iv(1, 400.0))]
    np.testing.assert_allclose(
        af.reductions.causal.critical_time(beta=far, context_slope=1.0, modes=1), expected, rtol=1e-12
    )
    t, step = float(actual[1]), 1e-5
    for factor, sign in ((0.99, 1), (1.01, -1)):  # S rises at its end, or falls
        S = af.reductions.causal.retrieval_profile([1 - step, 1.0], factor * t, **ONE)
        assert np.sign(S[1] - S[0]) == sign


def test_a3_the_source_found_worst():
    for t, s, value in (
        (0.5, 0.12515, 0.467545),
        (1, 0.25928, 1.195306),
        (1.5, 0.41832, 2.119305),
        (2, 0.63292, 3.146466),
    ):
        actual = af.reductions.causal.profile_minimum(t, **ONE)
        np.testing.assert_allclose(actual, [s, value], atol=1e-5)
    assert np.isnan(af.reductions.causal.profile_minimum(5.0, **ONE).s)
    assert abs(float(af.reductions.causal.retrieval_profile(1.0, 1.0, **ONE)) - 1.638251) < 1e-6


def test_the_minimum_is_one_by_evaluation():
    """Against a grid of values of the profile, without derivatives; also at a place that no plot would show."""
    for t, beta, slope in ((1.0, 1.0, 1.0), (0.01, 0.3, 8.0)):
        least = af.reductions.causal.profile_minimum(t, beta=beta, context_slope=slope)
        s = least.s * np.exp(np.linspace(-0.1, 0.1, 4001))
        S = af.reductions.causal.retrieval_profile(s, t, beta=beta, context_slope=slope)
        np.testing.assert_allclose(s[S.argmin()], least.s, rtol=5e-4)
        np.testing.assert_allclose(S.min(), least.value, rtol=1e-9)


def test_the_minimum_is_found_where_the_profile_underflows():
    """First sources weigh e^{-800}, which is no double: signs of the derivative must survive."""
    least = af.reductions.causal.profile_minimum(1e-3, beta=1.0, context_slope=800.0, modes=1)
    assert af.reductions.causal.profile_shape([0.0, 1e-3], beta=1.0, context_slope=800.0).tolist() == [
        "other",
        "one minimum",
    ]
    c, slope = iv(1, 1.0) * 1e-3, 800.0

    def rising(s):  # λψ - qψ', written out
        Y = slope - np.log(np.expm1(slope * s))
        return slope * series(c, Y) - slope / -np.expm1(-slope * s) * series(c, Y, 2)

    root: Any = brentq(rising, 1e-9, 1e-3, xtol=1e-16)
    np.testing.assert_allclose(root, least.s, rtol=1e-8)


def test_slopes_move_the_minimum():
    actual = [
        af.reductions.causal.profile_minimum(1.0, beta=1.0, context_slope=slope).s
        for slope in (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
    ]
    np.testing.assert_allclose(actual, [np.nan, 0.5609, 0.2593, 0.1187, 0.0529, 0.0225], atol=6e-5)


def test_a10_without_slope_there_is_no_recency():
    s = np.geomspace(1e-9, 1, 3000)
    for t, beta in ((0.1, 1.0), (1.0, 1.0), (3.0, 2.0)):
        assert (np.diff(af.reductions.causal.retrieval_profile(s, t, beta=beta, context_slope=0.0)) < 0).all()
        assert af.reductions.causal.profile_shape(t, beta=beta, context_slope=0.0) == "decreasing"


def test_a11_the_double_well():
    result = af.reductions.causal.turning_points(1.5, heads=af.reductions.causal.DOUBLE_WELL)
    np.testing.assert_allclose(result.s, [0.1298, 0.3640, 0.7953], atol=2e-4)
    np.testing.assert_allclose(result.value, [-5.501061, -5.455225, -5.501061], atol=1e-6)
    assert result.minimum.tolist() == [True, False, True]


def test_just_beyond_the_critical_time_the_shape_follows_from_the_slope():
    """One mode: a maximum near the last source from λ = log 4 on."""
    for slope, shape in ((np.log(4) - 0.1, "decreasing"), (np.log(4) + 0.1, "minimum and maximum")):
        t = 1.0003 * af.reductions.causal.critical_time(beta=1.0, context_slope=slope, modes=1)
        assert af.reductions.causal.profile_shape(t, beta=1.0, context_slope=slope, modes=1) == shape


# Monte Carlo ---------------------------------------------------------------------------------------------------------


def dense_force(theta, w, beta):
    """Pair by pair; tokens are the first axis."""
    u = theta[:, None] - theta[None, :]
    return np.einsum("jk,jk...->j...", w, -beta * np.sin(u) * np.exp(beta * np.cos(u)))


def dense_flow(theta, w, beta, t, steps):
    """The classical Runge-Kutta scheme, written out."""
    h = t / steps
    for _ in range(steps):
        k1 = dense_force(theta, w, beta)
        k2 = dense_force(theta + h / 2 * k1, w, beta)
        k3 = dense_force(theta + h / 2 * k2, w, beta)
        k4 = dense_force(theta + h * k3, w, beta)
        theta = theta + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return theta


def test_the_force_is_that_of_the_models():
    """By prefix sums, by a matrix, pair by pair, and through the pair sums of the library."""
    n, slope = 21, 1.7
    theta, w = np.random.default_rng(0).uniform(0, 2 * np.pi, n), alibi(n, slope)
    x = np.stack([np.cos(theta), np.sin(theta)], axis=1)
    pairs = af.Causal(strict=True, slope=slope / n, normalized=True)
    np.testing.assert_allclose(weight_matrix(pairs, n), w, atol=1e-14)

    @jax.jit
    def forces(beta, bessel):
        velocity = af.models.field(
            af.SelfAttention(af.Unnormalized(beta, gradient=True), pairs=pairs), 0.0, jnp.asarray(x)
        )
        along = velocity[:, 1] * x[:, 0] - velocity[:, 0] * x[:, 1]
        ways = (Alibi(jnp.asarray(slope)), Weights(jnp.asarray(w)))
        return jnp.stack([*(circle_force(jnp.asarray(theta)[:, None], bessel, e)[:, 0] for e in ways), along])

    for beta in (1.0, 3.0):
        modes = np.arange(1, len(_bessel(3.0)) + 1)
        by_prefix, by_matrix, of_the_model = np.asarray(forces(beta, jnp.asarray(iv(modes, beta))))
        by_pairs = dense_force(theta, w, beta)
        size = beta * np.exp(beta)
        np.testing.assert_allclose(by_prefix, by_matrix, atol=1e-12 * size)
        np.testing.assert_allclose(by_pairs, of_the_model, atol=1e-13 * size)
        np.testing.assert_allclose(by_prefix, by_pairs, atol=3e-8 * size)
        assert by_prefix[0] == 0


def test_the_adjoint_is_that_of_the_scheme():
    """The derivative by every first angle against finite differences of a dense flow in NumPy."""
    n, beta, slope, t, steps, h = 21, 1.0, 1.7, 1.0, 10, 1e-5
    theta = np.random.default_rng(1).uniform(0, 2 * np.pi, (n, 2))
    bessel, w = jnp.asarray(_bessel(beta)), alibi(n, slope)

    def last(theta):
        end = rk4(lambda x: circle_force(x, bessel, Alibi(jnp.asarray(slope))), theta, t, steps)[-1]
        return end, end

    actual, end = jax.jit(jax.jacobian(last, has_aux=True))(jnp.asarray(theta))
    np.testing.assert_allclose(end, dense_flow(theta, w, beta, t, steps)[-1], atol=1e-7)
    for replica in range(2):
        bumped = theta[:, replica, None] + h * np.concatenate([np.eye(n), -np.eye(n)], axis=1)
        ends = dense_flow(bumped, w, beta, t, steps)[-1]
        np.testing.assert_allclose(actual[replica, :, replica], (ends[:n] - ends[n:]) / (2 * h), atol=1e-7)
        assert (actual[replica, :, 1 - replica] == 0).all()  # replicas do not see each other


def test_the_response_on_the_circle_is_that_of_the_sphere():
    """One draw, both ways: angles with Fourier series and a matrix, and unit vectors through the models, all modes."""
    n, t, steps = 8, jnp.asarray(0.7), 20
    theta = jnp.asarray(np.random.default_rng(2).uniform(0, 2 * np.pi, (n, 1)))
    x = jnp.stack([jnp.cos(theta.T), jnp.sin(theta.T)], axis=-1)
    circle = CircleTokens(jnp.asarray(_bessel(1.0)), Weights(jnp.asarray(alibi(n, 1.0))), n)
    pairs = af.Causal(strict=True, slope=1 / n, normalized=True)
    sphere = SphereTokens(af.SelfAttention(af.Unnormalized(1.0, gradient=True), pairs=pairs), n, 2)
    actual = jax.jit(lambda theta, x: (circle.response(theta, t, steps, 3), sphere.response(x, t, steps, 3)))(theta, x)
    for a, b in zip(*actual, strict=True):
        np.testing.assert_allclose(a, b, atol=2e-6)


def test_integration_by_parts_on_the_sphere():
    """A map of S² to itself, integrated over the sphere both ways by Gauss' rule and the trapezoidal one."""
    z, weight = np.polynomial.legendre.leggauss(40)
    azimuth = 2 * np.pi * np.arange(80) / 80
    across = np.sqrt(1 - z**2)
    y = np.stack(
        [across[:, None] * np.cos(azimuth), across[:, None] * np.sin(azimuth), np.repeat(z[:, None], 80, 1)], axis=-1
    ).reshape(-1, 3)
    mass = np.repeat(weight / 160, 80)
    A = np.eye(3) + 0.4 * np.random.default_rng(3).normal(size=(3, 3))

    def image(y):
        moved = A @ y + 0.3 * jnp.sin(y[::-1])
        return moved / jnp.sqrt(jnp.sum(moved**2))

    def one(y):
        return image(y), by_parts(jax.jacfwd(image)(y)[None], y[None], image(y), 3)

    X, parts = jax.jit(jax.vmap(one))(jnp.asarray(y))
    plain = mass @ af.reductions.causal.zonal(np.clip(np.sum(np.asarray(X) * y, axis=1), -1, 1), 3, 3)
    np.testing.assert_allclose([mass @ np.asarray(p)[:, 0] for p in parts], plain, atol=1e-8)


CELL = {"part": "estimators", "n": 16, "replicas": 2048}
# Two programs, with prefix sums and with a matrix, serve all direct estimates; the first is that of the claims.
DRAWN: dict[str, Any] = {"n": 16, "t": 1.0, "beta": 1.0, "modes": 2, "replicas": 2048, "method": "direct"}


@pytest.mark.usefixtures("as_users_run")
def test_weights_may_be_any():
    """ALiBi weights given by lag are a matrix product for the same tokens, and give the same numbers."""
    by_lag = af.pairsums.Positional(np.concatenate([[0.0], np.exp(-np.arange(1, 16) / 16)]), normalized=True)
    one = af.reductions.causal.estimate_correlations(jax.random.key(0), context_slope=1.0, **DRAWN)
    other = af.reductions.causal.estimate_correlations(jax.random.key(0), pairs=by_lag, **DRAWN)
    np.testing.assert_allclose(one.batches, other.batches, atol=1e-9)
    assert one.replicas == 2048 and one.batches.shape[1:] == (2, 15) and one.s[0] == 0.5 / 16
    for source in (3, [3], slice(3, 4)):
        np.testing.assert_allclose(one.average(source), [one.mean[:, 3], one.stderr[:, 3]])
    for none in (15, [], "3"):
        with pytest.raises(InputError, match="sources = "):
            one.average(none)


def test_steep_weights_do_not_underflow():
    """Prefix sums and a matrix just below and above the slope where one gives way to the other."""
    below, above = (
        af.reductions.causal.estimate_correlations(jax.random.key(0), context_slope=x, **DRAWN)
        for x in (STEEP, STEEP + 1e-6)
    )
    np.testing.assert_allclose(below.batches, above.batches, atol=1e-5)


def test_claims_of_correlations():
    """Rows A-1, A-4, A-5, A-6 and A-9."""
    cells = [{"part": "closed form"}, {"part": "matrix", "n": 1000}, CELL]
    holds(
        correlations,
        computed(correlations, cells),
        "correlations-psi",
        "correlations-total",
        "correlations-two-time",
        "correlations-matrix",
        "correlations-equal-time",
        "correlations-response",
        "correlations-direct",
        "correlations-same-mean",
        "correlations-variance",
    )


@pytest.fixture(scope="module")
def profile_cells():
    quick = retrieval.cells("quick")
    fewer = {"replicas": 4000, "draws": 100}
    return computed(retrieval, [{name: fewer.get(name, value) for name, value in cell.items()} for cell in quick])


def test_claims_of_the_profile(profile_cells):
    """Rows A-2, A-3, A-7, A-8, A-10 and A-11, and all else that is claimed there."""
    holds(retrieval, profile_cells, *(claim.id for claim in retrieval.CLAIMS if claim.scales is None))


def test_figures(profile_cells):
    for draw in retrieval.EXPERIMENT.figures:
        assert draw(profile_cells).axes


# Bad input -----------------------------------------------------------------------------------------------------------

GOOD = {"n": 8, "t": 1.0, "beta": 1.0, "context_slope": 1.0, "replicas": 64}


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"n": 1}, "n = 1 is too small"),
        ({"t": "1"}, "not an array of numbers"),
        ({"t": -1.0}, "t = -1"),
        ({"t": float("nan")}, "not finite"),
        ({"beta": 0.0}, "larger than 0"),
        ({"context_slope": -1.0}, "context_slope"),
        ({"context_slope": None}, "give context_slope"),
        ({"pairs": af.Causal(strict=True)}, "not both"),
        ({"context_slope": None, "pairs": af.Causal(normalized=True)}, "see themselves"),
        ({"context_slope": None, "pairs": af.Causal(strict=True)}, "not normalised"),
        ({"context_slope": None, "pairs": "causal"}, "pairs = 'causal'"),
        ({"method": "both"}, "method = 'both'"),
        ({"normalize": "rows"}, "normalize = 'rows'"),
        ({"d": 1}, "d = 1"),
        ({"modes": 0}, "modes = 0"),
        ({"dt": 0.0}, "dt = 0"),
        ({"beta": 30.0}, "more than 100000"),
        ({"beta": 1000.0, "dt": 0.5}, "beyond double precision"),
        ({"key": 0}, "key = 0 is no random key"),
    ],
)
@pytest.mark.usefixtures("as_users_run")
def test_bad_estimates_are_refused(changes, words):
    with pytest.raises(InputError, match=words):
        af.reductions.causal.estimate_correlations(**{"key": jax.random.key(0), **GOOD, **changes})


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda c: c.psi(-1.0, 1.0), "c = -1 must not be negative"),
        (lambda c: c.psi("1", 1.0), "not an array of numbers"),
        (lambda c: c.two_time(1.0, 0.0, a=1.0, context_slope=1.0), "s = 0 must be larger"),
        (lambda c: c.two_time(1.0, 0.5, a=1.0, context_slope=1.0, target=0.4), "lies behind its target"),
        (lambda c: c.two_time(1.0, 0.5, a=1.0, context_slope=1.0, target=1.2), "behind the prompt"),
        (lambda c: c.two_time_matrix(1.0, 1.0, np.eye(3)), "strictly lower triangular"),
        (lambda c: c.two_time_matrix(1.0, 1.0, np.zeros((3, 3)), target=3), "target = 3"),
        (lambda c: c.retrieval_profile([0.5, np.nan], 1.0, beta=1.0, context_slope=1.0), "not finite"),
        (lambda c: c.two_time_matrix(1.0, 1e3, np.tri(3, 3, -1)), "too large"),
        (lambda c: c.two_time_matrix([1.0, 2.0], [1.0, 2.0, 3.0], np.zeros((3, 3))), "do not fit together"),
        (lambda c: c.equal_time(1.0, [0.1, 0.2], a=[1.0, 2.0, 3.0], context_slope=1.0), "do not fit together"),
        (lambda c: c.retrieval_profile([0.1, 0.2], [1, 2, 3], beta=1.0, context_slope=1.0), "s \\(2,\\), t \\(3,\\)"),
        (lambda c: c.profile_shape([1.0, 2.0], beta=[1, 2, 3], context_slope=1.0), "do not fit together"),
        (lambda c: c.rates(1e3, 1), "beyond double precision"),
        (lambda c: c.turning_points(1.0), "give beta and context_slope"),
        (lambda c: c.turning_points(1.0, heads=[]), "heads is empty"),
        (lambda c: c.multi_head_profile(0.5, 1.0, [(1.0, 2.0)]), "give a list of"),
        (lambda c: c.zonal(1.5, 3), "no inner product"),
        (lambda c: c.rates(1.0, [0]), "too small"),
        (lambda c: c.bin_means(np.ones(4), [0, 5]), "there are 4 sources"),
        (lambda c: c.bin_means(np.ones(4), [0.0, 2.0]), "whole numbers"),
        (lambda c: c.critical_time(beta=0.0, context_slope=1.0), "beta = 0 must be larger"),
    ],
)
@pytest.mark.usefixtures("as_users_run")
def test_bad_input_is_refused(call, words):
    with pytest.raises(InputError, match=words):
        call(af.reductions.causal)


def test_pictures_of_profiles():
    for t in (1.0, 5.0):  # with a minimum and without
        (axes,) = af.plot.retrieval_profile(t, **ONE, n=16).axes
        assert ("lost in the middle" in [text.get_text() for text in axes.texts]) == (t == 1.0)
    drawn = {slope: af.plot.retrieval_profile(1.0, beta=1.0, context_slope=slope).axes[0] for slope in (1.0, 8.0)}
    words = {slope: {text.get_text() for text in axes.texts} for slope, axes in drawn.items()}
    assert "primacy" in words[1.0] and "primacy" not in words[8.0]
    af.plot.retrieval_profile(0.0, **ONE)  # flat
    with pytest.raises(InputError, match="three arrays"):
        af.plot.retrieval_profile(1.0, **ONE, points=([0.5], [1.0]))
    with pytest.raises(InputError, match="give one number"):
        af.plot.retrieval_profile([[1.0], [2.0]], **ONE)
