r"""The tokens that a text starts from: rows of a table for words, for positions and for kinds of text.

$$ x_i = A\,N\big(E_{w_i} + P_i + T_{s_i}\big) + b . $$
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..checks import is_concrete
from ..errors import InputError
from ..parameters import weight_array
from ..spaces import Numbers
from .layer_norm import Normalization
from .mlp import affine


class Embedding(eqx.Module):
    r"""$x_i = A\,N(E_{w_i} + P_i + T_{s_i}) + b$ for the word numbers $w$ and the kinds $s$ (by default 0) of a text.

    **Arguments:** `words (v, e)`, $E$; `positions (p, e)`, $P$; `kinds (s, e)`, $T$; `normalization`, $N$;
    `A (d, e)` and `b (d,)`. All but the first may be missing.
    """

    words: Float[Array, "v e"]
    positions: Float[Array, "p e"] | None
    kinds: Float[Array, "s e"] | None
    normalization: Normalization | None
    A: Float[Array, "d e"] | None
    b: Float[Array, " d"] | None

    def __init__(
        self,
        words: Numbers,
        positions: Numbers | None = None,
        kinds: Numbers | None = None,
        normalization: Normalization | None = None,
        A: Numbers | None = None,
        b: Numbers | None = None,
    ):
        tables = {"words": words, "positions": positions, "kinds": kinds, "A": A}
        arrays = {name: weight_array(name, table) for name, table in tables.items()}
        if arrays["words"] is None:
            raise InputError("words is missing; give a table (v, e), one row for each word.")
        for name, array in arrays.items():
            if array is not None and (array.ndim != 2 or array.shape[1] != arrays["words"].shape[-1]):
                raise InputError(
                    f"{name} has shape {array.shape} and words has shape {arrays['words'].shape}; give tables of one "
                    "width."
                )
        self.words, self.positions, self.kinds, self.A = arrays.values()
        self.b = weight_array("b", b)
        rows = self.words.shape[1] if self.A is None else self.A.shape[0]
        if self.b is not None and self.b.shape != (rows,):
            raise InputError(f"b has shape {self.b.shape}; give ({rows},).")
        if normalization is not None and not isinstance(normalization, Normalization):
            raise InputError(f"a {type(normalization).__name__} is no normalisation; give a models.Normalization.")
        self.normalization = normalization

    def __call__(self, ids: Numbers, kinds: Numbers | None = None) -> Float[Array, "n d"]:
        numbers = _row_numbers("ids", ids, len(self.words), "words")
        n = numbers.shape[0]
        x = self.words[numbers]
        if self.positions is not None:
            if n > len(self.positions):
                raise InputError(f"there are {n} tokens and {len(self.positions)} positions; cut the text.")
            x = x + self.positions[:n]
        if self.kinds is not None:
            x = (
                x
                + self.kinds[
                    jnp.zeros(n, int) if kinds is None else _row_numbers("kinds", kinds, len(self.kinds), "kinds", n)
                ]
            )
        elif kinds is not None:
            raise InputError("this model tells no kinds of text apart; leave kinds out.")
        x = x if self.normalization is None else self.normalization(x)
        return x if self.A is None else affine(x, self.A, self.b)


def _row_numbers(name: str, values: Any, count: int, what: str, n: int | None = None) -> Any:
    """Whole numbers of rows of a table, refused where there is no such row."""
    try:
        if not is_concrete(values):
            return jnp.asarray(values)
        array = np.asarray(values)
        if array.dtype.kind not in "iu" or array.ndim != 1 or not array.size:
            raise TypeError
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} are whole numbers, one for each token; give a list of them.") from None
    if array.min() < 0 or array.max() >= count:
        bad = array[(array < 0) | (array >= count)][0]
        raise InputError(
            f"{name} has the number {bad}, and there are {count} {what}; give numbers from 0 to {count - 1}."
        )
    if n is not None and len(array) != n:
        raise InputError(f"{name} has {len(array)} numbers for {n} tokens; give one for each.")
    return jnp.asarray(array)
