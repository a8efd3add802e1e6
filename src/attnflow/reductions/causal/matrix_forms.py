r"""The same correlations at finite $N$, for any positional weights: exponentials of a strictly triangular matrix.

$$ N\,E\cos n(\theta_j(t) - \theta_k(0)) \approx N\,[e^{ctw}]_{jk}, \qquad
   N\,E\cos n(\theta_j(t) - \theta_k(t)) \approx N\,[e^{ctw}(e^{ctw})^\top]_{jk}, \qquad c = a_n , $$

with $w_{jk}$ the weight of token $k$ for token $j$, zero unless $k < j$. One row is all that is asked for. The powers
$e_j^\top w^m$ do not depend on mode or time, and have no negative entries, so that one sweep of products of a row with
$w$ serves all modes and times, and nothing cancels. Derivation: docs/theory/lost-in-the-middle.md.
"""

from typing import Any

import numpy as np

from ...checks import square_matrix, whole
from ...errors import InputError
from ._checked import not_negative, one_shape

# Terms of the series are dropped once they are below this, relative to the whole.
ROUNDING = 1e-18
# e to this power, squared at equal times, is still a number.
LARGEST = 340.0


def two_time_matrix(t: Any, a: Any, w: Any, *, target: Any = -1) -> np.ndarray:
    r"""$N[e^{atw}]_{jk}$ for the target $j$ (the last token) and all sources $k$, shape `(..., N)`.

    `t` and `a` are broadcast together and give the leading axes; `w (N, N)` is strictly lower triangular, as
    `attnflow.pairsums.weight_matrix` gives it. The entry $k = j$ is $N$ itself, later sources have 0.
    """
    c, w, j = _checked(t, a, w, target)
    return len(w) * _row(c, w, j)


def equal_time_matrix(t: Any, a: Any, w: Any, *, target: Any = -1) -> np.ndarray:
    r"""$N[e^{atw}(e^{atw})^\top]_{jk}$ for the target $j$ and all $k$, arguments as for `two_time_matrix`.

    The product of $e^{atw}$ with the row found there, one product of $w$ with all modes and times for each term.
    """
    c, w, j = _checked(t, a, w, target)
    flat = c.ravel()
    total = term = _row(flat, w, j).T
    for m in range(1, _terms(c, w)):
        term = (w @ term) * (flat / m)
        total = total + term
    return len(w) * total.T.reshape(*c.shape, len(w))


def _row(c: np.ndarray, w: np.ndarray, j: int) -> np.ndarray:
    r"""$e_j^\top e^{cw}$ for every $c$."""
    terms = _terms(c, w)
    powers = np.zeros((terms, len(w)))
    powers[0, j] = 1
    for m in range(1, terms):  # of tokens up to j: others do not act on it
        powers[m, :j] = powers[m - 1, : j + 1] @ w[: j + 1, :j]
    order = np.arange(1, terms)
    factors = np.concatenate([np.ones((*c.shape, 1)), np.cumprod(c[..., None] / order, axis=-1)], axis=-1)
    return factors @ powers


def _terms(c: np.ndarray, w: np.ndarray) -> int:
    r"""How many terms of the series matter: $x^m/m!$ has fallen below rounding; none is left from $m = N$ on."""
    x = _size(c, w)
    m, log_term = 0, 0.0
    while m < len(w) and (m < x or log_term > np.log(ROUNDING)):
        m += 1
        log_term += np.log(x / m) if x > 0 else -np.inf
    return max(1, min(m + 1, len(w)))


def _size(c: np.ndarray, w: np.ndarray) -> float:
    """The largest norm of the exponents."""
    return float(c.max(initial=0.0) * np.abs(w).sum(axis=1).max())


def _checked(t: Any, a: Any, w: Any, target: Any) -> tuple[np.ndarray, np.ndarray, int]:
    t, a, matrix = not_negative("t", t), not_negative("a", a), square_matrix("w", w)
    one_shape(t=t, a=a)
    c = np.asarray(t * a)
    if np.triu(matrix).any():
        raise InputError("w is not strictly lower triangular: a token must see earlier ones only, and not itself.")
    n, most = len(matrix), float(c.max(initial=0.0))
    if _size(c, matrix) > LARGEST:
        raise InputError(f"a t = {most:g} is too large: the exponential of a t w is beyond double precision.")
    j = whole("target", target, least=-n, most=n - 1)
    return c, matrix, j % n
