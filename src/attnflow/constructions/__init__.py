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

__all__ = [
    "AbstractPiece",
    "CellFlow",
    "InterpolatingClassifier",
    "InterpolatingTransformer",
    "MonotonePL",
    "ReluPiece",
    "ReluPieces",
    "Schedule",
    "ScheduleReport",
    "ShearProfile",
    "approximate_map",
    "interpolate",
    "interpolation_classifier",
    "maurey_schedule",
    "permutation_flow",
    "polar_flow",
]
