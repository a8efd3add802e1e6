"""Clusters: components against SciPy's, the defaults of each space, and no moving configuration is called converged."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

import attnflow as af
from attnflow.diagnostics import components
from attnflow.errors import InputError
from attnflow.flows.linkage import tree_components
from witness import on_circle

N, T = 12, 6
compiled = jax.jit(components)


def first_of_each(x, eps):
    """The witness: all distances, and SciPy's components."""
    _, label = connected_components(cdist(x, x) <= eps)
    return np.array([np.flatnonzero(label == c)[0] for c in label])


# Both runs have the shapes of tests/test_diagnostic_plots.py, so that they share its program.


@pytest.fixture(scope="module")
def run():
    """Tokens on the circle at beta = 9, with unequal weights."""
    x0 = af.sphere.uniform(n=N, d=2, key=jax.random.key(0))
    return af.simulate(af.SelfAttention(beta=9.0), x0, t1=12.0, save=T, weights=np.arange(1, N + 1) / 78)


@pytest.fixture(scope="module")
def together():
    """A run whose tokens meet."""
    x0, weights = on_circle(np.arange(N) / 10), np.full(N, 1 / N)
    return af.simulate(af.SelfAttention(beta=1.0), x0, t1=30.0, save=T, weights=weights)


@pytest.mark.parametrize("eps", [0.0, 0.1, 0.3, 1.0])
@pytest.mark.parametrize(("n", "d", "scale"), [(1, 2, 1.0), (40, 2, 1.0), (40, 20, 6.0)])
def test_components(n, d, scale, eps):
    rng = np.random.default_rng(n + d)
    x = rng.normal(size=(n, d))
    for cloud in (x, x[rng.integers(0, max(1, n // 3), n)], np.round(2 * x) / 2):
        expected = first_of_each(cloud, scale * eps)
        np.testing.assert_array_equal(compiled(cloud, scale * eps), expected)
        np.testing.assert_array_equal(tree_components(cloud, scale * eps), expected)


def test_many_tokens():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(1100, 2))
    expected = first_of_each(x, 0.07)
    np.testing.assert_array_equal(compiled(x, 0.07), expected)  # in tiles
    np.testing.assert_array_equal(tree_components(x, 0.07), expected)
    met = on_circle([0.0, 2.0, 4.0])[rng.integers(0, 3, 20_000)] + 1e-4 * rng.normal(size=(20_000, 2))
    result = af.clusters(met, space=af.Sphere())  # pairs that have met are 1.3e8: no list of them is made
    assert result.count == 3 and result.sizes.sum() == 20_000


def test_a_long_chain_is_one_cluster():
    chain = np.stack([np.random.default_rng(2).permutation(1000).astype(float), np.zeros(1000)], axis=1)
    assert set(np.asarray(compiled(chain, 1.0))) == {0} and set(tree_components(chain, 1.0)) == {0}
    assert len(set(np.asarray(compiled(chain, 0.999)))) == 1000


def test_default_on_the_sphere_is_an_inner_product():
    close, apart = (on_circle([0.0, np.arccos(1 - delta)]) for delta in (0.99e-3, 1.01e-3))
    assert af.clusters(close, space=af.Sphere()).count == 1
    assert af.clusters(apart, space=af.Sphere()).count == 2
    assert af.clusters(apart, eps=0.05).count == 1


def test_default_in_space_is_relative_to_the_spread():
    rng = np.random.default_rng(3)
    x = np.repeat(rng.normal(size=(5, 3)), 4, axis=0) + 1e-3 * rng.normal(size=(20, 3))
    w = rng.uniform(1, 2, 20)
    w /= w.sum()
    result = af.clusters(x, weights=w, space=af.Euclidean())
    assert result.count == 5
    variance = w @ ((x - w @ x) ** 2).sum(axis=1)
    np.testing.assert_allclose(result.eps, np.sqrt(2e-3 * variance), rtol=1e-12)
    moved = af.clusters(np.stack([x, 1e-9 * x, 1e6 * x + 1e4]), weights=w, space=af.Euclidean())
    assert moved.count.tolist() == [5, 5, 5]


def test_a_cloud_that_shrinks_ends_as_one_cluster_and_one_that_grows_does_not(together):
    x0, ts = np.random.default_rng(4).normal(size=(6, 2)), jnp.linspace(0, 12, 3)
    for sign, count in ((-1.0, 1), (1.0, 6)):
        xs = jnp.exp(sign * ts)[:, None, None] * x0[None]
        flow = dataclasses.replace(together, ts=ts, xs=xs, weights=None, model=af.Flow(lambda t, x, w, s=sign: s * x))
        result = af.clusters(flow)
        assert result.count.tolist()[::2] == [6, count]
        assert af.clusters(flow, at=-1).eps == result.eps[-1]
        np.testing.assert_allclose(result.speed, np.linalg.norm(xs, axis=-1).max(axis=-1))


def test_labels_sizes_and_masses(run):
    result = af.clusters(run)
    w, x = np.asarray(run.weights), np.asarray(run.xs)
    assert result.labels.shape == (T, N) and result.count.shape == (T,)
    assert result.sizes.shape == result.masses.shape == (T, result.count.max())
    assert result.count[0] > result.count[-1] >= 2
    for t in range(T):
        first, k = first_of_each(x[t], np.sqrt(2e-3)), result.count[t]
        same = first[:, None] == first[None, :]
        np.testing.assert_array_equal(result.labels[t][:, None] == result.labels[t][None, :], same)
        assert sorted(set(result.labels[t])) == list(range(k))
        for c in range(k):
            assert result.sizes[t, c] == (result.labels[t] == c).sum()
            np.testing.assert_allclose(result.masses[t, c], w[result.labels[t] == c].sum(), rtol=1e-12)
        assert (np.diff(result.masses[t]) <= 1e-12).all() and not result.sizes[t, k:].any()


def test_one_time_is_a_row_of_all(run):
    every = af.clusters(run)
    for at in (0, 3, -1):
        one = af.clusters(run, at=at)
        assert isinstance(one.count, int) and one.count == every.count[at]
        np.testing.assert_array_equal(one.labels, every.labels[at])
        np.testing.assert_array_equal(one.sizes, every.sizes[at][: one.count])
        np.testing.assert_allclose(one.speed, every.speed[at])
        assert one.converged is bool(every.converged[at])


def test_the_first_token_decides_between_equal_masses():
    result = af.clusters(on_circle([0, 3, 1, 3, 2, 1, 2, 0]), space=af.Sphere())
    assert result.labels.tolist() == [0, 1, 2, 1, 3, 2, 3, 0]


def test_speed_of_two_clusters_is_that_of_the_theory(together):
    p, q, u, beta = 0.3, 0.7, 1.0, 4.0
    still = {"ts": jnp.zeros(1), "xs": jnp.asarray(on_circle([0.0, u]))[None], "weights": jnp.asarray([p, q])}
    run = dataclasses.replace(together, **still, model=af.SelfAttention(beta=beta))
    k = np.exp(-2 * beta * np.sin(u / 2) ** 2)  # theory/01, 1.6: the two terms of du/dt are the speeds of the clusters
    expected = np.sin(u) * k * max(q / (p + q * k), p / (q + p * k))
    np.testing.assert_allclose(af.clusters(run, at=0).speed, expected, rtol=1e-9)


def test_a_moving_configuration_is_not_converged(run):
    result = af.clusters(run, at=-1)
    assert result.count > 1 and result.converged is False
    assert "not converged: the fastest token has speed" in str(result) and "clusters at t = 12 (SA)" in str(result)


def test_consensus_and_balance_are_converged(together):
    result = af.clusters(together)
    assert result.count.tolist() == [N, 1, 1, 1, 1, 1]
    assert result.converged.tolist()[:2] == [False, False] and result.converged.tolist()[-2:] == [True, True]
    assert str(result) == "1 cluster at t = 30 (SA), linked within 0.0447, at rest."
    pair = jnp.tile(jnp.asarray([[1.0, 0.0], [-1.0, 0.0]]), (T, 1, 1))
    balanced = dataclasses.replace(together, xs=pair, weights=None)
    assert af.clusters(balanced, at=-1).count == 2 and af.clusters(balanced, at=-1).converged is True


def test_a_state_kept_alone_knows_how_long_it_ran(together):
    end = dataclasses.replace(together, ts=together.ts[-1:], xs=together.xs[-1:])
    assert af.clusters(end, at=-1).converged is True
    unknown = dataclasses.replace(end, provenance=type(end.provenance)())
    assert af.clusters(unknown, at=-1).converged is True  # one point rests, however long
    early = dataclasses.replace(unknown, xs=together.xs[1:2])
    assert af.clusters(early, at=-1).converged is False


@pytest.mark.parametrize("part, state", [(0.9, "at rest"), (1.1, "moving")])
def test_a_drift_just_above_the_rounding_of_means_is_called_moving(together, part, state):
    """A layer moves a token by the part alpha of the way to its mean, which is known to 8 eps of the longest token."""
    alpha = part * 2 * 8 * np.finfo(float).eps  # the way is half a unit
    pair = jnp.tile(jnp.asarray([[1.0, 0.0], [0.5, 0.0]]), (T, 1, 1))
    fields = {"xs": pair, "weights": None, "ts": together.ts * 1e12, "provenance": type(together.provenance)()}
    result = af.clusters(dataclasses.replace(together, model=af.models.HardmaxLayers(alpha), **fields), at=-1)
    assert result.count == 2 and result.state == state
    np.testing.assert_allclose(result.speed, part * 8 * np.finfo(float).eps, rtol=1e-9)


def test_very_long_times_do_not_overflow(together):
    long = dataclasses.replace(together, log_ts=jnp.asarray([-jnp.inf, 1.0, 2.0, 3.0, 10.0, 700.0]))
    assert af.clusters(long, at=-1).converged is True  # what is left of one cluster is 1e-13 wide, for ever
    apart = af.clusters(dataclasses.replace(long, xs=jnp.tile(jnp.eye(2, dtype=long.xs.dtype), (T, N // 2, 1))), at=-1)
    assert apart.converged is False and apart.rest < 1e-300


def test_without_a_model_rest_is_not_known(run):
    x = np.asarray(run.xs[-1])
    result = af.clusters(x, space=af.Sphere())
    assert result.converged is None and "whether they rest is not known" in str(result)
    bare = dataclasses.replace(run, model=None)
    assert af.clusters(bare, at=-1, eps=0.1).converged is None
    with pytest.raises(InputError, match="which space"):
        af.clusters(bare)


def test_times_that_were_not_reached(run):
    cut = dataclasses.replace(run, xs=run.xs.at[4:].set(jnp.nan))
    result = af.clusters(cut)
    assert result.count.tolist()[4:] == [0, 0] and (result.labels[4:] == -1).all() and not result.converged[4:].any()
    np.testing.assert_array_equal(result.labels[:4], af.clusters(run).labels[:4])
    assert af.clusters(cut, at=-1).count == 0


def test_counts_can_be_compiled_and_mapped(run):
    def count(x):
        return jnp.sum(components(x, jnp.sqrt(2e-3)) == jnp.arange(x.shape[0]))

    np.testing.assert_array_equal(jax.jit(jax.vmap(count))(run.xs), af.clusters(run).count)
    with pytest.raises(InputError, match="inside jit use"):
        jax.jit(lambda x: af.clusters(x, eps=1.0).count)(run.xs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"at": 6}, "at = 6 is none of the 6 saved times"),
        ({"eps": -1.0}, "eps = -1.0 is no distance"),
        ({"weights": np.full(N, 1 / N)}, "a run has its own weights"),
        ({"space": af.Sphere()}, "a run knows its space"),
    ],
)
def test_bad_input_is_refused(run, arguments, message):
    with pytest.raises(InputError, match=message):
        af.clusters(run, **arguments)


def test_arrays_that_are_not_clouds_are_refused():
    with pytest.raises(InputError, match=r"tokens have shape \(3,\)"):
        af.clusters(np.zeros(3), eps=1.0)
    with pytest.raises(InputError, match="has none; leave it out"):
        af.clusters(np.zeros((3, 2)), at=0, eps=1.0)


@pytest.mark.parametrize("d", [2, 20])
@pytest.mark.parametrize("factor", [2.0**-700, 2.0**-480, 2.0**480, 2.0**700])
def test_links_at_every_scale(d, factor):
    """A square that over- or underflows would link everything, or nothing."""
    x = np.random.default_rng(0).normal(size=(30, d))
    x[-5:] = x[0]
    eps = float(np.quantile(cdist(x, x), 0.1))
    expected = np.asarray(components(x, eps))
    assert 3 < len(np.unique(expected)) < 27
    np.testing.assert_array_equal(components(factor * x, factor * eps), expected)
    np.testing.assert_array_equal(tree_components(factor * x, factor * eps), expected)
    np.testing.assert_array_equal(components(factor * x, 0.0), components(x, 0.0))


@pytest.mark.parametrize("factor", [1e-200, 1e-100, 1e100])
def test_a_run_of_any_scale_is_judged_by_its_spread(factor):
    """The flow -x, which shrinks, is no rest."""
    x0 = factor * np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -0.5]])
    model = af.models.Flow(lambda t, x, w: -x, af.Euclidean())
    last = af.clusters(af.simulate(model, x0, t1=1.0, solver="rk4", dt=0.1, save=2), at=-1)
    assert (last.count, last.state) == (3, "moving")
    np.testing.assert_allclose(last.speed, factor * np.exp(-1) * np.hypot(1, 0.5), rtol=1e-4)


@pytest.mark.parametrize("light", [0.0, 1e-300, 1e-200, 1e-100])
@pytest.mark.parametrize("weights", [[1.0, 1.0, 0.5], [1.0, 0.5, 0.5]])
def test_light_tokens_move_and_are_seen_to_move(light, weights):
    """A token without mass is moved by the others."""
    w = np.where(np.array(weights) == 1, light, weights)
    w = jnp.asarray(w / w.sum())
    run = af.simulate(af.SelfAttention(beta=1.0), on_circle([0.1, 1.0, 2.5]), t1=0.1, weights=w)
    last = af.clusters(run, at=-1)
    v = np.asarray(af.models.field(run.model, 0.1, run.xs[-1], w))
    assert (last.count, last.state) == (3, "moving")
    np.testing.assert_allclose(last.speed, np.linalg.norm(v, axis=1).max(), rtol=1e-6)
