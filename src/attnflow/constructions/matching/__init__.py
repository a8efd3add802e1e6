r"""N measures to N measures on the sphere, with one transformer: explicit schedules of weights.

`match_measures` builds it. The parts, each with its closed form: `boost`, `rank_one_attention`, `full_averaging`,
`softmax_attention`, `cap_gate`, `hat_band` make pieces, `gather_orthant`, `disentangle` and `match_atoms` lists of
them, and `TransformerSchedule.reversed` undoes what was done. The derivation is in docs/theory/measure-to-measure.md.
"""

from ._report import MatchingReport, Verification
from .attention import full_averaging, softmax_attention
from .boost import boost, rank_one_attention
from .cap_gate import cap_gate
from .disentangle import disentangle
from .gather import gather_orthant
from .hat_band import hat_band
from .isolate import isolate
from .match_atoms import match_atoms
from .match_measures import match_measures
from .matching import MeasureMatching
from .piece import TransformerPiece
from .schedule import TransformerSchedule

__all__ = [
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
    "isolate",
    "match_atoms",
    "match_measures",
    "rank_one_attention",
    "softmax_attention",
]
