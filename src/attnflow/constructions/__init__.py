"""Transformers and flows that are built and not trained: every weight is computed, and what they do is proved."""

from .interpolation import (
    InterpolatingClassifier,
    InterpolatingTransformer,
    interpolate,
    interpolation_classifier,
)
from .maps import CellFlow, approximate_map, maurey_schedule, permutation_flow, polar_flow
from .schedules import (
    AbstractPiece,
    MonotonePL,
    ReluPiece,
    ReluPieces,
    Schedule,
    ScheduleReport,
    ShearProfile,
)
from .transport import (
    Divergence,
    Knots,
    TailCheck,
    Transport,
    TransportReport,
    grid_transport,
    optimal_knots,
    ridge_gaussianize,
    switching_flow,
    tail_check,
    transport,
    transport_1d,
)
from .transport import laws as laws

__all__ = [
    "AbstractPiece",
    "CellFlow",
    "Divergence",
    "InterpolatingClassifier",
    "InterpolatingTransformer",
    "Knots",
    "MonotonePL",
    "ReluPiece",
    "ReluPieces",
    "Schedule",
    "ScheduleReport",
    "ShearProfile",
    "TailCheck",
    "Transport",
    "TransportReport",
    "approximate_map",
    "grid_transport",
    "interpolate",
    "interpolation_classifier",
    "maurey_schedule",
    "optimal_knots",
    "permutation_flow",
    "polar_flow",
    "ridge_gaussianize",
    "switching_flow",
    "tail_check",
    "transport",
    "transport_1d",
]
