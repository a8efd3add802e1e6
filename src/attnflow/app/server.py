"""The server of the page: files, one websocket, Python and NetCDF to take away."""

import asyncio
import contextlib
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketDisconnect

from ..errors import AttnflowError, InputError
from . import limits
from .catalogue import catalogue
from .guard import Guard
from .lanes import Lanes, in_double
from .playback import playback, start_of
from .python_code import program
from .session import Gone, Session
from .show import Show
from .state import State

STATIC = Path(__file__).parent / "static"


def make_app(*, remote: bool = False) -> Any:
    """The ASGI application."""
    server = _Server()
    routes = [
        Route("/", server.page),
        Route("/catalogue.json", server.catalogue),
        Route("/plotly.min.js", server.plotly),
        Route("/python", server.python, methods=["POST"]),
        Route("/run.nc", server.netcdf, methods=["POST"]),
        WebSocketRoute("/live", server.live),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    return Guard(Starlette(routes=routes, lifespan=server.lifespan), remote=remote)


def warm_up() -> None:
    """Compile the programs of the first visitor, so that the tokens move as soon as the page is loaded."""
    from .scenes import scenes

    def first() -> None:
        catalogue()
        show = Show(State.of(scenes()[0].state))
        show.prepare()
        show.measured(0, show.playback.moment)

    in_double(first)


class _Server:
    def __init__(self):
        self.lanes = Lanes()
        self.clients = 0
        self.files = asyncio.Semaphore(limits.MAX_FILES)
        self._catalogue: dict[str, Any] | None = None

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Starlette):
        yield
        self.lanes.close()

    async def page(self, request: Request) -> Response:
        return FileResponse(STATIC / "index.html", headers={"cache-control": "no-cache"})

    async def catalogue(self, request: Request) -> Response:
        if self._catalogue is None:
            self._catalogue = await self.lanes.slow(catalogue)
        return JSONResponse(self._catalogue, headers={"cache-control": "no-cache"})

    async def plotly(self, request: Request) -> Response:
        import plotly

        path = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
        return FileResponse(path, media_type="text/javascript", headers={"cache-control": "max-age=86400"})

    async def python(self, request: Request) -> Response:
        """The program of a state."""

        def work(settings: Any) -> Response:
            state = State.of(settings)
            return PlainTextResponse(program(state, start_of(state).dt))

        return await self._from_state(request, work)

    async def netcdf(self, request: Request) -> Response:
        """The run of a state as a file: 201 times up to its step."""
        async with self.files:
            return await self._from_state(request, _file)

    async def _from_state(self, request: Request, work: Any) -> Response:
        try:
            body = b""
            async for part in request.stream():
                body += part
                if len(body) > limits.MAX_MESSAGE:
                    raise InputError(f"a state has at most {limits.MAX_MESSAGE} bytes; this one has more.")
            return await self.lanes.slow(work, _parse(body))
        except AttnflowError as error:
            return PlainTextResponse(f"{error}\n", status_code=400)

    async def live(self, socket: WebSocket) -> None:
        """One visitor, from the first request to the last."""
        if self.clients >= limits.MAX_CLIENTS:
            await socket.close(1013, "the server has all the visitors it can take; try again later.")
            return
        self.clients += 1
        try:
            await socket.accept()
            await _Conversation(socket, self.lanes).run()
        finally:
            self.clients -= 1


class _Conversation:
    """Reads requests while the session answers them: at most a few wait, then the socket itself is not read."""

    def __init__(self, socket: WebSocket, lanes: Lanes):
        self.socket = socket
        self.waiting: asyncio.Queue = asyncio.Queue(8)
        self.turn = asyncio.Lock()
        self.session = Session(self.send, lanes)

    async def run(self) -> None:
        tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._answer())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        except (Gone, WebSocketDisconnect, RuntimeError):
            pass
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self.session.close()  # last: an answer may have begun to measure until its task ended
            with contextlib.suppress(Exception):
                await self.socket.close()

    async def send(self, message: str | bytes) -> None:
        async with self.turn:
            send = self.socket.send_text(message) if isinstance(message, str) else self.socket.send_bytes(message)
            try:
                await asyncio.wait_for(send, limits.SEND_SECONDS)
            except (WebSocketDisconnect, RuntimeError, TimeoutError) as error:
                raise Gone from error

    async def _read(self) -> None:
        allowance, last = limits.MAX_MESSAGES_PER_SECOND, time.monotonic()
        while True:
            message = await self.socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            now = time.monotonic()
            allowance = min(limits.MAX_MESSAGES_PER_SECOND, allowance + (now - last) * limits.MAX_MESSAGES_PER_SECOND)
            last, allowance = now, allowance - 1
            if allowance < 0:  # only a visitor who sends too fast waits
                await asyncio.sleep(-allowance / limits.MAX_MESSAGES_PER_SECOND)
            try:
                request = _parse(message.get("text"))
            except InputError as error:
                request = error
            self.session.receive(request)
            await self.waiting.put(request)

    async def _answer(self) -> None:
        while True:
            request = await self.waiting.get()
            if isinstance(request, InputError):
                await self.session.send_event("error", sentence=str(request))
            else:
                await self.session.answer(request)


def _parse(text: str | bytes | None) -> Any:
    """Parse untrusted JSON; raise `InputError` if it is invalid."""
    if text is None:
        raise InputError("a request is text; only the server sends binary messages.")
    if len(text) > limits.MAX_MESSAGE:
        raise InputError(f"a request has at most {limits.MAX_MESSAGE} bytes; this one has {len(text)}.")
    try:
        return json.loads(text, parse_constant=lambda word: None)
    except (ValueError, RecursionError):
        raise InputError('this is not JSON; send an object like {"do": "start", "run": 1, "state": {}}.') from None


def _file(request: Any) -> Response:
    state = State.of(request)
    run = playback(state).run(state.step).annotated(page=state.as_json(whole=False))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.nc"
        run.save(path)
        content = path.read_bytes()
    headers = {"content-disposition": 'attachment; filename="run.nc"'}
    return Response(content, media_type="application/x-netcdf", headers=headers)
