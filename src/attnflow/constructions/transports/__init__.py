"""Transport of one law to another by ReLU neurons with piecewise constant weights.

`transport` is the one call. The ways to build a schedule: `line` (best knots), `field` (a curve of laws), `ridge` (one
direction after another), `grid` (exact cell averages). `laws` are what is transported; `tail_check` says what no
schedule can do; `result` and `report` are what comes out. The derivation is in docs/theory/relu-transport.md.
"""

from . import laws as laws
from .divergence import Divergence
from .field import switching_flow
from .grid import grid_transport
from .line import Knots, optimal_knots, transport_1d
from .report import TransportReport
from .result import Transport
from .ridge import ridge_gaussianize
from .tail_check import TailCheck, tail_check
from .transport import transport

__all__ = [
    "Divergence",
    "Knots",
    "TailCheck",
    "Transport",
    "TransportReport",
    "grid_transport",
    "optimal_knots",
    "ridge_gaussianize",
    "switching_flow",
    "tail_check",
    "transport",
    "transport_1d",
]
