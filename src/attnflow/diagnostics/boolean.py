r"""The Boolean case: on the line, attention becomes a matrix of zeros and ones.

For $d = 1$, $V > 0$, $B > 0$ and distinct tokens, $P(t) \to P^*$ whose rows are unit vectors $e_a$ or $e_b$, with $a$
and $b$ the smallest and the largest token, all but at most one: the exceptional row is some probability vector. For
almost every start the rank is 1 or 2.

??? cite "The emergence of clusters in self-attention dynamics, Geshkovski et al. (arXiv:2305.05465)"
"""

from dataclasses import dataclass

import numpy as np

from ..checks import number
from ..errors import InputError
from ..spaces import Numbers
from ._final import listed, plural, real_numbers


@dataclass(frozen=True, eq=False, repr=False)
class BooleanStructure:
    r"""Which rows of an attention matrix are unit vectors, and their columns. Printed, it is a verdict in words.

    - `rows (n,)`: whether $1 - \max_j P_{ij} <$ `tol`; `exceptional`: the indices of the others.
    - `leaders`: the columns that Boolean rows point to; `followers`: how many point to each.
    - `rank`: the number of singular values above `tol`, an absolute number; `singular_values`: all of them, because the
      rank of a matrix on its way to a limit depends on the tolerance.
    """

    rows: np.ndarray
    leaders: np.ndarray
    followers: np.ndarray
    exceptional: np.ndarray
    rank: int
    singular_values: np.ndarray
    tol: float

    @property
    def holds(self) -> bool:
        """Whether there are at most two leaders and at most one exceptional row."""
        return len(self.leaders) <= 2 and len(self.exceptional) <= 1

    @property
    def verdict(self) -> str:
        n, count = len(self.rows), int(self.rows.sum())
        heads = ", ".join(
            f"token {j} ({plural(int(k), 'follower')})" for j, k in zip(self.leaders, self.followers, strict=True)
        )
        left = len(self.exceptional)
        parts = [f"{count} of {plural(n, 'row')} Boolean to {self.tol:g}; leaders: {heads or 'none'};"]
        parts.append(f"{plural(left, 'exceptional row')}; rank {self.rank} at that tolerance.")
        if not self.holds:
            parts.append("The limit has at most two leaders and one exceptional row: no limit of the theorem yet.")
        parts.append(f"Singular values: {listed(self.singular_values[:6], 3)}{', ...' if n > 6 else ''}.")
        return " ".join(parts)

    def __repr__(self) -> str:
        return self.verdict


def boolean_structure(P: Numbers, tol: Numbers = 1e-6) -> BooleanStructure:
    """The Boolean rows, leaders, exceptional rows and rank of one attention matrix `(n, n)`.

    >>> boolean_structure([[1.0, 0.0], [1.0, 0.0]]).leaders.tolist()
    [0]
    """
    P = real_numbers(P, "attention", "give the attention matrix (n, n) of one time")
    tol = number("tol", tol)
    if P.ndim != 2 or P.shape[0] != P.shape[1] or 0 in P.shape:
        raise InputError(f"P has shape {P.shape}; give the attention matrix (n, n) of one time.")
    if not 0 < tol < 0.5:
        raise InputError(f"tol = {tol} cannot tell Boolean rows; take a number between 0 and 1/2, for example 1e-6.")
    wrong = ~np.isfinite(P).all(axis=1) | (P < 0).any(axis=1) | (np.abs(P.sum(axis=1) - 1) > 1e-4)
    if wrong.any():
        raise InputError(f"row {int(wrong.argmax())} of P is no probability vector; give softmax attention.")
    # The mass on the others, summed by itself: 1 - max would lose it to round-off.
    best = P.argmax(axis=1)
    others = np.where(np.arange(len(P)) == best[:, None], 0, P).sum(axis=1)
    rows = others < tol
    heads, followers = np.unique(best[rows], return_counts=True)
    values = np.linalg.svd(P, compute_uv=False)
    return BooleanStructure(
        rows=rows,
        leaders=heads,
        followers=followers,
        exceptional=np.flatnonzero(~rows),
        rank=int(np.sum(values > tol)),
        singular_values=values,
        tol=float(tol),
    )
