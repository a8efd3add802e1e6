"""Theory/04, sections 2, 3 and 6: Gaussian laws under attention; rows P1 to P12, P14, P22, P23."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.linalg import sqrtm

import attnflow as af
from attnflow.attention._gaussian import transport_coupling
from attnflow.attention._sigmoid_projection import sigmoid_moments
from attnflow.errors import AttnflowWarning, InputError
from attnflow.experiments.unified._base_case import ALPHA, AT_ONE, OTHER_ALPHA, OTHER_SIGMA, SIGMA, K, Q, V, base_map
from attnflow.experiments.unified._behaviours_draws import rank_draws
from attnflow.experiments.unified.closures import compute
from attnflow.reductions.gaussian import closed_form

Q, K, V, ALPHA, SIGMA = (np.array(a) for a in (Q, K, V, ALPHA, SIGMA))
L = np.linalg.cholesky(SIGMA)
ZERO = [0.0, 0.0]
QUIET = {"save": 2, "trusted_spread": None}  # one length of output: flows of one map and shape share a program


def softmax(A, value=None):
    """The score of query x for key y is <Ax, y>."""
    d = len(A)
    return af.Softmax(1.0, Q=A, K=np.eye(d), V=np.eye(d) if value is None else value)


def flow(attention, alpha=ZERO, Sigma=None, **options):
    return af.gaussian.flow(attention, alpha, Sigma, **{**QUIET, **options})


def first(run):
    """Of a batch: softmax flows in the plane take two starts each, so that all share one program."""
    return jax.tree.map(lambda a: a[0], run)


def last(run):
    return np.asarray(af.gaussian.final_covariance(run))


# Closures ------------------------------------------------------------------------------------------------------------


def field(attention, factor=L, alpha=ALPHA):
    found = af.gaussian.velocity(attention, alpha, L=factor)
    return np.asarray(found.GL) @ np.linalg.pinv(factor), np.asarray(found.c)


@pytest.mark.parametrize(
    ("name", "G", "c", "tol"),
    [
        pytest.param("softmax", [0.1206, 0.0178, 0.0502, 0.1042], [0.25262, 0.04422], 1e-10, id="P3"),
        pytest.param("Sinkhorn", [0.11150234, 0.01182135, 0.04296649, 0.09687622], [0.22, 0.05], 1e-7, id="P4"),
        pytest.param("L2", [0.17325873, 0.01360197, 0.05907554, 0.1386505], [0.20985841, 0.01597041], 1e-7, id="P5"),
    ],
)
def test_velocity_of_the_base_case(name, G, c, tol):
    attention = base_map(name)
    assert attention.exact and attention.closure == "exact"
    found = field(attention)
    np.testing.assert_allclose(found[0].ravel(), G, rtol=0, atol=tol)
    np.testing.assert_allclose(found[1], c, rtol=0, atol=tol)
    # Any factor of the covariance gives the same G and c; leading axes are many laws.
    turned = L @ np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))[0]
    np.testing.assert_allclose(field(attention, turned)[0], found[0], atol=1e-12)
    many = af.gaussian.velocity(attention, np.stack([ALPHA, 2 * ALPHA]), L=L)
    assert many.GL.shape == (2, 2, 2) and many.c.shape == (2, 2)
    np.testing.assert_allclose(many.GL[0], found[0] @ L, atol=1e-12)


def test_sinkhorn_solves_the_equations_of_the_plan():
    """Z = S (I - Z^T Z), for singular scores too; P10: half-steps lead from softmax to Sinkhorn."""
    rng = np.random.default_rng(1)
    for S in (rng.normal(size=(3, 3)), 5 * np.outer(rng.normal(size=3), rng.normal(size=3)), 0.7 * np.eye(3)):
        Z = np.asarray(transport_coupling(jnp.asarray(S)))
        np.testing.assert_allclose(Z, S @ (np.eye(3) - Z.T @ Z), atol=1e-12)
        dS = rng.normal(size=(3, 3))
        _, slope = jax.jvp(transport_coupling, (jnp.asarray(S),), (jnp.asarray(dS),))
        ahead, behind = (np.asarray(transport_coupling(jnp.asarray(S + e * dS))) for e in (1e-6, -1e-6))
        np.testing.assert_allclose(slope, (ahead - behind) / 2e-6, atol=1e-8)
    given = {"Q": Q, "K": K, "V": V}
    converged, first = af.Sinkhorn(**given), af.Softmax(**given)
    for N, limit, tol in ((1, first, 0), (25, converged, 1e-12)):
        for a, b in zip(field(af.Sinkhorn(**given, half_steps=N)), field(limit), strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=tol)


def test_heads_add_and_singular_factors_are_nothing_special():
    two = base_map("two heads")
    parts = [field(head) for head in two.heads]
    for a, b, c in zip(field(two), *parts, strict=True):
        np.testing.assert_allclose(a, b + c, atol=1e-14)
    W = np.random.default_rng(2).normal(size=(2, 2, 2))
    weighed = af.MultiHead(two.heads, W=W)
    np.testing.assert_allclose(field(weighed)[1], W[0] @ parts[0][1] + W[1] @ parts[1][1], atol=1e-14)
    narrow = L[:, :1]
    padded = np.column_stack([narrow, np.zeros(2)])
    for name in ("L2", "Sinkhorn-3"):
        GL = [np.asarray(af.gaussian.velocity(base_map(name), ALPHA, L=f).GL) for f in (narrow, padded)]
        np.testing.assert_allclose(np.column_stack([GL[0], np.zeros(2)]), GL[1], atol=1e-14, err_msg=name)


def test_maps_that_do_not_close_say_so():
    for attention, told in (
        (af.Unnormalized(), "infinite once"),
        (af.Hardmax(), "at infinity"),
        (af.MultiHead([af.Softmax(), af.Unnormalized()]), "unnormalised map does not close"),
    ):
        assert attention.closure == "none" and not attention.exact
        with pytest.raises(InputError, match=told):
            flow(attention, ZERO, SIGMA, t1=1.0)
    assert af.Sigmoid().closure == "projected" == af.MultiHead([af.Softmax(), af.Sigmoid()]).closure


def test_sigmoid_moments_by_quadrature():
    m, s = np.array([[0.3, 1.0, 1.0, -5.0, 40.0], [0.1, 1.999, 2.001, 3.0, 30.0]])
    found = jax.jit(sigmoid_moments)(jnp.asarray(m), jnp.asarray(s))

    def mean(f, m, s):
        at = lambda z: f(np.clip(m + s * z, -700, 700)) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)  # noqa: E731
        return quad(at, -12, 12, points=[-m / s], limit=999)[0]

    for k, (a, b) in enumerate(zip(m, s, strict=True)):
        assert float(found[0][k]) == pytest.approx(mean(lambda u: 1 / (1 + np.exp(-u)), a, b), abs=1e-12)
        assert float(found[1][k]) == pytest.approx(mean(lambda u: 0.25 / np.cosh(u / 2) ** 2, a, b), abs=1e-12)


def test_sigmoid_in_other_dimensions():
    """In three and four dimensions against the plane: what happens in the plane alone does not see the others."""
    plane = af.gaussian.velocity(af.Sigmoid(0.5, 0.3), ALPHA, L=L)
    for d, tol in ((3, 1e-6), (4, 2e-3)):
        B, factor = np.zeros((d, d)), np.eye(d)
        B[:2, :2], factor[:2, :2] = np.eye(2), L
        found = af.gaussian.velocity(af.Sigmoid(0.5, 0.3, B=B), [*ALPHA, *np.zeros(d - 2)], L=factor)
        np.testing.assert_allclose(found.c[:2], plane.c, atol=tol)
        np.testing.assert_allclose(found.GL[:2, :2], plane.GL, atol=tol)


# Flows ---------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def witness():
    """The closed equations of all maps together by SciPy up to t = 1."""
    maps = [base_map(name) for name in AT_ONE]

    @jax.jit
    def rate(y):
        return jnp.stack(
            [jnp.column_stack([(f := m.gaussian(s[:, 0], s[:, 1:])).c, f.GL]) for m, s in zip(maps, y, strict=True)]
        )

    start = np.tile(np.column_stack([ALPHA, L]), (len(maps), 1, 1))

    def rhs(t, y):
        return np.asarray(rate(jnp.asarray(y.reshape(start.shape)))).ravel()

    end = solve_ivp(rhs, (0, 1), start.ravel(), "DOP853", rtol=1e-10, atol=1e-12).y[:, -1].reshape(start.shape)
    covariance = end[:, :, 1:] @ np.swapaxes(end[:, :, 1:], 1, 2)
    return np.column_stack([end[:, :, 0], covariance[:, [0, 0, 1], [0, 1, 1]]])


def test_closed_equations_of_the_base_case(witness):
    """P1."""
    np.testing.assert_allclose(witness, list(AT_ONE.values()), rtol=0, atol=2e-6)


def test_tokens_follow(witness):
    """P2, with fewer tokens than its tolerances allow."""
    seen = compute({"part": "tokens", "n": 512})["final"]
    off = np.abs(seen.sel(map=list(AT_ONE)).values - witness)
    for name, error in zip(AT_ONE, off, strict=True):
        mean, covariance = (2e-4, 2e-4) if name in ("Sinkhorn", "linear") else (2e-3, 4e-3)
        assert error[:2].max() < mean and error[2:].max() < covariance, name


def test_two_laws_in_one_call():
    """P23, and what a run holds."""
    run = flow(base_map("softmax"), [ALPHA, OTHER_ALPHA], [SIGMA, OTHER_SIGMA], t1=1.0)
    assert run.xs.shape == (2, 2, 1, 2) and run.info["L"][1].shape == (2, 2, 2, 2) and repr(run)
    covariance = af.gaussian.covariance(run)
    apart = af.measures.gaussian_w2(run.xs[0, :, 0], run.xs[1, :, 0], covariance[0], covariance[1])
    np.testing.assert_allclose(apart, [0.0467332, 0.0708463], atol=1e-5)
    found = [*run.xs[0, -1, 0], *covariance[0, -1][[0, 0, 1], [0, 1, 1]]]
    np.testing.assert_allclose(found, AT_ONE["softmax"], atol=2e-6)
    assert af.gaussian.outcome(run).tolist() == ["horizon", "horizon"]
    np.testing.assert_array_equal(af.gaussian.covariance(first(run)), covariance[0])
    assert af.gaussian.describe(first(run)).startswith("The final time was reached")
    with pytest.raises(InputError, match="batch of runs"):
        af.gaussian.describe(run)


def test_closed_form_of_singular_laws_in_three_dimensions():
    """P6 and P22: V = I up to 0.8 t*, from a factor of width two, which stays one."""
    rng = np.random.default_rng(3)
    A, L0, alpha = rng.normal(size=(3, 3)), rng.normal(size=(3, 2)), rng.normal(size=3)
    t = 0.8 * closed_form.blow_up_time(L0, B=A.T)
    run = flow(softmax(A), alpha, L0=L0, t1=t, rtol=1e-11)
    exact = closed_form.covariance(t, L0, B=A.T)
    assert np.abs(last(run) - exact).max() < 1e-8 * np.abs(exact).max()
    assert run.info["L"][1].shape == (2, 3, 2) and af.gaussian.limit_rank(run) == 2
    assert np.linalg.matrix_rank(last(run), tol=1e-12) == 2
    # The closed form itself, against the inverse covariance, and the mean of a symmetric score by SciPy.
    M = rng.normal(size=(3, 3))
    late = 0.5 * closed_form.blow_up_time(M, B=A.T)
    inverse = np.linalg.inv(closed_form.covariance(late, M, B=A.T))
    np.testing.assert_allclose(inverse, np.linalg.inv(M @ M.T) - late * (A + A.T), rtol=1e-8)
    S = -(A @ A.T)
    found = solve_ivp(
        lambda t, a: a + closed_form.covariance(t, M, B=S) @ S @ a, (0, 1), alpha, "DOP853", rtol=1e-11, atol=1e-12
    )
    np.testing.assert_allclose(closed_form.mean(1.0, alpha, M @ M.T, B=S)[0], found.y[:, -1], rtol=1e-8)


def test_blow_up_on_the_line_and_how_it_is_told():
    """P7, in two coordinates that do not see each other."""
    attention, mean = softmax(0.5 * np.eye(2), 0.7 * np.eye(2)), [0.4, 0.0]
    both = flow(attention, mean, [np.diag([1.3, 0.4]), np.diag([0.1, 0.1])], t1=5.0)
    assert af.gaussian.outcome(both).tolist() == ["blow_up", "horizon"]
    line = closed_form.line([0.5], v=0.7, a=0.5, s0=1.3, alpha0=0.4)
    assert line.t_star == pytest.approx(1.0989011, abs=1e-7)
    run = first(both)
    assert float(run.info["t_star"][1]) == pytest.approx(line.t_star, abs=1e-6)
    assert float(run.info["pole_order"][1]) == pytest.approx(1, abs=1e-3)
    assert run.result is af.Outcome.UNBOUNDED
    assert af.gaussian.describe(run) == (
        "The covariance becomes infinite at a finite time, t* = 1.0989, with a pole of order 1."
    )
    assert np.isnan(run.xs[-1]).all() and 1e6 < np.trace(last(run)) < 1e8
    early = first(flow(attention, mean, [np.diag([1.3, 0.4])] * 2, t1=0.5))
    np.testing.assert_allclose(last(early)[0, 0], line.variance[0], rtol=1e-8)
    np.testing.assert_allclose(early.xs[-1, 0, 0], line.mean[0], rtol=1e-8)
    with pytest.raises(InputError, match="not a cloud of tokens"):
        early.restart(t1=1.0)


def test_limits_that_are_reached():
    """A law that shrinks, and one that goes to a line, up to times of 1e12."""
    q = np.array([[0.6, 0.8], [0.0, 0.0]])
    line = flow(af.Softmax(1.0, Q=q, K=-q, V=np.eye(2)), ZERO, [SIGMA, np.eye(2)], t1=1e12)
    assert af.gaussian.outcome(line).tolist() == ["converged"] * 2 and "rank 1" in af.gaussian.describe(first(line))
    np.testing.assert_allclose(last(line), [closed_form.limit(S, B=-q.T @ q) for S in (SIGMA, np.eye(2))], atol=1e-9)
    point = flow(softmax(-np.eye(2)), ZERO, [SIGMA, np.eye(2)], t1=1e6)
    np.testing.assert_allclose(last(point), [np.eye(2) / 2e6] * 2, rtol=1e-5, atol=1e-11)
    assert af.gaussian.outcome(point).tolist() == ["converged"] * 2 and int(point.stats["steps"].max()) < 500


def test_keys_that_see_one_coordinate():
    """P8: a double pole."""
    attention = af.L2(1.0, np.diag([0.0, 1.0]), Q=[[0.5, 1.0], [0.0, 0.0]], K=[[1.0, 0.0], [0.0, 0.0]])
    exact = closed_form.flat_key_time(q=(0.5, 1.0), s11=1.0, s12=0.5)
    assert exact == pytest.approx(2.0794415, abs=1e-7)
    run = flow(attention, ZERO, [[1.0, 0.5], [0.5, 1.0]], t1=5.0)
    assert float(run.info["t_star"][1]) == pytest.approx(exact, abs=1e-5)
    assert float(run.info["pole_order"][1]) == pytest.approx(2, abs=1e-2)
    # With injective keys the growth is exponential; its rate is at most twice |V| |K^+| |Q|.
    safe = flow(af.L2(1.0, np.eye(2), Q=2 * np.eye(2), K=np.eye(2)), ZERO, SIGMA, t1=20.0)
    assert af.gaussian.outcome(safe) == "exponential"
    assert np.trace(last(safe)) <= np.trace(SIGMA) * np.exp(4 * float(safe.info["t_last"][1]))


@pytest.mark.parametrize("sign", [1, -1])
def test_sinkhorn_climbs_or_descends_its_energy(sign):
    """P11, over one short step; and the energy itself as a maximum over plans."""
    B = np.array([[0.5, 0.2], [0.2, -0.3]])
    attention = af.Sinkhorn(1.0, Q=B, K=np.eye(2), V=sign * B)
    h = 1e-3
    run = flow(attention, ALPHA, SIGMA, t1=h, rtol=1e-12)
    E = np.asarray(af.gaussian.energy(run))
    at = af.gaussian.velocity(attention, run.xs[:, 0], L=run.info["L"][1])
    square = np.sum(np.asarray(at.GL) ** 2, axis=(1, 2)) + np.sum(np.asarray(at.c) ** 2, axis=1)
    assert sign * (E[1] - E[0]) > 0
    assert (E[1] - E[0]) / h == pytest.approx(2 * sign * square.mean(), rel=1e-5)
    # Any Gaussian plan N = L Z L^T is worse than the best: tr(A N) - KL, with 2 KL = -log det(I - Z^T Z).
    S = L.T @ B @ L
    worth = lambda Z: np.sum(S * Z) + np.linalg.slogdet(np.eye(2) - Z.T @ Z)[1] / 2  # noqa: E731
    best = np.asarray(transport_coupling(jnp.asarray(S)))
    assert E[0] == pytest.approx(worth(best) + ALPHA @ B @ ALPHA, rel=1e-12)
    rng = np.random.default_rng(0)
    assert all(worth(best + 0.1 * rng.normal(size=(2, 2))) < worth(best) for _ in range(20))


def test_feedforward_layer_with_a_schedule():
    """P12: the Riccati formula, W changing at t = 1, where a step ends; by the implicit solver, for once."""
    W = np.array([[[0.5, 0.3], [-0.2, 0.4]], [[-0.3, 0.1], [0.0, 0.2]]])
    A = np.array([[-0.8, 0.1], [0.2, -0.6]])
    options = {"feedforward": (af.Piecewise([1.0], W), [0.1, -0.3]), "solver": "kvaerno5", "rtol": 1e-11, "atol": 1e-12}
    run = flow(softmax(A), ZERO, SIGMA, t1=1.7, **options)
    middle = closed_form.with_feedforward(1.0, SIGMA, B=A.T, W=W[0])[0]
    np.testing.assert_allclose(last(run), closed_form.with_feedforward(0.7, middle, B=A.T, W=W[1])[0], atol=1e-9)
    rest = np.linalg.inv(closed_form.feedforward_equilibrium(B=A.T, W=W[0]))
    np.testing.assert_allclose(closed_form.with_feedforward(60.0, SIGMA, B=A.T, W=W[0])[0], rest, atol=1e-9)


def test_ranks_of_limits():
    """P14: 300 random laws in closed form."""
    for d, rank in ((3, 2), (4, 2), (5, 3)):
        for q, _, m in zip(*rank_draws(d, "identity"), strict=True):
            values = np.linalg.eigvalsh(closed_form.limit(m @ m.T, B=-q.T @ q))
            assert np.sum(values > 1e-8 * values[-1]) == rank


def test_masked_linear_attention():
    """Positions read those before them: against plain loops in NumPy."""
    rng = np.random.default_rng(4)
    alpha, Ls, theta = rng.normal(size=(3, 2)), rng.normal(size=(3, 2, 2)), np.array([0.2, 0.5, 0.3])
    found = af.gaussian.masked_linear_velocity(af.Linear(Q=Q, K=K, V=V), alpha, L=Ls, theta=theta)
    for s in range(3):
        M = sum(theta[k] * (Ls[k] @ Ls[k].T + np.outer(alpha[k], alpha[k])) for k in range(s + 1))
        G = V @ M @ K.T @ Q / theta[: s + 1].sum()
        np.testing.assert_allclose(found.GL[s], G @ Ls[s], atol=1e-13)
        np.testing.assert_allclose(found.c[s], G @ alpha[s], atol=1e-13)
    with pytest.raises(InputError, match="take Linear"):
        af.gaussian.masked_linear_velocity(af.Softmax(), alpha, L=Ls)


# Laws and what is asked of them --------------------------------------------------------------------------------------


def test_clouds_have_the_moments_of_the_law():
    x = af.gaussian.cloud(256, ALPHA, SIGMA, seed=3)
    np.testing.assert_allclose(x.mean(axis=0), ALPHA, atol=1e-14)
    np.testing.assert_allclose(np.cov(x.T, bias=True), SIGMA, atol=1e-13)
    flat = af.gaussian.cloud(64, ALPHA, L=L[:, :1])
    assert np.linalg.matrix_rank(flat - ALPHA, tol=1e-12) == 1
    assert af.gaussian.midpoints(3) == pytest.approx([-0.9674216, 0, 0.9674216])
    with pytest.raises(InputError, match="power of two"):
        af.gaussian.cloud(100, ALPHA, SIGMA)


def test_distance_of_gaussian_laws():
    rng = np.random.default_rng(5)
    M, N, a, b = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=3)
    S, T = M @ M.T, N @ N.T
    root = np.real(sqrtm(S))
    bures = np.trace(S + T - 2 * np.real(sqrtm(root @ T @ root)))
    exact = np.sqrt(np.sum((a - b) ** 2) + bures)
    assert af.measures.gaussian_w2(a, b, S, T) == pytest.approx(exact, rel=1e-10)
    assert af.measures.gaussian_w2(a, b, S, L_y=N) == pytest.approx(exact, rel=1e-10)
    # Two laws on lines, and laws that are close, whose distance the subtraction of traces would lose.
    assert af.measures.gaussian_w2([0, 0], [0, 0], L_x=[[2], [0]], L_y=[[0], [1]]) == pytest.approx(np.sqrt(5))
    assert af.measures.gaussian_w2(a, a, L_x=M, L_y=(1 + 1e-10) * M) == pytest.approx(
        1e-10 * np.linalg.norm(M), rel=1e-4
    )
    assert af.measures.gaussian_w2(np.zeros((4, 3)), np.zeros(3), S, np.stack([T] * 4)).shape == (4,)
    with pytest.raises(InputError, match="no covariance"):
        af.measures.gaussian_w2([0.0], [0.0], [[-1.0]], [[1.0]])


def test_cone_coordinates():
    np.testing.assert_allclose(af.gaussian.cone_coordinates([[[1.0, 0.3], [0.3, 0.7]]]), [[0.3, 0.6, 1.7]])
    with pytest.raises(InputError, match="in the plane"):
        af.gaussian.cone_coordinates(np.eye(3))


def test_a_widely_spread_score_is_told():
    with pytest.warns(AttnflowWarning, match="reaches 1.04: beyond 0.7"):
        run = af.gaussian.flow(base_map("L2"), ALPHA, SIGMA, t1=1.0, save=2)
    np.testing.assert_allclose(run.info["score_spread"][1][0], np.linalg.norm(2 * L.T @ K.T @ Q @ L, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flow(base_map("L2"), ALPHA, 0.5 * SIGMA, t1=0.1, trusted_spread=0.7)


def test_runs_are_saved_and_cited(tmp_path):
    run = first(flow(softmax(0.5 * np.eye(2), 0.7 * np.eye(2)), [0.4, 0.0], [SIGMA] * 2, t1=0.5))
    run.save(tmp_path / "run.nc")
    read = af.load(tmp_path / "run.nc")
    np.testing.assert_array_equal(af.gaussian.covariance(read), af.gaussian.covariance(run))
    assert af.gaussian.outcome(read) == "horizon" and read.model is None
    assert "2501.18322" in af.cite(run)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"alpha0": "mean"}, "alpha0 = 'mean' is not an array of numbers"),
        ({"alpha0": [0.0, np.nan]}, "not finite"),
        ({"Sigma0": None}, "one of the two"),
        ({"Sigma0": np.eye(3)}, r"Sigma0 has shape \(3, 3\)"),
        ({"Sigma0": [[1.0, 0.2], [0.0, 1.0]]}, "not symmetric"),
        ({"Sigma0": np.diag([1.0, -0.5])}, "eigenvalue -0.5"),
        ({"Sigma0": 2e6 * np.eye(2)}, "raise the ceiling"),
        ({"solver": "euler"}, "solver 'euler' is unknown"),
        ({"rtol": 2.0}, "rtol = 2 is no tolerance"),
        ({"t1": -1.0}, "t1 > t0"),
        ({"feedforward": 3.0}, "pair"),
        ({"feedforward": (np.eye(3), None)}, r"W has shape \(3, 3\)"),
        ({"attention": "softmax"}, "no attention map"),
        ({"attention": af.Softmax(V=np.ones((3, 2)))}, "square V"),
        ({"attention": af.Softmax(B=np.eye(3))}, "for tokens of dimension 2"),
    ],
)
def test_flow_refuses_in_a_sentence(change, told):
    given = {"attention": af.Softmax(), "alpha0": ZERO, "Sigma0": SIGMA, "t1": 1.0, **change}
    with pytest.raises(InputError, match=told):
        af.gaussian.flow(**given)


def test_other_runs_are_no_gaussian_flows():
    run = af.simulate(af.SelfAttention(af.Linear(), af.Euclidean()), np.eye(2), t1=0.1, save=2, solver="euler", dt=0.1)
    with pytest.raises(InputError, match="no Gaussian flow"):
        af.gaussian.covariance(run)
    with pytest.raises(InputError, match="no energy here"):
        af.gaussian.energy(run)
