"""Closed forms of theory/01-sphere.md, sections 1.5, 1.6, 2.2 and 2.10, against particles, SciPy, sums and loops."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.optimize import linprog
from scipy.special import gamma, iv

import attnflow as af
from attnflow.errors import InputError
from attnflow.reductions import two_cluster_rate
from witness import on_circle

velocity_of = eqx.filter_jit(af.models.field)


def attention(kind, beta):
    return af.Softmax(beta=beta) if kind == "SA" else af.Unnormalized(beta=beta, shifted=kind == "shifted USA")


# Two clusters --------------------------------------------------------------------------------------------------------

CLOCKS = ["SA", "USA", "shifted USA"]


def printed_rate(u, p, beta, kind):
    """1.6, letter by letter."""
    q, K = 1 - p, np.exp(-2 * beta * np.sin(u / 2) ** 2)
    if kind == "SA":
        return -np.sin(u) * K * (q / (p + q * K) + p / (q + p * K))
    return -np.sin(u) * K * (p + q) * (np.exp(beta) if kind == "USA" else 1.0)


@pytest.mark.parametrize("kind", CLOCKS)
def test_two_cluster_rate_is_the_printed_one(kind):
    u = np.linspace(0.0, np.pi, 9)
    for p, beta in itertools.product((0.5, 0.3, 1e-3), (0.0, 1.0, 9.0)):
        ours = two_cluster_rate(u, weight=p, beta=beta, clock=kind)
        np.testing.assert_allclose(ours, printed_rate(u, p, beta, kind), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("kind", CLOCKS)
def test_two_clusters_against_particles_and_scipy(kind):
    p, beta, u0 = 0.3, 2.0, 2.0
    ts = np.linspace(0.0, {"SA": 5.0, "USA": 10.0 * np.exp(-beta), "shifted USA": 10.0}[kind], 7)
    ours = af.reductions.two_cluster_flow(ts, u0=u0, weight=p, beta=beta, clock=kind)
    scipy = solve_ivp(
        lambda t, u: printed_rate(u, p, beta, kind), (0, ts[-1]), [u0], "DOP853", t_eval=ts, rtol=1e-12, atol=1e-14
    )
    np.testing.assert_allclose(ours, scipy.y[0], rtol=0, atol=1e-9)
    model = af.SelfAttention(attention(kind, beta))
    run = af.simulate(model, on_circle([0.4, 0.4 + u0]), ts=ts, weights=[p, 1 - p], rtol=1e-11, atol=1e-13)
    angles = model.space.distance(run.xs[:, 0], run.xs[:, 1])
    np.testing.assert_allclose(ours, angles, rtol=0, atol=1e-9)
    assert ours[-1] < 1.5  # the clusters have moved


def test_two_clusters_close_and_far():
    """Small angles keep their relative digits (u ~ e^-t for SA), and neither end overflows at a large beta."""
    late = np.asarray(af.reductions.two_cluster_flow([0.0, 30.0, 31.0], u0=0.1, weight=0.5, beta=1.0))
    assert late[2] / late[1] == pytest.approx(np.exp(-1.0), rel=1e-9)
    far = np.asarray(af.reductions.two_cluster_flow([0.0, 1.0], u0=3.0, weight=0.5, beta=1e4))
    assert far[1] == pytest.approx(3.0, abs=1e-12)
    same = af.reductions.two_cluster_flow([0.0, 1.0], u0=1.0, weight=0.9, beta=2.0)
    np.testing.assert_allclose(
        same, af.reductions.two_cluster_flow([0.0, 1.0], u0=1.0, weight=0.1, beta=2.0), rtol=1e-13
    )


def test_A18_time_to_merge():
    """p = .3, SA, from u = 2 to u = 1e-3/sqrt(beta)."""
    beta = np.array([9.0, 30.0])
    ours = af.reductions.two_cluster_time(beta, u0=2.0, u1=1e-3 / np.sqrt(beta), weight=0.3)
    np.testing.assert_allclose(ours, [15477.2527, 4.00049338e16], rtol=1e-8)


@pytest.mark.parametrize("kind", CLOCKS)
def test_merging_times_against_quad(kind):
    for beta, p in ((0.0, 0.5), (3.0, 0.2), (12.0, 1e-6)):
        expected = quad(lambda u: -1 / printed_rate(u, p, beta, kind), 0.2, 2.5, epsabs=0, epsrel=1e-12, limit=500)[0]  # noqa: B023
        ours = af.reductions.two_cluster_time(beta, u0=2.5, u1=0.2, weight=p, clock=kind)
        np.testing.assert_allclose(ours, expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"u0": 0.0}, "u0 = 0.0 must lie strictly between 0 and pi"),
        ({"u0": 4.0}, "u0 = 4.0 must lie"),
        ({"weight": 1.2}, "weight = 1.2 is no mass"),
        ({"beta": -1.0}, "beta = -1.0 must be finite"),
    ],
)
def test_two_clusters_refuse(change, message):
    with pytest.raises(InputError, match=message):
        af.reductions.two_cluster_flow([0.0, 1.0], **{"u0": 1.0, "weight": 0.5, "beta": 1.0, **change})
    with pytest.raises(InputError, match="clusters only approach"):
        af.reductions.two_cluster_time(1.0, u0=1.0, u1=1.5, weight=0.5)


# A light token -------------------------------------------------------------------------------------------------------


def test_A10_light_token():
    ts = np.array([0.7, 2.0])
    ours = af.reductions.light_token(ts, -0.2)
    np.testing.assert_allclose(ours, (0.45996543, 0.9465223), rtol=0, atol=1e-7)
    run = af.simulate(
        af.SelfAttention(beta=5.0), on_circle([np.arccos(-0.2), 0.0]), ts=ts, weights=[0.0, 1.0], rtol=1e-11, atol=1e-13
    )
    np.testing.assert_allclose(ours, np.sum(run.xs[:, 0] * run.xs[:, 1], axis=-1), rtol=0, atol=1e-10)
    limit = af.reductions.two_cluster_flow([0.0, *ts], u0=float(np.arccos(-0.2)), weight=0.0, beta=700.0)
    np.testing.assert_allclose(np.cos(limit[1:]), ours, rtol=0, atol=1e-10)  # two clusters, one without mass


def test_light_token_at_rest_and_refused():
    assert np.asarray(af.reductions.light_token([0.0, 5.0], -1.0)).tolist() == [-1.0, -1.0]
    assert np.asarray(af.reductions.light_token([0.0, 5.0], 1.0)).tolist() == [1.0, 1.0]
    with pytest.raises(InputError, match="no inner product"):
        af.reductions.light_token([0.0], 1.1)


# Growth of patterns --------------------------------------------------------------------------------------------------

KMAX = {1: 1, 2: 2, 4: 3, 5: 3, 9: 4, 16: 6, 30: 8, 100: 14}


def test_A20_growth_of_one_mode():
    grid = 2 * np.pi * np.arange(1, 401) / 400
    x0 = on_circle(grid + 1e-6 * np.sin(4 * grid))
    run = af.simulate(af.SelfAttention(beta=9.0), x0, ts=[0.0, 1.0], solver="rk4", dt=0.02)
    across = run.xs[-1, :, 1] * np.cos(grid) - run.xs[-1, :, 0] * np.sin(grid)
    rate = np.log(2 * np.mean(np.arcsin(across) * np.sin(4 * grid)) / 1e-6)
    assert rate == pytest.approx(0.704497, abs=1e-3)
    assert float(af.reductions.growth_rate(4, beta=9.0)) == pytest.approx(0.704497, abs=1e-6)
    assert rate == pytest.approx(float(af.reductions.growth_rate(4, beta=9.0)), abs=1e-6)


def test_growth_rates_are_bessel_functions():
    k, beta = np.arange(1, 13), 7.0
    np.testing.assert_allclose(
        af.reductions.growth_rate(k, beta=beta), k**2 * iv(k, beta) / (beta * iv(0, beta)), rtol=1e-12
    )
    np.testing.assert_allclose(
        af.reductions.growth_rate(k, beta=beta, clock="USA"), k**2 * iv(k, beta) / beta, rtol=1e-12
    )
    shifted = k**2 * iv(k, beta) / beta * np.exp(-beta)
    np.testing.assert_allclose(af.reductions.growth_rate(k, beta=beta, clock="shifted USA"), shifted, rtol=1e-12)
    both = af.reductions.growth_rate(k[:, None], beta=np.array([2.0, 7.0]))
    assert both.shape == (12, 2)


def test_growth_at_large_and_at_no_beta():
    angle = 2 * np.pi * np.arange(4096) / 4096
    coefficients = np.fft.rfft(np.exp(1e4 * (np.cos(angle) - 1))).real
    k = np.array([1, 50, 141, 300])
    np.testing.assert_allclose(
        af.reductions.growth_rate(k, beta=1e4), k**2 * coefficients[k] / (1e4 * coefficients[0]), rtol=1e-10
    )
    for kind in CLOCKS:  # Kuramoto: the mean alone is felt
        np.testing.assert_array_equal(af.reductions.growth_rate([0, 1, 2, 3], beta=0.0, clock=kind), [0, 0.5, 0, 0])
        np.testing.assert_allclose(af.reductions.growth_rate([1, 2], beta=1e-6, clock=kind), [0.5, 0.0], atol=1e-6)


def test_fastest_mode_is_the_table_of_the_theory():
    assert np.asarray(af.reductions.fastest_mode(list(KMAX))).tolist() == list(KMAX.values())
    assert int(af.reductions.fastest_mode(0.0)) == 1
    assert int(af.reductions.fastest_mode(1e4)) == pytest.approx(np.sqrt(2e4), abs=1)


@pytest.mark.parametrize("kind", ["SA", "USA"])
@pytest.mark.parametrize("degree", [1, 2, 3])
def test_growth_on_the_sphere(kind, degree):
    """A quadrature cloud of S^2 with density 1 + eps P_l(z): how the field changes the integral of P_l."""
    beta, eps = 3.0, 1e-6
    z, wz = np.polynomial.legendre.leggauss(24)
    phi = 2 * np.pi * np.arange(48) / 48
    r = np.sqrt(1 - z**2)[:, None]
    x = np.stack([r * np.cos(phi), r * np.sin(phi), np.broadcast_to(z[:, None], (24, 48))], axis=-1).reshape(-1, 3)
    legendre = np.polynomial.legendre.Legendre.basis(degree)
    w = np.repeat(wz / 2, 48) / 48 * (1 + eps * legendre(x[:, 2]))
    v = np.asarray(velocity_of(af.SelfAttention(attention(kind, beta)), 0.0, jnp.asarray(x), jnp.asarray(w)))
    slope = np.sum(w * legendre.deriv()(x[:, 2]) * v[:, 2])
    now = np.sum(w * legendre(x[:, 2]))
    np.testing.assert_allclose(slope / now, af.reductions.growth_rate(degree, beta=beta, d=3, clock=kind), rtol=1e-5)


def test_growth_says_where_noise_wins():
    """2.12: with Brownian motion the uniform state is stable up to K# = beta^{d/2} / (2^{d/2} Gamma(d/2) I_{d/2})."""
    for d, beta in ((2, 1.0), (3, 4.0), (8, 2.0)):
        critical = beta ** (d / 2) / (2 ** (d / 2) * gamma(d / 2) * iv(d / 2, beta))
        k = np.arange(1, 9)
        diffusion = k * (k + d - 2) / 2
        margins = diffusion - critical * np.asarray(af.reductions.growth_rate(k, beta=beta, d=d, clock="USA"))
        assert abs(margins[0]) < 1e-12 * diffusion[0] and (margins[1:] > 0).all()


def test_growth_refuses():
    with pytest.raises(InputError, match="whole number"):
        af.reductions.growth_rate(1.5, beta=1.0)
    with pytest.raises(InputError, match="d >= 2"):
        af.reductions.growth_rate(1, beta=1.0, d=1)
    with pytest.raises(InputError, match="outside jit"):
        jax.jit(lambda b: af.reductions.growth_rate(1, beta=b))(1.0)


# The uniform measure -------------------------------------------------------------------------------------------------


def test_A11_energy_of_the_uniform_measure():
    expected = {2: 0.8134654310, 3: 0.5565486071, 5: 0.3737983530, 10: 0.2573473042}
    for d, value in expected.items():
        assert float(af.reductions.uniform_energy(d, beta=3.0, scale="E")) == pytest.approx(value, abs=1e-9)
        assert float(af.reductions.uniform_energy(d, beta=3.0, scale="E_p")) == pytest.approx(
            value * np.exp(-3.0), rel=1e-9
        )
        assert float(af.reductions.uniform_energy(d, beta=3.0)) == pytest.approx(6 * np.exp(-3.0) * value, rel=1e-9)


@pytest.mark.parametrize("d", [2, 3, 4, 7, 40, 1000])
def test_uniform_energy_against_an_integral(d):
    """The density of one coordinate is proportional to (1 - z^2)^{(d-3)/2}; the angle takes the singularity away."""
    for beta in (0.0, 1e-3, 1.0, 30.0, 200.0):

        def integrand(angle, tilt, middle):
            power = (d - 2) * np.log(np.sin(angle)) if d > 2 else 0.0
            return np.exp(power + tilt * (np.cos(angle) - 1) - middle)

        where = np.arctan2(np.sqrt(max(d - 2, 0)), np.sqrt(beta)) if d > 2 else 0.1  # near where the mass is
        middle = (d - 2) * np.log(np.sin(where)) + beta * (np.cos(where) - 1) if d > 2 else 0.0
        points = np.clip([where, where / 2, (where + np.pi) / 2], 0.01, 3.1)
        options = {"epsabs": 0, "epsrel": 1e-11, "limit": 400}
        top = quad(integrand, 0, np.pi, (beta, middle), points=points, **options)[0]
        bottom = quad(integrand, 0, np.pi, (0.0, 0.0), points=[np.pi / 2, np.pi / 2 - 0.1, np.pi / 2 + 0.1], **options)
        expected = np.log(top) + middle - np.log(bottom[0])
        np.testing.assert_allclose(np.log(af.reductions.uniform_energy(d, beta=beta)), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("as_users_run")
def test_uniform_energy_at_the_ends():
    np.testing.assert_array_equal([float(af.reductions.uniform_energy(d, beta=0.0)) for d in (2, 3, 50)], 1.0)
    assert float(af.reductions.uniform_energy(3, beta=1e4)) == pytest.approx(-np.expm1(-2e4) / 2e4, rel=1e-12)
    assert np.isfinite(af.reductions.uniform_energy(2, beta=np.array([1e4, 1e6]))).all()
    with pytest.raises(InputError, match="diverges"):
        af.reductions.uniform_energy(3, beta=0.0, scale="E")
    with pytest.raises(InputError, match="unknown"):
        af.reductions.uniform_energy(3, beta=1.0, scale="E_B")


# Hemispheres ---------------------------------------------------------------------------------------------------------


def in_a_hemisphere(x):
    """Whether some v has <x_i, v> >= 1 for all i: a linear programme."""
    solution = linprog(np.zeros(x.shape[1]), A_ub=-x, b_ub=-np.ones(len(x)), bounds=(None, None))
    return solution.status == 0


def test_wendel_values():
    assert af.reductions.hemisphere_probability(6, 3) == 0.5
    assert (
        af.reductions.hemisphere_probability(4, 5)
        == af.reductions.hemisphere_probability(5, 5)
        == af.reductions.hemisphere_probability(1, 1)
        == 1.0
    )
    assert af.reductions.hemisphere_probability(3, 1) == 0.25  # three signs agree
    assert [af.reductions.hemisphere_probability(n, 2) for n in (3, 4, 7)] == [3 / 4, 4 / 8, 7 / 64]  # n / 2^{n-1}
    assert af.reductions.hemisphere_probability(2000, 1000) == 0.5  # 2^1999 alone is no float
    assert af.reductions.hemisphere_probability(100_000, 2) == 0.0
    with pytest.raises(InputError, match="at least 1"):
        af.reductions.hemisphere_probability(0, 3)


@pytest.mark.parametrize(("n", "d"), [(6, 3), (7, 4)])
def test_wendel_against_draws(n, d):
    rng = np.random.default_rng(n)
    hits = [in_a_hemisphere(rng.normal(size=(n, d))) for _ in range(400)]
    p = af.reductions.hemisphere_probability(n, d)
    assert np.mean(hits) == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / len(hits)))


# Long context --------------------------------------------------------------------------------------------------------


def test_A26_long_context():
    ours = af.reductions.long_context_cosine(0.5, np.array([1.0, 2.0, 3.0]), 1e6)
    np.testing.assert_allclose(ours, [1.0, 0.8, 0.5005], rtol=0, atol=1e-4)


def test_long_context_limits():
    for rho in (0.1, 0.3, 0.5, 0.9):
        critical = 1 / (1 - rho)
        c = np.array([0.0, 0.5 * critical, critical, 1.5 * critical])
        expected = [1.0, 1.0, 4 * rho / (1 + 3 * rho), rho]
        np.testing.assert_allclose(af.reductions.long_context_cosine(rho, c), expected, rtol=1e-14)
        np.testing.assert_allclose(af.reductions.long_context_cosine(rho, c, 1e200), expected, rtol=1e-12)


@pytest.mark.parametrize("rho", [0.2, 0.5, 0.8])
def test_long_context_against_tokens(rho):
    n = 200
    tokens = jnp.asarray(np.linalg.cholesky((1 - rho) * np.eye(n) + rho))
    for c in (0.0, 1.0, 2.0, 3.0):
        y = np.asarray(af.Softmax(beta=c * np.log(n))(tokens, tokens))
        y = y / np.linalg.norm(y, axis=1)[:, None]
        ours = float(af.reductions.long_context_cosine(rho, c, n))
        np.testing.assert_allclose((y @ y.T)[np.triu_indices(n, 1)], ours, rtol=0, atol=1e-12)


def test_long_context_refuses():
    for bad, message in (((1.0, 1.0), "rho"), ((0.5, -1.0), "c = -1"), ((0.5, 1.0, 1), "n = 1")):
        with pytest.raises(InputError, match=message):
            af.reductions.long_context_cosine(*bad)
