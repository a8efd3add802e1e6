"""Diagnostics against NumPy loops and closed forms; every one takes a run, and arrays with leading axes."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import attnflow as af
import witness
from attnflow.attention import Hardmax, MultiHead, Sinkhorn, Softmax, Unnormalized
from attnflow.diagnostics import _clouds, correlations
from attnflow.diagnostics import attention as rows_of_attention
from attnflow.errors import InputError

N, D = 7, 3
WEIGHTS = np.arange(1, N + 1) / (N * (N + 1) / 2)
RNG = np.random.default_rng(0)
MAPS = {name: entry.build() for name, entry in af.registry.entries("attention").items() if name != "multi-head"}


@pytest.fixture(scope="module")
def run():
    return af.simulate(af.SelfAttention(beta=2.0), witness.weyl(N, D), ts=[0.0, 1.0, 3.0], weights=WEIGHTS)


def with_model(run, attention, pairs=None, space=None, **changes):
    """The same tokens and times, as if another model had moved them."""
    return dataclasses.replace(run, model=af.SelfAttention(attention, space, pairs), **changes)


def equiangular(n, g):
    """Unit rows with all inner products g."""
    return np.linalg.cholesky((1 - g) * np.eye(n) + g)


# Order parameter, pairs, inner products


@pytest.mark.parametrize("g", [-0.1, 0.0, 0.5, 0.999])
def test_order_parameter_of_equiangular_tokens(g):
    np.testing.assert_allclose(af.diagnostics.order_parameter(equiangular(6, g)), np.sqrt((1 + 5 * g) / 6), rtol=1e-12)


def test_order_parameter_along_a_run(run):
    x = np.asarray(run.xs)
    expected = [np.linalg.norm(sum(WEIGHTS[i] * x[t, i] for i in range(N))) for t in range(3)]
    np.testing.assert_allclose(af.diagnostics.order_parameter(run), expected, rtol=1e-12)
    np.testing.assert_allclose(af.diagnostics.order_parameter(run, at=1), expected[1], rtol=1e-12)
    np.testing.assert_allclose(
        af.diagnostics.order_parameter(x[None, :, None], weights=WEIGHTS), np.array(expected)[None, :, None]
    )


def loop_fraction(x, w, delta):
    pairs = [(i, j) for i in range(len(x)) for j in range(len(x)) if i != j]
    return sum(w[i] * w[j] for i, j in pairs if x[i] @ x[j] >= 1 - delta) / sum(w[i] * w[j] for i, j in pairs)


@pytest.mark.parametrize("kernel", ["dense", "blocked", "broadcast"])
def test_pair_fraction(run, kernel):
    x = np.asarray(run.xs)
    expected = [loop_fraction(x[t], WEIGHTS, 0.2) for t in range(3)]
    assert 0 < expected[1] < expected[2]
    np.testing.assert_allclose(af.diagnostics.pair_fraction(run, 0.2, kernel=kernel), expected, rtol=1e-12)
    np.testing.assert_allclose(
        af.diagnostics.pair_fraction(x, 0.2, kernel=kernel)[2], loop_fraction(x[2], np.ones(N), 0.2)
    )


def test_pair_fraction_in_the_extremes():
    np.testing.assert_allclose(af.diagnostics.pair_fraction(equiangular(6, 0.0)), 0.0)
    np.testing.assert_allclose(af.diagnostics.pair_fraction(equiangular(6, 1 - 0.99e-3)), 1.0)
    np.testing.assert_allclose(af.diagnostics.pair_fraction(equiangular(6, 1 - 1.01e-3)), 0.0)
    assert np.isnan(af.diagnostics.pair_fraction(np.ones((1, 1))))


def test_pair_fraction_is_an_observable_of_an_ensemble():
    def sampler(key):
        return af.sphere.uniform(n=5, d=2, key=key)

    options = {"realizations": 6, "ts": [0.5], "key": jax.random.key(3), "dt": 0.25}
    statistics = {
        "met": af.flows.Mean(lambda t, x, w: af.diagnostics.pair_fraction(x, 0.1, weights=w)),
        "last": af.flows.LastState(),
    }
    values = af.ensemble(af.SelfAttention(beta=1.0), sampler, reduce=statistics, **options).values
    expected = np.mean([loop_fraction(x, np.ones(5), 0.1) for x in np.asarray(values["last"])])
    np.testing.assert_allclose(values["met"].mean[-1], expected, rtol=1e-12)


def pair_histogram(x, w, edges):
    off = ~np.eye(len(x), dtype=bool)
    products, mass = np.clip((x @ x.T)[off], -1, 1), np.outer(w, w)[off]
    return np.histogram(products, edges, weights=mass)[0] / mass.sum() / np.diff(edges)


def test_inner_products(run):
    result = af.inner_products(run, bins=12)
    np.testing.assert_allclose(result.edges, np.linspace(-1, 1, 13), atol=1e-15)
    for t in range(3):
        expected = pair_histogram(np.asarray(run.xs[t]), WEIGHTS, result.edges)
        np.testing.assert_allclose(result.density[t], expected, rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(af.inner_products(run, at=t, bins=12).density, expected, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(result.fraction.sum(axis=-1), 1.0)


def test_inner_products_in_tiles(monkeypatch):
    monkeypatch.setattr(correlations, "TILE", 4)  # and 7 tokens do not fill two tiles
    x, edges = RNG.normal(size=(N, 2)), np.array([-1.0, -0.3, 0.2, 0.9])
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    result = af.inner_products(x, bins=edges, normalized=True, weights=WEIGHTS)
    np.testing.assert_allclose(result.density, pair_histogram(unit, WEIGHTS, edges), rtol=1e-9)
    assert result.fraction.sum() < 1  # some pairs are outside the edges


def test_inner_products_of_tokens_that_coincide_are_counted():
    x = np.tile(np.array([0.6, 0.8]), (4, 1))  # |x|^2 is not exactly one
    result = af.inner_products(x, normalized=True, bins=5)
    np.testing.assert_allclose(result.fraction, [0, 0, 0, 0, 1])


def test_inner_products_in_space_span_the_extremes():
    x = RNG.normal(size=(2, 5, 3))
    result = af.inner_products(x, bins=6)
    products = np.array([(c @ c.T)[~np.eye(5, dtype=bool)] for c in x])
    np.testing.assert_allclose([result.edges[0], result.edges[-1]], [products.min(), products.max()])
    np.testing.assert_allclose(result.density, [np.histogram(p, result.edges, density=True)[0] for p in products])


# Attention


def loop_softmax(x, w, beta):
    a = np.zeros((len(x), len(x)))
    for i in range(len(x)):
        for j in range(len(x)):
            a[i, j] = w[j] * np.exp(beta * x[i] @ x[j])
        a[i] /= a[i].sum()
    return a


def test_attention_matrix_of_softmax(run):
    actual = af.attention_matrix(run)
    for t in range(3):
        np.testing.assert_allclose(actual[t], loop_softmax(np.asarray(run.xs[t]), WEIGHTS, 2.0), rtol=1e-12)
    np.testing.assert_allclose(af.attention_matrix(run, at=-1), actual[-1], rtol=1e-12)


@pytest.mark.parametrize("pairs", [af.pairsums.Full(), af.Causal(slope=0.3)], ids=["full", "causal"])
@pytest.mark.parametrize("name", MAPS)
def test_attention_matrix_times_values_is_the_velocity(run, name, pairs):
    attention = MAPS[name]
    if name == "sinkhorn" and isinstance(pairs, af.Causal):
        attention = Sinkhorn(half_steps=3)
    V = jnp.asarray(RNG.normal(size=(D, D)))
    attention = eqx.tree_at(lambda a: a.V, attention, V, is_leaf=lambda leaf: leaf is None)
    x, w = run.xs[0], run.weights
    a = af.attention_matrix(with_model(run, attention, pairs), at=0)
    velocity = eqx.filter_jit(attention)(x, x, w, pairs=pairs)
    np.testing.assert_allclose(a @ x @ V.T, velocity, rtol=1e-9, atol=1e-12)
    if isinstance(pairs, af.Causal):
        assert not np.triu(np.asarray(a), 1).any()
    if name in ("softmax", "l2", "hardmax", "sinkhorn"):
        np.testing.assert_allclose(a.sum(axis=1), 1.0, rtol=1e-12)


def test_shifted_and_unshifted_attention(run):
    x = np.asarray(run.xs[0])
    expected = np.exp(3.0 * x @ x.T) * WEIGHTS
    np.testing.assert_allclose(af.attention_matrix(with_model(run, Unnormalized(3.0)), at=0), expected, rtol=1e-12)
    shifted = with_model(run, Unnormalized(3.0, shifted=True))
    np.testing.assert_allclose(af.attention_matrix(shifted, at=0), np.exp(-3.0) * expected, rtol=1e-12)


def test_parameters_of_the_time_are_used(run):
    changing = with_model(run, Softmax(af.Piecewise([2.0], [1.0, 5.0])))
    actual = af.attention_matrix(changing)
    for t, beta in ((0, 1.0), (1, 1.0), (2, 5.0)):
        np.testing.assert_allclose(actual[t], loop_softmax(np.asarray(run.xs[t]), WEIGHTS, beta), rtol=1e-12)


def test_heads(run):
    heads = with_model(run, MultiHead([Softmax(1.0), Softmax(4.0)]))
    actual = af.attention_matrix(heads, at=0, head=1)
    np.testing.assert_allclose(actual, loop_softmax(np.asarray(run.xs[0]), WEIGHTS, 4.0), rtol=1e-12)
    with pytest.raises(InputError, match="a matrix per head; give head=0"):
        af.attention_matrix(heads)
    with pytest.raises(InputError, match="there is no head 2"):
        af.leaders(heads, head=2)
    with pytest.raises(InputError, match="Softmax attention has one head"):
        af.attention_matrix(run, head=0)


@pytest.mark.parametrize(("tile", "n"), [(256, N), (4, 6)])
def test_leaders(run, tile, n, monkeypatch):
    monkeypatch.setattr(rows_of_attention, "TILE", tile)
    w = WEIGHTS[:n] / WEIGHTS[:n].sum()
    run = dataclasses.replace(run, xs=run.xs[:, :n], weights=jnp.asarray(w))
    result, a = af.leaders(run), np.asarray(af.attention_matrix(run))
    np.testing.assert_allclose(result.received, w @ a, rtol=1e-12)
    np.testing.assert_array_equal(result.follows, a.argmax(axis=-1))
    np.testing.assert_array_equal(result.followers, [np.bincount(row, minlength=n) for row in a.argmax(axis=-1)])
    with pytest.raises(InputError, match="choose one"):
        _ = result.tokens


def test_leaders_of_hardmax_are_the_extreme_tokens(run):
    # Rows read off by hand: (0, 0.1) and (0.2, 0) score best with the longest token in their direction.
    x = jnp.asarray([[1.0, 0.0], [0.2, 0.0], [0.0, 2.0], [0.0, 0.1]])
    still = with_model(run, Hardmax(), space=af.Euclidean(), ts=jnp.zeros(1), xs=x[None], weights=None)
    result = af.leaders(still, at=0)
    assert result.follows.tolist() == [0, 0, 2, 2] and result.followers.tolist() == [2, 0, 2, 0]
    np.testing.assert_allclose(result.received, [0.5, 0, 0.5, 0])
    assert result.tokens == [0, 2]


def test_every_key_receives_the_same_attention_under_sinkhorn(run):
    np.testing.assert_allclose(af.leaders(with_model(run, Sinkhorn(2.0)), at=0).received, WEIGHTS, rtol=1e-7)


def test_runs_without_attention_are_refused(run):
    with pytest.raises(InputError, match="carries no model"):
        af.attention_matrix(dataclasses.replace(run, model=None))
    with pytest.raises(InputError, match="a Flow, which has no attention matrix"):
        af.leaders(dataclasses.replace(run, model=af.Flow(lambda t, x, w: -x)))


def test_matrices_that_fill_the_memory_are_refused(run, monkeypatch):
    monkeypatch.setattr(_clouds, "LARGEST", 100)
    with pytest.raises(InputError, match=r"attention matrices \(3, 7, 7\) are 1.5e\+02 numbers; choose one time"):
        af.attention_matrix(run)
    assert af.attention_matrix(run, at=0).shape == (7, 7)


# Ranks


def test_ranks_with_closed_forms():
    assert float(af.diagnostics.effective_rank(np.eye(5))) == pytest.approx(5)
    assert float(af.diagnostics.effective_rank(np.ones((4, 6)))) == pytest.approx(1)
    assert float(af.diagnostics.effective_rank(np.zeros((4, 6)))) == 0
    a, b = 0.75, 0.25
    assert float(af.diagnostics.effective_rank(np.diag([3.0, 1.0]))) == pytest.approx(a**-a * b**-b)
    assert af.diagnostics.numerical_rank(np.stack([np.eye(4), np.ones((4, 4)), np.zeros((4, 4))])).tolist() == [4, 1, 0]
    near = np.diag([1.0, 1e-3, 1e-6])
    assert [int(af.diagnostics.numerical_rank(near, tol=t)) for t in (1e-2, 1e-4, 1e-7)] == [1, 2, 3]


def test_ranks_of_a_run(run):
    x = np.asarray(run.xs)
    s = [np.linalg.svd(np.sqrt(WEIGHTS)[:, None] * cloud, compute_uv=False) for cloud in x]
    p = [row / row.sum() for row in s]
    np.testing.assert_allclose(
        af.diagnostics.effective_rank(run), [np.exp(-(q * np.log(q)).sum()) for q in p], rtol=1e-10
    )
    assert af.diagnostics.numerical_rank(run).tolist() == [D, D, D]
    a = af.attention_matrix(run)
    np.testing.assert_array_equal(
        af.diagnostics.numerical_rank(a, tol=1e-8), [np.linalg.matrix_rank(m, rtol=1e-8) for m in a]
    )


def test_tokens_that_coincide_have_rank_one_in_effect():
    x = np.tile(np.array([[0.6, 0.8]]), (5, 1))
    assert float(af.diagnostics.effective_rank(x)) == pytest.approx(1) and int(af.diagnostics.numerical_rank(x)) == 1


# Energies


def test_energy_scales_are_those_of_numpy(run):
    expected = np.array([witness.energy(np.asarray(x), WEIGHTS, 2.0) for x in run.xs])
    for scale, factor in (("E", 1.0), ("E_p", np.exp(-2.0)), ("Ehat", 4 * np.exp(-2.0))):
        np.testing.assert_allclose(af.energy(run, scale=scale), factor * expected, rtol=1e-12)
        if scale != "E":
            ratio = af.diagnostics.dissipation(run, scale=scale) / af.diagnostics.dissipation(run, scale="E")
            np.testing.assert_allclose(ratio, factor, rtol=1e-12)


# Input


def test_diagnostics_can_be_compiled_and_differentiated(run):
    x = run.xs[0]
    for fn in (
        af.diagnostics.order_parameter,
        af.diagnostics.pair_fraction,
        af.diagnostics.effective_rank,
        af.diagnostics.numerical_rank,
    ):
        np.testing.assert_allclose(jax.jit(fn)(x), fn(x), rtol=1e-12)
    slope = jax.grad(lambda y: af.diagnostics.order_parameter(y))(x)
    mean = np.asarray(x).mean(axis=0)
    np.testing.assert_allclose(slope, np.tile(mean / np.linalg.norm(mean) / N, (N, 1)), rtol=1e-12)


def test_bad_input_is_refused(run):
    with pytest.raises(InputError, match="at = 3 is none of the 3 saved times; give an index from -3 to 2"):
        af.diagnostics.order_parameter(run, at=3)
    with pytest.raises(InputError, match="for tokens on the sphere"):
        af.diagnostics.pair_fraction(with_model(run, Softmax(1.0), space=af.Euclidean()))
    with pytest.raises(InputError, match="bins = 0 is no number of bins"):
        af.inner_products(run, bins=0)
    with pytest.raises(InputError, match="two or more increasing numbers"):
        af.inner_products(run, bins=np.array([0.0, 0.0]))
    with pytest.raises(InputError, match="a single token has no pair"):
        af.inner_products(np.ones((1, 2)))


def test_a_batch_of_runs_is_refused_and_one_of_it_is_not() -> None:
    x = af.sphere.weyl(n=3, d=3)  # as many runs as coordinates: a wrong broadcast would go unnoticed
    runs = jax.vmap(lambda b: af.simulate(af.SelfAttention(beta=b), x, t1=1.0, save=2))(jnp.asarray([1.0, 2.0, 3.0]))
    for diagnostic in (
        af.energy,
        af.clusters,
        af.attention_matrix,
        af.diagnostics.order_parameter,
        lambda r: r.to_xarray(),
    ):
        with pytest.raises(InputError, match="batch of runs"):
            diagnostic(runs)
    one = jax.tree.map(lambda a: a[1], runs)
    alone = af.simulate(af.SelfAttention(beta=2.0), x, t1=1.0, save=2)
    np.testing.assert_allclose(af.energy(one), af.energy(alone), rtol=1e-12)


def test_automatic_edges_hold_every_pair() -> None:
    for seed in range(8):
        x = jax.random.normal(jax.random.key(seed), (7, 5))
        histogram = af.inner_products(x)
        np.testing.assert_allclose(jnp.sum(histogram.fraction, axis=-1), 1, rtol=1e-12)
