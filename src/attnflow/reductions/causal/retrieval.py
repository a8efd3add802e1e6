r"""How well a decoder retrieves a source: the U-shape of lost-in-the-middle.

A decoder with $M$ classes around the circle, smoothed to a Gaussian window of width $\pi/M$, weighs mode $n$ by
$\omega_n = e^{-\pi^2n^2/2M^2}$. With $\phi_M(u) = 1 + 2\sum_n\omega_n\cos nu$ the last token, at depth $t$,
retrieves the source at $s$ with

$$ E\,\phi_M(\theta_{N-1}(t) - \theta_k(0)) = 1 + \tfrac2N S_t(s) + o(\tfrac1N), \qquad
   S_t(s) = \sum_n\omega_n\,g_{a_n}(t, 1; s) : $$

one is chance. The first sources are retrieved best (primacy), for $S_t \to \infty$ as $s \to 0$. The last ones are
retrieved better than those before them (recency, $S_t'(1) > 0$) if and only if

$$ t < t_{crit} = 2(1 - e^{-\lambda})\,\frac{\sum_n\omega_na_n}{\sum_n\omega_na_n^2} . $$

Then one source in the middle is retrieved worst. Derivations: docs/theory/lost-in-the-middle.md. Reference: the code
published with arXiv:2605.09213.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import exprel

from ...checks import number
from ...errors import InputError, shown
from ...spaces import Count, Number, Numbers
from ._checked import count_of_modes, not_negative, one_shape, positive, sources
from .closed_forms import depth, psi_shares
from .rates import rates

LARGEST = 1e300  # of a t: beyond, the shape no longer changes with it


class _Numbers(NamedTuple):
    weight: float
    beta: float
    context_slope: float


class Head(_Numbers):
    """One head of a readout: its weight, inverse temperature, and ALiBi slope times the number of tokens."""

    __slots__ = ()

    def __new__(cls, weight: Number, beta: Number, context_slope: Number):
        beta, context_slope = number("beta", beta, least=0), number("context_slope", context_slope, least=0)
        return super().__new__(cls, number("weight", weight), beta, context_slope)


DOUBLE_WELL = (
    Head(1.0, 0.2, 3.0),
    Head(-27.519314453632965, 0.2, 0.25),
    Head(-1.5515192155322617, 0.5, 0.25),
    Head(3.9262326774050965e-06, 3.0, 2.0),
)
"""Four heads of the authors whose profile has two equal minima at t = 1.5, classes = 8, modes = 20."""


def window(classes: Numbers = 8, modes: Count = 20) -> np.ndarray:
    r"""$\omega_n = e^{-\pi^2n^2/2M^2}$, $n = 1, \dots,$ `modes`, on a new last axis; $M$ = `classes`."""
    return np.exp(log_window(classes, modes))


def log_window(classes: Numbers, modes: Count) -> np.ndarray:
    r"""$\log\omega_n$, where $\omega_n$ may be too small to be written."""
    n = np.arange(1, count_of_modes(modes) + 1)
    with np.errstate(over="ignore"):
        return -((np.pi * n / positive("classes", classes)[..., None]) ** 2) / 2


def retrieval_profile(
    s: Numbers, t: Numbers, *, beta: Numbers, context_slope: Numbers, classes: Numbers = 8, modes: Count = 20
) -> np.ndarray:
    r"""$S_t(s)$ for sources at $0 < s \le 1$; all arguments but `modes` are broadcast together."""
    value, _, exponent, _ = scaled_profile(s, t, beta, context_slope, classes, modes)
    with np.errstate(over="ignore"):
        return np.asarray(value * np.exp(exponent / 2) * np.exp(exponent / 2))


def multi_head_profile(
    s: Numbers, t: Numbers, heads: Sequence[Head | Sequence[Number]], *, classes: Numbers = 8, modes: Count = 20
) -> np.ndarray:
    """The profiles of several heads, given as `(weight, beta, context_slope)`, added up with their weights.

    It is a combination of what independent heads read, and no flow of heads that act on the same tokens. An example
    with two minima is `DOUBLE_WELL`.
    """
    each = (
        head.weight
        * retrieval_profile(s, t, beta=head.beta, context_slope=head.context_slope, classes=classes, modes=modes)
        for head in check_heads(heads)
    )
    return np.asarray(sum(each))


def critical_time(*, beta: Numbers, context_slope: Numbers, classes: Numbers = 8, modes: Count = 20) -> np.ndarray:
    r"""$t_{crit}$: up to this depth the profile rises towards the last source. Zero without slope. Broadcasts."""
    beta, slope = positive("beta", beta), not_negative("context_slope", context_slope)
    one_shape(beta=beta, context_slope=slope, classes=positive("classes", classes))
    a, log_omega = rates(beta, count_of_modes(modes)), log_window(classes, modes)
    omega = np.exp(log_omega - log_omega.max(axis=-1, keepdims=True))  # a common factor does not matter
    largest = a.max(axis=-1, keepdims=True)  # taken out: squares of rates overflow, and underflow, early
    first, second = (np.sum(omega * (a / largest) ** power, axis=-1) for power in (1, 2))
    return np.asarray(-2 * np.expm1(-slope) * first / second / largest[..., 0])


def scaled_profile(s: Any, t: Any, beta: Any, slope: Any, classes: Any, modes: Any) -> tuple[Any, Any, Any, Any]:
    r"""$e^{-x}S$, $e^{-x-y}S'$, $x$ and $y$: $e^x$ is the size of the largest mode, so that signs survive any size.

    $S' = w\sum_n\omega_n[\lambda\psi(Y) - \psi'(Y)\,\lambda/(1 - e^{-\lambda s})]$, since $w' = \lambda w$ and
    $Y' = -\lambda/(1 - e^{-\lambda s})$.
    """
    t, beta, slope = (not_negative(name, v) for name, v in (("t", t), ("beta", beta), ("context_slope", slope)))
    s, at = sources(s, 1.0)
    classes = positive("classes", classes)
    one_shape(s=s, t=t, beta=beta, context_slope=slope, classes=classes)
    a = rates(beta, modes)
    log_omega = log_window(classes, modes)
    s, at, slope, t = (v[..., None] for v in (s, at, slope, t))
    fastest = a.max(axis=-1, keepdims=True)
    behind = depth(s, at, slope)
    # What all modes share is taken out, so that neither their rates nor their squares have to be written.
    with np.errstate(over="ignore"):
        value, change, exponent = psi_shares(np.minimum(a * t, LARGEST), behind)
    part = np.where(fastest > 0, a / np.where(fastest > 0, fastest, 1), 0.0)
    with np.errstate(divide="ignore"):
        log_terms = log_omega + exponent
        largest = log_terms.max(axis=-1, keepdims=True)
        common = largest + np.log(fastest) + np.log(t) - np.log(exprel(-slope)) - slope * (at - s)
    weight = part * np.exp(log_terms - largest)
    steep = np.maximum(slope, 1.0)
    rising = slope / steep * value - change / (s * exprel(-slope * s)) / steep
    S, change = (np.sum(weight * v, axis=-1) for v in (value, rising))
    # w(1, s) = e^{-λ(1 - s)} λ/(1 - e^{-λ})
    return S, change, common[..., 0], np.log(steep)[..., 0]


def check_heads(heads: Sequence[Head | Sequence[Number]]) -> list[Head]:
    """Heads as `Head`s of finite numbers; at least one."""
    try:
        rows = [Head(*head) for head in heads]
    except TypeError:
        raise InputError(f"heads = {shown(heads)}; give a list of (weight, beta, context_slope).") from None
    if not rows:
        raise InputError("heads is empty; give at least one (weight, beta, context_slope).")
    return rows
