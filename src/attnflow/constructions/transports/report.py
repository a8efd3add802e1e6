"""How close the law of a transport is to its target, against the number of its switches."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ._measured import Measured, by_neighbours, by_samples, on_grid, on_line
from .divergence import Divergence, mean_of
from .laws import Samples
from .tail_check import TailCheck

if TYPE_CHECKING:
    from .result import Transport


@dataclass(frozen=True, repr=False)
class TransportReport:
    r"""Errors of a transport.

    - `kl`, $KL(\rho_*|\rho_T)$; `reverse_kl`, $KL(\rho_T|\rho_*)$; `tv`, total variation: each a number, its standard
      error (0: by quadrature) and a note, infinite only with the reason.
    - `log_density`: the mean of $\log\rho_T$ over points of the target that nothing was fitted to;
      `fitted_log_density`, of samples, over those that were.
    - `truncated`: of an infinite `kl` on the line, pairs R and the part between -R and R.
    - `log_z`: the log mass of an unnormalised density of the target. `mass`: of the law that was built, where it was
      integrated.
    """

    kl: Divergence
    reverse_kl: Divergence
    tv: Divergence
    log_density: Divergence
    pieces: int
    switches: int
    seconds: float
    method: str
    fitted_log_density: Divergence | None = None
    log_z: Divergence | None = None
    mass: float | None = None
    truncated: tuple[tuple[float, float], ...] = ()
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        lines = [
            f"{self.method}, {self.switches} switches ({self.pieces} pieces), built in {self.seconds:.2g} s",
            f"KL(target|flow) = {self.kl!r}",
            f"KL(flow|target) = {self.reverse_kl!r}",
            f"total variation = {self.tv!r}",
            f"mean log density of points not fitted to = {self.log_density!r}",
        ]
        if self.fitted_log_density is not None:
            lines.append(f"mean log density of points fitted to = {self.fitted_log_density!r}")
        if self.log_z is not None:
            lines.append(f"log of the mass of the target's density = {self.log_z!r}")
        if self.truncated:
            lines.append(
                "KL between -R and R: " + ", ".join(f"{kl:.3g} (R = {R:.0e})" for R, kl in self.truncated[::3])
            )
        return "\n".join([*lines, *self.notes])


def report_of(transport: "Transport", n: int, rng: np.random.Generator) -> TransportReport:
    """By quadrature on the line and on grids, by samples elsewhere."""
    judge = transport.judge
    y = judge.x if isinstance(judge, Samples) else judge.draw(n, rng)
    log_density = _mean_log_density(transport, y)
    if transport.method == "grid":
        found = on_grid(transport)
    else:
        found = on_line(transport) or _from_points(transport, y, n, rng)
        found = _with_tails(found, transport.check)
    fitted = None
    if isinstance(transport.fitted, Samples):
        fitted = _mean_log_density(transport, transport.fitted.x)
        found = found.noted(*_overfitting(fitted, log_density))
    return TransportReport(
        kl=found.kl,
        reverse_kl=found.reverse_kl,
        tv=found.tv,
        log_density=log_density,
        pieces=transport.pieces,
        switches=transport.switches,
        seconds=transport.seconds,
        method=transport.method,
        fitted_log_density=fitted,
        log_z=found.log_z,
        mass=found.mass,
        truncated=found.truncated if found.kl.value == np.inf else (),
        notes=found.notes,
    )


def _from_points(transport: "Transport", y: np.ndarray, n: int, rng: np.random.Generator) -> Measured:
    if isinstance(transport.target, Samples):
        return by_neighbours(transport, y)
    return by_samples(transport, y, n, rng)


def _mean_log_density(transport: "Transport", y: np.ndarray) -> Divergence:
    if not hasattr(transport.base, "log_density"):
        return Divergence(None, None, "the base is known by samples alone")
    return mean_of(transport.log_density(y))


def _with_tails(found: Measured, check: TailCheck) -> Measured:
    """What the tails exclude is infinite, whatever finitely many samples show; what they leave open is said."""
    kl, reverse = found.kl, found.reverse_kl
    if check.kl is False:
        kl = Divergence(np.inf, None, check.reason)
    if check.reverse_kl is False:
        reverse = Divergence(np.inf, None, check.reverse_reason)
    return found._replace(kl=kl, reverse_kl=reverse)


def _overfitting(fitted: Divergence, held_back: Divergence) -> list[str]:
    if fitted.value is None or held_back.value is None:
        return []
    gap, error = fitted.value - held_back.value, np.hypot(fitted.stderr or 0.0, held_back.stderr or 0.0)
    if gap > 2 * error:
        return [
            f"Overfitting: points fitted to have {gap:.3g} +- {error:.2g} more log density than those that were not."
        ]
    return [f"No overfitting is seen: points fitted to have {gap:.2g} +- {error:.2g} more log density than others."]
