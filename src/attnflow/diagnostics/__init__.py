"""Diagnostics of a run (or of plain arrays with leading axes)."""

from ..flows.linkage import components as components
from . import smoothness as smoothness
from .attention import Leaders as Leaders
from .attention import attention_matrix as attention_matrix
from .attention import leaders as leaders
from .boolean import BooleanStructure as BooleanStructure
from .boolean import boolean_structure as boolean_structure
from .centers import RenyiCenters as RenyiCenters
from .centers import renyi_centers as renyi_centers
from .classify import Classification as Classification
from .classify import classify as classify
from .clusters import Clusters as Clusters
from .clusters import clusters as clusters
from .correlations import InnerProducts as InnerProducts
from .correlations import inner_products as inner_products
from .correlations import order_parameter as order_parameter
from .correlations import pair_fraction as pair_fraction
from .effective_sample_size import effective_sample_size as effective_sample_size
from .energy import dissipation as dissipation
from .energy import energy as energy
from .energy import is_gradient_flow as is_gradient_flow
from .hardmax_limit import HardmaxLimit as HardmaxLimit
from .hardmax_limit import hardmax_limit as hardmax_limit
from .hyperplanes import GoodTriple as GoodTriple
from .hyperplanes import Hyperplanes as Hyperplanes
from .hyperplanes import detect_hyperplanes as detect_hyperplanes
from .hyperplanes import good_triple as good_triple
from .modes import Modes as Modes
from .modes import count_modes as count_modes
from .modes import modes as modes
from .monotone_hull import MonotoneHull as MonotoneHull
from .monotone_hull import hull_nonincreasing as hull_nonincreasing
from .partition import log_partition as log_partition
from .phases import PhaseReport as PhaseReport
from .phases import phase_report as phase_report
from .polytope import Polytope as Polytope
from .polytope import detect_polytope as detect_polytope
from .ranks import effective_rank as effective_rank
from .ranks import numerical_rank as numerical_rank
from .ranks import participation_ratio as participation_ratio
from .separation import Separation as Separation
from .separation import separation_report as separation_report
from .spectrum import Paranormal as Paranormal
from .spectrum import detect_paranormal as detect_paranormal
from .staircase import Plateau as Plateau
from .staircase import Staircase as Staircase
from .staircase import staircase as staircase

# Public names of this room. `attnflow` itself exports the most common ones; the rest is for other rooms of the package.
__all__ = [
    "BooleanStructure",
    "Classification",
    "Clusters",
    "GoodTriple",
    "HardmaxLimit",
    "Hyperplanes",
    "InnerProducts",
    "Leaders",
    "Modes",
    "MonotoneHull",
    "Paranormal",
    "PhaseReport",
    "Plateau",
    "Polytope",
    "RenyiCenters",
    "Separation",
    "Staircase",
    "boolean_structure",
    "components",
    "count_modes",
    "detect_hyperplanes",
    "detect_paranormal",
    "detect_polytope",
    "dissipation",
    "effective_rank",
    "effective_sample_size",
    "good_triple",
    "hardmax_limit",
    "hull_nonincreasing",
    "is_gradient_flow",
    "log_partition",
    "modes",
    "numerical_rank",
    "order_parameter",
    "pair_fraction",
    "participation_ratio",
    "phase_report",
    "renyi_centers",
    "separation_report",
    "smoothness",
    "staircase",
]
