"""What a schedule needs of a law: its density, or draws from it. Distributions of SciPy will do."""

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import jax
import numpy as np
from jaxtyping import PRNGKeyArray

from ...checks import whole
from ...errors import InputError, shown
from ...spaces import Numbers
from .checked import narrow


@runtime_checkable
class Density(Protocol):
    """A law that knows its density: `log_density(x (n, d)) -> (n,)`."""

    def log_density(self, x: np.ndarray) -> Numbers: ...


@runtime_checkable
class Sampler(Protocol):
    """A law that can be drawn from: `sample(n, key=key) -> (n, d)`."""

    def sample(self, n: int, *, key: PRNGKeyArray) -> Numbers: ...


@runtime_checkable
class Frozen(Protocol):
    """A distribution of SciPy with its parameters."""

    def logpdf(self, x: Any) -> Any: ...

    def rvs(self, size: Any = 1, random_state: Any = None) -> Any: ...


BaseDensity = Density | Frozen | Callable[[np.ndarray], Numbers]
BaseSampler = Sampler | Frozen


def log_density_of(base: BaseDensity, x: np.ndarray) -> np.ndarray:
    """The log density of a law at points, one number for each; -infinity where there is none."""
    given: Any = _log_density(base)(x)
    narrow("the log density of base", given)
    values = np.asarray(given, float)
    if values.shape != (len(x),):
        raise InputError(f"base gives log densities of shape {values.shape}; it should give ({len(x)},).")
    if np.isnan(values).any():
        k = int(np.argmax(np.isnan(values)))
        raise InputError(f"the log density of base at {shown(x[k].tolist())} is not a number; give -inf for none.")
    return values


def _log_density(base: BaseDensity) -> Callable[[np.ndarray], Any]:
    if isinstance(base, Density):
        return base.log_density
    if isinstance(base, Frozen):
        return lambda x: np.reshape(base.logpdf(x[:, 0] if x.shape[1] == 1 else x), len(x))
    if not callable(base):
        raise InputError(f"base = {shown(base)} has no log_density; give a law, or a function of points.")
    return base


def sample_of(base: BaseSampler, n: int, d: int, key: PRNGKeyArray) -> Numbers:
    """Draws `(n, d)` from a law."""
    n = whole("n", n)
    if isinstance(base, Sampler):
        return base.sample(n, key=key)
    if not isinstance(base, Frozen):
        raise InputError(f"base = {shown(base)} cannot be drawn from; give a law with sample(n, key=key).")
    seed = np.asarray(jax.random.key_data(key)).ravel()
    return np.reshape(base.rvs(size=n, random_state=np.random.default_rng(seed)), (n, d))
