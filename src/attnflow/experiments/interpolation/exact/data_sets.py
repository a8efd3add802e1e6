"""Data to interpolate: the rows of the table, and families made to be difficult."""

from itertools import combinations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy

Pairs = tuple[list["numpy.ndarray"], list["numpy.ndarray"]]


def gaussian(N: int, n: tuple[int, int], d: int, M: int, seed: int) -> Pairs:
    """N sequences with lengths in the range `n`, Gaussian tokens, M outputs shared out evenly."""
    import numpy as np

    rng = np.random.default_rng(seed)
    outputs = [rng.standard_normal((M // N + (j < M % N), d)) for j in range(N)]
    return [rng.standard_normal((int(rng.integers(n[0], n[1] + 1)), d)) for _ in range(N)], outputs


def integers(d: int, seed: int) -> Pairs:
    """Four sequences of five integer points, two outputs each, no two of one sequence equal."""
    import numpy as np

    rng = np.random.default_rng(seed)
    grid = np.stack(np.meshgrid(*[np.arange(-3, 4)] * d), axis=-1).reshape(-1, d)
    inputs, outputs = ([rng.choice(grid, k, replace=False) for _ in range(4)] for k in (5, 2))
    return inputs, outputs


def subsets(rng: "numpy.random.Generator") -> Pairs:
    """All 31 nonempty subsets of five points: every token is shared, and intervals overlap."""
    points = rng.standard_normal((5, 2))
    inputs = [points[list(chosen)] for k in range(1, 6) for chosen in combinations(range(5), k)]
    return inputs, [rng.standard_normal((int(rng.integers(1, len(x) + 1)), 2)) for x in inputs]


def pool(rng: "numpy.random.Generator") -> Pairs:
    """Sequences from a pool of twelve points with repetitions, some with tokens of their own, up to five outputs."""
    import numpy as np

    d = int(rng.integers(2, 5))
    points = rng.standard_normal((12, d))
    sequences: dict[frozenset, numpy.ndarray] = {}
    for j in range(int(rng.integers(2, 25))):
        chosen = rng.integers(0, 12, int(rng.integers(1, 20)))
        own = rng.standard_normal((int(rng.integers(0, 4)), d))
        sequences[frozenset(chosen.tolist()) | (frozenset([-1 - j]) if len(own) else frozenset())] = np.concatenate(
            [points[chosen], own]
        )
    inputs = list(sequences.values())
    outputs = [rng.standard_normal((int(rng.integers(1, min(5, len(np.unique(x, axis=0))) + 1)), d)) for x in inputs]
    return inputs, outputs


def scaled(rng: "numpy.random.Generator") -> Pairs:
    """Inputs of size 1e-12 to 1e12, outputs likewise, far from the origin or not."""
    d = int(rng.integers(2, 5))
    size, far, wanted = 10.0 ** rng.integers(-12, 13), 10.0 ** rng.integers(0, 7), 10.0 ** rng.integers(-12, 13)
    inputs = [size * (rng.standard_normal((int(rng.integers(2, 15)), d)) + far) for _ in range(8)]
    return inputs, [wanted * rng.standard_normal((int(rng.integers(1, 3)), d)) for _ in inputs]


def lengths(rng: "numpy.random.Generator") -> Pairs:
    """Lengths 1 and 500 side by side, every token three times."""
    import numpy as np

    inputs = [np.repeat(rng.standard_normal((n, 3)), 3, axis=0) for n in (1, 500, 1, 500, 2)]
    return inputs, [rng.standard_normal((min(len(x) // 3, 3), 3)) for x in inputs]


def permuted(rng: "numpy.random.Generator") -> Pairs:
    """Every input three times, in other orders, with the same output in other orders."""
    inputs = [rng.standard_normal((int(rng.integers(3, 9)), 2)) for _ in range(5)]
    outputs = [rng.standard_normal((int(rng.integers(1, 4)), 2)) for _ in inputs]
    return [rng.permutation(x) for x in inputs * 3], [rng.permutation(y) for y in outputs * 3]


def close(rng: "numpy.random.Generator") -> Pairs:
    """Two sequences that differ in one token only, by 1e-9; tokens of one sequence 1e-9 apart, sent to four points."""
    import numpy as np

    x = rng.standard_normal((5, 3))
    moved = np.concatenate([x[:-1], x[-1:] + 1e-9])
    return [x, moved, np.concatenate([x, x + 1e-9])], [rng.standard_normal((k, 3)) for k in (1, 2, 4)]


FAMILIES = {f.__name__: f for f in (subsets, pool, scaled, lengths, permuted, close)}
