r"""Two antipodal clusters, the last state but one at low temperature.

Clusters at $\pm c$ of masses $m_\pm$, $s = \beta\,c^\top B c$. The one at $c$ reads itself and the other with the
weights $m_+e^s$ and $m_-e^{-s}$, so it moves by

$$ g\,P_c V c, \qquad g = \frac{m_+e^s - m_-e^{-s}}{m_+e^s + m_-e^{-s}}
   = \tanh\Big(s + \tfrac12\log\frac{m_+}{m_-}\Big), $$

and the one at $-c$ by $-g'P_cVc$ with the masses swapped in $g'$. For large $s$ both factors are 1 and each cluster
goes to the dominant eigenvector of $V$ by itself. Derivation: docs/theory/low-temperature.md.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..checks import reals
from ..errors import InputError
from ..spaces import Sphere, check_weights, is_concrete
from ._scalar import check_beta, one_number


def antipodal_pair_rate(
    c: Any, *, V: Any, B: Any, beta: Any, masses: Any
) -> tuple[Float[Array, " d"], Float[Array, " d"]]:
    r"""The velocities of the clusters at $c$ and at $-c$; `masses` are $(m_+, m_-)$, which sum to one."""
    beta, c, V, B = check_beta(beta), reals("c", c), reals("V", V), reals("B", B)
    one_number(beta=beta)
    if c.ndim != 1 or V.shape != (c.size, c.size) or B.shape != V.shape:
        raise InputError(f"c, V and B have shapes {c.shape}, {V.shape} and {B.shape}; give (d,), (d, d) and (d, d).")
    if c.size == 0:
        raise InputError("c is empty; give a unit vector.")
    if is_concrete(c) and abs(float(jnp.linalg.norm(c)) - 1) > 1e-4:
        raise InputError(f"c has the norm {float(jnp.linalg.norm(c)):.6g}; give a unit vector.")
    m = check_weights(reals("masses", masses), 2)
    assert m is not None
    s, balance = beta * (c @ B @ c), (jnp.log(m[0]) - jnp.log(m[1])) / 2
    pull = Sphere().project(c, V @ c)
    return jnp.tanh(s + balance) * pull, -jnp.tanh(s - balance) * pull
