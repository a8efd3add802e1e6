"""Measures that experiments match: clouds that share atoms, targets around centres, and laws."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

SPREAD = 0.35  # of a target around its centre
FLOOR = -0.4  # of the last coordinate of sources


def rng_of(seed: int, draw: int) -> "numpy.random.Generator":
    import numpy as np

    return np.random.default_rng([seed, draw])


def unit(v: Any) -> Any:
    import numpy as np

    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def inputs(rng: Any, N: int, n: int, shared: int, d: int) -> list[Any]:
    """N clouds of n atoms with the last coordinate above -0.4, of which the first `shared` are common to all."""
    import numpy as np

    def draw(count: int) -> Any:
        points = unit(rng.normal(size=(20 * count + 50, d)))
        return points[points[:, -1] > FLOOR][:count]

    common = draw(shared)
    return [np.concatenate([common, draw(n - shared)]) for _ in range(N)]


def clusters(rng: Any, N: int, n: int, d: int) -> list[Any]:
    """N clouds around centres of their own, by chance on the sphere."""
    return [unit(unit(rng.normal(size=d)) + SPREAD * rng.normal(size=(n, d))) for _ in range(N)]


def diracs(rng: Any, N: int, d: int) -> list[Any]:
    """N points, by chance on the sphere."""
    return [unit(rng.normal(size=(1, d))) for _ in range(N)]


def caps(rng: Any, N: int, d: int, width: float) -> list[Any]:
    """N laws: a normal law around a centre, projected on the sphere; functions `draw(n, key=key)`."""
    import jax
    import numpy as np

    def law(centre: Any) -> Any:
        return lambda n, key: unit(centre + width * np.asarray(jax.random.normal(key, (n, d))) * (3 / d) ** 0.5)

    return [law(unit(rng.normal(size=d))) for _ in range(N)]
