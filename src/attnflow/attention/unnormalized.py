r"""Unnormalised attention (USA): softmax attention without its denominator."""

from typing import Any, NoReturn

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..errors import InputError
from ..pairsums import AbstractPairs, Full, Inner, Pointwise, pair_sums
from ..registry import Entry, Param
from ..spaces import log_weights
from ._attention import AbstractAttention, apply_value, inverse_temperature, parameter, score_matrices
from ._energy import check_scale, direction, exponential_energy


class Unnormalized(AbstractAttention):
    r"""$$ \Gamma_\mu(x) = \int e^{\beta\langle Qx, Ky\rangle}\, V y\, d\mu(y); $$

    with `shifted=True` the exponent is $\beta(\langle Qx, Ky\rangle - 1)$, which slows time by the constant factor
    $e^{\beta}$ and nothing else. (A shift that depends on the row, as softmax uses, would change the dynamics.)

    With `gradient=True` it is $\beta$ times as much, so that for $Q = K = V = I$ it is the gradient of
    $x \mapsto \int e^{\beta\langle x, y\rangle} d\mu(y)$, and time runs $\beta$ times as fast (the clock beta-USA).

    **Arguments:** as for `Softmax`, and `shifted` or `gradient`.

    ??? cite "A mathematical perspective on transformers, Geshkovski, Letrouit, Polyanskiy, Rigollet (arXiv:2312.10794)"
    """

    beta: Any
    B: Any
    V: Any
    Q: Any
    K: Any
    shifted: bool = eqx.field(static=True)
    gradient: bool = eqx.field(static=True)

    def __init__(
        self,
        beta: Any = 1.0,
        B: Any = None,
        V: Any = None,
        *,
        shifted: bool = False,
        gradient: bool = False,
        Q: Any = None,
        K: Any = None,
    ):
        if shifted and gradient:
            raise InputError("shifted and gradient are two clocks for one flow; choose one of them.")
        self.beta = inverse_temperature(beta)
        self.B, self.Q, self.K = score_matrices(B, Q, K)
        self.V = parameter("V", V, ndim=2)
        self.shifted = shifted
        self.gradient = gradient

    @property
    def clock(self) -> str:
        return "shifted USA" if self.shifted else "beta-USA" if self.gradient else "USA"

    @property
    def score(self) -> Inner:
        return Inner(self.beta, self.B, Q=self.Q, K=self.K)

    def __call__(
        self,
        x: Float[Array, "n d"],
        y: Float[Array, "m d"],
        w: Float[Array, " m"] | None = None,
        *,
        pairs: AbstractPairs = Full(),
        kernel: str = "auto",
        state: Any = None,
    ) -> Float[Array, "n p"]:
        mean, log_z = pair_sums(
            self.score, x, y, apply_value(self.V, y), log_w=log_weights(w), pairs=pairs, reduce="exp", kernel=kernel
        )
        if self.shifted:
            log_z = log_z - self.beta.astype(log_z.dtype)
        velocity = jnp.exp(log_z)[:, None] * mean
        return self.beta.astype(velocity.dtype) * velocity if self.gradient else velocity

    def recipe(self, y, w, *, pairs=Full(), kernel="auto"):
        shift, factor = self.beta if self.shifted else 0.0, self.beta if self.gradient else 1.0

        def log_weight(s: Array) -> Array:
            return s - jnp.asarray(shift, s.dtype) + jnp.log(jnp.asarray(factor, s.dtype))

        weight = lambda s: jnp.asarray(factor, s.dtype) * jnp.exp(s - jnp.asarray(shift, s.dtype))  # noqa: E731
        return log_weights(w), Pointwise(weight, log_weight)

    def gaussian(self, alpha: Float[Array, " d"], L: Float[Array, "d r"]) -> NoReturn:
        raise InputError(
            "the unnormalised map does not close on Gaussians: what a query reads grows like the exponential of its "
            "square, and the mean of that is infinite once |L^T A L| >= 1; take Softmax, or tokens (simulate)."
        )

    def energy_direction(self, d: int) -> int:
        """+1 if the flow climbs its energy, -1 if it descends, 0 if it is no gradient flow."""
        return direction(self, d)

    def energy_scale(self, scale: Any, x: Float[Array, "n d"], *, on_sphere: bool) -> str:
        """The energy scale asked for, or the default; refused in a sentence where it means nothing."""
        return check_scale(scale, self, x, on_sphere)

    def energy(
        self, x: Float[Array, "n d"], w: Float[Array, " n"] | None, *, scale: Any, kernel: str = "auto"
    ) -> Float[Array, ""]:
        """The interaction energy of one cloud on one of the scales."""
        return exponential_energy(self.score, self.beta, x, w, scale, kernel)

    def log_metric(self, x: Float[Array, "n d"], w: Float[Array, " n"] | None) -> Float[Array, " n"]:
        r"""The metric of the gradient flow weighs token $i$ by $w_i$; on other clocks by $e^\beta w_i$, $w_i/\beta$."""
        beta = self.beta.astype(x.dtype)
        faster = jnp.log(jnp.where(beta > 0, beta, 1)) if self.gradient else 0.0  # at beta = 0 nothing moves
        return jnp.full(x.shape[:1], beta if self.shifted else -faster, x.dtype)


ENTRY = Entry(
    kind="attention",
    name="unnormalized",
    factory=Unnormalized,
    summary="attention without the denominator (USA)",
    params={
        "beta": Param(1.0, bounds=(0.0, 1e6), scale="log", symbol="β", help="inverse temperature"),
        "shifted": Param(False, help="use the exponent β(<x,y> - 1), which slows time by e^β"),
        "gradient": Param(False, help="multiply by β, as the gradient of e^(β<x,y>) does: time is β times as fast"),
    },
    symmetries=frozenset({"permutation", "rotation", "splitting"}),
    monotone="increasing",
    closed_form="attnflow.reductions.equiangular:equiangular_flow",
    papers=("perspective",),
)
