"""Tokens against Gaussian laws, arXiv:2501.18322; theory/04, rows P2, P9 (a score of rank one), P15, P16.

The claims of the experiments are judged by `attnflow reproduce`. Tokens move here by a few steps of Runge and Kutta's
method in NumPy, so that one evaluation of each map is all there is to compile.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import attnflow as af
from attnflow.experiments.unified import behaviours, closures
from attnflow.experiments.unified.base_case import ALPHA, AT_ONE, SIGMA, K, Q, V, base_map
from attnflow.experiments.unified.closures.claims import SIGMOID_ROWS

L = np.linalg.cholesky(np.array(SIGMA))
velocity = eqx.filter_jit(lambda attention, x: attention(x, x))
closed = eqx.filter_jit(lambda attention, alpha, L: attention.gaussian(alpha, L))


def moved(attention, x, t, steps):
    """The cloud after every step."""
    h, path = t / steps, [x]

    def field(x):
        return np.asarray(velocity(attention, jnp.asarray(x)))

    for _ in range(steps):
        a = field(x)
        b = field(x + h / 2 * a)
        c = field(x + h / 2 * b)
        x = x + h / 6 * (a + 2 * b + 2 * c + field(x + h * c))
        path.append(x)
    return np.stack(path)


def law_at(attention, alpha, factor, t, **options):
    """Mean and covariance of the closed, or projected, equation by SciPy."""
    shape = np.column_stack([alpha, factor]).shape

    def rhs(t, y):
        result = closed(attention, *map(jnp.asarray, (y.reshape(shape)[:, 0], y.reshape(shape)[:, 1:])))
        return np.column_stack([result.c, result.GL]).ravel()

    y = solve_ivp(rhs, (0, t), np.column_stack([alpha, factor]).ravel(), **options).y[:, -1].reshape(shape)
    return y[:, 0], y[:, 1:] @ y[:, 1:].T


def entries(mean, covariance):
    return np.array([*mean, covariance[0, 0], covariance[0, 1], covariance[1, 1]])


@pytest.mark.parametrize("name", AT_ONE)
def test_tokens_follow(name):
    """P2, with fewer tokens than its tolerances allow."""
    x = moved(
        base_map(name, tol=1e-7), af.gaussian.cloud(512, ALPHA, SIGMA, key=jax.random.key(closures.SCRAMBLE)), 1.0, 4
    )[-1]
    off = np.abs(entries(x.mean(axis=0), np.cov(x.T, bias=True)) - AT_ONE[name])
    mean, covariance = (2e-4, 2e-4) if name in ("Sinkhorn", "linear") else (2e-3, 4e-3)
    assert off[:2].max() < mean and off[2:].max() < covariance


def test_sinkhorn_with_a_score_of_rank_one():
    """P9: the linear map of the closure, against that fitted to the velocities of tokens."""
    attention = af.Sinkhorn(Q=np.outer((0.6, -0.4), (0.5, 0.3)), K=np.eye(2), V=np.array(V), tol=1e-7)
    x = af.gaussian.cloud(512, ALPHA, SIGMA, key=jax.random.key(closures.SCRAMBLE))
    seen = np.asarray(velocity(attention, jnp.asarray(x)))
    fitted = np.linalg.lstsq(np.column_stack([x - ALPHA, np.ones(len(x))]), seen, rcond=None)[0][:2].T
    G = np.asarray(closed(attention, jnp.asarray(ALPHA), jnp.asarray(L)).GL) @ np.linalg.inv(L)
    assert np.abs(fitted - G).max() < 5e-4


def test_finitely_many_tokens_near_a_blow_up():
    """P15: a = v = 1 from the standard normal law, whose variance 1/(1 - 2t) is infinite at t = 1/2."""
    path = moved(af.Softmax(), af.gaussian.midpoints(2048)[:, None], 0.6, 6)
    expected = [1.2350, 1.5854, 2.1167, 2.9242, 4.1407, 5.9468]
    np.testing.assert_allclose(path[1:, :, 0].var(axis=1), expected, rtol=1e-3)


# Mean, variance and excess kurtosis of the tokens; mean and variance of the projection; steps up to the final time.
SIGMOID = [
    (0, (0.0, 1.4863, -0.354), (0.0, 1.4727), 2),
    (1, (0.0, 2.4784, -0.772), (0.0, 2.3424), 4),
    (2, (0.0, 3.5014, -1.246), (0.0, 2.9630), 5),
    (3, (0.6345, 0.6306, 0.531), (0.6307, 0.6124), 4),
]


@pytest.mark.parametrize(("row", "tokens", "projected", "steps"), SIGMOID)
def test_sigmoid_attention_on_the_line(row, tokens, projected, steps):
    """P16."""
    a, b, alpha, t = SIGMOID_ROWS[row]
    attention = af.Sigmoid(abs(a), bias=b, B=[[np.sign(a)]])
    z = af.gaussian.midpoints(2048)
    x = moved(attention, (alpha + z / z.std())[:, None], t, steps)[-1, :, 0]
    assert [x.mean(), x.var()] == pytest.approx(tokens[:2], abs=1e-3)
    assert np.mean((x - x.mean()) ** 4) / x.var() ** 2 - 3 == pytest.approx(tokens[2], abs=0.03)
    mean, covariance = law_at(attention, [alpha], [[1.0]], t, rtol=1e-6)
    assert [mean[0], covariance[0, 0]] == pytest.approx(projected, abs=1e-3)


def test_sigmoid_attention_in_the_base_case():
    """The projection at t = 1, from the table's page; theory/04, 2.4."""
    attention = af.Sigmoid(Q=np.array(Q), K=np.array(K), V=np.array(V))
    actual = entries(*law_at(attention, ALPHA, L, 1.0, rtol=1e-4))
    np.testing.assert_allclose(actual, [0.43069, -0.16358, 1.07837, 0.33843, 0.74620], atol=1e-4)


@pytest.mark.parametrize("module", [closures, behaviours])
def test_full_is_more_than_quick(module):
    quick, full = module.EXPERIMENT.cells("quick"), module.EXPERIMENT.cells("full")
    assert {cell["part"] for cell in quick} == {cell["part"] for cell in full} and len(full) >= len(quick)
