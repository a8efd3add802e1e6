"""The attention maps against loops over tokens, limits and closed forms (theory/04, 1.1 and 2.1; theory/03, 1)."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import attnflow as af
from attnflow import registry
from attnflow.errors import InputError

RNG = np.random.default_rng(7)
D, K_ROWS = 3, 2
Q, K = RNG.normal(size=(2, K_ROWS, D))
B, V = RNG.normal(size=(2, D, D))
X, Y = RNG.normal(size=(5, D)), RNG.normal(size=(7, D))
W = RNG.dirichlet(np.ones(7))


# ---------------------------------------------------------------------------------------------- the witnesses


def sigma(s):
    return 1 / (1 + np.exp(-s))


def loop(kind, x, y, w, inside, outside, *, A=None, Q=None, K=None, V=None, g=1.0, bias=0.0, tol=0.0):
    """Gamma(x_i), one query and one key at a time; `inside` is added to the score, exp(`outside`) multiplies."""
    n, m, d = len(x), len(y), x.shape[1]
    Q, K = np.eye(d) if Q is None else Q, np.eye(d) if K is None else K
    A, V = K.T @ Q if A is None else A, np.eye(d) if V is None else V
    out = np.zeros((n, len(V)))
    for i in range(n):
        seen = [j for j in range(m) if np.isfinite(outside[i, j]) and w[j] > 0]
        if not seen:
            continue
        s, mass = {}, {}
        for j in seen:
            s[j] = (-g * np.sum((Q @ x[i] - K @ y[j]) ** 2) if kind == "l2" else (A @ x[i]) @ y[j]) + inside[i, j]
            mass[j] = w[j] * np.exp(outside[i, j])
        if kind == "hardmax":
            best = max(s.values())
            p = {j: mass[j] * (s[j] >= best - tol) for j in seen}
        elif kind == "sigmoid":
            p = {j: mass[j] * sigma(s[j] + bias) for j in seen}
        elif kind == "linear":
            p = {j: mass[j] * s[j] for j in seen}
        else:
            p = {j: mass[j] * np.exp(s[j]) for j in seen}
        total = 1.0 if kind in ("sigmoid", "linear", "unnormalized") else sum(p.values())
        for j in seen:
            out[i] += p[j] / total * (V @ y[j])
    return out


def biases(pairs, n, m):
    """Inside and outside log factors of a pairs object, from its definition."""
    inside, outside = np.zeros((n, m)), np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            if isinstance(pairs, af.pairsums.Full):
                if pairs.skip is not None and pairs.skip[0][i] == pairs.skip[1][j]:
                    outside[i, j] = -np.inf
                continue
            lag = i + m - n - j
            if lag < 0 or (pairs.strict and lag == 0):
                outside[i, j] = -np.inf
            elif pairs.slope is not None:
                inside[i, j] = -float(pairs.slope) * lag
    return inside, outside


MAPS = {
    "softmax": (af.Softmax(0.8, B=B, V=V), dict(A=0.8 * B.T, V=V)),
    "unnormalized": (af.Unnormalized(0.3, Q=Q, K=K, V=V), dict(A=0.3 * K.T @ Q, V=V)),
    "hardmax": (af.Hardmax(B=B, V=V, tol=0.5), dict(A=B.T, V=V, tol=0.5)),
    "l2": (af.L2(0.4, V=V, Q=Q, K=K), dict(Q=Q, K=K, V=V, g=0.4)),
    "sigmoid": (af.Sigmoid(1.5, bias=-0.7, B=B, V=V), dict(A=1.5 * B.T, V=V, bias=-0.7)),
    "linear": (af.Linear(0.6, Q=Q, K=K, V=V), dict(A=0.6 * K.T @ Q, V=V)),
}
PAIRS = {
    "full": lambda n, m: af.pairsums.Full(),
    "self term skipped": lambda n, m: af.pairsums.Full(skip=(np.arange(n), np.arange(m))),
    "causal": lambda n, m: af.Causal(),
    "strict": lambda n, m: af.Causal(strict=True),
    "alibi": lambda n, m: af.Causal(slope=0.3),
}


@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("pairs", PAIRS)
def test_map_is_its_formula(kind, pairs):
    attention, constants = MAPS[kind]
    light = W * (np.arange(7) != 2)
    for x, y, w in ((X, Y, W), (Y, Y, None), (Y, Y, light / light.sum())):
        p = PAIRS[pairs](len(x), len(y))
        inside, outside = biases(p, len(x), len(y))
        expected = loop(kind, x, y, np.full(7, 1 / 7) if w is None else w, inside, outside, **constants)
        actual = attention(jnp.asarray(x), jnp.asarray(y), None if w is None else jnp.asarray(w), pairs=p)
        np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("kind", MAPS)
def test_engines_agree(kind):
    attention, _ = MAPS[kind]
    velocity = [attention(*map(jnp.asarray, (Y, Y, W)), pairs=af.Causal(), kernel=k) for k in ("dense", "blocked")]
    np.testing.assert_allclose(*velocity, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", MAPS)
def test_nothing_to_attend_to_is_velocity_zero_with_zero_gradient(kind):
    attention, _ = MAPS[kind]
    y = jnp.asarray(Y)
    alone = af.pairsums.Full(skip=jnp.zeros(7, int))  # all tokens carry the same label
    strict = af.Causal(strict=True)  # the first token has no keys
    for pairs, rows in ((alone, slice(None)), (strict, slice(1))):
        assert not np.any(attention(y, y, jnp.asarray(W), pairs=pairs)[rows])
        slopes = jax.jacrev(lambda x, w, pairs=pairs: attention(x, x, w, pairs=pairs), argnums=(0, 1))
        for gradient in jax.jit(slopes)(y, jnp.asarray(W)):
            assert not np.any(gradient[rows]) and np.isfinite(gradient).all()


@pytest.mark.parametrize("kind", MAPS)
@pytest.mark.parametrize("space", [af.Sphere(), af.Euclidean()], ids=["sphere", "euclidean"])
def test_map_is_a_field_on_both_spaces(kind, space):
    attention, constants = MAPS[kind]
    x0 = jnp.asarray(Y / np.linalg.norm(Y, axis=1)[:, None])
    model = af.SelfAttention(attention, space=space)
    expected = loop(kind, np.asarray(x0), np.asarray(x0), np.full(7, 1 / 7), *np.zeros((2, 7, 7)), **constants)
    np.testing.assert_allclose(af.models.field(model, 0.0, x0), space.project(x0, jnp.asarray(expected)), atol=1e-12)


@pytest.mark.parametrize("kind", MAPS)
def test_map_keeps_precision_batches_and_differentiates(kind):
    attention, _ = MAPS[kind]
    y = jnp.asarray(Y)
    assert jax.eval_shape(attention, y.astype(jnp.float32), y.astype(jnp.float32)).dtype == jnp.float32
    several = jax.jit(jax.vmap(lambda x: attention(x, x)))(jnp.stack([y, 2 * y]))
    np.testing.assert_allclose(several[1], attention(2 * y, 2 * y), rtol=1e-12)
    gradient = eqx.filter_jit(eqx.filter_grad(lambda a: jnp.sum(a(y, y) ** 2)))(attention)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))


# ---------------------------------------------------------------------------------------------- hardmax


def test_hardmax_of_equal_scores_is_the_weighted_mean():
    y, w = jnp.asarray(Y), jnp.asarray(W)
    for attention, x in ((af.Hardmax(B=np.zeros((D, D))), X), (af.Hardmax(), np.zeros((2, D)))):
        np.testing.assert_allclose(attention(jnp.asarray(x), y, w), np.tile(W @ Y, (len(x), 1)), rtol=1e-14)


def test_hardmax_ties_average_with_weights():
    y = jnp.asarray([[1.0, 1], [1, 1], [1, -1], [0.5, 0]])
    mean = af.Hardmax()(y, y)[3]
    # theory/03, 1.4: a duplicated vertex wins the tie two to one; the first step with alpha = 1/2 is to (2/3, 1/9).
    np.testing.assert_allclose((y[3] + 0.5 * mean) / 1.5, [2 / 3, 1 / 9], rtol=1e-15)
    merged = af.Hardmax()(y[1:], y[1:], jnp.asarray([0.5, 0.25, 0.25]))
    np.testing.assert_allclose(merged[2], mean, rtol=1e-15)
    without = af.Hardmax()(y[3:], y, jnp.asarray([0.0, 0, 0.5, 0.5]))  # a key without weight does not compete
    np.testing.assert_array_equal(without[0], [1, -1])


def test_hardmax_tolerance_is_absolute():
    y = jnp.asarray([[10.0], [9.5], [1.0]])
    x = jnp.asarray([[1.0], [2.0]])
    for tol, expected in ((0.0, [10, 10]), (0.5, [9.75, 10]), (1.0, [9.75, 9.75])):
        np.testing.assert_array_equal(af.Hardmax(tol=tol)(x, y)[:, 0], expected)


def test_hardmax_emerging_leader():
    """theory/03, 1.3, T-emerge: index 1 becomes a leader at layer 1 and stays at (-1/18, 5/36)."""
    z = jnp.asarray(
        [[1, 1 / 3], [-1 / 12, 1 / 12], [-1, -1], [0, 1 / 4], [-0.3, -0.7], [-0.6, -0.9], [0.8, 0.1], [0.6, 0.15]]
    )
    for _ in range(30):
        z = (z + 0.5 * af.Hardmax()(z, z)) / 1.5
    np.testing.assert_allclose(z[1], [-1 / 18, 5 / 36], rtol=1e-13)
    np.testing.assert_allclose(z[3], [1, 1 / 3], atol=1e-4)


def test_softmax_tends_to_hardmax():
    x, y, w = jnp.asarray(X), jnp.asarray(Y), jnp.asarray(W)
    hard = af.Hardmax(B=B, V=V)(x, y, w)
    scores = np.sort(X @ B @ Y.T, axis=1)
    gap = np.min(scores[:, -1] - scores[:, -2])
    for beta in (10.0, 30.0, 1e4):
        soft = af.Softmax(beta, B=B, V=V)(x, y, w)
        bound = 2 * np.abs(Y @ V.T).max() * np.exp(-beta * gap) / W.min()  # mass off the best key times the range
        assert np.abs(soft - hard).max() <= bound + 1e-14
    assert np.abs(soft - hard).max() < 1e-14


# ---------------------------------------------------------------------------------------------- L2


def test_l2_is_gaussian_mean_shift():
    epsilon, g = 0.37, 1.9
    scale = np.eye(D) / np.sqrt(2 * epsilon * g)
    shifted = af.L2(g, Q=scale, K=scale)(jnp.asarray(X), jnp.asarray(Y))
    kernel = np.exp(-np.sum((X[:, None] - Y[None]) ** 2, axis=-1) / (2 * epsilon))
    np.testing.assert_allclose(shifted, kernel @ Y / kernel.sum(axis=1, keepdims=True), rtol=1e-12)


def test_l2_on_the_sphere_is_softmax_at_twice_the_temperature():
    x = jnp.asarray(Y / np.linalg.norm(Y, axis=1)[:, None])
    np.testing.assert_allclose(af.L2(2.5)(x, x), af.Softmax(5.0)(x, x), rtol=1e-12)


def test_l2_by_difference_keeps_digits_far_from_the_origin():
    y = jnp.asarray(Y)
    near, far = af.L2(2.0)(y, y), y + 1e7
    exact = af.L2(2.0, by_difference=True)(far, far) - 1e7
    expanded = af.L2(2.0)(far, far) - 1e7
    assert np.abs(exact - near).max() < 1e-7  # the digits that y + 1e7 itself has
    assert np.abs(expanded - near).max() > 1e-3
    np.testing.assert_allclose(af.L2(2.0, by_difference=True)(y, y), near, rtol=1e-12)


# ---------------------------------------------------------------------------------------------- sigmoid, linear


def test_sigmoid_with_minus_log_n_tends_to_unnormalised():
    n = 10_000
    x, y = X[:, :2], np.random.default_rng(1).normal(size=(n, 2))
    limit = af.Unnormalized(0.5)(jnp.asarray(x), jnp.asarray(y))
    plain = af.Sigmoid(0.5, bias=-np.log(n))(jnp.asarray(x), jnp.asarray(y), jnp.ones(n))  # weights one: a plain sum
    # n sigma(s - log n) = e^s / (1 + e^s / n), so a weight is too small by at most e^{2s} / n.
    bound = np.mean(np.exp(2 * 0.5 * x @ y.T)[:, :, None] * np.abs(y), axis=1) / n
    assert np.all(np.abs(plain - limit) <= bound) and bound.max() < 1e-2


def test_linear_in_linear_time_is_the_sum_over_pairs():
    attention = MAPS["linear"][0]
    x, y, w = jnp.asarray(X), jnp.asarray(Y), jnp.asarray(W)
    skip_nobody = af.pairsums.Full(
        skip=(jnp.arange(5), jnp.arange(5, 12))
    )  # goes through the pairs, and leaves none out
    np.testing.assert_allclose(attention(x, y, w), attention(x, y, w, pairs=skip_nobody), rtol=1e-12)
    np.testing.assert_allclose(attention(x, y), attention(x, y, pairs=skip_nobody), rtol=1e-12)
    second_moment = sum(W[j] * np.outer(Y[j], Y[j]) for j in range(7))
    np.testing.assert_allclose(attention(x, y, w), X @ (V @ second_moment @ (0.6 * K.T @ Q)).T, rtol=1e-12)


def test_linear_makes_no_square_array():
    attention = af.Linear()
    memory = jax.jit(lambda x: attention(x, x)).lower(jnp.zeros((100_000, 3))).compile().memory_analysis()
    assert memory.temp_size_in_bytes < 2e7


# ---------------------------------------------------------------------------------------------- Gaussian closures

# theory/04, base case B0 and rows P3, P5 of its acceptance table: Gamma(x) = c + G (x - alpha) on a Gaussian.
QG, KG = np.array([[0.6, 0.2], [-0.1, 0.5]]), np.array([[0.5, -0.3], [0.2, 0.4]])
VG = np.array([[0.4, -0.5], [0.3, 0.2]])
ALPHA, SIGMA = np.array([0.3, -0.2]), np.array([[1.0, 0.3], [0.3, 0.7]])
MOMENT = SIGMA + np.outer(ALPHA, ALPHA)
CLOSURES = {
    "softmax": (
        af.Softmax(1.0, Q=QG, K=KG, V=VG),
        [[0.1206, 0.0178], [0.0502, 0.1042]],
        [0.25262, 0.04422],
        1e-12,
    ),
    "l2": (
        af.L2(1.0, V=VG, Q=QG, K=KG),
        [[0.17325873, 0.01360197], [0.05907554, 0.1386505]],
        [0.20985841, 0.01597041],
        1e-7,
    ),
    "linear": (af.Linear(1.0, Q=QG, K=KG, V=VG), VG @ MOMENT @ KG.T @ QG, VG @ MOMENT @ KG.T @ QG @ ALPHA, 1e-12),
}


@pytest.mark.parametrize("kind", CLOSURES)
def test_gaussian_closure_by_quadrature(kind):
    """The weighted cloud of a trapezoid rule is the Gaussian, to round-off: the closure to the digits printed."""
    attention, G, c, tolerance = CLOSURES[kind]
    grid = np.arange(-9, 9.1, 0.6)
    z = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    w = np.exp(-np.sum(z**2, axis=1) / 2)
    y = ALPHA + z @ np.linalg.cholesky(SIGMA).T
    actual = attention(jnp.asarray(X[:, :2]), jnp.asarray(y), jnp.asarray(w / w.sum()))
    np.testing.assert_allclose(actual, np.asarray(c) + (X[:, :2] - ALPHA) @ np.asarray(G).T, rtol=0, atol=5 * tolerance)


@pytest.mark.parametrize("kind", CLOSURES)
def test_gaussian_closure_by_sampling(kind):
    """A random cloud misses the closure by the central limit theorem's standard error, computed from the cloud."""
    attention, G, c, _ = CLOSURES[kind]
    n = 20_000
    y = ALPHA + np.random.default_rng(3).normal(size=(n, 2)) @ np.linalg.cholesky(SIGMA).T
    x = X[:, :2]
    actual = np.asarray(attention(jnp.asarray(x), jnp.asarray(y)))
    scores = x @ QG.T @ KG @ y.T
    if kind == "linear":
        errors = np.std(scores[:, :, None] * (y @ VG.T), axis=1) / np.sqrt(n)
    else:
        if kind == "l2":
            scores = -np.sum((x @ QG.T)[:, None] ** 2, axis=-1) + 2 * scores - np.sum((y @ KG.T) ** 2, axis=-1)
        p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        errors = np.sqrt(np.sum(p[:, :, None] ** 2 * (y @ VG.T - actual[:, None]) ** 2, axis=1))
    expected = np.asarray(c) + (x - ALPHA) @ np.asarray(G).T
    assert np.abs((actual - expected) / errors).max() < 4.5  # ten numbers
    assert errors.max() < 0.05


# ---------------------------------------------------------------------------------------------- registry, words


def test_every_map_is_registered_and_exported():
    entries = registry.entries("attention")
    assert {*MAPS, "sinkhorn", "multi-head"} <= set(entries)
    x = jnp.asarray(Y / np.linalg.norm(Y, axis=1)[:, None])
    for name, entry in entries.items():
        attention = entry.build()
        assert isinstance(attention, af.attention.AbstractAttention)
        assert np.isfinite(attention(x, x)).all()
        assert getattr(af, type(attention).__name__) is type(attention)
        assert entry.papers and "@" in af.cite(attention)
        assert {"permutation", "splitting"} <= entry.symmetries, name


def test_runs_of_every_map_are_stored(tmp_path):
    x0 = af.sphere.uniform(n=4, d=D, key=jax.random.key(0))
    model = af.SelfAttention(MAPS["l2"][0])
    run = af.simulate(model, x0, t1=0.1, dt=0.1, solver="euler-retract", save=2)
    np.testing.assert_allclose(run.xs[1], model.space.retract(x0, 0.1 * model.attention(x0, x0)), rtol=1e-12)
    for attention, _ in MAPS.values():
        dataclasses.replace(run, model=af.SelfAttention(attention)).save(tmp_path / "run.nc")
        assert eqx.tree_equal(af.load(tmp_path / "run.nc").model.attention, attention)


@pytest.mark.usefixtures("as_users_run")
def test_bad_parameters_are_refused_in_a_sentence():
    for make, words in (
        (lambda: af.Hardmax(tol=-1.0), "tol = -1 is negative"),
        (lambda: af.L2(g=-2.0), "g = -2 is negative"),
        (lambda: af.L2(g=None), "g is missing"),
        (lambda: af.Sigmoid(beta=-1.0), "beta = -1 is negative"),
        (lambda: af.Sigmoid(bias=None), "bias is missing"),
        (lambda: af.Linear(B=[1.0, 2.0]), "give a matrix"),
        (lambda: af.Hardmax(Q=np.eye(2)), "K is missing"),
        (lambda: af.L2(V=np.nan * np.eye(2)), "not finite"),
    ):
        with pytest.raises(InputError, match=words):
            make()
