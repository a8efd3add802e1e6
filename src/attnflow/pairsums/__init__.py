"""Sums over pairs of tokens: the one contract and its engines. Knows no model."""

from ._api import Reduce as Reduce
from ._api import check_kernel as check_kernel
from ._api import pair_sums as pair_sums
from ._api import pair_weights as pair_weights
from ._engine import DENSE_PAIRS as DENSE_PAIRS
from ._engine import AbstractPairSumEngine as AbstractPairSumEngine
from ._engine import Accuracy as Accuracy
from ._engine import Inputs as Inputs
from ._engine import Problem as Problem
from ._engine import choose_sums as choose_sums
from ._groups import Groups as Groups
from ._pairs import AbstractPairs as AbstractPairs
from ._pairs import Causal as Causal
from ._pairs import Full as Full
from ._pairs import Transposed as Transposed
from ._pairs import weight_matrix as weight_matrix
from ._positional import Positional as Positional
from ._reductions import AbstractReduction as AbstractReduction
from ._reductions import Exponential as Exponential
from ._reductions import Hardmax as Hardmax
from ._reductions import Pointwise as Pointwise
from ._reductions import Total as Total
from ._reductions import as_reduction as as_reduction
from ._scores import AbstractScore as AbstractScore
from ._scores import Inner as Inner
from ._scores import Projected as Projected
from ._scores import SquaredDistance as SquaredDistance
from ._scores import check_width as check_width
from ._traced_engines import noted_choices as noted_choices

# Public names of this room. `attnflow` itself exports the most common ones; the rest is for other rooms of the package.
__all__ = [
    "AbstractPairSumEngine",
    "AbstractPairs",
    "AbstractReduction",
    "AbstractScore",
    "Full",
    "Groups",
    "Hardmax",
    "Inner",
    "Pointwise",
    "Positional",
    "SquaredDistance",
    "Total",
    "pair_sums",
    "pair_weights",
    "weight_matrix",
]
