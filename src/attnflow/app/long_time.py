"""A run until one cluster is left: a step is a row of `attnflow.long_time`."""

import numpy as np

from ..errors import InputError
from ..flows import Run, long_time
from .playback import AbstractPlayback, Moment, start_of
from .state import State

MAX_TOKENS = 256


class LongTime(AbstractPlayback):
    """All rows are computed at the start; time is shown as its natural logarithm."""

    def __init__(self, state: State):
        n = state.settings["n"]
        if n > MAX_TOKENS:
            raise InputError(f"long times of {n} tokens take too long for the page; take at most {MAX_TOKENS}.")
        if state.settings["dtype"] != "float64":
            raise InputError("long times need all digits; choose the precision float64.")
        self.start = start_of(state)
        self._run = long_time(self.start.model, self.start.x, weights=self.start.weights, points=48)
        self.merges = sorted({int(event["index"]) for event in self._run.events})
        log_t = np.asarray(self._run.log_ts)
        # The logarithm of the start is minus infinity; a chart shows it a little before the first time.
        finite = log_t[np.isfinite(log_t)]
        self._ts = np.where(np.isfinite(log_t), log_t, (finite[0] if finite.size else 0.0) - 0.5)
        self.known = self._ts, self._run.xs
        self.last = len(log_t) - 1
        self.rewind(0)

    def advance(self, steps: int) -> None:
        self.rewind(self.moment.step + steps)

    def rewind(self, step: int) -> None:
        step = max(0, min(step, self.last))
        self.moment = Moment(step, float(self._ts[step]), self._run.xs[step])

    def run(self, step: int) -> Run:
        return self._run
