r"""The time-delayed transformer: one attention head with one query, and one feed-forward layer.

On normalised tokens $z_{k-j}$, $j = 0, \dots, m-1$,

$$ e_j = Ez_{k-j} + p_j, \qquad \alpha = \operatorname{softmax}_j\frac{\langle W_Qe_0, W_Ke_j\rangle}{\sqrt D}, \qquad
   c = \sum_j\alpha_jW_Ve_j \quad\text{or}\quad c = m\sum_j\alpha_jV_jz_{k-j}, $$
$$ g = e_0 + c, \qquad g \leftarrow g + W_2\,\sigma(W_1g + b_1) + b_2, \qquad \text{output} = Cg + c_0 . $$

The attention is the library's own map, `softmax`: `literal` evaluates it so. Training uses the same numbers in another
order, `forward`: the scores are $\langle E^\top v, z_{k-j}\rangle + \langle v, p_j\rangle$ with
$v = W_K^\top W_Qe_0/\sqrt D$, and $\sum_j\alpha_je_j = E\sum_j\alpha_jz_{k-j} + \sum_j\alpha_jp_j$. No keys and no
values are formed, and a window costs $O(m(d + D) + D^2 + Df)$.

Arrays here have names of the formulas; matrices act on columns, tokens are rows.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..attention import Softmax
from ..models import activations
from ..pairsums.algebra import matmul

VALUES = ("shared", "per_delay")
ACTIVATIONS = ("silu", "gelu", "tanh", "relu")


class Form(NamedTuple):
    """What a compiled program depends on: d states, c token channels, m delays, widths D and f, and two names."""

    d: int
    c: int
    m: int
    D: int
    f: int
    values: str
    activation: str

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        d, c, m, D, f = self[:5]
        value = {"W_V": (D, D)} if self.values == "shared" else {"V": (m, D, c)}
        return {
            **{"E": (D, c), "p": (m, D), "W_Q": (D, D), "W_K": (D, D)},
            **value,
            **{"W_1": (f, D), "b_1": (f,), "W_2": (D, f), "b_2": (D,), "C": (d, D), "c_0": (d,)},
        }

    @property
    def size(self) -> int:
        """The number of parameters."""
        return sum(_size(shape) for shape in self.shapes.values())


def _size(shape: tuple[int, ...]) -> int:
    n = 1
    for k in shape:
        n *= k
    return n


def unpacked(theta: Float[Array, " p"], form: Form) -> dict[str, Array]:
    """The parameters by name, from one vector: an optimiser has one array to update, and not eleven."""
    parts, start = {}, 0
    for name, shape in form.shapes.items():
        parts[name] = theta[start : start + _size(shape)].reshape(shape)
        start += _size(shape)
    return parts


def initial(rng: np.random.Generator, form: Form) -> Float[np.ndarray, " p"]:
    r"""Uniform in $\pm 1/\sqrt{\text{fan in}}$; $p_j$ normal with deviation 0.1, $c_0$ zero."""
    fan_in = {"b_1": form.D, "b_2": form.f}
    parts = []
    for name, shape in form.shapes.items():
        if name == "p":
            parts.append(0.1 * rng.standard_normal(shape))
        elif name == "c_0":
            parts.append(np.zeros(shape))
        else:
            bound = fan_in.get(name, shape[-1]) ** -0.5
            parts.append(rng.uniform(-bound, bound, shape))
    return np.concatenate([part.reshape(-1) for part in parts])


def sigma(name: str) -> Callable[[Array], Array]:
    return jax.nn.silu if name == "silu" else activations.named(name).sigma


def weights(parts: dict[str, Array], z: Float[Array, "b m c"]) -> tuple[Float[Array, "b m"], Float[Array, "b D"]]:
    r"""$\alpha$ of every window, and $e_0$."""
    E, p = parts["E"], parts["p"]
    e0 = matmul(z[:, 0], E.T) + p[:1]
    v = matmul(matmul(e0, parts["W_Q"].T), parts["W_K"]) * E.shape[0] ** -0.5
    scores = jnp.sum(z * matmul(v, E)[:, None, :], axis=2) + matmul(v, p.T)
    return jax.nn.softmax(scores, axis=1), e0


def forward(parts: dict[str, Array], z: Float[Array, "b m c"], form: Form) -> Float[Array, "b d"]:
    """The output of the head for a batch of normalised windows, newest first."""
    alpha, e0 = weights(parts, z)
    if form.values == "shared":
        mean = matmul(jnp.sum(alpha[:, :, None] * z, axis=1), parts["E"].T) + matmul(alpha, parts["p"])
        c = matmul(mean, parts["W_V"].T)
    else:
        flat = (form.m * alpha[:, :, None] * z).reshape(len(z), -1)
        c = matmul(flat, parts["V"].transpose(1, 0, 2).reshape(form.D, -1).T)
    return _head(parts, e0 + c, form)


def _head(parts: dict[str, Array], g: Float[Array, "b D"], form: Form) -> Float[Array, "b d"]:
    hidden = sigma(form.activation)(matmul(g, parts["W_1"].T) + parts["b_1"][None, :])
    g = g + matmul(hidden, parts["W_2"].T) + parts["b_2"][None, :]
    return matmul(g, parts["C"].T) + parts["c_0"][None, :]


def softmax(parts: dict[str, Array]) -> Softmax:
    r"""The attention as a map of the library, on the tokens $e_j$; values per delay are no map of tokens."""
    D = parts["E"].shape[0]
    value = {"V": parts["W_V"]} if "W_V" in parts else {}
    return Softmax(D**-0.5, Q=parts["W_Q"], K=parts["W_K"], **value)


def tokens(parts: dict[str, Array], z: Float[Array, "m c"]) -> Float[Array, "m D"]:
    """The tokens $e_j$ of a normalised window."""
    return matmul(z, parts["E"].T) + parts["p"]


def literal(parts: dict[str, Array], z: Float[Array, "m c"], form: Form) -> Float[Array, " d"]:
    """What `forward` gives, for one window, by the attention of the library."""
    e, attention = tokens(parts, z), softmax(parts)
    if form.values == "shared":
        c = attention(e[:1], e)
    else:
        alpha = attention.matrix(e, None, rows=jnp.arange(1))
        values = jnp.sum(parts["V"] * z[:, None, :], axis=2)
        c = form.m * matmul(alpha, values)
    return _head(parts, e[:1] + c, form)[0]
