"""Exact interpolation of sequences: a transformer of explicit blocks that maps every input to its output.

`interpolate` builds it, `interpolation_classifier` is the case of one point per label. The parts: `_arithmetic`
(float64 or fractions), `_cloud` (sequences side by side), `_blocks` and `_reading` (what a block does), one file for
each step of the construction (`_code`, `_projection`, `_rounds`, `_selection`, `_collapse`, `_placement`), `_build`
(their order), `_report`, `_softmax`, `_json`. The derivation is in docs/theory/interpolation.md.
"""

from .classifier import InterpolatingClassifier, interpolation_classifier
from .interpolate import interpolate
from .transformer import InterpolatingTransformer

__all__ = ["InterpolatingClassifier", "InterpolatingTransformer", "interpolate", "interpolation_classifier"]
