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

__all__ = [
    "AbstractPiece",
    "InterpolatingClassifier",
    "InterpolatingTransformer",
    "MonotonePL",
    "ReluPiece",
    "ReluPieces",
    "Schedule",
    "ScheduleReport",
    "ShearProfile",
    "interpolate",
    "interpolation_classifier",
]
