r"""Causal tokens on $S^{d-1}$ through the library's own models: any dimension, any attention map, any pairs.

The response estimator of docs/theory/lost-in-the-middle.md in any dimension: with $X$ the last token at time $t$,
$y$ a source at time 0, $J = \partial X/\partial y$ and $u = \langle X, y\rangle$,

$$ E\,P_l(u) = \frac1{d-1}\,E\Big[P^{(d+2)}_{l-1}(u)\,\mathrm{tr}\,J
   + \frac{(l-1)(l+d-1)}{d+1}\,P^{(d+4)}_{l-2}(u)\,y^\top JX\Big] , $$

where $P^{(d)}_l$ is the zonal polynomial of degree $l$ in dimension $d$. Reverse mode from the $d$ coordinates of $X$
gives $J$ for all sources at once. At equal times, with $Y$ the source at time $t$ and
$M = \sum_{l\le k}J_l\otimes y_l$ over the tokens up to it, the same holds with

$$ M_{iis}Y_s - M_{ipi}Y_p \quad\text{and}\quad Y_iM_{ipq}(X_pY_q - X_qY_p) $$

for the trace and for $y^\top JX$: rotations of the first $k$ tokens leave their law alone and rotate $Y$.
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

    def moved(self, x: Float[Array, "n d"], t: Float[Array, ""], steps: int) -> Float[Array, "n d"]:
        """The tokens of one replica at time `t`."""
        moved = rk4(jax.checkpoint(lambda y: field(self.model, 0.0, y, kernel="dense")), x, t, steps)
        return self.model.space.nearest(moved)

    def response(self, x: Array, t: Array, steps: int, modes: int, equal_time: bool = False) -> list[Array]:
        r"""$N$ times what is averaged in the equation above, for every degree, `(n - 1, r)`."""
        return self._all(lambda one: self._one_response(one, t, steps, modes, equal_time), x)

    def direct(self, x: Array, t: Array, steps: int, modes: int, equal_time: bool = False) -> list[Array]:
        r"""$NP_l(\langle X, y\rangle)$, $y$ at time 0 or $t$, less the same at time 0, which has mean zero."""

        def one(x: Array) -> list[Array]:
            moved = self.moved(x, t, steps)
            pairs = ((moved[-1], moved if equal_time else x), (x[-1], x))
            late, early = (zonal_terms(y[:-1] @ end, modes, self.d)[1:] for end, y in pairs)
            return [self.n * (a - b) for a, b in zip(late, early, strict=True)]

        return self._all(one, x)

    def _all(self, one: Any, x: Array) -> list[Array]:
        return [values.T for values in jax.vmap(one)(x)]

    def _one_response(self, x: Array, t: Array, steps: int, modes: int, equal_time: bool = False) -> list[Array]:
        def last(x: Array) -> tuple[Array, Array]:
            end = self.moved(x, t, steps)
            return end[-1], end

        end, pull, moved = jax.vjp(last, x, has_aux=True)
        J = jax.vmap(lambda v: pull(v)[0][:-1], out_axes=1)(jnp.eye(self.d, dtype=x.dtype))
        y, Y = x[:-1], moved[:-1]
        averaged = by_rotations(J, y, Y, end, modes) if equal_time else by_parts(J, y, end, modes)
        return [self.n * value for value in averaged]


def by_parts(J: Float[Array, "k d d"], y: Float[Array, "k d"], X: Float[Array, " d"], modes: int) -> list[Array]:
    r"""The integrand of the equation above, for sources $y$ with derivatives $J_k = \partial X/\partial y_k$."""
    J = J - jnp.einsum("kij,kj,kl->kil", J, y, y)  # along the sphere
    return _degrees(y @ X, jnp.einsum("kii->k", J), jnp.einsum("ki,kij,j->k", y, J, X), modes, X.shape[0])


def by_rotations(
    J: Float[Array, "k d d"], y: Float[Array, "k d"], Y: Float[Array, "k d"], X: Float[Array, " d"], modes: int
) -> list[Array]:
    """The same at equal times: sources started at `y` and are at `Y`."""
    M = jnp.cumsum(jnp.einsum("kip,kq->kipq", J, y), axis=0)
    trace = jnp.einsum("kiis,ks->k", M, Y) - jnp.einsum("kipi,kp->k", M, Y)
    across = jnp.einsum("ki,kipq,p,kq->k", Y, M, X, Y) - jnp.einsum("ki,kipq,q,kp->k", Y, M, X, Y)
    return _degrees(Y @ X, trace, across, modes, X.shape[0])


def _degrees(u: Array, trace: Array, across: Array, modes: int, d: int) -> list[Array]:
    once, twice = zonal_terms(u, modes, d + 2), zonal_terms(u, modes, d + 4)
    degrees = []
    for l in range(1, modes + 1):  # noqa: E741 (the degree is called l)
        second = (l - 1) * (l + d - 1) / (d + 1) * twice[l - 2] * across if l > 1 else 0.0
        degrees.append((once[l - 1] * trace + second) / (d - 1))
    return degrees
