"""`trailing_vmap` is `jax.vmap` over the last axis, with that axis innermost in what the compiler makes of it."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import attnflow as af
from attnflow.flows._trailing_vmap import trailing_vmap

N, D, R = 6, 2, 5

FUNCTIONS = {
    "elementwise": lambda x: jnp.exp(x) * 2.0 + jnp.where(x > 0, x, 1.0) - jnp.maximum(x, 0.3),
    "broadcast": lambda x: x[:, None, :] - x[None, :, :],
    "reduce": lambda x: jnp.sum(x, axis=0) + jnp.max(x, axis=0) + jnp.cumsum(x, axis=0)[1],
    "scalar": lambda x: jnp.sum(x) / x.size,
    "argmax": lambda x: jnp.argmax(x, axis=0),
    "transpose": lambda x: x.T.reshape(D, 2, N // 2),
    "concatenate": lambda x: jnp.concatenate([x, jnp.ones((1, D)), 2 * x], axis=0),
    "matmul": lambda x: x @ x.T,
    "gather and sort": lambda x: jnp.sort(x[jnp.array([2, 0, 1])], axis=0),
    "scan": lambda x: jax.lax.scan(lambda c, row: (c + row, c * row), jnp.zeros(D), x)[1],
    "custom rule": lambda x: jax.nn.logsumexp(jax.nn.relu(x), axis=0) + jax.nn.silu(x)[0],
    "same branch for all": lambda x: jax.lax.cond(jnp.asarray(True), lambda y: 2 * y, lambda y: -y, x),
    "branch by member": lambda x: jax.lax.cond(jnp.sum(x) > 0, lambda y: 2 * y, lambda y: -y, x),
    "switch by member": lambda x: jax.lax.switch(
        jnp.sum(x > 0).astype(int) % 3, [lambda y: 2 * y, lambda y: -y, lambda y: y**2], x
    ),
    "constant result": lambda x: (x, jnp.arange(3.0)),
    "checkpoint": jax.checkpoint(lambda x: jnp.tanh(x) ** 2),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_equals_vmap(name: str, key: jax.Array) -> None:
    fn = FUNCTIONS[name]
    x = jax.random.normal(key, (N, D, R))
    actual = jax.jit(lambda x: trailing_vmap(fn, (x,), (True,)))(x)
    expected = jax.vmap(fn, in_axes=-1, out_axes=-1)(x)
    for g, w in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        assert g.shape == w.shape
        np.testing.assert_allclose(g, w, rtol=1e-13, atol=1e-13)


def test_arguments_that_are_not_batched(key: jax.Array) -> None:
    x, a = jax.random.normal(key, (N, D, R)), jnp.arange(1.0, D + 1)
    actual = trailing_vmap(lambda x, a: x * a[None, :], (x, a), (True, False))
    np.testing.assert_allclose(actual, x * a[None, :, None], rtol=1e-15)


def test_every_branch_by_member_is_right_when_all_agree() -> None:
    x = jnp.ones((N, D, R))
    actual = jax.jit(lambda x: trailing_vmap(FUNCTIONS["branch by member"], (x,), (True,)))(x)
    np.testing.assert_array_equal(actual, 2 * x)


def test_realisations_are_innermost_in_the_compiled_step() -> None:
    model = af.SelfAttention(beta=jnp.float32(9))
    x = jnp.ones((8, 2, 64), jnp.float32)

    def step(x: jax.Array) -> jax.Array:
        return model.space.retract(x, jnp.float32(0.1) * model.force(0.0, x, None, kernel="broadcast"))

    text = jax.jit(lambda x: trailing_vmap(step, (x,), (True,))).lower(x).compile().as_text()
    layouts = re.findall(r"f32\[8,8,64\]\{([\d,]+)\}", text)
    assert layouts and all(layout == "2,1,0" for layout in layouts), layouts
    assert not re.findall(r"f32\[64,8,8\]", text)  # nowhere is the axis of realisations moved to the front
