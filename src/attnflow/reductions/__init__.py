"""Exact low-dimensional equations that the particle systems reduce to, and closed forms of the theory."""

from .cap_collapse import collapse_bound as collapse_bound
from .cap_collapse import collapse_time as collapse_time
from .equiangular import equiangular_flow as equiangular_flow
from .equiangular import equiangular_rate as equiangular_rate
from .equiangular import phase_time as phase_time
from .growth import fastest_mode as fastest_mode
from .growth import growth_rate as growth_rate
from .hemisphere import hemisphere_probability as hemisphere_probability
from .light_token import light_token as light_token
from .long_context import long_context_cosine as long_context_cosine
from .modes import belt as belt
from .modes import belt_modes as belt_modes
from .modes import expected_modes_circle as expected_modes_circle
from .modes import expected_modes_line as expected_modes_line
from .modes import kac_rice_density as kac_rice_density
from .plateaus import merge_time as merge_time
from .plateaus import plateau_height as plateau_height
from .two_clusters import two_cluster_flow as two_cluster_flow
from .two_clusters import two_cluster_rate as two_cluster_rate
from .two_clusters import two_cluster_time as two_cluster_time
from .uniform_measure import uniform_energy as uniform_energy
