r"""Clouds in $\mathbb R^d$: the least cost of moving one to the other, by linear programming.

$$ W_p(\mu, \nu)^p
   = \min\Big\{\sum_{ij} P_{ij}|x_i - y_j|^p : \ P \ge 0,\ \sum_j P_{ij} = a_i,\ \sum_i P_{ij} = b_j\Big\}. $$
"""

import importlib
import math
from typing import Any

import numpy as np

from ..checks import whole
from ..errors import InputError, SolveError, shown
from ..spaces import Numbers
from ._checked import Real, exponent, masses, pair
from ._least_cost import Plan, least_mean
from ._lengths import distances, to_order_one
from .line import wasserstein_1d

METHODS = ("auto", "assignment", "simplex", "linprog")
LIMIT = 2000  # points; an assignment of so many takes some seconds, and time grows with the cube
LINPROG = 40_000  # entries of a plan that a general linear program is asked for
FINE = 20  # binary digits of the whole mass for HiGHS: its tolerances are absolute, and larger numbers confuse it


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

    Relative to the distance the result is right to 1e-10, at every scale, for tight clusters and large `p`: a plan that
    potentials do not certify to this is solved again with magnified costs, and `SolveError` says where that fails. Sums
    of masses are known to rounding: a part of the mass below 4e-15 that would be split from a point stays.

    Memory is $8nm$ bytes and some times that for the solver; time grows like $n^2$ to $n^3$: on one core an assignment
    takes 0.3 s for 1000 points and 3 s for 2000, a simplex 0.1 and 0.6 s; close laws and orders above 8 take several.
    """
    first, second = pair(x, y)
    p = exponent(p)
    if not isinstance(method, str) or method not in METHODS:
        raise InputError(f"method {shown(method)} is unknown; choose one of {', '.join(METHODS)}.")
    if first.ndim != 2 or second.ndim != 2:
        raise InputError(f"x and y have shapes {first.shape} and {second.shape}; give one cloud (n, d) each.")
    if method == "auto" and first.shape[1] == 1:
        return wasserstein_1d(first[:, 0], second[:, 0], p, wx, wy)
    n, m = len(first), len(second)
    if max(n, m) > whole("limit", limit):
        raise InputError(
            f"an exact plan of {n} by {m} points needs {8 * n * m / 1e6:.0f} MB and a time like n^3; thin the clouds, "
            f"take measures.sliced, or allow it with limit={max(n, m)}."
        )
    a, b = masses(wx, n), masses(wy, m)
    equal = n == m and np.ptp(a) == 0 and np.ptp(b) == 0
    if method == "assignment" and not equal:
        raise InputError("an assignment needs as many points on both sides, of equal masses; take method='auto'.")
    chosen = method if method != "auto" else "assignment" if equal else _general(n * m)
    scale, (first, second) = to_order_one(first, second)
    solve = {"assignment": _assignment, "simplex": _simplex, "linprog": _linprog}[chosen]
    return scale * least_mean(distances(first, second), *_whole(a, b), p, solve)


def _whole(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Equal masses 1/n and 1/m as the whole numbers m and n, over their common divisor: no sum of them rounds."""
    if np.ptp(a) > 0 or np.ptp(b) > 0:
        return a, b
    n, m = len(a), len(b)
    common = math.gcd(n, m)
    return np.full(n, float(m // common)), np.full(m, float(n // common))


def _general(entries: int) -> str:
    if _pot() is not None:
        return "simplex"
    if entries <= LINPROG:
        return "linprog"
    raise InputError(
        f"a plan of {entries} entries between unequal masses needs the network simplex of POT: "
        "pip install 'attnflow[ot]', or take method='linprog' and wait."
    )


def _assignment(costs: np.ndarray, a: np.ndarray, b: np.ndarray) -> Plan:
    from scipy.optimize import linear_sum_assignment

    i, j = linear_sum_assignment(costs)
    return Plan(i, j, a)


def _simplex(costs: np.ndarray, a: np.ndarray, b: np.ndarray) -> Plan:
    ot = _pot()
    if ot is None:
        raise InputError("method='simplex' needs POT, which is not installed: pip install 'attnflow[ot]'.")
    plan, log = ot.emd(a, b, costs, log=True, numItermax=100 * (len(a) + len(b)) ** 2)
    if log["warning"] is not None:
        raise SolveError(f"the network simplex did not end: {' '.join(str(log['warning']).split())}")
    i, j = np.nonzero(plan)
    return Plan(i, j, plan[i, j], log["u"], log["v"])


def _linprog(costs: np.ndarray, a: np.ndarray, b: np.ndarray) -> Plan:
    from scipy import sparse
    from scipy.optimize import linprog

    n, m = costs.shape
    rows = sparse.kron(sparse.eye_array(n), np.ones((1, m)))
    columns = sparse.kron(np.ones((1, n)), sparse.eye_array(m))
    unit = math.ldexp(1.0, math.frexp(a.sum())[1] - FINE)
    # One equation follows from the others: the masses sum to the same.
    found = linprog(
        costs.ravel(),
        A_eq=sparse.vstack([rows, columns]).tocsr()[:-1],
        b_eq=np.concatenate([a, b])[:-1] / unit,
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if not found.success:
        raise SolveError(f"the linear program did not end: {' '.join(str(found.message).split())}")
    plan, potentials = unit * found.x.reshape(n, m), np.append(found.eqlin.marginals, 0.0)
    i, j = np.nonzero(plan)
    return Plan(i, j, plan[i, j], potentials[:n], potentials[n:])


def _pot() -> Any:
    try:
        return importlib.import_module("ot")
    except ImportError:
        return None
