r"""What a fit chooses among: the loss, and whether there is a linear part, alone or with the network.

A linear part is TD-DMD on normalised increments, $z_{k+1} = z_k + Lw_k + l$; its truncation is chosen by roll-outs,
too. On nearly linear data nothing is left for a network to learn, and the linear part alone is best; on chaotic data a
linear part with large coefficients of both signs has unstable directions off the data, and the network is better
without it.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from . import rollout
from .linear import decompose
from .losses import Base, relative_weights
from .network import Form
from .training import Held, score
from .windows import Windows

DELTA = 0.03  # of the relative loss
TRUNCATIONS = (1e-10, 1e-8, 1e-6, 1e-4, 1e-3, 1e-2)
NOTHING_LEFT = 1e-8  # of an increment: what the linear part leaves over is rounding
MOST_ROWS = 20_000  # windows of the linear part
GAIN = 0.8  # roll-outs of chaos on a short stretch say no more than this about two losses


class Candidate(NamedTuple):
    """One way to fit: a loss, a linear part or none, and whether there is a network."""

    loss: str
    linear: bool
    network: bool

    @property
    def name(self) -> str:
        if not self.network:
            return "linear part alone"
        return f"{self.loss} loss" + (", with a linear part" if self.linear else "")


def listed(loss: str, linear_skip: Any) -> list[Candidate]:
    """The candidates, from the simplest on."""
    losses = ("plain", "relative") if loss == "auto" else (loss,)
    parts = (False, True) if isinstance(linear_skip, str) else (bool(linear_skip),)
    alone = [Candidate("plain", True, False)] if isinstance(linear_skip, str) else []
    return alone + [Candidate(one, part, True) for part in parts for one in losses]


def best(scores: dict[Candidate, float]) -> Candidate:
    """The one with the least error; a later one, which is more complicated, has to be better by more than chance."""
    winner = next(iter(scores))
    for candidate, error in scores.items():
        if error < GAIN * scores[winner] or not np.isfinite(scores[winner]):
            winner = candidate
    return winner


def without_linear_part(steps: np.ndarray, width: int) -> Base:
    d = steps.shape[1]
    return Base(np.zeros((d, width)), np.zeros(d), _spread(steps))


def _spread(rows: np.ndarray) -> np.ndarray:
    s = rows.std(axis=0)
    return np.where(s > 1e-13, s, 0.0)


def linear_part(given: Windows, form: Form, held: Held | None, tol: float | None = None) -> Any:
    """The linear part with the best roll-outs, its truncation and its error; the largest where nothing is held."""
    flat = given.tokens.reshape(-1, form.m * form.c)
    steps = given.future[:, 0, : form.d] - given.tokens[:, 0, : form.d]
    svd = decompose(lambda: iter([(flat, steps)]))
    found = []
    for truncation in TRUNCATIONS if tol is None else (tol,):
        L, b, _, _ = svd.solve(tol=truncation)
        left = steps - flat @ L.T - b
        spread = _spread(left)
        size = np.maximum(_spread(steps), 1e-300)
        base = Base(L, b, np.where(spread < NOTHING_LEFT * size, 0.0, spread))
        error = np.nan if held is None else alone_error(base, form, held)
        found.append((base, truncation, error))
        if held is None:
            break
    return min(found, key=lambda one: one[2] if np.isfinite(one[2]) else np.inf)


def alone(base: Base) -> Base:
    return base._replace(s=np.zeros_like(base.s))


def alone_error(base: Base, form: Form, held: Held) -> float:
    """The roll-out error of a linear part without a network."""
    with rollout.double():
        arrays = [jnp.asarray(a, float) for a in alone(base)]
        stretch = Held(*(jnp.asarray(a, float) for a in held))
        return float(score(jnp.zeros((1, form.size)), Base(*arrays), stretch, form=form)[0])


def window_weights(loss: str, steps: np.ndarray) -> np.ndarray:
    s = _spread(steps)
    if loss == "plain" or not (s > 0).any():
        return np.ones(len(steps))
    return relative_weights(steps[:, s > 0] / s[s > 0], DELTA)
