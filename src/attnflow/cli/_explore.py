"""`attnflow explore`."""

import os
import socket
import sys
from typing import Annotated, Any

import typer

from ..errors import InputError


def explore(
    port: Annotated[int, typer.Option(help="Port; if it is taken, the next free one.", min=0, max=65535)] = 8717,
    host: Annotated[str, typer.Option(help="Address to listen on; another than loopback needs --allow-remote.")] = (
        "127.0.0.1"
    ),
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Let other machines in: whoever reaches the port may compute here.")
    ] = False,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Open the live page: tokens that move, sliders for everything, instruments with the theory drawn over them.

    Example: [bold]attnflow explore[/bold]
    """
    uvicorn = _extras()
    if "numpy" not in sys.modules:
        # Principal axes many times a second: where others compute, too, threads that wait for one another by spinning
        # make that a hundred times slower. It is read when NumPy is loaded.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from ..app.guard import is_this_machine
    from ..app.server import make_app, warm_up

    if not allow_remote and not is_this_machine(f"[{host}]" if ":" in host else host):
        raise InputError(f"--host {host} lets other machines in; add --allow-remote if you mean it.")
    listening = _listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    address = f"http://{shown}:{listening.getsockname()[1]}/"
    print("compiling the first scene ...", file=sys.stderr)
    app = make_app(remote=allow_remote)
    warm_up()
    print(f"The page: {address} (Ctrl-C ends it)", flush=True)
    if browser:
        import threading
        import webbrowser

        threading.Timer(0.5, webbrowser.open, [address]).start()
    uvicorn.Server(configuration(uvicorn, app)).run(sockets=[listening])


def configuration(uvicorn: Any, app: Any) -> Any:
    """The configuration of the server: small messages, no log, and no wait for visitors at the end."""
    from ..app import limits

    return uvicorn.Config(
        app,
        log_level="warning",
        ws="websockets-sansio",
        ws_max_size=limits.MAX_MESSAGE_AT_ALL,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=1,
        limit_concurrency=16 * limits.MAX_CLIENTS,
        server_header=False,
    )


def _extras() -> Any:
    try:
        import plotly  # noqa: F401
        import starlette  # noqa: F401
        import uvicorn
        import websockets  # noqa: F401
    except ImportError as error:
        raise InputError(f"the page needs {error.name}; install it with: pip install 'attnflow[ui]'") from None
    return uvicorn


def _listen(host: str, port: int) -> socket.socket:
    """A socket on the port, or on the next one that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for candidate in range(port, min(port + 20, 65536)) if port else (0,):
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, candidate))
        except (OSError, OverflowError) as error:
            listening.close()
            reason = getattr(error, "strerror", None) or str(error)
            if getattr(error, "errno", None) not in (13, 98, 48):
                raise InputError(f"cannot listen on {host}: {reason}; choose another --host.") from None
            continue
        if candidate != port:
            print(f"port {port} is taken; using {listening.getsockname()[1]}", file=sys.stderr)
        return listening
    raise InputError(f"ports {port} to {port + 19} on {host} are taken or not allowed; choose another --port.")
