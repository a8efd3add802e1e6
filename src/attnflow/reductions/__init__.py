"""Exact low-dimensional equations that the particle systems reduce to, and closed forms of the theory."""

from .equiangular import equiangular_flow as equiangular_flow
from .equiangular import equiangular_rate as equiangular_rate
from .equiangular import phase_time as phase_time
from .growth import fastest_mode as fastest_mode
from .growth import growth_rate as growth_rate
from .hemisphere import hemisphere_probability as hemisphere_probability
from .light_token import light_token as light_token
from .long_context import long_context_cosine as long_context_cosine
from .two_clusters import two_cluster_flow as two_cluster_flow
from .two_clusters import two_cluster_rate as two_cluster_rate
from .two_clusters import two_cluster_time as two_cluster_time
from .uniform_measure import uniform_energy as uniform_energy
