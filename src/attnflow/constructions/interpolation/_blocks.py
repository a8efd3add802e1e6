r"""A block of the transformer: a feed-forward layer, then attention, with explicit parameters of low rank.

$$ x \mapsto \eta x + W\,\mathrm{relu}(Ux + b), \qquad
   x_i \mapsto \rho x_i + V\,\mathrm{mean}_{l \in C_i} x_l, \qquad C_i = \mathrm{argmax}_l \langle Qx_i, Kx_l\rangle, $$

with $V = \lambda I + v_{\text{left}} v_{\text{right}}^\top$. With a finite $\beta$ the mean is that of
$\mathrm{softmax}(\beta \langle Qx_i, Kx_l\rangle)$.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ._arithmetic import Arithmetic
from ._cloud import Cloud
from ._fixed_order import linear
from ._reading import Reading, hard_reading, soft_reading

Role = Literal["code", "projection", "round", "reset", "mark", "collapse", "place"]


@dataclass(frozen=True, eq=False)
class FeedForward:
    """`U (h, d)`, `b (h,)`, `W (d, h)`, and the factor `eta` of the skip connection."""

    eta: Any
    U: np.ndarray
    b: np.ndarray
    W: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Row by row; neurons are added in their order, on which exact zeros rely."""
        moved, along = x * 0, None
        for k in range(len(self.b)):
            if along is None or not np.array_equal(self.U[k], self.U[k - 1]):
                along = linear(x, self.U[k])
            active = np.maximum(along + self.b[k], self.eta * 0)
            for c in np.flatnonzero(self.W[:, k] != 0):
                moved[:, c] += self.W[c, k] * active
        return moved if self.eta == 0 else self.eta * x + moved

    @property
    def parameters(self) -> int:
        return self.U.size + self.b.size + self.W.size + 1


@dataclass(frozen=True, eq=False)
class Attention:
    """`Q`, `K (r, d)`, the factor `rho` of the skip connection, `V = multiple I + left right^T`."""

    rho: Any
    Q: np.ndarray
    K: np.ndarray
    multiple: Any
    left: np.ndarray | None = None
    right: np.ndarray | None = None

    def __call__(self, cloud: Cloud, beta: float = math.inf) -> np.ndarray:
        read = self.reading(cloud, beta)
        if self.pair is None:
            moved = self.value(read.means)[read.which]
            return moved if self.rho == 0 else self.rho * cloud.x + moved
        moved, amount = self.rho * cloud.x, read.means[read.which, 0]
        for c in np.flatnonzero(self.pair[0] != 0):
            moved[:, c] += self.pair[0][c] * amount
        return moved

    @property
    def pair(self) -> tuple[np.ndarray, np.ndarray] | None:
        """`left` and `right` if V is their product alone: then one number is read of every token, not d of them."""
        alone = self.left is not None and self.right is not None and self.multiple == 0
        return (self.left, self.right) if alone else None  # pyright: ignore[reportReturnType]

    def scores(self, cloud: Cloud) -> tuple[np.ndarray, np.ndarray]:
        """Queries and keys, `(T, r)`."""
        return tuple(np.stack([linear(cloud.x, row) for row in M], axis=1) for M in (self.Q, self.K))  # type: ignore[return-value]

    def reading(self, cloud: Cloud, beta: float = math.inf) -> Reading:
        """The means of tokens, or of `<right, x>` where V is of rank one."""
        q, k = self.scores(cloud)
        x = cloud.x if self.pair is None else linear(cloud.x, self.pair[1])[:, None]
        return hard_reading(cloud, q, k, x) if beta == math.inf else soft_reading(cloud, q, k, x, beta)

    def value(self, means: np.ndarray) -> np.ndarray:
        """V applied to rows."""
        image = self.multiple * means
        if self.left is None or self.right is None:
            return image
        return image + linear(means, self.right)[:, None] * self.left[None, :]

    @property
    def parameters(self) -> int:
        value = 1 if self.left is None or self.right is None else self.left.size + self.right.size
        return self.Q.size + self.K.size + value + 1


@dataclass(frozen=True, eq=False)
class Block:
    """One feed-forward layer and one of attention (`None`: the identity); `role` names the step it serves."""

    role: Role
    feed_forward: FeedForward
    attention: Attention | None = None

    def __call__(self, cloud: Cloud, beta: float = math.inf) -> Cloud:
        cloud = cloud.moved(self.feed_forward(cloud.x))
        if self.attention is None:
            return cloud
        cloud = cloud.moved(self.attention(cloud, beta))
        return cloud.merged() if self.attention.rho == 0 else cloud

    @property
    def parameters(self) -> int:
        """How many numbers are stored."""
        return self.feed_forward.parameters + (0 if self.attention is None else self.attention.parameters)


def neurons(arithmetic: Arithmetic, d: int, eta: int, *rows: tuple[Any, Any, Any]) -> FeedForward:
    """A feed-forward layer from its neurons `(u, b, w)`."""
    U, b, W = (arithmetic.array([row[k] for row in rows]) for k in range(3))
    return FeedForward(arithmetic.array(eta)[()], U.reshape(-1, d), b, W.reshape(-1, d).T)
