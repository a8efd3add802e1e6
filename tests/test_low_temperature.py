"""Theory/02, section 2: the limit of zero temperature, its rates, the phases at low temperature; rows 16 to 31."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.linalg import expm
from scipy.special import ive

import attnflow as af
from attnflow.errors import AttnflowWarning, InputError
from attnflow.experiments.low_temperature import field, limit, phases
from attnflow.experiments.low_temperature.nodes import asymmetric, refined_nodes, uniform
from attnflow.reductions import limit_space
from judging import computed, holds
from witness import velocity

REFERENCE = {"V": np.diag([1.0, 2.0]), "B": np.diag([3.0, 1.0])}
EYE = {"V": np.eye(2), "B": np.eye(2)}
TURNING = np.array([[1.0, -1.0], [1.0, 1.0]])


def sphere(rng, n, d):
    x = rng.normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1)[:, None]


def witness(x0, ts, V, B):
    """The equation of zero temperature by SciPy, point by point."""

    def rhs(t, x):
        y = B.T @ x / np.linalg.norm(B.T @ x)
        v = V @ y
        return v - (v @ x) * x

    return np.stack([solve_ivp(rhs, (ts[0], ts[-1]), x, "DOP853", ts, rtol=1e-12, atol=1e-13).y.T for x in x0], axis=1)


# Zero temperature ----------------------------------------------------------------------------------------------------


def matrices(kind, rng):
    V, B = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
    if kind == "symmetric":
        V, B = V @ V.T, np.eye(3)
    elif kind == "turning":
        V, B = np.array([[1.0, -2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 0.5]]), np.diag([1.0, 2.0, 1.5])
    elif kind == "defective":
        V, B = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]]), np.eye(3)
    return V, B


@pytest.mark.parametrize("kind", ["random", "symmetric", "turning", "defective"])
def test_the_flow_is_that_of_the_field(kind):
    """Row 16."""
    rng = np.random.default_rng(4)
    V, B = matrices(kind, rng)
    x0, ts = sphere(rng, 6, 3), np.array([0.0, 0.7, 3.0])
    actual = np.asarray(af.reductions.zero_temperature_flow(x0, ts, V=V, B=B))
    np.testing.assert_allclose(actual, witness(x0, ts, V, B), atol=1e-8)
    at = np.asarray(af.reductions.zero_temperature_field(x0, V=V, B=B))
    y = x0 @ B / np.linalg.norm(x0 @ B, axis=1)[:, None]
    np.testing.assert_allclose(at, y @ V.T - np.sum((y @ V.T) * x0, axis=1)[:, None] * x0, atol=1e-13)


def test_the_field_is_the_limit_of_attention_and_not_of_hardmax():
    """Dense tokens read y*; the hardmax of a few reads one of them, and both agree where a token reads itself."""
    theta = 2 * np.pi * np.arange(4000) / 4000
    nodes = np.stack([np.cos(theta), np.sin(theta)], axis=1)
    V, B = np.array([[1.0, 0.4], [0.1, 2.0]]), np.array([[1.0, 0.5], [0.0, 1.0]])
    x = jnp.asarray(nodes[::500])
    limit = np.asarray(af.reductions.zero_temperature_field(x, V=V, B=B))
    for beta in (1e3, 1e4):
        read = af.Softmax(beta=beta, B=B, V=V)(x, jnp.asarray(nodes))
        difference = np.asarray(af.Sphere().project(x, read)) - limit
        assert np.abs(difference).max() < 2.5 / beta
    few = af.Hardmax(B=B, V=V)(x, x)
    assert np.abs(np.asarray(af.Sphere().project(x, few)) - limit).max() > 0.05
    same = af.Sphere().project(x, af.Hardmax(V=V)(x, x))
    np.testing.assert_allclose(same, af.reductions.zero_temperature_field(x, V=V, B=np.eye(2)), atol=1e-12)


def test_the_projection_is_where_the_flow_goes():
    rng = np.random.default_rng(4)
    V, B = matrices("random", rng)
    x0 = sphere(rng, 8, 3)
    actual = np.asarray(af.reductions.projection_map(x0, V=V, B=B))
    grown = x0 @ expm(300 * (V @ B.T) / np.linalg.norm(V @ B.T, 2)).T
    np.testing.assert_allclose(actual, grown / np.linalg.norm(grown, axis=1)[:, None], atol=1e-10)
    np.testing.assert_allclose(af.reductions.projection_map(x0[None], V=V, B=B)[0], actual)
    space = limit_space(V=V, B=B)
    M, P = V @ B.T, space.projector
    np.testing.assert_allclose(P @ P, P, atol=1e-13)
    np.testing.assert_allclose(M @ P, space.eigenvalue * P, atol=1e-12)
    np.testing.assert_allclose(P @ M, space.eigenvalue * P, atol=1e-12)
    assert np.abs(P - P.T).max() > 0.1, "oblique"


def test_a_plane_and_everything_as_limit():
    """Row 29: nothing moves for V = B = I, without an exception; and a two-dimensional eigenspace in a turned frame."""
    x = sphere(np.random.default_rng(0), 5, 2)
    np.testing.assert_array_equal(af.reductions.projection_map(x, **EYE), x)
    np.testing.assert_allclose(af.reductions.zero_temperature_flow(x, [0.0, 5.0], **EYE)[1], x, rtol=0, atol=1e-15)
    assert af.reductions.dominant_eigenspace(np.eye(2)).dimension == 2 and limit_space(**EYE).gap == np.inf
    rng = np.random.default_rng(1)
    Q = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    space = af.reductions.dominant_eigenspace(Q @ np.diag([2.0, 2.0, 1.0, -5.0]) @ Q.T)
    assert space.dimension == 2 and space.semisimple and space.gap == pytest.approx(1.0)
    np.testing.assert_allclose(space.projector, Q[:, :2] @ Q[:, :2].T, atol=1e-12)
    np.testing.assert_allclose(space.others.real, [1.0, -5.0], atol=1e-12)


@pytest.mark.usefixtures("as_users_run")
def test_points_that_have_no_image_and_matrices_that_have_no_limit():
    with pytest.warns(AttnflowWarning, match="1 points lie in the kernel"):
        actual = af.reductions.projection_map([[1.0, 0.0], [0.0, 1.0]], **REFERENCE)
    np.testing.assert_array_equal(actual, [[1.0, 0.0], [np.nan, np.nan]])
    with pytest.raises(InputError, match="complex eigenvalues"):
        af.reductions.projection_map([[1.0, 0.0]], V=TURNING, B=np.eye(2))
    with pytest.raises(InputError, match="defective"):
        af.reductions.low_temperature_rates(V=np.array([[1.0, 1.0], [0.0, 1.0]]), B=np.eye(2))
    with pytest.raises(InputError, match="nothing moves"):
        af.reductions.low_temperature_rates(**EYE)
    with pytest.raises(InputError, match="V has shape"):
        af.reductions.zero_temperature_flow([[1.0, 0.0]], [0.0, 1.0], V=np.eye(3), B=np.eye(2))
    with pytest.raises(InputError, match="norm 2"):
        af.reductions.zero_temperature_flow([[2.0, 0.0]], [0.0, 1.0], **REFERENCE)
    with pytest.raises(InputError, match="outside jit"):
        jax.jit(lambda V: af.reductions.dominant_eigenspace(V).projector)(jnp.eye(2))


# Rates and assumptions -----------------------------------------------------------------------------------------------


def test_rates_from_the_spectrum():
    """Rows 18, 19, 30 as formulas; r_j in three dimensions; invariance under a change of frame."""
    rates = af.reductions.low_temperature_rates(**REFERENCE)
    assert (rates.c, rates.c_u, rates.k, rates.rate) == pytest.approx((1 / 3, 1.0, 1, 1 / 3), rel=1e-14)
    assert af.reductions.low_temperature_rates(V=np.diag([2.0, 1.0]), B=np.eye(2)).rate == pytest.approx(0.5)
    rng = np.random.default_rng(2)
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    for b, r in (((1.0, 1.0, 10.0), (1.0, 0.3)), ((1.0, 2.0, 4.0), (0.5, 0.75))):
        V, B = Q @ np.diag(np.array([3.0, 2.0, 1.0]) / b) @ Q.T, Q @ np.diag(b) @ Q.T
        result = af.reductions.low_temperature_rates(V=V, B=B, p=1)
        np.testing.assert_allclose(result.r, r, rtol=1e-9)
        assert result.rate == pytest.approx(min(1.0, *r)) and result.escape == pytest.approx(min(r))
    plane = af.reductions.low_temperature_rates(V=np.diag([2.0, 2.0, 1.0]), B=np.eye(3))
    assert (plane.c, plane.c_u, plane.k, plane.escape) == pytest.approx((1.0, 1.0, 2, 2.0))
    turning = np.array([[3.0, 0.0, 0.0], [0.0, 1.0, -1.0], [0.0, 1.0, 1.0]])
    assert af.reductions.low_temperature_rates(V=turning, B=np.eye(3)).c == pytest.approx(2.0)
    assert np.isnan(af.reductions.low_temperature_rates(V=turning, B=np.eye(3)).rate)


def test_assumptions_are_checked():
    """Row 27."""
    report = af.reductions.check_low_temperature_assumptions(**REFERENCE)
    assert report.ok and report.invertible and report.leading and report.commuting
    assert (report.gap, report.attends_itself, report.moved) == pytest.approx((1.0, 3.0, 0.0))
    with pytest.warns(AttnflowWarning, match="B is singular"):
        assert not af.reductions.check_low_temperature_assumptions(V=REFERENCE["V"], B=np.diag([3.0, 0.0])).ok
    with pytest.warns(AttnflowWarning, match="complex pair"):
        assert not af.reductions.check_low_temperature_assumptions(V=TURNING, B=np.eye(2)).ok
    V, B = phases.matrices("turned")
    turned = af.reductions.check_low_temperature_assumptions(V=V, B=B)
    e = np.array([1.0, 0.0])
    moved = np.linalg.norm(B.T @ e / np.linalg.norm(B.T @ e) - e)
    assert turned.ok and not turned.commuting and turned.moved == pytest.approx(moved)
    assert turned.attends_itself == pytest.approx(B[0, 0])


def test_linearised_rates():
    """Row 30."""
    rates = af.reductions.cluster_rates(**REFERENCE)
    assert (rates.concentration, rates.mean, rates.deviation) == (-1 / 3, 1.0, -1.0)
    np.testing.assert_allclose(rates.concentration_time([np.e, np.e**2]), [1.5, 3.0])
    assert rates.exit_time(np.e) == pytest.approx(2.0)
    assert af.reductions.cluster_rates(V=np.diag([2.0, 1.0]), B=np.eye(2)).exit_time(8.0) == np.inf
    V, B = phases.matrices("turned")
    with pytest.raises(InputError, match="does not read where it is"):
        af.reductions.cluster_rates(V=V, B=B)


# What attention reads ------------------------------------------------------------------------------------------------


def test_the_mean_of_the_uniform_measure():
    """Row 17, and three dimensions by quadrature: coth(kappa) - 1/kappa."""
    kappa = np.array([0.0, 1e-3, 1.0, 30.0, 1e4])
    np.testing.assert_allclose(
        af.reductions.uniform_mean(kappa[1:], d=2), ive(1, kappa[1:]) / ive(0, kappa[1:]), rtol=1e-12
    )
    assert float(af.reductions.uniform_mean(0.0, d=2)) == 0
    np.testing.assert_allclose(
        af.reductions.uniform_mean(kappa[2:], d=3), 1 / np.tanh(kappa[2:]) - 1 / kappa[2:], rtol=1e-12
    )
    top = quad(lambda u: u * np.exp(5 * (u - 1)) * (1 - u * u) ** 2, -1, 1)[0]
    assert float(af.reductions.uniform_mean(5.0, d=7)) == pytest.approx(
        top / quad(lambda u: np.exp(5 * (u - 1)) * (1 - u * u) ** 2, -1, 1)[0], rel=1e-10
    )


def test_antipodal_pairs_in_plain_loops():
    """Row 24, with a matrix B for which clusters attend to each other, too; a mass of zero."""
    rng = np.random.default_rng(3)
    V, c = rng.normal(size=(3, 3)), sphere(rng, 1, 3)[0]
    for B, beta, m in ((rng.normal(size=(3, 3)), 2.0, 0.3), (-np.eye(3), 1.0, 0.6), (np.eye(3), 300.0, 0.5)):
        w = np.array([m, 1 - m])
        expected = velocity(np.stack([c, -c]), w, beta, B=B, V=V)
        np.testing.assert_allclose(
            af.reductions.antipodal_pair_rate(c, V=V, B=B, beta=beta, weights=w), expected, atol=1e-12
        )
    alone, _ = af.reductions.antipodal_pair_rate(c, V=V, B=np.eye(3), beta=1.0, weights=[1.0, 0.0])
    np.testing.assert_allclose(alone, V @ c - (c @ V @ c) * c, atol=1e-14)


def test_nodes_integrate():
    """Moments of the density, and nodes as close to the exceptional set as requested."""
    x, w = refined_nodes(800, 1e-5, asymmetric)
    assert x.shape == (800, 2) and w.sum() == pytest.approx(1)
    np.testing.assert_allclose(w @ x, [0.2 * np.cos(0.7), 0.2 * np.sin(0.7)], atol=1e-3)
    assert w[x[:, 0] > 0].sum() == pytest.approx(0.59738, abs=1e-5)
    x, w = refined_nodes(400, 1e-12, uniform)
    assert np.abs(x[:, 0]).min() == pytest.approx(1e-12) and w[np.abs(x[:, 0]) < 0.3].sum() == pytest.approx(
        2 * np.arcsin(0.3) / np.pi, abs=0.02
    )


# Diagnostics ---------------------------------------------------------------------------------------------------------


def test_phases_are_detected():
    t = np.linspace(0, 20, 201)
    W2 = np.exp(-t) + 0.01 * np.exp(0.5 * np.clip(t - 8, 0, None))
    overlap = 1 / (1 + np.exp(-2 * (t - 12.03)))
    result = af.diagnostics.phase_report(t, W2, overlap)
    assert result.t_min == pytest.approx(8.0) and result.exit == pytest.approx(12.03, abs=1e-3)
    assert result.plateau == pytest.approx((4.6, 9.4), abs=0.11) and result.plateau_length > 4
    assert result.terminal == pytest.approx(12.03 + np.log(999) / 2, abs=0.11)
    assert "exit at 12.03" in repr(result)
    early = af.diagnostics.phase_report(t[:50], W2[:50], overlap[:50])
    assert early.exit is None and early.terminal is None and early.t_min == t[49] and "no exit" in repr(early)
    with pytest.raises(InputError, match="give three"):
        af.diagnostics.phase_report(t, W2[:-1], overlap)


def test_too_few_keys_are_reported():
    n = 40
    np.testing.assert_allclose(af.diagnostics.effective_sample_size(np.full((3, n, n), 1 / n)), n)
    two = np.zeros((n, n))
    two[:, :2] = 0.5
    with pytest.warns(AttnflowWarning, match="fewer than 5 keys"):
        np.testing.assert_allclose(af.diagnostics.effective_sample_size(two), 2)
    with pytest.raises(InputError, match="sums to 2"):
        af.diagnostics.effective_sample_size(np.full((n, n), 2 / n))


# The experiments -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def reference():
    """The reference experiment at scale quick."""
    (cell, _) = phases.cells("quick")
    return computed(phases, [cell])


@pytest.mark.parametrize(
    "claim",
    [
        pytest.param("phases-closest", id="row 20"),
        pytest.param("phases-synchronous-slope", id="row 21"),
        pytest.param("phases-closest-slope", id="row 22"),
        pytest.param("phases-terminal", id="row 23"),
        "phases-table",
        "phases-synchronous",
        "phases-first-order",
        "phases-log-beta",
        "phases-log-beta-slope",
        "phases-time",
        "phases-exit",
    ],
)
def test_the_reference_experiment(reference, claim):
    holds(phases, reference, claim)


def test_masses_of_the_limit(reference):
    (_, data) = next(iter(reference))
    assert float(data["mass"]) == pytest.approx(0.59738, abs=2e-5)


def test_the_limit_of_zero_temperature():
    """Rows 18, 19, 25, 26, 31."""
    results = computed(limit, [c for c in limit.cells("quick") if c["part"] in ("planar", "plane", "distances")])
    rates = ("limit-rate-equal-w2", "limit-rate-escape-w2", "limit-rate-escape-w1", "limit-rate-reference-w2")
    holds(limit, results, *rates, "limit-plane", "limit-two-diracs", "limit-sliced")


def test_the_field():
    """Rows 17, 24, 27, 28, 30."""
    holds(field, computed(field, field.cells("quick")))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"B": np.diag([1.0, 0.0])}, "B is singular"),  # the clock stops, and a solver would never end
        ({"V": "V"}, "not an array of numbers"),
        ({"ts": [0.0, np.nan]}, "not finite"),
        ({"x0": "tokens"}, "not an array"),
    ],
)
@pytest.mark.usefixtures("as_users_run")
def test_zero_temperature_flow_refuses_in_a_sentence(change, message):
    arguments = {"x0": [[0.0, 1.0]], "ts": [0.0, 1.0], "V": np.diag([2.0, 1.0]), "B": np.eye(2), **change}
    with pytest.raises(InputError, match=message):
        af.reductions.zero_temperature_flow(arguments["x0"], arguments["ts"], V=arguments["V"], B=arguments["B"])


def test_a_plane_of_limits_with_two_eigenvalues_of_b_is_moved():
    """V B^T = 2I: e1 and e2 read themselves, but (1, 1)/sqrt 2 reads (1, 2)/sqrt 5."""
    result = af.reductions.check_low_temperature_assumptions(V=np.diag([2.0, 1.0]), B=np.diag([1.0, 2.0]))
    assert np.isclose(result.moved, np.sqrt(2 - 6 / np.sqrt(10)), atol=1e-12)
    assert af.reductions.check_low_temperature_assumptions(V=np.eye(2), B=np.eye(2)).moved < 1e-12


@pytest.mark.usefixtures("as_users_run")
def test_rates_refuse_a_singular_b_and_a_cluster_off_the_sphere():
    with pytest.raises(InputError, match="singular"):
        af.reductions.low_temperature_rates(V=np.diag([2.0, 1.0]), B=np.diag([1.0, 0.0]))
    with pytest.raises(InputError, match="unit vector"):
        af.reductions.antipodal_pair_rate([2.0, 0.0], V=np.eye(2), B=np.eye(2), beta=1.0, weights=(0.5, 0.5))
