r"""Whether tokens start separated, and for how long they must then stay in clusters (arXiv:2410.06833, section 2).

Caps $S_q(\varepsilon) = \{x : \langle x, w_q\rangle \ge 1 - \varepsilon\}$ around $k$ centres $w_q$, and

$$ \alpha = \max_{p \ne q}\ \max_{x \in S_p(2\varepsilon),\, y \in S_q(2\varepsilon)} \langle x, y\rangle, \qquad
   \gamma = 1 - \alpha - 8\varepsilon - \frac1\beta\log\frac{2n^2}{\varepsilon} . $$

Tokens are $(\beta, \varepsilon)$-separated when each starts in a cap, $\varepsilon < 1/16$ and $\gamma > 0$. Then for
SA and shifted USA, and any $\lambda$ with

$$ 0 < \lambda < 1 - \alpha - 8\varepsilon - \frac1\beta\log\frac{2n^2}{1 - 8\varepsilon}, \qquad
   \lambda < \frac{(\beta - 1)\varepsilon}{e\,\beta^2 n^2}\, e^{(1-\alpha)\beta} (1 - e^{-\gamma\beta}), $$

tokens stay in the caps of radius $2\varepsilon$ until $T_2$, and from $T_1$ to $T_2$ those of one cap have
$|x_i - x_j|^2 \le 2e^{-\lambda\beta}$, where

$$ T_1 \le 2n e^{8\varepsilon\beta} + \frac{e\,n\lambda\beta^2}{\beta - 1}, \qquad
   T_2 \ge \frac\varepsilon n e^{(1-\alpha)\beta} . $$

For a measure $\mu_0 = \frac1k\sum_q \nu_q$, each $\nu_q$ in its cap, $k$ takes the place of $n$ and
$\gamma > 8\varepsilon$ that of $\gamma > 0$. Derivations: docs/theory/metastability.md.
"""

from dataclasses import dataclass

import numpy as np

from ..checks import flag, number
from ..errors import InputError
from ..spaces import Number, Numbers, Sphere, check_tokens, check_weights


@dataclass(frozen=True, eq=False, repr=False)
class Separation:
    r"""The statement of the theorem for these tokens; printed, it is a sentence.

    - `separated`: whether the theorem applies, and `reason`, a sentence that says why (not).
    - `alpha`, `gamma`: see this module's text; `caps (n,)`: the cap of each token, -1 for none.
    - `lambda_bounds`: the two upper bounds of $\lambda$; `lam`: the one given or chosen (NaN: none is admissible).
    - `T1`, `T2`: the bounds of the theorem, infinite where they overflow; `log_T1`, `log_T2` never do.
    - `radius`: how close, at most, tokens of one cap are between the two times: $\sqrt2\,e^{-\lambda\beta/2}$.
    """

    separated: bool
    reason: str
    alpha: float
    gamma: float
    lambda_bounds: tuple[float, float]
    lam: float
    log_T1: float
    log_T2: float
    caps: np.ndarray
    eps: float
    beta: float

    @property
    def T1(self) -> float:
        """From this time on tokens of one cap are together."""
        return _exp(self.log_T1)

    @property
    def T2(self) -> float:
        """Until this time no token leaves its cap of twice the size."""
        return _exp(self.log_T2)

    @property
    def radius(self) -> float:
        """The greatest distance of tokens of one cap between T1 and T2."""
        return float(np.sqrt(2) * np.exp(-self.lam * self.beta / 2))

    def __repr__(self) -> str:
        """One sentence."""
        if not self.separated:
            return f"Not separated: {self.reason}"
        return (
            f"Separated: {self.reason} Clusters within {self.radius:.3g} from t = {_time(self.log_T1)} to "
            f"t = {_time(self.log_T2)} "
            f"at least (alpha = {self.alpha:.6g}, gamma = {self.gamma:.6g}, lambda = {self.lam:.6g})."
        )


def separation_report(
    x: Numbers,
    centres: Numbers,
    eps: Number,
    beta: Number,
    *,
    lam: Number | None = None,
    weights: Numbers | None = None,
    mean_field: bool = False,
) -> Separation:
    r"""Check the hypotheses of the metastability theorem and say what follows (arXiv:2410.06833, section 2).

    **Arguments:**

    - `x (n, d)`: the tokens at the start; `centres (k, d)`: those of the caps, k at least 2.
    - `eps`: the size of the caps, $\langle x, w_q\rangle \ge 1 - \varepsilon$; `beta`: the inverse temperature.
    - `lam`: the exponent $\lambda$; if `None`, half of the smaller of its two bounds.
    - `mean_field`: the version for measures, in which `weights` count and `n` does not.

    >>> import numpy as np
    >>> separation_report(np.eye(3), np.eye(3), eps=0.005, beta=30.0, lam=0.5).alpha.__round__(6)
    0.279313
    """
    tokens = np.asarray(check_tokens(x, Sphere()), float)
    middle = np.asarray(check_tokens(centres, Sphere()), float)
    eps, beta, lam = number("eps", eps), number("beta", beta), None if lam is None else number("lam", lam)
    _check(tokens, middle, eps, beta, lam)
    n, k = len(tokens), len(middle)
    w = check_weights(weights, n)
    alpha = greatest_inner_product(middle, eps)
    many = k if flag("mean_field", mean_field) else n
    gamma = 1 - alpha - 8 * eps - np.log(2 * many**2 / eps) / beta
    inside = tokens @ middle.T >= 1 - eps - 1e-12  # round-off must not expel a token on the rim
    caps = np.where(inside.any(axis=1), inside.argmax(axis=1), -1)
    mass = np.bincount(caps[caps >= 0], None if w is None else np.asarray(w, float)[caps >= 0], minlength=k)
    mass = mass / n if w is None else mass
    bounds = _lambda_bounds(alpha, gamma, eps, beta, many)
    lam = (min(bounds) / 2 if min(bounds) > 0 else np.nan) if lam is None else lam
    separated, reason = _verdict(caps, mass, eps, beta, gamma, lam, bounds, mean_field)
    return Separation(
        separated=separated,
        reason=reason,
        alpha=alpha,
        gamma=float(gamma),
        lambda_bounds=bounds,
        lam=float(lam),
        log_T1=_log_t1(lam, eps, beta, many),
        log_T2=float(np.log(eps / many) + (1 - alpha) * beta),
        caps=caps,
        eps=float(eps),
        beta=float(beta),
    )


def greatest_inner_product(centres: np.ndarray, eps: float) -> float:
    r"""$\alpha$ in closed form: caps of size $2\varepsilon$ reach $\arccos(1 - 2\varepsilon)$ towards each other.

    The nearest points of two caps lie on the great circle through their centres, so that
    $\alpha = \cos\max(\angle(w_p, w_q) - 2\arccos(1 - 2\varepsilon), 0)$ for the closest pair of centres.
    """
    p, q = np.triu_indices(len(centres), 1)
    chord = np.linalg.norm(centres[p] - centres[q], axis=1).min()
    angle = 2 * np.arcsin(min(chord / 2, 1.0))
    return float(np.cos(max(angle - 2 * np.arccos(1 - 2 * eps), 0.0)))


def _lambda_bounds(alpha: float, gamma: float, eps: float, beta: float, many: int) -> tuple[float, float]:
    first = 1 - alpha - 8 * eps - np.log(2 * many**2 / (1 - 8 * eps)) / beta if eps < 1 / 8 else -np.inf
    if beta <= 1:
        return float(first), -np.inf
    log_c = np.log(beta - 1) + np.log(eps) - 1 - 2 * np.log(beta) - 2 * np.log(many)
    # 1 - e^{-gamma beta} is negative when gamma is: then T1 would come after T2, whatever lambda is.
    second = -np.expm1(-gamma * beta) * _exp(log_c + (1 - alpha) * beta) if gamma != 0 else 0.0
    return float(first), float(second)


def _log_t1(lam: float, eps: float, beta: float, many: int) -> float:
    """A sum of exponentials, in logarithms; NaN where there is no lambda."""
    if beta <= 1 or np.isnan(lam):
        return np.nan
    return float(
        np.logaddexp(
            np.log(2 * many) + 8 * eps * beta, 1 + np.log(many) + np.log(lam) + 2 * np.log(beta) - np.log(beta - 1)
        )
    )


def _verdict(
    caps: np.ndarray,
    mass: np.ndarray,
    eps: float,
    beta: float,
    gamma: float,
    lam: float,
    bounds: tuple[float, float],
    mean_field: bool,
) -> tuple[bool, str]:
    k, least = len(mass), 8 * eps if mean_field else 0.0
    if eps >= 1 / 16:
        return False, f"eps = {eps:g} is not below 1/16; take smaller caps."
    if (caps < 0).any():
        i = int(np.argmax(caps < 0))
        return False, f"token {i} lies in no cap; take more centres or a larger eps than {eps:g}."
    if mean_field and not np.allclose(mass, 1 / k, rtol=0, atol=1e-9):
        return False, f"cap {int(np.abs(mass - 1 / k).argmax())} holds another mass than 1/{k}; change the weights."
    if beta <= 1:
        return False, f"beta = {beta:g} is not above 1; take a larger one."
    if gamma <= least:
        return False, f"gamma = {gamma:.4g} is not above {least:g}; take a larger beta, smaller caps, other centres."
    if not 0 < lam < min(bounds):
        return False, f"lambda = {lam:g} is not between 0 and {min(bounds):.6g}; choose another one."
    what = "mass" if mean_field else "token"
    return True, f"every {what} starts in one of {k} caps."


def _check(x: np.ndarray, centres: np.ndarray, eps: float, beta: float, lam: float | None) -> None:
    if len(centres) < 2:
        raise InputError(f"{len(centres)} centre cannot be separated from others; give at least two.")
    if x.shape[1] != centres.shape[1]:
        raise InputError(f"tokens have {x.shape[1]} coordinates and centres {centres.shape[1]}; give the same number.")
    for name, value in (("eps", eps), ("beta", beta), ("lam", 1.0 if lam is None else lam)):
        if not (np.isfinite(value) and value > 0):
            raise InputError(f"{name} = {value} must be a positive number.")
    if eps > 1:
        raise InputError(f"eps = {eps:g} makes caps larger than half of the sphere; take one below 1/16.")


def _time(log: float) -> str:
    """A time in words, also where it overflows."""
    return f"{_exp(log):.6g}" if _exp(log) < np.inf else f"e^{log:.6g}"


def _exp(value: float) -> float:
    with np.errstate(over="ignore"):
        return float(np.exp(value))
