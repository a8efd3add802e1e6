"""Closed forms at the edge of what they can compute: long times, tiny and huge parameters, numbers that are none.

Witnesses: quadrature by SciPy, closed forms, limits, and definitions written out.
"""

import itertools
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.special import ive

import attnflow as af
from attnflow import reductions
from attnflow.errors import AttnflowWarning, InputError
from attnflow.spaces import is_concrete

c, h = af.reductions.causal, af.reductions.homogenized
LONG = [0.0, 1.0, 1e3, 1e10, 1e300, np.inf]


# Flows at long times -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["SA", "USA", "shifted USA", "beta-USA"])
def test_equiangular_tokens_at_any_time(kind):
    g = np.asarray(af.reductions.equiangular_flow(LONG, n=5, beta=3.0, clock=kind))
    assert np.all(np.diff(g) >= 0) and np.all(g <= 1) and np.all(g[2:] == 1)
    for rho0 in (1.0, -0.25):
        np.testing.assert_array_equal(af.reductions.equiangular_flow(LONG, n=5, beta=3.0, rho0=rho0, clock=kind), rho0)


def test_the_gap_falls_at_the_rate_of_the_linearised_equation():
    """SA at 1 - g: the rate is 2, and for beta = 0 there is a closed form, 1 - g = n/(e^2t + n - 1)."""
    gap = np.asarray(af.reductions.equiangular_flow([0.0, 40.0, 50.0, 300.0], n=5, beta=3.0, gap=True))
    assert gap[2] / gap[1] == pytest.approx(np.exp(-20.0), rel=1e-11)
    assert 0 < gap[3] < 1e-255
    ts = np.array([0.0, 0.3, 7.0, 100.0])
    np.testing.assert_allclose(
        af.reductions.equiangular_flow(ts, n=5, beta=0.0, gap=True), 5 / (np.exp(2 * ts) + 4), rtol=1e-12
    )


def test_two_clusters_at_any_time():
    u = np.asarray(af.reductions.two_cluster_flow(LONG, u0=2.0, weight=0.3, beta=3.0))
    assert np.all(np.diff(u) <= 0) and np.all(u >= 0) and np.all(u[2:] == 0)
    # beta = 30 merges at 4.0005e16: before, hardly anything has moved, afterwards they are one
    slow = np.asarray(af.reductions.two_cluster_flow([0.0, 1e16, 5e16, 1e20], u0=2.0, weight=0.3, beta=30.0))
    assert 1.8 < slow[1] < 2 and slow[2] == 0 and slow[3] == 0
    middle = af.reductions.two_cluster_time(30.0, u0=2.0, u1=float(slow[1]), weight=0.3)
    assert float(middle) == pytest.approx(1e16, rel=1e-10)


def test_the_flow_and_the_time_are_inverse():
    delta = np.array([0.9, 0.5, 1e-3, 1e-15])
    for beta in (0.5, 12.0):
        ts = af.reductions.phase_time(beta, n=7, delta=delta)
        gap = af.reductions.equiangular_flow(np.concatenate([[0.0], ts]), n=7, beta=beta, gap=True)[1:]
        np.testing.assert_allclose(gap, delta, rtol=1e-8)


def test_late_clocks_are_subtracted_before_they_are_rounded():
    with jax.enable_x64(False):
        late = np.asarray(af.reductions.equiangular_flow(np.array([1e8, 1e8 + 1]), n=3, beta=1.0))
        early = np.asarray(af.reductions.equiangular_flow(np.array([0.0, 1.0]), n=3, beta=1.0))
        assert late.dtype == np.float32
    np.testing.assert_array_equal(late, early)
    np.testing.assert_allclose(early, af.reductions.equiangular_flow([0.0, 1.0], n=3, beta=1.0), rtol=1e-5)


def differences(f, at, step=1e-6):
    return np.array([(f(*(at + e)) - f(*(at - e))) / (2 * step) for e in step * np.eye(len(at))])


def test_derivatives_of_flows_and_times():
    def angle(t, u0, p, beta):
        return af.reductions.two_cluster_flow(jnp.stack([jnp.zeros_like(t), t]), u0=u0, weight=p, beta=beta)[-1]

    def time(u0, u1, p, beta):
        return af.reductions.two_cluster_time(beta, u0=u0, u1=u1, weight=p)

    for f, at in ((angle, np.array([1.5, 2.0, 0.3, 3.0])), (time, np.array([2.0, 0.3, 0.3, 3.0]))):
        exact = np.array(jax.jit(jax.grad(f, tuple(range(4))))(*map(jnp.asarray, at)))
        np.testing.assert_allclose(exact, differences(lambda *a, f=f: float(f(*map(jnp.asarray, a))), at), rtol=1e-6)


# Times ---------------------------------------------------------------------------------------------------------------


def phase_witness(beta, n, delta):
    """The time in y = log((1 + (n-1)g)/(1-g)), in pieces."""
    ends = np.linspace(0, np.log1p((n - 1) * (1 - delta)) - np.log(delta), 40)
    rate = lambda y: (np.exp(beta * n / (np.exp(y) + n - 1)) + n - 1) / (2 * n)  # noqa: E731
    return sum(quad(rate, *pair, epsabs=0, epsrel=1e-13)[0] for pair in itertools.pairwise(ends))


def test_phase_time_at_tiny_deltas_and_close_to_one():
    cases = [(1.0, 3, 1e-15), (5.0, 32, 1e-300), (9.0, 128, 1 - 1e-12), (100.0, 5, 1e-3), (0.0, 7, 1e-15)]
    beta, n, delta = (np.array(a) for a in zip(*cases, strict=True))
    ours = af.reductions.phase_time(beta, n=n, delta=delta)
    np.testing.assert_allclose(ours, [phase_witness(*case) for case in cases], rtol=1e-12)


def test_logarithms_of_times():
    beta = np.array([0.0, 1.0, 20.0])
    np.testing.assert_allclose(
        af.reductions.phase_time(beta, n=5, log=True),
        np.log(af.reductions.phase_time(beta, n=5)),
        rtol=1e-13,
        atol=1e-14,
    )
    np.testing.assert_allclose(
        af.reductions.two_cluster_time(beta, u0=2.0, u1=0.1, weight=0.3, log=True),
        np.log(af.reductions.two_cluster_time(beta, u0=2.0, u1=0.1, weight=0.3)),
        rtol=1e-13,
    )
    # Where the time overflows: the expansion of merge_time, whose next relative term is of order beta^-2.
    cold = np.array([1e3, 1e4, 1e6])
    exact = np.asarray(af.reductions.two_cluster_time(cold, u0=2.0, u1=1e-3, weight=0.3, log=True))
    formula = np.asarray(af.reductions.merge_time(cold, u0=2.0, weights=(0.3, 0.7), order=2, log=True))
    np.testing.assert_array_less(np.abs(exact - formula), 20 / cold**2 + 1e-15 * exact)
    # From g = 0, n = 2: 1 - g falls with slope 1/2 in y, so the time is e^beta / (2 beta) (1 + O(1/beta)).
    log_time = np.asarray(af.reductions.phase_time(cold, n=2, log=True))
    np.testing.assert_allclose(log_time - cold, -np.log(2 * cold), atol=3e-3)
    with pytest.warns(AttnflowWarning, match=r"e\^992\.\d+ cannot be written in float64 .* log=True"):
        assert np.isinf(af.reductions.phase_time(1000.0, n=3))
    with pytest.warns(AttnflowWarning, match="log=True"):
        assert np.isinf(af.reductions.two_cluster_time(1000.0, u0=2.0, u1=0.1, weight=0.3))


def test_collapse_of_a_cap_by_scipy():
    beta, u0, far = 30.0, 0.2, 2.0
    integrand = lambda s: np.exp(beta * np.exp(-s)) / -np.expm1(-s)  # noqa: E731
    ends = np.linspace(-np.log1p(-u0), far * beta, 60)
    expected = sum(quad(integrand, *pair, epsabs=0, epsrel=1e-13)[0] for pair in itertools.pairwise(ends))
    assert float(reductions.collapse_time(beta, u0=u0, c=far)) == pytest.approx(expected, rel=1e-12)
    log = float(reductions.collapse_time(2000.0, u0=0.3, c=1.0, log=True))
    assert log < float(reductions.collapse_bound(2000.0, u0=0.3, c=1.0, log=True))
    # Laplace: the integrand falls like e^{-beta (1 - u0) z} from e^{beta (1 - u0)}/u0
    assert log == pytest.approx(1400 - np.log(0.3) - np.log(1400.0), abs=3e-3)


def test_merge_times_outside_their_expansion():
    with pytest.raises(InputError, match="beta = 0: the formula is that of a large beta"):
        af.reductions.merge_time(0.0, u0=2.0, weights=(0.5, 0.5))
    with pytest.raises(InputError, match="makes no time"):
        af.reductions.merge_time(1.0, u0=2.5, weights=(0.5, 0.5), order=2)
    light = af.reductions.merge_time(9.0, u0=2.0, weights=(1e-200, 1.0), log=True)  # q/p overflows
    np.testing.assert_allclose(
        light - af.reductions.merge_time(9.0, u0=2.0, weights=(1e-100, 1.0), log=True), -230.2585093, atol=1e-6
    )


# Eigenspaces ---------------------------------------------------------------------------------------------------------


def test_the_sign_of_an_eigenvector():
    for e in ([3.0, 1.0], [-3.0, 1.0], [1.0, -1.0], [1e-3, -1.0]):
        unit = np.array(e) / np.linalg.norm(e)
        space = af.reductions.dominant_eigenspace(np.outer(unit, unit))
        assert space.basis[np.argmax(np.abs(unit) > np.abs(unit).max() - 1e-9), 0] > 0
        np.testing.assert_allclose(np.abs(space.basis[:, 0]), np.abs(unit), atol=1e-12)
        np.testing.assert_allclose(space.left @ space.basis, np.eye(1), atol=1e-12)


def test_a_basis_of_an_eigenspace_depends_on_the_space_alone():
    rng = np.random.default_rng(3)
    Q = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    M = Q @ np.diag([2.0, 2.0, 1.0, -5.0]) @ Q.T
    space = af.reductions.dominant_eigenspace(M)
    for order in ([2, 0, 3, 1], [3, 2, 1, 0]):
        other = af.reductions.dominant_eigenspace(M[np.ix_(order, order)])
        np.testing.assert_allclose(other.basis, space.basis[order], atol=1e-12)
    oblique = np.linalg.inv(A := rng.normal(size=(3, 3))) @ np.diag([2.0, 2.0, 1.0]) @ A
    result = af.reductions.dominant_eigenspace(oblique)
    np.testing.assert_allclose(result.left @ result.basis, np.eye(2), atol=1e-10)
    np.testing.assert_allclose(oblique @ result.basis, 2 * result.basis, atol=1e-9)
    np.testing.assert_allclose(result.projector @ result.projector, result.projector, atol=1e-9)


def test_clusters_that_attend_to_their_opposites_are_warned_of():
    with pytest.warns(AttnflowWarning, match=r"least e\^T B e .* is -1, not positive"):
        report = af.reductions.check_low_temperature_assumptions(V=-np.diag([3.0, 1.0]), B=-np.diag([1.0, 2.0]))
    assert report.ok and report.attends_itself == pytest.approx(-1) and len(report.limits) == 1
    with pytest.warns(AttnflowWarning, match="not positive"):  # B turns by more than a right angle
        turn = np.array([[np.cos(2.0), -np.sin(2.0)], [np.sin(2.0), np.cos(2.0)]])
        af.reductions.check_low_temperature_assumptions(V=np.diag([2.0, 1.0]) @ turn, B=turn)
    fine = af.reductions.check_low_temperature_assumptions(V=np.diag([1.0, 2.0]), B=np.diag([3.0, 1.0]))
    assert fine.limits == ()


# Counts --------------------------------------------------------------------------------------------------------------


def test_parking_on_a_short_circle():
    """One center at delta = pi, two down to 2 pi/3, and M(x) = 3 - 2/(x - 1) on [2, 3] with x = L - 1 by hand."""
    assert af.reductions.parking_count(np.pi) == 1
    assert af.reductions.parking_count(3.0) == 2 and af.reductions.parking_count(2.1) == 2
    for L in (3.2, 3.9):
        assert af.reductions.parking_count(2 * np.pi / L) == pytest.approx(1 + 3 - 2 / (L - 2), rel=1e-13)
    rng = np.random.default_rng(0)

    def park(x):
        if x <= 1:
            return 0
        a = rng.uniform(0, x - 1)
        return 1 + park(a) + park(x - 1 - a)

    for L in (4.4, 7.3):
        counts = [1 + park(L - 1) for _ in range(4000)]
        spread = np.std(counts) / np.sqrt(len(counts))
        assert abs(af.reductions.parking_count(2 * np.pi / L) - np.mean(counts)) < 4 * spread
    below, above = (af.reductions.parking_count(2 * np.pi / L) for L in (17 - 1e-9, 17 + 1e-9))
    assert above - below == pytest.approx(2e-9 * 0.7475979, abs=1e-12)


def test_growth_at_high_degree_and_in_mixed_company():
    """Rates where Bessel functions underflow, by their recurrence; and one beta does not spoil another."""
    assert np.asarray(af.reductions.fastest_mode([0.0, 1e-300, 1e4, 100.0])).tolist() == [1, 1, 141, 14]
    k, beta = 3600, 1e4
    low, here, high = (
        float(r) / d**2
        for r, d in zip(af.reductions.growth_rate([k - 1, k, k + 1], beta=beta), (k - 1, k, k + 1), strict=True)
    )
    assert low - high == pytest.approx(2 * k / beta * here, rel=1e-8)  # I_{k-1} - I_{k+1} = 2k/beta I_k
    assert float(af.reductions.growth_rate(2, beta=1e-300)) == pytest.approx(5e-301, rel=1e-12)
    np.testing.assert_allclose(af.reductions.uniform_mean([1e10, 1e15], d=2), 1, rtol=1e-9)
    np.testing.assert_allclose(af.reductions.uniform_energy(3, beta=[1e10, 1e300]), [5e-11, 5e-301], rtol=1e-12)


def test_modes_on_the_circle_at_any_temperature():
    beta = 5e5
    k = np.arange(1, 10_000)
    weight = ive(k, beta) ** 2
    expected = np.sqrt(np.sum(k**4.0 * weight) / np.sum(k**2.0 * weight))
    ours = np.asarray(af.reductions.expected_modes_circle([1e-300, beta, 1.0001e6, 1e12]))
    np.testing.assert_allclose(ours[:2], [1, expected], rtol=1e-12)
    np.testing.assert_allclose(ours[2:] / np.sqrt(1.5 * np.array([1.0001e6, 1e12])), [1 - 1 / 24.0024e6, 1], rtol=1e-11)


def test_hemispheres_of_many_tokens():
    assert af.reductions.hemisphere_probability(10**14, 5 * 10**13) == pytest.approx(0.5, abs=1e-7)
    exact, beyond = (af.reductions.hemisphere_probability(n, 990) for n in (2000, 2001))
    # P(n+1) = P(n) - C(n-1, d-1) 2^-n (Wendel's recurrence)
    log_choose = sum(np.log((1999 - i) / (i + 1)) for i in range(989))
    assert beyond == pytest.approx(exact - np.exp(log_choose - 2000 * np.log(2)), rel=1e-10)


# Causal --------------------------------------------------------------------------------------------------------------


def test_shapes_do_not_overflow():
    """A t beyond the critical time and slope at most moderate: decreasing; before it: one minimum; flat only at 0."""
    for t, beta, slope in ((1e300, 1.0, 1.0), (1e300, 500.0, 1.0), (1e308, 690.0, 1.0), (1.0, 600.0, 5.0)):
        assert t > c.critical_time(beta=beta, context_slope=slope)
        assert c.profile_shape(t, beta=beta, context_slope=slope) == "decreasing"
    for t, beta, slope in (
        (1e-300, 1.0, 1.0),
        (1e-320, 1.0, 1.0),
        (1.0, 1e-300, 1.0),
        (1.0, 1.0, 1e300),
        (1.0, 1.0, 1e4),
    ):
        assert t < c.critical_time(beta=beta, context_slope=slope)
        assert c.profile_shape(t, beta=beta, context_slope=slope) == "one minimum"
    assert c.profile_shape(1.0, beta=1.0, context_slope=1.0, classes=[0.01, 8.0]).tolist() == ["one minimum"] * 2
    assert (
        c.profile_shape(0.0, beta=1.0, context_slope=1.0) == "other"
        and c.profile_shape(1.0, beta=0.0, context_slope=1.0) == "other"
    )
    with pytest.raises(InputError, match="beyond double precision"):
        c.profile_shape(1.0, beta=800.0, context_slope=1.0)
    with pytest.warns(AttnflowWarning, match="before s = 1e-300"):
        assert np.isnan(c.profile_minimum(1e-305, beta=1.0, context_slope=1.0).s)


@pytest.mark.parametrize("normalize", ["positional", "softmax"])
def test_a_prompt_longer_than_the_model(normalize):
    model, x = af.models.causal_model(4, normalize=normalize), af.sphere.on_circle(np.linspace(0, 3, 16))
    calls = [
        lambda: af.models.field(model, 0.0, x),
        lambda: af.simulate(model, x, t1=0.1),
        lambda: jax.jit(lambda y: af.models.field(model, 0.0, y))(x),
        lambda: af.ensemble(
            model,
            lambda key: x,
            realizations=2,
            ts=[0.0, 0.1],
            reduce=af.flows.LastState(),
            key=jax.random.key(0),
            dt=0.1,
        ),
    ]
    for call in calls:
        with pytest.raises(InputError, match="at most 4 tokens, and there are 16"):
            call()
    assert af.models.field(model, 0.0, x[:4]).shape == (4, 2) and af.models.field(model, 0.0, x[:3]).shape == (3, 2)


def test_equal_time_estimates(key):
    """Two estimators with one mean; at N = 24 corrections of order 1/N to the limit remain."""
    arguments = {"n": 24, "t": 0.5, "beta": 1.0, "context_slope": 1.0, "modes": 2, "replicas": 8000, "equal_time": True}
    response = c.estimate_correlations(key, **arguments)
    direct = c.estimate_correlations(jax.random.key(1), method="direct", **arguments)
    assert response.equal_time and not c.Correlations(response.batches, response.together).equal_time
    a, e = response.average()
    b, f = direct.average()
    assert np.all(np.abs(a - b) < 4 * np.hypot(e, f)) and np.all(e < f / 2)
    w = np.asarray(af.pairsums.weight_matrix(af.Causal(strict=True, slope=1 / 24, normalized=True), 24))
    theory = c.equal_time_matrix(0.5, c.rates(1.0, 2), w)[:, :-1].mean(axis=1)
    np.testing.assert_allclose(a, theory, rtol=0.15)
    two_times = c.two_time_matrix(0.5, c.rates(1.0, 2), w)[:, :-1].mean(axis=1)
    assert np.all(np.abs(a - two_times) > 5 * e)  # it is the other correlation
    with pytest.raises(InputError, match="sources at time 0"):
        response.profile()


# Circle --------------------------------------------------------------------------------------------------------------


def test_points_from_angles():
    theta = np.array([[0.0, 1.0, -2.0]])
    np.testing.assert_allclose(
        af.sphere.on_circle(theta), np.stack([np.cos(theta), np.sin(theta)], axis=-1), rtol=1e-15
    )
    np.testing.assert_allclose(jax.jacfwd(af.sphere.on_circle)(1.0), [-np.sin(1.0), np.cos(1.0)], rtol=1e-15)
    for bad in (np.nan, "1", True, [[1.0], [1.0, 2.0]]):
        with pytest.raises(InputError, match="angles"):
            af.sphere.on_circle(bad)


def test_refined_nodes():
    at = np.array([0.4, 2.0, 4.0])
    x, w = (
        np.asarray(a) for a in af.sphere.circle_nodes(1200, density=lambda t: 1 + 0.5 * np.cos(t), at=at, finest=1e-9)
    )
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1, rtol=1e-14)
    assert w.sum() == pytest.approx(1) and w.min() > 0
    # Means of a smooth function: cos has the mean 1/4, sin the mean 0
    np.testing.assert_allclose(w @ x, [0.25, 0.0], atol=1e-4)
    for angle in at:
        across = -np.sin(angle) * x[:, 0] + np.cos(angle) * x[:, 1]
        near = np.abs(across[x @ [np.cos(angle), np.sin(angle)] > 0])
        assert np.sort(near)[:2] == pytest.approx(1e-9, rel=1e-6)
    # At right angles the offsets keep all digits.
    small = np.asarray(af.sphere.circle_nodes(64, finest=1e-200)[0])
    assert np.abs(small[:, 0]).min() == pytest.approx(1e-200, rel=1e-12)
    for change in (
        {"n": 50},
        {"at": [1.0, 1.0]},
        {"finest": 0.0},
        {"finest": np.nan},
        {"density": 1.0},
        {"density": np.sin},
    ):
        with pytest.raises(InputError):
            af.sphere.circle_nodes(**{"n": 64, **change})


# Numbers that are none -----------------------------------------------------------------------------------------------

X, D, B = np.asarray(af.sphere.on_circle([0.3, 1.0, 2.0])), np.diag([1.0, 2.0]), np.diag([3.0, 1.0])
STRICT = np.tri(4, k=-1)
VALID = {
    "belt": (af.reductions.belt, {"n": 100, "beta": 9.0}),
    "belt_modes": (af.reductions.belt_modes, {"n": 100, "beta": 9.0}),
    "cap_measure": (af.reductions.cap_measure, {"delta": 0.5, "d": 3}),
    "expected_strong_centers": (af.reductions.expected_strong_centers, {"n": 10, "delta": 0.5, "d": 3}),
    "parking_count": (af.reductions.parking_count, {"delta": 0.5}),
    "strong_center_speed": (af.reductions.strong_center_speed, {"j": [1.0, 2.0], "beta": 1.0, "delta": 0.5}),
    "expected_modes_circle": (af.reductions.expected_modes_circle, {"beta": 9.0}),
    "expected_modes_line": (af.reductions.expected_modes_line, {"n": 100, "beta": 9.0, "up_to": 1.0}),
    "fastest_mode": (af.reductions.fastest_mode, {"beta": 9.0, "d": 3}),
    "growth_rate": (af.reductions.growth_rate, {"k": 2, "beta": 9.0, "d": 3}),
    "hemisphere_probability": (af.reductions.hemisphere_probability, {"n": 6, "d": 3}),
    "kac_rice_density": (af.reductions.kac_rice_density, {"t": 0.5, "n": 100, "beta": 9.0}),
    "light_token": (af.reductions.light_token, {"c0": 0.2, "ts": [0.0, 1.0]}),
    "long_context_cosine": (af.reductions.long_context_cosine, {"rho": 0.5, "c": 1.0, "n": 100.0}),
    "merge_time": (
        af.reductions.merge_time,
        {"beta": 9.0, "u0": 2.0, "weights": (0.3, 0.7), "clock": "SA", "order": 1},
    ),
    "plateau_height": (af.reductions.plateau_height, {"weights": [0.5, 0.5]}),
    "two_cluster_flow": (
        af.reductions.two_cluster_flow,
        {"u0": 1.0, "weight": 0.3, "beta": 2.0, "ts": [0.0, 1.0], "clock": "SA"},
    ),
    "two_cluster_time": (
        af.reductions.two_cluster_time,
        {"beta": 2.0, "u0": 1.0, "u1": 0.5, "weight": 0.3, "clock": "SA"},
    ),
    "equiangular_flow": (
        af.reductions.equiangular_flow,
        {"n": 3, "beta": 2.0, "rho0": 0.1, "ts": [0.0, 1.0], "clock": "SA"},
    ),
    "phase_time": (af.reductions.phase_time, {"beta": 2.0, "n": 3, "delta": 0.1, "clock": "SA"}),
    "uniform_energy": (af.reductions.uniform_energy, {"d": 3, "beta": 2.0, "scale": "E"}),
    "uniform_mean": (af.reductions.uniform_mean, {"kappa": 2.0, "d": 3}),
    "antipodal_pair_rate": (
        af.reductions.antipodal_pair_rate,
        {"c": [1.0, 0.0], "V": D, "B": B, "beta": 2.0, "weights": [0.3, 0.7]},
    ),
    "cluster_rates": (af.reductions.cluster_rates, {"V": D, "B": B}),
    "low_temperature_rates": (af.reductions.low_temperature_rates, {"V": D, "B": B, "p": 2}),
    "check_low_temperature_assumptions": (af.reductions.check_low_temperature_assumptions, {"V": D, "B": B}),
    "dominant_eigenspace": (af.reductions.dominant_eigenspace, {"M": D, "tol": 1e-7}),
    "projection_map": (af.reductions.projection_map, {"x": X, "V": D, "B": B}),
    "zero_temperature_field": (af.reductions.zero_temperature_field, {"x": X, "V": D, "B": B}),
    "zero_temperature_flow": (af.reductions.zero_temperature_flow, {"x0": X, "ts": [0.0, 1.0], "V": D, "B": B}),
    "zero_temperature_matrix": (af.reductions.zero_temperature_matrix, {"V": D, "B": B}),
    "causal.psi": (c.psi, {"c": 1.0, "y": 1.0}),
    "causal.two_time": (c.two_time, {"t": 1.0, "s": 0.5, "a": 1.0, "context_slope": 1.0, "target": 1.0}),
    "causal.equal_time": (c.equal_time, {"t": 1.0, "s": 0.5, "a": 1.0, "context_slope": 1.0, "target": 1.0}),
    "causal.two_time_matrix": (c.two_time_matrix, {"t": 1.0, "a": 1.0, "weights": STRICT, "target": -1}),
    "causal.bin_means": (c.bin_means, {"values": np.arange(4.0), "edges": [0, 2, 4]}),
    "causal.rates": (c.rates, {"beta": 1.0, "modes": 2, "d": 3}),
    "causal.zonal": (c.zonal, {"u": 0.5, "modes": 2, "d": 3}),
    "causal.critical_time": (c.critical_time, {"beta": 1.0, "context_slope": 1.0, "classes": 8, "modes": 3}),
    "causal.retrieval_profile": (
        c.retrieval_profile,
        {"s": 0.5, "t": 1.0, "beta": 1.0, "context_slope": 1.0, "classes": 8},
    ),
    "causal.profile_shape": (c.profile_shape, {"t": 1.0, "beta": 1.0, "context_slope": 1.0, "classes": 8}),
    "homogenized.collapse_exponent": (h.collapse_exponent, {"d": 3, "sigma_V": 1.0}),
    "homogenized.antipodal_exponent": (h.antipodal_exponent, {"d": 3, "beta": 1.0, "sigma_V": 1.0}),
    "uniform": (af.sphere.uniform, {"n": 3, "d": 2, "key": jax.random.key(0)}),
    "weyl": (af.sphere.weyl, {"n": 3, "d": 2}),
    "orthonormal": (af.sphere.orthonormal, {"n": 2, "d": 2}),
    "gaussian": (af.euclidean.gaussian, {"n": 2, "d": 2, "key": jax.random.key(0)}),
    "Softmax": (af.Softmax, {"beta": 1.0, "V": D, "B": D}),
    "Unnormalized": (af.Unnormalized, {"beta": 1.0, "V": D}),
    "L2": (af.L2, {"g": 1.0, "V": D}),
    "Linear": (af.Linear, {"beta": 1.0, "V": D}),
    "Hardmax": (af.Hardmax, {"tol": 0.1, "V": D}),
    "Sigmoid": (af.Sigmoid, {"beta": 1.0, "bias": 1.0}),
    "Sinkhorn": (af.Sinkhorn, {"beta": 1.0, "half_steps": 3, "tol": 1e-3, "max_iterations": 10}),
    "MultiHead.split": (af.MultiHead.split, {"H": 1, "Q": D, "K": D, "V": D}),
    "NormalizedAttention": (
        lambda **options: af.models.NormalizedAttention(af.Softmax(1.0), "ngpt", **options),
        {"alpha": 1.0},
    ),
    "HardmaxLayers": (af.HardmaxLayers, {"alpha": 0.5, "B": D, "tie_tol": 1e-13}),
    "RandomLayers": (af.RandomLayers, {"beta": 1.0, "heads": 1, "eta": 0.1, "sigma_V": 1.0}),
    "HomogenizedSDE": (af.HomogenizedSDE, {"beta": 1.0, "step": 0.1, "samples": 4}),
    "Piecewise": (af.Piecewise, {"jumps": [1.0], "values": [1.0, 2.0]}),
    "causal_model": (af.models.causal_model, {"n": 4, "beta": 1.0, "slope": 1.0}),
}
NONE = {
    "NaN": np.nan,
    "text": "1",
    "words": ["a", "b"],
    "True": True,
    "object": object(),
    "complex": 1j,
    "ragged": [[1.0], [1.0, 2.0]],
    "dict": {},
    "more than a float": 10**400,
}
INFINITE_IS_A_LIMIT = {("light_token", "ts"), ("equiangular_flow", "ts"), ("two_cluster_flow", "ts")}


@pytest.mark.usefixtures("as_users_run")
@pytest.mark.parametrize("name", VALID)
def test_arguments_that_are_not_numbers_are_refused(name):
    call, arguments = VALID[name]
    call(**arguments)
    for argument, value in arguments.items():
        bad = dict(NONE)
        if argument == "weights":
            del bad["ragged"]  # two weights may be two arrays
        if (name, argument) not in INFINITE_IS_A_LIMIT:
            bad["infinite"] = np.inf
        if isinstance(value, list | np.ndarray) and np.asarray(value).dtype.kind == "f":
            entries = np.array(value)
            entries.flat[-1] = np.nan
            bad["a NaN entry"] = entries
        for label, wrong in bad.items():
            with pytest.raises(InputError) as caught, warnings.catch_warnings():
                warnings.simplefilter("ignore")
                call(**{**arguments, argument: wrong})
                pytest.fail(f"{name}({argument}={label}) was accepted")
            assert str(caught.value).endswith(".") and "\n" not in str(caught.value), str(caught.value)


def test_shapes_that_do_not_fit():
    two, three = np.full(2, 0.5), np.full(3, 0.5)
    calls = [
        lambda: af.reductions.two_cluster_time(two, u0=three, u1=0.1, weight=0.3),
        lambda: af.reductions.phase_time(two, n=3, delta=three),
        lambda: af.reductions.merge_time(two, u0=three, weights=(0.5, 0.5)),
        lambda: af.reductions.light_token(two, three),
        lambda: af.reductions.long_context_cosine(two, three),
        lambda: af.reductions.growth_rate([1, 2], beta=three),
        lambda: af.reductions.belt(n=[10, 20], beta=three),
        lambda: af.reductions.two_cluster_flow([0.0, 1.0], u0=two, weight=0.3, beta=1.0),
        lambda: af.reductions.equiangular_flow(1.0, n=3, beta=1.0),
        lambda: af.reductions.equiangular_flow([], n=3, beta=1.0),
        lambda: af.reductions.equiangular_flow([1.0, 0.0], n=3, beta=1.0),
        lambda: af.reductions.plateau_height([]),
    ]
    for call in calls:
        with pytest.raises(InputError):
            call()


def test_a_number_that_only_double_precision_writes():
    with jax.enable_x64(False), pytest.raises(InputError, match=r"u1 = 1e-300 cannot be written in float32"):
        af.reductions.two_cluster_time(1.0, u0=1.0, u1=1e-300, weight=0.5)
    with jax.enable_x64(False):
        tiny = float(af.reductions.phase_time(1.0, n=3, delta=1e-300))
    assert tiny == pytest.approx(phase_witness(1.0, 3, 1e-300), rel=1e-6)


def test_inside_a_transformation_nothing_is_looked_at():
    actual = jax.jit(lambda beta, n, delta: af.reductions.phase_time(beta, n=n, delta=delta))(2.0, 5, 0.01)
    assert is_concrete(actual)
    assert float(actual) == pytest.approx(float(af.reductions.phase_time(2.0, n=5, delta=0.01)), rel=1e-14)
    solved = solve_ivp(
        lambda t, g: np.asarray(reductions.equiangular_rate(g, n=5, beta=2.0)), (0, 1), [0.0], rtol=1e-10, atol=1e-12
    )
    each = jax.vmap(lambda n: af.reductions.equiangular_flow(jnp.array([0.0, 1.0]), n=n, beta=2.0)[-1])(
        jnp.array([3, 5])
    )
    assert float(each[1]) == pytest.approx(solved.y[0, -1], rel=1e-8)
