r"""The log density of a law at its own samples, by the distance to the k-th neighbour."""

import numpy as np
from scipy.spatial import KDTree
from scipy.special import digamma, gammaln

K = 5


def log_density_by_neighbours(at: np.ndarray, others: np.ndarray) -> np.ndarray:
    r"""Kozachenko and Leonenko's estimate $\psi(k) - \psi(N) - \log V_d - d\log r_k$, r_k the distance to the k-th of
    the N `others`, among which `at` must not be. Its mean is close to that of the log density, minus the entropy.
    """
    n, d = others.shape
    distance = KDTree(others).query(at, k=min(K, n))[0][:, -1]
    ball = d / 2 * np.log(np.pi) - gammaln(d / 2 + 1)
    with np.errstate(divide="ignore"):
        return digamma(min(K, n)) - digamma(n) - ball - d * np.log(distance)
