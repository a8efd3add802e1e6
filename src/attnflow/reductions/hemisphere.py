r"""How likely tokens start in one hemisphere, from which the theory brings them to one cluster.

Reference: Wendel, *A problem in geometric probability*, Math. Scand. 11 (1962); arXiv:2312.10794, theorem 6.3.
"""

from ..errors import InputError


def hemisphere_probability(n: int, d: int) -> float:
    r"""Wendel: `n` independent uniform tokens on $S^{d-1}$ lie in some open hemisphere with probability

    $$ 2^{-(n-1)} \sum_{k<d} \binom{n-1}{k} , $$

    which is 1 for $n \le d$ and $\tfrac12$ for $n = 2d$. Computed in whole numbers and rounded once.

    >>> hemisphere_probability(6, 3)
    0.5
    """
    if n < 1 or d < 1:
        raise InputError(f"n = {n} tokens in dimension d = {d}: both must be at least 1.")
    if n <= d:
        return 1.0
    total, choose = 0, 1
    for k in range(d):
        total += choose
        choose = choose * (n - 1 - k) // (k + 1)  # the next binomial coefficient
    return total / 2 ** (n - 1)
