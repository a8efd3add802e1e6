r"""Where the energy rests, and how long: heights of plateaus and the times of merges, from masses and angles alone.

Clusters of masses $W_k$ that do not see each other have $\widehat E = \sum_k W_k^2$ up to $e^{-\beta(1 - \cos u)}$ for
the least angle $u$ between them, and a merge of two of them lifts it by $2W_aW_b$. Two clusters at the angle $u$, far
from all others, merge after

$$ t = \frac{e^{\beta(1 - \cos u)}}{\beta\sin^2 u\; r}\Big(1 + \frac{2\cos u}{\beta\sin^2 u} + O(\beta^{-2})\Big),
   \qquad r = \frac pq + \frac qp \ \text{(SA)}, \quad p + q \ \text{(shifted USA)} . $$

Reference: docs/theory/metastability.md, How long a pair takes; arXiv:2410.06833, section 6.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..checks import reals, whole
from ..errors import InputError, shown
from ..spaces import is_concrete
from ._scalar import Clock, check_beta, check_clock, check_each, log_clock, together, written_time


def plateau_height(masses: Any) -> Float[Array, "..."]:
    r"""$\sum_k W_k^2$, the energy $\widehat E$ of clusters of these masses that do not see each other (last axis).

    >>> round(float(plateau_height([0.6, 0.2, 0.2])), 10)
    0.44
    """
    w = reals("masses", masses)
    if w.ndim == 0 or w.shape[-1] == 0:
        raise InputError(f"masses = {shown(masses)} is one number or none; give the masses of all clusters, in a list.")
    check_each("masses", w, lambda w: w >= 0, "must be finite and not negative.")
    return jnp.sum(w**2, axis=-1)


def merge_time(
    beta: Any,
    *,
    u0: Any,
    masses: Any,
    kind: Clock | Any = "SA",
    order: Any = 1,
    log: bool = False,
) -> Float[Array, "..."]:
    r"""How long two well separated clusters take to merge, at leading order for large $\beta$ (see above).

    - `u0`: the angle between them; `masses`: $(p, q)$, which need not sum to one, as others may be far away.
    - `order=2` keeps the next term, $2\cos u_0/(\beta\sin^2 u_0)$; the angle must then be far from 0 and $\pi$.
    - `log=True` gives the natural logarithm, for times that overflow.

    Broadcast over `beta`, `u0`, $p$ and $q$. It is an expansion for $\beta\sin^2u_0 \gg 1$, and says nothing of its
    own error.

    The exact time of two clusters alone is `two_cluster_time`.
    """
    check_clock(kind)
    order = whole("order", order, most=2)
    several = isinstance(masses, tuple | list) or (isinstance(masses, np.ndarray | Array) and masses.ndim > 0)
    if not several or len(masses) != 2:
        raise InputError(f"masses = {shown(masses)} must be two positive numbers, one for each cluster.")
    first, second = (reals("masses", m) for m in masses)
    beta, u, p, q = together(beta=check_beta(beta), u0=reals("u0", u0), p=first, q=second)
    between = "must lie strictly between 0 and pi; at the ends nothing moves."
    check_each("u0", u, lambda u: (u > 0) & (u < np.pi), between)
    if is_concrete(p, q) and not np.all((np.asarray(p) > 0) & (np.asarray(q) > 0)):
        raise InputError(f"masses = {shown(masses)} must be two positive numbers, one for each cluster.")
    if is_concrete(beta) and not np.all(np.asarray(beta) > 0):
        raise InputError("beta = 0: the formula is that of a large beta; take two_cluster_time.")
    odds = jnp.log(p) - jnp.log(q)
    log_rate = jnp.logaddexp(odds, -odds) if kind == "SA" else jnp.log(p + q)
    log_slope = jnp.log(beta) + 2 * jnp.log(jnp.sin(u))
    value = 2 * beta * jnp.sin(u / 2) ** 2 - log_clock(beta, kind) - log_slope - log_rate
    if order == 2:
        correction = 2 * jnp.cos(u) * jnp.exp(-log_slope)
        if is_concrete(correction) and np.any(np.asarray(correction) <= -1):
            raise InputError(
                f"the next term is {np.asarray(correction).min():.3g} of the first, which makes no time; take a larger "
                "beta, order=1, or two_cluster_time."
            )
        value = value + jnp.log1p(correction)
    return written_time(jnp.ones_like(value), value, log)
