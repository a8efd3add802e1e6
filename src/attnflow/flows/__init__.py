"""Integration of models in time."""

from ._outcome import Outcome as Outcome
from ._storage import load as load
from .run import Run as Run
from .simulate import simulate as simulate
