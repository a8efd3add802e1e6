r"""Unnormalised attention (USA): softmax attention without its denominator."""

from typing import Any, NoReturn

import equinox as eqx
from jaxtyping import Array, Float

from ..checks import flag
from ..errors import InputError
from ..pairsums import Inner, Total
from ..parameters import Parameter, inverse_temperature, parameter, score_matrices
from ..registry import Entry, Param
from ._attention import AbstractAttention


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
        beta: Parameter = 1.0,
        *,
        V: Parameter | None = None,
        B: Parameter | None = None,
        Q: Parameter | None = None,
        K: Parameter | None = None,
        shifted: bool = False,
        gradient: bool = False,
    ):
        self.shifted, self.gradient = flag("shifted", shifted), flag("gradient", gradient)
        if shifted and gradient:
            raise InputError("shifted and gradient are two clocks for one flow; choose one of them.")
        self.beta = inverse_temperature(beta)
        self.B, self.Q, self.K = score_matrices(B, Q, K)
        self.V = parameter("V", V, ndim=2)

    @property
    def clock(self) -> str:
        return "shifted USA" if self.shifted else "beta-USA" if self.gradient else "USA"

    @property
    def score(self) -> Inner:
        return Inner(self.beta, self.B, Q=self.Q, K=self.K)

    @property
    def reduce(self) -> Total:
        return Total(shift=self.beta if self.shifted else 0.0, factor=self.beta if self.gradient else 1.0)

    def gaussian(self, alpha: Float[Array, " d"], L: Float[Array, "d r"]) -> NoReturn:
        raise InputError(
            "the unnormalised map does not close on Gaussians: what a query reads grows like the exponential of its "
            "square, and the mean of that is infinite once |L^T A L| >= 1; take Softmax, or tokens (simulate)."
        )


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
