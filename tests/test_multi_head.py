"""Multi-head attention over any of the maps (theory/04, 1.1, 2.1 and 3)."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import attnflow as af
from attnflow import registry
from attnflow.errors import InputError

RNG = np.random.default_rng(11)
N, D = 6, 4
Y, X = RNG.normal(size=(N, D)), RNG.normal(size=(3, D))
W = RNG.dirichlet(np.ones(N))
MATRICES = RNG.normal(size=(12, D, D)) / 2


def softmax(beta, B, V, x=Y, mask=0.0):
    p = W * np.exp(beta * x @ B @ Y.T + mask)
    return p / p.sum(axis=1, keepdims=True) @ Y @ V.T


def test_heads_are_summed():
    B, V, out = MATRICES[0:3], MATRICES[3:6], MATRICES[6:9]
    heads = [af.Softmax(0.5 + h, B=B[h], V=V[h]) for h in range(3)]
    causal = np.where(np.tri(N) > 0, -0.2 * np.subtract.outer(np.arange(N), np.arange(N)), -np.inf)
    y, w = jnp.asarray(Y), jnp.asarray(W)
    for pairs, mask in ((af.pairsums.Full(), 0.0), (af.Causal(slope=0.2), causal)):
        each = np.stack([softmax(0.5 + h, B[h], V[h], mask=mask) for h in range(3)])
        for output, expected in (
            (None, each.sum(axis=0)),
            ([0.2, 0.3, 0.5], np.tensordot([0.2, 0.3, 0.5], each, 1)),
            (out, sum(each[h] @ out[h].T for h in range(3))),
        ):
            actual = af.MultiHead(heads, output)(y, y, w, pairs=pairs)
            np.testing.assert_allclose(actual, expected, rtol=1e-11, atol=1e-13)
    actual = af.MultiHead(heads)(jnp.asarray(X), y, w)
    np.testing.assert_allclose(actual, sum(softmax(0.5 + h, B[h], V[h], X) for h in range(3)), rtol=1e-11)


def test_heads_of_all_maps():
    B, V = MATRICES[:2]
    heads = [
        af.Softmax(0.7, B=B, V=V),
        af.Sinkhorn(0.7, B=B),
        af.Hardmax(B=B),
        af.Softmax(1.1, B=MATRICES[2], V=V),
        af.L2(0.3, V=V),
        af.Sigmoid(0.5, bias=-1.0),
        af.Linear(0.2),
        af.Unnormalized(0.1, shifted=True),
        af.Sinkhorn(0.3, B=MATRICES[3]),
        af.Sinkhorn(0.3, B=B, half_steps=3),
        af.MultiHead([af.Softmax(), af.Softmax(2.0)]),
    ]
    y, w = jnp.asarray(Y), jnp.asarray(W)
    many = af.MultiHead(heads, W=np.arange(1.0, 12))
    expected = sum((h + 1) * head(y, y, w) for h, head in enumerate(heads))
    np.testing.assert_allclose(many(y, y, w), expected, rtol=1e-11)
    assert many.clock == "multi-head" and af.MultiHead(heads[:3]).clock == "SA"
    assert "castin" in af.cite(many).lower()
    with pytest.raises(InputError, match="one score per head"):
        _ = many.score


def test_no_loop_over_heads_that_share_their_structure():
    """The program of sixteen heads has as many matrix products as that of two."""

    def products(H):
        attention = af.MultiHead([af.Softmax(1.0, B=MATRICES[h % 12], V=MATRICES[0]) for h in range(H)], W=[1.0] * H)
        return str(jax.make_jaxpr(lambda x: attention(x, x))(jnp.asarray(Y))).count("dot_general")

    assert products(16) == products(2)


def test_narrow_heads():
    """V_h is (k, d), W_h is (d, k); widths may differ between heads."""
    V, out = RNG.normal(size=(2, 1, D)), RNG.normal(size=(2, D, 1))
    y, w = jnp.asarray(Y), jnp.asarray(W)
    heads = [af.Softmax(0.5, Q=RNG.normal(size=(1, D)), K=RNG.normal(size=(1, D)), V=V[h]) for h in range(2)]
    folded = [eqx.tree_at(lambda a: a.V, heads[h], jnp.asarray(out[h] @ V[h])) for h in range(2)]
    np.testing.assert_allclose(af.MultiHead(heads, out)(y, y, w), af.MultiHead(folded)(y, y, w), rtol=1e-12)
    wide = af.Softmax(0.3, V=MATRICES[0])
    mixed = af.MultiHead([heads[0], wide], [out[0], MATRICES[1]])
    expected = folded[0](y, y, w) + wide(y, y, w) @ MATRICES[1].T
    np.testing.assert_allclose(mixed(y, y, w), expected, rtol=1e-12)


def test_split_of_full_matrices():
    """Head h owns rows h k ... of Q, K, V and W; with W = I it moves its own coordinates alone (theory/04, 3)."""
    Q, K, V, out = MATRICES[:4]
    y = jnp.asarray(Y)
    for output in (None, out):
        attention = af.MultiHead.split(2, Q=Q, K=K, V=V, W=output)
        expected = np.zeros((N, D))
        for rows in (slice(0, 2), slice(2, 4)):
            scores = (Y @ Q[rows].T) @ (Y @ K[rows].T).T / np.sqrt(2)
            p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
            expected += p @ Y @ V[rows].T @ (np.eye(D) if output is None else output)[rows]
        np.testing.assert_allclose(attention(y, y), expected, rtol=1e-12)
    alone = af.MultiHead.split(2, Q=Q, K=K, V=V * np.array([1, 1, 0, 0])[:, None])
    assert not np.any(alone(y, y)[:, 2:])
    with pytest.raises(InputError, match="do not split into H = 3 heads"):
        af.MultiHead.split(3, Q=Q, K=K, V=V)


def test_gaussian_closure_of_two_heads():
    """Gamma(x) = sum_h V_h (I + Sigma A_h) alpha + V_h Sigma A_h (x - alpha) on a Gaussian: the base case B0."""
    A = np.array([[[0.28, 0.2], [-0.22, 0.14]], [[-0.3, 0.2], [0.1, 0.25]]])
    V = np.array([[[0.4, -0.5], [0.3, 0.2]], [[0.2, 0.1], [-0.3, 0.3]]])
    alpha, sigma = np.array([0.3, -0.2]), np.array([[1.0, 0.3], [0.3, 0.7]])
    grid = np.arange(-9, 9.1, 0.6)
    z = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    w = np.exp(-np.sum(z**2, axis=1) / 2)
    y = alpha + z @ np.linalg.cholesky(sigma).T
    attention = af.MultiHead([af.Softmax(1.0, B=A[h].T, V=V[h]) for h in range(2)])
    actual = attention(jnp.asarray(X[:, :2]), jnp.asarray(y), jnp.asarray(w / w.sum()))
    expected = sum((alpha + X[:, :2] @ (sigma @ A[h]).T) @ V[h].T for h in range(2))
    np.testing.assert_allclose(actual, expected, atol=1e-10)


def test_sinkhorn_heads_are_warm_started():
    y, w = jnp.asarray(Y), jnp.asarray(W)
    heads = [af.Sinkhorn(0.4, B=MATRICES[0]), af.Softmax(), af.Sinkhorn(0.6, B=MATRICES[1])]
    attention = af.MultiHead(heads)
    state = attention.warm(y, w, None)
    np.testing.assert_allclose(state[0], [heads[0].warm(y, w, None), heads[2].warm(y, w, None)], rtol=1e-12)
    assert jax.tree.structure(attention.warm(y, w, state)) == jax.tree.structure(state)
    np.testing.assert_allclose(attention(y, y, w, state=state), attention(y, y, w), atol=1e-7)
    assert not jax.tree.leaves(af.MultiHead([af.Softmax()]).warm(y, w, None))
    x0 = jnp.asarray(Y / np.linalg.norm(Y, axis=1)[:, None])
    model = af.SelfAttention(attention)
    run = af.simulate(model, x0, t1=0.1, dt=0.1, solver="euler-retract", save=1)
    np.testing.assert_allclose(run.xs[-1], model.space.retract(x0, 0.1 * attention(x0, x0)), atol=1e-8)


def test_schedules_gradients_and_storage(tmp_path):
    x0 = jnp.asarray(Y / np.linalg.norm(Y, axis=1)[:, None])
    heads = [af.Softmax(af.Piecewise([0.5], [1.0, 3.0]), B=MATRICES[0]), af.Softmax(2.0, B=MATRICES[1]), af.Hardmax()]
    attention = af.MultiHead(heads, W=MATRICES[:3])
    model = af.SelfAttention(attention, space=af.Euclidean())
    late = af.MultiHead([af.Softmax(3.0, B=MATRICES[0]), *heads[1:]], W=MATRICES[:3])
    np.testing.assert_allclose(model.force(0.7, x0, None), late(x0, x0), rtol=1e-12)
    gradient = eqx.filter_jit(eqx.filter_grad(lambda a: jnp.sum(a(x0, x0) ** 2)))(late)
    assert all(np.isfinite(g).all() and np.any(g) for g in (gradient.W, gradient.heads[0].B, gradient.heads[1].beta))
    run = af.simulate(af.SelfAttention(late), x0, t1=0.1, dt=0.1, solver="euler", save=2)
    run.save(tmp_path / "run.nc")
    assert eqx.tree_equal(af.load(tmp_path / "run.nc").model.attention, late)


def test_nothing_to_attend_to():
    y, w = jnp.asarray(Y), jnp.asarray(W)
    attention = af.MultiHead([af.Softmax(), af.Softmax(2.0), af.Linear()])
    velocity = jax.jit(lambda x: attention(x, x, w, pairs=af.Causal(strict=True)))
    gradient = jax.jit(jax.jacrev(velocity))(y)
    assert not np.any(velocity(y)[0]) and not np.any(gradient[0]) and np.isfinite(gradient).all()


def test_registered_heads_stand_at_several_temperatures():
    entry = registry.get("attention", "multi-head")
    attention = entry.build(heads=3, beta=2.0, spread=3.0)
    y = jnp.asarray(Y)
    expected = sum(af.Softmax(b)(y, y) for b in (2.0, 6.0, 18.0)) / 3
    np.testing.assert_allclose(attention(y, y), expected, rtol=1e-12)
    rotation = np.linalg.qr(MATRICES[0])[0]  # the matrices are isotropic: the map turns with the tokens
    np.testing.assert_allclose(attention(y @ rotation, y @ rotation), attention(y, y) @ rotation, rtol=1e-10)


@pytest.mark.usefixtures("as_users_run")
def test_bad_heads_are_refused_in_a_sentence():
    for make, words in (
        (lambda: af.MultiHead([]), "give at least one"),
        (lambda: af.MultiHead([1.0]), "not attention maps"),
        (lambda: af.MultiHead([af.Softmax()], W=[1.0, 2.0]), "for 1 heads"),
        (lambda: af.MultiHead([af.Softmax()], W=[[1.0, 2.0]]), "one number or one matrix per head"),
        (lambda: af.MultiHead([af.Softmax()], W=3.0), "one per head"),
        (lambda: af.MultiHead([af.Softmax()], W=[np.nan]), "not finite"),
    ):
        with pytest.raises(InputError, match=words):
            make()
