"""Which requests the server answers: those of its own pages, under a name that means this machine.

A page of another site can open a websocket to the loopback address, and a name that its owner controls can be made to
point there (DNS rebinding). The first is refused by its Origin, the second by its Host. Pure ASGI, so that it
guards everything, websockets included.
"""

import ipaddress
from typing import Any
from urllib.parse import urlsplit

from . import limits

HEADERS = {
    # Styles of plotly are inline; everything else, scripts above all, comes from files of this server.
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "x-frame-options": "DENY",
}


class Guard:
    """An ASGI application before another; `remote=True` admits any address and any name but no foreign Origin."""

    def __init__(self, app: Any, remote: bool = False):
        self.app, self.remote = app, remote

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        sentence = self.refusal(scope)
        if sentence is None:
            await self.app(scope, receive, self._with_headers(send) if scope["type"] == "http" else send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": sentence[:120]})
        else:
            await _receive_body(receive)
            headers = [(b"content-type", b"text/plain; charset=utf-8")]
            send = self._with_headers(send)
            await send({"type": "http.response.start", "status": 403, "headers": headers})
            await send({"type": "http.response.body", "body": f"{sentence}\n".encode()})

    def refusal(self, scope: dict[str, Any]) -> str | None:
        """Why a request is refused, in a sentence; `None` if it may pass."""
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        host, origin = headers.get(b"host", ""), headers.get(b"origin")
        if not self.remote and not is_this_machine(host):
            return "this server answers to the name of this machine alone; open the address that it printed."
        needs_origin = scope["type"] == "websocket" or scope.get("method") not in ("GET", "HEAD")
        if origin is None:
            return "a request without Origin is not from the page; open the page." if needs_origin else None
        if urlsplit(origin).netloc.lower() != host.lower():
            return "this request comes from another site; open the page of this server."
        return None

    @staticmethod
    def _with_headers(send: Any) -> Any:
        async def wrapped(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*message.get("headers", ()), *extra]}
            await send(message)

        return wrapped


async def _receive_body(receive: Any) -> None:
    """Read the body of a request, up to the length of a message: a client that is still sending misses the refusal."""
    size = 0
    while size <= limits.MAX_MESSAGE:
        message = await receive()
        if message["type"] != "http.request" or not message.get("more_body"):
            return
        size += len(message.get("body", b""))


def is_this_machine(host: str) -> bool:
    """Whether a Host header names the loopback interface."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
