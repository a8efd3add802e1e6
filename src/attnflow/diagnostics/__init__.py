"""What a person looks at, computed from a run."""

from .energy import dissipation as dissipation
from .energy import energy as energy
from .energy import is_gradient_flow as is_gradient_flow
