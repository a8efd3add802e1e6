"""Keys that a query does not see do not change its sums: engines against a loop in NumPy, float64, by log-sum-exp."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.special import log_expit, logsumexp

import attnflow as af
from attnflow.errors import InputError
from attnflow.pairsums import Hardmax, Pointwise
from attnflow.pairsums.engines import blocked

N = 9
ENGINES = ("dense", "blocked", "broadcast", "native", "sharded", "direct")


@pytest.fixture(scope="module", autouse=True)
def small_tiles():
    """Tiles of 4 queries and 5 keys: tiles that are wholly unseen, and ragged ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocked, "QUERIES", 4)
        patch.setattr(blocked, "KEYS", 5)
        yield


def visible(kind, n=N):
    i, j = np.arange(n)[:, None], np.arange(n)[None, :]
    return {
        "full": np.ones((n, n), bool),
        "skip": i != j,
        "labels": i // 3 != j // 3,
        "causal": j <= i,
        "strict": j < i,
        "window": (j <= i) & (j > i - 3),
    }[kind]


def pairs_of(kind, n=N):
    return {
        "full": lambda: af.pairsums.Full(),
        "skip": lambda: af.pairsums.Full(skip=jnp.arange(n)),
        "labels": lambda: af.pairsums.Full(skip=jnp.arange(n) // 3),
        "causal": lambda: af.Causal(),
        "strict": lambda: af.Causal(strict=True),
        "window": lambda: af.pairsums.Positional(np.ones(3)),
    }[kind]()


def loop(scores, seen, log_w, values, reduce="softmax"):
    """Row by row over the keys that are seen and have weight; nothing else is touched."""
    num, log_z = np.zeros((len(scores), values.shape[1])), np.full(len(scores), -np.inf)
    for i, row in enumerate(scores):
        keys = np.flatnonzero(seen[i] & (log_w > -np.inf))
        if not len(keys):
            continue
        total = np.where(row[keys] == row[keys].max(), 0.0, -np.inf) if reduce == "hardmax" else row[keys]
        log_z[i] = logsumexp(total + log_w[keys])
        num[i] = np.exp(total + log_w[keys] - log_z[i]) @ values[keys]
    return num, log_z


@functools.partial(jax.jit, static_argnames=("kernel", "hard"))
def sums(x, y, values, beta, log_w, pairs, kernel, hard=False):
    options: dict = {"log_w": log_w, "pairs": pairs, "reduce": Hardmax(0.0) if hard else "softmax"}
    try:
        return af.pairsums.pair_sums(af.pairsums.Inner(beta), x, y, values, kernel=kernel, **options)
    except InputError as error:  # these sums are for another engine
        assert f"no {kernel} sums here" in str(error)
        return af.pairsums.pair_sums(af.pairsums.Inner(beta), x, y, values, **options)


@pytest.mark.parametrize("kind", ["skip", "labels"])
@pytest.mark.parametrize("kernel", ENGINES)
def test_the_skipped_key_does_not_bound_the_others(kernel, kind):
    """Unit tokens far apart: the self term exceeds all others by more than the smallest number."""
    angles = 2 * np.pi * np.arange(N) / N
    x = np.stack([np.cos(angles), np.sin(angles)], 1)
    values = np.stack([angles, 1 - angles], 1)
    log_w = np.log(np.arange(1, N + 1) / np.sum(np.arange(1, N + 1)))
    for beta in (30.0, 1e4):
        expected = loop(beta * x @ x.T, visible(kind), log_w, values)
        actual = sums(x, x, values, beta, jnp.asarray(log_w), pairs_of(kind), kernel)
        np.testing.assert_allclose(actual[0], expected[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(actual[1], expected[1], rtol=1e-12)
        # The same in 32 bits: scores of 1e4 have an error of 1e-3.
        actual = sums(*(jnp.asarray(a, jnp.float32) for a in (x, x, values)), beta, None, pairs_of(kind), kernel)
        equal = loop(beta * x @ x.T, visible(kind), np.full(N, -np.log(N)), values)
        np.testing.assert_allclose(actual[1], equal[1], rtol=1e-6, atol=1e-4)


@pytest.mark.parametrize(("kernel", "by_difference"), [("blocked", False), ("broadcast", True)])
def test_far_tokens_without_themselves_by_distance(kernel, by_difference):
    x = np.array([[0.0, 0.0], [100.0, 0.0], [0.0, 300.0]])
    expected = loop(-np.sum((x[:, None] - x[None]) ** 2, axis=2), ~np.eye(3, dtype=bool), np.full(3, -np.log(3)), x)
    score, pairs = af.pairsums.SquaredDistance(1.0, by_difference=by_difference), af.pairsums.Full(skip=jnp.arange(3))
    actual = jax.jit(lambda x: af.pairsums.pair_sums(score, x, x, x, pairs=pairs, kernel=kernel))(x)
    np.testing.assert_allclose(actual[0], expected[0])
    np.testing.assert_allclose(actual[1], expected[1])


@pytest.mark.parametrize("kernel", ["blocked", "broadcast"])
def test_gradients_of_well_separated_tokens(kernel):
    """Against differences of the loop: with the self term skipped, log Z is about beta times the second best score."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((N, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    x, beta, log_w, seen = x, 500.0, np.full(N, -np.log(N)), visible("skip")
    log_z = lambda x: sums(x, x, x, beta, None, pairs_of("skip"), kernel)[1].sum()  # noqa: E731
    actual = jax.grad(log_z)(jnp.asarray(x))
    for i, c in ((0, 0), (4, 2)):
        moved = []
        for h in (1e-6, -1e-6):
            y = x.copy()
            y[i, c] += h
            moved.append(loop(beta * y @ y.T, seen, log_w, y)[1].sum())
        assert actual[i, c] == pytest.approx((moved[0] - moved[1]) / 2e-6, rel=1e-5, abs=1e-4)


@settings(max_examples=8, deadline=None)
@example(seed=1, kind="full", kernel="dense", beta=0.0, bad=np.nan, hard=True)  # comparisons do not pass NaN on
@example(seed=1, kind="full", kernel="dense", beta=1.0, bad=-np.inf, hard=False)  # nor does exp(-inf)
@given(
    seed=st.integers(0, 1000),
    kind=st.sampled_from(["skip", "causal", "strict", "window", "full"]),
    kernel=st.sampled_from(["dense", "blocked", "native"]),
    beta=st.sampled_from([0.0, 1.0, 1e4]),
    bad=st.sampled_from([np.nan, np.inf, -np.inf]),
    hard=st.booleans(),
)
def test_unseen_keys_do_not_matter(seed, kind, kernel, beta, bad, hard):
    """One key that is not finite, one padded by -inf: who sees the first gets NaN, all others what the loop says."""
    rng = np.random.default_rng(seed)
    x, values = rng.standard_normal((N, 2)), rng.standard_normal((N, 2))
    log_w = np.log(rng.dirichlet(np.ones(N)))
    padded, spoiled = rng.choice(N, 2, replace=False)
    log_w[padded] = -np.inf
    scores = beta * x @ x.T
    y, v = x.copy(), values.copy()
    y[padded], v[padded] = bad, np.nan
    (y if seed % 2 else v)[spoiled] = bad
    seen = visible(kind)
    expected = loop(scores, seen, log_w, values, "hardmax" if hard else "softmax")
    actual = sums(x, y, v, beta, jnp.asarray(log_w), pairs_of(kind), kernel, hard)
    blind = ~seen[:, spoiled]
    if seed % 2:
        assert np.isnan(actual[0][~blind]).all() and np.isnan(actual[1][~blind]).all()
    else:  # a value is no part of Z, and where all see it infinity may be a sum like any other
        assert kind == "full" or np.isnan(actual[0][~blind]).all()
        assert not np.isfinite(actual[0][~blind]).all(axis=1).any()
        np.testing.assert_allclose(actual[1], expected[1], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(actual[0][blind], expected[0][blind], rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(actual[1][blind], expected[1][blind], rtol=1e-9, atol=1e-9)


@pytest.fixture(scope="module")
def early():
    """What queries 0 to 5 read, squared, with its gradient: tokens among themselves, as in a run."""

    def program(x, kernel):
        return jnp.sum(sums(x, x, x, 1.0, None, af.Causal(slope=0.1), kernel)[0][:6] ** 2)

    return jax.jit(jax.value_and_grad(program), static_argnums=1)


@pytest.mark.parametrize(
    ("kernel", "bits"), [("dense", 64), ("blocked", 64), ("broadcast", 32), ("native", 64), ("direct", 32)]
)
def test_a_nan_token_of_the_future_leaves_the_past_alone(early, kernel, bits):
    """Values and gradients of queries that do not see token 6."""
    x = np.random.default_rng(1).standard_normal((N, 2))
    bad = x.copy()
    bad[6] = np.nan
    value, slope = early(jnp.asarray(bad, f"float{bits}"), kernel)
    expected, expected_slope = early(jnp.asarray(x), "dense")
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    np.testing.assert_allclose(slope, expected_slope, rtol=2e-4, atol=1e-5)
    assert (np.asarray(slope[6:]) == 0).all()


def test_spectral_sums_keep_the_rule():
    angles = np.linspace(0.1, 6.0, N)
    x = np.stack([np.cos(angles), np.sin(angles)], 1)
    bad = x.copy()
    bad[5] = np.nan
    actual = sums(bad, bad, bad, 3.0, None, af.Causal(), "spectral:32")
    expected = loop(3.0 * x @ x.T, visible("causal"), np.full(N, -np.log(N)), x)
    np.testing.assert_allclose(actual[0][:5], expected[0][:5], atol=1e-12)
    assert np.isnan(actual[0][5:]).all()


def test_padding_of_prompts_and_its_gradient():
    """NaN in queries, keys and values of padding; a batch by vmap has other padding in each."""
    x = np.random.default_rng(2).standard_normal((2, N, 2))
    log_w = np.where(np.arange(N)[None] < np.array([[7], [4]]), 0.0, -np.inf)
    padded = np.where(log_w[..., None] == 0, x, [[[np.nan]], [[np.inf]]])

    @jax.jit
    @jax.vmap
    @jax.value_and_grad
    def squares(x, log_w):
        num, _ = af.pairsums.pair_sums(af.pairsums.Inner(1.0), x, x, x, log_w=log_w, kernel="dense")
        return jnp.sum(jnp.where(log_w[:, None] == 0, num, 0) ** 2)

    value, slope = squares(padded, log_w)
    zeros, expected = squares(np.where(log_w[..., None] == 0, x, 0), log_w)
    np.testing.assert_allclose(slope, expected, rtol=1e-12)
    np.testing.assert_allclose(value, zeros, rtol=1e-12)
    for k, many in ((0, 7), (1, 4)):
        y = x[k, :many]
        num, _ = loop(y @ y.T, np.ones((many, many), bool), np.zeros(many), y)
        assert value[k] == pytest.approx(np.sum(num**2), rel=1e-12)
        assert (np.asarray(slope[k, many:]) == 0).all()


def test_linear_attention_keeps_the_rule():
    """It sums moments of the keys and never goes through pairs."""
    x = np.random.default_rng(6).standard_normal((4, 2))
    w = jnp.asarray([0.5, 0.2, 0.3, 0.0])
    padded = np.where(np.arange(4)[:, None] < 3, x, np.nan)
    actual = af.Linear(beta=2.0)(jnp.asarray(x), jnp.asarray(padded), w)
    np.testing.assert_allclose(actual, 2.0 * x @ x[:3].T @ (np.asarray(w)[:3, None] * x[:3]), rtol=1e-12)


def test_an_unseen_score_may_overflow():
    x = jnp.asarray([[1.0, 0.0], [0.5, 0.5], [1e200, 0.0]])
    for kernel in ("dense", "native"):
        actual = sums(x, 1e120 * x, x, 1.0, None, af.Causal(), kernel)
        assert np.isfinite(actual[0][0]).all()


def test_the_kernel_takes_a_key_of_no_weight_as_the_others_do():
    x = jnp.asarray(np.random.default_rng(3).standard_normal((40, 2)))
    log_w = jnp.where(jnp.arange(40) % 2 == 0, 0.0, -jnp.inf)
    y = jnp.where(log_w[:, None] == 0, x, jnp.nan)
    for kernel in ("native", "sharded"):
        actual = sums(x, y, y, 2.0, log_w, af.pairsums.Full(), kernel)
        expected = loop(2.0 * np.asarray(x @ x.T), np.ones((40, 40), bool), np.asarray(log_w), np.asarray(x))
        np.testing.assert_allclose(actual[0], expected[0], rtol=1e-10, atol=1e-12)


def test_light_keys_before_a_heavy_one_keep_their_normalisation():
    """Positional weights that sum to one, of queries that see only keys a factor e^-800 lighter than the last."""
    x = np.stack([np.cos(np.arange(5.0)), np.sin(np.arange(5.0))], 1)
    log_w = np.array([-800.0, -800.0, -801.0, -802.0, 0.0])
    pairs = af.Causal(slope=0.3, normalized=True)
    for kernel in ("dense", "native"):
        _, log_z = sums(x, x, x, 2.0, log_w, pairs, kernel)
        for i in range(5):
            w = log_w[: i + 1] - 0.3 * (i - np.arange(i + 1))
            assert log_z[i] == pytest.approx(logsumexp(2 * x[: i + 1] @ x[i] + w) - logsumexp(w), abs=1e-12)
    from attnflow.pairsums._prefix import seen_log_weight

    actual = jax.jit(lambda log_w: seen_log_weight(log_w, jnp.asarray(0.3), False))(log_w)
    np.testing.assert_allclose(actual, [logsumexp(log_w[: i + 1] - 0.3 * (i - np.arange(i + 1))) for i in range(5)])


SIGMOID = Pointwise(jax.nn.sigmoid, jax.nn.log_sigmoid)


@functools.partial(jax.jit, static_argnames=("sigmoid", "log"))
def weights(x, beta, log_w, pairs, rows=None, sigmoid=False, log=True):
    reduce = SIGMOID if sigmoid else "softmax"
    return af.pairsums.pair_weights(
        af.pairsums.Inner(beta), x, x, log_w=log_w, pairs=pairs, reduce=reduce, rows=rows, log=log
    )


@pytest.mark.parametrize("kind", ["full", "skip", "causal"])
def test_logarithms_of_weights_do_not_underflow(kind):
    rng = np.random.default_rng(4)
    x = rng.standard_normal((N, 2))
    log_w, seen, beta = np.log(rng.dirichlet(np.ones(N))), visible(kind), 1e4
    scores = beta * x @ x.T + np.where(seen, 0, -np.inf)
    for given_w, w in ((None, np.full(N, -np.log(N))), (log_w, log_w)):
        expected = scores + w
        actual = weights(x, beta, given_w, pairs_of(kind))
        np.testing.assert_allclose(actual, expected - logsumexp(expected, axis=1, keepdims=True), rtol=1e-12, atol=1e-9)
    actual = weights(x, beta, None, pairs_of(kind), sigmoid=True)
    np.testing.assert_allclose(actual, log_expit(beta * x @ x.T) + np.where(seen, -np.log(N), -np.inf), rtol=1e-12)


def test_logarithms_with_positional_weights_that_sum_to_one():
    x = np.random.default_rng(5).standard_normal((4, 2))
    pairs = af.Causal(slope=0.5, normalized=True)
    for sigmoid in (False, True):
        plain = weights(x, 1.0, None, pairs, jnp.asarray([1, 3]), sigmoid=sigmoid, log=False)
        logs = weights(x, 1.0, None, pairs, jnp.asarray([1, 3]), sigmoid=sigmoid)
        np.testing.assert_allclose(np.exp(logs), plain, rtol=1e-12)
    with pytest.raises(InputError, match="log_phi"):
        af.pairsums.pair_weights(af.pairsums.Inner(1.0), x, x, reduce=jnp.positive, log=True)


X = np.ones((3, 2))
BAD = {
    "a score": dict(score="inner"),
    "text": dict(x="tokens"),
    "one number": dict(x=1.0),
    "no tokens": dict(y=np.zeros((0, 2))),
    "truth values": dict(x=np.ones((3, 2), bool)),
    "other dimension": dict(y=np.ones((3, 4))),
    "values": dict(values=np.ones((2, 2))),
    "text values": dict(values="one"),
    "log weights": dict(log_w=np.zeros(2)),
    "pairs": dict(pairs="all"),
    "kernel": dict(kernel="fast"),
    "kernel of no text": dict(kernel=3),
    "reduction": dict(reduce="max"),
}


@pytest.mark.parametrize("what", BAD)
def test_arrays_that_do_not_fit_are_refused(what):
    arguments = dict(score=af.pairsums.Inner(1.0), x=X, y=X, values=1.0) | BAD[what]
    with pytest.raises(InputError, match=r"\.$"):
        af.pairsums.pair_sums(
            arguments.pop("score"), arguments.pop("x"), arguments.pop("y"), arguments.pop("values"), **arguments
        )


@pytest.mark.parametrize(
    "skip", ["abc", 1.5, np.zeros((2, 2), int), np.array([0.5, 1.0]), (np.arange(3),), np.ones(3, bool)]
)
def test_bad_labels_are_refused(skip):
    with pytest.raises(InputError, match=r"\.$"):
        af.pairsums.Full(skip=skip)


@pytest.mark.parametrize("rows", ["first", [0.5], 3, [7], [True]])
def test_bad_rows_are_refused(rows):
    with pytest.raises(InputError, match=r"\.$"):
        af.pairsums.pair_weights(af.pairsums.Inner(1.0), X, X, rows=rows)
