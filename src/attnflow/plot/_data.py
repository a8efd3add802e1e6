"""The data of a picture of a run, as NumPy arrays."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import finite_array, number, whole
from ..errors import InputError, shown

Camera = tuple[float | int, float | int]
"""Elevation and azimuth in degrees."""


@dataclass(frozen=True)
class Frames:
    """Tokens `xs (T, n, d)` at times `ts (T,)` with weights `(n,)`, the name of their space, and the time's label.

    Of a long run `ts` are logarithms to the base ten (`logarithmic`).
    """

    ts: np.ndarray
    xs: np.ndarray
    weights: np.ndarray
    space: str
    time_label: str
    logarithmic: bool = False

    @property
    def n(self) -> int:
        return self.xs.shape[1]

    @property
    def d(self) -> int:
        return self.xs.shape[2]

    @property
    def sizes(self) -> np.ndarray:
        """Marker areas: proportional to the weights, smaller when there are many tokens, never invisible."""
        area = np.clip(2000 / self.n, 6, 32)
        return np.maximum(area * self.n * self.weights, 2.0)

    @property
    def edges(self) -> np.ndarray:
        """Widths of the white rings around the discs, thin around small ones, so that stacked tokens stay readable."""
        return np.clip(np.sqrt(self.sizes) / 11, 0.15, 0.5)

    def caption(self, at: int, where: str = "") -> str:
        """`64 tokens on the sphere, t = 30`."""
        return f"{self.n} token{'s' if self.n > 1 else ''}{where}, {self.time(at)}"

    def time(self, at: int) -> str:
        """`t = 30`, or `t = 10^{24.8}` of a long run."""
        if self.logarithmic:
            return "$t = 0$" if at == 0 else f"$t = 10^{{{self.ts[at]:.1f}}}$"
        return f"$t = {self.ts[at]:.4g}$"


def check_run(run: Any) -> None:
    """Refuse what has no tokens at times, or no model."""
    if not all(hasattr(run, name) for name in ("xs", "ts", "model")):
        raise InputError(f"{shown(run)} is no run; give what af.simulate or af.long_time returns.")


def read(run: Any) -> Frames:
    """The frames of a run."""
    check_run(run)
    xs = np.asarray(run.xs, dtype=float)
    ts, label = times(run)
    if xs.ndim != 3 or ts.shape != xs.shape[:1] or 0 in xs.shape:
        raise InputError(f"a run has xs (T, n, d) at ts (T,), and this one has {xs.shape} at {ts.shape}.")
    weights = getattr(run, "weights", None)
    weights = np.full(xs.shape[1], 1 / xs.shape[1]) if weights is None else np.asarray(weights, dtype=float)
    space = getattr(getattr(run.model, "space", None), "name", "euclidean")
    return Frames(ts, xs, weights, space, label, getattr(run, "log_ts", None) is not None)


def times(run: Any) -> tuple[np.ndarray, str]:
    """Saved times and the label of their axis; logarithms to the base ten of a long run, whose start has none and
    stands at the first time after it."""
    check_run(run)
    clock = getattr(run, "clock", None)
    unit = f" ({clock})" if clock else ""
    if getattr(run, "log_ts", None) is not None:
        decades = np.asarray(run.log_ts, dtype=float) / np.log(10)
        known = decades[np.isfinite(decades)]
        first = known.min() if known.size else 0.0  # tokens that never moved
        return np.maximum(decades, first), rf"$\log_{{10}}\,t${unit}"
    return np.asarray(run.ts, dtype=float), "layer" if clock == "layers" else f"time $t${unit}"


def positive(name: str, value: Any) -> float:
    """A finite number greater than zero: a length, a speed."""
    size = number(name, value)
    if not size > 0:
        raise InputError(f"{name} = {size:g} must be greater than 0.")
    return size


def resolution(dpi: Any) -> float:
    """Dots per inch, enough of them for letters."""
    return number("dpi", dpi, 10)


def camera_of(camera: Any) -> Camera | None:
    """Elevation and azimuth; `None` leaves them to the picture."""
    if camera is None:
        return None
    angles = finite_array("camera", camera)
    if angles.shape != (2,):
        raise InputError(f"camera = {shown(camera)} is no elevation and azimuth; give two numbers, in degrees.")
    return float(angles[0]), float(angles[1])


def whole_numbers(name: str, values: Any) -> list[int]:
    """At least one whole number, of either sign."""
    if isinstance(values, str) or not np.iterable(values):
        raise InputError(f"{name} = {shown(values)} are no whole numbers; give some, for example (0, 1).")
    numbers = [whole(name, value, -(2**63)) for value in values]
    if not numbers:
        raise InputError(f"{name} is empty; give at least one whole number, for example (0,).")
    return numbers


def index(at: Any, frames: Frames) -> int:
    """`at` as an index from the beginning, refused when there is no such saved time."""
    at, count = whole("at", at, -(2**63)), len(frames.ts)
    if not -count <= at < count:
        raise InputError(f"at = {at} is none of the {count} saved times; give an index from {-count} to {count - 1}.")
    return at % count
