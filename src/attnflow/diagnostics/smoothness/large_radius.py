r"""Tokens far from the origin: softmax becomes hardmax, and its derivative a selection.

If every query has one best key, $j(i) = \arg\max_l x_i^\top Bx_l$, then $f(RX)_i$ is $Vx_{j(i)}R$ up to terms that are
exponentially small in $R^2$, and

$$ \|Df(RX)\| \to \|V\|\,\sqrt{\max_j\#\{i : j(i) = j\}} \le \|V\|\sqrt n . $$

Before that it may be much larger: where two keys nearly tie for a query, their difference times that of their scores
enters, which is of the order $R^2$ (docs/theory/smoothness.md, Large radius).
"""

import numpy as np

from ...checks import finite_array, flag, square_matrix
from ...errors import InputError
from ...spaces import Numbers


def large_radius_limit(
    x: Numbers, *, V: Numbers | None = None, B: Numbers | None = None, masked: bool = False
) -> np.ndarray | float:
    r"""The limit of $\|Df(RX)\|$ as $R \to \infty$, for every $\beta > 0$.

    **Arguments:** tokens `x (..., n, d)`; matrices, `None` for the identity; `masked`, for `pairs=Causal()`. A token
    with two best keys is refused: there is no such limit.
    """
    x = finite_array("x", x)
    if x.ndim < 2 or 0 in x.shape[-2:]:
        raise InputError(f"x has shape {x.shape}; give tokens as rows, (..., n, d).")
    n, d = x.shape[-2:]
    x = x / (np.abs(x).max() or 1.0)  # which changes no best key, and lets no score overflow
    queries = x if B is None else x @ square_matrix("B", B, d)
    scores = queries @ np.swapaxes(x, -1, -2)
    round_off = 4 * d * np.finfo(float).eps * np.abs(queries) @ np.swapaxes(np.abs(x), -1, -2)
    if flag("masked", masked):
        scores = np.where(np.tril(np.ones((n, n), bool)), scores, -np.inf)
    best = scores >= scores.max(axis=-1, keepdims=True) - round_off
    if (best.sum(axis=-1) > 1).any():
        where = np.argwhere(best.sum(axis=-1) > 1)[0].tolist()
        raise InputError(f"the token at {where} has two best keys, so there is no limit; move a token a little.")
    followers = best.sum(axis=-2)  # by key: how many queries it is best for
    norm = 1.0 if V is None else float(np.linalg.norm(square_matrix("V", V, d), 2))
    return norm * np.sqrt(followers.max(axis=-1))
