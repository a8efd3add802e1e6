r"""The interaction energy of the exponential maps, and when their flow climbs it.

$$ E_B(\mu) = \frac1{2\beta} \iint e^{\beta\langle x, By\rangle}\, d\mu(x)\, d\mu(y). $$

For symmetric $B$ and $V = B$ the flow is the gradient ascent of $E_B$, for the metric
$\sum_i w_i\langle a_i, b_i\rangle$ (unnormalised map) or the same weighted by $Z_i$ (softmax). So
$\dot E_B = \sum_i w_i |\dot x_i|^2$, or $\sum_i w_i Z_i |\dot x_i|^2$; for $V = -B$ it is
the descent. For $B = I$ on the sphere three scales are in use:

- `"E"`: as above, at most $e^\beta/2\beta$;
- `"E_p"`: $e^{-\beta} E$, at most $1/2\beta$;
- `"Ehat"`: $2\beta e^{-\beta}E = \sum_{ij} w_i w_j e^{\beta(\langle x_i,x_j\rangle - 1)} \in (0, 1]$.

Reference: arXiv:2312.10794, section 3; arXiv:2410.06833 for the other two scales.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..errors import InputError, shown
from ..pairsums import AbstractScore, pair_sums
from ..spaces import is_concrete, log_weights

SCALES = ("Ehat", "E", "E_p", "E_B")


def bilinear_form(attention: Any, d: int) -> np.ndarray:
    """The matrix B of an exponential map, the identity if it has none."""
    if attention.Q is not None:
        return np.asarray(attention.Q).T @ np.asarray(attention.K)
    return np.eye(d) if attention.B is None else np.asarray(attention.B)


def is_symmetric(attention: Any, d: int) -> bool:
    B = bilinear_form(attention, d)
    return B.shape == (d, d) and bool(np.allclose(B, B.T, rtol=0, atol=1e-12 * np.abs(B).max(initial=0)))


def direction(attention: Any, d: int) -> int:
    """+1 if the flow climbs $E_B$ (V = B symmetric), -1 if it descends (V = -B), 0 if it is no gradient flow."""
    if not is_symmetric(attention, d):
        return 0
    B = bilinear_form(attention, d)
    V = np.eye(d) if attention.V is None else np.asarray(attention.V)
    tolerance = {"rtol": 0, "atol": 1e-12 * np.abs(B).max(initial=1)}
    if V.shape == B.shape and np.allclose(V, B, **tolerance):
        return 1
    return -1 if V.shape == B.shape and np.allclose(V, -B, **tolerance) else 0


def scale_offset(scale: Any, beta: Float[Array, ""]) -> Float[Array, ""]:
    """Log of the factor from the scale `"E"` to another one; `"E_B"` is the scale `"E"` of its own B.

    `"E_S"`, Sinkhorn's, is the one scale of its map.
    """
    _check_known(scale, (*SCALES, "E_S"))
    if scale in ("E", "E_B", "E_S"):
        return jnp.zeros_like(beta)
    return -beta if scale == "E_p" else jnp.log(2 * beta) - beta


def _check_known(scale: Any, scales: tuple[str, ...]) -> None:
    if not isinstance(scale, str) or scale not in scales:
        raise InputError(f"energy scale {shown(scale)} is unknown; choose one of {', '.join(scales)}.")


def exponential_energy(
    score: AbstractScore,
    beta: Float[Array, ""],
    x: Float[Array, "n d"],
    w: Float[Array, " n"] | None,
    scale: Any,
    kernel: str = "auto",
) -> Float[Array, ""]:
    """The energy of one cloud, from log sums, so that a large beta does not overflow on the bounded scales."""
    _, log_z = pair_sums(score, x, x, 1.0, log_w=log_weights(w), reduce="exp", kernel=kernel)
    beta = beta.astype(x.dtype)
    log_w = log_weights(jnp.full(x.shape[0], 1 / x.shape[0], x.dtype) if w is None else w)
    offset = scale_offset(scale, beta)
    if scale == "Ehat":  # without the division by beta, so that beta = 0 is no special case
        return jnp.exp(jax.nn.logsumexp(log_z + log_w - beta))
    return jnp.exp(jax.nn.logsumexp(log_z + log_w + offset)) / (2 * beta)


def check_scale(scale: Any, attention: Any, x: Float[Array, "n d"], on_sphere: bool) -> str:
    """The scale asked for, or the default; refused in a sentence where it means nothing."""
    d = x.shape[-1]
    if not is_concrete(attention.B, attention.Q, attention.K, attention.V):
        # Inside a transformation matrices cannot be looked at: the caller knows what they are.
        return scale or ("E_B" if attention.B is not None or attention.Q is not None else "Ehat")
    if not is_symmetric(attention, d):
        raise InputError("this model has no energy: B is not symmetric; its flow is no gradient flow.")
    if not on_sphere and direction(attention, d) == 0:
        raise InputError("this model has no energy: in R^d only V = B or V = -B, symmetric, is a gradient flow.")
    identity = bool(np.array_equal(bilinear_form(attention, d), np.eye(d)))
    usual = "Ehat" if identity and on_sphere else ("E" if identity else "E_B")
    scale = usual if scale is None else scale
    _check_known(scale, SCALES)
    if scale in ("Ehat", "E_p") and usual != "Ehat":
        raise InputError(f"the scale {scale!r} is for B = I on the sphere; here ask for {usual!r}.")
    if scale == "E" and not identity:
        raise InputError("the scale 'E' is for B = I; here ask for 'E_B'.")
    if scale != "Ehat" and is_concrete(attention.beta) and attention.beta == 0:
        raise InputError(f"at beta = 0 the scale {scale!r} diverges; the energy of that limit is |mean of x|^2 / 2.")
    return scale
