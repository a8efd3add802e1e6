r"""In which order atoms go home, so that every band is as wide as can be.

Atom i moves in the plane orthogonal to $\gamma_i$. While it moves, another atom j stands at its source $x_j$ or already
at its target $y_j$, and the band must miss it: $b_{ij} = |\langle\gamma_i, x_j\rangle|$ matters if i goes before j,
$a_{ij} = |\langle\gamma_i, y_j\rangle|$ if after. So for a wanted clearance $\delta$ each pair has orders that are
allowed, and all bands can have it if and only if the pairs that allow one order make no cycle. The largest such
$\delta$ is found by bisection over the entries: with M atoms it is about $1/2M$, where an order by chance has $1/M^2$.
"""

import numpy as np


def best_order(gamma: np.ndarray, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    """The order of the atoms, and the clearance that it gives to all of them."""
    before, after = np.abs(gamma @ x.T), np.abs(gamma @ y.T)
    np.fill_diagonal(before, np.inf)
    np.fill_diagonal(after, np.inf)
    # What the pair i before j leaves to both: the band of i sees x_j, that of j sees y_i.
    first = np.minimum(before, after.T)
    values = np.unique(np.append(0.0, first[np.isfinite(first)]))
    low, high, order = 0, len(values), np.arange(len(x))
    while high - low > 1:
        middle = (low + high) // 2
        found = _sorted(first < values[middle])
        if found is None:
            high = middle
        else:
            low, order = middle, found
    if low == 0:
        return order, 0.0 if len(x) > 1 else np.inf
    return order, float(values[low])


def clearances(gamma: np.ndarray, x: np.ndarray, y: np.ndarray, order: np.ndarray) -> np.ndarray:
    """For every atom the smallest distance of another one from the plane of its band, while it moves."""
    place = np.empty(len(order), int)
    place[order] = np.arange(len(order))
    there = place[None, :] < place[:, None]
    away = np.where(there, np.abs(gamma @ y.T), np.abs(gamma @ x.T))
    np.fill_diagonal(away, np.inf)
    return away.min(axis=1, initial=np.inf)


def _sorted(forbidden: np.ndarray) -> np.ndarray | None:
    """An order in which no i comes before a j with `forbidden[i, j]`; `None` if there is none."""
    waiting = forbidden.sum(axis=1)  # how many must come before i
    ready = list(np.flatnonzero(waiting == 0))
    order = []
    while ready:
        j = ready.pop()
        order.append(j)
        freed = np.flatnonzero(forbidden[:, j])
        waiting[freed] -= 1
        ready += freed[waiting[freed] == 0].tolist()
    return np.array(order, int) if len(order) == len(forbidden) else None
