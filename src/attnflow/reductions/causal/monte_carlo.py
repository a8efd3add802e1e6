r"""Correlations of finitely many causal tokens, by simulation.

Tokens start independent and uniform. The variance of $N\cos n(\theta_j(t) - \theta_k(0))$ is $N^2/2$ for each source;
`"direct"` averages it less the same at time 0. Integration by parts in $\theta_k(0)$ gives an estimator with the same
mean (`"response"`),

$$ N\,E\cos n(\theta_j(t) - \theta_k(0)) = N\,E\Big[\frac{\partial\theta_j(t)}{\partial\theta_k(0)}
   \cos n(\theta_j(t) - \theta_k(0))\Big] , $$

whose variance stays bounded, as the derivative is of order $1/N$. One reverse sweep from the last token gives all
sources. At equal times, turning the first tokens up to $k$ together turns $\theta_k(t)$ with them, so that

$$ N\,E\cos n(\theta_j(t) - \theta_k(t)) = N\,E\Big[\sum_{l\le k}\frac{\partial\theta_j(t)}{\partial\theta_l(0)}
   \cos n(\theta_j(t) - \theta_k(t))\Big] , $$

whose variance is of order $N$. Derivation, also in higher dimension: docs/theory/lost-in-the-middle.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import iv

from ...attention import Softmax, Unnormalized
from ...checks import finite_array, flag, number, whole
from ...errors import InputError, shown
from ...flows.compiled import timed_rows
from ...models import SelfAttention
from ...pairsums import AbstractPairs, Causal, weight_matrix
from ...spaces import Count, Key, Number, Numbers, checked_key
from ._checked import positive
from ._circle import Alibi, CircleTokens, Weights
from ._sphere import SphereTokens
from .rates import Normalize, check_normalize
from .retrieval import window

METHODS = ("response", "direct")
# Replicas that are computed together: on the circle their angles fill a core's first cache.
ANGLES, CLOUDS = 4096, 16
# Fourier modes of the force below this are left out, relative to the force.
TOLERANCE = 1e-8
# Above this slope the weights of first tokens would underflow in prefix sums, in single precision.
STEEP = 60.0
MOST_STEPS = 100_000
MOST = 10**9  # of anything that is counted
COLDEST = 600.0


@dataclass(frozen=True)
class Correlations:
    r"""Estimates of $N\,E\,P_n$ between the last token and every source $k = 0, \dots, N - 2$.

    The last token is at time $t$; sources are at time 0, or at $t$ with `equal_time`.
    `batches (many, modes, sources)` are means of `together` replicas each. They are independent and equally likely, so
    that any average of modes and sources has a standard error: that of the mean of batches.
    """

    batches: np.ndarray
    together: int
    equal_time: bool = False

    @property
    def replicas(self) -> int:
        return len(self.batches) * self.together

    @property
    def s(self) -> np.ndarray:
        r"""Positions of the sources, $s = (k + \frac12)/N$."""
        sources = self.batches.shape[2]
        return (np.arange(sources) + 0.5) / (sources + 1)

    @property
    def mean(self) -> np.ndarray:
        """`(modes, sources)`."""
        return self.batches.mean(axis=0)

    @property
    def stderr(self) -> np.ndarray:
        """Of every entry of `mean`."""
        return _stderr(self.batches)

    def average(
        self, sources: Count | slice | Sequence[Count] | np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Every mode averaged over some sources (an index, several, or a slice; all), and its standard error."""
        known = np.arange(self.batches.shape[2])
        try:
            chosen = known if sources is None else np.atleast_1d(known[sources])
        except IndexError:
            raise InputError(f"sources = {shown(sources)}; there are {len(known)}, counted from 0.") from None
        if not chosen.size:
            raise InputError(f"sources = {shown(sources)} are none of the {len(known)} there are.")
        each = self.batches[:, :, chosen].mean(axis=2)
        return each.mean(axis=0), _stderr(each)

    def profile(self, classes: Number = 8, edges: Numbers | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r"""The retrieval profile $\sum_n\omega_nG_n$: positions, values, standard errors.

        `edges`: bins of sources, as the index of the first source of each and the end of the last; by default every
        source by itself.
        """
        if self.equal_time:
            raise InputError("a retrieval profile is about sources at time 0; estimate with equal_time=False.")
        each = np.einsum("bms,m->bs", self.batches, window(classes, self.batches.shape[1]))
        if edges is None:
            return self.s, each.mean(axis=0), _stderr(each)
        each = bin_means(each, edges)
        return bin_means(self.s, edges), each.mean(axis=0), _stderr(each)


def bin_means(values: Numbers, edges: Numbers) -> np.ndarray:
    """Means of the last axis over bins of sources: from each edge to the one before the next."""
    values, ends = finite_array("values", values), finite_array("edges", edges)
    if not values.ndim:
        raise InputError(f"values = {values:g} is one number; give one for each source.")
    ends = ends.astype(int) if np.asarray(edges).dtype.kind in "iu" else ends
    if ends.ndim != 1 or ends.dtype.kind not in "iu" or len(ends) < 2 or (np.diff(ends) <= 0).any():
        raise InputError(f"edges = {shown(edges)}; give two or more increasing whole numbers.")
    if ends[0] < 0 or ends[-1] > values.shape[-1]:
        raise InputError(f"edges run from {ends[0]} to {ends[-1]}; there are {values.shape[-1]} sources.")
    return np.add.reduceat(values[..., : ends[-1]], ends[:-1], axis=-1) / np.diff(ends)


def estimate_correlations(
    key: Key,
    *,
    n: Count,
    t: Number,
    beta: Number,
    context_slope: Number | None = None,
    pairs: AbstractPairs | None = None,
    modes: Count = 1,
    replicas: Count = 4000,
    method: Literal["response", "direct"] = "response",
    d: Count = 2,
    normalize: Normalize = "positional",
    dt: Number | None = None,
    equal_time: bool = False,
) -> Correlations:
    r"""Correlations of the last of `n` tokens at time `t` with all others at time 0, for modes 1, …, `modes`.

    - `equal_time=True`: with all others at time `t`, which tend to `equal_time` for many tokens; the default ones
      tend to `two_time`.
    - `context_slope`: $\lambda$, the ALiBi slope per token times `n`; or `pairs`: any weights of earlier tokens, as
      `af.Causal(strict=True, …)` or `af.pairsums.Positional` give them (for `"positional"` they must be normalised).
    - `normalize`: `"positional"`, weights that sum to one and an unnormalised content; `"softmax"`, see `rates`.
    - `d`: tokens live on $S^{d-1}$. The circle with positional weights is fast; all else goes through the models.
    - `dt`: the step of the classical Runge–Kutta scheme; by default small enough to be lost in the noise.

    At least `replicas` are computed, in batches; random numbers follow from `key` and from these numbers alone.
    """
    n, modes, d = whole("n", n, least=2, most=MOST), whole("modes", modes, most=MOST), whole("d", d, least=2, most=MOST)
    replicas = whole("replicas", replicas, least=2, most=MOST)
    t, beta = number("t", t, least=0), float(positive("beta", number("beta", beta)))
    check_normalize(normalize)
    if not isinstance(method, str) or method not in METHODS:
        raise InputError(f"method = {shown(method)} is unknown; choose one of {', '.join(METHODS)}.")
    equal_time = flag("equal_time", equal_time)
    checked_key(key)
    steps = _steps(t, beta, normalize, dt)
    tokens, together = _tokens(n, d, beta, context_slope, pairs, normalize)
    # Standard errors come from batches: there should be many of them.
    together = max(1, min(together, replicas // 64))
    many = max(2, -(-replicas // together))
    arguments = (tokens, jnp.asarray(t, jnp.result_type(float)), key, steps, modes, method, together, equal_time)
    batches = np.asarray(timed_rows(_batches, *arguments, rows=np.arange(many), unroll=False).value, float)
    if not np.isfinite(batches).all():
        raise InputError(f"the flow to t = {t:g} is not finite in {steps} steps; give a smaller dt, t or beta.")
    return Correlations(batches, together, equal_time)


def _batches(
    tokens: CircleTokens | SphereTokens,
    t: Any,
    key: Any,
    steps: int,
    modes: int,
    method: str,
    together: int,
    equal_time: bool,
    rows: Any,
) -> Any:
    """Means of batches."""

    def one(row: Any) -> Any:
        start = tokens.start(jax.random.fold_in(key, row), together)
        return jnp.stack([jnp.mean(v, axis=1) for v in getattr(tokens, method)(start, t, steps, modes, equal_time)])

    return jax.lax.map(one, rows)


def _tokens(
    n: int, d: int, beta: float, slope: Number | None, pairs: AbstractPairs | None, normalize: Normalize
) -> tuple[CircleTokens | SphereTokens, int]:
    """The tokens of one replica, and how many replicas are computed together."""
    if (slope is None) == (pairs is None):
        raise InputError("give context_slope, the ALiBi slope per token times n, or pairs, and not both.")
    positional, by_prefix = normalize == "positional", False
    if slope is None:
        seen = _checked_pairs(pairs, n, normalize)
    else:
        slope = number("context_slope", slope, least=0)
        by_prefix = slope <= STEEP
        seen = Causal(strict=True, slope=slope / n, normalized=positional)
    if d == 2 and positional:
        earlier = Alibi(jnp.asarray(slope)) if by_prefix else Weights(weight_matrix(seen, n))
        return CircleTokens(jnp.asarray(_bessel(beta)), earlier, n), max(16, ANGLES // n)
    attention = Unnormalized(beta, gradient=True) if positional else Softmax(beta)
    return SphereTokens(SelfAttention(attention, pairs=seen), n, d), CLOUDS


def _checked_pairs(pairs: Any, n: int, normalize: str) -> AbstractPairs:
    if not isinstance(pairs, AbstractPairs):
        raise InputError(f"pairs = {shown(pairs)}; give for example af.Causal(strict=True, normalized=True).")
    if np.triu(np.asarray(weight_matrix(pairs, n))).any():
        raise InputError("pairs let tokens see themselves or later ones; take af.Causal(strict=True, ...).")
    if normalize == "positional" and not pairs.normalized:
        raise InputError("these pairs are not normalised; take normalized=True, or normalize='softmax'.")
    return pairs


def _bessel(beta: float) -> np.ndarray:
    """I_1, I_2, ... as far as the force needs them."""
    if beta > COLDEST:
        raise InputError(f"beta = {beta:g}: forces like e^beta are beyond double precision; take at most {COLDEST:g}.")
    m = np.arange(1, 30 + int(9 * math.sqrt(beta) + 2 * beta))
    size = m * iv(m, beta)
    return iv(m, beta)[: 1 + int(np.flatnonzero(size > TOLERANCE * size.max())[-1])]


def _steps(t: float, beta: float, normalize: str, dt: Any) -> int:
    """So many that their error is far below the noise, unless `dt` is given; forces and derivatives grow with beta."""
    if dt is not None:
        needed = t / float(positive("dt", number("dt", dt)))
    elif normalize == "positional":
        needed = 10 * t * beta * math.exp(min(beta, COLDEST) - 1)
    else:
        needed = 5 * t * (1 + beta)
    if needed > MOST_STEPS:
        raise InputError(
            f"t = {t:g} takes {needed:.2g} steps at beta = {beta:g}, more than {MOST_STEPS}; compare t with "
            "af.reductions.causal.critical_time, or give a longer dt."
        )
    return max(1, math.ceil(needed - 1e-9))


def _stderr(values: np.ndarray) -> np.ndarray:
    return values.std(axis=0, ddof=1) / math.sqrt(len(values))
