"""Exact low-dimensional equations that the particle systems reduce to."""

from .equiangular import equiangular_flow as equiangular_flow
from .equiangular import equiangular_rate as equiangular_rate
from .equiangular import phase_time as phase_time
