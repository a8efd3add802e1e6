"""Diagnostics of bad input: NaN is refused or comes out as NaN, the rest is refused in a sentence."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import logsumexp

import attnflow as af
from attnflow import diagnostics
from attnflow.diagnostics import smoothness
from attnflow.errors import AttnflowWarning, InputError

RNG = np.random.default_rng(0)
X = RNG.standard_normal((5, 2))
X /= np.linalg.norm(X, axis=1, keepdims=True)
P = RNG.dirichlet(np.ones(5), 5)
TS = np.linspace(0.0, 1.0, 4)
EYE = np.eye(2)

# Functions of arrays, one array at a time: name -> (call with that array, a good one, what else is no such array).
DOORS = {
    "order_parameter": (af.diagnostics.order_parameter, X),
    "pair_fraction": (af.diagnostics.pair_fraction, X),
    "inner_products": (lambda x: af.inner_products(x).density, X),
    "inner_products of cosines": (lambda x: af.inner_products(x, normalized=True).density, X),
    "effective_rank": (af.diagnostics.effective_rank, X),
    "numerical_rank": (af.diagnostics.numerical_rank, X),
    "leaders": (lambda x: af.leaders(x).follows, P),
    "modes": (lambda x: af.diagnostics.modes(x, beta=4.0).count, X[:, :1]),
    "count_modes": (lambda x: af.diagnostics.count_modes(x, beta=4.0), X[:, :1]),
    "renyi_centers": (lambda x: af.diagnostics.renyi_centers(x, 0.5).centers, X),
    "separation_report": (lambda x: af.diagnostics.separation_report(x, EYE, 0.01, 9.0).separated, X),
    "separation_report, centres": (lambda x: af.diagnostics.separation_report(X, x, 0.01, 9.0).separated, EYE),
    "hull_nonincreasing": (lambda x: af.diagnostics.hull_nonincreasing([x, x]).holds, X),
    "detect_polytope": (lambda x: af.diagnostics.detect_polytope(x).count, X),
    "detect_polytope, speed": (lambda x: af.diagnostics.detect_polytope(X, speed=x).converged, np.zeros(5)),
    "detect_polytope, V": (lambda x: af.diagnostics.detect_polytope(X, V=x).count, np.diag([1.0, 0.5])),
    "detect_hyperplanes": (lambda x: af.diagnostics.detect_hyperplanes(x, V=np.diag([1.0, 0.5])).count, X),
    "detect_hyperplanes, speed": (
        lambda x: af.diagnostics.detect_hyperplanes(X, V=np.diag([1, 0.5]), speed=x).count,
        np.zeros(5),
    ),
    "detect_paranormal": (lambda x: af.diagnostics.detect_paranormal(V=x).holds, EYE),
    "good_triple": (lambda x: af.diagnostics.good_triple(V=x).holds, EYE),
    "classify": (lambda x: af.classify(V=EYE, B=x).case, EYE),
    "boolean_structure": (lambda x: af.diagnostics.boolean_structure(x).rank, P),
    "phase_report": (lambda x: af.diagnostics.phase_report(TS, x, TS).t_min, TS),
    "local_lipschitz": (lambda x: smoothness.local_lipschitz(af.Softmax(), x).value, X),
    "jvp": (lambda x: smoothness.jvp(af.Softmax(), x, X), X),
    "vjp": (lambda x: smoothness.vjp(af.Softmax(), x, X), X),
    "jacobian": (lambda x: smoothness.jacobian(af.Softmax(), x), X),
    "large_radius_limit": (smoothness.large_radius_limit, X),
    "bounds": (lambda x: smoothness.bounds(1.0, V=x)["kantorovich"], EYE),
    "log_partition": (lambda x: af.diagnostics.log_partition(x, attention=af.Softmax(beta=2.0)), X),
    "log_partition, points": (lambda x: af.diagnostics.log_partition(X, attention=af.Softmax(beta=2.0), points=x), X),
}


@pytest.mark.parametrize("name", DOORS)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_infinities_and_nan_are_no_data(name, bad):
    call, good = DOORS[name]
    x = np.array(good, float)
    x.flat[-1] = bad
    try:
        actual = np.asarray(call(x))
    except InputError as error:
        assert str(error).endswith(".")
    else:
        assert np.issubdtype(actual.dtype, np.floating) and np.isnan(actual).any(), actual


@pytest.mark.parametrize("name", DOORS)
def test_arguments_that_are_not_arrays_of_tokens_are_refused(name):
    call, _ = DOORS[name]
    for x in ("text", np.zeros((0, 2)), np.array("x"), [["a", "b"]], [[1, 2], [3]]):
        with pytest.raises(InputError, match=r"\.$"):
            call(x)


def standing(model, xs=X, weights=None):
    """A run of tokens that do not move."""
    xs = jnp.asarray(xs if np.ndim(xs) == 3 else [xs, xs])
    ts = jnp.arange(len(xs), dtype=xs.dtype)
    return af.Run(ts, xs, weights, jnp.asarray(0), stats={}, model=model, clock="SA", provenance={})


def half_finished():
    """A run whose last rows were not reached."""
    return standing(af.SelfAttention(beta=2.0), np.stack([X, X, np.full_like(X, np.nan), np.full_like(X, np.nan)]))


def test_rows_past_the_last_time_are_not_counted():
    run = half_finished()
    assert (
        np.isnan(af.diagnostics.pair_fraction(run)[2:]).all()
        and np.isfinite(af.diagnostics.pair_fraction(run)[:2]).all()
    )
    assert np.isnan(af.inner_products(run).density[2:]).all() and np.isfinite(af.inner_products(run).density[:2]).all()
    assert (
        np.isnan(af.diagnostics.order_parameter(run)[2:]).all()
        and np.isnan(af.diagnostics.effective_rank(run)[2:]).all()
    )
    assert np.isnan(af.energy(run)[2:]).all() and np.isfinite(af.energy(run)[:2]).all()
    assert np.isnan(af.diagnostics.dissipation(run)[2:]).all()
    assert np.isnan(af.attention_matrix(run)[2:]).all() and np.isfinite(af.attention_matrix(run)[:2]).all()
    assert np.isnan(af.diagnostics.log_partition(run)[2:]).all()
    for count in (
        af.leaders,
        af.diagnostics.numerical_rank,
        af.diagnostics.staircase,
        af.diagnostics.count_modes,
        lambda run: af.diagnostics.renyi_centers(run, 0.5),
    ):
        with pytest.raises(InputError, match=r"finite|unit"):
            count(run)
    assert af.leaders(run, at=1).follows.shape == (5,) and int(af.diagnostics.numerical_rank(run, at=1)) == 2
    assert int(jax.jit(af.diagnostics.numerical_rank)(run.xs[-1])) == -1
    assert (np.asarray(jax.jit(lambda A: af.leaders(A).followers)(jnp.full((3, 3), jnp.nan))) == -1).all()


def test_a_token_without_weight_does_not_count_as_a_pair():
    w = np.array([0.5, 0.25, 0.25, 0.0])
    x = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [np.nan, np.nan]])
    # pairs of weight: (0, 1) met, (0, 2) and (1, 2) not: 0.125 / (0.125 + 0.125 + 0.0625)
    assert float(af.diagnostics.pair_fraction(x, weights=w)) == pytest.approx(0.4)


@pytest.mark.parametrize(
    "call",
    [
        lambda: af.energy(X),
        lambda: af.energy("run"),
        lambda: af.diagnostics.dissipation(X),
        lambda: af.diagnostics.is_gradient_flow("model", 2),
        lambda: af.diagnostics.is_gradient_flow(af.SelfAttention(), "two"),
        lambda: af.diagnostics.is_gradient_flow(af.SelfAttention(), 0),
        lambda: af.attention_matrix(X),
        lambda: af.diagnostics.staircase(X),
        lambda: af.diagnostics.hardmax_limit(X),
        lambda: af.diagnostics.pair_fraction(X, delta=np.nan),
        lambda: af.diagnostics.pair_fraction(X, delta="small"),
        lambda: af.diagnostics.pair_fraction(X, kernel="fast"),
        lambda: af.diagnostics.pair_fraction(X > 0),
        lambda: af.diagnostics.order_parameter(X + 1j),
        lambda: af.diagnostics.order_parameter(X[None], at=True),
        lambda: af.inner_products(X, bins="many"),
        lambda: af.inner_products(X, bins=[0.0, np.inf]),
        lambda: af.inner_products(X, bins=[0.0, np.nan]),
        lambda: af.inner_products(X, bins=True),
        lambda: af.inner_products(1e200 * X),
        lambda: af.diagnostics.log_partition(X, attention=af.Softmax(), head=0),
        lambda: af.models.field(af.SelfAttention(), 0.0, X, key="0"),
        lambda: af.models.field(af.SelfAttention(), 0.0, X, state=(1.0,)),
        lambda: af.models.field(af.SelfAttention(), 0.0, X, speed=2),
        lambda: af.Flow(lambda t, x, w: -x, clock=3),
        lambda: af.pairsums.Pointwise(jax.nn.relu, log_phi=0.5),
        lambda: af.diagnostics.numerical_rank(X, tol="small"),
        lambda: af.diagnostics.numerical_rank(X, tol=np.nan),
        lambda: af.diagnostics.numerical_rank(X, tol=-1.0),
        lambda: af.diagnostics.separation_report(X, EYE, "small", 9.0),
        lambda: af.diagnostics.separation_report(X, EYE, 0.01, 9.0, lam=np.nan),
        lambda: af.diagnostics.detect_polytope(X, eps="near"),
        lambda: af.diagnostics.detect_polytope(X, eps=True),
        lambda: af.diagnostics.detect_polytope(X, eps=np.nan),
        lambda: af.diagnostics.detect_hyperplanes(X, V=-EYE, eps=np.nan),
        lambda: af.diagnostics.good_triple(V=EYE, tol="small"),
        lambda: af.classify(V=EYE, tol=np.nan),
        lambda: af.diagnostics.boolean_structure(P, tol="small"),
        lambda: af.diagnostics.boolean_structure(P > 0.1),
        lambda: af.diagnostics.modes(X, beta="cold"),
        lambda: af.diagnostics.modes(X, beta=4.0, space="circle"),
        lambda: af.diagnostics.renyi_centers(X, "near"),
        lambda: af.diagnostics.log_partition(X),
        lambda: af.diagnostics.log_partition(X, attention=af.Softmax(), points=np.ones((2, 3))),
        lambda: smoothness.local_lipschitz("softmax", X),
        lambda: smoothness.local_lipschitz(af.Softmax(), X, pairs="all"),
        lambda: smoothness.local_lipschitz(af.Softmax(), X, kernel="fast"),
        lambda: smoothness.local_lipschitz(af.Softmax(), X, max_iterations="many"),
        lambda: smoothness.bounds(1.0, n="many"),
        lambda: smoothness.cesaro_norm("many"),
        lambda: smoothness.stability_factor(1.0, radius=1.0, bound=3),
    ],
)
def test_refused_in_a_sentence(call, as_users_run):
    with pytest.raises(InputError, match=r"^[^\n]*\.$"):
        call()


def test_the_norm_of_a_map_that_did_not_converge():
    sinkhorn, x = af.Sinkhorn(beta=30.0, max_iterations=2), X[:3]
    for method in ("dense", "power"):
        with pytest.warns(AttnflowWarning, match="did not converge"):
            result = smoothness.local_lipschitz(sinkhorn, x, method=method)
        assert np.isnan(result.value) and not result.converged and "NaN" in result.limits[0]
    result = smoothness.local_lipschitz(af.Softmax(), x)
    assert result.converged and result.limits == () and result.value > 0


# Logarithms


def test_log_attention_does_not_underflow():
    beta = 1e4
    run = standing(af.SelfAttention(beta=beta))
    scores = beta * X @ X.T
    expected = scores - logsumexp(scores, axis=1, keepdims=True)
    np.testing.assert_allclose(af.attention_matrix(run, at=0, log=True), expected, rtol=1e-12, atol=1e-9)
    assert float(af.attention_matrix(run, at=0).min()) == 0.0  # this underflows
    causal = standing(af.SelfAttention(af.Unnormalized(beta=3.0, shifted=True), pairs=af.Causal()))
    seen = np.tril(np.ones((5, 5), bool))
    expected = np.where(seen, 3 * (X @ X.T - 1) - math.log(5), -np.inf)
    np.testing.assert_allclose(af.attention_matrix(causal, at=0, log=True), expected, rtol=1e-12)
    np.testing.assert_allclose(np.exp(expected), af.attention_matrix(causal, at=0), rtol=1e-12)
    linear = standing(af.SelfAttention(af.Linear()))
    with pytest.raises(InputError, match="logarithm"):
        af.attention_matrix(linear, at=0, log=True)


def test_the_partition_function_at_any_temperature():
    w = np.array([0.3, 0.1, 0.2, 0.3, 0.1])
    for beta in (2.0, 1e4):
        expected = logsumexp(beta * X @ X.T + np.log(w), axis=1)
        np.testing.assert_allclose(
            af.diagnostics.log_partition(X, attention=af.Softmax(beta=beta), weights=w), expected
        )
        shifted = af.diagnostics.log_partition(X, attention=af.Unnormalized(beta=beta, shifted=True), weights=w)
        np.testing.assert_allclose(shifted, expected - beta, rtol=1e-9, atol=1e-9)
    points = np.array([[1.0, 0.0], [0.0, -1.0], [0.6, 0.8]])
    actual = af.diagnostics.log_partition(X, attention=af.Softmax(beta=9.0), points=points)
    np.testing.assert_allclose(actual, logsumexp(9 * points @ X.T - math.log(5), axis=1))
    run = standing(af.SelfAttention(beta=2.0), weights=jnp.asarray(w))
    np.testing.assert_allclose(af.diagnostics.log_partition(run, at=0), logsumexp(2 * X @ X.T + np.log(w), axis=1))
    assert af.diagnostics.log_partition(run).shape == (2, 5)
    assert diagnostics.log_partition is af.diagnostics.log_partition


# Hardmax


def test_the_attention_of_robust_layers_is_what_they_use():
    x0 = af.models.hardmax_cloud("faces", inside=2, key=jax.random.key(0))
    turn = np.array([[np.cos(0.7), -np.sin(0.7)], [np.sin(0.7), np.cos(0.7)]])
    run = af.simulate(af.HardmaxLayers(0.5, robust=True), np.asarray(x0) @ turn.T, t1=90, solver="layers")
    A = np.asarray(af.attention_matrix(run))
    xs = np.asarray(run.xs)
    np.testing.assert_allclose(A.sum(axis=2), 1, rtol=1e-15)
    step = np.einsum("tij,tjd->tid", A[:-1], xs[:-1]) - xs[:-1]
    np.testing.assert_allclose(xs[1:], xs[:-1] + step / 3, atol=2e-10)  # absorbed tokens jump by merge_tol at most
    assert (np.diag(A[-1])[:4] == 1).all() and A[0, 4].max() == pytest.approx(0.5)  # corners lead, an edge token ties
    absorbed = np.asarray(run.info["absorbed_by"])
    assert (absorbed >= 0).any()
    for i in np.flatnonzero(absorbed >= 0):
        assert A[-1, i, absorbed[i]] == 1
    assert af.leaders(run, at=-1).tokens[:4] and np.isneginf(af.attention_matrix(run, at=0, log=True)[4]).any()


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize(("alpha", "scale"), [(0.1, 1.0), (1.0, 1e3), (1.0, 1e-3)])
def test_hardmax_limits_are_certified_in_both_precisions(dtype, alpha, scale):
    x0 = jnp.asarray(scale * af.models.hardmax_cloud("triangle", inside=5, key=jax.random.key(0)), dtype)
    layers = int(25 / math.log1p(alpha))
    result = af.diagnostics.hardmax_limit(af.simulate(af.HardmaxLayers(alpha), x0, t1=layers, solver="layers"))
    assert result.certified and result.limits == () and (result.ahead <= 2 * result.eps).all(), result
    early = af.diagnostics.hardmax_limit(af.simulate(af.HardmaxLayers(alpha), x0, t1=2, solver="layers"))
    assert not early.certified and len(early.missing)


@pytest.mark.parametrize("alpha", [1e-10, 1e-6, 0.5])
def test_a_small_step_is_no_rest(alpha):
    """A token beside the middle of an edge, 1e-9 off: it is drawn to a corner, one away, however slowly."""
    x0 = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 0.0], [1.0, 1e-9]])
    result = af.diagnostics.hardmax_limit(af.simulate(af.HardmaxLayers(alpha), x0, t1=3, solver="layers"))
    assert not result.certified and result.missing.tolist() == [3]
    assert result.ahead[3] == pytest.approx(1.0 if alpha < 1e-3 else 8 / 27, rel=1e-5)
    x0[3, 1] = 0.0  # on the middle: this one stays, by its tie
    result = af.diagnostics.hardmax_limit(af.simulate(af.HardmaxLayers(alpha), x0, t1=3, solver="layers"))
    assert result.certified and result.faces == {3: (0, 1)}
    # A leader nearby that does not attract: nearly as long, and another one wins.
    x0 = np.array([[1.0, 0.0], [1.0 - 1e-9, 3e-9], [0.9999999999, 1.0], [-2.0, 0.1]])
    run = af.simulate(af.HardmaxLayers(alpha), x0, t1=2, solver="layers")
    result = af.diagnostics.hardmax_limit(run)
    drawn = np.linalg.norm(np.asarray(run.info["ahead"]), axis=1) > 2 * result.eps
    assert not (drawn & (result.at_leader >= 0)).any() and not (result.certified and drawn.any())


def test_steps_below_rounding_are_named():
    x0 = jnp.asarray([[1.0, 1.0], [-1.0, 0.5], [0.5, 0.5]], jnp.float32)
    result = af.diagnostics.hardmax_limit(af.simulate(af.HardmaxLayers(1e-10), x0, t1=3, solver="layers"))
    assert (
        not result.certified
        and "below the rounding of float32" in result.limits[0]
        and result.limits[0] in repr(result)
    )
