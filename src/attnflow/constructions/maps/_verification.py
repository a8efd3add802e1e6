"""Whether a schedule does what its cells should do."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...checks import whole
from ...spaces import Key, draws
from ._cells import cell_moves

if TYPE_CHECKING:
    from .flow import CellFlow


@dataclass(frozen=True, repr=False)
class Verification:
    r"""What `verify` found at random points. Printed, it is a sentence.

    - `points`: how many were tried, `in_ramps` how many of them are in ramps and count in no other number.
    - `images`: the largest distance of an image from where its cell goes, computed without shears.
    - `round_trip`: the largest distance of a point from the inverse of its image.
    - `log_det`: the largest error of $\log\det D\Psi$.
    """

    points: int
    in_ramps: int
    images: float
    round_trip: float
    log_det: float

    @property
    def holds(self) -> bool:
        """Whether all errors are those of rounding: below 1e-9."""
        return max(self.images, self.round_trip, self.log_det) < 1e-9

    def __repr__(self) -> str:
        return (
            f"{self.points} points, {self.in_ramps} in ramps: images {self.images:.2g} from where cells go, "
            f"round trip {self.round_trip:.2g}, log det {self.log_det:.2g}."
        )


def verification(flow: "CellFlow", count: Any, key: Key | None) -> Verification:
    m, grid = whole("points", count, most=10**8), flow.grid
    x = grid.lower + grid.sides * draws(key).random((m, grid.d))
    ramps = flow.in_ramps(x)
    x = x[~ramps]
    wanted = cell_moves(x, grid, flow.tau, flow.stretch)
    y, log_det = flow.schedule.carry(x)
    return Verification(
        points=m,
        in_ramps=int(ramps.sum()),
        images=float(abs(y - wanted.x).max(initial=0.0)),
        round_trip=float(abs(flow.inverse(y) - x).max(initial=0.0)),
        log_det=float(abs(log_det - np.log(wanted.growth)).max(initial=0.0)),
    )
