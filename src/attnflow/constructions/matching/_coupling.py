r"""Which atom goes where. A map does not split atoms, so some pairs of measures are not matched by any map.

There is a map from $\sum_kw_k\delta_{x_k}$ to $\sum_lv_l\delta_{y_l}$ if and only if the weights $w$ can be parted into
groups whose sums are the weights $v$. Of all such partitions one with the least cost $\sum_kw_k|x_k - y_{l(k)}|^2$ is
taken: an assignment where weights are equal, otherwise an integer programme.
"""

from typing import Any, NoReturn

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, linprog, milp

from ...errors import InputError
from ._measure import Measure

EQUAL = 1e-10  # weights and their sums are known to this
LARGEST = 20_000  # pairs of atoms in an integer programme
SECONDS = 20.0  # that it may take


def couple(name: str, source: Measure, target: Measure) -> np.ndarray:
    """For every atom of the source the number of its target; a pair that no map matches is refused, with the atom."""
    w, v = source.w, target.w
    cost = np.sum((source.x[:, None] - target.x[None]) ** 2, axis=2)
    if w.max() > v.max() + EQUAL:
        k = int(np.argmax(w))
        raise InputError(
            f"{name} is matched by no map: atom {k} of the source has the mass {w[k]:.6g}, and the largest atom of the "
            f"target {v.max():.6g}; it would have to split."
        )
    if len(w) == len(v) and np.max(np.abs(np.sort(w) - np.sort(v))) <= EQUAL:
        apart = np.abs(w[:, None] - v[None]) > EQUAL * len(w)
        return linear_sum_assignment(np.where(apart, 1e6, cost))[1]
    copies = v / w[0]
    if np.ptp(w) <= EQUAL and np.max(np.abs(copies - np.rint(copies))) <= EQUAL * len(w):
        column = np.repeat(np.arange(len(v)), np.rint(copies).astype(int))
        return column[linear_sum_assignment(cost[:, column])[1]]
    return _programme(name, w, v, cost)


def _programme(name: str, w: np.ndarray, v: np.ndarray, cost: np.ndarray) -> np.ndarray:
    n, m = cost.shape
    if n < m:
        _refuse(name, w, v, cost)
    if n * m > LARGEST:
        raise InputError(
            f"{name} has {n} atoms of unequal masses and {m} targets: a partition of that size is not searched for; "
            "take equal weights, or fewer atoms."
        )
    rows, columns = np.kron(np.eye(n), np.ones(m)), np.kron(w, np.eye(m))
    found = milp(
        (w[:, None] * cost).ravel(),
        constraints=[LinearConstraint(rows, 1, 1), LinearConstraint(columns, *_near(v))],
        integrality=np.ones(n * m),
        bounds=Bounds(0, 1),
        options={"time_limit": SECONDS},
    )
    if found.x is None:
        if found.status == 1:
            raise InputError(
                f"{name}: no partition of its {n} masses into the {m} of the target was found in {SECONDS:g} s, and "
                "none was excluded; take equal weights, or fewer atoms."
            )
        _refuse(name, w, v, cost)
    chosen = found.x.reshape(n, m).argmax(axis=1)
    sums = np.bincount(chosen, w, m)
    if np.max(np.abs(sums - v)) > 1e-8:  # HiGHS takes integers to 1e-6
        _refuse(name, w, v, cost)
    return chosen


def _near(v: np.ndarray) -> Any:
    return v - EQUAL, v + EQUAL


def _refuse(name: str, w: np.ndarray, v: np.ndarray, cost: np.ndarray) -> NoReturn:
    """Name an atom that the best plan splits: every plan splits one."""
    n, m = cost.shape
    equalities = np.concatenate([np.kron(np.eye(n), np.ones(m)), np.kron(np.ones(n), np.eye(m))])
    plan = linprog(cost.ravel(), A_eq=equalities[:-1], b_eq=np.concatenate([w, v])[:-1]).x.reshape(n, m)
    parts = np.where(plan > 1e-9, plan, 0.0)
    k = int(np.argmax(np.sort(parts, axis=1)[:, -2] if m > 1 else parts[:, 0]))
    shares = ", ".join(f"{p:.4g} to point {j}" for j, p in enumerate(parts[k]) if p > 0)
    raise InputError(
        f"{name} is matched by no map: no groups of the masses of the source have the masses of the target. In the "
        f"optimal plan atom {k}, of mass {w[k]:.6g}, would have to split: {shares}."
    )
