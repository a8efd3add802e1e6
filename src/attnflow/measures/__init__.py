r"""Distances between clouds of points with masses: how far apart two laws are.

All are chordal: the cost of moving mass from $x$ to $y$ is $|x - y|^p$ with the Euclidean norm of $\mathbb R^d$, on the
sphere too. The one exception is `wasserstein_circle`, which measures along the arc.

| function | exact | cost |
|---|---|---|
| `wasserstein_1d` | yes | sorting |
| `wasserstein_circle` | yes | sorting, about 80 times for $p \ne 1$ |
| `two_diracs` | yes | sorting |
| `gaussian_w2` | yes, of Gaussian laws | a singular value decomposition |
| `wasserstein` | yes | a matrix of distances, and an assignment: up to a few thousand points |
| `conditional_wasserstein` | yes, of sequences, at fixed positions | one pass; an assignment per position |
| `synchronous` | an upper bound | one pass |
| `sliced` | another distance, by Monte Carlo | sorting, once for every projection |
| `sinkhorn_divergence` | another distance; differentiable | many sums over pairs |

A measure is points as rows and masses that sum to one, `None` for equal ones: `weights` are those of `x`, the first
argument, and `other_weights` those of the second. Everything but the Sinkhorn
divergence is computed by NumPy and SciPy in float64, outside `jit`, and at every scale: a distance of scaled clouds is
the scaled distance, and orders $p$ of a thousand neither overflow nor underflow.
"""

from .circle import wasserstein_circle as wasserstein_circle
from .conditional import conditional_wasserstein as conditional_wasserstein
from .diracs import two_diracs as two_diracs
from .gaussian import gaussian_w2 as gaussian_w2
from .line import wasserstein_1d as wasserstein_1d
from .sinkhorn import SinkhornDivergence as SinkhornDivergence
from .sinkhorn import sinkhorn_divergence as sinkhorn_divergence
from .sliced import sliced as sliced
from .synchronous import synchronous as synchronous
from .transport import wasserstein as wasserstein

# Public names of this room. `attnflow` itself exports the most common ones; the rest is for other rooms of the package.
__all__ = [
    "SinkhornDivergence",
    "conditional_wasserstein",
    "gaussian_w2",
    "sinkhorn_divergence",
    "sliced",
    "synchronous",
    "two_diracs",
    "wasserstein",
    "wasserstein_1d",
    "wasserstein_circle",
]
