r"""Clouds of tokens that stand for a Gaussian law: with its mean and covariance, to the last digit."""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from ...checks import whole
from ...errors import InputError
from ._law import law


def cloud(n: Any, alpha: Any, Sigma: Any = None, *, L: Any = None, seed: Any = 0) -> Float[np.ndarray, "n d"]:
    r"""`n` tokens, a scrambled Sobol sequence taken through the normal quantile function, recentred and whitened.

    Their mean is $\alpha$ and their covariance (with $1/n$) is $\Sigma$ or $LL^\top$, up to rounding. Other moments are
    those of the law up to an error much smaller than that of independent tokens. `n` is a power of two for that.
    """
    from scipy.stats import qmc  # a slow import that few need

    mean, factor = (np.asarray(a, float) for a in law(alpha, Sigma, L))
    if mean.ndim != 1:
        raise InputError(f"the mean has shape {mean.shape}; a cloud is made of one law, with a mean (d,).")
    r, n, seed = factor.shape[1], whole("n", n), whole("seed", seed, least=0)
    if n <= r or n & (n - 1):
        raise InputError(f"n = {n} tokens: take a power of two, larger than {r}.")
    z = ndtri(qmc.Sobol(r, rng=np.random.default_rng(seed)).random_base2(n.bit_length() - 1))
    z = z - z.mean(axis=0)
    white = np.linalg.solve(np.linalg.cholesky(z.T @ z / n), z.T).T
    return mean + white @ factor.T


def midpoints(n: Any) -> Float[np.ndarray, " n"]:
    r"""$\Phi^{-1}((i - \frac12)/n)$: `n` numbers for the standard normal law, without chance. Their variance is less
    than one by about $2.5/n$."""
    n = whole("n", n)
    return ndtri((np.arange(n) + 0.5) / n)
