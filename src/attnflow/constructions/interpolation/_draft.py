"""A network while it is built: the blocks so far, and where they have brought the data.

Every number of the next block is read off that state, which the blocks themselves computed.
"""

from typing import Any

import numpy as np

from ._arithmetic import Arithmetic
from ._blocks import Block
from ._cloud import Cloud


class Draft:
    """`cloud` is the data after `blocks`; `span` is the range D of the projected input tokens, the unit of length."""

    def __init__(self, arithmetic: Arithmetic, cloud: Cloud):
        self.arithmetic = arithmetic
        self.cloud = cloud
        self.blocks: list[Block] = []
        self.kappa: Any = None
        self.span: Any = 0
        self.isolation: Any = None  # the smallest that was used, relative to the span

    def add(self, block: Block) -> None:
        self.cloud = block(self.cloud)
        self.blocks.append(block)

    @property
    def d(self) -> int:
        return self.cloud.x.shape[1]

    def axis(self, k: int) -> np.ndarray:
        """The coordinate vector e_k, counted from 1."""
        return self.arithmetic.array(np.eye(self.d)[k - 1])

    def noticed(self, isolation: Any) -> None:
        """Keep the smallest isolation that the network relies on."""
        relative = isolation / self.span
        self.isolation = relative if self.isolation is None else min(self.isolation, relative)
