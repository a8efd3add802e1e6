"""Papers as experiments: computations, figures, and claims that are checked by numbers.

There is one sub-package per paper. An experiment is one file, or a folder with its claims and figures. The code that
all papers share is in the files beside these folders.
"""

from ._claim import Claim, Skip, derived_on, judge
from ._experiment import Experiment
from ._results import Cell, Results
from .parameters import Parameter

__all__ = ["Cell", "Claim", "Experiment", "Parameter", "Results", "Skip", "derived_on", "judge"]
