"""One visitor: requests come in as JSON, states go out as frames, one at a time.

| request | answer |
|---|---|
| `{"do": "start", "run": 1, "state": {…}}` | `started`, then a state |
| `{"do": "advance", "run": 1, "steps": 2}` | a state |
| `{"do": "seek", "run": 1, "step": 120}` | a state |
| `{"do": "view", "run": 1, "axes": "1,2,3"}` | the same state along other axes |
| `{"do": "token", "run": 1, "index": 5}` | `token` |

Instruments follow states now and then. A request that cannot be met gets `{"event": "error", "sentence": …}`.
The page requests the next state when the last one has arrived, so that states never queue up.
"""

import asyncio
import contextlib
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

from ..errors import AttnflowError, InputError
from . import limits
from .lanes import Lanes
from .show import Show
from .state import State, axes

Send = Callable[[str | bytes], Awaitable[None]]
PIECE = 1e9  # pair interactions in one piece of work


class Gone(Exception):
    """The visitor has left or takes no more bytes; whatever sends may raise it, and what was to be sent is lost."""


class Session:
    """Answers the requests of one visitor in their order; a new start ends what is under way."""

    def __init__(self, send: Send, lanes: Lanes):
        self._send, self._lanes = send, lanes
        self.show: Show | None = None
        self._run = 0
        self._starts_received = self._starts_answered = 0
        self._seconds = 0.0  # that a step took
        self._measurement: asyncio.Task | None = None
        self._measured_run = 0

    def receive(self, request: Any) -> None:
        """Count a request when it arrives, before its turn: a start ends what is under way."""
        self._starts_received += _is_start(request)

    async def answer(self, request: Any) -> None:
        """Do what is requested, or say in a sentence why not."""
        self._starts_answered += _is_start(request)
        try:
            await self._answer(request)
        except AttnflowError as error:
            await self.send_event("error", sentence=str(error))

    async def send_event(self, event: str, **facts: Any) -> None:
        await self._send(json.dumps({"event": event, "run": self._run, **facts}))

    def close(self) -> None:
        if self._measurement is not None:
            self._measurement.cancel()

    async def _answer(self, request: Any) -> None:
        if not isinstance(request, dict):
            raise InputError('a request is a JSON object, for example {"do": "start", "run": 1, "state": {}}.')
        do, run = request.get("do"), request.get("run", 0)
        if not isinstance(run, int) or isinstance(run, bool) or not 0 <= run < 1 << 32:
            raise InputError("run should be a whole number from 0, to know which answer belongs to which request.")
        if do == "start":
            await self._start(run, request.get("state", {}))
            return
        if do not in ("advance", "seek", "view", "token"):
            raise InputError(f"request {str(do)[:40]!r} is unknown; there are: start, advance, seek, view, token.")
        if self.show is None:
            raise InputError("nothing has been started yet; send start first.")
        if run != self._run:
            return  # about a run that has been left
        await getattr(self, f"_{do}")(self.show, request)

    async def _start(self, run: int, request: Any) -> None:
        self.show, self._run = None, run  # before anything can be wrong: a refusal, too, says which run it means
        state = State.of(request)
        await self.send_event("busy", what="preparing")
        show = await self._lanes.slow(Show, state)
        await self.send_event("busy", what="compiling")
        seconds, theory = await self._lanes.slow(show.prepare)
        self.show, self._seconds = show, seconds
        await self.send_event("started", theory=theory, **show.facts())
        if series := await self._lanes.slow(show.series):
            await self.send_event("series", **series)
        if state.step:
            await self._travel(show, state.step)
        await self._send_state(show)

    async def _advance(self, show: Show, request: dict[str, Any]) -> None:
        steps = _whole(request, "steps", 1, limits.MAX_STEPS_AT_ONCE)
        step = show.playback.moment.step
        if step >= show.playback.last:
            raise InputError(f"the run ends here, after {step} steps; go back, or change something.")
        await self._compute(show, max(1, min(steps, int(PIECE / show.state.pairs))))
        await self._send_state(show)

    async def _seek(self, show: Show, request: dict[str, Any]) -> None:
        await self._travel(show, _whole(request, "step", 0, limits.MAX_STEPS))
        await self._send_state(show)

    async def _view(self, show: Show, request: dict[str, Any]) -> None:
        text = request.get("axes")
        if not isinstance(text, str):
            raise InputError("axes should be a word: pca, or three coordinates as 1,2,3.")
        axes(text, show.state.settings["d"])
        show.axes = text
        await self._send_state(show)

    async def _token(self, show: Show, request: dict[str, Any]) -> None:
        index = _whole(request, "index", 0, show.state.settings["n"] - 1)
        await self.send_event("token", **await self._lanes.quick(show.token, index))

    async def _travel(self, show: Show, step: int) -> None:
        """To a step, backwards from what is kept, forwards in pieces between which others have their turn."""
        played = show.playback
        await self._lanes.quick(played.rewind, step)
        step = min(step, played.last)
        remaining = step - played.moment.step
        if remaining * show.state.pairs > limits.MAX_PAIRS:
            raise InputError(
                f"step {step} with {show.state.settings['n']} tokens takes too long to reach in one go; "
                "begin at an earlier step, or play."
            )
        rows: list[list[Any]] = []
        piece = max(1, min(-(-remaining // 100), int(PIECE / show.state.pairs)))
        while played.moment.step < step:
            if self._starts_received > self._starts_answered:  # another start waits, perhaps since before this request
                return
            await self._compute(show, min(piece, step - played.moment.step))
            rows.append(await self._lanes.quick(show.row))
        if rows:
            await self.send_event("series", rows=rows)

    async def _compute(self, show: Show, steps: int) -> None:
        lane = self._lanes.slow if self._seconds * steps > limits.SLOW_SECONDS else self._lanes.quick
        begun = time.perf_counter()
        await lane(show.playback.advance, steps)
        self._seconds = 0.8 * self._seconds + 0.2 * (time.perf_counter() - begun) / steps

    async def _send_state(self, show: Show) -> None:
        await self._send(await self._lanes.quick(show.frame, self._run))
        if self._measurement is None or self._measurement.done() or self._measured_run != self._run:
            self._measured_run = self._run
            self._measurement = asyncio.create_task(self._measure(show, self._run))

    async def _measure(self, show: Show, run: int) -> None:
        """Instruments of what is shown, beside the states that come after it, until nothing new is shown."""
        with contextlib.suppress(Gone):  # nothing awaits this task, and the conversation notices by itself
            step = None
            while run == self._run and show.playback.moment.step != step:
                begun = time.perf_counter()
                moment = show.playback.moment
                step = moment.step
                try:
                    frame = await self._lanes.slow(show.measured, run, moment)
                except AttnflowError as error:
                    await self.send_event("error", sentence=str(error))
                    return
                if run == self._run:
                    await self._send(frame)
                seconds = time.perf_counter() - begun
                # The longer they take the rarer they are, but about one in a second at least.
                await asyncio.sleep(min(1.0, max(0.12, 9 * seconds if seconds > 0.05 else 0)))


def _is_start(request: Any) -> bool:
    return isinstance(request, dict) and request.get("do") == "start"


def _whole(request: dict[str, Any], name: str, low: int, high: int) -> int:
    value = request.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InputError(f"{name} should be a whole number between {low} and {high}.")
    return value
