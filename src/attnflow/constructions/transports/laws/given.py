"""A law by a density that the user writes."""

from collections.abc import Callable
from functools import cached_property
from typing import final

import jax
import numpy as np

from ....checks import whole
from ....errors import InputError, shown
from ....spaces import Count, Numbers
from ...schedules.checked import points
from ._rejection import CellRejection
from ._table import line_from_table
from .box import checked_box
from .law import AbstractLaw, Box
from .line import Line
from .tail import COMPACT, Tails

DrawPoints = Callable[..., Numbers]  # draw(n, key=key) -> (n, d)


@final
class FromDensity(AbstractLaw):
    r"""A law by a function `log_density(x (n, d)) -> (n,)`, of NumPy or JAX.

    - `sample(n, key=key)` draws points `(n, d)`. Without it a `box` is needed, and d at most 3: points are then drawn
      by rejection from a grid.
    - `box`, a pair of vectors: the density is taken as zero outside. On the line it gives distribution functions, too.
    - `normalized=False`: the density has a mass that is not known; it is estimated where it is needed.
    """

    def __init__(
        self,
        log_density: Callable[[np.ndarray], Numbers],
        d: Count,
        *,
        sample: DrawPoints | None = None,
        box: tuple[Numbers, Numbers] | None = None,
        normalized: bool = True,
    ):
        for name, function in (("log_density", log_density), ("sample", sample)):
            if not (callable(function) or (name == "sample" and function is None)):
                raise InputError(f"{name} = {shown(function)} is no function; give one of points (n, d).")
        if not isinstance(normalized, bool):
            raise InputError(f"normalized = {shown(normalized)}; give True or False.")
        self._given, self._d, self._sample, self._normalized = log_density, whole("d", d), sample, normalized
        self._box = None if box is None else _box(box, self._d)
        if sample is None and (self._box is None or self._d > 3):
            raise InputError(
                "a density cannot be drawn from; give sample=, a function of (n, key=key), or in dimension 1 to 3 "
                "a box=(low, high) that holds its mass."
            )

    @property
    def d(self) -> int:
        return self._d

    @property
    def normalized(self) -> bool:
        return self._normalized

    @property
    def box(self) -> Box | None:
        return self._box

    @property
    def tails(self) -> Tails | None:
        return None if self._box is None else Tails(COMPACT, COMPACT)

    def log_density(self, x: Numbers) -> np.ndarray:
        """What the function gives at points `(n, d)`; minus infinity outside of the box."""
        x = points("x", x, self.d)
        values = np.asarray(self._given(x), float)
        if values.shape != (len(x),):
            raise InputError(
                f"log_density gives the shape {values.shape} for {len(x)} points; it should be ({len(x)},)."
            )
        if np.isnan(values).any() or (values == np.inf).any():
            k = int(np.argmax(np.isnan(values) | (values == np.inf)))
            raise InputError(
                f"log_density is {values[k]} at the point {x[k].tolist()}; it must be a number or -infinity."
            )
        return values if self._box is None else np.where(self._box.contains(x), values, -np.inf)

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        if self._sample is None:
            return self._rejection.draw(n, rng)
        drawn = np.asarray(self._sample(n, key=jax.random.key(int(rng.integers(2**32)))))
        if drawn.shape != (n, self.d):
            raise InputError(f"sample gives the shape {drawn.shape} and should give ({n}, {self.d}).")
        return points("what sample gives", drawn, self.d)

    @property
    def line(self) -> Line | None:
        return self._line

    @cached_property
    def _line(self) -> Line | None:
        if self.d > 1 or self._box is None:
            return None
        return line_from_table(lambda y: self.log_density(y[:, None]), self._box.low[0], self._box.high[0])

    @cached_property
    def _rejection(self) -> CellRejection:
        assert self._box is not None
        return CellRejection(self.log_density, self._box)

    def __repr__(self) -> str:
        return f"FromDensity: a law on R^{self.d}"


def _box(box: tuple[Numbers, Numbers], d: int) -> Box:
    try:
        low, high = box
    except (TypeError, ValueError):
        raise InputError(f"box = {shown(box)} is none; give a pair of vectors (low, high).") from None
    checked = checked_box(low, high)
    if len(checked.low) != d:
        raise InputError(f"the box has {len(checked.low)} sides and d = {d}; give one for each coordinate.")
    return checked
