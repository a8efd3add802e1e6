"""The built transformer, integrated by `af.simulate` with an adaptive solver: another route to the same measures.

Intervals come in portions of equal length, so that memory does not grow with the schedule, and measures are padded to
one size with tokens of weight zero: one compiled program serves all.
"""

import jax.numpy as jnp
import numpy as np

from ...flows import simulate
from ._measure import Measure
from .schedule import TransformerSchedule, model_of

PORTION = 32  # pieces of a program
MAX_STEPS = 200_000  # of a portion


def integrated_by_simulate(
    schedule: TransformerSchedule, measures: list[Measure], rtol: float, atol: float
) -> tuple[list[np.ndarray], int]:
    """The tokens of every measure at the end, and how many steps were taken."""
    size = max(len(one.x) for one in measures)
    tokens, masses, steps = [_padded(one, size)[0] for one in measures], [_padded(one, size)[1] for one in measures], 0
    for first in range(0, len(schedule), PORTION):
        weights = schedule.weights(first=first, last=first + PORTION)
        t1 = float(weights["T"].sum())
        model = model_of(_filled(weights))
        for j, (x, w) in enumerate(zip(tokens, masses, strict=True)):
            run = simulate(
                model, x, t1=t1, weights=w, solver="dopri8", rtol=rtol, atol=atol, save=1, max_steps=MAX_STEPS
            )
            tokens[j], steps = run.final, steps + int(run.stats["steps"])
    return [np.asarray(x)[: len(one.x)] for x, one in zip(tokens, measures, strict=True)], steps


def _padded(one: Measure, size: int):
    more = size - len(one.x)
    x, w = np.concatenate([one.x, np.repeat(one.x[:1], more, axis=0)]), np.append(one.w, np.zeros(more))
    return jnp.asarray(x), jnp.asarray(w)


def _filled(weights: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """As many intervals as in every portion; the last ones come after the end."""
    more = PORTION - len(weights["T"])
    filled = {name: np.concatenate([a, np.zeros((more, *a.shape[1:]))]) for name, a in weights.items()}
    return filled | {"T": np.append(weights["T"], np.ones(more))}
