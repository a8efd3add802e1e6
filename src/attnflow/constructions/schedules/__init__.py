"""Schedules of weights: maps of R^d composed of the exact flows of one ReLU neuron after another.

`ReluPiece` is one neuron, `ReluPieces` many of them as arrays; `ShearProfile` and `MonotonePL` are many neurons,
evaluated at once. `Schedule` composes them. The derivation is in docs/theory/relu-schedules.md.
"""

from ._report import ScheduleReport
from ._tiles import Moved as Moved
from .monotone_pl import MonotonePL
from .piece import AbstractPiece
from .relu_piece import ReluPiece
from .relu_pieces import ReluPieces
from .schedule import Schedule
from .shear_profile import ShearProfile

__all__ = [
    "AbstractPiece",
    "MonotonePL",
    "Moved",
    "ReluPiece",
    "ReluPieces",
    "Schedule",
    "ScheduleReport",
    "ShearProfile",
]
