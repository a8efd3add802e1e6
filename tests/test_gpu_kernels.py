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
from attnflow.flows._fused import fused_steps
from attnflow.pairsums import _direct, _gpu


def cloud(rng, n, d, radius=1.0):
    x = rng.standard_normal((n, d))
    return (radius * x / np.linalg.norm(x, axis=1, keepdims=True)).astype(np.float32)


def reference(score, x, y, v, log_w):
    """Sums over pairs, in float64, by definition."""
    x, y, v, log_w = (np.asarray(a, np.float64) for a in (x, y, v, log_w))
    beta = float(score.beta) if isinstance(score, af.Inner) else 2 * float(score.g)
    s = beta * x @ y.T
    if not isinstance(score, af.Inner):
        s = s - beta / 2 * (np.sum(x**2, 1)[:, None] + np.sum(y**2, 1))
    s = s + log_w
    top = s.max(axis=1, keepdims=True)
    e = np.exp(s - np.where(np.isfinite(top), top, 0))
    z = e.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        return np.where(z > 0, e @ v / np.where(z > 0, z, 1), 0), (top + np.log(np.where(z > 0, z, 0)))[:, 0]


@functools.cache
def compiled(weighted):
    def sums(score, x, y, v, log_w):
        return af.pair_sums(score, x, y, v, log_w=log_w if weighted else None, kernel="direct")

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
    score = af.SquaredDistance(beta / 2) if square else af.Inner(beta)
    num, log_z = compiled(weighted)(score, x, y, v, log_w)
    expected, expected_z = reference(score, x, y, v, log_w if weighted else np.full(m, -np.log(m)))
    # A score of size beta has an absolute rounding error of beta times 2e-7, and so has its logarithm of a weight.
    error = 3e-7 * (3 + beta)
    np.testing.assert_allclose(num, expected, rtol=0, atol=min(4 * error, 6))
    np.testing.assert_allclose(log_z, expected_z, rtol=0, atol=2 * error)


def test_partial_sums_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    x = cloud(rng, 700, 3)
    sums = [jax.jit(lambda x: af.pair_sums(af.Inner(9.0), x, x, x, kernel="direct"))(x)]
    monkeypatch.setattr(_direct, "PARTIAL", 256)
    sums.append(jax.jit(lambda x: af.pair_sums(af.Inner(9.0), x, x, x, kernel="direct"))(x))
    for a, b in zip(*sums, strict=True):
        np.testing.assert_allclose(a, b, atol=2e-6)


def test_direct_sums_have_the_derivatives_of_others():
    x = jnp.asarray(cloud(np.random.default_rng(1), 9, 2))
    direction = jnp.cos(jnp.arange(x.size, dtype=x.dtype)).reshape(x.shape)

    @functools.partial(jax.jit, static_argnums=0)
    def derivatives(kernel):
        total = lambda x: jnp.sum(jnp.sin(af.pair_sums(af.Inner(3.0), x, x, x, kernel=kernel)[0]))  # noqa: E731
        return jax.grad(total)(x), jax.jvp(total, (x,), (direction,))[1]

    for a, b in zip(derivatives("direct"), derivatives("dense"), strict=True):
        np.testing.assert_allclose(a, b, atol=3e-6)


@pytest.mark.parametrize(
    "pairs, dtype, d", [(af.Causal(), "float32", 2), (af.Full(), "float64", 2), (af.Full(), "float32", 130)]
)
def test_what_does_not_fit_is_done_by_the_blocked_engine(pairs, dtype, d):
    x = jnp.asarray(cloud(np.random.default_rng(2), 12, d), dtype)
    direct, blocked = (af.pair_sums(af.Inner(2.0), x, x, x, pairs=pairs, kernel=k) for k in ("direct", "blocked"))
    for a, b in zip(direct, blocked, strict=True):
        np.testing.assert_array_equal(a, b)


B, V = (np.random.default_rng(seed).standard_normal((20, 20)) for seed in (3, 4))
SHIFTED = functools.partial(af.Unnormalized, 1.0, shifted=True)


def small(matrix, d):
    return matrix[:d, :d] / np.sqrt(d)


# All solvers, maps and spaces, in both layouts of a cloud, with numbers of tokens that are no power of two.
@pytest.mark.parametrize(
    "model, n, d, solver, weighted",
    [
        (lambda d: af.SelfAttention(beta=4.0), 32, 2, "rk4", False),
        (lambda d: af.SelfAttention(af.Softmax(2.0, small(B, d), small(V, d))), 5, 3, "euler-retract", True),
        (lambda d: af.SelfAttention(af.Unnormalized(1.0)), 5, 3, "euler", True),
        (lambda d: af.SelfAttention(af.Softmax(1.0, V=small(V, d)), space=af.Euclidean()), 7, 4, "rk4", True),
        (lambda d: af.SelfAttention(beta=4.0), 7, 20, "euler-retract", True),
        (lambda d: af.SelfAttention(SHIFTED(Q=small(B, d), K=small(V, d))), 7, 20, "rk4", False),
        (lambda d: af.SelfAttention(af.Softmax(1.0, V=small(V, d)), space=af.Euclidean()), 20, 17, "euler", False),
    ],
)  # fmt: skip
def test_fused_trajectories_are_those_of_other_engines(model, n, d, solver, weighted):
    w = np.arange(1.0, n + 1)
    draw = af.sphere.uniform if isinstance(model(d).space, af.Sphere) else af.euclidean.gaussian

    def states(engine, dtype):
        return af.ensemble(
            model(d),
            lambda key: draw(n=n, d=d, key=key).astype(jnp.float32),
            realizations=3,
            ts=[0.3, 1.0],
            reduce=af.Mean(lambda t, x, w: x),
            key=jax.random.key(0),
            solver=solver,
            weights=w / w.sum() if weighted else None,
            dtype=dtype,
            engine=engine,
        ).values[0]

    exact = np.asarray(states("batched", "float64"))
    np.testing.assert_allclose(states("fused", "float32"), exact, rtol=0, atol=2e-6 * np.abs(exact).max())


@pytest.mark.parametrize(
    "reason, model, n, d, dtype",
    [
        ("float32", af.SelfAttention(beta=1.0), 8, 2, "float64"),
        ("do not fit on a chip", af.SelfAttention(beta=1.0), 65, 2, "float32"),
        ("softmax and unnormalised", af.SelfAttention(af.L2(1.0)), 8, 2, "float32"),
        ("pairs of all tokens", af.SelfAttention(af.Softmax(1.0), pairs=af.Causal()), 8, 2, "float32"),
        ("change with time", af.SelfAttention(af.Softmax(af.Piecewise([1.0], [1.0, 2.0]))), 8, 2, "float32"),
    ],
)
def test_what_has_no_fused_kernel_is_refused(reason, model, n, d, dtype):
    with pytest.raises(InputError, match=reason):
        af.ensemble(
            model,
            lambda key: af.sphere.uniform(n=n, d=d, key=key),
            realizations=2,
            ts=[1.0],
            reduce=af.Mean(lambda t, x, w: x),
            key=jax.random.key(0),
            dtype=dtype,
            engine="fused",
        )


@pytest.mark.parametrize("d", [3, 20])
def test_kernels_are_translated_for_a_gpu_also_where_there_is_none(d, monkeypatch):
    """The instructions of our own, which the interpreter does not use, in both layouts of a cloud."""
    monkeypatch.setattr(_gpu, "interpreted", lambda: False)
    model = af.SelfAttention(beta=9.0)

    def sums(x):
        return af.pair_sums(af.Inner(9.0), x, x, x, kernel="direct")

    def steps(x):
        return fused_steps(model, (x, x), jnp.float32(0.1), jnp.asarray(5), None, "rk4")

    for program, shape in ((sums, (100, d)), (steps, (7, 20, d))):
        tokens = jax.ShapeDtypeStruct(shape, jnp.float32)
        text = jax.jit(program).trace(tokens).lower(lowering_platforms=("cuda",)).as_text()
        assert "__gpu$xla.gpu.triton" in text
