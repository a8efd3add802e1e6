r"""Divergences from samples of both laws and their two log densities."""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from .divergence import Divergence, mean_of


class Values(NamedTuple):
    """Log densities of the target and of the schedule's law at points of one of them."""

    target: np.ndarray
    flow: np.ndarray

    @property
    def ratio(self) -> np.ndarray:
        with np.errstate(invalid="ignore"):
            return self.target - self.flow


def divergences(at_target: Values, at_flow: Values, log_z: Divergence) -> tuple[Divergence, Divergence, Divergence]:
    r"""$KL(\rho_*|\rho_T)$, $KL(\rho_T|\rho_*)$ and the total variation; `log_z` is the log of the mass
    of the target's density.

    The total variation is half of the mean of $|\rho_* - \rho_T|/(\rho_* + \rho_T)$ over both laws, whose terms are
    at most 1.
    """
    shift, more = log_z.value or 0.0, log_z.stderr or 0.0
    kl = _with(mean_of(at_target.ratio - shift), more)
    reverse = _with(mean_of(shift - at_flow.ratio), more)
    halves = [mean_of(abs(np.tanh((values.ratio - shift) / 2))) for values in (at_target, at_flow)]
    tv = sum(half.value or 0.0 for half in halves) / 2
    error = np.sqrt(sum((half.stderr or 0.0) ** 2 for half in halves)) / 2
    return kl, reverse, Divergence(float(tv), float(np.hypot(error, more)))


def log_mass(at_flow: Values) -> Divergence:
    """The log of the mass of an unnormalised density, by importance sampling from the law of the schedule."""
    ratio = at_flow.ratio
    log_z = float(logsumexp(ratio) - np.log(len(ratio)))
    weights = np.exp(ratio - logsumexp(ratio))
    effective = 1 / float((weights**2).sum())
    error = float(np.sqrt(max(1 / effective - 1 / len(ratio), 0.0)))
    return Divergence(log_z, error, f"{effective:.0f} effective samples of {len(ratio)}")


def _with(divergence: Divergence, more: float) -> Divergence:
    if divergence.stderr is None or not more:
        return divergence
    return Divergence(divergence.value, float(np.hypot(divergence.stderr, more)), divergence.note)
