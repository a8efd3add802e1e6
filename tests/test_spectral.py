"""Spectral sums on the circle and on the sphere: as accurate as direct ones, in time proportional to the tokens."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ive

import attnflow as af
from attnflow.errors import InputError
from attnflow.flows import SumsOfRun
from attnflow.pairsums import Hardmax, _series
from attnflow.pairsums._bessel import circle_coefficients, sphere_coefficients
from attnflow.pairsums._circle import Circle
from attnflow.pairsums._harmonics import Harmonics
from attnflow.pairsums.engines import spectral as engine
from attnflow.pairsums.modes import circle_modes, modes_for, sphere_modes
from attnflow.pairsums.native_library import native

CIRCLE_TABLE = {1: 12, 4: 20, 9: 27, 16: 34, 30: 44, 100: 78, 300: 134, 1000: 245, 3000: 427, 10000: 787}
SPHERE_TABLE = {1: 13, 4: 19, 9: 26, 16: 33, 30: 44, 100: 76, 300: 130, 1000: 236}


def tokens(n, d, seed=0):
    """Random unit vectors; the first two are the poles."""
    x = np.random.default_rng(seed).standard_normal((n, d))
    x[:2] = 0
    x[:2, -1] = (1, -1)[: min(n, 2)]
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def direct(x, y, values, w, beta):
    """The mean of the values and Z on the scale where the kernel's maximum is 1, by a NumPy sum."""
    e = np.exp(-beta * np.sum((x[:, None] - y[None]) ** 2, axis=-1) / 2) * w
    return e @ values / e.sum(1, keepdims=True), e.sum(1)


@pytest.mark.parametrize("beta", CIRCLE_TABLE)
def testnumber_of_modes_on_the_circle(beta):
    assert circle_modes(float(beta), 1e-12) == CIRCLE_TABLE[beta]


@pytest.mark.parametrize("beta", SPHERE_TABLE)
def test_number_of_degrees_on_the_sphere(beta):
    assert sphere_modes(float(beta), 1e-12) == SPHERE_TABLE[beta]


@pytest.mark.parametrize("beta", [0.0, 1e-8, 0.3, 9.0, 300.0, 1e4])
def test_coefficients_are_scaled_bessel_functions(beta):
    K = circle_modes(beta)
    k = np.arange(K + 1)
    rounding = 4 * K * np.finfo(float).eps  # a product of up to K ratios
    for sign in (1, -1):
        actual = np.asarray(jax.jit(circle_coefficients, static_argnums=1)(jnp.asarray(sign * beta), K))
        np.testing.assert_allclose(actual, sign**k * ive(k, beta), rtol=rounding, atol=1e-15 * ive(0, beta))
    actual = np.asarray(circle_coefficients(jnp.asarray(beta), K + 64))[: K // 2]
    np.testing.assert_allclose(actual, ive(k[: K // 2], beta), rtol=rounding)
    if beta > 0:
        L = sphere_modes(beta)
        exact = np.sqrt(np.pi / 2 / beta) * ive(np.arange(L + 1) + 0.5, beta)
        actual = np.asarray(sphere_coefficients(jnp.asarray(beta), L))
        np.testing.assert_allclose(actual, exact, rtol=rounding, atol=1e-15 * exact[0])


@pytest.mark.parametrize("d, n, beta", [(2, 2000, 300.0), (3, 800, 30.0)])
def test_velocities_agree_with_direct_sums(d, n, beta):
    """Row A23 of the specification: random weights, poles among the tokens."""
    x = tokens(n, d)
    w = np.random.default_rng(1).random(n)
    w /= w.sum()
    model = af.SelfAttention(beta=beta)
    velocity = jax.jit(lambda x, w: af.models.field(model, 0.0, x, w, kernel="spectral"))(
        jnp.asarray(x), jnp.asarray(w)
    )
    mean, _ = direct(x, x, x, w, beta)
    np.testing.assert_allclose(velocity, mean - np.sum(mean * x, axis=1, keepdims=True) * x, rtol=0, atol=1e-12)


@pytest.mark.parametrize("d, beta", [(2, 1e4), (3, 300.0)])
def test_the_error_far_from_a_charge_is_what_the_choice_assumes(d, beta):
    x = tokens(300, d)
    expansion = (Circle if d == 2 else Harmonics)(modes_for(beta, d))

    @jax.jit
    def sums(x, charges):
        series = expansion.coefficients(jnp.asarray(beta))[0]
        return expansion.evaluate(x, expansion.convolve(expansion.moments(x, charges), series))

    kernel = np.asarray(sums(jnp.asarray(x), jnp.eye(300, 40)))
    exact = np.exp(-beta * np.sum((x[:, None] - x[None, :40]) ** 2, axis=-1) / 2)
    far = exact < 1e-4
    assert np.max(np.abs(kernel - exact)[far]) < _series.ERROR[d]


@functools.cache
def compiled(kernel):
    return jax.jit(lambda score, x, y, v, log_w: af.pairsums.pair_sums(score, x, y, v, log_w=log_w, kernel=kernel))


@settings(max_examples=30, deadline=None)
@given(
    case=st.sampled_from([(2, True), (3, False)]),  # few, since each is compiled
    beta=st.sampled_from([0.0, 0.7, 5.0, 12.0, -4.0]),
    spread=st.sampled_from([0.0, 3.0]),
    removed=st.booleans(),
    seed=st.integers(0, 999),
)
def test_any_sum_equals_the_dense_one(case, beta, spread, removed, seed):
    n, m, p = 7, 5, 2
    d, square = case
    rng = np.random.default_rng(seed)
    y = jnp.asarray(tokens(m, d, seed))
    x = jnp.asarray(tokens(n, d, seed + 1))
    v = jnp.asarray(rng.standard_normal((m, p)))
    log_w = spread * rng.standard_normal(m)
    log_w[rng.random(m) < 0.4 * removed] = -np.inf
    score = af.pairsums.SquaredDistance(abs(beta) / 2) if square else af.pairsums.Inner(beta)
    numbers = (score, x, y, v, jnp.asarray(log_w))
    expected, actual = compiled("dense")(*numbers), compiled("spectral:48")(*numbers)
    z = np.exp(np.asarray(expected[1]) - (0 if square else abs(beta)))  # the kernel's maximum is 1
    total = np.sum(np.exp(log_w))
    trusted = (z > 2 * _series.FLOOR * total) | (total == 0)
    assert not np.isnan(np.asarray(actual[1])[trusted]).any()
    size = np.where(z > 0, 1e-13 * total / np.where(z > 0, z, 1), 1e-13)
    with np.errstate(invalid="ignore"):
        off = np.where(
            np.asarray(actual[1]) == np.asarray(expected[1]), 0, np.abs(np.asarray(actual[1]) - np.asarray(expected[1]))
        )
    assert np.all((off <= size)[trusted])
    assert np.all((np.abs(np.asarray(actual[0] - expected[0])) <= 5 * size[:, None])[trusted])


def test_no_key_left():
    x = jnp.asarray(tokens(4, 3))
    num, log_z = jax.jit(
        lambda x: af.pairsums.pair_sums(
            af.pairsums.Inner(2.0), x, x, x, log_w=jnp.full(4, -jnp.inf), kernel="spectral:24"
        )
    )(x)
    assert np.all(np.asarray(num) == 0) and np.all(np.asarray(log_z) == -np.inf)


def test_tiles_change_nothing(monkeypatch, d=2):
    x = jnp.asarray(tokens(50, d))
    whole = af.pairsums.pair_sums(af.pairsums.Inner(3.0), x, x, x, kernel="spectral")
    monkeypatch.setitem(engine.TILE, d, 16)
    for a, b in zip(whole, af.pairsums.pair_sums(af.pairsums.Inner(3.0), x, x, x, kernel="spectral"), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("d", [2, 3])
def test_derivatives_are_those_of_the_dense_engine(d, monkeypatch):
    """In every direction, also off the sphere, at poles, in several tiles; reverse, and on the circle forward twice."""
    monkeypatch.setitem(engine.TILE, d, 4)
    x, y = jnp.asarray(tokens(5, d)), jnp.asarray(tokens(6, d, 3))
    v = jnp.asarray(np.random.default_rng(2).standard_normal((6, 2)))
    log_w = jnp.asarray(np.random.default_rng(3).standard_normal(6)).at[2].set(-jnp.inf)

    def total(arguments, kernel):
        beta, x, y, v, log_w = arguments
        num, log_z = af.pairsums.pair_sums(af.pairsums.Inner(beta), x, y, v, log_w=log_w, kernel=kernel)
        return jnp.sum(jnp.sin(num)) + jnp.sum(log_z**2)

    arguments = (jnp.asarray(3.0), x, y, v, log_w)
    direction = jax.tree.map(lambda a: jnp.cos(jnp.arange(a.size, dtype=a.dtype)).reshape(a.shape), arguments)

    @functools.partial(jax.jit, static_argnums=0)
    def derivatives(kernel):
        value = functools.partial(total, kernel=kernel)
        along = lambda a: jax.jvp(value, (a,), (direction,))[1]  # noqa: E731
        # On the sphere this takes long to compile: reverse there, and forward on the circle, where it is checked twice.
        twice = jax.jvp(along, (arguments,), (direction,)) if d == 2 else ()
        return jax.grad(value)(arguments), twice

    dense, spectral = (jax.tree.leaves(derivatives(kernel)) for kernel in ("dense", "spectral:32"))
    for a, b in zip(dense, spectral, strict=True):
        assert np.isfinite(np.asarray(b)).all()
        np.testing.assert_allclose(b, a, rtol=1e-11, atol=1e-11)

    gradient = jax.grad(functools.partial(total, kernel="spectral:32"))
    with pytest.raises(af.errors.InputError, match="no derivative of a gradient"):
        jax.eval_shape(lambda a: jax.jvp(gradient, (a,), (direction,)), arguments)


@pytest.mark.parametrize("d", [2, 3])
def test_a_batch_is_its_members(d):
    x = jnp.stack([jnp.asarray(tokens(6, d, seed)) for seed in range(3)])
    betas = jnp.asarray([0.5, 2.0, 6.0])
    batch = jax.jit(jax.vmap(lambda b, x: af.pairsums.pair_sums(af.pairsums.Inner(b), x, x, x, kernel="spectral:32")))(
        betas, x
    )
    for i in range(3):
        alone = af.pairsums.pair_sums(af.pairsums.Inner(betas[i]), x[i], x[i], x[i], kernel="dense")
        for a, b in zip(alone, batch, strict=True):
            np.testing.assert_allclose(b[i], a, rtol=1e-13, atol=1e-13)


def lowered(transform, d, n):
    x = jax.ShapeDtypeStruct((n, d), jnp.float64)
    attend = lambda x: af.pairsums.pair_sums(af.pairsums.Inner(9.0), x, x, x, kernel="spectral:32")[0]  # noqa: E731
    return jax.jit(transform(attend)).lower(x)


def test_work_and_memory_are_proportional_to_the_tokens(monkeypatch, d=2):
    """Work is counted without loops, whose bodies are counted once; memory with them, also in reverse mode."""
    with monkeypatch.context() as patch:
        patch.setitem(engine.TILE, d, 1 << 20)
        flops = [lowered(lambda f: f, d, n).cost_analysis()["flops"] for n in (2000, 4000, 8000)]
    assert (flops[2] - flops[1]) / (flops[1] - flops[0]) == pytest.approx(2, rel=1e-3)
    gradient = lambda f: jax.grad(lambda x: jnp.sum(f(x) ** 2))  # noqa: E731
    memory = lowered(gradient, d, 1 << 16).compile().memory_analysis().temp_size_in_bytes
    assert memory < 100 * d * 8 * (1 << 16), "a matrix of pairs would need 34 GB, one of modes 17 to 500 MB"


def test_a_new_temperature_does_not_compile_again():
    x = jnp.asarray(tokens(10, 2))
    traces = []

    @jax.jit
    def sums(beta):
        traces.append(beta)
        return af.pairsums.pair_sums(af.pairsums.Inner(beta), x, x, x, kernel="spectral:56")[0]

    for beta in (1.0, 9.0, 30.0):
        np.testing.assert_allclose(
            sums(beta), af.pairsums.pair_sums(af.pairsums.Inner(beta), x, x, x)[0], rtol=0, atol=1e-13
        )
    assert len(traces) == 1
    assert np.isnan(np.asarray(sums(3000.0))).all(), "a temperature that the modes do not resolve"


# Refusals


CIRCLE, SPACE = jnp.asarray(tokens(5, 2)), jnp.asarray(tokens(5, 4))


@pytest.mark.parametrize(
    "reason, call",
    [
        (
            "the tokens have 4",
            lambda: af.pairsums.pair_sums(af.pairsums.Inner(1.0), SPACE, SPACE, 1.0, kernel="spectral"),
        ),
        (
            "belongs into beta",
            lambda: af.pairsums.pair_sums(af.pairsums.Inner(1.0, np.eye(2)), CIRCLE, CIRCLE, 1.0, kernel="spectral"),
        ),
        (
            "pairs are left out",
            lambda: af.pairsums.pair_sums(
                af.pairsums.Inner(1.0), CIRCLE, CIRCLE, 1.0, pairs=af.Causal().T, kernel="spectral"
            ),
        ),
        (
            "exponentials of the score",
            lambda: af.pairsums.pair_sums(
                af.pairsums.Inner(1.0), CIRCLE, CIRCLE, 1.0, reduce=Hardmax(0.0), kernel="spectral"
            ),
        ),
        (
            "float32 leaves too few digits",
            lambda: af.pairsums.pair_sums(
                af.pairsums.Inner(np.float32(1)),
                CIRCLE.astype("float32"),
                CIRCLE.astype("float32"),
                1.0,
                kernel="spectral",
            ),
        ),
        (
            "unit tokens",
            lambda: af.pairsums.pair_sums(af.pairsums.Inner(1.0), 2 * CIRCLE, CIRCLE, 1.0, kernel="spectral"),
        ),
        (
            "8 modes do not resolve beta = 50",
            lambda: af.pairsums.pair_sums(af.pairsums.Inner(50.0), CIRCLE, CIRCLE, 1.0, kernel="spectral:8"),
        ),
        (
            "names no number of modes",
            lambda: af.pairsums.pair_sums(af.pairsums.Inner(1.0), CIRCLE, CIRCLE, 1.0, kernel="spectral:many"),
        ),
        (
            "not known inside a transformation",
            lambda: jax.jit(
                lambda b: af.pairsums.pair_sums(af.pairsums.Inner(b), CIRCLE, CIRCLE, 1.0, kernel="spectral")
            )(1.0),
        ),
        ("query 1 is too far from all keys", lambda: lonely("spectral")),
    ],
)
def test_impossible_sums_are_refused(reason, call):
    with pytest.raises(InputError, match=reason):
        call()


def lonely(kernel, beta=30.0):
    """A query opposite to all keys."""
    x = jnp.asarray([[1.0, 0.0], [-1.0, 0.0]])
    return af.pairsums.pair_sums(af.pairsums.Inner(beta), x, x[:1], 1.0, kernel=kernel)


def test_a_query_far_from_all_keys_is_not_given_a_wrong_number():
    def traced(beta):
        return lonely("spectral:56", beta)[1]

    actual = jax.jit(traced)(30.0)
    assert actual[0] == pytest.approx(30.0) and np.isnan(actual[1])
    np.testing.assert_allclose(jax.jit(traced)(5.0), [5.0, -5.0], rtol=1e-9)


# In a run


@pytest.mark.parametrize("d, attention, beta", [(2, af.Softmax(beta=9.0), 9.0), (3, af.L2(g=2.0), 4.0)])
def test_a_run_is_the_direct_one(d, attention, beta):
    """Ten layers against a NumPy loop: L2 attention is softmax on the sphere, with beta = 2g."""
    x = tokens(40, d)
    run = af.simulate(af.SelfAttention(attention), x, t1=1.0, save=2, solver="layers", dt=0.1, kernel="spectral")
    for _ in range(10):
        x = x + 0.1 * direct(x, x, x, 1.0, beta)[0]
        x /= np.linalg.norm(x, axis=1, keepdims=True)
    np.testing.assert_allclose(run.xs[-1], x, rtol=0, atol=1e-10)
    assert run.provenance["options"]["kernel"].startswith("spectral:")


def chosen(model=None, n=5000, d=2, kernel="auto", **options):
    sums = SumsOfRun(model or af.SelfAttention(beta=9.0), jnp.asarray(tokens(n, d)), **options)
    return sums.choose(kernel)[1].engine.full_name


def usual(n=5000):
    """What `auto` is without spectral sums, for what the kernel for this processor knows."""
    return "native" if native().ready else "dense" if n <= 1024 else "blocked"


def test_the_default_choice():
    assert chosen() == "spectral:32" and chosen(n=6000, d=3) == "spectral:32"
    assert chosen(n=200) == usual(200) and chosen(n=1100, d=3) == usual()
    assert chosen(partitioned=True) == "blocked"  # the tokens are shared over a mesh of the user's
    least = int(engine.break_even(2, 32))
    assert chosen(n=least) == "spectral:32" and chosen(n=least - 1) == usual(least)


def test_the_default_choice_is_direct_where_accuracy_or_structure_forbid_it():
    light = np.full(5000, 1 / 4999)
    light[0] = 0
    assert chosen(span=1e3) == usual() and chosen(span=1e3, tolerance=1e-6) == "spectral:32"
    assert chosen(w=jnp.asarray(light)) == usual()
    assert chosen(af.SelfAttention(af.Unnormalized(beta=30.0))) == usual()
    assert chosen(af.SelfAttention(af.Unnormalized(beta=30.0, shifted=True))) == "spectral:56"
    assert chosen(af.SelfAttention(beta=1.0, space=af.Euclidean())) == usual()
    assert chosen(af.SelfAttention(beta=1.0, pairs=af.pairsums.Positional(np.ones(5)))) == "blocked"
    assert chosen(af.SelfAttention(af.Softmax(beta=af.Piecewise([1.0], [1.0, 2.0])))) == usual()
    assert chosen(af.SelfAttention(af.Hardmax())) == "blocked"
    assert chosen(d=4) == usual()


@pytest.mark.parametrize(
    "reason, options",
    [
        (r"makes 1e-08 over a time of 1000, more than the tolerance 1e-09; allow rtol >= 1e-08", {"span": 1e3}),
        ("a token of weight zero", {"w": jnp.asarray([0.0] + [1 / 4999] * 4999)}),
        ("they are for exponentials", {"model": af.SelfAttention(af.Hardmax())}),
        ("MultiHead does not say what it sums", {"model": af.SelfAttention(af.MultiHead([af.Softmax(1.0)] * 2))}),
        ("change with time", {"model": af.SelfAttention(af.Softmax(beta=af.Piecewise([1.0], [1.0, 2.0])))}),
        ("not unit vectors", {"model": af.SelfAttention(beta=1.0, space=af.Euclidean())}),
        ("the tokens have 4", {"d": 4}),
    ],
)
def test_a_run_that_spectral_sums_would_spoil_is_refused(reason, options):
    with pytest.raises(InputError, match=reason):
        chosen(kernel="spectral", **options)


def test_inside_a_transformation_the_number_of_modes_must_be_given():
    x0 = jnp.asarray(tokens(6, 2))

    def end(beta, kernel):
        model = af.SelfAttention(beta=beta)
        run = af.simulate(model, x0, t1=0.3, save=1, kernel=kernel, solver="euler", dt=0.1, max_steps=8)
        return jnp.sum(run.xs[-1, 2:] ** 3)

    slope = jax.jit(jax.value_and_grad(end), static_argnums=1)
    with pytest.raises(InputError, match="kernel='spectral:64'"):
        slope(2.0, "spectral")
    (low, _), (_, actual), (high, _) = (slope(beta, "spectral:24") for beta in (2.0 - 1e-4, 2.0, 2.0 + 1e-4))
    np.testing.assert_allclose(actual, (high - low) / 2e-4, rtol=1e-6)
