"""Papers as experiments: what is computed, the figures, and every claim checked with a number.

One sub-package per paper, one file per experiment; the files with an underscore are the framework.
"""

from ._claim import Claim, Skip, derived_on, judge
from ._experiment import Experiment
from ._results import Cell, Results

__all__ = ["Cell", "Claim", "Experiment", "Results", "Skip", "derived_on", "judge"]
