"""Diffeomorphisms of a box as explicit flows of ReLU neurons: `approximate_map`, and its parts.

The files: `_given` (the map and its Jacobian), `_bijection` (what is refused), `_compression`, `_assignment` (where
cells go), `flow` (the result), `_cells`, `_ramps`, `_verification` and `_report` (how good it is). Shears are
in `schedules/folding`. `maurey_schedule` is random switching. The derivation is in docs/theory/diffeomorphism.md.
"""

from .approximate import approximate_map, permutation_flow, polar_flow
from .flow import CellFlow
from .maurey import maurey_schedule

__all__ = ["CellFlow", "approximate_map", "maurey_schedule", "permutation_flow", "polar_flow"]
