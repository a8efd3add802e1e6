"""Spectral sums: one evaluation of softmax attention of all tokens on the circle or on the sphere, in float64.

Direct sums take time proportional to the square of the tokens, so they run for a slice of the queries against all keys,
and their time is scaled up to all.
"""

import time
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np

import attnflow as af
from attnflow.flows.compiled import compiler_options
from attnflow.pairsums.modes import modes_for

from .timing import race

# Dimension, tokens, beta; the first three, of growing size, show how the time grows.
CASES = (
    (2, 100_000, 16.0),
    (2, 300_000, 16.0),
    (2, 1_000_000, 16.0),
    (2, 100_000, 100.0),
    (3, 100_000, 9.0),
    (3, 100_000, 30.0),
)
QUERIES = 512


def results() -> Iterator[dict[str, object]]:
    """Seconds of each case, the greatest error of a velocity in the slice, and how much longer direct sums take."""
    for d, n, beta in CASES:
        x = np.random.default_rng(0).standard_normal((n, d))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        tokens, attention, kernel = jnp.asarray(x), af.Softmax(beta=beta), f"spectral:{modes_for(beta, d)}"
        spectral = _compiled(lambda y, a, kernel=kernel: a(y, y, kernel=kernel), tokens, attention)
        blocked = _compiled(lambda y, a: a(y[:QUERIES], y, kernel="blocked"), tokens, attention)

        def plain(x=x, beta=beta):
            e = np.exp(beta * (x[:QUERIES] @ x.T) - beta)
            return (e @ x) / e.sum(1, keepdims=True)

        error = float(np.max(np.abs(np.asarray(spectral())[:QUERIES] - plain())))
        best = race({"spectral": spectral, "blocked": blocked, "NumPy": plain}, rounds=4, budget=10)
        share = n / QUERIES
        yield {
            "work": f"spectral n={n} d={d} beta={beta:g} float64",
            "modes": modes_for(beta, d),
            "seconds": best["spectral"],
            "error": error,
            "ratios": {who: share * best[who] / best["spectral"] for who in ("blocked", "NumPy")},
        }


def growth(cases: list[dict[str, object]]) -> float:
    """The exponent of n in the time, from the cases on the circle that differ in n alone."""
    seconds = [float(str(case["seconds"])) for case in cases[:3]]
    return float(np.polyfit(np.log([n for _, n, _ in CASES[:3]]), np.log(seconds), 1)[0])


def _compiled(fn: Callable[..., object], *arguments: object) -> Callable[[], object]:
    program = jax.jit(fn).lower(*arguments).compile(compiler_options())
    return lambda: jax.block_until_ready(program(*arguments))


def main() -> None:
    """The table alone: `python -m benchmarks.spectral`."""
    af.precision("float64")
    begin = time.perf_counter()
    cases = []
    for case in results():
        cases.append(case)
        print(line(case), flush=True)
    print(f"seconds grow like n^{growth(cases):.2f} on the circle ({time.perf_counter() - begin:.0f} s in all)")


def line(case: dict[str, object]) -> str:
    ratios: dict[str, float] = case["ratios"]  # pyright: ignore[reportAssignmentType]
    speedups = ", ".join(f"{ratio:.0f}x {who}" for who, ratio in ratios.items())
    return f"{case['work']}: {case['seconds']:.3f} s, {case['modes']} modes, error {case['error']:.0e}, {speedups}"


if __name__ == "__main__":
    main()
