r"""The continuity equation of attention itself, in one dimension: no tokens, a density.

$$ \partial_t\mu + \operatorname{div}(\mu\,\Gamma_\mu) = 0 . $$

- `_chart`: the circle and the line, and where their cells lie;
- `_density`: the initial density as masses of cells;
- `_reconstruction`: from masses of cells to densities at faces, and to weights of a quadrature;
- `_field`: the velocity at the faces, by the attention map;
- `_scheme`: fluxes, steps, the compiled loop;
- `solve`, `result`: the public function and its result.

Derivations: docs/theory/mean-field.md. Reference: arXiv:2501.18322.
"""

from .result import MeanField as MeanField
from .solve import mean_field as mean_field
