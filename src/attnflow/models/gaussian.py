r"""The dynamical system of a Gaussian law: attention, and an affine feed-forward layer beside it."""

from typing import Any, NoReturn

from jaxtyping import Array, ArrayLike, Float

from ..attention import AbstractAttention
from ..errors import InputError
from ..pairsums.algebra import matmul
from ..parameters import Parameter
from ..spaces import AbstractSpace, Euclidean
from ._model import AbstractModel
from .schedules import at_time


class GaussianModel(AbstractModel):
    r"""$\dot x = \Gamma_\mu(x) + Wx + b$ on Gaussian laws: $\dot\alpha = c + W\alpha + b$, $\dot L = (G + W)L$.

    `W` and `b` may be `None`. Any numeric field may be a schedule of time. A run of it holds the mean as its one token;
    it goes on by `attnflow.gaussian.flow` with the last mean and factor, not by `simulate`.
    """

    attention: AbstractAttention
    W: Any
    b: Any
    space: AbstractSpace

    def __init__(
        self,
        attention: AbstractAttention,
        W: Parameter | None = None,
        b: Parameter | None = None,
        space: AbstractSpace | None = None,
    ):
        self.attention, self.W, self.b = attention, W, b
        self.space = Euclidean() if space is None else space

    @property
    def clock(self) -> str:
        return self.attention.clock

    @property
    def papers(self) -> tuple[str, ...]:
        return ("unified",)

    def velocity(
        self, t: ArrayLike, alpha: Float[Array, " d"], L: Float[Array, "d r"]
    ) -> tuple[Float[Array, " d"], Float[Array, "d r"]]:
        r"""$(\dot\alpha, \dot L)$."""
        here = at_time(self, t)
        GL, c = here.attention.gaussian(alpha, L)
        if c.shape != alpha.shape:
            raise InputError(
                f"the attention map gives velocities of dimension {c.shape[0]} to a law in dimension {alpha.shape[0]}; "
                "take a square V."
            )
        if here.W is not None:
            W = here.W.astype(L.dtype)
            GL, c = GL + matmul(W, L), c + matmul(W, alpha)
        return (c if here.b is None else c + here.b.astype(L.dtype)), GL

    def force(
        self, t: ArrayLike, x: Float[Array, "n d"], weights: Any, *, key: Any = None, kernel: str = "auto"
    ) -> NoReturn:
        raise InputError(
            "this is the mean of a Gaussian flow, not a cloud of tokens; go on with attnflow.gaussian.flow from "
            "run.xs[-1, 0] and L0 = run.info['L'][-1]."
        )
