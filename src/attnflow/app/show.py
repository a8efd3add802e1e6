"""One run on the page: what plays it, what measures it, and the messages about it."""

import time
from typing import Any

import numpy as np

from . import frames
from .instruments import Instruments, Quick, row
from .playback import Moment, playback
from .projection import project
from .state import State, axes
from .theory import overlays

ENERGY_PAIRS = 4e6


class Show:
    """A playback with its instruments; `axes` says along what a cloud in higher dimension is seen."""

    def __init__(self, state: State):
        self.state = state
        self.playback = playback(state)
        self.instruments = Instruments(self.playback.start)
        self.axes = state.view["axes"]
        self._measured: tuple[int, bool, Quick] | None = None  # the last step, whether with its energy

    def prepare(self) -> tuple[float, dict[str, Any]]:
        """Compile what states need; the seconds that a step then takes, and what the theory says about the run."""
        self.frame(0)
        seconds = 0.0
        for _ in range(2):  # the first step compiles
            begun = time.perf_counter()
            self.playback.advance(1)
            seconds = time.perf_counter() - begun
            self.playback.rewind(0)
        return seconds, overlays(self.state, self.playback.start.model, self.instruments.wave, self._quick().wave)

    def facts(self) -> dict[str, Any]:
        """The facts of a run that the page needs at its start."""
        start = self.playback.start
        return {
            "state": self.state.as_json(),
            "dt": start.dt,
            "clock": start.model.clock,
            "energy": self.instruments.scale,
            "weights": None if start.weights is None else [float(f"{v:.6g}") for v in start.weights],
            "sphere": start.model.space.unit,
            "last": self.playback.last,
            "merges": list(self.playback.merges),
        }

    def series(self) -> dict[str, Any] | None:
        """The charts of the whole run, where it is computed in advance."""
        known = self.playback.known
        return None if known is None else self.instruments.series(*known)

    def row(self) -> list[Any]:
        """The charts at this moment."""
        moment = self.playback.moment
        return row(moment.step, moment.t, self._quick())

    def frame(self, run: int) -> bytes:
        """This moment, to be drawn."""
        moment = self.playback.moment
        # Of many tokens the energy takes as long as a stage of the step: now and then is enough.
        energy = moment.step % (1 + int(self.state.pairs / ENERGY_PAIRS)) == 0
        weights = self.playback.start.weights
        x = np.asarray(moment.x, float)
        weights = None if weights is None else np.asarray(weights, float)
        points, share = project(x, weights, axes(self.axes, x.shape[1]))
        quick, density = self._quick(energy), self.instruments.density(moment.x)
        return frames.state(run, moment.step, moment.t, points, density, share=share, **quick._asdict())

    def _quick(self, energy: bool = True) -> Quick:
        """This moment, measured once for its row and its frames."""
        step, _, x = self.playback.moment
        if self._measured is None or self._measured[0] != step or energy > self._measured[1]:
            self._measured = step, energy, self.instruments.quick(x, energy=energy)
        quick = self._measured[2]
        return quick if energy else quick._replace(energy=float("nan"))

    def measured(self, run: int, moment: Moment) -> bytes:
        """A moment, which the playback may have left meanwhile, as the instruments see it."""
        return frames.instruments(run, moment.step, moment.t, **self.instruments.slow(moment)._asdict())

    def token(self, index: int) -> dict[str, Any]:
        """The position of a token and the tokens it attends to."""
        moment, weights = self.playback.moment, self.playback.start.weights
        x = np.asarray(moment.x[index], float)
        shares = self.instruments.attention_row(moment, index)
        first = [] if shares is None else np.argsort(-shares, kind="stable")[:5]
        return {
            "token": index,
            "step": moment.step,
            "position": [round(float(v), 4) for v in x[:8]],
            "dimension": int(x.size),
            "weight": None if weights is None else float(weights[index]),
            "attends": [[int(j), float(shares[j])] for j in first],  # pyright: ignore[reportOptionalSubscript]
        }
