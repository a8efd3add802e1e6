"""The same run until one cluster is left, however long that takes: rows of `attnflow.long_time` instead of steps."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from ..errors import InputError
from ..flows.long_time import long_time
from . import instruments
from .simulation import Simulation
from .state import State

MAX_TOKENS = 256


class LongTime(Simulation):
    """A simulation whose steps are the rows of a long-time run and whose time is its natural logarithm."""

    def __init__(self, state: State):
        super().__init__(state)
        n = state.settings["n"]
        if n > MAX_TOKENS:
            raise InputError(f"long times of {n} tokens take too long for the page; take at most {MAX_TOKENS}.")
        if state.settings["dtype"] != "float64":
            raise InputError("long times need all digits; choose the precision float64.")
        self.run = long_time(self.model, self.x, weights=self.w, points=48)
        self._rows = np.asarray(self.run.xs)
        log_t = np.asarray(self.run.log_ts)
        # The start is minus infinity; on a chart it stands a little before the first time.
        finite = log_t[np.isfinite(log_t)]
        self._log_t = np.where(np.isfinite(log_t), log_t, (finite[0] if finite.size else 0.0) - 0.5)
        self.near(0)

    @property
    def t(self) -> float:
        return float(self._log_t[self.step])

    @property
    def last(self) -> int:
        return len(self._rows) - 1

    @property
    def merges(self) -> list[int]:
        """Rows at which clusters have just merged."""
        return sorted({int(event["index"]) for event in self.run.events})

    def advance(self, steps: int) -> None:
        self._go(self.step + steps)

    def near(self, step: int) -> None:
        if hasattr(self, "_rows"):
            self._go(step)
        else:
            super().near(step)

    def _go(self, step: int) -> None:
        self.step = max(0, min(step, self.last))
        self.x = jnp.asarray(self._rows[self.step])

    def merged(self, step: int) -> np.ndarray:
        mass = self.masses if self.masses is not None else np.full(self.x.shape[0], 1 / self.x.shape[0])
        found = np.bincount(np.asarray(self.run.labels)[step], mass)  # a label is the least index in its cluster
        return found[found > 0]

    def series(self) -> dict[str, Any]:
        """Energy, order parameter and wave of every row; clusters and their plateau where they change."""
        quick = instruments.series(self.model, jnp.asarray(self._rows), self.w, self.scale, self.wave)
        rows = [
            [k, t, *(None if v != v else v for v in q)]
            for k, (t, q) in enumerate(zip(self._log_t, quick.tolist(), strict=True))
        ]
        masses = {k: self.merged(k) for k in (0, *self.merges, self.last)}
        counts = [[k, float(self._log_t[k]), len(m), float(np.sum(m**2))] for k, m in masses.items()]
        return {"rows": rows, "counts": counts}

    def facts(self) -> dict[str, Any]:
        return {"last": self.last, "merges": self.merges}
