r"""Proven bounds of $\|Df(X)\|$ for softmax attention and all tokens in a ball.

Let $|x_i| \le R$, $|x_i - x_j| \le D \le 2R$, $\alpha = \|\beta B\|$ and $a = \alpha R^2$. In units of $\|V\|$:

| name | bound | holds |
|---|---|---|
| `root-n` | $\sqrt3\,\sqrt{a^2(4n + 1) + n}$ | masked or not |
| `diameter` | $\sqrt{(\alpha RD)^2(n + 1) + n}$ | masked or not |
| `columns` | $\frac14\alpha D^2 + \sqrt{\sigma\,(1 + \frac14(\alpha RD)^2)}$ | masked or not, with different $\sigma$ |
| `wasserstein` | $(1 + 3a)\,e^{2a}$ | without mask, every $n$ |
| `kantorovich` | $a + (1 + 2a)\cosh a$ | without mask, every $n$ |
| `hardy` | $a + 2(1 + 2a)\,e^{2a}$ | masked, every $n$ |

Here $\sigma$ bounds the column sums of attention, with $s = \alpha RD$: $\sigma = n/(1 + (n-1)e^{-s})$ without a mask,
and $\sum_{i<n}1/(1 + ie^{-s})$ with one. So `columns` is like $\sqrt n$ for few tokens and $a + e^a\sqrt{1 + a^2}$ in
the limit of many; without a mask it is the smallest of all. Proofs: docs/theory/smoothness.md, Upper bounds.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...checks import flag, number, whole
from ...errors import InputError, shown
from ...spaces import Numbers
from ._norms import matrix_norms
from .cesaro import HARDY

PAPER = "arXiv:2312.14820"
PAGE = "docs/theory/smoothness.md, Upper bounds"
TERMS = 128  # terms of a sum that are written out; with more tokens the rest costs less than 1e-4
Curve = Callable[[Any], Any]  # of a, in units of |V|; inf where it overflows

# Those that hold for every number of tokens, and so for measures: name -> (masked, value, formula, where it is from).
UNIFORM: dict[str, tuple[bool, Curve, str, str]] = {
    "kantorovich": (False, lambda a: a + (1 + 2 * a) * np.cosh(a), "a + (1 + 2a) cosh a", PAGE),
    "wasserstein": (False, lambda a: (1 + 3 * a) * np.exp(2 * a), "(1 + 3a) e^2a", f"{PAPER}; {PAGE}"),
    "hardy": (True, lambda a: a + HARDY * (1 + 2 * a) * np.exp(2 * a), "a + 2 (1 + 2a) e^2a", PAGE),
}


def product(a: Any, b: Any) -> Any:
    """Zero where a factor is zero, though the other be infinite: no tokens, no scores, no values, no time."""
    with np.errstate(invalid="ignore"):
        return np.where((a == 0) | (b == 0), 0.0, np.multiply(a, b))[()]


def columns(alpha: Any, R: Any, D: Any, n: int | None, masked: bool) -> Any:
    r"""The bound by column sums; `n=None` for any number of tokens, infinite under a mask. Arguments broadcast."""
    s = alpha * R * D
    if n is None:
        sigma = np.full_like(s, np.inf) if masked else np.exp(s)
    elif masked:
        sigma = _masked_columns(np.exp(-s), n)
    else:
        sigma = n / (1 + (n - 1) * np.exp(-s))
    return alpha * D * D / 4 + np.sqrt(sigma * (1 + s * s / 4))


def _masked_columns(c: Any, n: int) -> Any:
    r"""$\sum_{i<n} 1/(1 + ic)$: the first terms, and for the others an integral, which is larger and close.

    A convex function is at most its mean over an interval around the point.
    """
    terms = min(n, TERMS)
    first = sum(1 / (1 + i * c) for i in range(terms))
    rest = (n - terms) * c / (1 + (terms - 0.5) * c)
    small = np.where(c > 0, c, 1.0)
    return first + np.where(c > 0, np.log1p(rest) / small, n - terms)


class Bound(NamedTuple):
    """An upper bound of the norm: its name, its value with the factor |V|, its formula without, and its source."""

    name: str
    value: float
    formula: str
    provenance: str


@dataclass(frozen=True, repr=False)
class Bounds:
    """All bounds that apply, by name; `best` is the smallest.

    >>> each = bounds(1.0, n=16)
    >>> round(each["kantorovich"], 3), each.best.name
    (5.629, 'columns')
    """

    entries: tuple[Bound, ...]

    def __getitem__(self, name: str) -> float:
        for bound in self.entries:
            if bound.name == name:
                return bound.value
        there = ", ".join(bound.name for bound in self.entries)
        raise InputError(f"there is no bound {shown(name)} here; choose one of {there}.")

    def __iter__(self) -> Iterator[Bound]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    @property
    def best(self) -> Bound:
        return min(self.entries, key=lambda bound: bound.value)

    def __repr__(self) -> str:
        return "\n".join(f"{b.name:12} {b.value:<12.6g} |V| x {b.formula}   ({b.provenance})" for b in self.entries)


def bounds(
    radius: Numbers,
    *,
    V: Numbers | None = None,
    B: Numbers | None = None,
    beta: Numbers = 1.0,
    n: Any = None,
    masked: bool = False,
    diameter: Numbers | None = None,
) -> Bounds:
    r"""Upper bounds of `local_lipschitz(af.Softmax(beta, V=V, B=B), x)` for every cloud with $|x_i| \le$ `radius`.

    **Arguments:** `V`, `B`: matrices, `None` for the identity; `n`: the number of tokens, `None` for bounds that hold
    whatever it is; `masked`: for `pairs=Causal()`; `diameter`: the largest distance of two tokens, if it is known to be
    less than twice the radius.
    """
    R, (v, alpha) = number("radius", radius, 0), matrix_norms(V, B, beta)
    n = None if n is None else whole("n", n)
    D = 2 * R if diameter is None else number("diameter", diameter, 0)
    if D > 2 * R:
        raise InputError(f"diameter = {D:g} is more than twice the radius {R:g}; no ball of that radius holds it.")
    D = 0.0 if n == 1 else D
    a, spread = alpha * R * R, alpha * R * D
    masked = flag("masked", masked)
    bounded = []
    if n is not None or not masked:
        with np.errstate(over="ignore"):
            value = float(columns(alpha, R, D, n, masked))
        bounded.append(Bound("columns", value, "αD²/4 + sqrt(σ (1 + (αRD)²/4))", PAGE))
    if n is not None:
        bounded += [
            Bound("diameter", math.sqrt(spread**2 * (n + 1) + n), "sqrt((αRD)² (n + 1) + n)", PAGE),
            Bound("root-n", math.sqrt(3 * (a * a * (4 * n + 1) + n)), "sqrt(3 (a² (4n + 1) + n))", f"{PAPER}; {PAGE}"),
        ]
    with np.errstate(over="ignore"):
        for name, (of_masked, curve, formula, provenance) in UNIFORM.items():
            if of_masked == masked:
                bounded.append(Bound(name, float(curve(a)), formula, provenance))
    return Bounds(tuple(bound._replace(value=float(product(v, bound.value))) for bound in bounded))
