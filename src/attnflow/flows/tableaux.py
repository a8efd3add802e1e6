r"""The numbers of the explicit schemes with fixed steps, once for all that take them.

In all of them a stage uses the one before it alone,

$$ k_s = f(t + c_s h,\; x + c_s h\, k_{s-1}), \qquad x \leftarrow x + h \sum_s b_s k_s, $$

so that a step needs the memory of one velocity and one sum, whatever reads these numbers: solvers of diffrax, compiled
loops over batches of clouds, kernels of a GPU and of the processor.
"""

from typing import NamedTuple


class Tableau(NamedTuple):
    r"""`nodes` $c$ and `weights` $b$ of the stages; `error`, weights of the difference to an embedded method.

    A stage behind the last one that has a weight is there for the error alone.
    """

    nodes: tuple[float, ...]
    weights: tuple[float, ...]
    error: tuple[float, ...]

    @property
    def stages(self) -> int:
        """How many stages a step takes, without its error."""
        return max(s for s, weight in enumerate(self.weights) if weight) + 1

    @property
    def ahead(self) -> tuple[float, ...]:
        """How far the stage after each one stands, as a part of the step; 0 after the last."""
        return (*self.nodes[1:], 0.0)


TABLEAUX = {
    # Against (k_2 + 2 k_3)/3, of order 2, and 3 for linear equations: too crude to choose steps by, but free, and it
    # shows steps that do not follow the flow.
    "rk4": Tableau((0.0, 1 / 2, 1 / 2, 1.0), (1 / 6, 1 / 3, 1 / 3, 1 / 6), (1 / 6, 0.0, -1 / 3, 1 / 6)),
    # Against the trapezoidal rule: half the change of velocity along the step.
    "euler": Tableau((0.0, 1.0), (1.0, 0.0), (-1 / 2, 1 / 2)),
}
