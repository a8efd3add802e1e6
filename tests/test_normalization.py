"""Normalisation schemes of theory/01-sphere.md, section 2.11: fields against NumPy loops, decay against the theory."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import attnflow as af
from attnflow import registry
from attnflow.errors import InputError
from witness import rotation, velocity, weyl

SCHEMES = ["post", "pre", "peri", "ngpt"]
W = np.arange(1, 7) / 21
BETA = 2.0
X = weyl(6, 3) * np.linspace(0.5, 3.0, 6)[:, None]  # tokens of different lengths
TS = np.linspace(0.0, 3.0, 5)
velocity_of = eqx.filter_jit(af.models.field)


def model_of(scheme, beta=BETA, alpha=0.7):
    return af.models.NormalizedAttention(beta=beta, scheme=scheme, alpha=alpha)


def tokens(scheme):
    return X if scheme in ("pre", "peri") else weyl(6, 3)


def field(scheme, x, w=W):
    return np.asarray(velocity_of(model_of(scheme), 0.0, jnp.asarray(x), jnp.asarray(w)))


def polar(x):
    r = np.linalg.norm(x, axis=1)
    return r, x / r[:, None]


def read(theta, w=W):
    """A(theta), token by token."""
    return velocity(theta, w, BETA, sphere=False)


def across(theta, v):
    return v - np.sum(theta * v, axis=1)[:, None] * theta


@pytest.mark.parametrize("scheme", SCHEMES)
def test_directions_and_lengths_move_as_the_theory_says(scheme):
    """2.11: dtheta/dt = P_theta A / s, with s = 1, r, r|A|, |A|/alpha; dr/dt = <theta, A> or <theta, A>/|A|."""
    x = tokens(scheme)
    r, theta = polar(x)
    a = read(theta)
    norm = np.linalg.norm(a, axis=1)
    v = field(scheme, x)
    s = {"post": np.ones(6), "pre": r, "peri": r * norm, "ngpt": norm / 0.7}[scheme]
    np.testing.assert_allclose(across(theta, v) / r[:, None], across(theta, a) / s[:, None], rtol=0, atol=1e-13)
    radial = np.sum(theta * a, axis=1)
    expected = {"pre": radial, "peri": radial / norm}.get(scheme, np.zeros(6))
    np.testing.assert_allclose(np.sum(theta * v, axis=1), expected, rtol=0, atol=1e-13)


def test_post_normalisation_is_the_sphere_flow():
    run = af.simulate(model_of("post"), weyl(6, 3), ts=TS, weights=W)
    same = af.simulate(af.SelfAttention(beta=BETA), weyl(6, 3), ts=TS, weights=W)
    np.testing.assert_allclose(run.xs, same.xs, rtol=0, atol=1e-12)
    assert run.clock == same.clock == "SA"


@pytest.mark.parametrize("scheme", ["pre", "peri"])
def test_trajectories_in_polar_coordinates(scheme):
    """The same tokens by SciPy, in r and theta, by the equations of 2.11 alone."""

    def rhs(t, y):
        r, theta = y[:6], y[6:].reshape(6, 3)
        a = read(theta)
        if scheme == "peri":
            a = a / np.linalg.norm(a, axis=1)[:, None]
        return np.concatenate([np.sum(theta * a, axis=1), (across(theta, a) / r[:, None]).ravel()])

    r, theta = polar(X)
    flow = solve_ivp(rhs, (0, 3), np.concatenate([r, theta.ravel()]), "DOP853", t_eval=TS, rtol=1e-12, atol=1e-13)
    expected = flow.y[:6].T[..., None] * flow.y[6:].T.reshape(5, 6, 3)
    run = af.simulate(model_of(scheme), X, ts=TS, weights=W)
    np.testing.assert_allclose(run.xs, expected, rtol=0, atol=1e-7)
    assert run.clock == {"pre": "Pre-LN SA", "peri": "Peri-LN SA"}[scheme]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_symmetries(scheme):
    x, turn, order = tokens(scheme), rotation(3), np.array([3, 0, 5, 1, 4, 2])
    v = field(scheme, x)
    np.testing.assert_allclose(field(scheme, x @ turn.T), v @ turn.T, rtol=0, atol=1e-12)
    np.testing.assert_allclose(field(scheme, x[order], W[order]), v[order], rtol=0, atol=1e-12)
    twice, shares = x.copy(), W.copy()
    twice[5] = twice[4]
    shares[4], shares[5] = W[4] + W[5], 0.0
    np.testing.assert_allclose(field(scheme, twice, shares), field(scheme, twice), rtol=0, atol=1e-12)


def variance(run):
    xs = np.asarray(run.xs)
    theta = xs / np.linalg.norm(xs, axis=-1, keepdims=True)
    return ((theta - theta.mean(axis=1, keepdims=True)) ** 2).sum(axis=-1).mean(axis=1)


CAP = weyl(6, 3) + np.array([2.0, 0.0, 0.0])
CAP = CAP / np.linalg.norm(CAP, axis=1)[:, None]


@pytest.mark.parametrize(("scheme", "rate"), [("post", 2.0), ("ngpt", 1.4)])
def test_exponential_decay(scheme, rate):
    """Near consensus theta_i' = (mean - theta_i)/s with s = 1 and 1/alpha: the variance falls like e^{-2t/s}."""
    run = af.simulate(model_of(scheme), CAP, ts=[0.0, 2.0, 4.0, 6.0, 9.0], weights=W)
    *_, early, late = np.log(variance(run))
    assert (early - late) / 3 == pytest.approx(rate, rel=1e-3)


@pytest.mark.parametrize("scheme", ["pre", "peri"])
def test_algebraic_decay(scheme):
    """Near consensus r' = 1, so s = r = t + const and the variance falls like t^{-2}, for each attention map."""
    for attention in (af.Softmax(beta=BETA), af.Unnormalized(beta=BETA)):
        model = af.models.NormalizedAttention(attention, scheme=scheme)
        run = af.simulate(model, CAP, ts=[0.0, 1.0, 10.0, 1e3, 1e4], weights=W)
        *_, early, late = np.log(variance(run))
        assert (early - late) / np.log(10) == pytest.approx(2.0, rel=2e-3)
        speed = np.exp(BETA) if scheme == "pre" and isinstance(attention, af.Unnormalized) else 1.0
        np.testing.assert_allclose(np.linalg.norm(run.xs[-1], axis=1) / 1e4, speed, rtol=2e-3)


def test_alpha_may_change_with_time():
    halves = af.Piecewise([1.0], [0.5, 1.5])
    run = af.simulate(model_of("ngpt", alpha=halves), CAP, ts=[0.0, 1.0, 2.0], weights=W)
    slow = af.simulate(model_of("ngpt", alpha=0.5), CAP, ts=np.linspace(0, 1, 5), weights=W)
    fast = af.simulate(model_of("ngpt", alpha=1.5), slow.xs[-1], ts=np.linspace(0, 1, 5), weights=W)
    np.testing.assert_allclose(run.xs[1], slow.xs[-1], rtol=0, atol=1e-8)
    np.testing.assert_allclose(run.xs[2], fast.xs[-1], rtol=0, atol=1e-8)


def test_a_token_at_the_origin_and_a_single_precision_cloud():
    x = np.concatenate([np.zeros((1, 3)), X[1:]])
    assert np.isfinite(field("pre", x)).all() and np.isfinite(field("peri", x)).all()
    single = velocity_of(model_of("ngpt"), 0.0, jnp.asarray(weyl(6, 3), jnp.float32), jnp.asarray(W, jnp.float32))
    assert single.dtype == jnp.float32


def test_runs_are_saved_and_models_registered(tmp_path):
    run = af.simulate(model_of("peri"), X, ts=TS, weights=W)
    run.save(tmp_path / "run.nc")
    again = af.load(tmp_path / "run.nc")
    assert again.model.scheme == "peri" and again.clock == run.clock
    np.testing.assert_array_equal(again.xs, run.xs)
    for name, space in (("post-ln", "sphere"), ("pre-ln", "euclidean"), ("peri-ln", "euclidean"), ("ngpt", "sphere")):
        entry = registry.get("model", name)
        built = entry.factory(attention=af.Softmax(beta=1.0))
        assert entry.spaces == (space,) == (built.space.name,)


def test_refusals():
    with pytest.raises(InputError, match="scheme 'mix' is unknown; choose one of post, pre, peri, ngpt"):
        af.models.NormalizedAttention(beta=1.0, scheme="mix")
    with pytest.raises(InputError, match="give an attention map, or beta"):
        af.models.NormalizedAttention(scheme="pre")
    with pytest.raises(InputError, match="alpha = -1 is negative"):
        model_of("ngpt", alpha=-1.0)
    with pytest.raises(InputError, match="take a square V"):
        af.models.field(
            af.models.NormalizedAttention(af.Softmax(beta=1.0, V=np.ones((2, 3)))), 0.0, jnp.asarray(weyl(6, 3))
        )
