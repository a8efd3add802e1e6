r"""Laws brought to order one by an affine map, which is a schedule itself: 2d + 1 pieces.

A symmetric positive matrix is a scaling along its eigenvectors, two neurons for each.
"""

from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ..schedules import AbstractPiece, MonotonePL, ReluPiece
from ._images import before
from .laws import AbstractLaw, GaussianMixture, Samples

POINTS = 20_000  # that moments are taken of
CUT = 0.005  # on each side, beyond which a point counts as if it stood there: moments of heavy tails may not exist
SCALES, LARGEST = 1e10, 1e100  # the widest range of scales, and the largest entries, that are taken
NEAR, CLOSE = 1.0, 2.6  # a mean, and a factor of a standard deviation, that need no change


@dataclass(frozen=True, eq=False)
class Affine:
    r"""$u \mapsto \text{mean} + Mu$ with `mean (d,)` and `matrix (d, d)`, symmetric and positive."""

    mean: np.ndarray
    matrix: np.ndarray

    @property
    def near_identity(self) -> bool:
        """Whether a law with these moments is of order one already."""
        scales = np.linalg.eigvalsh(self.matrix)
        return bool(abs(self.mean).max() <= NEAR and scales[-1] <= CLOSE and scales[0] >= 1 / CLOSE)

    @property
    def pieces(self) -> list[AbstractPiece]:
        """The map as pieces; none, if it is the identity."""
        scales, axes = np.linalg.eigh(self.matrix)
        made: list[AbstractPiece] = [
            MonotonePL(e / np.linalg.norm(e), [0.0], [0.0], left_slope=s, right_slope=s)
            for e, s in zip(axes.T, scales, strict=True)
            if s != 1
        ]
        return made + ([ReluPiece.translation(self.mean)] if self.mean.any() else [])

    @property
    def inverse_pieces(self) -> list[AbstractPiece]:
        """The inverse map."""
        return [piece.inverted for piece in reversed(self.pieces)]

    def inverse(self, y: np.ndarray) -> np.ndarray:
        """The rows u whose images are y."""
        return (y - self.mean) @ np.linalg.inv(self.matrix)

    def law_before(self, law: AbstractLaw) -> AbstractLaw:
        """The law of u, if that of the images is `law`."""
        if (mixture := law.mixture) is not None:
            M = np.linalg.inv(self.matrix)
            return GaussianMixture(self.inverse(mixture.means), weights=mixture.weights, covs=M @ mixture.covs @ M)
        return before(law, self)


def moments(name: str, law: AbstractLaw, rng: np.random.Generator) -> Affine:
    """The map that takes the standard normal law to one with the mean and the covariance of `law`.

    They are exact for a Gaussian; else points far out count as if they stood nearer.
    """
    if (mixture := law.mixture) is not None and len(mixture.weights) == 1:
        return _held(name, Affine(mixture.means[0], _root(name, mixture.covs[0])))
    x = law.x if isinstance(law, Samples) else law.draw(POINTS, rng)
    x = np.clip(x, *np.quantile(x, [CUT, 1 - CUT], axis=0))
    if not (size := abs(x).max()) < LARGEST:
        raise InputError(f"the {name} has entries of size {size:.1g}; shift and rescale it.")
    return _held(name, Affine(x.mean(axis=0), _root(name, np.atleast_2d(np.cov(x.T)))))


def _root(name: str, cov: np.ndarray) -> np.ndarray:
    if np.array_equal(cov, np.eye(len(cov))):
        return cov
    variances, axes = np.linalg.eigh(cov)
    if not variances[0] > 1e-14 * variances[-1]:
        raise InputError(f"the {name} lies in a hyperplane and has no density; leave out a coordinate.")
    return (axes * np.sqrt(variances)) @ axes.T


def _held(name: str, affine: Affine) -> Affine:
    """Refuse what float64 cannot: a piece adds to a point what brings it from one scale to another."""
    scales = np.linalg.eigvalsh(affine.matrix)
    largest, least = max(abs(affine.mean).max(), scales[-1], 1.0), min(scales[0], 1.0)
    if not largest < SCALES * least:
        raise InputError(
            f"the {name} has means up to {abs(affine.mean).max():.2g} and standard deviations from {scales[0]:.2g} to "
            f"{scales[-1]:.2g}, too far apart for float64; shift and rescale it."
        )
    return affine
