r"""The numbers of the explicit schemes with fixed steps, once for all that take them.

In all of them a stage uses the one before it alone,

$$ k_s = f(t + c_s h,\; x + c_s h\, k_{s-1}), \qquad x \leftarrow x + h \sum_s b_s k_s, $$

so that a step needs the memory of one velocity and one sum, whatever reads these numbers: solvers of diffrax, compiled
loops over batches of clouds, kernels of a GPU and of the processor. A scheme is one file in `schemes/`; one of another
package is an entry point,

    [project.entry-points."attnflow.flows.schemes"]
    heun3 = "my_package.heun3:TABLEAU"
"""

import functools
import math
from dataclasses import dataclass
from typing import ClassVar

from ..errors import InputError
from ..registry import entries, installed


@dataclass(frozen=True)
class Tableau:
    r"""`nodes` $c$ and `weights` $b$ of the stages; `error`, weights of the difference to an embedded method.

    A stage behind the last one that has a weight is there for the error alone. `name` is what users write as `solver=`.
    """

    kind: ClassVar = "scheme"
    name: str
    order: int
    nodes: tuple[float, ...]
    weights: tuple[float, ...]
    error: tuple[float, ...]

    def __post_init__(self):
        sums = (sum(self.weights) - 1, sum(self.error))
        if not len(self.nodes) == len(self.weights) == len(self.error) or self.nodes[0] != 0:
            raise InputError(f"scheme {self.name!r} needs a node, a weight and an error per stage, the first at 0.")
        if not all(math.isclose(total, 0, abs_tol=1e-12) for total in sums):
            raise InputError(f"the weights of scheme {self.name!r} should sum to 1, and those of its error to 0.")

    @property
    def stages(self) -> int:
        """The number of stages of a step, without those for its error."""
        return max(s for s, weight in enumerate(self.weights) if weight) + 1

    @property
    def ahead(self) -> tuple[float, ...]:
        """For each stage the node of the next one, as a fraction of the step; 0 for the last."""
        return (*self.nodes[1:], 0.0)


def tableaux() -> dict[str, Tableau]:
    """The schemes by name, ours and those of other packages."""
    return _tableaux(installed())


@functools.lru_cache(16)
def _tableaux(installed: object) -> dict[str, Tableau]:
    return entries("scheme")
