"""Papers as experiments: what is computed, the figures, and every claim checked with a number.

One sub-package per paper; in it an experiment is one file, or a folder of its claims and figures. What papers share
is in the files beside these folders.
"""

from ._claim import Claim, Skip, derived_on, judge
from ._experiment import Experiment
from ._results import Cell, Results
from .parameters import Parameter

__all__ = ["Cell", "Claim", "Experiment", "Parameter", "Results", "Skip", "derived_on", "judge"]
