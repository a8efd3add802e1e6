r"""The perceptron of a transformer's layer, with biases on both sides and perhaps a gate.

$$ x \mapsto W\sigma(Ux + b) + c \qquad\text{or}\qquad x \mapsto W\big(\sigma(Gx) \odot (Ux + b)\big) + c . $$

The names of activations are those of configuration files. `gelu` is $z\,\Phi_N(z)$; `gelu_new`, `gelu_fast` and
`gelu_pytorch_tanh` are its approximation by a hyperbolic tangent; `silu` and `swish` are $z/(1 + e^{-z})$.

Reference: arXiv:2002.05202 (gates).
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..errors import InputError, shown
from ..pairsums.algebra import matmul
from ..parameters import weight_array
from ..spaces import Numbers


def _tanh_gelu(z: Any) -> Any:
    return jax.nn.gelu(z, approximate=True)


ACTIVATIONS = {
    "gelu": lambda z: jax.nn.gelu(z, approximate=False),
    "gelu_new": _tanh_gelu,
    "gelu_fast": _tanh_gelu,
    "gelu_pytorch_tanh": _tanh_gelu,
    "silu": jax.nn.silu,
    "swish": jax.nn.silu,
    "relu": jax.nn.relu,
    "tanh": jnp.tanh,
}


class MLP(eqx.Module):
    """The perceptron of one layer; see this module's text.

    **Arguments:** `W (d, m)`, `U (m, d)`; `b (m,)`, `c (d,)` and the gate `G (m, d)`, each `None` for none;
    `activation`, a name. Arrays may have one more axis in front, for a stack of layers.
    """

    W: Float[Array, "*L d m"]
    U: Float[Array, "*L m d"]
    b: Float[Array, "*L m"] | None
    c: Float[Array, "*L d"] | None
    G: Float[Array, "*L m d"] | None
    activation: str = eqx.field(static=True)

    def __init__(
        self,
        W: Numbers,
        U: Numbers,
        b: Numbers | None = None,
        c: Numbers | None = None,
        G: Numbers | None = None,
        activation: str = "gelu",
    ):
        given = {"W": W, "U": U, "b": b, "c": c, "G": G}
        arrays = {name: weight_array(name, value) for name, value in given.items()}
        into = arrays["U"]
        if into is None or into.ndim not in (2, 3):
            raise InputError(
                f"U has shape {None if into is None else into.shape}; give (m, d), or (L, m, d) for L layers."
            )
        layers, (m, d) = into.shape[:-2], into.shape[-2:]
        for name, shape in {"W": (d, m), "b": (m,), "c": (d,), "G": (m, d)}.items():
            if arrays[name] is None and name != "W":
                continue
            if arrays[name] is None or arrays[name].shape != (*layers, *shape):
                found = None if arrays[name] is None else arrays[name].shape
                raise InputError(f"{name} has shape {found} beside U of shape {into.shape}; give {(*layers, *shape)}.")
        if not isinstance(activation, str) or activation not in ACTIVATIONS:
            raise InputError(f"activation {shown(activation)} is unknown; choose one of {', '.join(ACTIVATIONS)}.")
        self.W, self.U, self.b, self.c, self.G = arrays.values()
        self.activation = activation

    def __call__(self, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        sigma = ACTIVATIONS[self.activation]
        z = affine(x, self.U, self.b)
        z = sigma(z) if self.G is None else sigma(affine(x, self.G, None)) * z
        return affine(z, self.W, self.c)


def affine(x: Float[Array, "n d"], A: Float[Array, "m d"], b: Float[Array, " m"] | None) -> Float[Array, "n m"]:
    if A.shape[1] != x.shape[1]:
        raise InputError(
            f"a matrix of shape {A.shape} cannot act on tokens of dimension {x.shape[1]}; make them equal."
        )
    moved = matmul(x, A.astype(x.dtype).T)
    return moved if b is None else moved + b.astype(x.dtype)[None, :]
