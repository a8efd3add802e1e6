"""Blocked sums: every cut of queries and keys gives the dense result, in memory proportional to the tokens."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import attnflow as af
from attnflow.pairsums import Hardmax, Inner, SquaredDistance
from attnflow.pairsums._blocked import blocked_sums
from attnflow.pairsums._dense import dense_sums
from attnflow.pairsums._reductions import as_reduction

REDUCTIONS = {"softmax": "softmax", "sigmoid": jax.nn.sigmoid, "hardmax": Hardmax(0.05)}


# Few shapes, since each is compiled: one token, tiles that fit and tiles that do not, one tile for all.
@settings(max_examples=24, deadline=None)
@given(
    shape=st.sampled_from([(1, 1, (1, 1)), (7, 5, (3, 2)), (6, 8, (3, 4)), (3, 10, (6, 4))]),
    beta=st.sampled_from([0.0, 1.0, 1e4]),
    padded=st.booleans(),
    causal=st.booleans(),
    by_difference=st.booleans(),
    seed=st.integers(0, 99),
)
def test_any_cut_equals_the_dense_sum(shape, beta, padded, causal, by_difference, seed) -> None:
    n, m, tile = shape
    rng = np.random.default_rng(seed)
    x, y, v = (jnp.asarray(rng.standard_normal(s)) for s in ((n, 3), (m, 3), (m, 2)))
    log_w = np.log(rng.random(m))
    log_w[rng.random(m) < 0.3] = -np.inf
    score = SquaredDistance(beta, by_difference=True) if by_difference else Inner(beta)
    pairs = af.Causal(slope=0.1, at=np.arange(n)) if causal else af.Full()
    given_w = jnp.asarray(log_w) if padded else None
    part = score.project(x, y)
    for reduce in REDUCTIONS.values():
        reduction, selection = as_reduction(reduce)
        with jax.disable_jit():  # a loop would be compiled anew for every example
            want = dense_sums(score, part, v, given_w, pairs, reduction, selection)
            got = blocked_sums(score, part, v, given_w, pairs, reduction, selection, tile)
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-11, atol=1e-12)


def temporary_bytes(transform, n: int) -> int:
    def attend(x):
        return af.pair_sums(Inner(9.0), x, x, x, kernel="blocked")[0]

    x = jax.ShapeDtypeStruct((n, 3), jnp.float64)
    return jax.jit(transform(attend)).lower(x).compile().memory_analysis().temp_size_in_bytes


TRANSFORMS = {
    "forward": lambda f: f,
    "reverse": lambda f: jax.grad(lambda x: jnp.sum(f(x) ** 2)),
    "jvp": lambda f: lambda x: jax.jvp(f, (x,), (x,)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_memory_is_proportional_to_the_tokens(name: str) -> None:
    small, large = (temporary_bytes(TRANSFORMS[name], n) for n in (1 << 14, 1 << 17))
    tiles = 3 * 8 * 512 * 1024  # a few tiles of scores, whatever n is
    assert small < tiles + 200 * (1 << 14)
    assert large < tiles + 200 * (1 << 17), "an n-by-n array would need 137 GB here"


def test_two_hundred_thousand_tokens_compile_without_a_square() -> None:
    assert temporary_bytes(TRANSFORMS["forward"], 200_000) < 50e6
