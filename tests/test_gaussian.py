"""Theory/04, sections 2, 3, 5 and 6: Gaussian laws under attention; rows P1, P3 to P8, P10 to P14, P22, P23, and the
growth of P9. (Tokens, P2, P15, P16, and the rest of P9: tests/test_unified_paper.py.)

What takes time here is compilation, so that flows are one program: see `flows`.
"""

import dataclasses

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
from attnflow.experiments.unified.base_case import (
    A2,
    ALPHA,
    AT_ONE,
    OTHER_ALPHA,
    OTHER_SIGMA,
    SIGMA,
    V2,
    K,
    Q,
    V,
    base_map,
)
from attnflow.experiments.unified.behaviours.draws import case, rank_draws
from attnflow.models import GaussianModel
from attnflow.reductions.gaussian import closed_form
from attnflow.reductions.gaussian._ending import ending
from attnflow.reductions.gaussian._existence import exists_for_all_times
from attnflow.reductions.gaussian._law import law
from attnflow.reductions.gaussian.flow import _feedforward

Q, K, V, ALPHA, SIGMA = (np.array(a) for a in (Q, K, V, ALPHA, SIGMA))
A, L, ONE, ZERO = K.T @ Q, np.linalg.cholesky(SIGMA), np.eye(2), np.zeros(2)


def in_space(M):
    """A matrix of the plane, or a factor (2, 2) of a law, as one of three dimensions; (3, 2) factors stay."""
    M = np.asarray(M, float)
    return np.pad(M, [(0, 3 - M.shape[0]), (0, 3 - M.shape[1])])


def flows(laws, *, softmax=(), second=(), l2=(), sinkhorn=(), W=(0 * ONE, 0 * ONE), b=ZERO, **options):
    """Two laws (mean, factor) under any of four maps (or their sum), and a layer `W x + b` that changes at t = 1.

    A map is given as `(Q, K, V)`, or as `(A, V)` with the score <Ax, y>. They are heads of one map, with weights 0 and
    1; laws are those of the plane, or of rank two in space, with factors (3, 2): one compiled program for all.
    """
    heads, weights = [], []
    for make, matrices in ((af.Softmax, softmax), (af.Softmax, second), (af.L2, l2), (af.Sinkhorn, sinkhorn)):
        parts = (
            [matrices[0], np.eye(len(matrices[0])), matrices[1]] if len(matrices) == 2 else matrices or [0 * ONE] * 3
        )
        heads.append(make(1.0, **dict(zip("QKV", map(in_space, parts), strict=True))))
        weights.append(float(bool(matrices)))
    layer = af.Piecewise([1.0], np.stack([in_space(w) for w in W])), np.pad(b, (0, 3 - len(b)))
    means, factors = [np.pad(a, (0, 3 - len(a))) for a, _ in laws], [in_space(f)[:, :2] for _, f in laws]
    matrices = {"L0": np.stack(factors), "feedforward": layer, "save": 2, "trusted_spread": None}
    return af.gaussian.flow(af.MultiHead(heads, weights), np.stack(means), **{**matrices, **options})


def flow(*, factor=L, alpha=ZERO, **options):
    """One law, twice in the same program."""
    return first(flows([(alpha, factor)] * 2, **options))


def first(run):
    return jax.tree.map(lambda a: a[0], run)


def last(run):
    return np.asarray(af.gaussian.final_covariance(run))


def plane(run):
    return last(run)[:2, :2]


def entries(S):
    return S[[0, 0, 1], [0, 1, 1]]


def t_star(run):
    return float(run.info["t_star"])


# Closures ------------------------------------------------------------------------------------------------------------


def fields(attention):
    """G and c of the base case, from two factors of its covariance: both must give the same."""
    turned = L @ np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))[0]
    factors = np.stack([L, turned])
    result = af.gaussian.velocity(attention, np.stack([ALPHA] * 2), L=factors)
    assert result.GL.shape == (2, 2, 2) and result.c.shape == (2, 2)
    G = np.asarray(result.GL) @ np.linalg.inv(factors)
    np.testing.assert_allclose(G[1], G[0], atol=1e-12)
    return G[0], np.asarray(result.c)[0]


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
    actual = fields(attention)
    np.testing.assert_allclose(actual[0].ravel(), G, rtol=0, atol=tol)
    np.testing.assert_allclose(actual[1], c, rtol=0, atol=tol)


def test_half_steps_lead_from_softmax_to_sinkhorn():
    """P10."""
    arguments = {"Q": Q, "K": K, "V": V}
    for N, limit, tol in ((1, af.Softmax(**arguments), 0), (25, base_map("Sinkhorn"), 1e-12)):
        for a, b in zip(fields(af.Sinkhorn(**arguments, half_steps=N)), fields(limit), strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=tol)


def test_sinkhorn_solves_the_equations_of_the_plan():
    """Z = S (I - Z^T Z), for singular scores and equal singular values too, and its derivative."""
    rng = np.random.default_rng(1)
    S = np.stack([rng.normal(size=(3, 3)), 5 * np.outer(rng.normal(size=3), rng.normal(size=3)), 0.7 * np.eye(3)])
    dS = rng.normal(size=S.shape)

    @jax.jit
    def coupled(S, dS):
        return jax.vmap(lambda S, dS: jax.jvp(transport_coupling, (S,), (dS,)))(S, dS)

    Z, slope = map(np.asarray, coupled(S, dS))
    np.testing.assert_allclose(Z, S @ (np.eye(3) - np.swapaxes(Z, 1, 2) @ Z), atol=1e-12)
    ahead, behind = (np.asarray(coupled(S + e * dS, dS)[0]) for e in (1e-6, -1e-6))
    np.testing.assert_allclose(slope, (ahead - behind) / 2e-6, atol=1e-8)


def test_heads_add_and_singular_factors_are_nothing_special():
    two, narrow = base_map("two heads"), L[:, :1]
    W = np.random.default_rng(2).normal(size=(2, 2, 2))

    @jax.jit
    def velocities():
        alpha = jnp.asarray(ALPHA)
        maps = [two, *two.heads, af.MultiHead(two.heads, W=W)]
        wide = [base_map(name) for name in ("L2", "Sinkhorn-3")]
        padded = jnp.asarray(np.column_stack([narrow, np.zeros(2)]))
        alone = [m.gaussian(alpha, jnp.asarray(narrow)).GL for m in wide]
        return (
            [m.gaussian(alpha, jnp.asarray(L)) for m in maps],
            [(a, m.gaussian(alpha, padded).GL) for m, a in zip(wide, alone, strict=True)],
        )

    (both, *parts, weighed), singular = velocities()
    np.testing.assert_allclose(both.GL, parts[0].GL + parts[1].GL, atol=1e-14)
    np.testing.assert_allclose(both.c, parts[0].c + parts[1].c, atol=1e-14)
    np.testing.assert_allclose(weighed.c, W[0] @ parts[0].c + W[1] @ parts[1].c, atol=1e-14)
    for alone, padded in singular:
        np.testing.assert_allclose(np.column_stack([alone, np.zeros(2)]), padded, atol=1e-14)


@pytest.mark.usefixtures("as_users_run")
def test_maps_that_do_not_close_say_so():
    for attention, message in (
        (af.Unnormalized(), "infinite once"),
        (af.Hardmax(), "at infinity"),
        (af.MultiHead([af.Softmax(), af.Unnormalized()]), "unnormalised map does not close"),
    ):
        assert attention.closure == "none" and not attention.exact
        with pytest.raises(InputError, match=message):
            af.gaussian.flow(attention, ZERO, SIGMA, t1=1.0)
    assert af.Sigmoid().closure == "projected" == af.MultiHead([af.Softmax(), af.Sigmoid()]).closure


def test_sigmoid_moments_by_quadrature():
    m, s = np.array([[0.3, 1.0, 1.0, -5.0, 40.0], [0.1, 1.999, 2.001, 3.0, 30.0]])
    actual = jax.jit(sigmoid_moments)(jnp.asarray(m), jnp.asarray(s))

    def mean(f, m, s):
        at = lambda z: f(np.clip(m + s * z, -700, 700)) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)  # noqa: E731
        return quad(at, -12, 12, points=[-m / s], limit=999)[0]

    for k, (a, b) in enumerate(zip(m, s, strict=True)):
        assert float(actual[0][k]) == pytest.approx(mean(lambda u: 1 / (1 + np.exp(-u)), a, b), abs=1e-12)
        assert float(actual[1][k]) == pytest.approx(mean(lambda u: 0.25 / np.cosh(u / 2) ** 2, a, b), abs=1e-12)


def test_sigmoid_in_other_dimensions():
    """In three and four dimensions against the plane: a law of the plane does not depend on the other coordinates."""

    def field(d):
        B, factor = np.zeros((d, d)), np.eye(d)
        B[:2, :2], factor[:2, :2] = ONE, L
        return af.Sigmoid(0.5, bias=0.3, B=B).gaussian(jnp.asarray([*ALPHA, *np.zeros(d - 2)]), jnp.asarray(factor))

    flat, *others = jax.jit(lambda: [field(d) for d in (2, 3, 4)])()
    for actual, tol in zip(others, (1e-6, 2e-3), strict=True):
        np.testing.assert_allclose(actual.c[:2], flat.c, atol=tol)
        np.testing.assert_allclose(actual.GL[:2, :2], flat.GL, atol=tol)


# Flows ---------------------------------------------------------------------------------------------------------------


def test_closed_equations_of_the_base_case():
    """P1: by the flow, or, of maps that have no place in it, by SciPy."""
    maps = {
        "softmax": {"softmax": (Q, K, V)},
        "two heads": {"softmax": (A, V), "second": (A2, V2)},
        "L2": {"l2": (Q, K, V)},
        "Sinkhorn": {"sinkhorn": (Q, K, V)},
    }
    for name, arguments in maps.items():
        run = flow(**arguments, alpha=ALPHA, t1=1.0)
        np.testing.assert_allclose([*run.xs[-1, 0, :2], *entries(plane(run))], AT_ONE[name], rtol=0, atol=2e-6)
    others = [name for name in AT_ONE if name not in maps]

    @jax.jit
    def rate(y):
        velocities = [base_map(name).gaussian(s[:, 0], s[:, 1:]) for name, s in zip(others, y, strict=True)]
        return jnp.stack([jnp.column_stack([f.c, f.GL]) for f in velocities])

    start = np.tile(np.column_stack([ALPHA, L]), (len(others), 1, 1))

    def rhs(t, y):
        return np.asarray(rate(jnp.asarray(y.reshape(start.shape)))).ravel()

    end = solve_ivp(rhs, (0, 1), start.ravel(), "DOP853", rtol=1e-10, atol=1e-12).y[:, -1].reshape(start.shape)
    for name, state in zip(others, end, strict=True):
        np.testing.assert_allclose([*state[:, 0], *entries(state[:, 1:] @ state[:, 1:].T)], AT_ONE[name], atol=2e-6)


def test_two_laws_in_one_call():
    """P23, and what a batch of runs holds."""
    run = flows([(ALPHA, L), (OTHER_ALPHA, np.linalg.cholesky(OTHER_SIGMA))], softmax=(Q, K, V), t1=1.0)
    assert run.xs.shape == (2, 2, 1, 3) and run.info["L"].shape == (2, 2, 3, 2) and repr(run)
    covariance = af.gaussian.covariance(run)
    apart = af.measures.gaussian_w2(run.xs[0, :, 0], run.xs[1, :, 0], covariance[0], covariance[1])
    np.testing.assert_allclose(apart, [0.0467332, 0.0708463], atol=1e-5)
    assert af.gaussian.outcome(run).tolist() == ["horizon", "horizon"]
    with pytest.raises(InputError, match="batch of runs"):
        af.gaussian.describe(run)
    np.testing.assert_array_equal(af.gaussian.covariance(first(run)), covariance[0])
    assert af.gaussian.describe(first(run)).startswith("The final time was reached")
    # Of a single law only the shapes are checked: this compiles nothing.
    alone = jax.eval_shape(lambda a: af.gaussian.flow(af.Softmax(), a, SIGMA, t1=1.0, save=2), ALPHA)
    assert alone.xs.shape == (2, 1, 2) and alone.info["L"].shape == (2, 2, 2) and alone.code.shape == ()


def test_closed_form_of_singular_laws_in_three_dimensions():
    """P6 and P22: V = I up to 0.8 t*, from a factor of width two, which stays one."""
    rng = np.random.default_rng(3)
    A, L0, alpha = rng.normal(size=(3, 3)), rng.normal(size=(3, 2)), rng.normal(size=3)
    t = 0.8 * closed_form.blow_up_time(L0, B=A.T)
    run = flow(softmax=(A, np.eye(3)), factor=L0, alpha=alpha, t1=t, rtol=1e-11)
    exact = closed_form.covariance(t, L0, B=A.T)
    assert np.abs(last(run) - exact).max() < 1e-8 * np.abs(exact).max()
    assert run.info["L"].shape == (2, 3, 2) and af.gaussian.limit_rank(run) == 2
    assert np.linalg.matrix_rank(last(run), tol=1e-12) == 2
    # The closed form itself, against the inverse covariance, and the mean of a symmetric score by SciPy.
    M = rng.normal(size=(3, 3))
    end = closed_form.blow_up_time(M, B=A.T)
    inverse = np.linalg.inv(closed_form.covariance(end / 2, M, B=A.T))
    np.testing.assert_allclose(inverse, np.linalg.inv(M @ M.T) - end / 2 * (A + A.T), rtol=1e-8)
    S = -(A @ A.T)
    solution = solve_ivp(
        lambda t, a: a + closed_form.covariance(t, M, B=S) @ S @ a, (0, 1), alpha, "DOP853", rtol=1e-11, atol=1e-12
    )
    np.testing.assert_allclose(closed_form.mean(1.0, alpha, M @ M.T, B=S)[0], solution.y[:, -1], rtol=1e-8)
    # There is no law beyond the blow-up, although formulas give numbers.
    assert np.isnan(closed_form.covariance([0.0, 2 * end], M, B=A.T)).any(axis=(1, 2)).tolist() == [False, True]
    assert np.isnan(closed_form.mean(9.0, ZERO, ONE, B=ONE)).all()
    assert np.isnan(closed_form.line(9.0, v=1, a=1, s0=1).variance)
    assert np.isnan(closed_form.with_feedforward(9.0, ONE, B=ONE, W=0.1 * ONE)).all()


def test_blow_up_on_the_line_is_reported():
    """P7, in two coordinates that do not see each other."""
    arguments = {"softmax": (0.5 * ONE, 0.7 * ONE), "alpha": [0.4, 0.0], "factor": np.diag(np.sqrt([1.3, 0.4]))}
    both = flows(
        [(arguments["alpha"], arguments["factor"]), (ZERO, np.sqrt(0.1) * ONE)], softmax=arguments["softmax"], t1=5.0
    )
    assert af.gaussian.outcome(both).tolist() == ["blow_up", "horizon"]
    small = closed_form.line(5.0, v=0.7, a=0.5, s0=0.1).variance
    assert float(af.gaussian.final_covariance(both)[1, 0, 0]) == pytest.approx(float(small), rel=1e-8)
    run = first(both)
    line = closed_form.line([0.5], v=0.7, a=0.5, s0=1.3, alpha0=0.4)
    assert line.t_star == pytest.approx(1.0989011, abs=1e-7) and t_star(run) == pytest.approx(line.t_star, abs=1e-6)
    assert float(run.info["pole_order"]) == pytest.approx(1, abs=1e-3)
    assert run.result is af.Outcome.UNBOUNDED and af.gaussian.outcome(run) == "blow_up"
    assert af.gaussian.describe(run) == (
        "The covariance, or the mean, becomes infinite at a finite time, t* = 1.0989, with a pole of order 1."
    )
    assert np.isnan(run.xs[-1]).all() and 1e6 < np.trace(last(run)) < 1e8
    early = flow(**arguments, t1=0.5)
    np.testing.assert_allclose(last(early)[0, 0], line.variance[0], rtol=1e-8)
    np.testing.assert_allclose(early.xs[-1, 0, 0], line.mean[0], rtol=1e-8)
    with pytest.raises(InputError, match="not a cloud of tokens"):
        early.restart(t1=1.0)
    # With an unreachable ceiling the steps shrink to round-off first; the pole is reported even so, also from the mean.
    stalled = flow(**arguments, t1=5.0, ceiling=1e30)
    assert stalled.result is af.Outcome.UNBOUNDED and t_star(stalled) == pytest.approx(line.t_star, abs=1e-6)
    # Linear attention takes a point at 10 to infinity by x' = x^3: at t = 1/200.
    state, no = (jnp.asarray([10.0]), jnp.zeros((1, 1))), jnp.asarray(False)
    options = {"start": jnp.zeros(()), "trace0": jnp.zeros(()), "stopped": no, "stalled": ~no}
    point = jax.jit(lambda: ending(GaussianModel(af.Linear()), jnp.zeros(()), *state, **options))()
    assert float(point.t_star) == pytest.approx(0.005) and float(point.pole_order) == pytest.approx(1)


def test_blow_up_after_exponential_growth():
    """Beside a layer W = 1 the inverse variance is Y = (1/s0 + a) e^(-2t) - a: the pole is far beyond the ceiling."""
    for a, s0, beside in ((1e-6, 1e-3, True), (1e-8, 1e-3, False), (1e-40, 1.0, True)):
        factor = np.sqrt(s0) * np.array([[1.0, 0.0], [0.0, float(beside)]])  # in the plane, or singular
        run = flow(softmax=(a * ONE, ONE), W=(ONE, ONE), factor=factor, alpha=[0.1, 0.0], t1=100.0)
        exact = np.log1p(1 / (a * s0)) / 2
        assert t_star(run) == pytest.approx(exact, abs=1e-6) and af.gaussian.limits(run) == ()
        assert float(run.info["pole_order"]) == pytest.approx(1, abs=1e-6)
        assert "for all times" not in af.gaussian.describe(run)
    # The same numbers by SciPy, for the first of them: the variance itself up to 1e15, then 1/(2 a s).
    solution = solve_ivp(lambda t, y: 2 + 2e-6 * np.exp(y), (0, 11), [np.log(1e-3)], "DOP853", rtol=1e-12, atol=1e-12,
                      events=(lambda t, y: y[0] - np.log(1e15), ))  # fmt: skip
    assert solution.t_events[0][0] == pytest.approx(np.log1p(1e9) / 2, abs=1e-8)


def test_for_all_times_only_by_theorem():
    """What grows up to the end of a run may come to rest, or blow up, later."""
    up = {"W": (ONE, ONE), "factor": np.sqrt(1e-3) * ONE}
    rests = flow(softmax=(-1e-8 * ONE, ONE), t1=100.0, **up)  # at Y = 1e-8: beyond the ceiling
    assert af.gaussian.outcome(rests) == "converged" and "beyond the ceiling" in af.gaussian.limits(rests)[0]
    later = flow(softmax=(1e-8 * ONE, ONE), t1=8.0, **up)
    description = af.gaussian.describe(later)
    assert af.gaussian.outcome(later) == "exponential" and "no blow-up before t = 8." in description
    assert "for all times" not in description and "for all times" not in af.gaussian.OUTCOMES["exponential"]
    # A short time is no rest; an equilibrium is one, at once.
    assert af.gaussian.outcome(flow(softmax=(ONE, ONE), t1=1e-4)) == "horizon"
    stays = flow(softmax=(-ONE, ONE), W=(ONE, ONE), factor=ONE, t1=1.0)
    assert af.gaussian.outcome(stays) == "converged"
    # A layer that shears: tr grows like t^2, which is neither.
    shears = flow(W=([[0.0, 1.0], [0.0, 0.0]],) * 2, t1=1e5)
    assert af.gaussian.outcome(shears) == "unbounded" and "neither exponentially" in af.gaussian.describe(shears)


@pytest.mark.parametrize(
    ("attention", "reason"),
    [
        (af.Sinkhorn(), "bounded by |V|"),
        (af.L2(K=[[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]], Q=np.ones((3, 2))), "injective K"),
        (af.L2(K=[[1.0, 0.0]], Q=[[1.0, 1.0]]), None),
        (af.Sigmoid(), "sigmoid"),
        (af.Softmax(B=-ONE), "A + A^T has no positive"),
        (af.Softmax(B=[[0.0, 1.0], [-1.0, 0.0]]), "A + A^T has no positive"),
        (af.Softmax(B=-ONE, V=2 * ONE), None),
        (af.Softmax(), None),
        (af.Linear(B=-ONE), None),
        (af.Sinkhorn(half_steps=1), None),
        (af.MultiHead([af.Sinkhorn(), af.Sigmoid()]), "Sinkhorn attention are bounded by |V| and"),
        (af.MultiHead([af.Sinkhorn(), af.Softmax()]), None),
        (af.Sinkhorn(af.Piecewise([1.0], [1.0, 2.0])), None),
    ],
)
def test_theorems_on_existence(attention, reason):
    cause = exists_for_all_times(GaussianModel(attention), 2)
    assert cause is None if reason is None else reason in cause


def test_the_limits_of_a_projected_closure_are_kept(tmp_path):
    run = af.gaussian.flow(af.Sigmoid(), [0.1], [[0.3]], t1=0.5, save=2)
    assert "projection on Gaussians" in af.gaussian.describe(run) and "projection on Gaussians" in repr(run)
    run.save(tmp_path / "run.nc")
    read = af.load(tmp_path / "run.nc")
    assert read.provenance["limits"] == list(af.gaussian.limits(run)) == list(af.gaussian.limits(read))
    assert repr(read) == repr(run) and af.gaussian.describe(read) == af.gaussian.describe(run)


def test_a_matrix_alone_is_a_feedforward_layer():
    W = np.array([[0.5, 0.3], [-0.2, 0.4]])
    for layer in (W, W.tolist(), jnp.asarray(W)):
        actual = _feedforward(layer, 2)
        np.testing.assert_array_equal(actual[0], W)
        assert actual[1] is None
    schedule = af.Piecewise([1.0], np.stack([W, W]))
    assert _feedforward(schedule, 2) == (schedule, None)
    with pytest.raises(InputError, match=r"W has shape \(2, 2\) and the law dimension 3"):
        _feedforward(W, 3)


def test_limits_that_are_reached():
    """A law that goes to a line, and one that shrinks, up to times of 1e12."""
    q = np.array([[0.6, 0.8]])
    line = flow(softmax=(q, -q, ONE), t1=1e12)
    assert af.gaussian.outcome(line) == "converged" and "rank 1" in af.gaussian.describe(line)
    np.testing.assert_allclose(plane(line), closed_form.limit(SIGMA, B=-q.T @ q), atol=1e-9)
    point = flow(softmax=(-ONE, ONE), t1=1e6)
    np.testing.assert_allclose(plane(point), ONE / 2e6, rtol=1e-5, atol=1e-11)
    assert af.gaussian.outcome(point) == "converged" and int(point.stats["steps"]) < 500
    # Two heads of one row each, the second one empty: the coordinate that the first does not write to is frozen.
    frozen = plane(flow(softmax=(q, -q, np.diag([1.0, 0.0])), second=(0 * ONE, np.diag([0.0, 1.0])), t1=100.0))
    assert frozen[1, 1] == pytest.approx(SIGMA[1, 1], rel=1e-12) and abs(q[0] @ frozen[0]) < 1e-8


def test_numbers_of_the_figures():
    """P13: F2, F3 and F4, from (0.5, 0.1; 0.1, 0.5) unless said otherwise."""
    start = np.linalg.cholesky([[0.5, 0.1], [0.1, 0.5]])
    two, three, four = case("line"), case("two lines"), case("blow-up")
    line = flow(softmax=(two.A, two.V), factor=start, t1=1e6)
    np.testing.assert_allclose(entries(plane(line)), [0.348933, -0.155166, 0.069000], atol=1e-4)
    lines = flow(softmax=(three.A, three.V), factor=np.sqrt(0.5) * ONE, t1=1e3)
    limit = plane(lines)
    assert limit[0, 0] == pytest.approx(0.20567, abs=1e-4)
    slopes = np.roots([three.A[1, 1], three.A[0, 1] + three.A[1, 0], three.A[0, 0]])
    np.testing.assert_allclose(np.sort(slopes), [-1.609321, -0.133403], atol=1e-4)
    assert np.abs(slopes - limit[0, 1] / limit[0, 0]).min() < 1e-4
    up = flow(softmax=(four.A, four.V), factor=start, t1=50.0)
    assert t_star(up) == pytest.approx(0.631073, abs=1e-4)
    heads = [(np.outer(four.K[h], four.Q[h]), np.outer(ONE[h], four.V[h])) for h in (0, 1)]  # k = 1: unscaled
    assert t_star(flow(softmax=heads[0], second=heads[1], factor=start, t1=50.0)) == pytest.approx(0.604472, abs=1e-4)
    for slower in ({"l2": (four.Q, four.K, four.V)}, {"sinkhorn": (four.A, four.V)}):
        assert af.gaussian.outcome(flow(**slower, factor=start, t1=50.0)) == "exponential"


def test_keys_that_see_one_coordinate():
    """P8: a double pole."""
    exact = closed_form.flat_key_time(q=(0.5, 1.0), s11=1.0, s12=0.5)
    assert exact == pytest.approx(2.0794415, abs=1e-7)
    flat = [[0.5, 1.0]], [[1.0, 0.0]], np.diag([0.0, 1.0])
    run = flow(l2=flat, factor=np.linalg.cholesky([[1.0, 0.5], [0.5, 1.0]]), t1=5.0)
    assert t_star(run) == pytest.approx(exact, abs=1e-5)
    assert float(run.info["pole_order"]) == pytest.approx(2, abs=1e-2)
    # With injective keys the growth is exponential; its rate is at most twice |V| |K^+| |Q|.
    safe = flow(l2=(2 * ONE, ONE, ONE), t1=20.0)
    assert af.gaussian.outcome(safe) == "exponential"
    assert np.trace(last(safe)) <= np.trace(SIGMA) * np.exp(4 * float(safe.info["t_last"]))


def test_growth_under_sinkhorn_attention():
    """P9: |L| <= |L0| exp(|V| t)."""
    for t in (0.5, 1.0, 2.0, 4.0, 8.0):
        grown = np.linalg.norm(flow(sinkhorn=(A, V), t1=t).info["L_last"])
        assert 1 < grown / np.linalg.norm(L) <= np.exp(np.linalg.norm(V, 2) * t)


@pytest.mark.parametrize("sign", [1, -1])
def test_sinkhorn_climbs_or_descends_its_energy(sign):
    """P11, over one short step; and the energy itself as a maximum over plans."""
    B = np.array([[0.5, 0.2], [0.2, -0.3]])
    h = 1e-3
    run = flow(sinkhorn=(B, sign * B), alpha=ALPHA, t1=h, rtol=1e-12)
    alone = GaussianModel(af.Sinkhorn(B=in_space(B)))
    E = np.asarray(af.gaussian.energy(dataclasses.replace(run, model=alone)))
    attention = af.Sinkhorn(Q=B, K=ONE, V=sign * B)
    at = af.gaussian.velocity(attention, run.xs[:, 0, :2], L=run.info["L"][:, :2])
    square = (np.sum(np.asarray(at.GL) ** 2) + np.sum(np.asarray(at.c) ** 2)) / 2
    assert sign * (E[1] - E[0]) > 0
    assert (E[1] - E[0]) / h == pytest.approx(2 * sign * square, rel=1e-5)
    # Any Gaussian plan N = L Z L^T is worse than the best: tr(A N) - KL, with 2 KL = -log det(I - Z^T Z).
    S = L.T @ B @ L
    worth = lambda Z: np.sum(S * Z) + np.linalg.slogdet(np.eye(2) - Z.T @ Z)[1] / 2  # noqa: E731
    best = np.asarray(transport_coupling(jnp.asarray(S)))
    assert E[0] == pytest.approx(worth(best) + ALPHA @ B @ ALPHA, rel=1e-12)
    rng = np.random.default_rng(0)
    assert all(worth(best + 0.1 * rng.normal(size=(2, 2))) < worth(best) for _ in range(20))


def test_feedforward_layer_with_a_schedule():
    """P12: the Riccati formula, W changing at t = 1, where a step ends."""
    W = np.array([[[0.5, 0.3], [-0.2, 0.4]], [[-0.3, 0.1], [0.0, 0.2]]])
    A = np.array([[-0.8, 0.1], [0.2, -0.6]])
    run = flow(softmax=(A, ONE), W=W, b=[0.1, -0.3], t1=1.7, rtol=1e-11)
    middle = closed_form.with_feedforward(1.0, SIGMA, B=A.T, W=W[0])[0]
    np.testing.assert_allclose(plane(run), closed_form.with_feedforward(0.7, middle, B=A.T, W=W[1])[0], atol=1e-9)
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
    result = af.gaussian.masked_linear_velocity(af.Linear(Q=Q, K=K, V=V), alpha, L=Ls, weights=theta)
    for s in range(3):
        M = sum(theta[k] * (Ls[k] @ Ls[k].T + np.outer(alpha[k], alpha[k])) for k in range(s + 1))
        G = V @ M @ K.T @ Q / theta[: s + 1].sum()
        np.testing.assert_allclose(result.GL[s], G @ Ls[s], atol=1e-13)
        np.testing.assert_allclose(result.c[s], G @ alpha[s], atol=1e-13)
    for attention, masses, message in (
        (af.Softmax(), theta, "take Linear"),
        (af.Linear(V=np.eye(3)), theta, "V is a 3-by-3 matrix"),
        (af.Linear(), [0, 0.5, 0.5], "first position no mass"),
    ):
        with pytest.raises(InputError, match=message):
            af.gaussian.masked_linear_velocity(attention, alpha, L=Ls, weights=masses)


# Laws and functions of them ---------------------------------------------------------------------------------------


@pytest.mark.usefixtures("as_users_run")
def test_clouds_have_the_moments_of_the_law():
    x = af.gaussian.cloud(256, ALPHA, SIGMA, key=jax.random.key(3))
    np.testing.assert_allclose(x.mean(axis=0), ALPHA, atol=1e-14)
    np.testing.assert_allclose(np.cov(x.T, bias=True), SIGMA, atol=1e-13)
    flat = af.gaussian.cloud(64, ALPHA, L=L[:, :1])
    assert np.linalg.matrix_rank(flat - ALPHA, tol=1e-12) == 1
    assert af.gaussian.midpoints(3) == pytest.approx([-0.9674216, 0, 0.9674216])
    with pytest.raises(InputError, match="power of two"):
        af.gaussian.cloud(100, ALPHA, SIGMA)
    with pytest.raises(InputError, match="n = 0 is too small"):
        af.gaussian.midpoints(0)


@pytest.mark.usefixtures("as_users_run")
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
    # A covariance in float32 is symmetric and semidefinite up to its own rounding.
    single = np.float32(rng.normal(size=(20, 3, 2)))
    assert np.isfinite(af.measures.gaussian_w2(a, b, single @ np.swapaxes(single, 1, 2), T)).all()
    with pytest.raises(InputError, match="leading axes"):
        af.measures.gaussian_w2(np.zeros((2, 3)), np.zeros((4, 3)), S, T)
    with pytest.raises(InputError, match="eigenvalue -1; a covariance has none below zero"):
        af.measures.gaussian_w2([0.0], [0.0], [[-1.0]], [[1.0]])


@pytest.mark.usefixtures("as_users_run")
def test_cone_coordinates():
    np.testing.assert_allclose(af.gaussian.cone_coordinates([[[1.0, 0.3], [0.3, 0.7]]]), [[0.3, 0.6, 1.7]])
    with pytest.raises(InputError, match="in the plane"):
        af.gaussian.cone_coordinates(np.eye(3))


def test_a_widely_spread_score_warns(recwarn):
    arguments = {"l2": (Q, K, V), "t1": 1.0, "trusted_spread": 0.7}
    with pytest.warns(AttnflowWarning, match="reaches 1.04: beyond 0.7"):
        run = flow(**arguments, alpha=ALPHA)
    np.testing.assert_allclose(run.info["score_spread"][0], np.linalg.norm(2 * L.T @ K.T @ Q @ L, 2))
    flow(**arguments, factor=0.5 * L)
    assert not recwarn


def test_runs_are_saved_and_cited(tmp_path):
    run = flow(softmax=(A, V), alpha=ALPHA, t1=0.5)
    run.save(tmp_path / "run.nc")
    read = af.load(tmp_path / "run.nc")
    np.testing.assert_array_equal(af.gaussian.covariance(read), af.gaussian.covariance(run))
    assert af.gaussian.outcome(read) == "horizon" and "2501.18322" in af.cite(run) and af.cite(read) == af.cite(run)
    assert jax.tree.all(jax.tree.map(np.array_equal, read.model, run.model))
    assert repr(read) == repr(run) and read.provenance["limits"] == []


@pytest.mark.usefixtures("as_users_run")
def test_derivatives_are_in_reverse_mode():
    with pytest.raises(InputError, match=r"take jax\.grad or"):
        jax.jvp(lambda a: af.gaussian.flow(af.Softmax(), a, SIGMA, t1=1.0).xs, (ALPHA,), (ALPHA,))


def test_an_array_keeps_its_precision():
    mean, factor = law(np.zeros(3, "float32"), np.float32(in_space(SIGMA)), None)
    assert mean.dtype == factor.dtype == np.float32
    np.testing.assert_allclose(factor @ factor.T, in_space(SIGMA), atol=1e-6)
    assert law([0, 0, 0], None, np.eye(3, dtype=int))[1].dtype == np.float64


@pytest.mark.parametrize(
    ("change", "message"),
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
        ({"ceiling": np.inf}, "ceiling = inf"),
        ({"ceiling": None}, "ceiling is missing"),
        ({"throw": "no"}, "throw = 'no' is neither True nor False"),
        ({"solver": np.ones(2)}, "is unknown"),
        ({"max_steps": 0}, "max_steps = 0 is too small"),
        ({"t1": None}, "final time is missing"),
        ({"ts": ["late"]}, r"ts = \['late'\] is not"),
        ({"alpha0": np.zeros((0, 2))}, "hold no law"),
        ({"L0": np.eye(2)}, "one of the two"),
        ({"t1": -1.0}, "t1 > t0"),
        ({"feedforward": 3.0}, "pair"),
        ({"feedforward": (np.eye(3), None)}, r"W has shape \(3, 3\)"),
        ({"attention": "softmax"}, "no attention map"),
        ({"attention": af.Softmax(V=np.ones((3, 2)))}, "square V"),
        ({"attention": af.Softmax(B=np.eye(3))}, "for tokens of dimension 2"),
    ],
)
@pytest.mark.usefixtures("as_users_run")
def test_flow_refuses_in_a_sentence(change, message):
    arguments = {"attention": af.Softmax(), "alpha0": ZERO, "Sigma0": SIGMA, "t1": 1.0, **change}
    with pytest.raises(InputError, match=message):
        af.gaussian.flow(**arguments)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: closed_form.covariance([0.1], ONE, B=ONE, beta="1"), "beta = '1'"),
        (lambda: closed_form.blow_up_time(ONE, B=ONE, beta=np.nan), "beta = nan"),
        (lambda: closed_form.mean([], ZERO, ONE, B=ONE), "ts has shape"),
        (lambda: closed_form.mean(1.0, np.zeros(3), ONE, B=ONE), "alpha0 has shape"),
        (lambda: closed_form.limit(0 * ONE, B=-ONE), "Sigma0 is singular"),
        (lambda: closed_form.with_feedforward(1.0, np.diag([1.0, 0.0]), B=-ONE, W=ONE), "Sigma0 is singular"),
        (lambda: closed_form.line(1.0, v=1, a=1, s0=-1), "s0 = -1"),
        (lambda: closed_form.flat_key_time(q=(1.0,), s11=1, s12=1), "give two numbers"),
        (lambda: closed_form.flat_key_time(q=(1.0, 1.0), s11=1, s12=-0.5), "there is no blow-up"),
        (lambda: af.gaussian.velocity(af.Softmax(), ZERO, ONE, t=np.nan), "t = nan"),
        (lambda: af.gaussian.score_spread(af.Softmax(), np.ones(2)), "give a factor"),
        (lambda: af.gaussian.score_spread("softmax", ONE), "no attention map"),
        (lambda: af.gaussian.energy("run"), "is no run"),
        (lambda: af.gaussian.limits("run"), "no Gaussian flow"),
    ],
)
@pytest.mark.usefixtures("as_users_run")
def test_bad_questions_get_a_sentence(wrong, message):
    with pytest.raises(InputError, match=message):
        wrong()


@pytest.mark.usefixtures("as_users_run")
def test_other_runs_are_no_gaussian_flows():
    run = flow(softmax=(A, V), t1=0.5)
    tokens = dataclasses.replace(run, model=af.SelfAttention(beta=1.0), info={})
    with pytest.raises(InputError, match="no Gaussian flow"):
        af.gaussian.covariance(tokens)
    with pytest.raises(InputError, match="no energy here"):
        af.gaussian.energy(tokens)
    scheduled = GaussianModel(af.Sinkhorn(af.Piecewise([1.0], [1.0, 2.0])))
    with pytest.raises(InputError, match="depends on time"):
        af.gaussian.energy(dataclasses.replace(run, model=scheduled))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_mean_that_runs_away_has_not_come_to_rest(dtype):
    """A Dirac's mean is e^t: the bound on it must be a number of the precision."""
    run = af.gaussian.flow(af.Softmax(1e-3), jnp.ones(1, dtype), jnp.zeros((1, 1), dtype), t1=300.0, throw=False)
    assert af.gaussian.outcome(run) == "exponential"
    t_last, mean = np.asarray(run.info["t_last"], float), np.asarray(run.info["mean_last"], float)
    assert np.log(mean[0]) == pytest.approx(t_last, rel=1e-4)
