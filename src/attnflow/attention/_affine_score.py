r"""The score of a head of a pretrained model: affine queries and keys, perhaps turned by their positions.

$$ s_{ij} = \beta\,\langle R_{p_i}(Qx_i + a),\, R_{j}(Ky_j + c)\rangle, $$

where $R_p$ turns the plane of coordinates $l$ and $l + k/2$ by the angle $p\,\omega_l$ (rotary positions). As $R$ is a
rotation the score depends on positions through $p_i - j$ alone.

Reference: arXiv:2104.09864, with the pairing of coordinates of Llama.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..pairsums import AbstractScore, Projected, check_width
from ..pairsums.algebra import matmul


class AffineScore(AbstractScore):
    """$s_{ij}$ as above; `a`, `c` `None` are zero, `frequencies` `None` turns nothing."""

    beta: Float[Array, ""]
    Q: Float[Array, "k d"]
    K: Float[Array, "k e"]
    a: Float[Array, " k"] | None = None
    c: Float[Array, " k"] | None = None
    frequencies: Float[Array, " half"] | None = None

    def project(self, x: Float[Array, "n d"], y: Float[Array, "m e"]) -> Projected:
        check_width("Q", self.Q, x.shape[1])
        check_width("K", self.K, y.shape[1])
        n, m = x.shape[0], y.shape[0]
        queries, keys = affine(x, self.Q, self.a), affine(y, self.K, self.c)
        if self.frequencies is not None:
            queries = turned(queries, self.frequencies, m - n)
            keys = turned(keys, self.frequencies)
        return Projected(self.beta.astype(x.dtype) * queries, keys)

    @property
    def T(self) -> "AffineScore":
        return AffineScore(self.beta, self.K, self.Q, self.c, self.a, self.frequencies)

    @property
    def isotropic(self) -> bool:
        return False


def affine(x: Float[Array, "n d"], A: Float[Array, "k d"], b: Float[Array, " k"] | None) -> Float[Array, "n k"]:
    """`A x + b` of every row, in the precision of the tokens."""
    moved = matmul(x, A.astype(x.dtype).T)
    return moved if b is None else moved + b.astype(x.dtype)[None, :]


def turned(z: Float[Array, "n k"], frequencies: Float[Array, " half"], first: int = 0) -> Float[Array, "n k"]:
    r"""Row $i$ turned by the angles $(i + \mathrm{first})\,\omega$; coordinates beyond the planes stay."""
    half = frequencies.shape[0]
    angles = (first + jnp.arange(z.shape[0])).astype(z.dtype)[:, None] * frequencies.astype(z.dtype)[None, :]
    cos, sin = jnp.cos(angles), jnp.sin(angles)
    u, v, rest = z[:, :half], z[:, half : 2 * half], z[:, 2 * half :]
    return jnp.concatenate([u * cos - v * sin, v * cos + u * sin, rest], axis=1)
