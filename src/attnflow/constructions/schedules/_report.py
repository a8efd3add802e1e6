"""What a schedule is made of, and how large its weights are."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from ...spaces import Numbers
from .relu_pieces import ReluPieces

Effect = Literal["translation", "shear", "expansion", "compression"]
PARALLEL = 1e-12  # a neuron whose cosine of w and a is below this keeps volume


@dataclass(frozen=True, repr=False)
class ScheduleReport:
    r"""What `Schedule.report` found. Printed, it is a sentence.

    - `pieces`, `switches`, `duration`; `effects`: how many neurons translate (a = 0), shear
      ($\langle a, w\rangle = 0$), expand ($> 0$) or compress ($< 0$) the half-space they are on in.
    - `weight_norm`: $\sup_t|(w, a, b)(t)|_\infty$. A neuron may be written with other weights
      ($\lambda w$, $a/\lambda$, $b/\lambda$), or run for another time; what then stays is
    - `path_norm`: $\int|w|\sqrt{|a|^2 + b^2}\,dt$.
    - `log_det_range`: two numbers between which $\log|\det D\Phi|$ lies at every point.
    - `round_trip`: the largest distance of a point from where it comes back to, relative to the longest of the points
      and of their images (`None` if no points were given).
    """

    d: int
    pieces: int
    switches: int
    duration: float
    effects: dict[Effect, int]
    weight_norm: float
    path_norm: float
    log_det_range: tuple[float, float]
    round_trip: float | None

    def __repr__(self) -> str:
        effects = ", ".join(f"{many} {name}{'s' * (many > 1)}" for name, many in self.effects.items() if many)
        low, high = self.log_det_range
        back = "" if self.round_trip is None else f"; points come back to {self.round_trip:.1e}"
        return (
            f"{self.pieces} piece{'s' * (self.pieces > 1)} of R^{self.d} ({effects}), largest weight "
            f"{self.weight_norm:.4g}, path norm {self.path_norm:.4g}, log det between {low:.4g} and {high:.4g}{back}."
        )


def report_of(schedule: Any, x: Numbers | None) -> ScheduleReport:
    neurons = schedule.neurons
    size = np.sqrt((neurons.A**2).sum(axis=1) + neurons.b**2)
    named = effects(neurons)
    return ScheduleReport(
        d=schedule.d,
        pieces=schedule.pieces,
        switches=schedule.switches,
        duration=schedule.duration,
        effects={name: int((named == name).sum()) for name in get_args(Effect)},
        weight_norm=float(max(abs(neurons.W).max(), abs(neurons.A).max(), abs(neurons.b).max())),
        path_norm=float((neurons.t * np.linalg.norm(neurons.W, axis=1) * size).sum()),
        log_det_range=schedule.log_det_range,
        round_trip=None if x is None else _round_trip(schedule, x),
    )


def effects(neurons: ReluPieces) -> np.ndarray:
    """What each neuron does to the half-space it is on in, by name."""
    a, w = np.linalg.norm(neurons.A, axis=1), np.linalg.norm(neurons.W, axis=1)
    c = np.einsum("pd,pd->p", neurons.A, neurons.W)
    kept = abs(c) <= PARALLEL * a * w
    return np.select([a == 0, kept, c > 0], ["translation", "shear", "expansion"], "compression")


def _round_trip(schedule: Any, x: Numbers) -> float:
    y = schedule.forward(x)
    back = schedule.inverse(y)
    given = np.asarray(x, float)
    longest = max(np.linalg.norm(points, axis=1).max() for points in (given, y))
    return float(np.linalg.norm(back - given, axis=1).max() / (longest or 1.0))
