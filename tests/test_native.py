"""The kernel for this processor: sums over pairs and trajectories against NumPy in float64; how it is compiled."""

import concurrent.futures
import functools
import os
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attnflow as af
from attnflow import files
from attnflow.engines import choose
from attnflow.errors import InputError
from attnflow.flows._trajectory_engine import Ensemble
from attnflow.flows.engines.native import native_steps
from attnflow.pairsums import Inputs, Problem, native_library
from attnflow.pairsums.engines.native import relative_sums
from attnflow.pairsums.native_library import PAIR_SUMS, Native, native

INF = np.inf
DTYPES = ("float32", "float64")
EPS = {dtype: float(np.finfo(dtype).eps) for dtype in DTYPES}
compiled_kernel = pytest.mark.skipif(not native().ready, reason=native().reason)


def cloud(rng, *shape, dtype="float64"):
    x = rng.standard_normal(shape)
    return (x / np.linalg.norm(x, axis=-1, keepdims=True)).astype(dtype)


def exact(*arrays):
    return [np.asarray(a, np.float64) for a in arrays]


def witness(s, v):
    """`(num, log_z)` of scores that have the logarithms of the weights in them, by definition."""
    top = s.max(axis=1, keepdims=True)
    e = np.exp(s - np.where(top == -INF, 0, top))
    z = e.sum(axis=1, keepdims=True)
    safe = np.where(z == 0, 1, z)
    return np.where(z == 0, 0, e @ v / safe), np.where(z == 0, -INF, np.log(safe) + top)[:, 0]


def by_kernel(fn, *args):
    """`fn`, compiled for these arguments; it must not be the work of another engine."""
    lowered = jax.jit(fn).lower(*args)
    assert PAIR_SUMS in lowered.as_text()
    return lowered.compile()


def close(actual, expected, error, size=1.0):
    """Means of values up to `size`, and logarithms of masses; `error` is that of a score."""
    num, log_z = actual
    empty = np.asarray(expected[1]) == -INF
    assert (np.asarray(log_z)[empty] == -INF).all() and (np.asarray(num)[empty] == 0).all()
    np.testing.assert_allclose(num, expected[0], rtol=0, atol=size * min(2 * error, 2))
    np.testing.assert_allclose(np.asarray(log_z)[~empty], np.asarray(expected[1])[~empty], rtol=0, atol=error)


def engines(fn):
    """The same function of the kernel and of the dense engine, compiled."""
    return [jax.jit(functools.partial(fn, kernel)) for kernel in ("native", "dense")]


def same(run, *args, tolerance=1e-13):
    ours, dense = (jax.tree.leaves(one(*args)) for one in run)
    for a, b in zip(ours, dense, strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


# No multiples of a tile (128 keys, two vectors of queries); one query, one key, no values; one dimension and many.
CASES = [
    # n, m, d, e, p, by distance, weights, dtype
    (1, 1, 1, 1, 0, False, True, "float32"),
    (33, 129, 3, 3, 3, False, False, "float32"),
    (7, 300, 17, 17, 9, True, True, "float32"),
    (40, 1, 2, 3, 1, True, True, "float64"),
    (19, 130, 2, 2, 2, False, True, "float64"),
    (70, 3, 20, 18, 17, False, False, "float64"),
]


@functools.cache
def sums(case):
    n, m, d, e, p, distance, weighted, dtype = case
    shapes = ((), (2, d), (2, e), (n, d), (m, e), (m, p), (m,))

    def sums(beta, Q, K, x, y, v, log_w):
        score = af.pairsums.SquaredDistance(beta, Q, K) if distance else af.pairsums.Inner(beta, Q=Q, K=K)
        return af.pairsums.pair_sums(score, x, y, v, log_w=log_w if weighted else None, kernel="native")

    return by_kernel(sums, *(jnp.zeros(shape, dtype) for shape in shapes))


@compiled_kernel
@settings(max_examples=40, deadline=None)
@given(
    case=st.sampled_from(CASES),
    beta=st.sampled_from([0.0, 1.0, 9.0, 300.0, 1e4]),
    removed=st.sampled_from([0.0, 0.5, 1.0]),
    seed=st.integers(0, 999),
)
def test_sums_are_those_of_float64(case, beta, removed, seed):
    n, m, d, e, p, distance, weighted, dtype = case
    rng = np.random.default_rng(seed)
    x, y, v = cloud(rng, n, d), cloud(rng, m, e), rng.standard_normal((m, p))
    Q, K = cloud(rng, d, 2).T, cloud(rng, e, 2).T
    log_w = rng.standard_normal(m)
    log_w[rng.random(m) < removed] = -INF
    inputs = [np.asarray(a, dtype) for a in (beta, Q, K, x, y, v, log_w)]
    beta, Q, K, x, y, v, log_w = exact(*inputs)
    q, k = x @ Q.T, y @ K.T
    s = -beta * np.sum((q[:, None] - k) ** 2, axis=2) if distance else beta * q @ k.T
    expected = witness(s + (log_w if weighted else -np.log(m)), v)
    # Scores are sums of a few products of this size, each of which is rounded.
    size = 1 + beta * (1 + np.max(np.sum(q**2, axis=1), initial=1)) * (1 + np.max(np.sum(k**2, axis=1), initial=1))
    close(sums(case)(*inputs), expected, 6 * EPS[dtype] * size, 1 + np.max(np.abs(v), initial=0))


def positional(pairs, n, m):
    """Logarithms of the weights of all pairs, by definition, for keys of equal weight."""
    position = np.arange(n) + m - n if pairs.at is None else np.asarray(pairs.at)
    lag = position[:, None] - np.arange(m)
    weight = np.exp(-(0.0 if pairs.slope is None else float(pairs.slope)) * np.maximum(lag, 0)) / m
    weight = np.where(lag > 0 if pairs.strict else lag >= 0, weight, 0)
    if pairs.normalized:
        mass = weight.sum(axis=1, keepdims=True)
        weight = weight / np.where(mass > 0, mass, 1)
    with np.errstate(divide="ignore"):
        return np.log(weight)


# Before all keys, at the ends of tiles, behind all keys.
AT = np.array([-9, -1, 0, 1, 126, 127, 128, 139, 140, 500, 3, 64])
CAUSAL = [
    (af.Causal(), 140, 140),
    (af.Causal(strict=True), 140, 140),
    (af.Causal(slope=0.3), 33, 140),
    (af.Causal(strict=True, slope=0.3), 140, 33),
    (af.Causal(slope=0.3, outside=True), 33, 140),
    (af.Causal(strict=True, slope=0.3, normalized=True), 140, 140),
    (af.Causal(at=AT), 12, 140),
    (af.Causal(at=[126, 139]), 2, 140),  # the first query sees all keys of a tile but one
    (af.Causal(strict=True, slope=0.02, at=AT), 12, 140),
]


@compiled_kernel
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("pairs, n, m", CAUSAL)
def test_causal_sums_are_those_of_float64(pairs, n, m, dtype):
    rng = np.random.default_rng(n)
    x, y, v = (cloud(rng, k, 3, dtype=dtype) for k in (n, m, m))

    def sums(pairs, x, y, v):
        return af.pairsums.pair_sums(af.pairsums.Inner(4.0), x, y, v, pairs=pairs, kernel="native")

    s = 4 * exact(x)[0] @ exact(y)[0].T + positional(pairs, n, m)
    close(by_kernel(sums, pairs, x, y, v)(pairs, x, y, v), witness(s, exact(v)[0]), 100 * EPS[dtype])


@compiled_kernel
@pytest.mark.parametrize("pairs", [af.pairsums.Full(), af.Causal(strict=True, slope=0.01)])
def test_every_device_does_its_share(pairs):
    n, m = 1031, 1100  # no multiple of the devices
    rng = np.random.default_rng(0)
    x, y, w = cloud(rng, n, 3), cloud(rng, m, 3), rng.random(m)

    def sums(x, y, log_w):
        score = af.pairsums.SquaredDistance(2.0)
        return af.pairsums.pair_sums(score, x, y, y, log_w=log_w, pairs=pairs, kernel="sharded")

    s = 4 * (x @ y.T - 1) + np.log(w)
    s = s if isinstance(pairs, af.pairsums.Full) else s + positional(pairs, n, m) + np.log(m)
    close(by_kernel(sums, x, y, np.log(w))(x, y, np.log(w)), witness(s, y), 1e-13)


def traced(m, dtype, pairs):
    """Whether the kernel takes sums over so many keys; it refuses the others."""
    x, y = (jax.ShapeDtypeStruct((k, 1), dtype) for k in (1, m))
    sums = functools.partial(af.pairsums.pair_sums, af.pairsums.Inner(1.0), pairs=pairs, kernel="native")
    try:
        return PAIR_SUMS in str(jax.make_jaxpr(lambda x, y: sums(x, y, y))(x, y))
    except InputError:
        return False


class Neighbours(af.Causal):
    """Causal pairs from another package: a key is seen by the next two queries alone."""

    def log_weight(self, i, j, n, m):
        lag = self._lag(i, j, n, m)
        return jnp.where((lag >= 0) & (lag < 2), 0.0, -jnp.inf)


@compiled_kernel
def test_unsupported_sums_fall_back_to_other_engines():
    many = (1 << 24) + 1  # the first whole number that float32 does not have
    assert traced(many - 1, "float32", af.Causal()) and traced(many, "float64", af.Causal())
    assert traced(many, "float32", af.pairsums.Full()) and not traced(many, "float32", af.Causal())
    assert not traced(9, "float64", Neighbours()) and not traced(9, "float64", af.Causal().T)
    assert not traced(9, "float64", af.pairsums.Full(skip=(np.arange(1), np.arange(9))))


@compiled_kernel
def test_a_query_does_not_depend_on_its_company():
    """To the last bit: a share of the queries, or a batch, gives what all of them give."""
    x = cloud(np.random.default_rng(3), 67, 3, dtype="float32")

    def sums(x, y, pairs):
        return af.pairsums.pair_sums(af.pairsums.Inner(5.0), x, y, y, pairs=pairs, kernel="native")

    alone = jax.jit(jax.vmap(lambda x, at, y: sums(x[None], y, af.Causal(slope=0.1, at=at[None])), (0, 0, None)))
    together = jax.jit(sums)(x, x, af.Causal(slope=0.1))
    for a, b in zip(together, alone(x, np.arange(67), x), strict=True):
        np.testing.assert_array_equal(a, np.asarray(b)[:, 0])


@compiled_kernel
@pytest.mark.parametrize("bits", [np.uint32(0x7FC00001), np.uint32(0xFFFFFFFF), np.uint64(0x7FF8000000000003)])
def test_not_a_number_stays_one(bits):
    """Also with bits that say where it comes from, which the exponential must not take for an exponent."""
    bad = bits.view(f"float{8 * bits.itemsize}")
    x = cloud(np.random.default_rng(1), 20, 2, dtype=bad.dtype)
    w = np.zeros(20, bad.dtype)
    run = by_kernel(
        lambda x, y, v, w: af.pairsums.pair_sums(af.pairsums.Inner(2.0), x, y, v, log_w=w, kernel="native"), x, x, x, w
    )

    def spoilt(a, index):
        a = a.copy()
        a[index] = bad
        return a

    num, log_z = run(spoilt(x, (3, 1)), x, x, w)
    third = np.arange(20) == 3
    assert (np.isnan(num) == third[:, None]).all() and (np.isnan(log_z) == third).all()
    for arrays in ((x, spoilt(x, (3, 1)), x, w), (x, x, x, spoilt(w, 3))):
        assert all(np.isnan(a).all() for a in run(*arrays))
    num, log_z = run(x, x, spoilt(x, (3, 1)), w)
    assert np.isnan(num[:, 1]).all() and np.isfinite(num[:, 0]).all() and np.isfinite(log_z).all()


@compiled_kernel
@pytest.mark.parametrize("dtype", DTYPES)
def test_infinities_are_those_of_the_dense_engine(dtype):
    """A score of +inf has no weight relative to itself; a removed key may score anything; infinite values add up."""
    x, y, log_w = np.ones((3, 1), dtype), np.ones((200, 1), dtype), np.zeros(200, dtype)
    long, high, removed, infinite = x.copy(), y.copy(), log_w.copy(), y.copy()
    long[1], high[70], removed[70], infinite[10] = np.finfo(dtype).max, 4.0, -INF, INF

    def sums(kernel, x, y, v, log_w):
        return af.pairsums.pair_sums(af.pairsums.Inner(1.0), x, y, v, log_w=log_w, kernel=kernel)

    run = engines(sums)
    for arrays in ((long, high, y, log_w), (long, y, y, removed), (x, y, infinite, log_w)):
        same(run, *arrays, tolerance=4 * EPS[dtype])


# In float32 the polynomial is off by 1e-7, and a unit in the last place is 1.2e-7; in float64 a unit is 2.2e-16.
@compiled_kernel
@pytest.mark.parametrize("dtype, lowest, error", [("float32", -87.3, 2.4e-7), ("float64", -708.3, 4e-16)])
def test_the_exponential_has_all_digits(dtype, lowest, error):
    t = np.concatenate([np.linspace(lowest, 0, 200_001), -np.geomspace(1e-12, 1, 20_001), [0.0, -0.0]]).astype(dtype)
    low = np.linspace(1.5 * lowest, 1.0005 * lowest, 1001).astype(dtype)  # the last of them is a denormal number
    keys = jnp.asarray([[0.0], [1.0]], dtype)

    @jax.jit
    def exponential(t):
        """Of a query t against the keys 0 and 1: the weight of the second, relative to the first."""
        score, queries = af.pairsums.Inner(1.0), t[:, None]
        problem = Problem(len(t), 2, 1, 1, 1, dtype, score)
        _, (num, mass) = relative_sums(problem, Inputs(queries, keys, score.project(queries, keys), keys, None))
        return num[:, 0], mass

    actual, mass = (np.asarray(a) for a in exponential(np.concatenate([t, low])))
    expected = np.exp(t.astype(np.longdouble))
    assert np.max(np.abs(actual[: len(t)] / expected - 1)) < error
    assert (actual[t.size - 2 : t.size] == 1).all() and (mass[t.size - 2 : t.size] == 2).all()
    assert (actual[t.size :] == 0).all() and actual[: t.size].min() >= np.finfo(dtype).tiny


@compiled_kernel
@pytest.mark.parametrize("beta, constant", [(0.0, True), (3.0, True), (3.0, False)])
def test_errors_do_not_grow_with_the_number_of_keys(beta, constant):
    """Sums of 128 keys are rounded 128 times, by half a unit of what there is by then, that is 32 units at worst.

    Half of that is allowed. Sums of sums are not rounded: a constant, whose errors all have one sign, would show it
    (3e-5 if they were). The logarithm of the mass has the rounding of a number near 11 besides.
    """
    m, eps = 200_000, EPS["float32"]
    rng = np.random.default_rng(0)
    y = cloud(rng, m, 2, dtype="float32")
    v = np.full((m, 1), 0.1, np.float32) if constant else np.abs(y)
    arrays = (y[:5], y, v, np.zeros(m, np.float32))
    run = by_kernel(
        lambda x, y, v, w: af.pairsums.pair_sums(af.pairsums.Inner(beta), x, y, v, log_w=w, kernel="native"), *arrays
    )
    num, log_z = run(*arrays)
    expected, expected_z = witness(beta * exact(y[:5])[0] @ exact(y)[0].T, exact(v)[0])
    np.testing.assert_allclose(num, expected, rtol=16 * eps)  # 2e-6
    np.testing.assert_allclose(log_z, expected_z, rtol=0, atol=(16 + 8) * eps)


@compiled_kernel
def test_a_key_far_above_all_before_it_outweighs_them():
    """Also what rounding took from their sum, about 3e-5 here: when it is given back it is as small as they are."""
    y, v = np.zeros((10_001, 1), np.float32), np.full((10_001, 1), 0.1, np.float32)
    y[-1], v[-1] = 25.0, 0.3
    x = np.ones((1, 1), np.float32)
    run = by_kernel(lambda x, y, v: af.pairsums.pair_sums(af.pairsums.Inner(1.0), x, y, v, kernel="native"), x, y, v)
    expected, _ = witness(exact(y)[0].T, exact(v)[0])
    np.testing.assert_allclose(run(x, y, v)[0], expected, rtol=2 * EPS["float32"])


@compiled_kernel
def test_batches_are_those_of_the_dense_engine():
    """Of queries alone, of everything, and batches of batches, in which each argument has an axis of its own."""
    rng = np.random.default_rng(5)
    x, y, log_w = cloud(rng, 2, 3, 9, 2), cloud(rng, 3, 70, 2), rng.standard_normal((2, 70))
    slope = np.array([0.1, 0.9])

    def one(kernel, x, y, log_w, slope):
        return af.pairsums.pair_sums(
            af.pairsums.Inner(3.0), x, y, y, log_w=log_w, pairs=af.Causal(slope=slope), kernel=kernel
        )

    ours, dense = functools.partial(one, "native"), jax.jit(functools.partial(one, "dense"))

    @jax.jit
    def batches(x, y, log_w, slope):
        queries = jax.vmap(ours, (0, None, None, None))(x[0], y[0], log_w[0], slope[0])
        everything = jax.vmap(ours)(x[:, 0], y[:2], log_w, slope)
        nested = jax.vmap(jax.vmap(ours, (0, 0, None, None)), (0, None, 0, 0))(x, y, log_w, slope)
        others = jax.vmap(jax.vmap(ours, (None, None, None, 0)), (None, 0, None, None))(x[0, 0], y, log_w[0], slope)
        return queries, everything, nested, others

    queries, everything, nested, others = batches(x, y, log_w, slope)
    for a in range(2):
        close([part[a] for part in everything], dense(x[a, 0], y[a], log_w[a], slope[a]), 1e-13)
        for b in range(3):
            close([part[b] for part in queries], dense(x[0, b], y[0], log_w[0], slope[0]), 1e-13)
            close([part[a, b] for part in nested], dense(x[a, b], y[b], log_w[a], slope[a]), 1e-13)
            close([part[b, a] for part in others], dense(x[0, 0], y[b], log_w[0], slope[a]), 1e-13)


@compiled_kernel
def test_derivatives_are_those_of_the_dense_engine():
    rng = np.random.default_rng(6)
    x, log_w = cloud(rng, 5, 2), np.append(rng.standard_normal(4), -INF)
    point = (x, log_w, np.float64(3.0), np.float64(0.4))
    direction = tuple(np.cos(np.arange(a.size) + 1.0).reshape(a.shape) for a in point)

    def derivatives(kernel, point, direction):
        def total(x, log_w, beta, slope):
            num, log_z = af.pairsums.pair_sums(
                af.pairsums.SquaredDistance(beta), x, x, x, log_w=log_w, pairs=af.Causal(slope=slope), kernel=kernel
            )
            return jnp.sum(jnp.sin(num)) + jnp.sum(log_z**2)

        gradient = jax.grad(total, argnums=(0, 1, 2, 3))(*point)
        return gradient, jax.jvp(total, point, direction), jax.hessian(total)(*point)

    same(engines(derivatives), point, direction, tolerance=1e-11)


@compiled_kernel
def test_queries_without_keys_have_no_gradient():
    x = jnp.asarray(cloud(np.random.default_rng(7), 5, 2))

    @functools.partial(jax.jit, static_argnums=0)
    def of(argnum, x, log_w):
        def total(x, log_w):
            num, log_z = af.pairsums.pair_sums(af.pairsums.Inner(2.0), x, x, x, log_w=log_w, kernel="native")
            return jnp.sum(num) + jnp.sum(jnp.where(jnp.isfinite(log_z), log_z, 0))

        return jax.grad(total, argnums=argnum)(x, log_w)

    for argnum in (0, 1):
        np.testing.assert_array_equal(of(argnum, x, jnp.full(5, -INF)), 0)


@compiled_kernel
def test_inside_a_loop():
    x = cloud(np.random.default_rng(8), 9, 2)

    def step(x, _):
        x = x + 0.1 * af.pairsums.pair_sums(af.pairsums.Inner(2.0), x, x, x, kernel="native")[0]
        return x, jnp.sum(x)

    actual, totals = jax.jit(lambda x: jax.lax.scan(step, x, length=3))(x)
    for total in np.asarray(totals):
        x = x + 0.1 * witness(2 * x @ x.T, x)[0]
        np.testing.assert_allclose(total, x.sum(), rtol=1e-13)
    np.testing.assert_allclose(actual, x, rtol=1e-13)


@compiled_kernel
def test_shapes_that_do_not_agree_are_refused():
    """The library never calls the kernel so; a call with these shapes would read beyond the arrays."""
    a = jnp.zeros((3, 4))
    out = tuple(jax.ShapeDtypeStruct(shape, a.dtype) for shape in ((3, 4), (4,), (4,)))
    for wrong in ((a, a[:2], a[0], a), (a, a, a[0, :2], a), (a, a, a[0], a[:, :3])):
        with pytest.raises(Exception, match="do not agree"):
            jax.block_until_ready(jax.ffi.ffi_call(PAIR_SUMS, out)(*wrong, a[0], a[0, :1]))


# Trajectories


def trajectory(model, x, w, solver, h, steps):
    """Steps of one cloud in float64, by definition."""
    attention, (n, d), sphere = model.attention, x.shape, isinstance(model.space, af.Sphere)
    V = np.eye(d) if attention.V is None else np.asarray(attention.V)
    B = np.eye(d) if attention.B is None else np.asarray(attention.B)
    B = B if attention.Q is None else np.asarray(attention.Q).T @ np.asarray(attention.K)
    beta, weight = float(attention.beta), np.tile(w, (n, 1))
    if isinstance(model.pairs, af.Causal):
        weight = weight * n * np.exp(positional(model.pairs, n, n))

    def unit(x):
        return x / np.linalg.norm(x, axis=1, keepdims=True) if sphere else x

    def force(x):
        s = x @ B @ x.T
        if isinstance(attention, af.Unnormalized):
            e = weight * np.exp(beta * (s - attention.shifted)) * (beta if attention.gradient else 1)
        else:
            e = weight * np.exp(beta * (s - s.max(axis=1, keepdims=True)))
            mass = e.sum(axis=1, keepdims=True)
            e = e / np.where(mass > 0, mass, 1)
        return e @ x @ V.T

    def field(x):
        y = unit(x)
        v = force(y)
        return v - np.sum(v * y, axis=1, keepdims=True) * y if sphere else v

    for _ in range(steps):
        if solver == "euler-retract":
            x = unit(x + h * force(x))
        elif solver == "euler":
            x = x + h * field(x)
        else:
            a = field(x)
            b = field(x + h / 2 * a)
            c = field(x + h / 2 * b)
            x = x + h / 6 * (a + 2 * b + 2 * c + field(x + h * c))
    return unit(x)


B, V, Q = (np.random.default_rng(seed).standard_normal((3, 3)) / 2 for seed in (3, 4, 5))
STRICT = af.Causal(strict=True, slope=0.3)
FLOWS = [
    (af.Softmax(4.0), af.Sphere(), af.pairsums.Full(), "rk4", 8, False),
    (af.Softmax(2.0, B=B, V=V), af.Sphere(), af.pairsums.Full(), "euler-retract", 5, True),
    (af.Softmax(4.0), af.Sphere(), STRICT, "euler", 33, True),
    (af.Softmax(1.0, V=-V), af.Euclidean(), af.pairsums.Full(), "rk4", 33, True),
    (af.Softmax(1.0, V=V), af.Euclidean(), af.Causal(), "euler-retract", 8, False),
    (af.Unnormalized(1.0, Q=Q[:2], K=B[:2]), af.Sphere(), af.pairsums.Full(), "euler", 5, True),
    (af.Unnormalized(3.0, shifted=True), af.Sphere(), af.pairsums.Full(), "rk4", 33, False),
    (af.Unnormalized(2.0, V=V, gradient=True), af.Sphere(), af.pairsums.Full(), "rk4", 8, False),
    (af.Unnormalized(2.0), af.Sphere(), STRICT, "euler-retract", 33, False),
    (af.Unnormalized(0.5, B=B), af.Euclidean(), STRICT, "rk4", 5, True),
]


@compiled_kernel
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("attention, space, pairs, solver, n, weighted", FLOWS)
def test_trajectories_are_those_of_float64(attention, space, pairs, solver, n, weighted, dtype):
    model = af.SelfAttention(attention, space, pairs)
    x = cloud(np.random.default_rng(n), 3, n, 3, dtype=dtype)
    w = np.arange(n) / (n * (n - 1) / 2) if weighted else np.full(n, 1 / n)  # the first token weighs nothing

    def steps(model, x, w):
        return native_steps(model, (x, x), jnp.asarray(0.1, dtype), jnp.asarray(5), w, solver)[1]

    actual = jax.jit(steps)(model, x, w.astype(dtype) if weighted else None)
    expected = np.stack([trajectory(model, one, w, solver, 0.1, 5) for one in exact(x)[0]])
    np.testing.assert_allclose(actual, expected, rtol=0, atol=20 * EPS[dtype] * np.abs(expected).max())


@compiled_kernel
@pytest.mark.parametrize(("solver", "matrix"), [("rk4", None), ("euler-retract", V)])
def test_trajectories_do_not_depend_on_what_they_do_not_see(solver, matrix):
    """The first token weighs nothing, and the sixth is seen by those after it alone."""
    model = af.SelfAttention(af.Softmax(4.0, B=B, V=matrix), pairs=af.Causal())
    x = cloud(np.random.default_rng(0), 9, 3, dtype=np.float64)
    w = jnp.arange(9) / 36
    bad = jnp.asarray(x).at[0].set(jnp.nan).at[5, 1].set(jnp.inf)
    steps = lambda x: native_steps(model, (x, x), jnp.asarray(0.1), jnp.asarray(5), w, solver)[1]  # noqa: E731
    actual = jax.jit(steps)(bad[None])[0]
    np.testing.assert_allclose(actual[1:5], trajectory(model, exact(x)[0][1:5], w[1:5], solver, 0.1, 5), atol=1e-14)
    assert np.isnan(actual[np.r_[0, 5:9]]).all()


def last_states(model, **options):
    options = {"ts": [0.25, 0.5], "solver": "rk4", "dt": 0.1, "realizations": 7} | options
    return af.ensemble(
        model,
        lambda key: af.sphere.uniform(n=9, d=3, key=key),
        reduce=af.flows.LastState(),
        key=jax.random.key(2),
        engine="native",
        **options,
    ).values


@compiled_kernel
def test_an_ensemble_is_its_trajectories_whatever_the_chunk():
    w = np.arange(1.0, 10) / 45
    models = [af.SelfAttention(af.Softmax(beta, V=V)) for beta in (1.0, 6.0)]
    actual, others = (last_states(models, weights=w, chunk=chunk) for chunk in (2, 5))
    np.testing.assert_array_equal(actual, others)
    for model, states in zip(models, actual, strict=True):
        for r in (0, 6):
            x = exact(af.sphere.uniform(n=9, d=3, key=jax.random.fold_in(jax.random.key(2), r)))[0]
            expected = trajectory(model, x, w, "rk4", 0.25 / 3, 6)
            np.testing.assert_allclose(states[r], expected, rtol=0, atol=1e-14)


@compiled_kernel
@pytest.mark.parametrize(
    "model",
    [
        af.SelfAttention(af.Sigmoid(1.0)),
        af.SelfAttention(af.Softmax(af.Piecewise([0.2], [1.0, 2.0]))),
        af.SelfAttention(af.Softmax(1.0), pairs=af.Causal(slope=0.1, normalized=True)),
        af.SelfAttention(af.Softmax(1.0), pairs=af.pairsums.Full(skip=np.arange(9))),
    ],
)
def test_models_without_a_kernel_are_refused(model):
    with pytest.raises(InputError, match=r"^no native ensemble here: [^.]*\.$"):
        last_states(model)


@compiled_kernel
def test_inside_a_transformation_another_engine_is_taken():
    with pytest.raises(InputError, match="no native ensemble here: the kernel has no derivatives"):
        jax.grad(lambda beta: jnp.sum(last_states(af.SelfAttention(af.Softmax(beta)))))(1.0)
    model, x = af.SelfAttention(beta=1.0), jnp.zeros((9, 3))
    names = [choose("trajectory engine", Ensemble(model, x, known=known)).engine.name for known in (True, False)]
    assert names[0] == "native" != names[1]


# The library


def test_where_there_is_a_compiler_there_is_a_kernel():
    if native_library._compiler() is None:
        pytest.skip("no C++ compiler")
    assert native().ready or "ATTNFLOW_NATIVE" in native().reason, native().reason


def test_without_a_kernel_everything_computes(monkeypatch):
    monkeypatch.setattr(native_library, "_native", lambda: Native(False, "no compiler"))
    x = cloud(np.random.default_rng(9), 9, 3)
    for kernel in ("auto", "sharded"):
        actual = jax.jit(
            lambda x, kernel=kernel: af.pairsums.pair_sums(af.pairsums.Inner(2.0), x, x, x, kernel=kernel)
        )(x)
        close(actual, witness(2 * x @ x.T - np.log(9), x), 1e-14)
    with pytest.raises(InputError, match=r"no native ensemble here: .*no compiler; .*\.$"):
        last_states(af.SelfAttention(beta=1.0))
    with pytest.raises(InputError, match=r"no native sums here: .*no compiler; choose another kernel\.$"):
        af.pairsums.pair_sums(af.pairsums.Inner(2.0), x, x, x, kernel="native")


@pytest.fixture
def small_library(monkeypatch, tmp_path):
    """Another source, compiled in no time, and a cache folder of its own."""
    if native_library._compiler() is None:
        pytest.skip(native().reason)
    source = tmp_path / "small.cc"
    source.write_text('extern "C" int answer() { return 42; }')
    monkeypatch.setattr(native_library, "SOURCE", source)
    monkeypatch.setenv("ATTNFLOW_CACHE", str(tmp_path / "cache"))
    return functools.partial(native_library._library, native_library._compiler() or [])


def written(path, text):
    path.write_text(text)
    path.chmod(0o700)
    return str(path)


@pytest.mark.parametrize(
    "name, program, message",
    [
        ("ATTNFLOW_NATIVE", "off", "turned off"),
        ("CXX", "/nonexistent", "no C.. compiler was found"),
        ("CXX", 'an "open quotation', "no C.. compiler was found"),
        ("CXX", "#!/bin/sh\necho >&2; echo 'In a.h:' >&2; echo 'a.h: error: not C' >&2; exit 1", "a.h: error: not C$"),
        ("CXX", "#!/bin/sh\nprintf '\\377 \\n' >&2; exit 3", "did not make them: \ufffd$"),
        ("CXX", "#!/bin/sh\nexit 3", "did not make them: it ended with status 3$"),
        ("CXX", "#!/bin/sh\nexit 0", "did not make them: .*No such file"),
        ("CXX", "#!/bin/sh\nfor last; do :; done; echo nothing > $last", "did not make them: .*"),
    ],
)
def test_a_missing_kernel_is_reported_in_a_line(name, program, message, monkeypatch, tmp_path):
    monkeypatch.setenv("ATTNFLOW_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(name, written(tmp_path / "compiler", program) if program.startswith("#!") else program)
    answer = native_library._native.__wrapped__()
    assert not answer.ready and "\n" not in answer.reason
    assert re.search(message, answer.reason)


def test_a_library_is_kept_and_found_again(small_library, monkeypatch):
    mask = os.umask(0o002)  # files that a group may write, as they are by default in places
    try:
        library, where = small_library()
    finally:
        os.umask(mask)
    assert library.answer() == 42 and sorted(Path(where).parent.iterdir()) == [Path(where)]
    monkeypatch.setattr(native_library, "_built", None)
    assert small_library()[1] == where


@pytest.mark.parametrize("mode", [0o700, 0o766, 0o720])
def test_a_file_that_others_may_write_or_that_is_no_library_is_made_again(small_library, mode):
    where = Path(small_library()[1])
    where.unlink()  # what is loaded stays as it is
    where.write_text("not a library")
    where.chmod(mode)
    library, again = small_library()
    assert library.answer() == 42 and again == str(where) and not where.stat().st_mode & 0o022


@pytest.mark.parametrize("mode", [0o777, 0o770, None])
def test_where_nothing_can_be_kept_the_library_is_for_this_process_alone(small_library, mode, tmp_path, monkeypatch):
    monkeypatch.setattr(native_library.tempfile, "tempdir", str(tmp_path))
    folder = tmp_path / "cache" / "native"
    folder.mkdir(parents=True)
    if mode is None:  # no folder at all, and the user has no home
        monkeypatch.setattr(files, "cache_folder", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    else:
        folder.chmod(mode)
    library, where = small_library()
    assert library.answer() == 42 and where == "not kept" and not list(folder.iterdir())
    assert not list(tmp_path.glob("attnflow-*"))


def test_many_that_compile_at_once_leave_one_whole_file(small_library, tmp_path):
    """A compiler that writes its file in two parts, with a pause in between."""
    compiler = written(
        tmp_path / "slow",
        """#!/bin/sh
for last; do :; done
c++ "$@" || exit 1
cp "$last" "$last.whole"; head -c 1000 "$last.whole" > "$last"; sleep 0.1; cat "$last.whole" > "$last"
""",
    )
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        loaded = list(pool.map(lambda _: native_library._library([compiler]), range(4)))
    assert [library.answer() for library, _ in loaded] == [42] * 4
    (where,) = {where for _, where in loaded}
    assert list(Path(where).parent.iterdir()) == [Path(where)]
