"""Causal dynamics: positional weights, the clock beta-USA, prefix sums, prompts cut short, Rényi centers."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import ive

import attnflow as af
from attnflow.app.python_code import program
from attnflow.app.state import State
from attnflow.errors import InputError
from attnflow.experiments.causal import clustering, dynamics
from attnflow.flows import SumsOfRun
from attnflow.flows.long_time import _numbers
from attnflow.pairsums import _prefix, _series, weight_matrix
from attnflow.pairsums.engines.spectral import break_even
from attnflow.pairsums.native_library import native
from attnflow.reductions import equiangular_rate, two_cluster_rate
from attnflow.settings import build, complete
from judging import computed, holds, verdicts

N = 40
# Small programs that run once: not worth optimising.
compiled = functools.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
RNG = np.random.default_rng(0)


def tokens(n, d, seed=0):
    x = np.random.default_rng(seed).standard_normal((n, d))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def alibi(n, slope, strict=True):
    """Weights e^(-slope (j - k)) of the past, row by row in a loop."""
    w = np.zeros((n, n))
    for j in range(n):
        for k in range(j if strict else j + 1):
            w[j, k] = np.exp(-slope * (j - k))
    return w


def normalized(w):
    total = w.sum(axis=1, keepdims=True)
    return w / np.where(total == 0, 1, total)


# Positional weights


@pytest.mark.parametrize(
    "pairs, expected",
    [
        (af.pairsums.Full(), np.ones((N, N))),
        (af.pairsums.Full(skip=np.arange(N), normalized=True), (1 - np.eye(N)) / (N - 1)),
        (af.Causal(slope=0.1), alibi(N, 0.1, strict=False)),
        (af.Causal(strict=True, slope=0.1, normalized=True), normalized(alibi(N, 0.1))),
        (af.Causal(strict=True, slope=1e4, normalized=True), np.eye(N, k=-1)),
        (af.pairsums.Positional(np.exp(-0.1 * np.arange(N))), alibi(N, 0.1, strict=False)),
        (af.pairsums.Positional(alibi(N + 3, 0.1), normalized=True), normalized(alibi(N, 0.1))),
        (af.pairsums.Positional([0.0, 2.0, 1.0]), 2 * np.eye(N, k=-1) + np.eye(N, k=-2)),
        (af.pairsums.Positional(alibi(N, 0.1)).T, alibi(N, 0.1).T),
        (af.pairsums.Positional(alibi(N, 0.1), outside=False), alibi(N, 0.1)),
    ],
)
def test_weight_matrix_is_what_the_loop_says(pairs, expected):
    np.testing.assert_allclose(weight_matrix(pairs, N), expected, rtol=1e-13)


def attend(kernel, weights, x):
    """A sum of velocities for weights by lag, and the velocities."""
    pairs = af.pairsums.Positional(weights, normalized=True)
    velocity = af.Unnormalized(2.0, gradient=True)(x, x, pairs=pairs, kernel=kernel)
    return jnp.sum(jnp.sin(velocity)), velocity


def attend_by_loops(by_lag, x):
    """The same in NumPy, for complex numbers too."""
    w = np.array([[by_lag[j - k] if 0 <= j - k < len(by_lag) else 0 for k in range(N)] for j in range(N)])
    return 2.0 * (normalized(w) * np.exp(2.0 * x @ x.T)) @ x


def slope_along(fn, direction, *args):
    """The derivative of an analytic function of complex arrays, by a step of 1e-30 i: exact to rounding."""
    moved = [a + 1e-30j * v for a, v in zip(args, direction, strict=True)]
    return np.imag(fn(*moved)) / 1e-30


def test_positional_weights_are_a_loop_over_pairs_in_every_engine():
    """Rows without keys have velocity and gradient zero; a lag beyond the last is not seen."""
    x = tokens(N, 3)
    by_lag = np.where(np.arange(25) < 3, 0, RNG.random(25))
    expected = attend_by_loops(by_lag, x)
    _, dense = compiled(functools.partial(attend, "dense"))(jnp.asarray(by_lag), jnp.asarray(x))
    derived = compiled(jax.value_and_grad(functools.partial(attend, "blocked"), argnums=(0, 1), has_aux=True))
    (_, blocked), gradients = derived(jnp.asarray(by_lag), jnp.asarray(x))
    for velocity in (dense, blocked):
        np.testing.assert_allclose(velocity, expected, rtol=0, atol=1e-13)
        assert not np.any(velocity[:3])
    directions = (RNG.standard_normal(25) * (by_lag > 0), RNG.standard_normal((N, 3)))
    slope = slope_along(lambda *a: np.sin(attend_by_loops(*a)).sum(), directions, by_lag, x)
    assert sum(np.sum(g * v) for g, v in zip(gradients, directions, strict=True)) == pytest.approx(slope, rel=1e-11)
    assert all(np.isfinite(g).all() for g in gradients)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: af.pairsums.Positional([1.0, -0.5]), "entry -0.5; a weight is not negative"),
        (lambda: af.pairsums.Positional([1.0, np.nan]), "not finite"),
        (lambda: af.pairsums.Positional("12"), "not an array of numbers"),
        (lambda: af.pairsums.Positional(np.ones((2, 3))), r"shape \(2, 3\); give \(k,\)"),
        (lambda: weight_matrix(af.pairsums.Positional(np.eye(3)), 4), "3 positions, and there are 4 keys"),
        (lambda: weight_matrix(af.Causal(), 4.0), "n = 4.0 is not a whole number"),
        (lambda: weight_matrix("causal", 4), "a str is no pairs object"),
        (lambda: af.Causal(slope="0.1"), "slope = '0.1' is not a number"),
        (lambda: af.diagnostics.renyi_centers(np.full((3, 2), np.nan), 0.5), "not unit vectors"),
        (lambda: af.Unnormalized(1.0, shifted=True, gradient=True), "two clocks for one flow"),
        (lambda: af.models.causal_model(0), "n = 0 is too small"),
        (lambda: af.models.causal_model(8, slope=-1.0), "slope = -1 is negative"),
        (lambda: af.models.causal_model(8, normalize="rows"), "normalize = 'rows' is unknown"),
        (lambda: af.models.causal_model(8, beta="1"), "beta = '1' is not a number"),
        (lambda: af.diagnostics.renyi_centers(tokens(3, 2), 0.0), "delta = 0 is no distance"),
        (lambda: af.diagnostics.renyi_centers(tokens(3, 2), "0.5"), "delta = '0.5' is not an array of numbers"),
        (lambda: af.diagnostics.renyi_centers(np.ones((3, 2)), 0.5), "not unit vectors"),
        (lambda: af.reductions.cap_measure(4.0), "delta = 4 is no distance on a sphere"),
        (lambda: af.reductions.parking_count(0.0), "delta = 0: any number"),
        (lambda: af.reductions.strong_center_speed(-1, beta=1.0, delta=0.5), "j = -1 tokens"),
        (lambda: af.Sinkhorn()(*2 * [jnp.eye(4)], pairs=af.pairsums.Positional(np.ones(4))), "cannot be causal"),
        (lambda: spectral_sums(af.Causal(at=[0, 1, 2, 3]), 4, 4), "positions of their own"),
        (lambda: spectral_sums(af.Causal(), 3, 4), "3 queries and 4 keys"),
        (lambda: spectral_sums(af.pairsums.Positional(np.ones(4)), 4, 4), "or causal ones"),
    ],
)
def test_bad_input_ends_in_a_sentence(call, words, as_users_run):
    with pytest.raises(InputError, match=words):
        call()


def spectral_sums(pairs, n, m):
    y = jnp.asarray(tokens(m, 2))
    return af.pairsums.pair_sums(af.pairsums.Inner(1.0), y[:n], y, 1.0, pairs=pairs, kernel="spectral")


# The model and its clock


def test_the_models_of_the_theory():
    """Velocities by loops: positional weights outside, softmax with the slope inside, both strictly of the past."""
    x, n, beta, slope = tokens(N, 3), N, 1.5, 2.0
    kernel = np.exp(beta * x @ x.T)
    w = alibi(n, slope / n)
    by_hand = {"positional": beta * (normalized(w) * kernel) @ x, "softmax": normalized(w * kernel) @ x}
    for normalize, expected in by_hand.items():
        model = af.models.causal_model(n, beta=beta, slope=slope, normalize=normalize)
        assert model.clock == {"positional": "beta-USA", "softmax": "SA"}[normalize]
        np.testing.assert_allclose(model.force(0.0, jnp.asarray(x), None), expected, rtol=0, atol=1e-13)
    same = af.models.causal_model(n, beta, 0.0, "softmax", strict=False)
    plain = af.SelfAttention(af.Softmax(beta), pairs=af.Causal())
    assert jax.tree.structure(same) == jax.tree.structure(plain)


def test_the_clock_beta_usa_is_usa_on_a_faster_clock(tmp_path):
    """x(t) = x_USA(βt), with positional weights; the run is stored and read again."""
    beta, x, pairs = 2.0, tokens(5, 3), af.pairsums.Positional(alibi(5, 0.2), normalized=True)
    model = af.SelfAttention(af.Unnormalized(beta, gradient=True), pairs=pairs)
    run = af.simulate(model, x, t1=0.4, save=3, solver="rk4", dt=0.0025)
    w = normalized(alibi(5, 0.2))

    def usa(x):
        force = w * np.exp(beta * x @ x.T) @ x
        return force - np.sum(force * x, axis=1, keepdims=True) * x

    expected = solve_ivp(lambda t, y: usa(y.reshape(5, 3)).ravel(), (0, beta * 0.4), x.ravel(), rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(run.xs[-1], expected.y[:, -1].reshape(5, 3), rtol=0, atol=1e-8)
    np.testing.assert_allclose(run.xs[:, 0], x[[0, 0, 0]], rtol=0, atol=1e-16)  # has no keys
    run.save(tmp_path / "run.nc")
    loaded: Any = af.load(tmp_path / "run.nc").model
    assert loaded.clock == "beta-USA" and loaded.pairs.normalized and loaded.pairs.outside
    np.testing.assert_array_equal(loaded.pairs.weights, alibi(5, 0.2))
    np.testing.assert_allclose(af.attention_matrix(run, at=0), beta * w * np.exp(beta * x @ x.T), rtol=1e-12)


def test_the_faster_clock_is_known_everywhere():
    """Metric of the gradient flow, offset of long times, and the reductions; a fused kernel takes longer steps."""
    beta = 2.0
    fast, slow = (af.Unnormalized(beta, gradient=g) for g in (True, False))
    x = jnp.asarray(tokens(5, 3))
    np.testing.assert_allclose(fast(x, x), beta * slow(x, x), rtol=1e-14)
    np.testing.assert_allclose(fast.energy(af.Sphere()).log_metric(x, scale="E"), -np.log(beta), rtol=1e-14)
    offsets = [float(_numbers(a.zonal, None, None, None)["offset"]) for a in (fast, slow)]
    assert offsets == pytest.approx([beta + np.log(beta), beta], rel=1e-14)
    k = np.arange(1, 5)
    bessel = k**2 * ive(k, beta) * np.exp(beta)
    np.testing.assert_allclose(af.reductions.growth_rate(k, beta=beta, clock="beta-USA"), bessel, rtol=1e-12)
    for rate in (
        functools.partial(two_cluster_rate, 1.0, weight=0.3, beta=beta),
        functools.partial(equiangular_rate, 0.5, n=4, beta=beta),
        lambda clock: 1 / af.reductions.merge_time(beta, u0=1.0, weights=(0.4, 0.6), clock=clock),
    ):
        np.testing.assert_allclose(rate(clock="beta-USA"), beta * rate(clock="USA"), rtol=1e-12)


# Prefix sums


def pairs_by_hand(strict, x, y, v, beta, slope, log_w):
    """Numerators and masses in NumPy, for complex numbers too."""
    n = len(x)
    lag = np.arange(n)[:, None] - np.arange(n)[None, :]
    seen = lag > 0 if strict else lag >= 0
    fading = np.where(seen, np.exp(-slope * np.maximum(lag, 0)) * np.exp(log_w)[None, :], 0)
    total = np.where((fading == 0).all(axis=1), 1, fading.sum(axis=1))
    weights = fading / total[:, None] * np.exp(beta * x @ y.T)
    z = weights.sum(axis=1)
    return weights @ v / np.where(z == 0, 1, z)[:, None], z


def prefix(strict, x, y, v, beta, slope, log_w):
    pairs = af.Causal(strict=strict, slope=slope, normalized=True)
    return af.pairsums.pair_sums(af.pairsums.Inner(beta), x, y, v, log_w=log_w, pairs=pairs, kernel="spectral:16")


def arguments(d, n=41):
    """Queries, other keys, values, beta, slope and weights; with strict pairs the first two rows have no keys."""
    rng = np.random.default_rng(d)
    log_w = rng.standard_normal(n)
    log_w[[0, 20]] = -np.inf
    return tokens(n, d), tokens(n, d, 1), rng.standard_normal((n, 2)), np.asarray(1.3), np.asarray(0.05), log_w


@pytest.fixture
def small_tiles(monkeypatch):
    """Several tiles and part of one in a small cloud."""
    for d in (2, 3):
        monkeypatch.setitem(_prefix.TILE, d, 16)


def total(num, z):
    return (np.sin(num) * z[:, None]).sum() + 0.3 * z.sum()


def test_prefix_sums_and_their_gradients_are_those_of_direct_sums(small_tiles):
    """On the circle, strictly of the past; rows without keys have zero gradient."""
    args = arguments(2)

    def loss(*args):
        num, log_z = prefix(True, *args)
        z = jnp.exp(jnp.where(log_z > -jnp.inf, log_z, -1e3))
        return jnp.sum(jnp.sin(num) * z[:, None]) + 0.3 * jnp.sum(z), (num, log_z)

    (_, (num, log_z)), gradients = compiled(jax.value_and_grad(loss, argnums=range(6), has_aux=True))(*args)
    expected, z = pairs_by_hand(True, *args)
    np.testing.assert_allclose(num, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(jnp.exp(log_z), z, rtol=0, atol=1e-12)
    assert np.isneginf(log_z[:2]).all() and not np.any(num[:2]) and not np.any(gradients[0][:2])
    rng = np.random.default_rng(5)
    for k, gradient in enumerate(gradients):
        v = np.where(np.isfinite(args[k]), rng.standard_normal(args[k].shape), 0)
        directions = [v if i == k else np.zeros_like(a) for i, a in enumerate(args)]
        slope = slope_along(lambda *a: total(*pairs_by_hand(True, *a)), directions, *args)
        assert np.isfinite(gradient).all() and np.sum(gradient * v) == pytest.approx(slope, rel=1e-11)


def test_a_slope_neither_overflows_nor_forgets_nor_sees_the_future(small_tiles):
    """On the sphere, a token seeing itself. At a lag of 40 e^(30 lag) is infinite; a sum has exactly the seen keys."""
    x, y, v, beta, slope, log_w = arguments(3)
    program = compiled(functools.partial(prefix, False))
    for slope in (30.0, 0.05, 0.0):
        args = (x, y, v, beta, np.asarray(slope), np.maximum(log_w, -1))
        num, log_z = program(*args)
        expected, z = pairs_by_hand(False, *args)
        np.testing.assert_allclose(num, expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(log_z, np.log(z), rtol=0, atol=1e-12)


def test_a_sum_that_underflows_is_not_an_empty_sum():
    x, mass = jnp.asarray(tokens(3, 2)), jnp.asarray([0.0, 1.0, 0.0])  # strict: the first row has no keys
    with pytest.raises(InputError, match="query 2 is too far from all keys"):
        _series.trusted(
            _series.Series(2, 16, True, True), x, x, jnp.zeros(3), jnp.ones(3), jnp.ones(()), jnp.zeros(()), mass
        )


def test_the_engine_for_causal_tokens_is_chosen_where_it_pays_and_is_trusted():
    def chosen(model, n=2000, d=2, kernel="auto", rtol=1e-9):
        return SumsOfRun(model, jnp.asarray(tokens(n, d)), tolerance=rtol).choose(kernel)[1].engine.full_name

    direct = ("native",) if native().ready else ("dense", "blocked")

    assert chosen(af.SelfAttention(beta=1.0, pairs=af.Causal())).startswith("spectral:")
    assert chosen(af.models.causal_model(2000)).startswith("spectral:")
    assert chosen(af.SelfAttention(beta=1.0, pairs=af.Causal()), 200) in direct
    assert chosen(af.SelfAttention(beta=64.0, pairs=af.Causal()), rtol=1e-11).startswith("spectral:")
    # A strict row may have no key nearby.
    assert chosen(af.models.causal_model(2000, beta=30.0)) in direct
    with pytest.raises(InputError, match="does not see itself may be far"):
        chosen(af.models.causal_model(2000, beta=30.0), kernel="spectral")
    assert break_even(2, 16) < 300 < break_even(2, 16, causal=True) < 1000  # direct causal sums have half the pairs


# Prompts cut short


def test_a_prompt_cut_short_is_the_beginning_of_a_longer_one():
    """Forces of softmax, softmax with a slope and positional weights by tiles, in one program for each length.

    Dense and prefix sums are compared with loops above; whole trajectories are claims of `causal-dynamics`.
    """
    x = jnp.asarray(tokens(150, 2))
    models = [
        af.SelfAttention(beta=1.0, pairs=af.Causal()),
        af.models.causal_model(150, slope=4.0, normalize="softmax", strict=False),
        af.models.causal_model(150, slope=4.0),
        af.SelfAttention(beta=1.0, pairs=af.pairsums.Positional(np.random.default_rng(1).random(150))),
    ]
    forces = compiled(lambda x: jnp.stack([m.force(0.0, x, None, kernel="blocked") for m in models]))
    np.testing.assert_allclose(forces(x)[:, :133], forces(x[:133]), rtol=0, atol=1e-14)


# Rényi centers


@pytest.mark.parametrize("d, delta", [(2, 0.5), (4, 1.5)])
def test_centers_by_their_definition(d, delta):
    clouds = np.stack([tokens(60, d, seed) for seed in range(3)])
    centers, strong = af.diagnostics.renyi_centers(clouds, delta)
    for x, actual, found_strong in zip(clouds, np.asarray(centers), np.asarray(strong), strict=True):
        distance = np.arccos(np.clip(x @ x.T, -1, 1))
        for j in range(60):
            assert actual[j] == all(distance[j, k] > delta for k in range(j) if actual[k])
            assert found_strong[j] == all(distance[j, :j] > delta)


def test_centers_of_few_tokens():
    """A single token, and tokens of R¹, which are the two points ±1."""
    assert [a.tolist() for a in af.diagnostics.renyi_centers(tokens(1, 3), 0.5)] == [[True], [True]]
    centers, strong = af.diagnostics.renyi_centers(np.array([[1.0], [1.0], [-1.0], [-1.0]]), 3.0)
    assert centers.tolist() == strong.tolist() == [True, False, True, False]
    assert np.asarray(af.diagnostics.renyi_centers(tokens(4, 400), 0.1).strong).all()  # caps too small for a number


def test_expected_counts():
    assert af.reductions.expected_strong_centers(200, 0.5) == pytest.approx(6.2832, abs=1e-4)
    assert af.reductions.expected_strong_centers(1, 0.5, d=7) == pytest.approx(1)
    assert af.reductions.cap_measure(0.5, 3) == pytest.approx((1 - np.cos(0.5)) / 2, rel=1e-13)
    assert af.reductions.cap_measure(2.0, 3) == pytest.approx((1 - np.cos(2.0)) / 2, rel=1e-13)
    assert af.reductions.cap_measure(1e-200) == pytest.approx(1e-200 / np.pi, rel=1e-14)
    # On S^3 the density of the angle is (2/π) sin².
    assert af.reductions.cap_measure(1.1, 4) == pytest.approx((1.1 - np.sin(2.2) / 2) / np.pi, rel=1e-13)
    assert af.reductions.parking_count(0.5) == pytest.approx(9.3946, abs=1e-4)
    assert af.reductions.parking_count(2 * np.pi / 100) == pytest.approx(74.75979, abs=1e-5)
    assert af.reductions.strong_center_speed(1, beta=64.0, delta=0.5) == pytest.approx(4.0e-4, rel=0.02)


# Experiments: the acceptance rows, and the figure of the paper


LATER = (
    "simple-share",
    "speed-bound",
    "strong-stay",
    "strong-motion",
    "gathered",
    "clusters",
    "first-rests",
    "strong-count-sphere",
)


def test_rows_of_the_theory():
    """Rows A-12 to A-15; what takes long, the figure and another dimension, is judged by `attnflow reproduce`."""
    limits, circle, many, *_ = clustering.cells("quick")
    assert (circle["n"], circle["draws"], many["n"]) == (200, 2000, 5000)
    results = computed(clustering, [{**limits, "draws": [20, 40, 10, 5, 5]}, circle, {**many, "draws": 500}])
    later = {f"clustering-{name}" for name in LATER}
    assert later < {claim.id for claim in clustering.CLAIMS}
    holds(clustering, results, *(claim.id for claim in clustering.CLAIMS if claim.id not in later))
    share = verdicts(clustering, results, "clustering-simple-share")["clustering-simple-share"]
    assert share["status"] == "error" and "refused" in share["note"], "forty draws cannot tell a tenth"
    # The claim allows for slow draws in a hundred others; among these twenty there is none.
    assert verdicts(clustering, results, "clustering-first-token")["clustering-first-token"]["measured"] == 0


def test_weights_of_the_continuum():
    holds(dynamics, computed(dynamics, [{"part": "weights", "n": 1000}]), "dynamics-weights")


# The command line and the page


def test_pairs_are_selected_by_name():
    settings = complete({"pairs": "positional", "slope": 0.25, "attention": "unnormalized", "gradient": True})
    model, *_ = build(settings)
    assert (
        model.clock == "beta-USA" and model.pairs.strict and model.pairs.normalized and float(model.pairs.slope) == 0.25
    )
    model, *_ = build(complete({"pairs": "strict"}))
    assert model.pairs.strict and model.pairs.slope is None and not model.pairs.normalized
    with pytest.raises(InputError, match=r"--slope 0\.5 belongs to --pairs alibi or positional"):
        build(complete({"pairs": "strict", "slope": 0.5}))
    with pytest.raises(InputError, match="--pairs positional needs --slope"):
        build(complete({"pairs": "positional"}))
    text = program(State.of({"pairs": "positional", "slope": 0.25}), 0.1)
    assert "pairs=af.Causal(strict=True, slope=0.25, normalized=True)" in text
