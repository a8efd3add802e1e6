"""The exponential of the pair sums, which is written out in float32."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import attnflow as af
from attnflow.flows import compiled
from attnflow.flows._trailing_vmap import trailing_vmap
from attnflow.pairsums._exponential import exp


def test_right_to_the_last_digits_of_float32():
    x = np.concatenate([-np.linspace(0, 87.2, 400_001), np.linspace(0, 3, 1001), -np.geomspace(1e-30, 1, 1001)])
    x = x.astype(np.float32)
    for program in (jax.jit(exp), exp):  # as a whole, and one operation after the other
        ours = np.asarray(program(jnp.asarray(x)), np.float64)
        assert np.max(np.abs(ours / np.exp(x.astype(np.float64)) - 1)) < 2e-7


@pytest.mark.parametrize("x, expected", [(0.0, 1.0), (-0.0, 1.0), (-np.inf, 0.0), (-1e30, 0.0), (-100.0, 0.0)])
def test_exact_where_the_sums_rely_on_it(x, expected):
    assert float(jax.jit(exp)(jnp.float32(x))) == expected


def test_not_a_number_stays_one():
    assert np.isnan(float(jax.jit(exp)(jnp.float32(np.nan))))


def test_never_decreases():
    x = np.nextafter(np.float32(-1), np.float32(0)) * np.linspace(0, 60, 200_001, dtype=np.float32)
    assert np.all(np.diff(np.asarray(exp(jnp.asarray(x)))) <= 2e-7 * np.exp(x[1:]))


def test_its_own_derivative_in_both_modes_and_twice():
    x = jnp.asarray([-3.0, -0.1, 0.0, -jnp.inf, -200.0], jnp.float32)
    np.testing.assert_array_equal(jax.vmap(jax.grad(exp))(x), exp(x))
    np.testing.assert_array_equal(jax.vmap(jax.grad(jax.grad(exp)))(x), exp(x))
    np.testing.assert_array_equal(jax.jvp(exp, (x,), (jnp.ones_like(x),))[1], exp(x))


def test_float64_is_left_to_xla():
    x = jnp.asarray([-3.0, -700.0], jnp.float64)
    np.testing.assert_array_equal(exp(x), jnp.exp(x))


def test_over_a_trailing_axis():
    x = jnp.linspace(-5, 0, 24, dtype=jnp.float32).reshape(2, 3, 4)
    np.testing.assert_array_equal(trailing_vmap(exp, (x,), (True,)), exp(x))


@pytest.mark.parametrize("d", [2, 16])
def test_a_step_takes_each_exponential_once(d):
    """What is written out looks cheap to the compiler, which might repeat it in every sum that reads it."""
    if compiled.compiler_options() == {}:
        pytest.skip("written out on a processor only")
    af.ensemble(
        af.SelfAttention(beta=3.0),
        lambda key: af.sphere.uniform(n=12, d=d, key=key),
        realizations=64,
        ts=[0.1],
        reduce=af.flows.LastState(),
        key=jax.random.key(0),
        solver="euler-retract",
        dtype=jnp.float32,
        engine="innermost" if d <= 8 else "batched",
    )
    program = next(v.value for k, v in reversed(compiled._PROGRAMS.items()) if k[1].__name__ == "_portion")
    # In few dimensions the program has two ways to sum, with a bound and with a maximum.
    written_out = re.findall(r" s32\[[\d,]*12,12[\d,]*\]\S* shift-left\(", program.as_text())
    assert len(written_out) == (2 if d <= 8 else 1)
