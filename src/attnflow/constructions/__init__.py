"""Transformers and flows that are built and not trained: every weight is computed, and what they do is proved."""

from .interpolation import (
    InterpolatingClassifier,
    InterpolatingTransformer,
    interpolate,
    interpolation_classifier,
)
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
    "grid_transport",
    "interpolate",
    "interpolation_classifier",
    "optimal_knots",
    "ridge_gaussianize",
    "switching_flow",
    "tail_check",
    "transport",
    "transport_1d",
]
