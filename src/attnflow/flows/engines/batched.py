"""The batched engine: realisations along a leading axis, step by step; it takes every model."""

import numpy as np

from ...models import AbstractRandomModel
from .._trajectory_engine import CHUNK_BYTES, AbstractTrajectoryEngine, Ensemble


class Batched(AbstractTrajectoryEngine):
    """Faster where the kernel for this processor sums over the pairs."""

    name = "batched"

    def cost(self, problem: Ensemble) -> float:
        drawn = isinstance(problem.model, AbstractRandomModel)  # by random numbers, which take the time
        by_kernel = not drawn and problem.sums_fill_vectors and problem.summed_by("native")
        return problem.batched_seconds * (0.4 if by_kernel else 1)

    def chunk(self, problem: Ensemble, realizations: int) -> int:
        return int(np.clip(CHUNK_BYTES // (problem.n**2 * problem.itemsize), 1, realizations))


ENGINE = Batched()
