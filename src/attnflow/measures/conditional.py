r"""Sequences as measures on positions and tokens, which move at fixed positions: the conditional distance.

A sequence is $\bar\mu = \frac1n\sum_i\delta_{(i/n, x_i)}$, in general $\bar\mu(ds, dx) = \theta(ds)\mu^s(dx)$. Masked
attention moves tokens and not positions, so that $\theta$ stays, and laws are compared position by position:

$$ d_p(\bar\mu, \bar\nu)^p = \int W_p(\mu^s, \nu^s)^p\,d\theta(s) \quad\text{if both have the same $\theta$},\qquad
   +\infty \text{ otherwise}. $$

It is never less than $W_p$ of the tokens without their positions. Reference: arXiv:2312.14820, and
docs/theory/smoothness.md, The conditional distance.
"""

from typing import Literal

import numpy as np

from ..errors import InputError, shown
from ..spaces import Numbers
from ._checked import Real, exponent, masses, pair
from ._lengths import power_mean
from .synchronous import synchronous
from .transport import wasserstein


def conditional_wasserstein(
    xs: Numbers,
    ys: Numbers,
    p: float | int = 2,
    weights: Numbers | None = None,
    *,
    relax: Literal["piecewise"] | None = None,
) -> Real:
    r"""$d_p$ of two sequences, or of two laws of sequences.

    **Arguments:**

    - `xs (n, d)` and `ys (m, d)`: two sequences; or `xs (b, n, d)` and `ys (c, m, d)`: at every position `b` and `c`
      tokens of equal mass, matched by `wasserstein` (an assignment if `b = c`), not sequence by sequence.
    - `p` at least 1; `weights (n,)`: the masses $\theta$ of the positions, `None` for equal ones.
    - `relax`: sequences of different lengths are infinitely far apart, since their positions differ. With
      `"piecewise"` token $i$ of $n$ occupies the positions $((i-1)/n, i/n]$ instead, and two step functions are
      compared. For equal lengths nothing changes.

    >>> float(conditional_wasserstein([[0.0], [1.0]], [[1.0], [0.0]]))  # as laws of tokens they are the same
    1.0
    >>> float(conditional_wasserstein([[0.0], [1.0]], [[0.0], [1.0], [1.0]], relax="piecewise"))  # on a sixth
    0.408248290463863
    """
    first, second, p = *pair(xs, ys), exponent(p)
    if not (relax is None or (isinstance(relax, str) and relax == "piecewise")):
        raise InputError(f"relax = {shown(relax)} is unknown; take None, or 'piecewise' if lengths are unequal.")
    if first.ndim != second.ndim or first.ndim > 3:
        raise InputError(
            f"xs and ys have shapes {first.shape} and {second.shape}; give two sequences (n, d), or two laws (b, n, d)."
        )
    n, m = first.shape[-2], second.shape[-2]
    if n == m:
        i, j, widths = np.arange(n), np.arange(n), masses(weights, n)
    elif weights is not None:
        raise InputError(f"weights are the masses of positions, and lengths {n} and {m} share none; leave them out.")
    elif relax is None:
        return np.inf
    else:
        i, j, widths = _common_cells(n, m)
    if first.ndim == 2:
        return synchronous(first[i], second[j], p, widths)
    apart = [wasserstein(first[:, i[k]], second[:, j[k]], p) for k in range(len(widths))]
    return float(power_mean(np.array(apart), widths, p))


def _common_cells(n: int, m: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The cells of the common refinement: whose token of either sequence, and how wide; cut in whole 1/nm."""
    ends = np.union1d(np.arange(1, n + 1) * m, np.arange(1, m + 1) * n)
    return (ends - 1) // m, (ends - 1) // n, np.diff(ends, prepend=0) / (n * m)
