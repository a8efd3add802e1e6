"""The innermost engine: realisations along the last axis, so that every operation works on vectors of them."""

import numpy as np

from ...models import AbstractRandomModel
from .._trajectory_engine import CHUNK_BYTES, FEW_DIMENSIONS, AbstractTrajectoryEngine, Ensemble

# Above this a vector of 16 realisations is too large to be computed together.
VECTOR_BYTES = 1 << 25


class Innermost(AbstractTrajectoryEngine):
    """For few dimensions, and clouds that are not large."""

    name = "innermost"
    innermost = True

    def cost(self, problem: Ensemble) -> float:
        small = 16 * problem.n**2 * problem.itemsize <= VECTOR_BYTES
        # Numbers of a random model are drawn realisation by realisation, and that takes the time.
        drawn = isinstance(problem.model, AbstractRandomModel)
        good = small and problem.d <= FEW_DIMENSIONS and not drawn
        return problem.batched_seconds * (0.6 if good else 3)

    def kernel(self, problem: Ensemble) -> str:
        return "broadcast"

    def chunk(self, problem: Ensemble, realizations: int) -> int:
        # Coordinates are read again for every pair: with many of them, fewer realisations go together.
        n, d = problem.n, problem.d
        fit = CHUNK_BYTES // (n * (n + 3 * d) * problem.itemsize)
        return int(np.clip(round(fit / 16) * 16, 16, -(-realizations // 16) * 16))  # in whole vectors of 16


ENGINE = Innermost()
