"""The acceptance table of theory/01-sphere.md, section 6: one test per row, with the row's own numbers and tolerance.

Runs share their shapes (6 tokens in dimension 3, 41 times; equiangular ones 5 times), and with them their programs.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import gamma, iv

import attnflow as af
from attnflow.reductions import equiangular_rate
from witness import energy, flow, rotation, velocity, weyl
from witness import equiangular_rate as rate

TIMES = np.linspace(0.0, 5.0, 41)
ROWS = [0, 8, 40]  # t = 0, 1, 5
W6 = np.arange(1, 7) / 21


velocity_of = eqx.filter_jit(af.models.field)


def around(*times, h=1e-3):
    """41 times, among them each of `times` with a neighbour at distance h on both sides; and where these stand."""
    stencils = np.array([[t - h, t, t + h] for t in times])
    others = np.linspace(0, stencils.max() - h / 3, 41 - stencils.size)
    ts = np.union1d(stencils, others)
    assert ts.size == 41
    return ts, np.searchsorted(ts, stencils)


def usa(beta, **options):
    return af.SelfAttention(af.Unnormalized(beta=beta, **options))


@pytest.fixture(scope="module")
def sa_run():
    return af.simulate(af.SelfAttention(beta=2.0), weyl(6, 3), ts=TIMES, weights=W6)


@pytest.fixture(scope="module")
def usa_run():
    return af.simulate(usa(2.0), weyl(6, 3), ts=TIMES, weights=W6)


def test_helper_data():
    np.testing.assert_allclose(weyl(6, 3)[0], (-0.85387859, 0.50894993, -0.1089097), atol=1e-8)
    np.testing.assert_allclose(af.sphere.weyl(n=7, d=4), weyl(7, 4), atol=1e-12)


def test_A1_energy_along_SA(sa_run):
    expected = [0.802696103942, 0.969008478720, 1.842609119621]
    np.testing.assert_allclose(af.energy(sa_run, scale="E")[np.array(ROWS)], expected, rtol=0, atol=1e-9)


def test_A2_energy_along_USA(usa_run):
    expected = [0.802696103942, 1.654878443703, 1.847264024733]
    np.testing.assert_allclose(af.energy(usa_run, scale="E")[np.array(ROWS)], expected, rtol=0, atol=1e-9)


def test_A3_a_token_at_time_one(sa_run, usa_run):
    np.testing.assert_allclose(sa_run.xs[8, 0], (-0.98267538, 0.01486574, -0.18473797), rtol=0, atol=1e-7)
    np.testing.assert_allclose(usa_run.xs[8, 0], (-0.52784854, -0.64518482, -0.55236986), rtol=0, atol=1e-7)


def test_whole_trajectories_against_scipy(sa_run, usa_run):
    """More than the rows ask: every token at every time, from an integrator of another family and a NumPy field."""
    np.testing.assert_allclose(sa_run.xs, flow(weyl(6, 3), TIMES, W6, 2.0), rtol=0, atol=1e-8)
    np.testing.assert_allclose(usa_run.xs, flow(weyl(6, 3), TIMES, W6, 2.0, normalised=False), rtol=0, atol=1e-8)


def test_energy_scales(sa_run):
    """Section 0: E, E_p = e^-beta E, Ehat = 2 beta e^-beta E, against the double loop."""
    expected = np.array([energy(np.asarray(x), W6, 2.0) for x in sa_run.xs])
    np.testing.assert_allclose(af.energy(sa_run, scale="E"), expected, rtol=1e-12)
    np.testing.assert_allclose(af.energy(sa_run, scale="E_p"), np.exp(-2.0) * expected, rtol=1e-12)
    np.testing.assert_allclose(af.energy(sa_run), 4 * np.exp(-2.0) * expected, rtol=1e-12)


A4_B = np.array([[np.cos(k + m) for m in range(1, 5)] for k in range(1, 5)])


@pytest.mark.parametrize(
    "sign, expected",
    [(1.0, (0.6538045345, 1.8735069091, 3.1442563683)), (-1.0, (0.6538045345, 0.2506160531, 0.0147096453))],
)
def test_A4_energy_for_general_B(sign, expected):
    model = af.SelfAttention(af.Softmax(beta=1.5, B=A4_B, V=sign * A4_B))
    run = af.simulate(model, weyl(10, 4), ts=[0.0, 1.0, 4.0])
    np.testing.assert_allclose(af.energy(run, scale="E_B"), expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(af.energy(run), expected, rtol=0, atol=1e-8)
    assert af.diagnostics.is_gradient_flow(model, 4)
    np.testing.assert_array_equal(np.sign(af.diagnostics.dissipation(run)), np.full(3, sign))


def test_A5_dissipation():
    """dE/dt = sum_i w_i Z_i |v_i|^2: the right-hand side by a NumPy loop, the left by central differences."""
    ts, at = around(0.5, 2.0)
    run = af.simulate(af.SelfAttention(beta=2.0), weyl(6, 3), ts=ts, weights=W6, rtol=1e-11, atol=1e-13)
    e = np.asarray(af.energy(run, scale="E"))
    slopes = (e[at[:, 2]] - e[at[:, 0]]) / 2e-3
    states = [np.asarray(run.xs[k]) for k in at[:, 1]]
    z = [[np.sum(W6 * np.exp(2.0 * x @ xi)) for xi in x] for x in states]
    law = [np.sum(W6 * zi * np.sum(velocity(x, W6, 2.0) ** 2, axis=1)) for x, zi in zip(states, z, strict=True)]
    np.testing.assert_allclose(law, (0.1611028, 0.3968346), rtol=1e-6)
    np.testing.assert_allclose(slopes, law, rtol=1e-4)
    np.testing.assert_allclose(np.asarray(af.diagnostics.dissipation(run, scale="E"))[at[:, 1]], law, rtol=1e-7)
    rescaled = 4 * np.exp(-2.0) * np.array(law)  # the default scale
    np.testing.assert_allclose(np.asarray(af.diagnostics.dissipation(run))[at[:, 1]], rescaled, rtol=1e-7)


def test_A5_energy_never_falls(sa_run, usa_run):
    for run in (sa_run, usa_run):
        assert np.diff(af.energy(run, scale="E")).min() >= -1e-12


def test_A5_unnormalised_law():
    """For USA the metric is plain, dE/dt = sum_i w_i |v_i|^2; on the shifted clock everything is slower by e^beta."""
    ts, [[before, now, after]] = around(0.3)
    fast = af.simulate(usa(2.0), weyl(6, 3), ts=ts, weights=W6)
    x = np.asarray(fast.xs[now])
    law = np.sum(W6 * np.sum(velocity(x, W6, 2.0, normalised=False) ** 2, axis=1))
    e = np.asarray(af.energy(fast, scale="E"))
    np.testing.assert_allclose((e[after] - e[before]) / 2e-3, law, rtol=1e-4)
    np.testing.assert_allclose(af.diagnostics.dissipation(fast, scale="E")[now], law, rtol=1e-10)
    slow = af.simulate(usa(2.0, shifted=True), weyl(6, 3), ts=ts * np.exp(2.0), weights=W6)
    np.testing.assert_allclose(slow.xs, fast.xs, rtol=0, atol=1e-8)
    np.testing.assert_allclose(af.diagnostics.dissipation(slow, scale="E")[now], law * np.exp(-2.0), rtol=1e-7)


def test_A6_splitting_a_weight(sa_run):
    """A token of weight w against two of w/2; for USA, where they stand already, w and 0 against w/2 and w/2."""
    options = {"ts": TIMES, "rtol": 1e-11, "atol": 1e-13}
    x = np.vstack([weyl(6, 3), weyl(6, 3)[2]])
    w = np.append(W6, W6[2] / 2)
    w[2] /= 2
    split = af.simulate(af.SelfAttention(beta=2.0), x, weights=w, **options)
    whole = af.simulate(af.SelfAttention(beta=2.0), weyl(6, 3), weights=W6, **options)
    np.testing.assert_allclose(split.xs[:, 2], split.xs[:, 6], rtol=0, atol=1e-14)  # coincident tokens stay so
    np.testing.assert_allclose(split.xs[:, :6], whole.xs, rtol=0, atol=1e-10)
    np.testing.assert_allclose(whole.xs, sa_run.xs, rtol=0, atol=1e-8)
    pair = weyl(6, 3)
    pair[5] = pair[4]
    shared = af.simulate(usa(2.0), pair, weights=[0.1, 0.2, 0.1, 0.2, 0.2, 0.2], **options)
    alone = af.simulate(usa(2.0), pair, weights=[0.1, 0.2, 0.1, 0.2, 0.4, 0.0], **options)
    np.testing.assert_allclose(shared.xs, alone.xs, rtol=0, atol=1e-10)


def test_A7_equivariance_and_unit_norm(sa_run):
    """Rotation, permutation and the norm; tolerances tighter than 1e-10 so that the solver's error does not count."""
    model, options = af.SelfAttention(beta=2.0), {"ts": TIMES, "rtol": 1e-11, "atol": 1e-13}
    plain = af.simulate(model, weyl(6, 3), weights=W6, **options)
    turn, order = rotation(3), np.array([3, 0, 5, 1, 4, 2])
    turned = af.simulate(model, weyl(6, 3) @ turn.T, weights=W6, **options)
    np.testing.assert_allclose(turned.xs, np.asarray(plain.xs) @ turn.T, rtol=0, atol=1e-10)
    shuffled = af.simulate(model, weyl(6, 3)[order], weights=W6[order], **options)
    np.testing.assert_allclose(shuffled.xs, np.asarray(plain.xs)[:, order], rtol=0, atol=1e-10)
    for run in (sa_run, plain, turned, shuffled):
        np.testing.assert_allclose(np.linalg.norm(run.xs, axis=-1), 1.0, rtol=0, atol=1e-10)
    assert np.abs(np.asarray(plain.xs[8]) - np.asarray(plain.xs[8])[order]).max() > 0.1  # the test sees the order


@pytest.mark.parametrize("n, final", [(5, 0.2939541119), (32, 0.3231908732)])
@pytest.mark.parametrize("kind", ["SA", "USA"])
def test_A8_equiangular(n, final, kind):
    """Particles from the orthonormal start, our reduced equation, and SciPy's solution of the printed equation."""
    ts = np.linspace(0, 2, 5)
    model = af.SelfAttention(beta=3.0) if kind == "SA" else usa(3.0)
    run = af.simulate(model, af.sphere.orthonormal(n=n, d=n), ts=ts)
    gram = np.einsum("tid,tjd->tij", run.xs, run.xs)
    pairs = gram[:, ~np.eye(n, dtype=bool)]
    witness = solve_ivp(lambda t, g: rate(g, n, 3.0, kind), (0, 2), [0.0], "DOP853", ts, rtol=1e-12, atol=1e-13).y[0]
    np.testing.assert_allclose(pairs, np.broadcast_to(witness[:, None], pairs.shape), rtol=0, atol=1e-8)
    np.testing.assert_allclose(
        af.reductions.equiangular_flow(ts, n=n, beta=3.0, clock=kind), witness, rtol=0, atol=1e-10
    )
    if kind == "SA":
        np.testing.assert_allclose(pairs[-1], final, rtol=0, atol=1e-8)


A9_TABLE = {
    32: (5.186261, 5.270284, 5.458394, 5.897609, 6.953502, 9.544329, 15.995314, 32.233105, 73.445676, 178.73093),
    128: (5.879396, 5.909020, 5.978673, 6.148087, 6.569550, 7.634246, 10.353018, 17.350424, 35.467473, 82.593358),
}


@pytest.mark.parametrize("n", A9_TABLE)
def test_A9_phase_curve(n):
    np.testing.assert_allclose(af.reductions.phase_time(np.arange(10.0), n=n), A9_TABLE[n], rtol=0, atol=1e-5)
    at_zero = 0.5 * np.log((1 + (n - 1) * (1 - 1e-3)) / 1e-3)
    np.testing.assert_allclose(af.reductions.phase_time(0.0, n=n), at_zero, rtol=1e-12)


@pytest.mark.parametrize("n, beta, delta, kind", [(32, 5.0, 1e-3, "SA"), (7, 2.5, 0.2, "SA"), (6, 2.0, 1e-2, "USA")])
def test_A9_against_an_event_of_an_integrator(n, beta, delta, kind):
    def reached(t, g):
        return g[0] - (1 - delta)

    reached.terminal = True
    solution = solve_ivp(
        lambda t, g: rate(g, n, beta, kind), (0, 100), [0.0], "DOP853", events=reached, rtol=1e-12, atol=1e-14
    )
    np.testing.assert_allclose(
        af.reductions.phase_time(beta, n=n, delta=delta, clock=kind), solution.t_events[0][0], rtol=1e-8
    )


def test_equiangular_closed_forms_at_beta_zero():
    """2.3: beta = 0 gives g = (e^2t - 1)/(e^2t + n - 1), for n = 2 tanh t; -1/(n-1) and 1 are fixed."""
    ts = np.linspace(0, 3, 5)
    for n in (2, 5):
        expected = (np.exp(2 * ts) - 1) / (np.exp(2 * ts) + n - 1)
        np.testing.assert_allclose(af.reductions.equiangular_flow(ts, n=n, beta=0.0), expected, rtol=0, atol=1e-10)
        np.testing.assert_allclose(
            af.reductions.equiangular_flow(ts, n=n, beta=0.0, clock="USA"), expected, rtol=0, atol=1e-10
        )
    np.testing.assert_allclose(af.reductions.equiangular_flow(ts, n=2, beta=0.0), np.tanh(ts), rtol=0, atol=1e-10)
    for n, beta, kind in ((2, 0.0, "SA"), (5, 3.0, "USA"), (32, 7.0, "shifted USA")):
        g = np.linspace(-1 / (n - 1), 1, 9)
        ours = equiangular_rate(g, n=n, beta=beta, clock=kind)
        np.testing.assert_allclose(ours, rate(g, n, beta, kind), rtol=1e-12, atol=1e-14)
        assert abs(ours[0]) < 1e-15 and ours[-1] == 0 and (np.asarray(ours)[1:-1] > 0).all()
    huge = np.asarray(equiangular_rate(np.array([0.0, 0.5]), n=4, beta=1e4))
    assert np.isfinite(huge).all()  # e^beta alone would overflow


def test_particles_at_beta_zero_from_orthonormal_tokens():
    """The same closed form for particles; at beta = 0 SA and USA are one system."""
    ts = np.linspace(0, 2, 5)
    for model in (af.SelfAttention(beta=0.0), usa(0.0)):
        run = af.simulate(model, af.sphere.orthonormal(n=5, d=5), ts=ts)
        gram = np.einsum("tid,tjd->tij", run.xs, run.xs)[:, 0, 1:]
        expected = (np.exp(2 * ts) - 1) / (np.exp(2 * ts) + 4)
        np.testing.assert_allclose(gram, np.broadcast_to(expected[:, None], gram.shape), rtol=0, atol=1e-8)
        np.testing.assert_allclose(af.energy(run), 1.0, rtol=1e-12)  # Ehat at beta = 0


@pytest.mark.parametrize("beta", [0.0, 3.0, 1e4])
def test_A10_light_token(beta):
    """w = (0, 1): the light token falls onto the heavy one as tanh(t + artanh c0), for every beta."""
    angle = np.arccos(-0.2)
    x0 = np.array([[np.cos(angle), np.sin(angle), 0.0], [1.0, 0.0, 0.0]])
    run = af.simulate(af.SelfAttention(beta=beta), x0, ts=[0.7, 2.0], weights=[0.0, 1.0])
    cosine = np.sum(np.asarray(run.xs[:, 0]) * np.asarray(run.xs[:, 1]), axis=-1)
    np.testing.assert_allclose(cosine, (0.45996543, 0.9465223), rtol=0, atol=1e-7)
    np.testing.assert_allclose(cosine, np.tanh(np.array([0.7, 2.0]) + np.arctanh(-0.2)), rtol=0, atol=1e-9)


A11 = {2: 0.8134654310, 3: 0.5565486071, 5: 0.3737983530, 10: 0.2573473042}


@pytest.mark.parametrize("d", A11)
def test_A11_energy_of_the_uniform_law(d):
    """E(sigma_d), from quadrature clouds that integrate e^{beta<x,y>} to round-off, against the Bessel formula.

    On the circle and on S^2 the cloud is a product rule, and `energy` sums over it; in higher dimension a query at the
    pole reads the keys of a zonal Gauss rule, whose log Z is the log of the same integral (sigma is invariant).
    """
    beta = 3.0
    formula = gamma(d / 2) * (2 / beta) ** (d / 2 - 1) * iv(d / 2 - 1, beta) / (2 * beta)
    assert formula == pytest.approx(A11[d], abs=1e-9)
    if d == 2:
        angles = 2 * np.pi * np.arange(48) / 48
        x, w = np.stack([np.cos(angles), np.sin(angles)], axis=1), np.full(48, 1 / 48)
        value = energy_of(x, w, beta)
    elif d == 3:
        z, wz = np.polynomial.legendre.leggauss(14)
        phi = 2 * np.pi * np.arange(28) / 28
        r = np.sqrt(1 - z**2)[:, None]
        x = np.stack([r * np.cos(phi), r * np.sin(phi), np.broadcast_to(z[:, None], (14, 28))], axis=-1).reshape(-1, 3)
        w = np.repeat(wz / 2, 28) / 28
        value = energy_of(x, w, beta)
    else:  # the density of <x, e_1> is proportional to (1 - z^2)^{(d-3)/2}
        z, wz = np.polynomial.legendre.leggauss(60)
        w = wz * (1 - z**2) ** ((d - 3) / 2)
        keys = np.zeros((60, d))
        keys[:, 0], keys[:, 1] = z, np.sqrt(1 - z**2)
        pole = jnp.asarray(np.eye(1, d))
        _, log_z = af.pairsums.pair_sums(
            af.pairsums.Inner(beta), pole, jnp.asarray(keys), 1.0, log_w=jnp.log(w / w.sum()), reduce="exp"
        )
        value = np.exp(log_z[0]) / (2 * beta)
    np.testing.assert_allclose(value, A11[d], rtol=0, atol=1e-9)


@eqx.filter_jit
def glpr_energy(beta, x, w):
    return af.Softmax(beta=beta).energy(af.Sphere()).value(x, w, scale="E")


def energy_of(x, w, beta):
    return glpr_energy(jnp.asarray(beta), jnp.asarray(x), jnp.asarray(w / w.sum()))


def test_1_5_uniform_is_lowest_and_a_dirac_highest():
    angles = 2 * np.pi * np.arange(48) / 48
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    lowest = energy_of(circle, np.full(48, 1.0), 3.0)
    highest = energy_of(np.broadcast_to(circle[:1], circle.shape), np.full(48, 1.0), 3.0)
    np.testing.assert_allclose(highest, np.exp(3.0) / 6, rtol=1e-12)
    random = energy_of(weyl(48, 2), np.full(48, 1.0), 3.0)
    assert lowest < random < highest


def _simplex(n):
    x = np.eye(n) - 1 / n
    return x / np.linalg.norm(x, axis=1)[:, None]


def _equispaced(k, copies):
    angles = np.repeat(2 * np.pi * np.arange(k) / k, copies)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


STATIONARY = {
    "antipodal pair": np.array([[0.6, 0.8, 0.0], [-0.6, -0.8, 0.0]]),
    "regular simplex": _simplex(4),
    "clusters": _equispaced(5, 3),
}


@pytest.mark.parametrize("name", STATIONARY)
@pytest.mark.parametrize("model", [af.SelfAttention(beta=4.0), usa(4.0, shifted=True)], ids=["SA", "shifted USA"])
def test_A25_stationary(name, model):
    x = jnp.asarray(STATIONARY[name])
    assert np.linalg.norm(velocity_of(model, 0.0, x), axis=-1).max() <= 1e-13
    moved = jnp.asarray(np.asarray(x) + 0.05 * weyl(*x.shape))  # the field is taken at the nearest unit vectors
    assert np.linalg.norm(velocity_of(model, 0.0, moved), axis=-1).max() > 1e-6  # the test sees a field


def test_circle_field_and_linear_instability():
    """1.6: the circle form of the field, and the growth rate k^2 I_k/(beta I_0) of cos(k theta) around the grid."""
    beta, k, n, eps = 9.0, 4, 64, 1e-6
    grid = 2 * np.pi * np.arange(n) / n
    theta = grid + eps * np.sin(k * grid)
    x = jnp.asarray(np.stack([np.cos(theta), np.sin(theta)], axis=1))
    tangent = np.stack([-np.sin(theta), np.cos(theta)], axis=1)
    lag = theta[None, :] - theta[:, None]
    for model, normaliser, rate_k in (
        (af.SelfAttention(beta=beta), np.mean(np.exp(beta * np.cos(lag)), axis=1), k**2 * iv(k, beta) / iv(0, beta)),
        (usa(beta), np.ones(n), k**2 * iv(k, beta)),
    ):
        angular = np.sum(np.asarray(velocity_of(model, 0.0, x)) * tangent, axis=1)
        kuramoto = np.mean(np.exp(beta * np.cos(lag)) * np.sin(lag), axis=1) / normaliser
        np.testing.assert_allclose(angular, kuramoto, rtol=0, atol=1e-13 * np.exp(beta if rate_k > 10 else 0))
        amplitude = 2 * np.mean(angular * np.sin(k * grid))
        np.testing.assert_allclose(amplitude / eps, rate_k / beta, rtol=1e-5)
