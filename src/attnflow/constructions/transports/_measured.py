"""Divergences of a transport from its target, in the way that the two laws allow."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..schedules import MonotonePL, Schedule
from ._line_divergences import line_divergences, truncated_kl
from ._neighbours import log_density_by_neighbours
from ._sampled import Values, divergences, log_mass
from .divergence import Divergence, mean_of
from .grid import cell_rule
from .laws import Samples

if TYPE_CHECKING:
    from .result import Transport

RADII = 10.0 ** np.arange(1, 19)  # up to which a divergence that is infinite is followed
NO_DENSITY = "the density of the target is not known, only samples"
NO_BASE = "the base is known by samples alone"
FEW, REPEATED = 6, 0.02  # dimensions where neighbours tell a density; share of samples that may be repetitions


class Measured(NamedTuple):
    """What could be measured, and what is to be said about it."""

    kl: Divergence
    reverse_kl: Divergence
    tv: Divergence
    log_z: Divergence | None = None
    mass: float | None = None
    truncated: tuple[tuple[float, float], ...] = ()
    notes: tuple[str, ...] = ()

    def noted(self, *more: str) -> "Measured":
        """The same with more to say."""
        return self._replace(notes=(*self.notes, *more))


def unknown(why: str) -> Measured:
    """Nothing could be measured."""
    nothing = Divergence(None, None, why)
    return Measured(nothing, nothing, nothing)


def on_line(transport: "Transport") -> Measured | None:
    """By quadrature between kinks, of monotone maps between two laws with distribution functions."""
    base, target, schedule = transport.base.line, transport.target.line, transport.schedule
    if base is None or target is None or not all(isinstance(piece, MonotonePL) for piece in schedule.blocks):
        return None
    kinks = _kinks(schedule)
    found = line_divergences(schedule, base, target, kinks)
    reach = RADII if transport.check.kl is False else RADII[:0]
    truncated = truncated_kl(schedule, base, target, kinks, reach) if len(reach) else []
    truncated = [(R, kl) for R, kl in truncated if np.isfinite(kl)]
    exact = (Divergence(value) for value in (found.kl, found.reverse_kl, found.tv))
    return Measured(*exact, mass=found.mass, truncated=tuple(truncated))


def on_grid(transport: "Transport") -> Measured:
    """By a rule in every cell, where the density that was built is constant; the target is renormalised to the box."""
    assert transport.base.box is not None
    n, box = round(np.sqrt(transport.pieces + 22)) - 4, transport.base.box
    x, weight = cell_rule(n, box, nodes=8)
    p = np.exp(transport.target.log_density(x))  # type: ignore[attr-defined]  # the method asks for it
    mass = float((p * weight).sum())
    p, log_q = p / mass, transport.log_density(x)
    q, inside = np.exp(log_q), p > 0
    ratio = np.log(np.where(inside, p, 1.0)) - log_q
    kl, reverse = (np.where(inside, p * ratio, 0.0) * weight).sum(), -(q * ratio * weight)[inside].sum()
    layers = "off the ramps of the shears, where the density is far too small"
    empty = float((q * weight)[~inside].sum())
    off_target = Divergence(np.inf, None, f"{empty:.2g} of the mass lies where the target has none")
    held = f"The box holds {mass:.6g} of the mass of the target." if transport.target.normalized else ""
    return Measured(
        kl=Divergence(float(kl), 0.0, layers),
        reverse_kl=off_target if empty else Divergence(float(reverse), 0.0, layers),
        tv=Divergence(float((abs(p - q) * weight).sum() / 2)),
        mass=float((q * weight).sum()),
        notes=(held, "The target is renormalised to the box.") if held else (),
    )


def by_samples(transport: "Transport", y: np.ndarray, n: int, rng: np.random.Generator) -> Measured:
    """From points y of the target and n of the transport, with both densities."""
    known = _log_density_of_target(transport)
    if isinstance(known, str):
        return unknown(known)
    if not hasattr(transport.base, "log_density"):
        return unknown(NO_BASE)
    x = transport.forward(_starts(transport, n, rng))
    at_target, at_flow = (Values(known(points), transport.log_density(points)) for points in (y, x))
    log_z = None if transport.target.normalized else log_mass(at_flow)
    return Measured(*divergences(at_target, at_flow, log_z or Divergence(0.0)), log_z=log_z)


def by_neighbours(transport: "Transport", y: np.ndarray) -> Measured:
    """From samples alone: their own log density is estimated by distances to neighbours among all others."""
    if not hasattr(transport.base, "log_density"):
        return unknown(NO_BASE)
    if transport.condition:
        return unknown(NO_DENSITY)
    assert isinstance(transport.target, Samples)
    others = _without(transport.target.x, y)
    if transport.d > FEW:
        return unknown(f"neighbours tell a density in dimension {FEW} at most; compare the mean log densities")
    repeated = 1 - len(np.unique(transport.target.x, axis=0)) / transport.target.n
    if repeated > REPEATED:
        return unknown(f"{repeated:.0%} of the samples are repetitions, and such a law has no density")
    estimate = log_density_by_neighbours(y, others) - transport.log_density(y)
    note = f"estimated by neighbours among {len(others)} samples, on {len(y)} that were held back"
    return unknown(NO_DENSITY)._replace(kl=mean_of(estimate, note))


def _starts(transport: "Transport", n: int, rng: np.random.Generator) -> np.ndarray:
    x = np.empty((n, transport.d))
    if transport.condition:
        x[:, transport.condition] = transport.target.draw(n, rng)[:, transport.condition]
    x[:, transport.moving] = transport.base.draw(n, rng)
    return x


def _log_density_of_target(transport: "Transport"):
    """The function, of the coordinates that move given the others; or a sentence, where it is not known."""
    target = transport.target
    known = getattr(target, "log_density", None)
    if known is None or not transport.condition:
        return known or NO_DENSITY
    if target.mixture is None:
        return "the density of the target given its condition is known of mixtures alone"
    given, chosen = target.mixture.marginal(transport.condition), list(transport.condition)
    return lambda x: known(x) - given.log_density(x[:, chosen])


def _without(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The rows of x that are none of y, which were taken from it."""
    mine, theirs = (np.ascontiguousarray(a).view([("", a.dtype)] * a.shape[1])[:, 0] for a in (x, y))
    return x[~np.isin(mine, theirs)]


def _kinks(schedule: Schedule) -> np.ndarray:
    """Where the density that a schedule of monotone maps makes has its jumps."""
    kinks = np.empty(0)
    for piece in schedule.blocks:
        assert isinstance(piece, MonotonePL)
        sign = piece.e[0]
        kinks = np.append(piece.forward(kinks[:, None])[:, 0], sign * piece.y_knots)
    return np.unique(kinks)
