r"""The phases of a law at low temperature, from two curves: concentration, plateau, exit, terminal state.

`W2` is the distance to the limit at zero temperature, $\Pi_\#\rho_0$; `overlap` is $\sum_i w_i\langle x_i, v\rangle^2$
with the dominant unit eigenvector $v$ of the value matrix. First the law approaches the limit and `W2` falls; it stays;
then the clusters leave for $\pm v$ and the overlap rises to one. What is called a plateau here is our choice.
"""

from dataclasses import dataclass

import numpy as np

from ..checks import finite_array
from ..errors import InputError
from ..spaces import Numbers

NEAR = 2.0  # on the plateau the distance is at most so many times its least value
HALF, END = 0.5, 1 - 1e-3  # the overlap at the exit, and from which on nothing happens any more


@dataclass(frozen=True)
class PhaseReport:
    """When and how close; times are those of the curves, `None` where a phase was not reached.

    - `t_min`, `W2_min`: the least distance to the limit of zero temperature, and when.
    - `plateau`: the interval around it on which the distance is at most twice that; it ends with the curves if they do.
    - `exit`: when the overlap reaches 1/2, after the minimum and between saved times by interpolation.
    - `terminal`: from when on the overlap stays above 0.999.
    """

    t_min: float
    W2_min: float
    plateau: tuple[float, float]
    exit: float | None
    terminal: float | None

    @property
    def plateau_length(self) -> float:
        return self.plateau[1] - self.plateau[0]

    def __repr__(self) -> str:
        """One sentence."""
        told = f"W2 is least, {self.W2_min:.4g}, at t = {self.t_min:.4g}; plateau from {self.plateau[0]:.4g} to "
        told += f"{self.plateau[1]:.4g}; "
        told += "no exit" if self.exit is None else f"exit at {self.exit:.4g}"
        return told + ("" if self.terminal is None else f", terminal from {self.terminal:.4g}")


def phase_report(ts: Numbers, W2: Numbers, overlap: Numbers) -> PhaseReport:
    """Read the phases off the distance to the limit and the overlap with the dominant direction, both at times `ts`."""
    ts, W2, overlap = finite_array("ts", ts), finite_array("W2", W2), finite_array("overlap", overlap)
    if ts.ndim != 1 or ts.size < 3 or W2.shape != ts.shape or overlap.shape != ts.shape:
        raise InputError(
            f"ts, W2 and overlap have shapes {ts.shape}, {W2.shape}, {overlap.shape}; give three (T,), T > 2."
        )
    if np.any(np.diff(ts) <= 0):
        raise InputError("the times of the curves must increase.")
    least = int(W2.argmin())
    far = W2 > NEAR * W2[least]
    before, after = np.flatnonzero(far[:least]), np.flatnonzero(far[least:])
    first = int(before[-1]) + 1 if before.size else 0
    last = least + int(after[0]) - 1 if after.size else ts.size - 1
    reached = np.flatnonzero(overlap[least:] >= HALF)
    gone = None if reached.size == 0 else _crossing(ts, overlap, least + int(reached[0]))
    below = np.flatnonzero(overlap < END)
    settled = int(below[-1]) + 1 if below.size else 0
    return PhaseReport(
        t_min=float(ts[least]),
        W2_min=float(W2[least]),
        plateau=(float(ts[first]), float(ts[last])),
        exit=gone,
        terminal=float(ts[settled]) if settled < ts.size and gone is not None else None,
    )


def _crossing(ts: np.ndarray, overlap: np.ndarray, k: int) -> float:
    """When the overlap passes 1/2, between the saved times k - 1 and k."""
    if k == 0 or overlap[k - 1] >= HALF:
        return float(ts[k])
    share = (HALF - overlap[k - 1]) / (overlap[k] - overlap[k - 1])
    return float(ts[k - 1] + share * (ts[k] - ts[k - 1]))
