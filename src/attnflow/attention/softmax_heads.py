r"""The softmax heads of one layer of a transformer, as matrices stacked by head.

$$ \Gamma_\mu(x_i) = b + \sum_{h=1}^H W_h\sum_j A^h_{ij}\,(V_{g(h)}y_j + v_{g(h)}), \qquad
   A^h_{ij} \propto w_j\,e^{\beta\langle R_i(Q_hx_i + a_h),\ R_j(K_{g(h)}y_j + c_{g(h)})\rangle}, $$

with $g(h) = \lfloor hG/H\rfloor$: heads may share keys and values in $G$ groups. $R$ turns queries and keys by their
positions (`frequencies`), or is the identity. Head $h$ acts by the matrix $W_hV_{g(h)}$ and compares by
$B_h = Q_h^\top K_{g(h)}$, as `MultiHead` has it; what is more here are biases, positions and groups, and that a layer
is a few large products.
"""

from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..checks import is_concrete, whole
from ..errors import InputError
from ..pairsums import AbstractPairs, Full
from ..pairsums.algebra import matmul
from ..parameters import weight_array
from ..spaces import Count, Numbers
from ._affine_score import AffineScore, affine
from ._attention import AbstractAttention


class SoftmaxHead(AbstractAttention):
    r"""One of the heads: $\sum_jA_{ij}(Vy_j + v)$, before its $W$; `V=None` reads the tokens themselves."""

    compared: AffineScore
    V: Float[Array, "k d"] | None
    v: Float[Array, " k"] | None

    def __init__(
        self, compared: AffineScore, V: Float[Array, "k d"] | None = None, v: Float[Array, " k"] | None = None
    ):
        self.compared, self.V, self.v = compared, V, v

    @property
    def clock(self) -> str:
        return "SA"

    @property
    def score(self) -> AffineScore:
        return self.compared

    @property
    def reduce(self) -> str:
        return "softmax"

    @property
    def one_sum(self) -> bool:
        return True

    @property
    def row_stochastic(self) -> bool:
        return True

    def values(self, y: Float[Array, "m d"]) -> Float[Array, "m p"]:
        return y if self.V is None else affine(y, self.V, self.v)


class SoftmaxHeads(AbstractAttention):
    r"""The heads of one layer; see this module's text.

    **Arguments:**

    - `Q (H, k, d)`, `K (G, k, d)`, `V (G, k, d)`, `W (H, d, k)`, with $G$ a divisor of $H$. Without `V` and `W` every
      head reads the tokens themselves and the layer takes the mean of the heads: $W_hV_h = I/H$.
    - `beta`: by default $1/\sqrt k$.
    - `q_bias (H, k)`, `k_bias (G, k)`, `v_bias (G, k)`, `bias (d,)`: $a$, $c$, $v$ and $b$, each `None` for zero.
    - `frequencies`: at most $k/2$ numbers $\omega_l$; token $i$ is turned by $i\,\omega_l$ in the plane of coordinates
      $l$ and $l + k/2$ of queries and keys.

    Every array may have one more axis in front, for a stack of layers (`models.LayerStack`).
    """

    beta: Float[Array, "*L"]
    Q: Float[Array, "*L H k d"]
    K: Float[Array, "*L G k d"]
    V: Float[Array, "*L G k d"] | None
    W: Float[Array, "*L H d k"] | None
    q_bias: Float[Array, "*L H k"] | None
    k_bias: Float[Array, "*L G k"] | None
    v_bias: Float[Array, "*L G k"] | None
    bias: Float[Array, "*L d"] | None
    frequencies: Float[Array, "*L half"] | None

    def __init__(
        self,
        Q: Numbers,
        K: Numbers,
        V: Numbers | None = None,
        W: Numbers | None = None,
        *,
        beta: Numbers | None = None,
        q_bias: Numbers | None = None,
        k_bias: Numbers | None = None,
        v_bias: Numbers | None = None,
        bias: Numbers | None = None,
        frequencies: Numbers | None = None,
    ):
        given = {"Q": Q, "K": K, "V": V, "W": W, "q_bias": q_bias, "k_bias": k_bias, "v_bias": v_bias, "bias": bias}
        arrays = {name: weight_array(name, value) for name, value in {**given, "frequencies": frequencies}.items()}
        queries = arrays["Q"]
        if queries is None or queries.ndim not in (3, 4):
            shape = None if queries is None else queries.shape
            raise InputError(f"Q has shape {shape}; give (H, k, d), or (L, H, k, d) for L layers.")
        layers, (H, k, d) = queries.shape[:-3], queries.shape[-3:]
        G = H if arrays["K"] is None or arrays["K"].ndim < 3 else arrays["K"].shape[-3]
        if H % G:
            raise InputError(f"{H} heads do not share the keys of {G} groups evenly; take a divisor of {H}.")
        if (V is None) != (W is None):
            raise InputError(f"{'V' if V is None else 'W'} is missing; give V and W, or neither.")
        shapes = {"K": (G, k, d), "V": (G, k, d), "W": (H, d, k), "q_bias": (H, k), "k_bias": (G, k)}
        shapes |= {"v_bias": (G, k), "bias": (d,)}
        if arrays["K"] is None:
            raise InputError(f"K is missing; give {(*layers, *shapes['K'])}.")
        for name, shape in shapes.items():
            if arrays[name] is not None and arrays[name].shape != (*layers, *shape):
                found = f"{arrays[name].shape} beside Q of shape {queries.shape}"
                raise InputError(f"{name} has shape {found}; give {(*layers, *shape)}.")
        turns = arrays["frequencies"]
        if turns is not None and not (turns.ndim and turns.shape[:-1] == layers and turns.shape[-1] <= k // 2):
            raise InputError(f"frequencies have shape {turns.shape}; give at most {k // 2}, half a head's width.")
        scale = weight_array("beta", k**-0.5 if beta is None else beta)
        if scale.shape not in ((), layers):
            raise InputError(f"beta has shape {scale.shape}; give one number for all heads of a layer.")
        if is_concrete(scale) and not (np.asarray(scale) >= 0).all():
            raise InputError(
                f"beta = {np.asarray(scale).min():g} is negative; take beta >= 0 and repulsion from W or K."
            )
        self.beta = jnp.broadcast_to(scale, layers)
        self.Q, self.K, self.V, self.W = queries, arrays["K"], arrays["V"], arrays["W"]
        self.q_bias, self.k_bias, self.v_bias = arrays["q_bias"], arrays["k_bias"], arrays["v_bias"]
        self.bias, self.frequencies = arrays["bias"], turns

    @property
    def clock(self) -> str:
        return "SA"

    @property
    def H(self) -> int:
        """The number of heads."""
        return self.Q.shape[-3]

    @property
    def heads(self) -> tuple[SoftmaxHead, ...]:
        """The heads one by one, each with a score, values and an attention matrix of its own."""
        return tuple(self.head(h) for h in range(self.H))

    def head(self, h: Count | Int[Array, ""]) -> SoftmaxHead:
        """One head; a traced number is taken as it is."""
        h = whole("head", h, least=0, most=self.H - 1) if is_concrete(h) else h
        g = h * self.K.shape[-3] // self.H
        score = AffineScore(
            self.beta, self.Q[h], self.K[g], _row(self.q_bias, h), _row(self.k_bias, g), self.frequencies
        )
        return SoftmaxHead(score, _row(self.V, g), _row(self.v_bias, g))

    def matrices(self, h: Count) -> tuple[Float[Array, "d d"], Float[Array, "d d"]]:
        r"""$(V, B)$ of one head as $d\times d$ matrices, $W_hV_h$ and $Q_h^\top K_h$, as `classify` takes them.

        Biases and positions are no part of them, nor is `beta`.
        """
        head = self.head(h)
        B = matmul(head.compared.Q.T, head.compared.K)
        if self.V is None or self.W is None or head.V is None:
            return jnp.eye(self.Q.shape[-1], dtype=self.Q.dtype) / self.H, B
        return matmul(self.W[h], head.V), B

    @property
    def score(self) -> NoReturn:
        raise InputError("there is one score per head; look at the heads, heads.head(0).score.")

    @property
    def reduce(self) -> NoReturn:
        raise InputError("there are sums per head; look at the heads, heads.head(0).reduce.")

    @property
    def exponential(self) -> bool:
        return False

    @property
    def row_stochastic(self) -> bool:
        return False

    @property
    def isotropic(self) -> bool:
        return False

    @property
    def continuous(self) -> bool:
        return True

    def __call__(
        self,
        x: Float[Array, "n d"],
        y: Float[Array, "m d"],
        weights: Float[Array, " m"] | None = None,
        *,
        pairs: AbstractPairs = Full(),
        kernel: str = "auto",
        state: Any = None,
    ) -> Float[Array, "n d"]:
        read = self.readings(x, y, weights, pairs=pairs, kernel=kernel)
        if self.W is None:
            out = jnp.mean(read, axis=0)
        else:
            H, n, k = read.shape
            W = jnp.swapaxes(self.W, -1, -2).reshape(H * k, -1).astype(x.dtype)
            out = matmul(jnp.swapaxes(read, 0, 1).reshape(n, H * k), W)
        return out if self.bias is None else out + self.bias.astype(x.dtype)[None, :]

    def readings(
        self,
        x: Float[Array, "n d"],
        y: Float[Array, "m d"],
        weights: Float[Array, " m"] | None = None,
        *,
        pairs: AbstractPairs = Full(),
        kernel: str = "auto",
    ) -> Float[Array, "H n k"]:
        """What each head reads, before its matrix $W_h$."""
        H, G = self.H, self.K.shape[-3]

        def grouped(a: Array | None) -> Array | None:
            return None if a is None else a.reshape(G, H // G, *a.shape[1:])

        def group(own: Any, shared: Any) -> Float[Array, "r n k"]:
            K, c, V, v = shared

            def head(Q: Array, a: Array | None) -> Float[Array, "n k"]:
                one = SoftmaxHead(AffineScore(self.beta, Q, K, a, c, self.frequencies), V, v)
                return one(x, y, weights, pairs=pairs, kernel=kernel)

            return jax.vmap(head)(*own)

        read = jax.vmap(group)((grouped(self.Q), grouped(self.q_bias)), (self.K, self.k_bias, self.V, self.v_bias))
        return read.reshape(H, *read.shape[2:])


def _row(a: Array | None, h: Any) -> Array | None:
    return None if a is None else a[h]
