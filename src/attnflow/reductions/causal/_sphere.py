r"""Causal tokens on $S^{d-1}$ through the library's own models: any dimension, any attention map, any pairs.

The response estimator of docs/theory/lost-in-the-middle.md in any dimension: with $X$ the last token at time $t$,
$y$ a source at time 0, $J = \partial X/\partial y$ and $u = \langle X, y\rangle$,

$$ E\,P_l(u) = \frac1{d-1}\,E\Big[P^{(d+2)}_{l-1}(u)\,\mathrm{tr}\,J
   + \frac{(l-1)(l+d-1)}{d+1}\,P^{(d+4)}_{l-2}(u)\,y^\top JX\Big] , $$

where $P^{(d)}_l$ is the zonal polynomial of degree $l$ in dimension $d$. Reverse mode from the $d$ coordinates of $X$
gives $J$ for all sources at once.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...models import AbstractModel, field
from ...spaces import sphere
from ._steps import rk4
from .rates import zonal_terms


class SphereTokens(eqx.Module):
    """Tokens `(replicas, n, d)` that move by a model."""

    model: AbstractModel
    n: int = eqx.field(static=True)
    d: int = eqx.field(static=True)

    def start(self, key: Any, replicas: int) -> Float[Array, "r n d"]:
        """Independent uniform tokens."""
        return sphere.uniform(n=replicas * self.n, d=self.d, key=key).reshape(replicas, self.n, self.d)

    def last(self, x: Float[Array, "n d"], t: Float[Array, ""], steps: int) -> Float[Array, " d"]:
        """Where the last token of one replica is at time `t`."""
        moved = rk4(jax.checkpoint(lambda y: field(self.model, 0.0, y, kernel="dense")), x, t, steps)
        return self.model.space.nearest(moved[-1:])[0]

    def response(self, x: Array, t: Array, steps: int, modes: int) -> list[Array]:
        r"""$N$ times what is averaged in the equation above, for every degree, `(n - 1, r)`."""
        return self._all(lambda one: self._one_response(one, t, steps, modes), x)

    def direct(self, x: Array, t: Array, steps: int, modes: int) -> list[Array]:
        r"""$NP_l(\langle X, y\rangle)$ less the same at time 0, which has mean zero."""

        def one(x: Array) -> list[Array]:
            late, early = (zonal_terms(x[:-1] @ end, modes, self.d)[1:] for end in (self.last(x, t, steps), x[-1]))
            return [self.n * (a - b) for a, b in zip(late, early, strict=True)]

        return self._all(one, x)

    def _all(self, one: Any, x: Array) -> list[Array]:
        return [values.T for values in jax.vmap(one)(x)]

    def _one_response(self, x: Array, t: Array, steps: int, modes: int) -> list[Array]:
        end, pull = jax.vjp(lambda x: self.last(x, t, steps), x)
        J = jax.vmap(lambda v: pull(v)[0][:-1], out_axes=1)(jnp.eye(self.d, dtype=x.dtype))
        return [self.n * value for value in by_parts(J, x[:-1], end, modes)]


def by_parts(J: Float[Array, "k d d"], y: Float[Array, "k d"], X: Float[Array, " d"], modes: int) -> list[Array]:
    r"""What is averaged in the equation above, for sources $y$ with derivatives $J_k = \partial X/\partial y_k$."""
    d = X.shape[0]
    J = J - jnp.einsum("kij,kj,kl->kil", J, y, y)  # along the sphere
    u, trace = y @ X, jnp.einsum("kii->k", J)
    across = jnp.einsum("ki,kij,j->k", y, J, X)
    once, twice = zonal_terms(u, modes, d + 2), zonal_terms(u, modes, d + 4)
    found = []
    for l in range(1, modes + 1):  # noqa: E741 (the degree is called l)
        second = (l - 1) * (l + d - 1) / (d + 1) * twice[l - 2] * across if l > 1 else 0.0
        found.append((once[l - 1] * trace + second) / (d - 1))
    return found
