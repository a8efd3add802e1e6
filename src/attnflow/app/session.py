"""One visitor: requests come in as JSON, states go out as frames, one at a time.

| request | answer |
|---|---|
| `{"do": "start", "run": 1, "state": {…}}` | `started`, then a state |
| `{"do": "advance", "run": 1, "steps": 2}` | a state |
| `{"do": "seek", "run": 1, "step": 120}` | a state |
| `{"do": "view", "run": 1, "axes": "1,2,3"}` | the same state, seen otherwise |
| `{"do": "token", "run": 1, "index": 5}` | `token` |

Instruments follow states now and then. What cannot be done is answered by `{"event": "error", "sentence": …}`.
The page asks for the next state when it has got the last: that is all the back-pressure there is, and all it takes.
"""

import asyncio
import contextlib
import dataclasses
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

from ..errors import AttnflowError, InputError
from . import instruments, limits
from .lanes import Lanes
from .long_time import LongTime
from .simulation import Simulation
from .state import State, axes
from .theory import overlays

Send = Callable[[str | bytes], Awaitable[None]]
CLUMP = 1e9  # pair interactions in one piece of work


class Gone(Exception):
    """The visitor has left, or takes nothing any more: whatever sends may raise it, and what was to be sent is lost."""


class Session:
    """Answers the requests of one visitor in their order; a new start ends what is under way."""

    def __init__(self, send: Send, lanes: Lanes):
        self._send, self._lanes = send, lanes
        self._simulation: Simulation | None = None
        self._run = 0
        self._asked = self._begun = 0  # starts that have been asked for, and those that have had their turn
        self._seconds = 0.0  # that a step took
        self._measured: asyncio.Task | None = None
        self._measuring = 0  # the run whose states are measured

    def heard(self, request: Any) -> None:
        """Told of a request when it arrives, before its turn."""
        self._asked += _is_start(request)

    async def answer(self, request: Any) -> None:
        """Do what is asked, or say in a sentence why not."""
        self._begun += _is_start(request)
        try:
            await self._answer(request)
        except AttnflowError as error:
            await self.tell("error", sentence=str(error))

    async def tell(self, event: str, **facts: Any) -> None:
        await self._send(json.dumps({"event": event, "run": self._run, **facts}))

    def close(self) -> None:
        if self._measured is not None:
            self._measured.cancel()

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
        if self._simulation is None:
            raise InputError("nothing has been started yet; ask for start first.")
        if run != self._run:
            return  # about a run that has been left
        await getattr(self, f"_{do}")(self._simulation, request)

    async def _start(self, run: int, given: Any) -> None:
        self._simulation, self._run = None, run  # before anything can be wrong: a refusal, too, says which run it means
        state = State.of(given)
        await self.tell("busy", what="preparing")
        simulation = await self._lanes.slow(LongTime if state.view["long"] else Simulation, state)
        await self.tell("busy", what="compiling")
        seconds, theory = await self._lanes.slow(prepared, simulation)
        self._simulation, self._seconds = simulation, seconds
        await self.tell(
            "started",
            state=state.as_json(),
            dt=simulation.dt,
            clock=simulation.model.clock,
            energy=simulation.scale,
            weights=None if simulation.masses is None else [float(f"{v:.6g}") for v in simulation.masses],
            theory=theory,
            **simulation.facts(),
        )
        if known := await self._lanes.slow(simulation.series):
            await self.tell("series", **known)
        if state.step:
            await self._travel(simulation, state.step)
        await self._show(simulation)

    async def _advance(self, simulation: Simulation, request: dict[str, Any]) -> None:
        steps = _whole(request, "steps", 1, limits.MAX_STEPS_AT_ONCE)
        if simulation.step >= simulation.facts()["last"]:
            raise InputError(f"the run ends here, after {simulation.step} steps; go back, or change something.")
        steps = max(1, min(steps, int(CLUMP / simulation.state.pairs)))
        await self._compute(simulation, steps)
        await self._show(simulation)

    async def _seek(self, simulation: Simulation, request: dict[str, Any]) -> None:
        await self._travel(simulation, _whole(request, "step", 0, limits.MAX_STEPS))
        await self._show(simulation)

    async def _view(self, simulation: Simulation, request: dict[str, Any]) -> None:
        text = request.get("axes")
        if not isinstance(text, str):
            raise InputError("axes should be a word: pca, or three coordinates as 1,2,3.")
        axes(text, simulation.state.settings["d"])
        simulation.state = dataclasses.replace(simulation.state, view={**simulation.state.view, "axes": text})
        await self._show(simulation)

    async def _token(self, simulation: Simulation, request: dict[str, Any]) -> None:
        index = _whole(request, "index", 0, simulation.state.settings["n"] - 1)
        await self.tell("token", **await self._lanes.quick(simulation.token, index))

    async def _travel(self, simulation: Simulation, step: int) -> None:
        """To a step, backwards from what is kept, forwards in pieces that let others have their turn."""
        await self._lanes.quick(simulation.near, step)
        todo = step - simulation.step
        if todo * simulation.state.pairs > limits.MAX_PAIRS:
            raise InputError(
                f"step {step} with {simulation.state.settings['n']} tokens takes too long to reach in one go; "
                "begin at an earlier step, or play."
            )
        series: list[list[float | None]] = []
        piece = max(1, min(-(-todo // 100), int(CLUMP / simulation.state.pairs)))
        while simulation.step < step:
            if self._asked > self._begun:  # another start waits, perhaps since before this way was begun
                return
            await self._compute(simulation, min(piece, step - simulation.step))
            found = await self._lanes.quick(
                instruments.quick, simulation.model, simulation.x, simulation.w, simulation.scale, simulation.wave
            )
            series.append([simulation.step, simulation.t, *(None if v != v else v for v in found)])
        if series:
            await self.tell("series", rows=series)

    async def _compute(self, simulation: Simulation, steps: int) -> None:
        lane = self._lanes.slow if self._seconds * steps > limits.SLOW_SECONDS else self._lanes.quick
        start = time.perf_counter()
        await lane(simulation.advance, steps)
        self._seconds = 0.8 * self._seconds + 0.2 * (time.perf_counter() - start) / steps

    async def _show(self, simulation: Simulation) -> None:
        await self._send(await self._lanes.quick(simulation.frame, self._run))
        if self._measured is None or self._measured.done() or self._measuring != self._run:
            self._measuring = self._run
            self._measured = asyncio.create_task(self._measure(simulation, self._run))

    async def _measure(self, simulation: Simulation, run: int) -> None:
        """Instruments of what is shown, beside the states that come after it, until nothing new is shown."""
        with contextlib.suppress(Gone):  # nobody waits for this task: that the visitor has left is told elsewhere
            await self._keep_measuring(simulation, run)

    async def _keep_measuring(self, simulation: Simulation, run: int) -> None:
        step = None
        while run == self._run and simulation.step != step:
            start = time.perf_counter()
            snapshot = simulation.snapshot()
            step = snapshot[0]
            try:
                frame = await self._lanes.slow(simulation.instruments, run, snapshot)
            except AttnflowError as error:
                await self.tell("error", sentence=str(error))
                return
            if run == self._run:
                await self._send(frame)
            took = time.perf_counter() - start
            # The dearer they are the rarer, but not below about one in a second.
            await asyncio.sleep(min(1.0, max(0.12, 9 * took if took > 0.05 else 0)))


def prepared(simulation: Simulation) -> tuple[float, dict[str, Any]]:
    """Compile what states need; the seconds that a step then takes, and what the theory says about the run."""
    simulation.frame(0)
    simulation.advance(1)
    simulation.near(0)
    start = time.perf_counter()
    simulation.advance(1)
    seconds = time.perf_counter() - start
    simulation.near(0)
    found = instruments.quick(simulation.model, simulation.x, simulation.w, simulation.scale, simulation.wave)
    return seconds, overlays(simulation.state, simulation.model, simulation.wave, found.wave)


def _is_start(request: Any) -> bool:
    return isinstance(request, dict) and request.get("do") == "start"


def _whole(request: dict[str, Any], name: str, low: int, high: int) -> int:
    value = request.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise InputError(f"{name} should be a whole number between {low} and {high}.")
    return value
