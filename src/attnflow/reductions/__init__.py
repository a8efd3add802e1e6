"""Exact low-dimensional equations that the particle systems reduce to, and closed forms of the theory."""

from . import causal as causal
from . import gaussian as gaussian
from . import homogenized as homogenized
from . import localization as localization
from ._spectral_projector import DominantEigenspace as DominantEigenspace
from ._spectral_projector import dominant_eigenspace as dominant_eigenspace
from .antipodal import antipodal_pair_rate as antipodal_pair_rate
from .cap_collapse import collapse_bound as collapse_bound
from .cap_collapse import collapse_time as collapse_time
from .centers import cap_measure as cap_measure
from .centers import expected_strong_centers as expected_strong_centers
from .centers import parking_count as parking_count
from .centers import strong_center_speed as strong_center_speed
from .equiangular import equiangular_flow as equiangular_flow
from .equiangular import equiangular_rate as equiangular_rate
from .equiangular import phase_time as phase_time
from .growth import fastest_mode as fastest_mode
from .growth import growth_rate as growth_rate
from .hemisphere import hemisphere_probability as hemisphere_probability
from .light_token import light_token as light_token
from .long_context import long_context_cosine as long_context_cosine
from .low_temperature import ClusterRates as ClusterRates
from .low_temperature import LowTemperatureRates as LowTemperatureRates
from .low_temperature import LowTemperatureReport as LowTemperatureReport
from .low_temperature import check_low_temperature_assumptions as check_low_temperature_assumptions
from .low_temperature import cluster_rates as cluster_rates
from .low_temperature import low_temperature_rates as low_temperature_rates
from .mean_field import MeanField as MeanField
from .mean_field import mean_field as mean_field
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
from .uniform_measure import uniform_mean as uniform_mean
from .zero_temperature import limit_space as limit_space
from .zero_temperature import projection_map as projection_map
from .zero_temperature import zero_temperature_field as zero_temperature_field
from .zero_temperature import zero_temperature_flow as zero_temperature_flow
from .zero_temperature import zero_temperature_matrix as zero_temperature_matrix

# Public names of this room. `attnflow` itself exports the most common ones; the rest is for other rooms of the package.
__all__ = [
    "ClusterRates",
    "DominantEigenspace",
    "LowTemperatureRates",
    "LowTemperatureReport",
    "MeanField",
    "antipodal_pair_rate",
    "belt",
    "belt_modes",
    "cap_measure",
    "causal",
    "check_low_temperature_assumptions",
    "cluster_rates",
    "collapse_bound",
    "collapse_time",
    "dominant_eigenspace",
    "equiangular_flow",
    "equiangular_rate",
    "expected_modes_circle",
    "expected_modes_line",
    "expected_strong_centers",
    "fastest_mode",
    "growth_rate",
    "hemisphere_probability",
    "homogenized",
    "kac_rice_density",
    "light_token",
    "limit_space",
    "localization",
    "long_context_cosine",
    "low_temperature_rates",
    "merge_time",
    "parking_count",
    "phase_time",
    "plateau_height",
    "projection_map",
    "strong_center_speed",
    "two_cluster_flow",
    "two_cluster_rate",
    "two_cluster_time",
    "uniform_energy",
    "uniform_mean",
    "zero_temperature_field",
    "zero_temperature_flow",
    "zero_temperature_matrix",
]
