r"""For which maps a Gaussian flow exists for all times, by theorem: what no finite run can show.

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

from ...attention import L2, MultiHead, Sigmoid, Sinkhorn, Softmax
from ...models import GaussianModel
from ...models.schedules import depends_on_time
from ...spaces import is_concrete


def exists_for_all_times(model: Any, d: int) -> str | None:
    """The reason, as the end of a sentence; `None` where no theorem here says so."""
    if not isinstance(model, GaussianModel) or depends_on_time(model) or not is_concrete(model):
        return None
    heads = model.attention.heads if isinstance(model.attention, MultiHead) else (model.attention,)
    reasons = [_bounded(head, d) for head in heads]
    if all(reasons):
        return " and ".join(dict.fromkeys(reason for reason in reasons if reason))
    if isinstance(model.attention, Softmax) and _contracts(model.attention, d):
        return "V = I and A + A^T has no positive eigenvalue"
    return None


def _bounded(head: Any, d: int) -> str | None:
    if isinstance(head, Sinkhorn) and head.half_steps is None:
        return "the rates of Sinkhorn attention are bounded by |V|"
    if isinstance(head, Sigmoid):
        return "the rates of the projected sigmoid map are bounded by |V|"
    if isinstance(head, L2) and (head.K is None or np.linalg.matrix_rank(np.asarray(head.K, float)) == d):
        return "the rates of L2 attention with injective K are bounded"
    return None


def _contracts(attention: Softmax, d: int) -> bool:
    one = jnp.eye(d)
    if attention.V is not None and not np.array_equal(np.asarray(attention.V), np.eye(d)):
        return False
    tile: Any = attention.score.project(one, one)
    A = np.asarray(tile.queries, float) @ np.asarray(tile.keys, float).T
    values = np.linalg.eigvalsh(A + A.T)
    return bool(values[-1] <= 0)
