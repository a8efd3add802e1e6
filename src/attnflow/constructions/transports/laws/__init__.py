"""Laws of points: mixtures of Gaussians, heavy tails, densities on a box or by a function, samples.

Frozen distributions of `scipy.stats` and arrays of samples `(n, d)` are taken wherever a law is.
"""

from .box import GridDensity, UniformBox
from .convert import Law as Law
from .convert import as_law as as_law
from .given import FromDensity
from .heavy import Cauchy, Laplace, Student
from .law import AbstractLaw
from .law import Box as Box
from .line import Line as Line
from .mixture import GaussianMixture, StandardNormal
from .samples import Samples
from .samples import Shares as Shares
from .tail import Tail as Tail
from .tail import Tails as Tails

__all__ = [
    "AbstractLaw",
    "Cauchy",
    "FromDensity",
    "GaussianMixture",
    "GridDensity",
    "Laplace",
    "Samples",
    "StandardNormal",
    "Student",
    "UniformBox",
]
