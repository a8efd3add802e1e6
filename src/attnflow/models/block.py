r"""One layer of a transformer: attention and a perceptron, each with a residual connection and a normalisation.

$$ \text{pre:}\quad y_i = x_i + \alpha \Gamma_{N_1\mu}(N_1x_i), \qquad x_i' = y_i + \alpha f(N_2y_i); $$
$$ \text{post:}\quad y_i = N_1\big(x_i + \alpha \Gamma_\mu(x_i)\big), \qquad x_i' = N_2\big(y_i + \alpha f(y_i)\big). $$

GPT-2 and Llama are of the first kind, BERT and ALBERT of the second.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..attention import SoftmaxHeads
from ..errors import InputError, shown
from ..pairsums import AbstractPairs, Full
from ..parameters import weight_array
from ..spaces import Numbers
from .layer_norm import Normalization
from .mlp import MLP


class Block(eqx.Module):
    r"""One layer of a transformer, a map of one cloud `(n, d)`; see this module's text.

    **Arguments:** `attention`, $\Gamma$, and `mlp`, $f$, one of which may be missing; their normalisations
    `attention_norm` and `mlp_norm`, $N_1$ and $N_2$, `None` for the identity; `place`, `"pre"` or `"post"`;
    `residual`, $\alpha$.

    The arrays of its parts may have one more axis in front, as many entries as there are layers in a `LayerStack`.
    """

    attention: SoftmaxHeads | None
    mlp: MLP | None
    attention_norm: Normalization | None
    mlp_norm: Normalization | None
    place: str = eqx.field(static=True)
    residual: Float[Array, "*L"]

    def __init__(
        self,
        attention: SoftmaxHeads | None = None,
        mlp: MLP | None = None,
        attention_norm: Normalization | None = None,
        mlp_norm: Normalization | None = None,
        place: str = "pre",
        residual: Numbers = 1.0,
    ):
        kinds = {"attention": SoftmaxHeads, "mlp": MLP, "attention_norm": Normalization, "mlp_norm": Normalization}
        given = {"attention": attention, "mlp": mlp, "attention_norm": attention_norm, "mlp_norm": mlp_norm}
        for name, part in given.items():
            if part is not None and not isinstance(part, kinds[name]):
                raise InputError(f"{name} = {shown(part)} is none; give a {kinds[name].__name__}.")
        if attention is None and mlp is None:
            raise InputError("a layer without attention and without a perceptron moves no token; give one of them.")
        if not isinstance(place, str) or place not in ("pre", "post"):
            raise InputError(
                f"place = {shown(place)} is unknown; normalise before a branch, 'pre', or after it, 'post'."
            )
        self.attention, self.mlp = attention, mlp
        self.attention_norm, self.mlp_norm = attention_norm, mlp_norm
        self.place = place
        layers = () if self.stacked is None else (self.stacked,)
        scale = weight_array("residual", residual)
        if scale is None or scale.shape not in ((), layers):
            raise InputError("residual is one number, the weight of both branches, or one for each layer of a stack.")
        self.residual = jnp.broadcast_to(scale, layers)
        self._check_dimensions()
        self._check_layers(layers)

    def _check_dimensions(self) -> None:
        """Refuse parts that are for tokens of different dimensions."""
        wide = {"attention": self.attention and self.attention.Q, "mlp": self.mlp and self.mlp.U}
        for name, norm in (("attention_norm", self.attention_norm), ("mlp_norm", self.mlp_norm)):
            if norm is not None:
                wide |= {name: norm.gain, f"{name}'s bias": norm.bias}
        found = {name: array.shape[-1] for name, array in wide.items() if array is not None}
        if len(set(found.values())) > 1:
            parts = ", ".join(f"{name} {d}" for name, d in found.items())
            raise InputError(f"the parts are for tokens of different dimensions ({parts}); make them equal.")

    def _check_layers(self, layers: tuple[int, ...]) -> None:
        """Refuse parts of which some are for one layer and others for a stack."""
        parts = {"attention": (self.attention and self.attention.Q, 3), "mlp": (self.mlp and self.mlp.U, 2)}
        for name, norm in (("attention_norm", self.attention_norm), ("mlp_norm", self.mlp_norm)):
            if norm is not None:
                parts |= {name: (norm.gain, 1), f"{name}'s bias": (norm.bias, 1), f"{name}'s radius": (norm.radius, 0)}
        for name, (array, axes) in parts.items():
            if array is not None and array.shape[: array.ndim - axes] != layers:
                whole = "a stack of layers" if layers else "one layer"
                raise InputError(
                    f"{name} has shape {array.shape}, and the other parts are for {whole}; make them agree."
                )

    @property
    def d(self) -> int:
        """The dimension of the tokens."""
        matrix: Any = self.mlp.U if self.attention is None and self.mlp is not None else self.attention.Q  # pyright: ignore[reportOptionalMemberAccess]
        return matrix.shape[-1]

    @property
    def stacked(self) -> int | None:
        """How many layers the arrays hold, `None` if they are those of one layer."""
        matrix, axes = (self.attention.Q, 4) if self.attention is not None else (self.mlp.U, 3)  # pyright: ignore[reportOptionalMemberAccess]
        return matrix.shape[0] if matrix.ndim == axes else None

    def reads(self, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """The tokens as attention sees them."""
        return self.attention_norm(x) if self.place == "pre" and self.attention_norm is not None else x

    def __call__(
        self,
        x: Float[Array, "n d"],
        weights: Float[Array, " n"] | None = None,
        *,
        pairs: AbstractPairs = Full(),
        kernel: str = "auto",
    ) -> Float[Array, "n d"]:
        return self.among(x, x, weights, pairs=pairs, kernel=kernel)

    def among(
        self,
        x: Float[Array, "m d"],
        tokens: Float[Array, "n d"],
        weights: Float[Array, " n"] | None = None,
        *,
        pairs: AbstractPairs = Full(),
        kernel: str = "auto",
    ) -> Float[Array, "m d"]:
        r"""What the layer makes of other points in the presence of the tokens: the map $\Phi_\mu(x)$ for a fixed $\mu$.

        The points read the tokens and nobody reads the points.
        """
        if self.attention is not None:
            seen = self.reads(x)
            keys = seen if tokens is x else self.reads(tokens)
            x = self._after(x, self.attention(seen, keys, weights, pairs=pairs, kernel=kernel), self.attention_norm)
        if self.mlp is not None:
            before = self.mlp_norm if self.place == "pre" else None
            x = self._after(x, self.mlp(x if before is None else before(x)), self.mlp_norm)
        return x

    def _after(
        self, x: Float[Array, "n d"], branch: Float[Array, "n d"], norm: Normalization | None
    ) -> Float[Array, "n d"]:
        """The tokens with what a branch adds, normalised where that comes last."""
        x = x + self.residual.astype(x.dtype) * branch
        return norm(x) if self.place == "post" and norm is not None else x
