r"""Layers of multi-head attention with random weights, fresh in every layer and common to all tokens.

$$ x_i \leftarrow \frac{x_i + \varepsilon\sum_{h=1}^H V_hm_i^h}{|x_i + \varepsilon\sum_h V_hm_i^h|}, \qquad
   m_i^h = \sum_j \operatorname{softmax}_j\big(\beta\,x_i^\top B_hx_j\big)\,x_j, \qquad
   \varepsilon = \eta/H \ \text{ or }\ \eta/\sqrt H. $$

$V_h$ has entries $N(0, \sigma_V^2)$ around $\bar v I$ and $B_h$ has entries $N(0, 1)$. In one layer the mean of the
sum is $\varepsilon H\,\bar v\,\mathbb Em_i$, and its covariance $\varepsilon^2H\,C_{ij}I_d$ with
$C_{ij} = \sigma_V^2\,\mathbb E\langle m_i, m_j\rangle$. So there are three limits of many small layers.

| `scaling` | a layer takes the time | mean of $V$ | limit |
|---|---|---|---|
| `"stochastic"` | $\varepsilon^2H$ | 0 | an SDE, the same noise for all tokens |
| `"mixed"` | $\varepsilon^2H$ | $\varepsilon vI$ | the SDE with the drift $P_iv\,\mathbb Em_i$ |
| `"deterministic"` | $\varepsilon H$ | $vI$ | the ODE $\dot x_i = P_iv\,\mathbb Em_i$ |

Reference: the setting of arXiv:2604.01978; the limits are derived in docs/theory/random-layers.md.
"""

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from ..checks import whole
from ..errors import InputError
from ..pairsums import AbstractPairs, Full
from ..parameters import Parameter, inverse_temperature, non_negative, parameter, positive
from ..registry import Entry, Param
from ..spaces import Count, is_concrete
from ._model import AbstractModel, check_parts
from ._random import (
    AbstractRandomModel,
    contract,
    gaussian_matrices,
    orthonormal_frame,
    random_readings,
    score_shapes,
    value_deviation,
)
from .homogenized import AveragedAttention, HomogenizedSDE

CHOICES = {
    "combine": ("mean", "sqrt"),
    "scaling": ("stochastic", "deterministic", "mixed"),
    "draw": ("matrices", "projected"),
}


class RandomLayers(AbstractRandomModel):
    r"""Random layers in the time of their limit: `simulate(model, x0, t1=T, key=key, solver="layers")`.

    A layer takes the time `model.dt`; $T$ is a whole number of layers.

    **Arguments:**

    - `beta >= 0`, `heads` $H$, `eta > 0`.
    - `sigma_V`: deviation of the entries of $V$; `None` is $1/\sqrt d$. `mean`: $v$ in the table above, a number.
    - `combine`: `"mean"` weighs a head by $\eta/H$, `"sqrt"` by $\eta/\sqrt H$.
    - `rank`: $B = Q^\top K/\sqrt k$ with heads of dimension $k$; `None` is a full Gaussian matrix.
    - `scaling`: see the table above.
    - `draw`: `"matrices"` draws $B_h$ and $V_h$; `"projected"` only what they do to the span of the tokens: $n^2 + nd$
      numbers and not $2d^2$, with the same law, for $n < d$.
    - `pairs`: the visible pairs.
    """

    papers: ClassVar[tuple[str, ...]] = ("homogenized",)

    beta: Any
    eta: Any
    sigma_V: Any
    mean: Any
    heads: int = eqx.field(static=True)
    combine: str = eqx.field(static=True)
    rank: int | None = eqx.field(static=True)
    scaling: str = eqx.field(static=True)
    draw: str = eqx.field(static=True)
    pairs: AbstractPairs

    def __init__(
        self,
        beta: Parameter,
        heads: Count = 1,
        eta: Parameter = 0.1,
        sigma_V: Parameter | None = None,
        mean: Parameter = 0.0,
        combine: str = "mean",
        rank: Count | None = None,
        scaling: str = "stochastic",
        draw: str = "matrices",
        pairs: AbstractPairs | None = None,
    ):
        self.beta = inverse_temperature(beta)
        self.eta = positive("eta", eta)
        self.sigma_V = None if sigma_V is None else non_negative("sigma_V", sigma_V)
        self.mean = parameter("mean", mean, ndim=0)
        self.heads = whole("heads", heads)
        self.rank = None if rank is None else whole("rank", rank)
        self.combine, self.scaling, self.draw = combine, scaling, draw
        check_parts(pairs=pairs)
        self.pairs = Full() if pairs is None else pairs
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise InputError(f"{name} = {getattr(self, name)!r} is unknown; choose one of {', '.join(choices)}.")
        if scaling == "stochastic" and is_concrete(self.mean) and np.any(np.asarray(self.mean) != 0):
            raise InputError(
                f"mean = {float(self.mean):g} outruns the noise in the stochastic scaling; take scaling='mixed', where "
                "it becomes a drift, or scaling='deterministic'."
            )

    @property
    def gain(self) -> Float[Array, ""]:
        r"""$\varepsilon$, the weight of one head."""
        return self.eta / (self.heads if self.combine == "mean" else self.heads**0.5)

    @property
    def dt(self) -> Float[Array, ""]:
        r"""The limit time of one layer: $\varepsilon H$ or $\varepsilon^2H$ (heads averaged: $\eta$ or $\eta^2/H$)."""
        return self.heads * (self.gain if self.scaling == "deterministic" else self.gain**2)

    def force(
        self,
        t: ArrayLike,
        x: Float[Array, "n d"],
        weights: Float[Array, " n"] | None,
        *,
        key: PRNGKeyArray | None = None,
        kernel: str = "auto",
    ) -> Float[Array, "n d"]:
        """The increment of the tokens in the layer that begins at `t`, per time."""
        n, d = x.shape
        frame, y = None, x
        if self.draw == "projected" and n < d:
            # In an orthonormal frame E of their span, E^T B E and V E have independent entries, as B and V have.
            frame = orthonormal_frame(x)
            y = contract(x, frame.T, kernel)
        r = y.shape[1]
        shapes = [*score_shapes(r, self.rank), (r, d)]
        *scores, V = gaussian_matrices(self.layer_key(t, key), self.heads, shapes, x.dtype)
        m = random_readings(scores, self.beta, y, weights, pairs=self.pairs, kernel=kernel)  # (H, n, r)
        moved = jnp.sum(jax.vmap(lambda m, V: contract(m, V, kernel))(m, V), axis=0)
        moved = value_deviation(self.sigma_V, d, x.dtype) * moved
        if self.scaling != "stochastic":
            read = jnp.sum(m, axis=0) if frame is None else contract(jnp.sum(m, axis=0), frame, kernel)
            v = self.mean * self.gain if self.scaling == "mixed" else self.mean
            moved = moved + v.astype(x.dtype) * read
        return (self.gain / self.dt).astype(x.dtype) * moved

    def limit(self, samples: int | None = None) -> AbstractModel:
        """The model of many layers with a small `eta`: `HomogenizedSDE`, in steps of `dt`, or `AveragedAttention`.

        `samples` is theirs: how many draws stand for a mean over the scores.
        """
        arguments = {} if samples is None else {"samples": samples}
        if self.scaling == "deterministic":
            if self.rank is not None:
                raise InputError(f"the mean over heads of rank {self.rank} is not offered; leave rank out.")
            return AveragedAttention(self.beta, self.mean, pairs=self.pairs, **arguments)
        return HomogenizedSDE(
            self.beta, step=self.dt, sigma_V=self.sigma_V, mean=self.mean, rank=self.rank, pairs=self.pairs, **arguments
        )


ENTRY = Entry(
    kind="model",
    name="random-layers",
    factory=RandomLayers,
    summary="layers of attention with fresh random weights, the same for all tokens; solver layers",
    params={
        "beta": Param(1.0, bounds=(0.0, 1e6), scale="log", symbol="β", help="inverse temperature"),
        "heads": Param(1, bounds=(1, 1024), symbol="H", help="heads of a random layer"),
        "eta": Param(0.1, bounds=(1e-6, 10.0), scale="log", symbol="η", help="weight of the branch of a random layer"),
    },
    spaces=("sphere",),
    symmetries=frozenset({"permutation", "splitting"}),
    papers=("homogenized",),
    page=False,
)
