"""What a method of transport is given, checked once."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .laws import AbstractLaw, Samples

CHOOSING = 20_000  # points that decide between methods


@dataclass(frozen=True, eq=False)
class Problem:
    """`base` on the coordinates that move, `target` on all; of samples a part is held back from the fit.

    `budget` is the largest number of switches. Points `held_back` decide between fits, `judge` is for the report.
    """

    base: AbstractLaw
    target: AbstractLaw
    condition: tuple[int, ...]
    budget: int
    rng: np.random.Generator
    held_back: np.ndarray
    judge: AbstractLaw

    @classmethod
    def of(
        cls,
        base: AbstractLaw,
        target: AbstractLaw,
        condition: tuple[int, ...],
        budget: int,
        rng: np.random.Generator,
    ) -> "Problem":
        """The problem for two laws; the same shares of samples for the same generator."""
        if not isinstance(target, Samples):
            held_back = target.draw(CHOOSING, rng.spawn(1)[0])  # the same for all methods
            return cls(base, target, condition, budget, rng, held_back, target)
        shares = target.shares(rng)
        return cls(base, shares.fit, condition, budget, rng, shares.choose.x, shares.judge)

    @property
    def d(self) -> int:
        return self.target.d

    @cached_property
    def moving(self) -> np.ndarray:
        """The coordinates that are no condition."""
        return np.setdiff1d(np.arange(self.d), self.condition)
