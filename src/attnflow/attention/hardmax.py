r"""Hardmax attention: every query reads its best key alone, the limit of softmax as the temperature vanishes."""

from typing import Any, NoReturn

import jax.numpy as jnp
from jaxtyping import Array, Float

from .. import pairsums
from ..errors import InputError
from ..pairsums import Inner
from ..parameters import Parameter, non_negative, parameter, score_matrices
from ..registry import Entry, Param
from ._attention import AbstractAttention


class Hardmax(AbstractAttention):
    r"""$$ \Gamma_\mu(x) = \frac1{\mu(C(x))} \int_{C(x)} V y\, d\mu(y), \qquad
           C(x) = \Big\{ y \in \operatorname{supp}\mu :
           \langle Qx, Ky\rangle \ge \max_z \langle Qx, Kz\rangle - \mathrm{tol} \Big\}. $$

    Tied keys are averaged with their weights, so splitting a token in two changes nothing, and if all scores are equal
    the query reads the weighted mean. There is no temperature. The field jumps where the best key changes.

    **Arguments:** `B` (or `Q` and `K`, $B = Q^\top K$) and `V`, each `None` for the identity; `tol >= 0`, how far below
    the best score a key still ties, an absolute number. With `tol=0` two scores that agree on paper tie only if they
    agree in floating point.

    ??? cite "Clustering in pure-attention hardmax transformers, Alcalde, Fantuzzi, Zuazua (arXiv:2407.01602)"
    """

    B: Any
    V: Any
    tol: Any
    Q: Any
    K: Any

    def __init__(
        self,
        *,
        V: Parameter | None = None,
        B: Parameter | None = None,
        Q: Parameter | None = None,
        K: Parameter | None = None,
        tol: Parameter = 0.0,
    ):
        self.B, self.Q, self.K = score_matrices(B, Q, K)
        self.V = parameter("V", V, ndim=2)
        self.tol = non_negative("tol", tol)

    @property
    def clock(self) -> str:
        return "SA"

    @property
    def score(self) -> Inner:
        return Inner(jnp.ones(()), self.B, Q=self.Q, K=self.K)

    @property
    def reduce(self) -> pairsums.Hardmax:
        return pairsums.Hardmax(self.tol)

    def gaussian(self, alpha: Float[Array, " d"], L: Float[Array, "d r"]) -> NoReturn:
        raise InputError(
            "hardmax attention does not close on Gaussians: the best key of a Gaussian law lies at infinity; take "
            "Softmax, or tokens (simulate)."
        )


ENTRY = Entry(
    kind="attention",
    name="hardmax",
    factory=Hardmax,
    summary="the best key alone, ties averaged (softmax at zero temperature)",
    params={"tol": Param(0.0, bounds=(0.0, 1.0), help="how far below the best score a key still ties")},
    symmetries=frozenset({"permutation", "rotation", "splitting"}),
    papers=("hardmax",),
)
