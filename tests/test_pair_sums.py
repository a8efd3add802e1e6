"""The pair-sum contract of the design against a naive double loop, for every engine, score, pairs and reduction.

Examples of one shape share one compiled program: what varies is data. Tests of derivatives run operation by operation
(`jax.disable_jit`, loops included), which is cheaper than compiling each.
"""

import functools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

import attnflow as af
from attnflow import engines
from attnflow.errors import InputError
from attnflow.pairsums import (
    AbstractPairs,
    Exponential,
    Hardmax,
    Pointwise,
    Problem,
    check_kernel,
    choose_sums,
    native_library,
)
from attnflow.pairsums.engines import blocked
from attnflow.pairsums.native_library import Native

INF = math.inf
# (queries, keys, dimension of queries, of keys, width of values)
# Tested elsewhere: float32 on a GPU (tests/test_gpu_kernels.py), and sums of unit tokens (tests/test_spectral.py).
ENGINES = ("dense", "blocked", "sharded", "broadcast", "native")
SHAPES = [(1, 4, 2, 2, 1), (5, 3, 3, 2, 3), (4, 4, 2, 2, 2)]
BETAS = [0.0, 0.5, 3.0, 200.0, 1e4]
FUNCTIONS = {"sigmoid": (jax.nn.sigmoid, expit), "identity": (lambda s: s, lambda s: s)}
REDUCTIONS = ["softmax", "exp", "sigmoid", "identity", "hardmax"]


@pytest.fixture(scope="module", autouse=True)
def small_tiles():
    """Blocks of 2 queries and 3 keys, so that the small clouds here are cut, with ragged last tiles."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocked, "QUERIES", 2)
        patch.setattr(blocked, "KEYS", 3)
        yield


def sums_by(kernel, *arguments, **options):
    """`pair_sums` by an engine; where that refuses them in a sentence, by the one that is chosen then."""
    try:
        return af.pairsums.pair_sums(*arguments, kernel=kernel, **options)
    except InputError as error:
        assert kernel == "native" and str(error).startswith("no native sums here: ")
        return af.pairsums.pair_sums(*arguments, **options)


eager = jax.disable_jit()


# The witness: s, b and lw entry by entry from the text of the design, then the sum row by row.


def bilinear(beta, B):
    return lambda x, y: beta * (x @ B @ y)


def square(g, Q, K):
    return lambda x, y: -g * np.sum((Q @ x - K @ y) ** 2)


def causal(lag, strict, slope, normalized):
    """(b, lw) of a query that stands `lag` positions after the key."""
    if lag < 0 or (strict and lag == 0):
        return 0.0, -INF
    return (0.0, -slope * lag) if normalized else (-slope * lag, 0.0)


def loop(score, x, y, values, log_w, bias, reduce, tol=0.0, normalized=False):
    """Sum over j of exp(log_w_j + lw_ij) phi(s_ij + b_ij) v_j; `bias(i, j)` gives (b_ij, lw_ij)."""
    n, m = len(x), len(y)
    log_w = np.full(m, -math.log(m)) if log_w is None else log_w
    num, log_z = np.zeros((n, values.shape[1])), np.full(n, -INF)
    weights = np.zeros((n, m))
    for i in range(n):
        kept = []
        for j in range(m):
            b, lw = bias(i, j)
            if log_w[j] + lw > -INF:
                kept.append((j, score(x[i], y[j]) + b, log_w[j] + lw))
        if not kept:
            continue
        index = [j for j, _, _ in kept]
        s = np.array([s for _, s, _ in kept], np.longdouble)
        omega = np.array([o for _, _, o in kept], np.longdouble)
        if normalized:
            omega = omega - np.log(np.sum(np.exp(omega)))
        if reduce in ("softmax", "exp"):
            top = np.max(s + omega)
            e = np.exp(s + omega - top)
            row, log_z[i] = e / e.sum(), top + np.log(e.sum())
        elif reduce == "hardmax":
            e = np.where(s >= s.max() - tol, np.exp(omega), 0)
            row, log_z[i] = e / e.sum(), np.log(e.sum())
        else:
            row, log_z[i] = np.exp(omega) * FUNCTIONS[reduce][1](s), np.log(np.sum(np.exp(omega)))
        weights[i, index] = row
        num[i] = row @ values[index]
    return num, log_z, weights


def library_reduce(reduce, tol=0.0):
    if reduce == "hardmax":
        return Hardmax(tol)
    return FUNCTIONS[reduce][0] if reduce in FUNCTIONS else reduce


def make_score(kind, beta, rng, d, e):
    """A score of the library and its entrywise formula; integer matrices keep hardmax scores exact."""
    Q, K = rng.integers(-2, 3, (2, d)).astype(float), rng.integers(-2, 3, (2, e)).astype(float)
    B = rng.integers(-2, 3, (d, e)).astype(float)
    if d != e and kind in ("inner", "square", "difference"):
        kind += "-QK"  # without matrices both sides live in one space
    return {
        "inner": lambda: (af.pairsums.Inner(beta), bilinear(beta, np.eye(d))),
        "inner-B": lambda: (af.pairsums.Inner(beta, B), bilinear(beta, B)),
        "inner-QK": lambda: (af.pairsums.Inner(beta, Q=Q, K=K), bilinear(beta, Q.T @ K)),
        "square": lambda: (af.pairsums.SquaredDistance(beta), square(beta, np.eye(d), np.eye(e))),
        "square-QK": lambda: (af.pairsums.SquaredDistance(beta, Q, K), square(beta, Q, K)),
        "difference": lambda: (
            af.pairsums.SquaredDistance(beta, by_difference=True),
            square(beta, np.eye(d), np.eye(e)),
        ),
        "difference-QK": lambda: (af.pairsums.SquaredDistance(beta, Q, K, by_difference=True), square(beta, Q, K)),
    }[kind]()


def make_pairs(kind, rng, n, m):
    """A pairs object, its entrywise (b, lw), and whether outside weights are normalised per row."""
    if kind == "skip" and n != m:
        kind = "skip-two"
    rows, columns = rng.integers(0, 3, n), rng.integers(0, 3, m)
    at = rng.integers(-1, m, n)
    slope = float(rng.choice([0.25, 0.5, 2.0]))
    end = np.arange(n) + m - n

    def labels(a, b):
        return lambda i, j: (0.0, -INF if a[i] == b[j] else 0.0)

    def lags(position, strict=False, slope=0.0, normalized=False):
        return lambda i, j: causal(position[i] - j, strict, slope, normalized)

    return {
        "full": lambda: (af.pairsums.Full(), lambda i, j: (0.0, 0.0), False),
        "full-normalized": lambda: (af.pairsums.Full(normalized=True), lambda i, j: (0.0, 0.0), True),
        "skip": lambda: (af.pairsums.Full(skip=np.arange(n)), labels(np.arange(n), np.arange(n)), False),
        "skip-two": lambda: (af.pairsums.Full(skip=(rows, columns)), labels(rows, columns), False),
        "skip-normalized": lambda: (af.pairsums.Full((rows, columns), normalized=True), labels(rows, columns), True),
        "causal": lambda: (af.Causal(), lags(end), False),
        "causal-strict": lambda: (af.Causal(strict=True), lags(end, True), False),
        "causal-slope": lambda: (af.Causal(slope=slope), lags(end, slope=slope), False),
        "causal-at": lambda: (af.Causal(slope=slope, at=at), lags(at, slope=slope), False),
        "causal-normalized": lambda: (
            af.Causal(strict=True, slope=slope, normalized=True, at=at),
            lags(at, True, slope, True),
            True,
        ),
    }[kind]()


PAIRS = [
    "full", "full-normalized", "skip", "skip-two", "skip-normalized",
    "causal", "causal-strict", "causal-slope", "causal-at", "causal-normalized",
]  # fmt: skip
SCORES = ["inner", "inner-B", "inner-QK", "square", "square-QK", "difference", "difference-QK"]


def cloud(rng, *shape, integers):
    return rng.integers(-2, 3, shape).astype(float) if integers else rng.normal(size=shape)


def draw_log_w(rng, kind, m):
    """None; positive weights; some keys removed, perhaps all."""
    if kind == "none":
        return None
    w = rng.uniform(0.1, 1.0, m)
    if kind == "zeros":
        w = w * (rng.uniform(size=m) < 0.6)
    with np.errstate(divide="ignore"):
        return np.log(w / max(w.sum(), 0.1))


def arrays(*values):
    return [None if v is None else jnp.asarray(v) for v in values]


def check_row_sums(num, log_z, expected, scale):
    """Agreement to rounding of the logits (`scale` is their size), and exactly `(0, -inf)` for rows without keys."""
    tolerance = 1e-12 * (1 + scale)
    empty = expected[1] == -INF
    assert (np.asarray(log_z)[empty] == -INF).all() and (np.asarray(num)[empty] == 0).all()
    np.testing.assert_allclose(num, expected[0], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(np.asarray(log_z)[~empty], expected[1][~empty], rtol=1e-13, atol=tolerance)


class Given(AbstractPairs):
    """Any b and lw at all, as data: so one program per shape serves every example."""

    b: jax.Array
    lw: jax.Array
    normalized: bool = eqx.field(static=True)

    def logit(self, i, j, n, m):
        return self.b[i][:, j]

    def log_weight(self, i, j, n, m):
        return self.lw[i][:, j]


@eqx.filter_jit
def everything(kernels, score, x, y, values, log_w, pairs, tol, rows):
    """pair_sums for every reduction and engine, and pair_weights, in one program."""
    reductions = {name: Hardmax(tol) if name == "hardmax" else library_reduce(name) for name in REDUCTIONS}
    options = {"log_w": log_w, "pairs": pairs}
    sums = {
        (name, kernel): sums_by(kernel, score, x, y, values, reduce=reduce, **options)
        for name, reduce in reductions.items()
        for kernel in kernels
    }
    tiles = {
        name: af.pairsums.pair_weights(score, x, y, reduce=reduce, **options) for name, reduce in reductions.items()
    }
    parts = {n: af.pairsums.pair_weights(score, x, y, rows=rows, reduce=r, **options) for n, r in reductions.items()}
    return list(sums.items()), tiles, parts


def check_everything(kernels, ours, formula, x, y, values, log_w, who, bias, tol, normalized, scale):
    n = len(x)
    some = np.array([n - 1, 0])
    given_arrays = arrays(x, y, values, log_w)
    sums, tiles, parts = everything(kernels, ours, *given_arrays, who, jnp.asarray(tol), jnp.asarray(some))
    for reduce in REDUCTIONS:
        expected = loop(formula, x, y, values, log_w, bias, reduce, tol, normalized)
        size = scale * (1 + abs(values).max() if reduce == "identity" else 1)
        for num, log_z in (result for (name, _), result in sums if name == reduce):
            assert num.shape == (n, values.shape[1]) and log_z.shape == (n,)
            check_row_sums(num, log_z, expected, size)
        tolerance = {"rtol": 1e-12 * (1 + size), "atol": 1e-12 * (1 + size)}
        np.testing.assert_allclose(tiles[reduce], expected[2], **tolerance)
        np.testing.assert_allclose(np.asarray(tiles[reduce]) @ values, expected[0], **tolerance)
        np.testing.assert_allclose(parts[reduce], tiles[reduce][some], rtol=0, atol=1e-14 * (1 + size))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    case=st.sampled_from([*((shape, False) for shape in SHAPES), (SHAPES[-1], True)]),
    beta=st.sampled_from(BETAS),
    holes=st.sampled_from([0.0, 0.3, 0.8]),
    weights=st.sampled_from(["positive", "zeros"]),
    tol=st.sampled_from([0.0, 0.5, 1.5]),
    integers=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_sums_and_weights_against_the_loop(case, beta, holes, weights, tol, integers, seed):
    """The inside/outside rule with arbitrary b and lw, zero weights, and every reduction and engine."""
    shape, normalized = case
    n, m, d, e, p = shape
    rng = np.random.default_rng(seed)
    ours, formula = make_score("inner-B", beta, rng, d, e)
    x, y = (cloud(rng, *s, integers=integers) for s in ((n, d), (m, e)))
    if not integers:
        tol = 0.0  # a tie within tol is decided by rounding unless scores are exact
    b, lw = rng.integers(-3, 4, (n, m)) / 2, rng.normal(size=(n, m))
    lw[rng.uniform(size=(n, m)) < holes] = -INF
    check_everything(
        ENGINES if shape == SHAPES[-1] else ("auto",),
        ours, formula, x, y, rng.normal(size=(m, p)), draw_log_w(rng, weights, m),
        Given(jnp.asarray(b), jnp.asarray(lw), normalized), lambda i, j: (b[i, j], lw[i, j]), tol, normalized,
        scale=20 * beta,
    )  # fmt: skip


@pytest.mark.parametrize("kind", PAIRS)
def test_every_pairs_object_against_the_loop(kind):
    """Full, skip, causal with positions and slopes, normalised or not; with equal weights (`log_w=None`)."""
    for n, m in ((4, 4), (3, 5)):
        rng = np.random.default_rng(n)
        who, bias, normalized = make_pairs(kind, rng, n, m)
        table = np.array([[bias(i, j) for j in range(m)] for i in range(n)])
        ours = [f(jnp.arange(n), jnp.arange(m), n, m) for f in (who.logit, who.log_weight)]
        seen = table[:, :, 1] > -INF
        for k, array in enumerate(ours):
            actual = np.zeros((n, m)) if array is None else np.asarray(array)
            np.testing.assert_allclose(np.where(seen | (k == 1), actual, 0), table[:, :, k], rtol=1e-15)
        x, y, values = rng.normal(size=(n, 2)), rng.normal(size=(m, 2)), rng.normal(size=(m, 2))
        for reduce in ("softmax", "sigmoid"):
            expected = loop(bilinear(2.0, np.eye(2)), x, y, values, None, bias, reduce, 0.0, normalized)
            num, log_z = af.pairsums.pair_sums(
                af.pairsums.Inner(2.0), *arrays(x, y, values), pairs=who, reduce=library_reduce(reduce), kernel="dense"
            )
            check_row_sums(num, log_z, expected, 20.0)


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("shape", SHAPES[1:])
def test_every_score_against_its_formula(kind, shape):
    """The identity reduction with unit vectors as values returns the scores themselves."""
    n, m, d, e, _ = shape
    rng = np.random.default_rng(9)
    ours, formula = make_score(kind, 1.5, rng, d, e)
    x, y = rng.normal(size=(n, d)), rng.normal(size=(m, e))
    s, log_mass = af.pairsums.pair_sums(ours, *arrays(x, y, np.eye(m)), log_w=jnp.zeros(m), reduce=lambda s: s)
    np.testing.assert_allclose(s, [[formula(a, b) for b in y] for a in x], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(log_mass, np.log(m), rtol=1e-15)
    transposed, _ = af.pairsums.pair_sums(ours.T, *arrays(y, x, np.eye(n)), log_w=jnp.zeros(n), reduce=lambda s: s)
    np.testing.assert_allclose(transposed, np.asarray(s).T, rtol=1e-12, atol=1e-12)
    assert ours.isotropic == (kind in ("inner", "square", "difference") and d == e)


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_weights_of_a_slice_of_rows(reduce):
    rng = np.random.default_rng(3)
    x, y, values = arrays(rng.normal(size=(4, 2)), rng.normal(size=(4, 2)), rng.normal(size=(4, 2)))
    options = {"pairs": af.Causal(slope=0.5, normalized=True), "reduce": library_reduce(reduce)}
    num, _ = af.pairsums.pair_sums(af.pairsums.Inner(2.0), x, y, values, **options)
    tile = af.pairsums.pair_weights(af.pairsums.Inner(2.0), x, y, rows=slice(1, 3), **options)
    np.testing.assert_allclose(tile @ values, num[1:3], rtol=1e-13)


@pytest.mark.parametrize("kind", [p for p in PAIRS if "normalized" not in p])
def test_transposes_against_the_transposed_loop(kind):
    """Queries become keys: the same s, b and lw, with both indices exchanged; a sub-tile of them too."""
    n, m = 3, 5
    rng = np.random.default_rng(n)
    ours, formula = make_score("inner-QK", 1.5, rng, 2, 2)
    who, bias, _ = make_pairs(kind, rng, n, m)
    x, y, values = rng.normal(size=(n, 2)), rng.normal(size=(m, 2)), rng.normal(size=(n, 2))
    log_w = np.log(rng.dirichlet(np.ones(n)))
    for reduce in ("exp", "sigmoid"):
        expected = loop(lambda b, a: formula(a, b), y, x, values, log_w, lambda i, j: bias(j, i), reduce)
        num, log_z = af.pairsums.pair_sums(
            ours.T, *arrays(y, x, values), log_w=jnp.asarray(log_w), pairs=who.T, reduce=library_reduce(reduce)
        )
        check_row_sums(num, log_z, expected, 30.0)
    np.testing.assert_array_equal(
        af.pairsums.pair_weights(ours.T.T, *arrays(x, y), pairs=who.T.T),
        af.pairsums.pair_weights(ours, *arrays(x, y), pairs=who),
    )


@pytest.mark.parametrize("kind", ["full", "skip-two", "causal", "causal-strict", "causal-slope", "causal-at"])
def test_attention_received(kind):
    """The column-sum recipe: w_j sum_i a_i e^{s_ij + ...}/Z_i, from a transposed "exp" sum with log a_i - log Z_i."""
    n, m = 4, 4
    rng = np.random.default_rng(7)
    x, y = rng.normal(size=(n, 2)), rng.normal(size=(m, 2))
    a, w = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(m))
    ours, formula = make_score("inner-B", 1.5, rng, 2, 2)
    who, bias, _ = make_pairs(kind, rng, n, m)
    _, log_z, rows = loop(formula, x, y, np.ones((m, 1)), np.log(w), bias, "softmax")
    received = np.zeros(m)
    for i in range(n):
        for j in range(m):
            received[j] += a[i] * rows[i, j]
    ours_log_z = af.pairsums.pair_sums(ours, *arrays(x, y), 1.0, log_w=jnp.log(w), pairs=who, reduce="exp")[1]
    np.testing.assert_array_equal(np.isinf(ours_log_z), np.isinf(log_z))
    mass = jnp.where(jnp.isfinite(ours_log_z), jnp.log(a) - ours_log_z, -jnp.inf)
    _, columns = af.pairsums.pair_sums(ours.T, *arrays(y, x), 1.0, log_w=mass, pairs=who.T, reduce="exp")
    np.testing.assert_allclose(w * np.exp(columns), received, rtol=1e-12, atol=1e-15)


def test_normalised_pairs_have_no_transpose():
    x = jnp.ones((3, 2))
    with pytest.raises(InputError, match=r"no transpose.*\.$"):
        af.pairsums.pair_sums(af.pairsums.Inner(1.0), x, x, 1.0, pairs=af.Causal(slope=1.0, normalized=True).T)


def test_inside_and_outside_differ():
    """A positional weight inside (logit) and outside (log weight) is the same for exp and not for sigmoid."""
    x = jnp.asarray(np.random.default_rng(0).normal(size=(4, 2)))
    outside = np.log(np.array([0.1, 0.2, 0.3, 0.4]))
    inside, after = af.Causal(slope=0.7), af.Causal()
    for reduce, same in (("exp", True), (jax.nn.sigmoid, False)):
        with_slope, _ = af.pairsums.pair_sums(
            af.pairsums.Inner(1.0), x, x, x, log_w=jnp.asarray(outside), pairs=inside, reduce=reduce
        )
        rows = []
        for i in range(4):  # e^{-0.7 lag} into the weights of one query at a time
            lag = np.maximum(i - np.arange(4), 0)
            lw = jnp.asarray(outside - 0.7 * lag)
            rows.append(
                af.pairsums.pair_sums(af.pairsums.Inner(1.0), x, x, x, log_w=lw, pairs=after, reduce=reduce)[0][i]
            )
        assert np.allclose(with_slope, np.stack(rows), rtol=1e-10) is same


TERMS = [  # scores and reductions of each kind
    (lambda beta: af.pairsums.Inner(beta, jnp.array([[1.0, 0.3], [-0.2, 0.8]])), "softmax"),
    (lambda beta: af.pairsums.SquaredDistance(beta), jax.nn.sigmoid),
    (lambda beta: af.pairsums.SquaredDistance(beta, by_difference=True), Hardmax(0.0)),
]


@eqx.filter_jit
def derivatives(kernel, pairs, inputs, direction, cotangents):
    """For each term `(num, log_z)`; the pullback of each of the cotangents; the tangent along the direction."""

    def sums(beta, x, y, values, log_w):
        return [
            sums_by(kernel, make(beta), x, y, values, log_w=log_w, pairs=pairs, reduce=reduce) for make, reduce in TERMS
        ]

    out, pull = jax.vjp(sums, *inputs)
    return out, jax.vmap(pull)(cotangents), jax.jvp(sums, inputs, direction)[1]


def derivative_data():
    rng = np.random.default_rng(11)
    inputs = tuple(arrays(1.7, *rng.normal(size=(3, 4, 2)), np.log(rng.dirichlet(np.ones(4)))))
    direction = tuple(jnp.asarray(rng.normal(size=a.shape)) for a in inputs)
    mix = [(rng.normal(size=(4, 2)), rng.normal(size=4)) for _ in TERMS]
    return inputs, direction, mix


def stacked(*mixes):
    return [tuple(jnp.stack(arrays(*part)) for part in zip(*term, strict=True)) for term in zip(*mixes, strict=True)]


def given_pairs(who, normalized):
    """The same pairs as data, so that all of them share one program."""
    index = jnp.arange(4)
    b, lw = who.logit(index, index, 4, 4), who.log_weight(index, index, 4, 4)
    return Given(*(jnp.asarray(np.zeros((4, 4)) if a is None else np.asarray(a)) for a in (b, lw)), normalized)


@pytest.mark.parametrize("kernel", [kernel for kernel in ENGINES if kernel != "sharded"])  # that one: test_cores.py
def test_derivatives_against_central_differences(kernel):
    """Reverse and forward mode in every input at once, along a random direction, one term at a time."""
    inputs, direction, mix = derivative_data()
    pairs = given_pairs(af.Causal(slope=0.4), normalized=True)
    cotangents = stacked(*[[m if k == t else (0 * m[0], 0 * m[1]) for k, m in enumerate(mix)] for t in range(3)])

    def along(h):
        point = tuple(a + h * b for a, b in zip(inputs, direction, strict=True))
        out, _, _ = derivatives(kernel, pairs, point, direction, cotangents)
        return np.array([np.sum(m * num) + np.sum(mz * z) for (m, mz), (num, z) in zip(mix, out, strict=True)])

    h = 1e-4  # Richardson on central differences: error h^4
    slopes = (4 * (along(h / 2) - along(-h / 2)) / h - (along(h) - along(-h)) / (2 * h)) / 3
    _, grads, tangent = derivatives(kernel, pairs, inputs, direction, cotangents)
    by_grad = sum(np.asarray(g).reshape(3, -1) @ np.ravel(b) for g, b in zip(grads, direction, strict=True))
    by_jvp = [np.sum(m * num) + np.sum(mz * z) for (m, mz), (num, z) in zip(mix, tangent, strict=True)]
    np.testing.assert_allclose(by_grad, slopes, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(by_jvp, slopes, rtol=1e-8, atol=1e-9)


SKIP = af.pairsums.Full(skip=(np.array([1, 2, 1, 2]), np.array([1, 1, 1, 1])))
PADDING = np.full(4, -INF)
EMPTY = {  # pairs, log weights, rows without keys
    "padding": (af.pairsums.Full(), PADDING, [0, 1, 2, 3]),
    "skip": (SKIP, np.log([0.2, 0.3, 0.4, 0.1]), [0, 2]),
    "strict": (af.Causal(strict=True, slope=0.3), np.zeros(4), [0]),
    "mixed": (af.Causal(at=np.array([0, 1, 2, -1])), np.array([-INF, 0.0, 0.0, 0.0]), [0, 3]),
}


@pytest.mark.parametrize("kernel, normalized", [*((k, True) for k in ENGINES), ("dense", False)])
def test_rows_without_keys_are_zero_with_zero_gradient(kernel, normalized):
    """(0, -inf), and derivatives in everything, log weights too, that are finite for all rows and zero for these."""
    (*inputs, _), direction, mix = derivative_data()
    for name, (who, log_w, empty) in EMPTY.items():
        full = [i for i in range(4) if i not in empty]
        only_empty = [(np.zeros((4, 2)), np.zeros(4)) for _ in TERMS]
        for num, log_z in only_empty:
            num[empty], log_z[empty] = 1.0, 1.0
        point, cotangents = (*inputs, jnp.asarray(log_w)), stacked(only_empty, mix, mix)
        out, grads, tangent = derivatives(kernel, given_pairs(who, normalized), point, direction, cotangents)
        for num, log_z in out:
            assert (np.asarray(num)[empty] == 0).all() and (np.asarray(log_z)[empty] == -INF).all(), name
            assert np.isfinite(np.asarray(num)[full]).all() and np.isfinite(np.asarray(log_z)[full]).all(), name
        for g in grads:
            assert (np.asarray(g)[0] == 0).all() and np.isfinite(np.asarray(g)).all(), name
        for part in (part for pair in tangent for part in pair):
            assert np.isfinite(part).all() and (np.asarray(part)[empty] == 0).all(), name


def test_log_weights_of_zero_have_a_finite_gradient():
    """The door through which a zero weight of the user enters."""
    from attnflow.spaces import log_weights

    w = jnp.array([0.5, 0.0, 0.5])
    grad = jax.grad(lambda w: jnp.sum(jnp.exp(log_weights(w))))(w)
    assert np.isfinite(grad).all() and grad[0] == 1
    np.testing.assert_array_equal(log_weights(w)[1], -INF)


def test_a_padded_key_is_as_if_absent():
    """Also where its score would overflow any function of it."""
    rng = np.random.default_rng(6)
    x, y, v = rng.normal(size=(4, 2)), rng.normal(size=(4, 2)), rng.normal(size=(4, 2))
    log_w = np.array([0.1, 0.2, 0.3, 0.0])
    huge = y.copy()
    huge[3] = 1e200
    for reduce in ("softmax", jnp.exp, Hardmax(0.0)):
        padded = af.pairsums.pair_sums(
            af.pairsums.Inner(2.0), *arrays(x, huge, v), log_w=jnp.asarray(np.append(log_w[:3], -INF)), reduce=reduce
        )
        absent = af.pairsums.pair_sums(
            af.pairsums.Inner(2.0), *arrays(x, y[:3], v[:3]), log_w=jnp.asarray(log_w[:3]), reduce=reduce
        )
        for a, b in zip(padded, absent, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("kernel", ["dense", "blocked", "broadcast"])  # the others sum by one of these
@pytest.mark.parametrize("g", [0.7e18, 1e18])
@eager
def test_by_difference_keeps_the_digits_of_close_points(g, kernel):
    """Points 1e-9 apart: s = -g |x - y|^2 to 1e-12 relative from exact rational arithmetic; expanding loses all."""
    from fractions import Fraction

    rng = np.random.default_rng(1)
    centre = rng.normal(size=2)
    x, y = centre + 1e-9 * rng.normal(size=(2, 4, 2))
    exact = np.array(
        [[float(-Fraction(g) * sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(p, q, strict=True))) for q in y]
         for p in x]
    )  # fmt: skip
    assert np.abs(exact).max() > 1  # the scores are of order one: their digits matter

    def identity_sums(by_difference):  # the scores themselves: phi = identity, values = unit vectors
        score = af.pairsums.SquaredDistance(g, by_difference=by_difference)
        return af.pairsums.pair_sums(
            score, *arrays(x, y), jnp.eye(4), log_w=jnp.zeros(4), reduce=lambda s: s, kernel=kernel
        )[0]

    np.testing.assert_allclose(identity_sums(True), exact, rtol=1e-12)
    assert np.abs(np.asarray(identity_sums(False)) - exact).max() > 1e-3  # why the option exists


def test_derivative_at_zero_g_is_finite():
    rng = np.random.default_rng(2)
    x, y = arrays(rng.normal(size=(4, 2)), rng.normal(size=(4, 2)))
    for by_difference in (False, True):
        score = functools.partial(af.pairsums.SquaredDistance, by_difference=by_difference)
        slope = jax.grad(lambda g, score=score: af.pairsums.pair_sums(score(g), x, y, 1.0)[1][0])
        # d log Z / dg at g = 0 is minus the mean squared distance
        expected = -np.mean(np.sum((np.asarray(x)[0] - np.asarray(y)) ** 2, axis=1))
        np.testing.assert_allclose(slope(jnp.array(0.0)), expected, rtol=1e-13)


@pytest.mark.parametrize(
    "reduce, kernel", [*((r, "dense") for r in REDUCTIONS), ("softmax", "blocked"), ("softmax", "broadcast")]
)
@eager
def test_single_precision_stays_single(reduce, kernel):
    """float32 tokens with float64 parameters, weights and positions: float32 results, right to single precision."""
    rng = np.random.default_rng(4)
    x, y = (cloud(rng, 4, 2, integers=reduce == "hardmax") for _ in range(2))
    v, w = rng.normal(size=(4, 2)), rng.dirichlet(np.ones(4))
    who, bias, normalized = make_pairs("causal-slope", rng, 4, 4)
    ours, formula = make_score("inner-B", 1.5, rng, 2, 2)
    expected = loop(formula, x, y, v, np.log(w), bias, reduce, 0.0, normalized)
    single = [jnp.asarray(a, jnp.float32) for a in (x, y, v)]
    options = {"log_w": jnp.log(w), "pairs": who, "reduce": library_reduce(reduce)}
    num, log_z = sums_by(kernel, ours, *single, **options)
    assert num.dtype == log_z.dtype == jnp.float32
    assert af.pairsums.pair_weights(ours, *single[:2], **options).dtype == jnp.float32
    np.testing.assert_allclose(num, expected[0], rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(log_z, expected[1], rtol=2e-5, atol=2e-5)


def test_one_query_and_one_key():
    one = jnp.array([[2.0]])
    num, log_z = af.pairsums.pair_sums(af.pairsums.Inner(3.0), one, one, jnp.array([[7.0]]))
    np.testing.assert_allclose([num[0, 0], log_z[0]], [7.0, 12.0], rtol=1e-15)
    num, log_z = af.pairsums.pair_sums(af.pairsums.Inner(3.0), one, one, 1.0, pairs=af.pairsums.Full(skip=np.arange(1)))
    assert num[0, 0] == 0 and log_z[0] == -INF


@pytest.mark.parametrize("kernel", ENGINES)
def test_compiled_engines_against_the_loop(kernel):
    """The engines as they run in a solve: compiled, with a batch of models and clouds."""
    rng = np.random.default_rng(8)
    n, m = 5, 7
    xs, ys, vs = rng.normal(size=(3, n, 2)), rng.normal(size=(3, m, 2)), rng.normal(size=(3, m, 2))
    betas, log_w = np.array([0.0, 2.0, 1e4]), np.log(rng.dirichlet(np.ones(m)))
    log_w[4] = -INF
    who, bias, normalized = make_pairs("causal-normalized", rng, n, m)

    @jax.jit
    def both(betas, xs, ys, vs):
        def one(beta, x, y, v, reduce):
            options = {"log_w": jnp.asarray(log_w), "pairs": who, "reduce": reduce}
            return sums_by(kernel, af.pairsums.Inner(beta), x, y, v, **options)

        return [jax.vmap(functools.partial(one, reduce=r))(betas, xs, ys, vs) for r in ("softmax", jax.nn.sigmoid)]

    for reduce, (num, log_z) in zip(("softmax", "sigmoid"), both(*arrays(betas, xs, ys, vs)), strict=True):
        for k, beta in enumerate(betas):
            formula = bilinear(beta, np.eye(2))
            expected = loop(formula, xs[k], ys[k], vs[k], log_w, bias, reduce, normalized=normalized)
            check_row_sums(num[k], log_z[k], expected, 20 * beta)


def problem(n, dtype=jnp.float64, reduction=None, **arguments):
    """Sums of `n` tokens among themselves in three dimensions, softmax by default."""
    reduction = Exponential() if reduction is None else reduction
    return Problem(n, n, 3, 3, 3, dtype, af.pairsums.Inner(1.0), reduction, **arguments)


@pytest.mark.parametrize(
    "name, changes, why",
    [
        ("native", {"reduction": Pointwise(jax.nn.relu)}, "the kernel is for exponentials of the score"),
        ("native", {"selection": Hardmax(0.0)}, "the kernel is for exponentials of the score"),
        ("native", {"pairs": af.pairsums.Full(skip=np.arange(64))}, "the kernel is for all pairs and for causal ones"),
        ("direct", {}, "tokens are float64, and the kernel computes in float32"),
        ("direct", {"dtype": jnp.float32, "reduction": Pointwise(jax.nn.relu)}, "exponentials of the score"),
        ("spectral", {"dtype": jnp.float32}, "float32 leaves too few digits"),
        ("spectral", {"pairs": af.pairsums.Full(skip=np.arange(64))}, "some pairs are left out"),
    ],
)
def test_an_engine_that_cannot_is_refused_and_passed_over(name, changes, why, monkeypatch):
    """By name in a sentence; by default another is taken, and the reason is kept."""
    monkeypatch.setattr(native_library, "_native", lambda: Native(True, "compiled"))
    request = problem(64, **changes)
    with pytest.raises(InputError, match=rf"^no {name} sums here: .*{why}.*; choose another kernel\.$"):
        choose_sums(request, name)
    choice = choose_sums(request)
    expected = "native" if name != "native" and not changes.get("pairs") and "reduction" not in changes else "dense"
    assert choice.engine.name == expected
    assert why in choice.passed_over[name]
    assert set(choice.passed_over) | {choice.engine.name} == set(engines.engines("pair-sum engine"))


def test_large_clouds_take_blocks(monkeypatch):
    """Without a kernel for this processor, `auto` leaves the dense engine for large n m."""
    monkeypatch.setattr(native_library, "_native", lambda: Native(False, "no compiler"))
    names = [choose_sums(problem(n)).engine.name for n in (64, 1024, 1025, 1 << 15)]
    assert names == ["dense", "dense", "blocked", "blocked"]
    with pytest.raises(InputError, match=r"kernel 'sparse' is unknown.*\.$"):
        check_kernel("sparse")


def test_bad_pairs_and_reductions_are_refused():
    x = jnp.ones((3, 2))
    with pytest.raises(InputError, match=r"4 query and 4 key labels for 3 queries and 3 keys.*\.$"):
        af.pairsums.pair_sums(af.pairsums.Inner(1.0), x, x, 1.0, pairs=af.pairsums.Full(skip=np.arange(4)))
    with pytest.raises(InputError, match=r"reduce = 'mean' is unknown.*\.$"):
        af.pairsums.pair_sums(af.pairsums.Inner(1.0), x, x, 1.0, reduce="mean")


@pytest.mark.parametrize("d", [3, 16])  # few coordinates are checked one by one, many at once
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_token_that_is_no_number_spoils_its_sums_and_a_large_one_does_not(d, bad):
    x = np.random.default_rng(0).normal(size=(5, d))
    large = x.copy()
    large[2] = np.finfo(float).max
    num, _ = af.pairsums.pair_sums(af.pairsums.Inner(0.0), large, x, x)
    np.testing.assert_allclose(num, np.broadcast_to(x.mean(0), (5, d)), rtol=1e-12)
    query = x.copy()
    query[1, d - 1] = bad
    num, log_z = af.pairsums.pair_sums(af.pairsums.Inner(2.0), query, x, x)
    assert np.isnan(num[1]).all() and np.isnan(log_z[1]) and np.isfinite(np.delete(num, 1, 0)).all()
    num, log_z = af.pairsums.pair_sums(af.pairsums.Inner(2.0), x, query, x)
    assert np.isnan(num).all() and np.isnan(log_z).all()
