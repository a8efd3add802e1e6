r"""The maps for which a Gaussian flow exists for all times, by theorem: no finite run can show this.

- *Bounded rates.* If $|GL| \le C|L|$ and $|c| \le C(|\alpha| + |L|)$ the law grows exponentially at most.
  Sinkhorn attention (converged): $GL = VLZ^\top$ with $\|Z\| < 1$. L2 attention with injective $K$:
  $\|G\| \le \|V\|\|K^+\|\|Q\|$. Projected sigmoid attention: $\mathbb E\,\sigma'(u) \le 1/\sqrt{2\pi}s$ for $u$ of
  deviation $s$, so that $|\Gamma(x)| \le \|V\|(|\alpha| + |L|)$. Sums of such heads.
- *No positive direction.* Softmax with $V = I$ and $A + A^\top \preceq 0$: $Y = \Sigma^{-1}$ has
  $\dot Y = -(A + A^\top) - YW - W^\top Y$, so that it stays positive definite.

Derivations: docs/theory/gaussian.md, Behaviours.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np

from ...attention import AbstractAttention
from ...models import GaussianModel
from ...models.schedules import depends_on_time
from ...spaces import is_concrete


def exists_for_all_times(model: Any, d: int) -> str | None:
    """The reason, as the end of a sentence; `None` where no theorem here says so."""
    if not isinstance(model, GaussianModel) or depends_on_time(model) or not is_concrete(model):
        return None
    attention = model.attention
    reason = attention.bounded_growth(d)
    if reason is None and attention.exponential and attention.row_stochastic and _contracts(attention, d):
        return "V = I and A + A^T has no positive eigenvalue"
    return reason


def _contracts(attention: AbstractAttention, d: int) -> bool:
    if not attention.score.is_bilinear:
        return False
    one = jnp.eye(d)
    if attention.V is not None and not np.array_equal(np.asarray(attention.V), np.eye(d)):
        return False
    tile: Any = attention.score.project(one, one)
    A = np.asarray(tile.queries, float) @ np.asarray(tile.keys, float).T
    values = np.linalg.eigvalsh(A + A.T)
    return bool(values[-1] <= 0)
