"""Transformers that are built and not trained: every weight is computed from the data, and what they do is proved."""

from .interpolation import (
    InterpolatingClassifier,
    InterpolatingTransformer,
    interpolate,
    interpolation_classifier,
)

__all__ = ["InterpolatingClassifier", "InterpolatingTransformer", "interpolate", "interpolation_classifier"]
