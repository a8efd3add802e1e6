"""Transformers that are built and not trained: every weight is computed from the data, and what they do is proved."""

from .interpolation import (
    InterpolatingClassifier,
    InterpolatingTransformer,
    interpolate,
    interpolation_classifier,
)
from .matching import (
    MatchingReport,
    MeasureMatching,
    TransformerPiece,
    TransformerSchedule,
    Verification,
    boost,
    cap_gate,
    disentangle,
    full_averaging,
    gather_orthant,
    hat_band,
    isolate,
    match_atoms,
    match_measures,
    rank_one_attention,
    softmax_attention,
)

__all__ = [
    "InterpolatingClassifier",
    "InterpolatingTransformer",
    "MatchingReport",
    "MeasureMatching",
    "TransformerPiece",
    "TransformerSchedule",
    "Verification",
    "boost",
    "cap_gate",
    "disentangle",
    "full_averaging",
    "gather_orthant",
    "hat_band",
    "interpolate",
    "interpolation_classifier",
    "isolate",
    "match_atoms",
    "match_measures",
    "rank_one_attention",
    "softmax_attention",
]
