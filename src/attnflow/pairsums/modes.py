r"""How many modes a spectral sum needs.

The kernel $e^{\beta(\langle x, y\rangle - 1)}$ of unit tokens has the coefficients

- circle: $c_k = e^{-\beta} I_k(\beta)$, of $e^{iku}$;
- sphere $S^2$: $a_l = e^{-\beta} i_l(\beta) = e^{-\beta} \sqrt{\pi/2\beta}\, I_{l+1/2}(\beta)$, of $(2l+1) P_l$.

They fall faster than any power from about $\sqrt{2\beta\ln(1/\mathrm{tol})}$ on. A count is static: it is part of the
compiled program, while $\beta$ is data. So it is chosen where $\beta$ is a number, and carried by the engine's name.
"""

import math
from typing import Any

import numpy as np
from scipy.special import ive

DIMENSIONS = {2: "circle", 3: "sphere"}
# What is left out is then below the rounding errors of what is kept; 1e-12 would save a tenth of the modes.
TOLERANCE = 1e-15
# Counts are rounded up to a multiple of this, so that nearby temperatures share one program.
GRAIN = 8


def circle_modes(beta: float, tol: float = TOLERANCE) -> int:
    r"""$K$, one more than the smallest with $2\sum_{k>K} c_k < \mathrm{tol}\; c_0$; modes $|k| \le K$ are used."""
    return _smallest(lambda k: 2 * ive(k, abs(beta)), beta, tol * float(ive(0, abs(beta))))


def sphere_modes(beta: float, tol: float = TOLERANCE) -> int:
    r"""$L$, one more than the smallest with $\sum_{l>L} (2l+1) a_l < \mathrm{tol}$; degrees $0, \dots, L$ are used."""
    if beta == 0:
        return 1
    scale = math.sqrt(math.pi / (2 * abs(beta)))
    return _smallest(lambda l: (2 * l + 1) * scale * ive(l + 0.5, abs(beta)), beta, tol)  # noqa: E741


def _smallest(terms: Any, beta: float, below: float) -> int:
    enough = int(20 + math.sqrt(2 * abs(beta) * (math.log(1 / below) + 30)) + math.log(1 / below))
    tails = np.cumsum(terms(np.arange(1, enough + 1))[::-1])[::-1]  # tails[k]: the sum over all beyond k
    return int(np.argmax(np.append(tails, 0) < below)) + 1


def modes_for(beta: float, d: int, tol: float = TOLERANCE) -> int:
    """The count for tokens of dimension `d`, rounded up."""
    exact = (circle_modes if d == 2 else sphere_modes)(beta, tol)
    return -(-exact // GRAIN) * GRAIN
