r"""Clouds in $\mathbb R^d$: the least cost of moving one to the other, by linear programming.

$$ W_p(\mu, \nu)^p
   = \min\Big\{\sum_{ij} P_{ij}|x_i - y_j|^p : \ P \ge 0,\ \sum_j P_{ij} = a_i,\ \sum_i P_{ij} = b_j\Big\}. $$
"""

import importlib
from typing import Any

import numpy as np

from ..errors import InputError, SolveError
from ..spaces import Numbers
from ._checked import Real, exponent, masses, pair
from .line import wasserstein_1d

METHODS = ("auto", "assignment", "simplex", "linprog")
LIMIT = 2000  # points; an assignment of so many takes some seconds, and time grows with the cube
LINPROG = 40_000  # entries of a plan that a general linear program is asked for


def wasserstein(
    x: Numbers,
    y: Numbers,
    p: float | int = 2,
    wx: Numbers | None = None,
    wy: Numbers | None = None,
    *,
    method: str = "auto",
    limit: int = LIMIT,
) -> Real:
    r"""$W_p$ of two clouds with the chordal distance $|x - y|$, exactly.

    Compare a flow with the push-forward of *the same* initial sample: two independent samples of one law are far apart
    ($n^{-1/d}$), a floor that hides what is measured.

    **Arguments:**

    - points `x (n, d)`, `y (m, d)`; `p` at least 1; masses `wx (n,)`, `wy (m,)`, `None` for equal ones.
    - `method`: `"assignment"` (SciPy) for equal masses and $n = m$; `"simplex"`, the network simplex of POT (extra
      `ot`), for any masses; `"linprog"` (SciPy's HiGHS) for any masses and few points. `"auto"` takes the first that
      serves; on the line it sorts.
    - `limit`: more points than that are refused, unless a larger limit is given.

    Memory is $8nm$ bytes and twice that for the solver; time grows like $n^2$ to $n^3$: on one core an assignment takes
    0.3 s for 1000 points and 3 s for 2000, a simplex 0.1 and 0.6 s.
    """
    first, second = pair(x, y)
    p = exponent(p)
    if method not in METHODS:
        raise InputError(f"method {method!r} is unknown; choose one of {', '.join(METHODS)}.")
    if first.ndim != 2 or second.ndim != 2:
        raise InputError(f"x and y have shapes {first.shape} and {second.shape}; give one cloud (n, d) each.")
    if method == "auto" and first.shape[1] == 1:
        return wasserstein_1d(first[:, 0], second[:, 0], p, wx, wy)
    n, m = len(first), len(second)
    if max(n, m) > limit:
        raise InputError(
            f"an exact plan of {n} by {m} points needs {8 * n * m / 1e6:.0f} MB and a time like n^3; thin the clouds, "
            f"take measures.sliced, or allow it with limit={max(n, m)}."
        )
    a, b = masses(wx, n), masses(wy, m)
    equal = n == m and np.ptp(a) == 0 and np.ptp(b) == 0
    if method == "assignment" and not equal:
        raise InputError("an assignment needs as many points on both sides, of equal masses; take method='auto'.")
    chosen = method if method != "auto" else "assignment" if equal else _general(n * m)
    from scipy.spatial.distance import cdist

    costs = cdist(first, second) ** p
    solve = {"assignment": _assignment, "simplex": _simplex, "linprog": _linprog}[chosen]
    return max(solve(costs, a, b), 0.0) ** (1 / p)


def _general(entries: int) -> str:
    if _pot() is not None:
        return "simplex"
    if entries <= LINPROG:
        return "linprog"
    raise InputError(
        f"a plan of {entries} entries between unequal masses needs the network simplex of POT: "
        "pip install 'attnflow[ot]', or take method='linprog' and wait."
    )


def _assignment(costs: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    from scipy.optimize import linear_sum_assignment

    return float(costs[linear_sum_assignment(costs)].mean())


def _simplex(costs: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    ot = _pot()
    if ot is None:
        raise InputError("method='simplex' needs POT, which is not installed: pip install 'attnflow[ot]'.")
    cost, log = ot.emd2(a, b, costs, log=True, numItermax=100 * (len(a) + len(b)) ** 2)
    if log["warning"] is not None:
        raise SolveError(f"the network simplex did not end: {' '.join(str(log['warning']).split())}")
    return float(cost)


def _linprog(costs: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    from scipy import sparse
    from scipy.optimize import linprog

    n, m = costs.shape
    rows = sparse.kron(sparse.eye_array(n), np.ones((1, m)))
    columns = sparse.kron(np.ones((1, n)), sparse.eye_array(m))
    # One equation follows from the others: the masses sum to the same.
    found = linprog(
        costs.ravel(),
        A_eq=sparse.vstack([rows, columns]).tocsr()[:-1],
        b_eq=np.concatenate([a, b])[:-1],
        method="highs",
    )
    if not found.success:
        raise SolveError(f"the linear program did not end: {' '.join(str(found.message).split())}")
    return float(found.fun)


def _pot() -> Any:
    try:
        return importlib.import_module("ot")
    except ImportError:
        return None
