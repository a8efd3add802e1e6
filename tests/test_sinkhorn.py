"""Sinkhorn attention: its plan, its iteration, its derivative, its energy (theory/04, 1.2, 2.1 and 2.3)."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import attnflow as af
from attnflow.errors import InputError, SolveError

RNG = np.random.default_rng(5)
N, D = 7, 3
B, V = RNG.normal(size=(2, D, D))
Y, X = RNG.normal(size=(N, D)), RNG.normal(size=(4, D))
W = RNG.dirichlet(np.ones(N))
TIGHT = {"tol": 1e-13}


def lse(a, axis):
    top = np.max(a, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0)
    with np.errstate(divide="ignore"):
        return np.log(np.sum(np.exp(a - top), axis=axis)) + np.squeeze(top, axis)


def potentials(S, w, steps):
    """theory/04, 1.2: alternate, row first; `steps` column steps in all."""
    h = np.zeros(len(w))
    for _ in range(steps):
        f = -lse(S + h[None, :] + np.log(w)[None, :], 1)
        f = np.where(np.isfinite(f), f, 0)
        h = -lse(S + f[:, None] + np.log(w)[:, None], 0)
        h = np.where(np.isfinite(h), h, 0)
    return -lse(S + h[None, :] + np.log(w)[None, :], 1), h


def plan(S, w, steps=4000):
    f, h = potentials(S, w, steps)
    f = np.where(np.isfinite(f), f, 0)
    return w[None, :] * np.exp(S + f[:, None] + h[None, :])


def matrix(attention, y, w, **options):
    """The attention matrix: the velocity for the identity as values, read off basis vectors."""
    h = attention.potentials(y, w, **options).h
    log_w = jnp.log(w) if w is not None else jnp.full(len(y), -jnp.log(len(y)))
    return af.pairsums.pair_weights(attention.score, y, y, log_w=log_w + h, **options)


# ---------------------------------------------------------------------------------------------- the plan


@pytest.mark.parametrize("parameters", [{"beta": 0.7, "B": B}, {"beta": 2.0}], ids=["B", "isotropic"])
@pytest.mark.parametrize("weights", [None, W], ids=["equal", "weighted"])
def test_converged_plan_is_doubly_stochastic(parameters, weights):
    attention = af.Sinkhorn(**parameters, V=V, **TIGHT)
    w = np.full(N, 1 / N) if weights is None else weights
    S = parameters["beta"] * Y @ parameters.get("B", np.eye(D)) @ Y.T
    weights_as_array = None if weights is None else jnp.asarray(weights)
    P = matrix(attention, jnp.asarray(Y), weights_as_array)
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-13)
    np.testing.assert_allclose(w @ P / w, 1, rtol=1e-11)  # mass w_i P_ij received by key j is w_j
    np.testing.assert_allclose(P, plan(S, w), rtol=1e-9)
    np.testing.assert_allclose(
        attention(jnp.asarray(Y), jnp.asarray(Y), weights_as_array), plan(S, w) @ Y @ V.T, rtol=1e-9
    )


def test_potentials_belong_to_the_keys():
    attention = af.Sinkhorn(0.7, B=B, V=V, **TIGHT)
    y, w = jnp.asarray(Y), jnp.asarray(W)
    f, h = potentials(0.7 * Y @ B @ Y.T, W, 4000)
    kappa = W * np.exp(0.7 * X @ B @ Y.T + h)
    expected = kappa / kappa.sum(axis=1, keepdims=True) @ Y @ V.T
    np.testing.assert_allclose(attention(jnp.asarray(X), y, w), expected, rtol=1e-9)
    np.testing.assert_allclose(attention(y[2:4], y, w), attention(y, y, w)[2:4], rtol=1e-12)
    result = attention.potentials(y, w)
    np.testing.assert_allclose((result.f + result.h), f + h, rtol=1e-9)


def test_tokens_without_weight_and_split_tokens_change_nothing():
    for attention in (af.Sinkhorn(0.7, B=B, V=V, **TIGHT), af.Sinkhorn(3.0, **TIGHT)):
        y, w = jnp.asarray(Y), jnp.asarray(W)
        plain = attention(y, y, w)
        more = jnp.concatenate([y, jnp.asarray(X[:1])])
        padded = attention(more, more, jnp.concatenate([w, jnp.zeros(1)]))
        np.testing.assert_allclose(padded[:N], plain, rtol=1e-10)
        twice = jnp.concatenate([y, y[:1]])
        split = attention(twice, twice, jnp.concatenate([w.at[0].multiply(0.3), 0.7 * w[:1]]))
        np.testing.assert_allclose(split[:N], plain, rtol=1e-10)


def test_squared_distance_and_inner_product_give_the_same_plan():
    Q, K = RNG.normal(size=(2, 2, D))
    u, v = Y @ Q.T, Y @ K.T
    squares = -np.sum((u[:, None] - v[None]) ** 2, axis=-1)
    P = matrix(af.Sinkhorn(1.0, Q=Q, K=K, **TIGHT), jnp.asarray(Y), jnp.asarray(W))
    np.testing.assert_allclose(P, plan(squares / 2, W), rtol=1e-8)
    twice = matrix(af.Sinkhorn(2.0, Q=Q, K=K, max_iterations=20_000, **TIGHT), jnp.asarray(Y), jnp.asarray(W))
    np.testing.assert_allclose(twice, plan(squares, W, 20_000), rtol=1e-8)  # A -> 2 K^T Q


# ---------------------------------------------------------------------------------------------- N half-steps

PAIRS = {
    "full": af.pairsums.Full(),
    "self term skipped": af.pairsums.Full(skip=jnp.arange(N)),
    "causal": af.Causal(),
    "strict": af.Causal(strict=True),
    "alibi": af.Causal(slope=0.3),
    "outside": af.Causal(slope=0.3, normalized=True),
}


@pytest.mark.parametrize("pairs", PAIRS)
@pytest.mark.parametrize("half_steps", [1, 5])
def test_half_steps(pairs, half_steps):
    lag = np.subtract.outer(np.arange(N), np.arange(N)).astype(float)
    mask = {
        "full": np.zeros((N, N)),
        "self term skipped": np.where(lag == 0, -np.inf, 0),
        "causal": np.where(lag < 0, -np.inf, 0),
        "strict": np.where(lag <= 0, -np.inf, 0),
        "alibi": np.where(lag < 0, -np.inf, -0.3 * lag),
        "outside": np.where(lag < 0, -np.inf, -0.3 * lag),
    }[pairs]
    attention = af.Sinkhorn(0.7, B=B, V=V, half_steps=half_steps)
    actual = attention(jnp.asarray(Y), jnp.asarray(Y), jnp.asarray(W), pairs=PAIRS[pairs])
    P = plan(0.7 * Y @ B @ Y.T + mask, W, steps=half_steps // 2)
    np.testing.assert_allclose(actual, P @ Y @ V.T, rtol=1e-12, atol=1e-14)
    if half_steps == 1:
        softmax = af.Softmax(0.7, B=B, V=V)(jnp.asarray(Y), jnp.asarray(Y), jnp.asarray(W), pairs=PAIRS[pairs])
        np.testing.assert_array_equal(actual, softmax)


@pytest.mark.usefixtures("as_users_run")
def test_half_steps_converge_and_are_odd():
    y, w = jnp.asarray(Y), jnp.asarray(W)
    limit = af.Sinkhorn(0.2, B=B, V=V, **TIGHT)(y, y, w)
    errors = [np.abs(af.Sinkhorn(0.2, B=B, V=V, half_steps=n)(y, y, w) - limit).max() for n in (1, 9, 101)]
    assert errors[1] < errors[0] / 2 and errors[2] < 1e-9
    assert af.Sinkhorn(half_steps=0).half_steps is None  # what a command line says
    for half_steps in (2, -1, 4):
        with pytest.raises(InputError, match=f"half_steps = {half_steps} does not end on a row step"):
            af.Sinkhorn(half_steps=half_steps)
    with pytest.raises(InputError, match=r"half_steps = 1\.5 is not a whole number"):
        af.Sinkhorn(half_steps=1.5)
    with pytest.raises(InputError, match="max_iterations = 0 allows no iteration"):
        af.Sinkhorn(max_iterations=0)


def test_causal_pairs_with_other_queries():
    """The last queries of a prompt: their rows are those of the whole prompt."""
    y, w = jnp.asarray(Y), jnp.asarray(W)
    for pairs in (af.Causal(slope=0.3), af.Causal(strict=True)):
        attention = af.Sinkhorn(0.7, B=B, V=V, half_steps=3)
        np.testing.assert_allclose(
            attention(y[-2:], y, w, pairs=pairs), attention(y, y, w, pairs=pairs)[-2:], rtol=1e-12
        )
    labels = jnp.arange(N)
    attention = af.Sinkhorn(0.7, B=B, V=V, **TIGHT)
    np.testing.assert_allclose(
        attention(y[:2], y, w, pairs=af.pairsums.Full(skip=(labels[:2], labels))),
        attention(y, y, w, pairs=af.pairsums.Full(skip=labels))[:2],
        rtol=1e-10,
    )


def test_converged_refuses_causal_pairs():
    y = jnp.asarray(Y)
    for pairs in (af.Causal(), af.Causal(slope=0.1), af.Causal().T):
        with pytest.raises(InputError, match="only the identity is triangular with rows and columns"):
            af.Sinkhorn()(y, y, pairs=pairs)
    with pytest.raises(InputError, match="half_steps=3"):
        af.simulate(af.SelfAttention(af.Sinkhorn(), pairs=af.Causal()), Y / np.linalg.norm(Y, axis=1)[:, None], t1=1.0)


# ---------------------------------------------------------------------------------------------- Gaussian data


def trapezoid(d, step=0.5):
    """A weighted cloud that is the standard normal law, to round-off."""
    grid = np.arange(-9, 9.01, step)
    z = np.stack(np.meshgrid(*[grid] * d), axis=-1).reshape(-1, d)
    w = np.exp(-np.sum(z**2, axis=1) / 2)
    return z, w / w.sum()


def test_gaussian_contraction_rates():
    """b = 1: an iteration multiplies the error of the linear map by z^4 = .14590, that of the mean by z^2."""
    z, w = trapezoid(1, 0.25)
    alpha, query = 0.5, jnp.asarray([[-0.5], [0.5], [1.5]])
    slopes, means = [], []
    for half_steps in range(9, 20, 2):
        v = af.Sinkhorn(1.0, half_steps=half_steps)(query, jnp.asarray(alpha + z), jnp.asarray(w))[:, 0]
        slopes.append(float(v[2] - v[1]))
        means.append(float(v[1]))
    rate = (2 / (1 + np.sqrt(5))) ** 4
    assert abs(rate - 0.14590) < 1e-5
    np.testing.assert_allclose((slopes[2] - slopes[1]) / (slopes[1] - slopes[0]), rate, rtol=1e-3)
    np.testing.assert_allclose((means[5] - means[4]) / (means[4] - means[3]), np.sqrt(rate), rtol=1e-2)
    converged = af.Sinkhorn(1.0, **TIGHT)(query, jnp.asarray(alpha + z), jnp.asarray(w))[:, 0]
    np.testing.assert_allclose(converged, alpha + np.sqrt(np.sqrt(rate)) * np.array([-1, 0, 1]), atol=1e-7)


# theory/04, base case B0.
QG, KG = np.array([[0.6, 0.2], [-0.1, 0.5]]), np.array([[0.5, -0.3], [0.2, 0.4]])
VG = np.array([[0.4, -0.5], [0.3, 0.2]])
ALPHA, L = np.array([0.3, -0.2]), np.linalg.cholesky(np.array([[1.0, 0.3], [0.3, 0.7]]))


def test_gaussian_closure():
    """Row P4 of the acceptance table: G and c of converged Sinkhorn attention on a Gaussian."""
    z, w = trapezoid(2, 0.6)
    keep = w > 1e-12
    z, w = z[keep], w[keep] / w[keep].sum()
    actual = af.Sinkhorn(1.0, Q=QG, K=KG, V=VG)(jnp.asarray(X[:, :2]), jnp.asarray(ALPHA + z @ L.T), jnp.asarray(w))
    G = np.array([[0.11150234, 0.01182135], [0.04296649, 0.09687622]])
    np.testing.assert_allclose(actual, np.array([0.22, 0.05]) + (X[:, :2] - ALPHA) @ G.T, atol=1e-7)


def test_gaussian_closure_of_half_steps():
    """The closure of N half-steps (theory/04, 2.1, Sinkhorn-N), evaluated here."""
    z, w = trapezoid(2, 0.6)
    keep = w > 1e-12
    y, w = jnp.asarray(ALPHA + z[keep] @ L.T), jnp.asarray(w[keep] / w[keep].sum())
    A, one = KG.T @ QG, np.eye(2)
    G, c = np.zeros((2, 2)), A @ ALPHA
    for half_steps in (1, 3, 5):
        S = L @ np.linalg.inv(one + L.T @ G @ L) @ L.T
        expected = (ALPHA + S @ c + (X[:, :2] - ALPHA) @ (S @ A).T) @ VG.T
        actual = af.Sinkhorn(1.0, Q=QG, K=KG, V=VG, half_steps=half_steps)(jnp.asarray(X[:, :2]), y, w)
        np.testing.assert_allclose(actual, expected, atol=1e-9)
        T = L @ np.linalg.inv(one + L.T @ (A.T @ S @ A) @ L) @ L.T
        G = A @ T @ A.T
        c = G @ S @ c


# ---------------------------------------------------------------------------------------------- the iteration


def test_averaged_update_contracts_by_a_third_at_every_temperature():
    x = af.sphere.uniform(n=64, d=3, key=jax.random.key(0))
    potentials = eqx.filter_jit(lambda attention: attention.potentials(x))
    for beta in (0.0, 1.0, 30.0, 1e4):
        result = potentials(af.Sinkhorn(beta, tol=1e-9))
        assert result.converged
        assert int(result.iterations) <= 2 + np.log(1e-9 / max(beta, 1)) / np.log(1 / 3)
    result = potentials(af.Sinkhorn(5.0, **TIGHT))
    same = potentials(af.Sinkhorn(5.0, B=np.eye(3), **TIGHT))  # its symmetry is not known: alternating
    np.testing.assert_allclose(same.f[0] + same.h, result.f[0] + result.h, atol=1e-9)
    assert same.iterations > result.iterations


def test_single_precision_converges_to_its_round_off():
    attention = af.Sinkhorn(5.0, B=B)
    result = jax.jit(lambda x: attention.potentials(x))(jnp.asarray(Y, jnp.float32))
    assert result.converged and result.h.dtype == jnp.float32
    exact = attention.potentials(jnp.asarray(Y))
    np.testing.assert_allclose(result.f[0] + result.h, exact.f[0] + exact.h, rtol=1e-4)


def test_warm_start_takes_fewer_iterations():
    y, w = jnp.asarray(Y), jnp.asarray(W)
    for attention in (af.Sinkhorn(0.7, B=B), af.Sinkhorn(4.0)):
        state = attention.warm(y, w, None)
        cold, warm = attention.potentials(y, w), attention.potentials(y, w, state=state)
        assert warm.iterations <= 1 < cold.iterations / 5
        near = attention.potentials(y + 1e-4, w, state=state)
        assert near.iterations < attention.potentials(y + 1e-4, w).iterations
        np.testing.assert_allclose(attention(y, y, w, state=state), attention(y, y, w), atol=1e-7)
        assert not np.any(jax.jit(jax.jacobian(lambda x, a=attention: a.warm(x, w, None)))(y))
    assert af.Sinkhorn(half_steps=3).warm(y, w, None) is None


def test_warm_started_steps_are_the_steps():
    """Of the fixed-step scheme here; the energy test below integrates with the adaptive one."""
    attention = af.Sinkhorn(0.7, B=B, V=V, **TIGHT)
    model = af.SelfAttention(attention)
    x = af.sphere.uniform(n=6, d=D, key=jax.random.key(0))
    run = af.simulate(model, x, t1=0.2, dt=0.02, solver="euler-retract", save=2)
    force = jax.jit(lambda x: model.force(0.0, x, None))
    for _ in range(10):
        x = model.space.retract(x, 0.02 * force(x))
    np.testing.assert_allclose(run.xs[-1], x, atol=1e-11)


# ---------------------------------------------------------------------------------------------- not converging


def test_an_unconverged_plan_is_nan_and_reported():
    y, w = jnp.asarray(Y), jnp.asarray(W)
    slow = af.Sinkhorn(3.0, B=B, max_iterations=2)
    assert np.isnan(slow(y, y, w)).all()
    result = slow.potentials(y, w)
    assert not result.converged and result.iterations == 2
    # Without its self term a token of more than half the weight cannot give it all away: there is no plan.
    heavy, third = jnp.asarray([0.6, 0.2, 0.2]), af.pairsums.Full(skip=jnp.arange(3))
    assert np.isnan(af.Sinkhorn()(y[:3], y[:3], heavy, pairs=third)).all()
    assert np.isfinite(af.Sinkhorn()(y[:3], y[:3], jnp.asarray([0.4, 0.3, 0.3]), pairs=third)).all()


@pytest.mark.parametrize("solver", ["tsit5", "rk4"])
def test_run_ends_where_it_does_not_converge(solver):
    """Colder from t = 1/2 on, too cold for the iterations allowed: what was reached before is kept."""
    x0 = af.sphere.uniform(n=6, d=D, key=jax.random.key(0))
    model = af.SelfAttention(af.Sinkhorn(af.Piecewise([0.5], [0.1, 500.0]), B=B, max_iterations=50))
    options = {"t1": 1.0, "save": 11, "solver": solver, **({} if solver == "tsit5" else {"dt": 0.05})}
    run = af.simulate(model, x0, throw=False, **options)
    assert run.result is af.Outcome.NOT_CONVERGED
    assert np.isfinite(run.xs[:5]).all() and np.isnan(run.xs[7:]).all()
    with pytest.raises(SolveError, match=r"did not converge; raise its max_iterations"):
        af.simulate(model, x0, **options)
    cold = eqx.tree_at(lambda m: m.attention.beta.values, model, jnp.asarray([500.0, 500.0]))
    run = af.simulate(cold, x0, throw=False, **options)  # from the start
    assert run.result is af.Outcome.NOT_CONVERGED and np.isnan(run.xs[1:]).all()


def test_nothing_to_attend_to():
    y, w = jnp.asarray(Y), jnp.asarray(W)
    alone = af.pairsums.Full(skip=jnp.zeros(N, int))
    for attention, pairs, rows in (
        (af.Sinkhorn(0.7, B=B), alone, slice(None)),
        (af.Sinkhorn(0.7, B=B, half_steps=3), af.Causal(strict=True), slice(1)),
    ):
        velocity = jax.jit(lambda x, a=attention, p=pairs: a(x, x, w, pairs=p))
        gradient = jax.jit(jax.jacrev(velocity))(y)
        assert not np.any(velocity(y)[rows]) and not np.any(gradient[rows]) and np.isfinite(gradient).all()
    np.testing.assert_array_equal(af.Sinkhorn()(y[:1], y[:1]), y[:1])  # one token sees itself


# ---------------------------------------------------------------------------------------------- derivatives

CASES = {
    "alternating": (af.Sinkhorn(0.7, B=B, V=V, **TIGHT), af.pairsums.Full()),
    "averaged": (af.Sinkhorn(1.3, V=V, **TIGHT), af.pairsums.Full()),
    "skip": (af.Sinkhorn(0.7, V=V, **TIGHT), af.pairsums.Full(skip=jnp.arange(N))),
    "half-steps": (af.Sinkhorn(0.7, B=B, V=V, half_steps=5), af.Causal(slope=0.2)),
}


@pytest.mark.parametrize("case", CASES)
def test_forward_and_reverse_derivatives(case):
    """In the tokens, the weights and every parameter, against central differences."""
    attention, pairs = CASES[case]
    rng = np.random.default_rng(1)
    c = jnp.asarray(rng.normal(size=(N, D)))
    arrays, static = eqx.partition(attention, eqx.is_inexact_array)

    def value(inputs):
        arrays, x, w = inputs
        return jnp.sum(c * eqx.combine(arrays, static)(x, x, w / jnp.sum(w), pairs=pairs))

    at = (arrays, jnp.asarray(Y), jnp.asarray(W))
    direction = jax.tree.map(lambda a: jnp.asarray(rng.normal(size=a.shape)), at)
    direction = eqx.tree_at(lambda t: t[0].tol, direction, jnp.zeros(()))
    direction = eqx.tree_at(lambda t: t[2], direction, direction[2] * W)
    h = 1e-4
    ahead = jax.jit(lambda at: jax.jvp(value, (at,), (direction,)))  # one program for values and the derivative
    moved = [ahead(jax.tree.map(lambda a, b, s=s: a + s * h * b, at, direction))[0] for s in (-2, -1, 1, 2)]
    difference = (moved[0] - 8 * moved[1] + 8 * moved[2] - moved[3]) / (12 * h)
    _, forward = ahead(at)
    gradient = jax.jit(jax.grad(value))(at)
    reverse = sum(jnp.vdot(a, b) for a, b in zip(jax.tree.leaves(gradient), jax.tree.leaves(direction), strict=True))
    np.testing.assert_allclose(forward, difference, rtol=1e-7)
    np.testing.assert_allclose(reverse, forward, rtol=1e-9)


def test_second_derivative():
    attention = af.Sinkhorn(0.7, B=B, **TIGHT)
    c, v = (jnp.asarray(a) for a in np.random.default_rng(2).normal(size=(2, N, D)))

    @jax.jit
    @jax.value_and_grad
    def slope(s):
        return jax.jvp(lambda x: jnp.vdot(c, attention(x, x)), (jnp.asarray(Y) + s * v,), (v,))[1]

    difference = (slope(1e-4)[0] - slope(-1e-4)[0]) / 2e-4
    np.testing.assert_allclose(slope(0.0)[1], difference, rtol=1e-5)


def test_memory_is_linear_in_the_tokens():
    """Velocity and both derivatives at n = 4096 without an n-by-n array (which would take 134 MB)."""
    attention = af.Sinkhorn(0.7, B=B)
    x = jax.ShapeDtypeStruct((4096, D), jnp.float64)

    def velocity(x):
        return attention(x, x, kernel="blocked")

    def reverse(x):
        return jax.grad(lambda x: jnp.sum(velocity(x) ** 2))(x)

    for fn in (reverse, lambda x: jax.jvp(velocity, (x,), (x,))):
        memory = jax.jit(fn).lower(x).compile().memory_analysis()
        assert memory.temp_size_in_bytes < 40e6


# ---------------------------------------------------------------------------------------------- energy


def test_energy_is_the_best_plan():
    S = 1.3 * Y @ Y.T
    pi = W[:, None] * plan(S, W)
    expected = np.sum(pi * S) - np.sum(pi * np.log(pi / np.outer(W, W)))
    energy = af.Sinkhorn(1.3, **TIGHT).energy(af.Euclidean()).value(jnp.asarray(Y), jnp.asarray(W))
    np.testing.assert_allclose(energy, expected, rtol=1e-10)
    # The independent plan is one of the plans, the optimum is above it.
    assert energy > np.sum(np.outer(W, W) * S)


def test_energy_of_a_gaussian():
    """theory/04, 2.3: sum b z + log(1 - z^2)/2 + <A alpha, alpha>, here d = 1, b = .8, alpha = .5."""
    z, w = trapezoid(1, 0.25)
    b, alpha = 0.8, 0.5
    r = 2 * b / (1 + np.sqrt(1 + 4 * b * b))
    energy = af.Sinkhorn(b, **TIGHT).energy(af.Euclidean()).value(jnp.asarray(alpha + z), jnp.asarray(w))
    np.testing.assert_allclose(energy, b * r + np.log(1 - r * r) / 2 + b * alpha**2, rtol=1e-7)


@pytest.mark.parametrize("sign", [1, -1])
def test_flow_climbs_or_descends_its_energy(sign):
    """Row P11: for V = +A, -A symmetric dE/dt = +2, -2 times the mean square velocity."""
    A = B + B.T
    attention = af.Sinkhorn(1.0, B=A, V=sign * A, **TIGHT)
    model = af.SelfAttention(attention, space=af.Euclidean())
    y, w = jnp.asarray(Y), jnp.asarray(W)
    velocity = attention(y, y, w)
    energy = model.energy().value
    rate = (energy(y + 1e-5 * velocity, w) - energy(y - 1e-5 * velocity, w)) / 2e-5
    np.testing.assert_allclose(rate, sign * 2 * np.sum(W[:, None] * velocity**2), rtol=1e-7)
    assert af.diagnostics.is_gradient_flow(model, D)


def test_energy_along_a_run_on_the_sphere():
    x0 = af.sphere.uniform(n=8, d=3, key=jax.random.key(0))
    run = af.simulate(af.SelfAttention(af.Sinkhorn(3.0)), x0, t1=2.0, weights=RNG.dirichlet(np.ones(8)), save=41)
    energy, rate = af.energy(run), af.diagnostics.dissipation(run)
    assert np.all(np.diff(energy) > 0)
    simpson = 0.1 / 3 * (rate[0:-2:2] + 4 * rate[1:-1:2] + rate[2::2]) / 2
    np.testing.assert_allclose(energy[2::2] - energy[:-2:2], simpson, rtol=1e-4)


def test_energy_is_refused_where_there_is_none():
    for attention, scale, words in (
        (af.Sinkhorn(half_steps=3), None, "no gradient flow; converge them"),
        (af.Sinkhorn(B=B), None, "B is not symmetric"),
        (af.Sinkhorn(), "Ehat", "take E_S"),
        (af.Sinkhorn(V=B), None, r"in R\^d only V = B"),
    ):
        with pytest.raises(InputError, match=words):
            af.SelfAttention(attention, space=af.Euclidean()).energy().scale(scale)


def test_run_is_stored(tmp_path):
    x0 = af.sphere.uniform(n=4, d=D, key=jax.random.key(0))
    run = af.simulate(af.SelfAttention(af.Sinkhorn(half_steps=3)), x0, t1=0.1, dt=0.1, solver="euler", save=2)
    for attention in (run.model.attention, af.Sinkhorn(0.7, B=B, tol=1e-8, max_iterations=77)):
        dataclasses.replace(run, model=af.SelfAttention(attention)).save(tmp_path / "run.nc")
        assert eqx.tree_equal(af.load(tmp_path / "run.nc").model.attention, attention)
