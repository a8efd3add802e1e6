"""Attention maps, one file each."""

from ._attention import AbstractAttention as AbstractAttention
from ._attention import Zonal as Zonal
from ._attention import heads_of as heads_of
from ._energy import AbstractEnergy as AbstractEnergy
from ._gaussian import AffineField as AffineField
from .hardmax import Hardmax as Hardmax
from .l2 import L2 as L2
from .linear import Linear as Linear
from .multi_head import MultiHead as MultiHead
from .sigmoid import Sigmoid as Sigmoid
from .sinkhorn import Sinkhorn as Sinkhorn
from .softmax import Softmax as Softmax
from .softmax_heads import SoftmaxHead as SoftmaxHead
from .softmax_heads import SoftmaxHeads as SoftmaxHeads
from .unnormalized import Unnormalized as Unnormalized

# Public names of this room. `attnflow` itself exports the most common ones; the rest is for other rooms of the package.
__all__ = [
    "AbstractAttention",
    "AbstractEnergy",
    "SoftmaxHeads",
]
