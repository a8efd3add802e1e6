r"""How far a flow $\Psi$ is from the map $\varphi$, and the law $\Psi_\#\mathrm{Leb}$ from $\varphi_\#\mathrm{Leb}$.

With x uniform in the box and $q = J_\varphi(x)/\det D\Psi(\Psi^{-1}(\varphi(x)))$, the ratio of the densities at
$\varphi(x)$,

$$ \mathrm{RMS}^2 = E|\Psi(x) - \varphi(x)|^2, \qquad \mathrm{TV} = \tfrac12 E|q - 1|, \qquad
   \mathrm{KL}(\varphi_\#|\Psi_\#) = E[-\log q] = E[q - 1 - \log q]; $$

the last form has a smaller variance, and no negative terms, since $Eq = 1$.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...checks import whole
from ...spaces import Key, generator
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
    r"""Errors of a flow, at `points` random points of the box. Printed, it is a sentence.

    - `rms`: the root of the mean squared distance of $\Psi(x)$ from $\varphi(x)$. `ramps_rms` is what points in ramps
      add to it in quadrature, estimated from points drawn there; they are at most the share `ramp_mass` of the box.
    - `tv`, `kl`: total variation and relative entropy of the uniform law after $\varphi$ and after $\Psi$; `None` where
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


def report(flow: "CellFlow", given: GivenMap | None, count: Any, key: Key | None) -> MapReport:
    m, grid, rng = whole("points", count, least=2, most=10**8), flow.grid, generator(key)
    x = grid.lower + grid.sides * rng.random((m, grid.d))
    wanted = _images(flow, given, x)
    squares = np.where(flow.in_ramps(x), 0.0, _squares(flow.schedule.forward(x) - wanted))
    ramps = _square_in_ramps(flow, given, max(m // 10, 2), rng)
    J = np.ones(m) if given is None else given.determinants(x) if given.derivative else None
    tv, kl = (None, None) if J is None else _laws(flow, wanted, J)
    return MapReport(
        points=m,
        rms=_root(_sum(_mean(squares), ramps)),
        ramps_rms=_root(ramps),
        ramp_mass=flow.ramp_mass,
        tv=tv,
        kl=kl,
        rms_identity=math.sqrt(_squares(x - wanted).mean()),
        tv_identity=None if J is None else float(abs(J - 1).mean() / 2),
        derivative=None if given is None else given.derivative,
        pieces=flow.counts.merged,
        unmerged=flow.counts.unmerged,
        switches=flow.schedule.switches,
        weight_norm=flow.schedule.weight_norm,
    )


def _images(flow: "CellFlow", given: GivenMap | None, x: np.ndarray) -> np.ndarray:
    """What is wanted: the images under the map that is given, or of the cells that a permutation moves."""
    return cell_moves(x, flow.grid, flow.tau, None).x if given is None else given.images(x)


def _laws(flow: "CellFlow", y: np.ndarray, J: np.ndarray) -> tuple[Estimate, Estimate]:
    """TV and KL from points `y`, images of uniform ones where the determinants are `J`."""
    back = flow.schedule.inverted
    off = ~meets_ramp(back, y)
    q = J[off] * np.exp(back.log_det(y[off]))
    return _mean(abs(q - 1) / 2), _mean(q - 1 - np.log(q))


def _square_in_ramps(flow: "CellFlow", given: GivenMap | None, each: int, rng: np.random.Generator) -> Estimate:
    """The part of the mean square that points in ramps have."""
    x, mass = edge_points(flow.grid, flow.stretch, each, rng)
    terms = mass * np.where(flow.in_ramps(x), _squares(flow.schedule.forward(x) - _images(flow, given, x)), 0.0)
    return Estimate(float(terms.sum()), float(terms.std() * math.sqrt(len(terms))))


def _squares(away: np.ndarray) -> np.ndarray:
    return (away**2).sum(axis=1)


def _mean(values: np.ndarray) -> Estimate:
    return Estimate(float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values)))


def _sum(one: Estimate, other: Estimate) -> Estimate:
    return Estimate(one.value + other.value, math.hypot(one.stderr, other.stderr))


def _root(square: Estimate) -> Estimate:
    value = math.sqrt(square.value)
    return Estimate(value, square.stderr / (2 * value) if value > 0 else 0.0)
