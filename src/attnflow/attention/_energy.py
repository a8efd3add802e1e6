r"""Energies of tokens, and in which metric a flow climbs or descends them.

An energy $E$ and a flow belong together if $\dot E = \pm\sum_i w_i m_i |\dot x_i|^2$: the flow is the gradient ascent
(or descent) of $E$ in the metric $\sum_i w_i m_i \langle a_i, b_i\rangle$.

The interaction energy of the exponential maps is

$$ E_B(\mu) = \frac1{2\beta} \iint e^{\beta\langle x, By\rangle}\, d\mu(x)\, d\mu(y). $$

For symmetric $B$ and $V = B$ the flow climbs it, with $m_i = 1$ (unnormalised map) or $m_i = Z_i$ (softmax); for
$V = -B$ it descends. For $B = I$ on the sphere three scales are in use:

- `"E"`: as above, at most $e^\beta/2\beta$;
- `"E_p"`: $e^{-\beta} E$, at most $1/2\beta$;
- `"Ehat"`: $2\beta e^{-\beta}E = \sum_{ij} w_i w_j e^{\beta(\langle x_i,x_j\rangle - 1)} \in (0, 1]$.

Reference: arXiv:2312.10794, section 3; arXiv:2410.06833 for the other two scales.
"""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..errors import InputError, shown
from ..pairsums import AbstractScore, Total, pair_sums
from ..spaces import is_concrete, log_weights


class AbstractEnergy(eqx.Module):
    """An energy of clouds `(x, weights)`, on one or several scales, and what a flow does with it.

    `scales` are their names, the usual one first. `direction` is +1 if the flow climbs the energy, -1 if it descends,
    0 if it does neither.
    """

    @property
    @abc.abstractmethod
    def scales(self) -> tuple[str, ...]: ...

    @property
    @abc.abstractmethod
    def direction(self) -> int: ...

    @abc.abstractmethod
    def value(
        self,
        x: Float[Array, "n d"],
        weights: Float[Array, " n"] | None = None,
        *,
        scale: str | None = None,
        kernel: str = "auto",
    ) -> Float[Array, ""]:
        """The energy of one cloud, on a scale or on the usual one."""

    @abc.abstractmethod
    def log_metric(
        self, x: Float[Array, "n d"], weights: Float[Array, " n"] | None = None, *, scale: str | None = None
    ) -> Float[Array, " n"]:
        r"""$\log m_i$: the metric in which the flow climbs the energy weighs token $i$ by $w_im_i$."""

    def scale(self, name: Any = None) -> str:
        """The scale of that name, the usual one by default; refused in a sentence where there is none."""
        if name is None:
            return self.scales[0]
        if not isinstance(name, str) or name not in self.scales:
            raise InputError(f"the energy of this model has no scale {shown(name)}; take {' or '.join(self.scales)}.")
        return name


class InteractionEnergy(AbstractEnergy):
    r"""$E_B$ of a map with the score $\beta\langle x, By\rangle$, values $V$, and exponential weights.

    `total` is what multiplies their mean; `None`: they are divided by their sum.
    """

    score: AbstractScore
    V: Any
    total: Total | None
    on_sphere: bool = eqx.field(static=True)

    def __check_init__(self) -> None:
        check_gradient(self.score, self.V, self.on_sphere)

    @property
    def scales(self) -> tuple[str, ...]:
        B: Any = self.score.matrix  # pyright: ignore[reportAttributeAccessIssue]
        if self._known and B is not None and np.array_equal(B, np.eye(len(B))):
            B = None
        if B is not None:
            return ("E_B",) if self._known else ("E_B", "Ehat", "E", "E_p")
        return ("Ehat", "E", "E_p", "E_B") if self.on_sphere else ("E", "E_B")

    @property
    def direction(self) -> int:
        return direction(self.score, self.V)

    def scale(self, name: Any = None) -> str:
        name = super().scale(name)
        if name != "Ehat" and is_concrete(self._beta) and np.asarray(self._beta) == 0:
            raise InputError(f"at beta = 0 the scale {name!r} diverges; the energy of that limit is |mean of x|^2 / 2.")
        return name

    def value(self, x, weights=None, *, scale=None, kernel="auto"):
        return exponential_energy(self.score, self._beta, x, weights, self.scale(scale), kernel)

    def log_metric(self, x, weights=None, *, scale=None):
        scale, beta = self.scale(scale), self._beta.astype(x.dtype)
        if self.total is None:
            log_z = pair_sums(self.score, x, x, 1.0, log_w=log_weights(weights), reduce="exp")[1]
            return log_z + scale_offset(scale, beta)
        factor, shift = (jnp.asarray(a, x.dtype) for a in (self.total.factor, self.total.shift))
        slower = shift - jnp.log(jnp.where(factor > 0, factor, 1))  # with the factor zero nothing moves
        return jnp.broadcast_to(slower + scale_offset(scale, beta), x.shape[:1])

    @property
    def _beta(self) -> Float[Array, ""]:
        return self.score.beta  # pyright: ignore[reportAttributeAccessIssue]

    @property
    def _known(self) -> bool:
        return is_concrete(self.score, self.V)


def check_gradient(score: Any, V: Any, on_sphere: bool) -> None:
    """Refuse matrices with which there is no energy: B that is not symmetric, and in R^d a V that is not B or -B."""
    if not is_concrete(score, V):
        return  # inside a transformation matrices cannot be looked at: the caller knows what they are
    B = None if score.matrix is None else np.asarray(score.matrix)
    if B is not None and not (B.shape == B.T.shape and np.allclose(B, B.T, rtol=0, atol=_tolerance(B))):
        raise InputError("this model has no energy: B is not symmetric; its flow is no gradient flow.")
    if not on_sphere and direction(score, V) == 0:
        raise InputError("this model has no energy: in R^d only V = B or V = -B, symmetric, is a gradient flow.")


def direction(score: Any, V: Any) -> int:
    """+1 if $V = B$, so that the flow climbs its energy, -1 if $V = -B$, 0 otherwise."""
    if score.matrix is None and V is None:
        return 1
    B, V = (None if a is None else np.asarray(a) for a in (score.matrix, V))
    B = np.eye(len(V)) if B is None else B
    V = np.eye(len(B)) if V is None else V
    if V.shape != B.shape:
        return 0
    return next((sign for sign in (1, -1) if np.allclose(V, sign * B, rtol=0, atol=_tolerance(B))), 0)


def _tolerance(B: np.ndarray) -> float:
    return 1e-12 * np.abs(B).max(initial=0)


def scale_offset(scale: str, beta: Float[Array, ""]) -> Float[Array, ""]:
    """Log of the factor from the scale `"E"` to another one; `"E_B"` is the scale `"E"` of its own B."""
    if scale in ("E", "E_B"):
        return jnp.zeros_like(beta)
    return -beta if scale == "E_p" else jnp.log(2 * beta) - beta


def exponential_energy(
    score: AbstractScore,
    beta: Float[Array, ""],
    x: Float[Array, "n d"],
    w: Float[Array, " n"] | None,
    scale: str,
    kernel: str = "auto",
) -> Float[Array, ""]:
    """The energy of one cloud, from log sums, so that a large beta does not overflow on the bounded scales."""
    _, log_z = pair_sums(score, x, x, 1.0, log_w=log_weights(w), reduce="exp", kernel=kernel)
    beta = beta.astype(x.dtype)
    log_w = log_weights(jnp.full(x.shape[0], 1 / x.shape[0], x.dtype) if w is None else w)
    if scale == "Ehat":  # without the division by beta, so that beta = 0 is no special case
        return jnp.exp(jax.nn.logsumexp(log_z + log_w - beta))
    return jnp.exp(jax.nn.logsumexp(log_z + log_w + scale_offset(scale, beta))) / (2 * beta)
