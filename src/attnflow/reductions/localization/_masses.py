r"""The best masses at given angles: a convex quadratic programme on the simplex, by an interior-point method.

$$ \min_m\ \tfrac12 m^\top Km + U\cdot m, \qquad m \ge 0, \quad \sum_i m_i = 1 . $$

With multipliers $z \ge 0$ of the masses and $\lambda$ of their sum, $Km + U - z = \lambda$ and $m_iz_i = \mu$, which
falls to zero. A step is Newton's for these equations, in the form of Mehrotra (a trial step estimates how far $\mu$ may
fall). There is no order in which constraints are tried, so that nothing can cycle. The kernel has few modes,
$K = F^\top F$ with as many rows as there are modes above rounding, and the matrix of a step is $K$ plus a positive
diagonal $D$: by Woodbury's formula a step solves with $I + FD^{-1}F^\top$.
"""

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

STEPS = 60
SHORT = 0.995  # of the way to the border
Solve = Callable[[np.ndarray], np.ndarray]


def best_masses(F: np.ndarray, U: np.ndarray) -> np.ndarray:
    """The masses; numbers of $F^\\top F$ and `U` should be of order one. Ends where rounding ends the progress."""
    count = len(U)
    m = np.full(count, 1 / count)
    slope = F.T @ (F @ m) + U
    level = slope.min() - 1.0
    z = slope - level
    best, least = m, np.inf
    for _ in range(STEPS):
        slope = F.T @ (F @ m) + U
        gap = float(m @ slope - slope.min())
        if gap < least:
            best, least = m, gap
        try:
            solve = _solver(F, z / m)
        except (LinAlgError, ValueError):  # beyond the range of numbers: no further
            break
        rest, ones = slope - z - level, solve(np.ones(count))
        trial = _step(solve, ones, m, z, rest, m * z)
        now, then = m @ z, (m + _reach(m, trial[0]) * trial[0]) @ (z + _reach(z, trial[1]) * trial[1])
        target = (then / now) ** 3 * now / count
        dm, dz, dlevel = _step(solve, ones, m, z, rest, m * z + trial[0] * trial[1] - target)
        primal, dual = SHORT * _reach(m, dm), SHORT * _reach(z, dz)
        m, z, level = m + primal * dm, z + dual * dz, level + dual * dlevel
        m = m / m.sum()
        if now < 1e-17 or not (m.min() > 0 and z.min() > 0):
            break
    return best


def _solver(F: np.ndarray, D: np.ndarray) -> Solve:
    r"""$b \mapsto (\mathrm{diag}(D) + F^\top F)^{-1}b$."""
    scaled = F / D
    factor = cho_factor(np.eye(len(F)) + scaled @ F.T)
    return lambda b: b / D - scaled.T @ cho_solve(factor, F @ (b / D))


def _step(
    solve: Solve, ones: np.ndarray, m: np.ndarray, z: np.ndarray, rest: np.ndarray, product: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Changes of masses, multipliers and level that make the equations hold to first order, `product` becoming zero."""
    right = solve(-rest - product / m)
    level = float((1 - m.sum() - right.sum()) / ones.sum())
    dm = right + level * ones
    return dm, -(product + z * dm) / m, level


def _reach(values: np.ndarray, change: np.ndarray) -> float:
    """How much of a change leaves all values positive, at most all of it."""
    falls = change < 0
    return min(1.0, float(np.min(-values[falls] / change[falls]))) if falls.any() else 1.0
