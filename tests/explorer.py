"""A server of the page in a thread, and a visitor who speaks its protocol."""

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import uvicorn
from websockets.sync.client import ClientConnection, connect

from attnflow.app.server import make_app
from attnflow.cli._explore import configuration


class Served:
    """Where the server is, and how to end it."""

    def __init__(self, port: int = 0):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", port))
        self.port = self.socket.getsockname()[1]
        self.host = f"127.0.0.1:{self.port}"
        self.url = f"http://{self.host}/"
        self.server = uvicorn.Server(configuration(uvicorn, make_app()))
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]}, daemon=True)
        self.thread.start()
        while not self.server.started:
            time.sleep(0.02)

    def close(self) -> None:
        self.server.should_exit = True
        self.thread.join(20)
        self.socket.close()


@contextlib.contextmanager
def serve(port: int = 0) -> Iterator[Served]:
    served = Served(port)
    try:
        yield served
    finally:
        served.close()


class Visitor:
    """One websocket: asks, and waits for the answer of a kind."""

    def __init__(self, served: Served, origin: str | None = None):
        origin = f"http://{served.host}" if origin is None else origin
        # A visitor who has read nothing does not wait for the closing handshake behind the unread messages.
        opening: Any = connect(f"ws://{served.host}/live", origin=origin, compression=None, close_timeout=1)  # pyright: ignore
        self.socket: ClientConnection = opening.__enter__()

    def __enter__(self) -> "Visitor":
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def ask(self, **request: object) -> None:
        self.socket.send(json.dumps(request))

    def hear(self, *kinds: str, timeout: float = 60) -> dict:
        """The next message of one of the kinds: an event, or a frame ("state", "instruments")."""
        while True:
            message = self.socket.recv(timeout=timeout)
            measured = json.loads(message) if isinstance(message, str) else parse(message)
            if measured["event"] in kinds:
                return measured

    def start(self, run: int = 1, **state: object) -> dict:
        self.ask(do="start", run=run, state=state)
        return self.hear("started", "error")


def parse(frame: bytes) -> dict:
    """A frame, read by the table in attnflow/app/frames.py."""
    magic, kind, run, step, n, k, t = struct.unpack_from("<4sIIIIId", frame)
    assert magic == b"AFF1"
    facts = {"run": run, "step": step, "n": n, "t": t}
    if kind == 1:
        energy, order, share, wave = struct.unpack_from("<ffff", frame, 32)
        points = np.frombuffer(frame, "<f4", n * k, 48).reshape(n, k)
        density = np.frombuffer(frame, "<f4", offset=48 + 4 * n * k)
        return {"event": "state", **facts, "energy": energy, "order": order, "share": share, "wave": wave,
                "points": points, "density": density}  # fmt: skip
    eps, plateau, count, side = struct.unpack_from("<ffII", frame, 32)
    labels = np.frombuffer(frame, "<u2", n, 48)
    rest = np.frombuffer(frame, "<f4", offset=48 + 4 * -(-n // 2))
    attention = rest[k:].reshape(side, side)
    return {"event": "instruments", **facts, "labels": labels, "histogram": rest[:k], "attention": attention,
            "count": count, "eps": eps, "plateau": plateau}  # fmt: skip
