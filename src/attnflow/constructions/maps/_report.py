r"""How far a flow $\Psi$ is from the map $\varphi$, and the law $\Psi_\#\rho$ from $\varphi_\#\rho$.

With x uniform in the box, r the density of $\rho$ relative to the uniform law, $z = \Psi^{-1}(\varphi(x))$ and
$a = r(z) J_\varphi(x)/\det D\Psi(z)$, so that $a/r(x)$ is the ratio of the two densities at $\varphi(x)$,

$$ \mathrm{RMS}^2 = E[r|\Psi - \varphi|^2], \qquad \mathrm{TV} = \tfrac12 E|a - r|, \qquad
   \mathrm{KL}(\varphi_\#\rho|\Psi_\#\rho) = E[r\log(r/a)] = E[a - r + r\log(r/a)]; $$

the last form has a smaller variance, and no negative terms, since $Ea = 1$.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...checks import whole
from ...errors import InputError
from ...spaces import Key, draws
from ..schedules.densities import BaseDensity, log_density_of
from ..schedules.folding import Grid
from ._cells import cell_moves
from ._given import Derivative, GivenMap
from ._ramps import edge_points, meets_ramp

if TYPE_CHECKING:
    from .flow import CellFlow


class Estimate(NamedTuple):
    """A mean over random points, and its standard error."""

    value: float
    stderr: float

    def __repr__(self) -> str:
        return f"{self.value:.3g} ± {self.stderr:.1g}"


@dataclass(frozen=True, repr=False)
class MapReport:
    r"""Errors of a flow in the mean over a law, from `points` random points of the box. Printed, it is a sentence.

    - `rms`: the root of the mean squared distance of $\Psi(x)$ from $\varphi(x)$. `ramps_rms` is what points in ramps
      add to it in quadrature, estimated from points drawn there; they are at most the share `ramp_mass` of the box.
    - `tv`, `kl`: total variation and relative entropy of the law after $\varphi$ and after $\Psi$; `None` where
      determinants are not known (a permutation for a map that has no derivative). Both off the ramps, which change
      `tv` by at most about `ramp_mass`; with them the relative entropy is infinite, as they lead out of the box.
    - `rms_identity`, `tv_identity`: the same numbers of the map that moves nothing, for scale.
    - `derivative`: how determinants are known.
    - `pieces`, `unmerged`, `switches`: what the flow costs; `weight_norm`: its largest weight, that of the ramps.
    """

    points: int
    rms: Estimate
    ramps_rms: Estimate
    ramp_mass: float
    tv: Estimate | None
    kl: Estimate | None
    rms_identity: float
    tv_identity: float | None
    derivative: Derivative | None
    pieces: int
    unmerged: int
    switches: int
    weight_norm: float

    def __repr__(self) -> str:
        laws = f"TV {self.tv!r}, KL {self.kl!r}" if self.tv else "TV and KL unknown, as phi has no derivative"
        return (
            f"{self.pieces} pieces ({self.unmerged} unmerged): RMS {self.rms!r} (identity {self.rms_identity:.3g}), "
            f"{laws}; ramps take at most {self.ramp_mass:.2g} of the box, add {self.ramps_rms.value:.1g} to the RMS in "
            f"quadrature, and need weights of {self.weight_norm:.1g}."
        )


def report(
    flow: "CellFlow", given: GivenMap | None, count: Any, key: Key | None, base: BaseDensity | None
) -> MapReport:
    m, grid, rng = whole("points", count, least=2, most=10**8), flow.grid, draws(key)
    x = grid.lower + grid.sides * rng.random((m, grid.d))
    r, wanted = _relative_density(base, x, grid), _images(flow, given, x)
    mass = r.mean()
    if not mass > 0:
        raise InputError("base has no mass in the box; give the density of a law there.")
    squares = np.where(flow.in_ramps(x), 0.0, r * _squares(flow.schedule.forward(x) - wanted))
    ramps = _square_in_ramps(flow, given, base, max(m // 10, 2), rng)
    ramps = Estimate(ramps.value / mass, ramps.stderr / mass)
    J = np.ones(m) if given is None else given.determinants(x) if given.derivative else None
    tv, kl = (None, None) if J is None else _laws(flow, wanted, J, r, base)
    return MapReport(
        points=m,
        rms=_root(_sum(_mean(squares, r), ramps)),
        ramps_rms=_root(ramps),
        ramp_mass=flow.ramp_mass,
        tv=tv,
        kl=kl,
        rms_identity=math.sqrt(_mean(r * _squares(x - wanted), r).value),
        tv_identity=None if J is None else _identity(wanted, J, r, base, grid),
        derivative=None if given is None else given.derivative,
        pieces=flow.counts.merged,
        unmerged=flow.counts.unmerged,
        switches=flow.schedule.switches,
        weight_norm=flow.schedule.weight_norm,
    )


def _relative_density(base: BaseDensity | None, x: np.ndarray, grid: Grid) -> np.ndarray:
    """The density of a law, uniform if none is given, relative to the uniform one of the box."""
    return np.ones(len(x)) if base is None else np.exp(log_density_of(base, x)) * grid.sides.prod()


def _images(flow: "CellFlow", given: GivenMap | None, x: np.ndarray) -> np.ndarray:
    """What is wanted: the images under the map that is given, or of the cells that a permutation moves."""
    return cell_moves(x, flow.grid, flow.tau, None).x if given is None else given.images(x)


def _laws(
    flow: "CellFlow", y: np.ndarray, J: np.ndarray, r: np.ndarray, base: BaseDensity | None
) -> tuple[Estimate, Estimate]:
    """TV and KL from points `y`, images of uniform ones where determinants are `J` and densities `r`."""
    off = ~meets_ramp(flow.schedule.inverted, y)
    z, log_det = flow.schedule.inverted.carry(y[off])
    r = r[off]
    a = _relative_density(base, z, flow.grid) * J[off] * np.exp(log_det)
    with np.errstate(divide="ignore"):  # no density where there is some: an infinite KL
        kl = a - r + np.where(r > 0, r * np.log(np.where(r > 0, r, 1.0) / a), 0.0)
    return _mean(abs(a - r) / 2, r), _mean(kl, r)


def _identity(y: np.ndarray, J: np.ndarray, r: np.ndarray, base: BaseDensity | None, grid: Grid) -> float:
    """TV of the law and of its image under the map."""
    return _mean(abs(_relative_density(base, y, grid) * J - r) / 2, r).value


def _square_in_ramps(
    flow: "CellFlow", given: GivenMap | None, base: BaseDensity | None, each: int, rng: np.random.Generator
) -> Estimate:
    """The part of the mean square that points in ramps have."""
    x, mass = edge_points(flow.grid, flow.stretch, each, rng)
    mass = mass * _relative_density(base, x, flow.grid)
    terms = mass * np.where(flow.in_ramps(x), _squares(flow.schedule.forward(x) - _images(flow, given, x)), 0.0)
    return Estimate(float(terms.sum()), float(terms.std() * math.sqrt(len(terms))))


def _squares(away: np.ndarray) -> np.ndarray:
    return (away**2).sum(axis=1)


def _mean(values: np.ndarray, weights: np.ndarray) -> Estimate:
    """The ratio of the means of values and weights: a law need not have all its mass in the box."""
    mass = float(weights.mean())
    ratio = float(values.mean()) / mass
    with np.errstate(invalid="ignore"):  # of an infinite KL
        return Estimate(ratio, float((values - ratio * weights).std(ddof=1)) / (mass * math.sqrt(len(values))))


def _sum(one: Estimate, other: Estimate) -> Estimate:
    return Estimate(one.value + other.value, math.hypot(one.stderr, other.stderr))


def _root(square: Estimate) -> Estimate:
    value = math.sqrt(square.value)
    return Estimate(value, square.stderr / (2 * value) if value > 0 else 0.0)
