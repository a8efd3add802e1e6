"""Reasons to doubt a run that has ended, and what to do about them for its model."""

import dataclasses
import math
import warnings
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..errors import AttnflowWarning, SolveError
from ..spaces import is_concrete
from .outcome import Outcome
from .run import Run

# The rounding error of a velocity, in units of eps times the force it is projected from.
ROUNDING = 8
# At so many saved times, the first and the last among them, a drift is compared with rounding.
CHECKED_TIMES = 5


def report(run: Run, details: str) -> None:
    """Raise if a run did not reach its final time; warn if it did, and is doubtful."""
    if not run.result.finished:
        raise SolveError(f"{run.sentence} ({details})")
    if not run.ok:
        warnings.warn(run.sentence, AttnflowWarning, stacklevel=3)


def sentence(run: Run) -> str:
    """How a run ended, with the remedy for its model where it has one of its own."""
    from .long_time import applies

    outcome = run.result
    remedies = []
    if outcome is Outcome.COARSE_STEPS and (step := _smaller_step(run)):
        remedies.append(f"dt = {step:.1g} would do")
    if outcome in (Outcome.NOT_FINITE, Outcome.STALLED, Outcome.MAX_STEPS) and _overflows(run):
        remedies.append("Unnormalized(shifted=True) keeps its exponentials from overflow")
    elsewhere = run.log_ts is None and applies(run.model)
    if outcome in (Outcome.MAX_STEPS, Outcome.BELOW_ROUNDING) and elsewhere:
        remedies.append("long_time follows this model however slow it is")
    elif outcome is Outcome.BELOW_ROUNDING and run.xs.dtype != jnp.float64:
        remedies.append("float64 has a billion times the resolution")
    return "; ".join([outcome.value.rstrip("."), *remedies]) + "."


def _smaller_step(run: Run) -> float | None:
    """A step that follows the flow, extrapolated from the errors of longer ones."""
    dt = (run.provenance.get("options") or {}).get("dt")
    worst = np.max(np.asarray(run.stats.get("coarseness", np.inf)))
    return float(dt) / (2 * float(worst)) if dt and np.isfinite(worst) else None


def _overflows(run: Run) -> bool:
    """Whether the map has exponentials that are not shifted, and they come near the largest number."""
    attention: Any = getattr(run.model, "attention", None)
    if getattr(attention, "shifted", True) or not is_concrete(attention.beta, run.xs):
        return False
    xs = np.asarray(run.xs, float)
    shortest = 1 if run.model.space.unit else 0  # pyright: ignore[reportOptionalMemberAccess]
    longest = np.max(np.sum(xs * xs, axis=-1), initial=shortest, where=np.isfinite(xs).all(axis=-1))
    B = attention.score.matrix
    size = 1.0 if B is None else float(np.linalg.norm(np.asarray(B, float), 2))
    return bool(float(attention.beta) * size * longest > 0.45 * math.log(jnp.finfo(run.xs.dtype).max))


def log_duration(run: Run) -> float:
    """The logarithm of how long the flow has run, up to its last saved time; infinite if that is not known."""
    if run.log_ts is not None:
        return float(run.log_ts[-1])
    options = run.provenance.get("options") or {}
    start = run.ts[0] if options.get("t0") is None else options["t0"]
    duration = float(run.ts[-1]) - float(start)
    return math.log(duration) if duration > 0 else math.inf


def doubted(run: Run, tolerance: Any) -> Run:
    """The run, marked if it went through a motion that rounding hides and that moves tokens by the tolerance.

    Values must be known: inside a transformation the run is returned unchanged.
    """
    if not is_concrete(run.xs, run.model, tolerance) or run.xs.ndim != 3 or not run.ok:
        return run
    if not any(_lost(run, row, float(tolerance)) for row in _suspects(run, float(tolerance))):
        return run
    return dataclasses.replace(run, code=jnp.full_like(run.code, Outcome.BELOW_ROUNDING.code))


def _suspects(run: Run, tolerance: float) -> list[int]:
    """Saved times at which rounding may hide a motion: the run is long, tokens are apart and stand still."""
    log_longest = log_duration(run) + math.log(ROUNDING * float(jnp.finfo(run.xs.dtype).eps)) + _log_force(run.model)
    if log_longest <= math.log(tolerance):
        return []
    rows = np.unique(np.linspace(0, len(run.ts) - 1, CHECKED_TIMES).astype(int))
    after = np.minimum(rows + 1, len(run.ts) - 1)
    after[-1] = max(len(run.ts) - 2, 0)
    x, y, ts = np.asarray(run.xs[rows]), np.asarray(run.xs[after]), np.asarray(run.ts, float)
    if "log_scale" in run.info:  # growing tokens do not rest
        return []
    apart = np.abs(x - x[:, :1]).max(axis=(1, 2)) > tolerance
    moved = np.abs(y - x).max(axis=(1, 2)) / np.where(after == rows, np.inf, np.abs(ts[after] - ts[rows]))
    still = np.log(moved + 1e-300) <= log_longest - log_duration(run) + math.log(8)
    return rows[apart & still].tolist()


def _log_force(model: Any) -> float:
    """The logarithm of the size of forces: that of exponentials without a shift, one for other maps."""
    attention: Any = getattr(model, "attention", None)
    if getattr(attention, "shifted", True) or not is_concrete(getattr(attention, "beta", None)):
        return 0.0
    return float(attention.beta)


def _lost(run: Run, row: int, tolerance: float) -> bool:
    """Whether the clusters at this saved time drift by more than the tolerance, and slower than rounding."""
    from .clouds import Clouds
    from .linkage import linked, usual_eps
    from .remaining_motion import remaining_motion

    cloud, model = Clouds(run.xs[row], run.weights, run.ts[row], run), run.model
    eps = usual_eps(cloud, model.space)  # pyright: ignore[reportOptionalMemberAccess]
    drift = remaining_motion(cloud, linked(cloud.xs, eps), eps)
    if drift.state not in ("metastable", "below rounding") or not 0 < drift.speed <= drift.rounding:
        return False
    return math.log(drift.speed) + log_duration(run) > math.log(tolerance)
