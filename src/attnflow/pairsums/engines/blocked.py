"""The blocked engine: memory proportional to the number of tokens, forward, reverse and `jvp`.

Queries go through `lax.map` in tiles; for each tile the keys are scanned in tiles, with sums kept relative to a bound
of the scores, or where there is none to a running row maximum. The loops are checkpointed, so that differentiation
stores carries and recomputes exponentials. There is no custom derivative rule here: it would end forward mode and
implicit solvers.
"""

import jax
import jax.numpy as jnp

from .._bounded import upper_bound
from .._engine import AbstractPairSumEngine, Inputs, Problem
from .._reductions import Sums, finite
from .._scores import Projected
from .._tiles import cut, tile_logits, tile_sums

# Tiles of this size keep the scores of a tile in the second-level cache of a core and its matrix products large; a GPU
# is filled by larger ones.
QUERIES, KEYS = 512, 1024
GPU_QUERIES, GPU_KEYS = 4096, 8192


class Blocked(AbstractPairSumEngine):
    """Tile by tile."""

    name = "blocked"

    def cost(self, problem: Problem) -> float:
        return problem.xla_seconds * (2 if problem.small else 1)

    def run(self, problem: Problem, inputs: Inputs) -> Sums:
        return blocked_sums(problem, inputs)


ENGINE = Blocked()


def blocked_sums(problem: Problem, inputs: Inputs, tile_size: tuple[int, int] | None = None) -> Sums:
    """`(num, log_z)` tile by tile."""
    score, pairs, reduction, selection = problem.summed
    tile, values, log_w = inputs.tile, inputs.values, inputs.log_w
    n, m = tile.queries.shape[0], problem.m
    if tile_size is None:
        tile_size = (GPU_QUERIES, GPU_KEYS) if jax.default_backend() == "gpu" else (QUERIES, KEYS)
    a, b = min(tile_size[0], n), min(tile_size[1], m)
    if m % b and log_w is None:
        log_w = jnp.zeros(m, tile.keys.dtype)
    keys = {
        "keys": cut(tile.keys, b),
        "bias": None if tile.key_bias is None else cut(tile.key_bias, b),
        "values": cut(values, b),
        "log_w": None if log_w is None else cut(log_w.astype(tile.keys.dtype), b, fill=-jnp.inf),
        "j": cut(jnp.arange(m), b),
    }

    def scores(query, key):
        part = Projected(query["queries"], key["keys"], query["bias"], key["bias"])
        return tile_logits(score, part, key["log_w"], pairs, query["i"], key["j"], problem.n, m)

    nothing = (jnp.zeros((a, values.shape[1]), values.dtype), jnp.zeros(a, values.dtype))

    def highest(query):
        """The greatest score of each query of a tile."""

        def climb(top, key):
            return jnp.maximum(top, reduction.top(*scores(query, key))), None

        top, _ = jax.lax.scan(climb, jnp.full(a, -jnp.inf, tile.queries.dtype), jax.lax.stop_gradient(keys))
        return finite(top)

    @jax.checkpoint
    def below(query):
        """Sums of a tile of queries relative to a top that is known."""

        @jax.checkpoint
        def add(sums, key):
            more = tile_sums(reduction, *scores(query, key), key["values"], query["top"])
            return jax.tree.map(jnp.add, sums, more), None

        return jax.lax.scan(add, nothing, keys)[0]

    @jax.checkpoint
    def running(query):
        """The same, finished, relative to a running maximum."""
        bottom = jnp.full(a, -jnp.inf, tile.queries.dtype)
        best = bottom
        if selection is not None:

            def climb(top, key, selection=selection):
                return jnp.maximum(top, selection.best(*scores(query, key))), None

            best, _ = jax.lax.scan(climb, bottom, keys)

        @jax.checkpoint
        def add(carry, key):
            top, (num, mass) = carry
            logits, outside = scores(query, key)
            logits = logits if selection is None else selection.ties(logits, best)
            new = jnp.maximum(top, reduction.top(logits, outside))
            old = reduction.rescale(top, new)
            more, more_mass = tile_sums(reduction, logits, outside, key["values"], finite(new))
            return (new, (old[:, None] * num + more, old * mass + more_mass)), None

        (top, sums), _ = jax.lax.scan(add, (bottom, nothing), keys)
        return reduction.finish(top, sums)

    bounded = upper_bound(problem, inputs)
    queries = {
        "queries": cut(tile.queries, a),
        "bias": None if tile.query_bias is None else cut(tile.query_bias, a),
        "i": cut(inputs.numbers, a),
    }
    if bounded is None:
        num, log_z = jax.lax.map(running, queries)
        return num.reshape(log_z.size, values.shape[1])[:n], log_z.reshape(-1)[:n]

    bound, safe = bounded
    # The maximum is computed without derivatives, so that these are not stored for two ways to sum.
    top = jax.lax.cond(safe, lambda: cut(bound, a), lambda: jax.lax.map(highest, jax.lax.stop_gradient(queries)))
    num, mass = jax.lax.map(below, queries | {"top": top})
    return reduction.finish(top.reshape(-1)[:n], (num.reshape(mass.size, values.shape[1])[:n], mass.reshape(-1)[:n]))
