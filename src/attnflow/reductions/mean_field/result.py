"""A law on a grid at many times, and the tokens that represent it."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...checks import whole
from ...errors import InputError
from ...flows import Outcome
from ...models import AbstractModel
from ...spaces import Count, Key, checked_key
from ._chart import AbstractChart, centres, chart_of, faces
from ._limits import MUCH, deciding_tails, details, narrow_attention
from ._reconstruction import in_peaks, quadrature_weights

NARROW = 4  # cells: narrower peaks, at half their height, are reported

ENDED = {
    Outcome.MAX_STEPS: "The law did not reach its final time within max_steps steps; raise max_steps or lower cells.",
    Outcome.STALLED: "The step size shrank to round-off before the final time: the velocities of the law blow up.",
    Outcome.NOT_FINITE: "The velocities of the law became infinite or not-a-number, or the map did not converge.",
}


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class MeanField:
    """A law on the circle or on the line, at the times `ts (T,)` of the clock `clock`.

    - `masses (T, N)`: of the cells; `density (T, N)`, their averages; `mass (T,)`, all together, one.
    - `ends (T, 2)` of the grid, `faces (T, N + 1)`, `centres (T, N)`: angles, or numbers.
    - `weights (T, N)`: masses at the centres that integrate smooth functions to fourth order; `mean(f)` uses them.
    - `tokens(at=…)`, `quantiles(n, at=…)`, `sample(n, at=…, key=…)`: tokens that represent the law at one time.
    - `energy()`; `unresolved (T,)`, the mass in peaks narrower than four cells; `details (T,)`, the part of the mass
      that half as many cells would misplace.
    - `resolved`: whether the grid resolves the law; `limits`, why it may not; `resolution`, these in one.
    - `result`, `stats`, `model`, `provenance`: how it ended, at what cost, and what was solved.
    """

    ts: np.ndarray
    ends: np.ndarray
    masses: np.ndarray
    model: AbstractModel
    clock: str
    code: int
    stats: dict[str, Any]
    provenance: dict[str, Any]

    @property
    def chart(self) -> AbstractChart:
        return chart_of(self.model)

    @property
    def result(self) -> Outcome:
        """How it ended."""
        return list(Outcome)[self.code]

    @property
    def faces(self) -> np.ndarray:
        return faces(self.ends, self.masses.shape[1])

    @property
    def centres(self) -> np.ndarray:
        return centres(self.faces)

    @property
    def width(self) -> np.ndarray:
        """Of a cell, at every time."""
        return (self.ends[:, 1] - self.ends[:, 0]) / self.masses.shape[1]

    @property
    def density(self) -> np.ndarray:
        """The average density of every cell: mass for each radian, or for each unit of length."""
        return self.masses / self.width[:, None]

    @property
    def mass(self) -> np.ndarray:
        """All mass, at every time."""
        return self.masses.sum(axis=1)

    @property
    def weights(self) -> np.ndarray:
        """Masses at the centres, for integrals of smooth functions."""
        return quadrature_weights(self.masses, self.chart.periodic)

    def mean(self, f: Callable[[np.ndarray], Any]) -> np.ndarray:
        r"""$\int f\,d\mu_t$ at every time, for a function of angles, or of numbers, that takes an array `(T, N)`."""
        if not callable(f):
            raise InputError(f"a {type(f).__name__} is no function; give one that takes an array, for example np.cos.")
        values = np.asarray(f(self.centres))
        if values.dtype.kind not in "biuf":
            raise InputError(f"the function returned {values.dtype} values; return one real number for each point.")
        if values.shape not in ((), self.masses.shape):
            raise InputError(f"the function returned shape {values.shape} for {self.masses.shape}; one value each.")
        return np.sum(self.weights * values, axis=1)

    def energy(self, scale: str | None = None) -> np.ndarray:
        """The model's declared energy at every time, as `af.energy`; a model without one is refused in a sentence."""
        if scale is not None and not isinstance(scale, str):
            raise InputError(f"energy scale {scale!r} is no name; leave it out for the default.")
        points = jnp.asarray(self.chart.points(self.centres))
        energy = self.model.energy()
        return np.asarray(_energies(energy, points, jnp.asarray(self.weights), energy.scale(scale)))

    def tokens(self, *, at: Count = -1) -> Float[Array, "N d"]:
        """The centres as tokens; `weights[at]` are their masses, for `af.simulate(…, weights=…)`."""
        return jnp.asarray(self.chart.points(self.centres[self._saved(at)]))

    def quantiles(self, n: Count, *, at: Count = -1) -> Float[Array, "n d"]:
        r"""`n` tokens of equal mass, at the levels $(i - \frac12)/n$; on the circle counted from the angle 0."""
        count = whole("n", n)
        return self._at_levels((np.arange(count) + 0.5) / count, at)

    def sample(self, n: Count, *, at: Count = -1, key: Key) -> Float[Array, "n d"]:
        """`n` independent tokens from the law, uniform within a cell."""
        count = whole("n", n)
        return self._at_levels(np.asarray(jax.random.uniform(checked_key(key), (count,))), at)

    def _at_levels(self, levels: np.ndarray, at: Count) -> Array:
        at = self._saved(at)
        below = np.concatenate([[0.0], np.cumsum(self.masses[at])])
        return jnp.asarray(self.chart.points(np.interp(levels * below[-1], below, self.faces[at])))

    def _saved(self, at: Count) -> int:
        return whole("at", at, -len(self.ts), len(self.ts) - 1)

    @property
    def unresolved(self) -> np.ndarray:
        """The mass in peaks that are narrower than four cells at half of their height, at every time."""
        return np.sum(np.where(in_peaks(self.masses, self.chart.periodic), self.masses, 0), axis=1)

    @property
    def details(self) -> np.ndarray:
        """The part of the mass that half as many cells would misplace, at every time: small for a resolved law."""
        return details(self.masses, self.chart.periodic)

    @property
    def resolved(self) -> bool:
        """Whether the law came to its end, and the grid resolves it, and attention, at all times kept."""
        return not self.limits

    @functools.cached_property
    def limits(self) -> tuple[str, ...]:
        """Why the law is not to be trusted, and from when on, in sentences; empty if it is resolved."""
        known = np.isfinite(self.masses).all(axis=1) & np.isfinite(self.ends).all(axis=1)
        ts, ends, masses = self.ts[known], self.ends[known], self.masses[known]
        cells, sentences = self.masses.shape[1], []
        if self.result is not Outcome.SUCCESSFUL:
            sentences.append(ENDED.get(self.result, self.result.value))
        if not known.all():
            sentences.append(f"There is no law at {int(np.sum(~known))} of the {len(self.ts)} times, from t = "
                        f"{self.ts[np.argmin(known)]:.4g} on: these rows are NaN.")  # fmt: skip
        sentences.append(narrow_attention(self.model, self.chart, ts, ends, cells))
        unresolved, rough = self.unresolved[known], self.details[known]
        lost = unresolved > MUCH
        if lost.any():
            sentences.append(
                f"From t = {ts[np.argmax(lost)]:.4g} on there is mass ({unresolved[-1]:.0%} at the end) in clusters "
                f"narrower than {NARROW} of the {cells} cells: their width is that of the grid, and they are moved as "
                "atoms; take more cells if that matters."
            )
        early = (rough > MUCH) & ~np.logical_or.accumulate(lost)
        if early.any():
            first = int(np.argmax(early))
            sentences.append(
                f"At t = {ts[first]:.4g} the {cells} cells are too few for the law: half as many would misplace "
                f"{rough[first]:.0%} of its mass; take more cells."
            )
        sentences.append(deciding_tails(self.model, self.chart, ts, ends, masses))
        return tuple(sentence for sentence in sentences if sentence)

    @property
    def resolution(self) -> str:
        """In words: whether the grid resolves the law, and from when on and why it does not."""
        return " ".join(self.limits) or f"The law is resolved by {self.masses.shape[1]} cells at all times kept."

    def to_xarray(self):
        """The law as an `xarray.Dataset` with the dimensions `time`, `cell` and `face`."""
        import xarray as xr

        data = xr.Dataset(
            {
                "density": (("time", "cell"), self.density),
                "mass": (("time", "cell"), self.masses),
                "centre": (("time", "cell"), self.centres),
                "face": (("time", "face"), self.faces),
            },
            coords={"time": self.ts},
            attrs={"coordinate": self.chart.coordinate, "result": self.result.value, "resolution": self.resolution},
        )
        data["time"].attrs["long_name"] = f"time ({self.clock})"
        return data

    def __repr__(self) -> str:
        where = "circle" if self.chart.periodic else "line"
        return (
            f"MeanField({self.masses.shape[1]} cells on the {where}, {len(self.ts)} times from {self.ts[0]:g} to "
            f"{self.ts[-1]:g} ({self.clock}), {self.result.name.lower()}, {self.stats['steps']} steps"
            f"{''.join(f'; {sentence}' for sentence in self.limits)})"
        )


@eqx.filter_jit
def _energies(energy: Any, points: Float[Array, "T n d"], w: Float[Array, "T n"], scale: str) -> Float[Array, " T"]:
    return jax.lax.map(lambda item: energy.value(*item, scale=scale), (points, w))
