r"""How far a law is from the minimiser, and whether it is atomic: the certificate of a law on the circle.

The energy is convex, $E(\nu) \ge E(\mu) + \int p\,d(\nu - \mu)$, so that

$$ 0 \le E(\mu) - E^* \le \text{gap} = \int p\,d\mu - \min p , $$

and $\mu$ minimises exactly if $p = \min p$ on its support (Karush, Kuhn and Tucker). The slack distinguishes a law of
few atoms from a density: it is how far $p$ stays above its minimum away from the atoms.
"""

from dataclasses import dataclass

import numpy as np

from ...checks import finite_array, flag
from ...errors import InputError
from ...models import Perceptron
from ...spaces import Number, Numbers
from ._landscape import GRID, Landscape, Real, landscape

PART, GAP, SLACK = 0.75, 1e-8, 1e-5  # what a numerical verdict of atoms needs; gap and slack in units of the scale
FLAT = 1e-8  # below this slack atoms and densities are not distinguished
NEAR = 0.25  # the slack is that of angles farther than this from every atom; for beta > 4 it is half a width
TOGETHER = 0.02  # atoms closer than this are one, in widths of the kernel


@dataclass(frozen=True, eq=False, repr=False)
class Certificate:
    """A law of atoms on the circle, and its certificate.

    - `angles (m,)` in $[0, 2\\pi)$, increasing, `masses (m,)`, all positive; `energy`.
    - `floor`: the least value of $p$. `gap`: the energy is at most so much above the least one. `excess`: how far $p$
      is above its floor on the support, at most.
    - `slack`: the least height of $p$ above its floor, farther than 0.25 from every atom (for $\\beta > 4$, than
      $1/2\\sqrt\\beta$; where no angle is so far, the largest height).
    - `scale`: of energies, $I_1(\\beta)/\\beta + \\frac12(\\max U - \\min U)$; `relative_gap`: the gap in units of it.
    - `capped`: whether the search ended because it had as many atoms as it was allowed.
    - `verdict`: `"atomic"`, `"density"` or `"undecided"`; `limits`: sentences on what is not certain, or nothing.
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
    scale: float
    capped: bool = False

    def potential(self, theta: Numbers) -> Real:
        """$p = K*\\mu + U$ at some angles."""
        here = landscape(self.perceptron, self.beta)
        return 1 / here.beta + here.scale * here.potential(finite_array("theta", theta), self.angles, self.masses)

    @property
    def atoms(self) -> int:
        """How many atoms there are, those closer than 0.02 widths of the kernel counted as one."""
        gaps = np.diff(self.angles, append=self.angles[0] + 2 * np.pi)
        return max(1, int(np.sum(gaps > TOGETHER * self._here.width)))

    @property
    def relative_gap(self) -> float:
        """The gap in units of the scale: the error of the energy is at most this part of it."""
        return self.gap / self.scale

    @property
    def unresolved(self) -> float:
        """The gap in units of the weaker part of the energies, interaction or potential; above 0.1 nothing is known of
        what that part does to the law."""
        return self.relative_gap / self._here.lesser

    @property
    def verdict(self) -> str:
        """Atoms: at most 12, a gap below 1e-8, a slack above 1e-5. A density: as many atoms as were allowed,
        gap and slack below 1e-8. The slack of atoms is in units of the scale; the others are in units of the weaker
        part of it, interaction or potential, without which every law is a density or one atom.

        The coefficients $I_n(\\beta)$ of the kernel decay faster than any exponential: above some 16 atoms a law cannot
        be distinguished from a density in double precision ($\\beta \\le 1$; for large $\\beta$ some
        $\\sqrt{74\\beta}$, and three quarters of that number take the place of 12). What is in between is undecided.
        """
        gap, slack, lesser = self.relative_gap, self.slack / self.scale, self._here.lesser
        if self.atoms <= PART * self._here.enough and gap < GAP * lesser and slack > SLACK:
            return "atomic"
        return "density" if self.capped and max(gap, slack) < FLAT * lesser else "undecided"

    @property
    def limits(self) -> tuple[str, ...]:
        """What is not certain, in sentences; empty if nothing is."""
        sentences = []
        if not self.relative_gap < GAP:
            capped = f"; {len(self.angles)} atoms are all that were allowed" if self.capped else ""
            sentences.append(
                f"The energy is above the least one by at most {self.gap:.2g}, {self.relative_gap:.1e} of its scale, "
                f"and is not known better{capped}."
            )
        elif not self.relative_gap < GAP * self._here.lesser:
            weak, strong = ("potential", "interaction") if self._potential_is_weaker else ("interaction", "potential")
            known = "lost in rounding" if self.unresolved > 0.1 else f"known to {self.unresolved:.0e} of it"
            sentences.append(
                f"The {weak} is {self._here.lesser:.1e} of the energies, which are mostly {strong}; what it does to "
                f"the law is {known}. expected_localization says what theory knows."
            )
        elif self.verdict == "undecided":
            sentences.append("Atoms cannot be distinguished from a density here: p hardly rises away from the atoms.")
        return tuple(sentences)

    @property
    def _potential_is_weaker(self) -> bool:
        return float(np.ptp(self._here.external(GRID))) < self.scale

    @property
    def _here(self) -> Landscape:
        return landscape(self.perceptron, self.beta)

    def __repr__(self) -> str:
        return (
            f"Certificate({self.atoms} atom{'s' * (self.atoms > 1)} at beta = {self.beta:g}, "
            f"energy {_short(self.energy)}, gap {self.gap:.1e}, slack {self.slack:.1e}, scale {self.scale:.2g}: "
            f"{self.verdict}{''.join(f'; {sentence[0].lower()}{sentence[1:-1]}' for sentence in self.limits)})"
        )


def certificate(
    x: Numbers, weights: Numbers | None = None, *, perceptron: Perceptron, beta: Number, capped: bool = False
) -> Certificate:
    """The certificate of any atomic law: angles `(n,)` or points `(n, 2)`, `weights (n,)`, `None` for equal ones."""
    here = landscape(perceptron, beta)
    capped = flag("capped", capped)
    theta = finite_array("x", x)
    if theta.ndim == 2 and theta.shape[1] == 2:
        off = np.abs(np.hypot(theta[:, 0], theta[:, 1]) - 1) > 1e-3
        if off.any():
            raise InputError(f"the point {theta[np.argmax(off)]} of x is not on the circle; divide it by its length.")
        theta = np.arctan2(theta[:, 1], theta[:, 0])
    if theta.ndim != 1 or theta.size == 0:
        raise InputError(f"x has shape {theta.shape}; give angles (n,), or points of the circle (n, 2).")
    mass = np.full(theta.size, 1 / theta.size) if weights is None else finite_array("weights", weights)
    if mass.shape != theta.shape or (mass < 0).any() or abs(mass.sum() - 1) > 1e-6:
        raise InputError(f"weights have shape {mass.shape}; give {theta.size}, none negative, that sum to 1.")
    theta, mass = theta[mass > 0] % (2 * np.pi), mass[mass > 0]  # no atom without mass
    order = np.argsort(theta)
    theta, mass = theta[order], mass[order]
    total = mass.sum()
    mass = mass if abs(total - 1) < 1e-14 else mass / total
    _, floor = here.floor(theta, mass)
    height = np.asarray(here.potential(theta, theta, mass)) - floor
    return Certificate(
        perceptron=perceptron,
        beta=here.beta,
        angles=theta,
        masses=mass,
        energy=1 / (2 * here.beta) + here.scale * here.energy(theta, mass),
        floor=1 / here.beta + here.scale * floor,
        gap=here.scale * float(mass @ height),
        excess=here.scale * float(height.max()),
        slack=here.scale * _slack(here, theta, mass, floor),
        scale=here.scale,
        capped=capped,
    )


def _short(value: float) -> str:
    return f"{value:.6f}" if abs(value) < 1e6 else f"{value:.6g}"


def _slack(here: Landscape, theta: np.ndarray, mass: np.ndarray, floor: float) -> float:
    height = np.asarray(here.potential(GRID, theta, mass)) - floor
    # The distance to the nearest atom, from the neighbours in the sorted list.
    around = np.concatenate([theta[-1:] - 2 * np.pi, theta, theta[:1] + 2 * np.pi])
    at = np.searchsorted(around, GRID)
    far = np.minimum(around[at] - GRID, GRID - around[at - 1]) > NEAR * min(1.0, 2 * here.width)
    return float(height[far].min() if far.any() else height.max())
