"""Systems whose series are exact, each by one call: data sets for forecasters.

Every call returns `xarray` with its time axis, computed by NumPy and SciPy in float64, whatever JAX computes with.
Where the paper's own parameters are unknown, ours are the defaults (docs/forecasting.md says which).
"""

from .aerofoil import aerofoil, pitching
from .kuramoto_sivashinsky import kuramoto_sivashinsky
from .oscillators import lorenz, roessler, van_der_pol, wake
from .reaction_diffusion import reaction_diffusion
from .signals import tones, two_tone

__all__ = [
    "aerofoil",
    "kuramoto_sivashinsky",
    "lorenz",
    "pitching",
    "reaction_diffusion",
    "roessler",
    "tones",
    "two_tone",
    "van_der_pol",
    "wake",
]
