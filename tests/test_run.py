"""The properties that every run has, whichever function made it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import attnflow as af
from attnflow.errors import InputError

KEY = jax.random.key(3)
X0 = af.sphere.uniform(n=5, d=3, key=KEY)
FLAT = jax.random.normal(KEY, (5, 2))
WEIGHTS = jnp.asarray([0.1, 0.2, 0.3, 0.4, 0.0])

FLAT_MODEL = af.SelfAttention(beta=1.0, space=af.Euclidean())

RUNS = {
    "tsit5": lambda: af.simulate(af.SelfAttention(beta=2.0), X0, t1=1.0, save=4),
    "rk4": lambda: af.simulate(af.SelfAttention(beta=2.0), X0, weights=WEIGHTS, t1=1.0, save=3, solver="rk4", dt=0.1),
    "layers": lambda: af.simulate(af.SelfAttention(beta=2.0), X0, t1=1.0, save=3, solver="layers", dt=0.1),
    "hardmax": lambda: af.simulate(af.HardmaxLayers(alpha=1.0), FLAT, t1=4, solver="layers", dt=1.0, save=3),
    "long": lambda: af.long_time(af.SelfAttention(beta=4.0), X0, points=9),
    "gaussian": lambda: af.gaussian.flow(af.Softmax(0.1), jnp.ones(2), Sigma0=jnp.eye(2), t1=0.4, save=3),
    "rescaled": lambda: af.rescaled(af.simulate(FLAT_MODEL, FLAT, t1=0.5, save=3)),
}


@pytest.mark.parametrize("name", RUNS)
def test_what_a_run_offers(name):
    run = RUNS[name]()
    T, n, d = run.xs.shape
    assert (run.n, run.d) == (n, d)
    assert np.array_equal(run.final, run.xs[T - 1])
    expected = np.full(n, 1 / n) if run.weights is None else run.weights
    assert run.masses.shape == (n,) and np.allclose(run.masses, expected, rtol=1e-15)
    assert run.ok and run.result is af.Outcome.SUCCESSFUL
    for k in range(T):
        assert np.array_equal(run.at(float(run.ts[k])), run.xs[k]) or run.log_ts is not None
    if run.log_ts is not None:
        assert np.array_equal(run.at(log_t=float(run.log_ts[1])), run.xs[1])
    with pytest.raises(InputError, match="outside of this run"):
        run.at(float(run.ts[-1]) + 1.0)


def test_a_run_that_ended_early_is_not_ok():
    run = af.simulate(af.SelfAttention(beta=2.0), X0, t1=50.0, max_steps=2, throw=False)
    assert not run.ok and run.result is af.Outcome.MAX_STEPS


def test_a_batch_of_runs():
    starts = jnp.stack([X0, -X0])
    batch = jax.vmap(lambda x: af.simulate(af.SelfAttention(beta=1.0), x, t1=0.2, save=2, solver="rk4", dt=0.1))(starts)
    assert (batch.n, batch.d, batch.ok) == (5, 3, True)
    assert batch.final.shape == (2, 5, 3) and np.array_equal(batch.final, batch.xs[:, -1])


def test_masses_and_the_last_state_inside_jit():
    def centre(x):
        run = af.simulate(af.SelfAttention(beta=1.0), x, t1=0.2, save=2, solver="rk4", dt=0.1)
        return run.masses @ run.final

    assert np.allclose(jax.jit(centre)(X0), centre(X0), atol=1e-12)
