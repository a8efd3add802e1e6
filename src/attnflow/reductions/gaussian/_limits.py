"""What is approximate, extrapolated or uncertain about a Gaussian flow, in sentences."""

from typing import Any

import numpy as np

from ...flows import Run
from ._ending import BLOW_UP, CONVERGED

SETTLED = 0.02  # the order of a pole is a whole number up to this
EXTRAPOLATED = 1e-6  # of the time of the run: t* may lie so far beyond the last state that was computed


def of_the_closure(attention: Any, width: int) -> tuple[str, ...]:
    """Of a map that does not take Gaussians to Gaussians, or whose averages are approximate."""
    if attention.closure != "projected":
        return ()
    sentences = [
        "The closure is approximate: under sigmoid attention a law does not stay Gaussian, and mean and covariance "
        "move as those of its projection on Gaussians."
    ]
    if width > 3:
        sentences.append("Averages are over 4096 quasi-random points, right to about 1e-3.")
    elif width == 3:
        sentences.append(
            "Averages are over 24 Gauss-Hermite nodes for each axis, too few where scores are widely spread."
        )
    return tuple(sentences)


def of_the_end(run: Run) -> tuple[str, ...]:
    """Of the verdict on a single flow."""

    def value(name: str) -> float:
        return float(np.asarray(run.info[name]))

    outcome, last, sentences = int(value("outcome")), value("t_last"), []
    followed = value("t_followed") if "t_followed" in run.info else last
    if outcome == BLOW_UP:
        t, p = value("t_star"), value("pole_order")
        began = run.provenance.get("options", {}).get("t0") or 0.0
        if abs(t - followed) > EXTRAPOLATED * abs(t - began):
            sentences.append(f"t* is extrapolated from t = {followed:.6g}, where the pole had not been reached.")
        if abs(p - round(p)) > SETTLED:
            sentences.append(f"The order of the pole, {p:.3g}, is no whole number: it may not have settled.")
    if outcome == CONVERGED and followed > last:
        sentences.append(f"The covariance rests beyond the ceiling, which it met at t = {last:.6g}; raise the ceiling.")
    return tuple(sentences)
