"""A map unknown to the library gets every feature that its declared score, values and reduction qualify it for."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import attnflow as af
from attnflow.app import theory
from attnflow.errors import InputError
from attnflow.pairsums import AbstractPairs, Hardmax, Inner, Total

BETA = 4.0
X = af.sphere.uniform(n=6, d=3, key=jax.random.key(3))
W = jnp.asarray(np.random.default_rng(3).dirichlet(np.ones(6)))


class Plain(af.attention.AbstractAttention):
    """Softmax attention, or with `slower` the unnormalised map on a clock that is slower by a factor."""

    beta: jax.Array
    slower: float | None = eqx.field(static=True, default=None)

    @property
    def clock(self):
        return "own"

    @property
    def V(self):
        return None

    @property
    def score(self):
        return Inner(self.beta)

    @property
    def reduce(self):
        return "softmax" if self.slower is None else Total(shift=self.beta, factor=1 / self.slower)


SOFT, SLOW = Plain(jnp.asarray(BETA)), Plain(jnp.asarray(BETA), 8.0)


def test_capabilities_of_the_house():
    """Which of the maps of the library are what, in the words of the papers."""
    maps = {
        "softmax": (af.Softmax(2.0), "exponential row_stochastic isotropic continuous"),
        "usa": (af.Unnormalized(2.0), "exponential isotropic continuous"),
        "matrix": (af.Softmax(2.0, B=np.diag([1.0, 2.0])), "exponential row_stochastic continuous"),
        "l2": (af.L2(1.0), "exponential row_stochastic isotropic continuous"),
        "sinkhorn": (af.Sinkhorn(2.0), "row_stochastic isotropic continuous"),
        "hardmax": (af.Hardmax(), "row_stochastic isotropic"),
        "sigmoid": (af.Sigmoid(2.0), "isotropic continuous"),
        "linear": (af.Linear(2.0), "isotropic continuous"),
        "heads": (af.MultiHead([af.Softmax(2.0)] * 2), "isotropic continuous"),
    }
    for name, (attention, expected) in maps.items():
        flags = ("exponential", "row_stochastic", "isotropic", "continuous")
        assert " ".join(flag for flag in flags if getattr(attention, flag)) == expected, name


def test_rows_of_row_stochastic_maps_sum_to_one():
    for attention in (af.Softmax(2.0), af.L2(1.0), af.Sinkhorn(2.0), af.Hardmax(), SOFT):
        matrix = attention.matrix(X, attention.log_weights(X, W))
        np.testing.assert_allclose(matrix.sum(axis=1), 1, rtol=1e-9)
    for attention in (af.Unnormalized(2.0), af.Sigmoid(2.0), af.Linear(2.0), SLOW):
        assert abs(attention.matrix(X, attention.log_weights(X, W)).sum(axis=1) - 1).max() > 1e-2


def test_the_velocity_and_the_matrix_follow():
    scores = BETA * np.asarray(X) @ np.asarray(X).T
    weights = np.exp(scores) * np.asarray(W)
    np.testing.assert_allclose(SOFT(X, X, W), weights @ X / weights.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(SLOW(X, X, W), np.exp(-BETA) / 8 * weights @ X, rtol=1e-12)
    np.testing.assert_allclose(SLOW.matrix(X, jnp.log(W)), np.exp(-BETA) / 8 * weights, rtol=1e-12)
    np.testing.assert_allclose(SLOW.matrix(X, jnp.log(W), log=True), scores - BETA - np.log(8) + np.log(W), rtol=1e-12)


def test_long_times_use_a_slower_clock():
    """Eight times as slow as the shifted map: every merge comes eight times as late."""
    pair = af.sphere.on_circle(np.array([0.0, 0.1, 2.0]))
    slow, known = (af.long_time(af.SelfAttention(a), pair) for a in (SLOW, af.Unnormalized(BETA, shifted=True)))
    ratio = [a["log_t"] - b["log_t"] for a, b in zip(slow.events, known.events, strict=True)]
    np.testing.assert_allclose(ratio, np.log(8), rtol=1e-9)


@pytest.mark.parametrize("own, known", [(SOFT, af.Softmax(BETA)), (SLOW, af.Unnormalized(BETA, shifted=True))])
def test_engines_take_it(own, known):
    """Spectral sums in a run, and trajectories of an ensemble by the kernel for this processor."""
    cloud = af.sphere.uniform(n=2000, d=2, key=jax.random.key(0))
    run = af.simulate(af.SelfAttention(own), cloud, t1=0.01, save=1, rtol=1e-6)
    assert run.provenance["options"]["kernel"].startswith("spectral")
    options = {"realizations": 4, "key": jax.random.key(0), "reduce": af.flows.LastState(), "dt": 0.1}
    sampler = lambda key: af.sphere.uniform(n=9, d=3, key=key)  # noqa: E731
    factor = 8.0 if own is SLOW else 1.0
    ends = [
        af.ensemble(af.SelfAttention(a), sampler, ts=[0.4 * f], **(options | {"dt": 0.1 * f})).values
        for a, f in ((own, factor), (known, 1.0))
    ]
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-12)


def test_the_energy_is_derived():
    """That of the paper, in the metric of the map: its rate is that of differences."""
    for attention in (SOFT, SLOW):
        run = af.simulate(af.SelfAttention(attention), X, ts=[0.0, 1e-4, 2e-4], weights=W, rtol=1e-12, atol=1e-14)
        energy = np.asarray(af.energy(run))
        assert af.diagnostics.dissipation(run)[1] == pytest.approx((energy[2] - energy[0]) / 2e-4, rel=1e-5)
    with pytest.raises(InputError, match="declares no energy"):
        af.Hardmax().energy(af.Sphere())


def test_growth_in_space_and_curves_of_the_page():
    model = af.SelfAttention(SOFT, space=af.Euclidean())
    np.testing.assert_array_equal(model.linear_part(3), np.eye(3))
    assert af.SelfAttention(SLOW, space=af.Euclidean()).linear_part(3) is None
    assert theory.exact(af.SelfAttention(SOFT)) and theory.exact(af.SelfAttention(SLOW))
    assert not theory.exact(af.SelfAttention(af.Softmax(BETA, V=-np.eye(3))))


class Best(Plain):
    """The best key alone, at no temperature."""

    @property
    def reduce(self):
        return Hardmax(0.0)


def test_kernels_take_a_selection_of_keys():
    """Of trajectories on a GPU, which is interpreted here."""
    hard = af.SelfAttention(Best(jnp.asarray(BETA)))
    sampler = lambda key: af.sphere.uniform(n=5, d=2, key=key).astype(jnp.float32)  # noqa: E731
    options = {"realizations": 2, "key": jax.random.key(0), "reduce": af.flows.LastState(), "dt": 0.1, "ts": [0.2]}
    ends = [af.ensemble(hard, sampler, engine=engine, **options).values for engine in ("fused", "batched")]
    np.testing.assert_allclose(ends[0], ends[1], rtol=0, atol=1e-6)
    assert not hard.attention.exponential and not hard.attention.continuous


class Everyone(AbstractPairs):
    """All pairs, in a class of its own."""

    normalized: bool = eqx.field(static=True, default=False)

    @property
    def complete(self):
        return True

    def logit(self, i, j, n, m):
        return None

    def log_weight(self, i, j, n, m):
        return None


def test_pairs_qualify_by_what_they_declare():
    """For long times, energies, the growth in space, densities and the curves of the page."""
    model, known = (af.SelfAttention(af.Softmax(BETA), pairs=pairs) for pairs in (Everyone(), None))
    assert theory.exact(model) and model.energy().value(X, W) == known.energy().value(X, W)
    assert af.long_time(model, X[:3]).events == af.long_time(known, X[:3]).events
    assert af.SelfAttention(SOFT, af.Euclidean(), Everyone()).linear_part(3) is not None
    options = {"density": lambda angle: 1 + 0.1 * jnp.cos(angle), "cells": 16, "t1": 0.1, "save": 1}
    laws = [af.reductions.mean_field(m, **options).masses for m in (model, known)]
    np.testing.assert_array_equal(*laws)


class Own(af.models.AbstractModel):
    """Tokens that read their attention map, in a class of its own."""

    attention: af.attention.AbstractAttention
    pairs: AbstractPairs = Everyone()
    space: af.Sphere = af.Sphere()

    @property
    def clock(self):
        return self.attention.clock

    @property
    def attention_alone(self):
        return True

    def force(self, t, x, weights, *, key=None, kernel="auto", state=None):
        return self.attention(x, x, weights, pairs=self.pairs, kernel=kernel, state=state)


def test_models_qualify_by_what_they_declare():
    """For long times, kernels of trajectories and laws on a grid."""
    model, known = Own(af.Softmax(BETA)), af.SelfAttention(beta=BETA)
    assert af.long_time(model, X[:3]).events == af.long_time(known, X[:3]).events
    sampler = lambda key: af.sphere.uniform(n=9, d=3, key=key)  # noqa: E731
    options = {"realizations": 4, "key": jax.random.key(0), "reduce": af.flows.LastState(), "dt": 0.1, "ts": [0.2]}
    np.testing.assert_array_equal(*(np.asarray(af.ensemble(m, sampler, **options).values) for m in (model, known)))
    law = {"density": lambda angle: 1 + 0.1 * jnp.cos(angle), "cells": 16, "t1": 0.1, "save": 1}
    masses = [af.reductions.mean_field(m, **law).masses for m in (model, known)]
    np.testing.assert_array_equal(*masses)


class Looking(af.models.AbstractModel):
    """Layers of hardmax attention with a diagonal matrix, in a class of its own."""

    B: jax.Array
    tie_tol: jax.Array
    merge_tol: None = None
    space: af.Euclidean = af.Euclidean()
    clock: str = eqx.field(static=True, default="layers")
    has_leaders: bool = eqx.field(static=True, default=True)

    def rate(self, t, dtype):
        return jnp.asarray(1 / 3, dtype)

    def queries(self, t, x):
        return x * jnp.diag(self.B)[None, :]

    def force(self, t, x, weights, *, key=None, kernel="auto"):
        raise NotImplementedError


def test_layers_qualify_by_what_they_declare():
    """For their run, its attention matrices, going on, and the certificate of its limit."""
    B = jnp.diag(jnp.array([2.0, 1.0]))
    x = af.models.hardmax_cloud("emerge")
    models = Looking(B, jnp.zeros(())), af.HardmaxLayers(0.5, B)
    runs = [af.simulate(model, x, t1=20, solver="layers").restart(60) for model in models]
    np.testing.assert_allclose(runs[0].xs, runs[1].xs, atol=1e-12)
    matrices = [af.attention_matrix(run, at=-1) for run in runs]
    np.testing.assert_array_equal(*(np.asarray(a) for a in matrices))
    assert repr(af.diagnostics.hardmax_limit(runs[0])) == repr(af.diagnostics.hardmax_limit(runs[1]))


class Halved(af.Softmax):
    """Softmax attention at half the speed, in a call of its own."""

    def __call__(self, *cloud, **options):
        return super().__call__(*cloud, **options) / 2


class Pulled(af.SelfAttention):
    """Self-attention and a pull to the first axis, in a force of its own."""

    def force(self, t, x, w, **options):
        return super().force(t, x, w, **options) + jnp.eye(1, x.shape[1])


@pytest.mark.parametrize("model", [af.SelfAttention(Halved(BETA)), Pulled(beta=BETA)])
def test_an_overridden_velocity_is_never_replaced(model):
    """No kernel, series or reduced equation stands in for a call, or a force, that was written anew."""
    assert not theory.exact(model)
    with pytest.raises(InputError, match="take simulate"):
        af.long_time(model, X)
    sampler = lambda key: af.sphere.uniform(n=9, d=3, key=key)  # noqa: E731
    options = {"realizations": 2, "key": jax.random.key(0), "reduce": af.flows.LastState(), "dt": 0.1}
    ends = af.ensemble(model, sampler, ts=[0.4], **options).values
    for r, end in enumerate(ends):
        start = sampler(jax.random.fold_in(options["key"], r))
        run = af.simulate(model, start, t1=0.4, save=1, solver="rk4", dt=0.1)
        np.testing.assert_allclose(end, run.xs[-1], rtol=1e-12, atol=1e-14)
