"""Kernels for GPUs, run by the interpreter: the same arithmetic as on a GPU, against float64 and the other engines."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attnflow as af
from attnflow.errors import InputError
from attnflow.flows.engines.fused import fused_steps
from attnflow.pairsums import _gpu_few_dimensions as few
from attnflow.pairsums import gpu


@pytest.fixture(autouse=True, scope="module")
def short_programs():
    """Loops that are not written out: the same sums, translated in less time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(few, "UNROLL", 2)
        yield


def cloud(rng, n, d, radius=1.0):
    x = rng.standard_normal((n, d))
    return (radius * x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def reference(score, x, y, v, log_w):
    """Sums over pairs, in float64, by definition."""
    x, y, v, log_w = (np.asarray(a, np.float64) for a in (x, y, v, log_w))
    beta = float(score.beta) if isinstance(score, af.pairsums.Inner) else 2 * float(score.g)
    s = beta * x @ y.T
    if not isinstance(score, af.pairsums.Inner):
        s = s - beta / 2 * (np.sum(x**2, 1)[:, None] + np.sum(y**2, 1))
    s = s + log_w
    top = s.max(axis=1, keepdims=True)
    e = np.exp(s - np.where(np.isfinite(top), top, 0))
    z = e.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        return np.where(z > 0, e @ v / np.where(z > 0, z, 1), 0), (top + np.log(np.where(z > 0, z, 0)))[:, 0]


def positional(pairs, w, n):
    """Logarithms of the weights of all pairs, by definition."""
    lag = np.arange(n)[:, None] + len(w) - n - np.arange(len(w))
    if getattr(pairs, "at", None) is not None:
        lag = np.asarray(pairs.at)[:, None] - np.arange(len(w))
    weight = np.tile(w, (n, 1))
    if isinstance(pairs, af.Causal):
        slope = 0.0 if pairs.slope is None else float(pairs.slope)
        weight = weight * np.exp(-slope * np.maximum(lag, 0)) * (lag > 0 if pairs.strict else lag >= 0)
        weight = weight / weight.sum(axis=1, keepdims=True) if pairs.normalized else weight
    with np.errstate(divide="ignore"):
        return np.log(weight)


@functools.cache
def compiled(weighted):
    def sums(score, x, y, v, log_w):
        return af.pairsums.pair_sums(score, x, y, v, log_w=log_w if weighted else None, kernel="direct")

    return jax.jit(sums)


# Few shapes, since each is compiled: not multiples of a tile, one token, no values, several partial sums.
@settings(max_examples=30, deadline=None)
@given(
    case=st.sampled_from(
        [
            (17, 33, 3, 3, False, False),
            (1, 1, 2, 2, True, True),
            (5, 300, 4, 1, False, True),
            (40, 31, 1, 0, True, True),
        ]
    ),
    beta=st.sampled_from([0.0, 1.0, 9.0, 300.0, 1e4]),
    removed=st.sampled_from([0.0, 0.5, 1.0]),
    seed=st.integers(0, 999),
)
def test_direct_sums_are_those_of_float64(case, beta, removed, seed):
    n, m, d, p, square, weighted = case
    rng = np.random.default_rng(seed)
    x, y = cloud(rng, n, d), cloud(rng, m, d)
    v = rng.standard_normal((m, p)).astype(np.float32)  # larger than one, too
    log_w = rng.standard_normal(m).astype(np.float32)
    log_w[rng.random(m) < removed] = -np.inf
    score = af.pairsums.SquaredDistance(beta / 2) if square else af.pairsums.Inner(beta)
    num, log_z = compiled(weighted)(score, x, y, v, log_w)
    expected, expected_z = reference(score, x, y, v, log_w if weighted else np.full(m, -np.log(m)))
    # A score of size beta has an absolute rounding error of beta times 2e-7, and so has its logarithm of a weight.
    error = 3e-7 * (3 + beta)
    np.testing.assert_allclose(num, expected, rtol=0, atol=min(4 * error, 6))
    np.testing.assert_allclose(log_z, expected_z, rtol=0, atol=2 * error)


# Several tiles of queries, steps of keys and partial sums; positions before all keys and behind them.
@pytest.mark.parametrize(
    "pairs, n, m, d",
    [
        (af.pairsums.Full(), 300, 300, 3),
        (af.Causal(), 300, 300, 3),
        (af.Causal(strict=True, slope=0.7), 40, 40, 2),
        (af.Causal(slope=0.3, at=[-1, 0, 5, 299, 900]), 5, 300, 2),
        (af.Causal(slope=0.3, normalized=True), 20, 530, 4),
        (af.Causal(slope=0.2), 150, 150, 20),
    ],
)
def test_sums_of_many_tiles_are_those_of_float64(pairs, n, m, d, monkeypatch):
    monkeypatch.setattr(few, "PARTIAL", 256)
    rng = np.random.default_rng(d)
    x, y, v = cloud(rng, n, d), cloud(rng, m, d), cloud(rng, m, 3)
    x = y if n == m else x
    num, log_z = jax.jit(
        lambda *arrays: af.pairsums.pair_sums(af.pairsums.Inner(4.0), *arrays, pairs=pairs, kernel="direct")
    )(x, y, v)
    expected, expected_z = reference(af.pairsums.Inner(4.0), x, y, v, positional(pairs, np.full(m, 1 / m), n))
    np.testing.assert_allclose(num, expected, atol=4e-6)
    np.testing.assert_allclose(log_z, expected_z, atol=1e-5)


def test_hardmax_sums_are_those_of_float64():
    rng = np.random.default_rng(6)
    x, y, v = (
        rng.integers(-3, 4, (many, k)).astype(np.float32) for many, k in ((33, 3), (70, 3), (70, 4))
    )  # many ties
    log_w = np.where(rng.random(70) < 0.3, -np.inf, rng.standard_normal(70))

    @functools.partial(jax.jit, static_argnums=0)
    def sums(kernel, tol, log_w, *arrays):
        return af.pairsums.pair_sums(
            af.pairsums.Inner(1.0), *arrays, log_w=log_w, reduce=af.pairsums.Hardmax(tol), kernel=kernel
        )

    for tol in (0.0, 1.5):
        direct = sums("direct", tol, log_w.astype(np.float32), x, y, v)
        for a, b in zip(direct, sums("dense", tol, log_w, *(a.astype(float) for a in (x, y, v))), strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-6, atol=2e-6)


def test_direct_sums_have_the_derivatives_of_others():
    x = jnp.asarray(cloud(np.random.default_rng(1), 9, 2))
    arguments = (x, jnp.float32(3.0), jnp.float32(0.4))
    direction = jax.tree.map(lambda a: jnp.cos(jnp.arange(a.size, dtype=a.dtype)).reshape(a.shape), arguments)

    @functools.partial(jax.jit, static_argnums=0)
    def derivatives(kernel):
        def total(x, beta, slope):
            everyone = af.pairsums.pair_sums(af.pairsums.Inner(beta), x, x, x, kernel=kernel)[0]
            before = af.pairsums.pair_sums(
                af.pairsums.Inner(beta), x, x, x, pairs=af.Causal(slope=slope), kernel=kernel
            )[0]
            return jnp.sum(jnp.sin(everyone)) + jnp.sum(jnp.cos(before))

        return jax.grad(total, argnums=(0, 1, 2))(*arguments), jax.jvp(total, arguments, direction)[1]

    for a, b in zip(*(jax.tree.leaves(derivatives(kernel)) for kernel in ("direct", "dense")), strict=True):
        np.testing.assert_allclose(a, b, atol=3e-6)


@pytest.mark.parametrize(
    "pairs, dtype, d, why",
    [
        (af.Causal().T, "float32", 2, "for all pairs, and for exponentials of causal ones"),
        (af.pairsums.Full(), "float64", 2, "tokens are float64"),
        (af.pairsums.Full(), "float32", 130, "at most 128 dimensions"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(pairs, dtype, d, why):
    x = jnp.asarray(cloud(np.random.default_rng(2), 12, d), dtype)
    with pytest.raises(InputError, match=rf"^no direct sums here: .*{why}.*; choose another kernel\.$"):
        af.pairsums.pair_sums(af.pairsums.Inner(2.0), x, x, x, pairs=pairs, kernel="direct")


B, V = (np.random.default_rng(seed).standard_normal((20, 20)) for seed in (3, 4))
HARDMAX = functools.partial(af.Hardmax, tol=0.01)
ALIBI = af.Causal(slope=0.5, normalized=True)
SHIFTED = functools.partial(af.Unnormalized, 1.0, shifted=True)


def small(matrix, d):
    return matrix[:d, :d] / np.sqrt(d)


# All solvers, maps and spaces, in both layouts of a cloud, with numbers of tokens that are no power of two.
@pytest.mark.parametrize(
    "model, n, d, solver, weighted",
    [
        (lambda d: af.SelfAttention(beta=4.0), 32, 2, "rk4", False),
        (lambda d: af.SelfAttention(af.Softmax(2.0, B=small(B, d), V=small(V, d))), 5, 3, "euler-retract", True),
        (lambda d: af.SelfAttention(af.Unnormalized(1.0)), 5, 3, "euler", True),
        (lambda d: af.SelfAttention(af.Softmax(1.0, V=small(V, d)), space=af.Euclidean()), 7, 4, "rk4", True),
        (lambda d: af.SelfAttention(beta=4.0), 7, 20, "euler-retract", True),
        (lambda d: af.SelfAttention(SHIFTED(Q=small(B, d), K=small(V, d))), 7, 20, "rk4", False),
        (lambda d: af.SelfAttention(af.Softmax(1.0, V=small(V, d)), space=af.Euclidean()), 20, 17, "euler", False),
        (lambda d: af.SelfAttention(af.Softmax(4.0), pairs=af.Causal(strict=True, slope=0.3)), 7, 3, "euler", True),
        (lambda d: af.SelfAttention(af.Unnormalized(1.0), pairs=ALIBI), 7, 20, "euler", True),
        (lambda d: af.SelfAttention(HARDMAX(B=small(B, d), V=small(V, d)), space=af.Euclidean()), 7, 3, "euler", True),
    ],
)  # fmt: skip
def test_fused_trajectories_are_those_of_float64(model, n, d, solver, weighted):
    model, rng = model(d), np.random.default_rng(7)
    x = cloud(rng, 3 * n, d).reshape(3, n, d)
    w = np.arange(1.0, n + 1) / (n * (n + 1) / 2) if weighted else np.full(n, 1 / n)
    steps = jax.jit(lambda x, w: fused_steps(model, (x, x), jnp.float32(0.1), jnp.asarray(5), w, solver)[1])
    actual = steps(x, w.astype(np.float32) if weighted else None)
    exact = np.stack([trajectory(model, one, w, solver, 0.1, 5) for one in x])
    np.testing.assert_allclose(actual, exact, rtol=0, atol=2e-6 * np.abs(exact).max())


def trajectory(model, x, w, solver, h, steps):
    """Steps of one cloud in float64, by definition."""
    attention, n = model.attention, len(x)
    identity, sphere = np.eye(x.shape[1]), isinstance(model.space, af.Sphere)
    B = identity if attention.B is None else np.asarray(attention.B)
    B = B if attention.Q is None else np.asarray(attention.Q).T @ np.asarray(attention.K)
    V = identity if attention.V is None else np.asarray(attention.V)
    weight = np.exp(positional(model.pairs, w, n))

    def force(x):
        s = x @ B @ x.T
        if isinstance(attention, af.Hardmax):
            e = weight * (s >= s.max(axis=1, keepdims=True) - float(attention.tol))
        else:
            e = weight * np.exp(float(attention.beta) * (s - getattr(attention, "shifted", 0)))
        if not isinstance(attention, af.Unnormalized):
            mass = e.sum(axis=1, keepdims=True)
            e = e / np.where(mass > 0, mass, 1)
        return e @ x @ V.T

    unit = lambda x: x / np.linalg.norm(x, axis=1, keepdims=True) if sphere else x  # noqa: E731

    def field(x):
        y = unit(x)
        v = force(y)
        return v - np.sum(v * y, axis=1, keepdims=True) * y if sphere else v

    x = x.astype(float)
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


def test_an_ensemble_is_the_one_of_other_engines():
    def states(engine, dtype):
        return af.ensemble(
            af.SelfAttention(beta=4.0),
            lambda key: af.sphere.uniform(n=5, d=2, key=key).astype(jnp.float32),
            realizations=3,
            ts=[0.3, 1.0],
            reduce=af.flows.Mean(lambda t, x, w: x),
            key=jax.random.key(0),
            solver="rk4",
            dtype=dtype,
            engine=engine,
        ).values[0]

    np.testing.assert_allclose(states("fused", "float32"), states("batched", "float64"), rtol=0, atol=2e-6)


@pytest.mark.parametrize(
    "reason, model, n, d, dtype",
    [
        ("float32", af.SelfAttention(beta=1.0), 8, 2, "float64"),
        ("do not fit on a chip", af.SelfAttention(beta=1.0), 65, 2, "float32"),
        ("softmax, unnormalised and hardmax", af.SelfAttention(af.L2(1.0)), 8, 2, "float32"),
        ("hardmax among all tokens", af.SelfAttention(af.Hardmax(), pairs=af.Causal()), 8, 2, "float32"),
        ("hardmax in at most 8", af.SelfAttention(af.Hardmax()), 8, 9, "float32"),
        ("change with time", af.SelfAttention(af.Softmax(af.Piecewise([1.0], [1.0, 2.0]))), 8, 2, "float32"),
    ],
)
def test_models_without_a_fused_kernel_are_refused(reason, model, n, d, dtype):
    with pytest.raises(InputError, match=reason):
        af.ensemble(
            model,
            lambda key: af.sphere.uniform(n=n, d=d, key=key),
            realizations=2,
            ts=[1.0],
            reduce=af.flows.Mean(lambda t, x, w: x),
            key=jax.random.key(0),
            dtype=dtype,
            engine="fused",
        )


@pytest.mark.parametrize("d", [3, 20])
def test_kernels_are_translated_for_a_gpu_also_where_there_is_none(d, monkeypatch):
    """The instructions of our own, which the interpreter does not use, in both layouts of a cloud."""
    monkeypatch.setattr(gpu, "interpreted", lambda: False)
    model = af.SelfAttention(beta=9.0)

    def sums(x, pairs=af.pairsums.Full(), reduce="softmax"):
        return af.pairsums.pair_sums(af.pairsums.Inner(9.0), x, x, x, pairs=pairs, reduce=reduce, kernel="direct")

    def steps(x, model=model):
        return fused_steps(model, (x, x), jnp.float32(0.1), jnp.asarray(5), None, "rk4")

    causal = af.Causal(slope=0.5)
    programs = [(sums, (100, d)), (functools.partial(sums, pairs=causal), (100, d)), (steps, (7, 20, d))]
    programs += [(functools.partial(steps, model=af.SelfAttention(af.Softmax(9.0), pairs=causal)), (7, 20, d))]
    if d <= 4:
        programs += [(functools.partial(sums, reduce=af.pairsums.Hardmax()), (100, d))]
        programs += [(functools.partial(steps, model=af.SelfAttention(af.Hardmax())), (7, 20, d))]
    for program, shape in programs:
        tokens = jax.ShapeDtypeStruct(shape, jnp.float32)
        text = jax.jit(program).trace(tokens).lower(lowering_platforms=("cuda",)).as_text()
        assert "__gpu$xla.gpu.triton" in text
