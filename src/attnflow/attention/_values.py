"""The values of the keys."""

from jaxtyping import Array, Float

from ..pairsums import check_width
from ..pairsums.algebra import matmul


def apply_value(V: Float[Array, "p e"] | None, y: Float[Array, "m d"]) -> Float[Array, "m p"]:
    """`V y_j` for every row; `None` is the identity."""
    if V is None:
        return y
    check_width("V", V, y.shape[1])
    return matmul(y, V.astype(y.dtype).T)
