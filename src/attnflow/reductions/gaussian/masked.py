r"""Linear attention with a causal mask on Gaussian laws that depend on the position.

The law at position $s$ is $N(\alpha_s, \Sigma_s)$, and a token reads the positions up to its own, with masses $\theta$:

$$ \Gamma_s(x) = VM_sAx, \qquad M_s = \frac{\sum_{\tau\le s}\theta_\tau(\Sigma_\tau + \alpha_\tau\alpha_\tau^\top)}
   {\sum_{\tau\le s}\theta_\tau}, \qquad \dot\alpha_s = VM_sA\alpha_s, \quad \dot L_s = VM_sAL_s . $$

(Other masked maps close only if all positions have the same law; they then move like unmasked ones.)
Reference: docs/theory/gaussian.md, Masked attention.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...attention import AbstractAttention, AffineField
from ...errors import InputError
from ...models import at_time
from ...pairsums import check_width
from ...pairsums.algebra import matmul
from ...spaces import Number, Numbers, check_weights, is_concrete
from ._law import law
from .velocity import check_time


def masked_linear_velocity(
    attention: AbstractAttention,
    alpha: Numbers,
    Sigma: Numbers | None = None,
    *,
    L: Numbers | None = None,
    weights: Numbers | None = None,
    t: Number = 0.0,
) -> AffineField:
    r"""`(GL, c)` of every position, `(S, d, r)` and `(S, d)`.

    **Arguments:** `attention`, a separable map such as `Linear`; `alpha (S, d)` with `Sigma (S, d, d)` or
    `L (S, d, r)`, positions in order (one mean, or one covariance, stands for all positions); `weights (S,)`, the
    masses $\theta$ of the positions, `None` for equal ones; `t`, the time that schedules are taken at.
    """
    if not getattr(attention, "separable", False):
        raise InputError(f"{type(attention).__name__} attention with a mask does not close on Gaussians; take Linear.")
    check_time(t)
    mean, factor = law(alpha, Sigma, L)
    if mean.ndim != 2:
        raise InputError(f"alpha has shape {mean.shape}; give one mean for every position, (S, d).")
    count, d = mean.shape
    checked = check_weights(weights, count)
    if checked is not None and is_concrete(checked) and not checked[0] > 0:
        raise InputError("weights give the first position no mass, so that it has nothing to read; leave it out.")
    attention = at_time(attention, t)
    if attention.V is not None:
        check_width("V", attention.V, d)
    masses = (jnp.full(count, 1 / count) if checked is None else checked).astype(factor.dtype)
    return _velocities(attention, mean, factor, masses)


@eqx.filter_jit
def _velocities(
    attention: AbstractAttention, mean: Float[Array, "S d"], factor: Float[Array, "S d r"], masses: Float[Array, " S"]
) -> AffineField:
    columns = jnp.concatenate([mean[:, :, None], factor], axis=2)
    moments = masses[:, None, None] * matmul(columns, jnp.swapaxes(columns, 1, 2))
    M = jnp.cumsum(moments, axis=0) / jnp.cumsum(masses)[:, None, None]
    one = jnp.eye(mean.shape[1], dtype=factor.dtype)
    tile = attention.score.project(one, one)
    moved = matmul(M, matmul(matmul(tile.keys, tile.queries.T), columns))  # the score of query x for key y is <Ax, y>
    moved = moved if attention.V is None else matmul(attention.V.astype(factor.dtype), moved)
    return AffineField(moved[:, :, 1:], moved[:, :, 0])
