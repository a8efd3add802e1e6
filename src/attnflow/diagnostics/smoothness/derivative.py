r"""The derivative of attention as a map of all tokens, $f(X)_i = \Gamma_{\mu_X}(x_i)$.

A token is query and key at once. For softmax attention with weights $P_{ij}$, means $m_i = \sum_j P_{ij}x_j$,
covariances $C_i = \sum_j P_{ij}(x_j - m_i)(x_j - m_i)^\top$ and $A = \beta B^\top$,

$$ (Df[H])_i = V\Big\{\sum_j P_{ij}\big[h_j + (x_j - m_i)\langle Ax_i, h_j\rangle\big] + C_iAh_i\Big\} . $$

What is computed is the derivative of the map itself by JAX, which costs as much as a few evaluations ($O(n^2d)$) and
serves every map, mask and engine; the formula is its witness in the tests.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ...attention import AbstractAttention
from ...errors import InputError, shown
from ...models.schedules import depends_on_time
from ...pairsums import AbstractPairs, Full
from ...spaces import Euclidean, Numbers, check_tokens, check_weights
from .._clouds import in_memory


def jvp(
    attention: AbstractAttention,
    x: Numbers,
    h: Numbers,
    weights: Numbers | None = None,
    *,
    pairs: AbstractPairs = Full(),
    kernel: str = "auto",
) -> Float[Array, "n p"]:
    r"""$Df(X)[H]$: how the velocities `(n, p)` of tokens `x (n, d)` change when these move by `h (n, d)`.

    **Arguments:** `weights (n,)` of the tokens, which stay; `pairs`, the visible pairs (`Causal()` for masked
    attention); `kernel`, the engine of the sums over pairs.
    """
    x, h, w = _checked(attention, x, h, weights, pairs)
    if h.shape != x.shape:
        raise InputError(f"h has shape {h.shape} for tokens {x.shape}; give a displacement for every token.")
    return _jvp(attention, x, h, w, pairs, kernel)


def vjp(
    attention: AbstractAttention,
    x: Numbers,
    g: Numbers,
    weights: Numbers | None = None,
    *,
    pairs: AbstractPairs = Full(),
    kernel: str = "auto",
) -> Float[Array, "n d"]:
    r"""$Df(X)^\top[G]$ in the Euclidean inner product: $\sum_i\langle g_i, Df[H]_i\rangle = \sum_i\langle
    Df^\top[G]_i, h_i\rangle$. Arguments as for `jvp`; `g (n, p)` has the shape of the velocities.
    """
    x, g, w = _checked(attention, x, g, weights, pairs)
    p = jax.eval_shape(lambda x: field(attention, x, w, pairs, kernel), x).shape
    if g.shape != p:
        raise InputError(f"g has shape {g.shape} and the velocities have {p}; give one for every velocity.")
    return _vjp(attention, x, g, w, pairs, kernel)


def jacobian(
    attention: AbstractAttention, x: Numbers, weights: Numbers | None = None, *, pairs: AbstractPairs = Full()
) -> Float[Array, "n p n d"]:
    r"""$Df(X)$ as an array: entry `[i, a, j, b]` is $\partial f(X)_{ia}/\partial x_{jb}$. For few tokens."""
    x, _, w = _checked(attention, x, x, weights, pairs)
    in_memory(x.size**2, f"the entries of a matrix for {len(x)} tokens")
    return whole(attention, x, w, pairs)


def field(attention: Any, x: Array, w: Array | None, pairs: AbstractPairs, kernel: str) -> Array:
    """The map of all tokens."""
    return attention(x, x, w, pairs=pairs, kernel=kernel)


@eqx.filter_jit
def whole(attention: Any, x: Array, w: Array | None, pairs: AbstractPairs) -> Array:
    """The matrix of the derivative, row by row.

    Forwards, changes of scores would be added to those of values before they cancel, and large ones would hide them.
    """
    return jax.jacrev(lambda x: field(attention, x, w, pairs, "dense"))(x)


@eqx.filter_jit
def _jvp(attention: Any, x: Array, h: Array, w: Array | None, pairs: AbstractPairs, kernel: str) -> Array:
    return jax.jvp(lambda x: field(attention, x, w, pairs, kernel), (x,), (h,))[1]


@eqx.filter_jit
def _vjp(attention: Any, x: Array, g: Array, w: Array | None, pairs: AbstractPairs, kernel: str) -> Array:
    return jax.vjp(lambda x: field(attention, x, w, pairs, kernel), x)[1](g)[0]


def check_map(attention: Any, pairs: Any) -> None:
    """Refuse objects that are no attention map or no pairs, and maps whose parameters depend on time."""
    if not isinstance(attention, AbstractAttention):
        raise InputError(f"a {type(attention).__name__} is no attention map; give one, for example af.Softmax(beta=1).")
    if depends_on_time(attention):
        raise InputError("the parameters of this map depend on time; give a map with the numbers of one time.")
    if not isinstance(pairs, AbstractPairs):
        raise InputError(
            f"pairs = {shown(pairs)} are no pairs; give af.pairsums.Full(), or af.Causal() for masked attention."
        )


def _checked(
    attention: Any, x: Numbers, h: Numbers, w: Numbers | None, pairs: Any
) -> tuple[Array, Array, Array | None]:
    check_map(attention, pairs)
    x = check_tokens(x, Euclidean())
    w = check_weights(w, x.shape[0])
    h = check_tokens(h, Euclidean()).astype(x.dtype)
    return x, h, None if w is None else jnp.asarray(w, x.dtype)
