r"""How a density falls off: what its moments are, and which powers of the distance its logarithm outgrows."""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np


@dataclass(frozen=True)
class Tail:
    r"""`"power"`: $\rho \sim |x|^{-d-\nu}$ with `exponent` $\nu$; `"exponential"`: $-\log\rho \sim |x|^p$ with
    `exponent` p; `"compact"`: zero far away (the exponent is infinite).
    """

    kind: Literal["power", "exponential", "compact"]
    exponent: float

    def has_moment(self, p: float) -> bool:
        """Whether the mean of $|x|^p$ is finite."""
        return self.kind != "power" or p < self.exponent

    @property
    def cost(self) -> float:
        """The power of $|x|$ that $-\\log\\rho$ grows like: 0 for a logarithm, infinite for a compact support."""
        return {"power": 0.0, "exponential": self.exponent, "compact": math.inf}[self.kind]

    def __str__(self) -> str:
        if self.kind == "compact":
            return "a compact support"
        if self.kind == "power":
            return f"tails |x|^-(d + {self.exponent:.3g})"
        return f"tails exp(-c |x|^{self.exponent:.3g})"


class Tails(NamedTuple):
    """The heaviest and the lightest tail over all directions."""

    heavy: Tail
    light: Tail

    def __str__(self) -> str:
        return str(self.heavy) if self.heavy == self.light else f"{self.heavy} on one side and {self.light} on another"


COMPACT = Tail("compact", math.inf)


def equal_tails(kind: Literal["power", "exponential", "compact"], exponent: float) -> Tails:
    """The same tail in all directions."""
    return Tails(Tail(kind, exponent), Tail(kind, exponent))


def heavier_first(one: Tail, other: Tail) -> Tails:
    """Two tails in their order."""

    def weight(tail: Tail) -> tuple[float, float]:
        return (tail.cost, tail.exponent)

    return Tails(*sorted((one, other), key=weight))


def tail_of_values(distances: np.ndarray, minus_log: np.ndarray) -> Tail | None:
    r"""The tail that $-\log\rho$ shows at growing `distances`, in geometric progression; `None` if it shows none.

    For a power, $d(-\log\rho)/d\log|x|$ tends to a constant; else it grows like $|x|^p$.
    """
    known = np.isfinite(minus_log) & (minus_log > 5)
    L, logs = minus_log[known], np.log(distances[known])
    if len(L) < 6:
        return None
    slope = np.diff(L) / np.diff(logs)
    late, middle = slope[-1], slope[len(slope) // 2]
    if not middle > 1:
        return None
    if late < 1.02 * middle:
        return Tail("power", float(late) - 1)
    return Tail("exponential", float(np.log(slope[-1] / slope[-2]) / (logs[-1] - logs[-2])))
