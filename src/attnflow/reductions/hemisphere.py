r"""How likely tokens start in one hemisphere, from which the theory brings them to one cluster.

Reference: Wendel, *A problem in geometric probability*, Math. Scand. 11 (1962); arXiv:2312.10794, theorem 6.3.
"""

from typing import Any

from scipy.special import betainc

from ..checks import whole
from ..errors import InputError

LONG = 2000  # tokens: whole numbers with as many bits are fast
MOST = 10**15


def hemisphere_probability(n: Any, d: Any) -> float:
    r"""Wendel: `n` independent uniform tokens on $S^{d-1}$ lie in some open hemisphere with probability

    $$ 2^{-(n-1)} \sum_{k<d} \binom{n-1}{k} , $$

    which is 1 for $n \le d$ and $\tfrac12$ for $n = 2d$. Computed in whole numbers and rounded once; beyond 2000 tokens
    by an incomplete beta function.

    >>> hemisphere_probability(6, 3)
    0.5
    """
    n, d = (whole(name, value, least=-(2**62), most=MOST) for name, value in (("n", n), ("d", d)))
    if n < 1 or d < 1:
        raise InputError(f"n = {n} tokens in dimension d = {d}: both must be at least 1.")
    if n <= d:
        return 1.0
    if n > LONG:
        return float(betainc(n - d, d, 0.5))
    total, choose = 0, 1
    for k in range(d):
        total += choose
        choose = choose * (n - 1 - k) // (k + 1)  # the next binomial coefficient
    return total / 2 ** (n - 1)
