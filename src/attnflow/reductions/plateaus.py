r"""Where the energy rests, and how long: heights of plateaus and the times of merges, from masses and angles alone.

Clusters of masses $W_k$ that do not see each other have $\widehat E = \sum_k W_k^2$ up to $e^{-\beta(1 - \cos u)}$ for
the least angle $u$ between them, and a merge of two of them lifts it by $2W_aW_b$. Two clusters at the angle $u$, far
from all others, merge after

$$ t = \frac{e^{\beta(1 - \cos u)}}{\beta\sin^2 u\; r}\Big(1 + \frac{2\cos u}{\beta\sin^2 u} + O(\beta^{-2})\Big),
   \qquad r = \frac pq + \frac qp \ \text{(SA)}, \quad p + q \ \text{(shifted USA)} . $$

Reference: docs/theory/metastability.md, How long a pair takes; arXiv:2410.06833, section 6.
"""

from typing import Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..errors import InputError
from ..spaces import Numbers, is_concrete
from ._scalar import Clock, check_beta, check_clock


def plateau_height(masses: Numbers) -> Float[Array, "..."]:
    r"""$\sum_k W_k^2$, the energy $\widehat E$ of clusters of these masses that do not see each other (last axis).

    >>> round(float(plateau_height([0.6, 0.2, 0.2])), 10)
    0.44
    """
    w = jnp.asarray(masses, jnp.result_type(float))
    if w.ndim == 0:
        raise InputError(f"masses = {masses} is one number; give the masses of all clusters, in a list.")
    if is_concrete(masses) and not (np.isfinite(np.asarray(w)).all() and (np.asarray(w) >= 0).all()):
        raise InputError(f"masses = {masses} must be finite and not negative.")
    return jnp.sum(w**2, axis=-1)


def merge_time(
    beta: Numbers,
    *,
    u0: Numbers,
    masses: tuple[Numbers, Numbers],
    kind: Clock = "SA",
    order: Literal[1, 2] = 1,
    log: bool = False,
) -> Float[Array, "..."]:
    r"""How long two well separated clusters take to merge, at leading order for large $\beta$ (see above).

    - `u0`: the angle between them; `masses`: $(p, q)$, which need not sum to one, as others may be far away.
    - `order=2` keeps the next term, $2\cos u_0/(\beta\sin^2 u_0)$; the angle must then be far from 0 and $\pi$.
    - `log=True` gives the natural logarithm, for times that overflow.

    The exact time of two clusters alone is `two_cluster_time`.
    """
    check_clock(kind)
    check_beta(beta)
    if order not in (1, 2):
        raise InputError(f"order = {order} is not known; take 1 or 2.")
    if is_concrete(u0) and not np.all((np.asarray(u0) > 0) & (np.asarray(u0) < np.pi)):
        raise InputError(f"u0 = {u0} must lie strictly between 0 and pi; at the ends nothing moves.")
    if len(masses) != 2 or (is_concrete(masses) and not all(np.all(np.asarray(m) > 0) for m in masses)):
        raise InputError(f"masses = {masses} must be two positive numbers, one for each cluster.")
    beta, u, p, q = (jnp.asarray(a, jnp.result_type(float)) for a in (beta, u0, *masses))
    rate = p / q + q / p if kind == "SA" else p + q
    slope = beta * jnp.sin(u) ** 2
    exponent = 2 * beta * jnp.sin(u / 2) ** 2 - (beta if kind in ("USA", "beta-USA") else 0.0)
    exponent = exponent - jnp.log(beta) if kind == "beta-USA" else exponent
    value = exponent - jnp.log(slope * rate)
    if order == 2:
        value = value + jnp.log1p(2 * jnp.cos(u) / slope)
    return value if log else jnp.exp(value)
