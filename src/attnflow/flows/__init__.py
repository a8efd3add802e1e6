"""Integration of models in time."""

from ._storage import load as load
from ._sums_of_run import SumsOfRun as SumsOfRun
from ._trajectory_engine import AbstractTrajectoryEngine as AbstractTrajectoryEngine
from ._trajectory_engine import Ensemble as Ensemble
from .ensemble import EnsembleResult as EnsembleResult
from .ensemble import ensemble as ensemble
from .layer_runs import LayerState as LayerState
from .layer_runs import layer_states as layer_states
from .long_time import long_time as long_time
from .outcome import Outcome as Outcome
from .rescaling import rescaled as rescaled
from .run import Info as Info
from .run import Run as Run
from .simulate import simulate as simulate
from .statistics import AbstractStatistic as AbstractStatistic
from .statistics import Estimate as Estimate
from .statistics import Histogram as Histogram
from .statistics import LastState as LastState
from .statistics import Mean as Mean
from .statistics import Quantiles as Quantiles
from .tableaux import Tableau as Tableau

# Public names of this room. `attnflow` itself exports the most common ones; the rest is for other rooms of the package.
__all__ = [
    "AbstractStatistic",
    "AbstractTrajectoryEngine",
    "EnsembleResult",
    "Estimate",
    "Histogram",
    "Info",
    "LastState",
    "LayerState",
    "Mean",
    "Quantiles",
    "Tableau",
    "layer_states",
]
