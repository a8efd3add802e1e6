"""Blocked sums: every cut of queries and keys gives the dense result, in memory proportional to the tokens."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import attnflow as af
from attnflow.pairsums import Hardmax, Inner, Inputs, Problem, SquaredDistance, as_reduction
from attnflow.pairsums.engines.blocked import blocked_sums
from attnflow.pairsums.engines.dense import dense_sums

REDUCTIONS = {"softmax": "softmax", "sigmoid": jax.nn.sigmoid, "hardmax": Hardmax(0.05)}


# One token, tiles that fit and tiles that do not, one tile for all queries; few, since each is compiled.
CUTS = [
    # n, m, tile, reduction, causal, by difference, weighted
    (1, 1, (1, 1), "softmax", False, False, True),
    (7, 5, (3, 2), "softmax", True, False, True),
    (7, 5, (3, 2), "hardmax", False, True, False),
    (6, 8, (3, 4), "sigmoid", True, True, True),
    (6, 8, (3, 4), "softmax", False, True, False),
    (3, 10, (6, 4), "hardmax", True, False, True),
    (3, 10, (6, 4), "sigmoid", False, False, True),
]


@pytest.mark.parametrize("n, m, tile, name, causal, by_difference, weighted", CUTS)
def test_any_cut_equals_the_dense_sum(n, m, tile, name, causal, by_difference, weighted) -> None:
    reduction, selection = as_reduction(REDUCTIONS[name])
    pairs = af.Causal(slope=0.1, at=np.arange(n)) if causal else af.pairsums.Full()

    @jax.jit
    def both(beta, x, y, v, log_w):
        score = SquaredDistance(beta, by_difference=True) if by_difference else Inner(beta)
        problem = Problem(n, m, 3, 2, 3, x.dtype, score, reduction, selection, pairs)
        inputs = Inputs(x, y, score.project(x, y), v, log_w if weighted else None)
        return dense_sums(problem, inputs), blocked_sums(problem, inputs, tile)

    rng = np.random.default_rng(n)
    for beta in (0.0, 1.0, 1e4) * 4:
        x, y, v = (jnp.asarray(rng.standard_normal(s)) for s in ((n, 3), (m, 3), (m, 2)))
        log_w = np.log(rng.random(m))
        log_w[rng.random(m) < 0.3] = -np.inf
        expected, actual = both(jnp.asarray(beta), x, y, v, jnp.asarray(log_w))
        for g, w in zip(actual, expected, strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-11, atol=1e-12)


def temporary_bytes(transform, n: int) -> int:
    def attend(x):
        return af.pairsums.pair_sums(Inner(9.0), x, x, x, kernel="blocked")[0]

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
