r"""How far a law is from the minimiser, and whether what was found is atomic: the certificate of a law on the circle.

The energy is convex, $E(\nu) \ge E(\mu) + \int p\,d(\nu - \mu)$, so that

$$ 0 \le E(\mu) - E^* \le \text{gap} = \int p\,d\mu - \min p , $$

and $\mu$ minimises exactly if $p = \min p$ on its support (Karush, Kuhn and Tucker). A law of few atoms is told from a
density by the slack: how far $p$ stays above its minimum away from the atoms.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._linear_algebra import finite_array
from ...errors import InputError
from ...models import Perceptron
from ...spaces import Numbers
from ._landscape import GRID, Landscape, Real, landscape

FEW, GAP, SLACK = 12, 1e-8, 1e-5  # what a numerical verdict of atoms needs
FLAT = 1e-8  # below this slack nothing is told from a density
NEAR = 0.25  # the slack is that of angles farther than this from every atom
TOGETHER = 0.02  # atoms closer than this are one


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """A law of atoms on the circle, and what can be said of it.

    - `angles (m,)` in $[0, 2\\pi)$, increasing, `masses (m,)`, all positive; `energy`.
    - `floor`: the least value of $p$. `gap`: the energy is at most so much above the least one. `excess`: how far $p$
      is above its floor on the support, at most.
    - `slack`: the least height of $p$ above its floor, farther than 0.25 from every atom (where no angle is so far, the
      largest height).
    - `capped`: whether the search ended because it had as many atoms as it was allowed.
    - `verdict`: `"atomic"`, `"density"` or `"undecided"`.
    """

    perceptron: Perceptron
    beta: float
    angles: np.ndarray
    masses: np.ndarray
    energy: float
    floor: float
    gap: float
    excess: float
    slack: float
    capped: bool = False

    def potential(self, theta: Numbers) -> Real:
        """$p = K*\\mu + U$ at some angles."""
        return landscape(self.perceptron, self.beta).potential(finite_array("theta", theta), self.angles, self.masses)

    @property
    def atoms(self) -> int:
        """How many atoms there are, those closer than 0.02 counted as one."""
        gaps = np.diff(self.angles, append=self.angles[0] + 2 * np.pi)
        return max(1, int(np.sum(gaps > TOGETHER)))

    @property
    def verdict(self) -> str:
        """Atoms: at most 12, a gap below 1e-8, a slack above 1e-5. A density: as many atoms as were allowed,
        gap and slack below 1e-8.

        The coefficients $I_n(\\beta)$ of the kernel decay faster than any exponential: above some 16 atoms a law cannot
        be told from a density in double precision. What is in between is undecided.
        """
        if self.atoms <= FEW and self.gap < GAP and self.slack > SLACK:
            return "atomic"
        return "density" if self.capped and max(self.gap, self.slack) < FLAT else "undecided"

    def __repr__(self) -> str:
        return (
            f"Certificate({self.atoms} atom{'s' * (self.atoms > 1)} at beta = {self.beta:g}, energy {self.energy:.6f}, "
            f"gap {self.gap:.1e}, slack {self.slack:.1e}: {self.verdict})"
        )


def certificate(x: Any, w: Any = None, *, perceptron: Perceptron, beta: Any, capped: bool = False) -> Certificate:
    """The certificate of any atomic law: angles `(n,)` or points `(n, 2)`, masses `(n,)`, `None` for equal ones."""
    here = landscape(perceptron, beta)
    theta = finite_array("x", x)
    if theta.ndim == 2 and theta.shape[1] == 2:
        off = np.abs(np.hypot(theta[:, 0], theta[:, 1]) - 1) > 1e-3
        if off.any():
            raise InputError(f"the point {theta[np.argmax(off)]} of x is not on the circle; divide it by its length.")
        theta = np.arctan2(theta[:, 1], theta[:, 0])
    if theta.ndim != 1 or theta.size == 0:
        raise InputError(f"x has shape {theta.shape}; give angles (n,), or points of the circle (n, 2).")
    mass = np.full(theta.size, 1 / theta.size) if w is None else finite_array("w", w)
    if mass.shape != theta.shape or (mass < 0).any() or abs(mass.sum() - 1) > 1e-6:
        raise InputError(f"w of shape {mass.shape} should be {theta.size} masses, none negative, that sum to 1.")
    theta, mass = theta[mass > 0] % (2 * np.pi), mass[mass > 0]  # no atom without mass
    order = np.argsort(theta)
    theta, mass = theta[order], mass[order]
    _, floor = here.floor(theta, mass)
    on_support = np.asarray(here.potential(theta, theta, mass))
    return Certificate(
        perceptron=perceptron,
        beta=here.beta,
        angles=theta,
        masses=mass,
        energy=here.energy(theta, mass),
        floor=floor,
        gap=float(mass @ on_support - floor),
        excess=float(on_support.max() - floor),
        slack=_slack(here, theta, mass, floor),
        capped=capped,
    )


def _slack(here: Landscape, theta: np.ndarray, mass: np.ndarray, floor: float) -> float:
    height = np.asarray(here.potential(GRID, theta, mass)) - floor
    # The distance to the nearest atom, from the neighbours in the sorted list.
    around = np.concatenate([theta[-1:] - 2 * np.pi, theta, theta[:1] + 2 * np.pi])
    at = np.searchsorted(around, GRID)
    far = np.minimum(around[at] - GRID, GRID - around[at - 1]) > NEAR
    return float(height[far].min() if far.any() else height.max())
