"""Threads that compute: a quick lane for the next states, a slow lane for long work.

Nothing is computed in the event loop. A visitor has at most one piece of work under way, and long pieces cannot stand
in the way of short ones, because these have threads of their own. They compute in 64 bits, and leave JAX as it is for
all other threads of the process; a run in 32 bits begins with tokens of 32.
"""

import asyncio
import concurrent.futures
from collections.abc import Callable
from typing import Any

import jax

from ..threads import usable_cores


class Lanes:
    """Two pools of threads; `close` waits for running work."""

    def __init__(self):
        def pool(name: str) -> concurrent.futures.ThreadPoolExecutor:
            return concurrent.futures.ThreadPoolExecutor(max(2, usable_cores()), f"attnflow-{name}")

        self._quick, self._slow = pool("quick"), pool("slow")

    async def quick(self, fn: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._quick, in_double, fn, *args)

    async def slow(self, fn: Callable[..., Any], *args: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._slow, in_double, fn, *args)

    def close(self) -> None:
        self._quick.shutdown(wait=False, cancel_futures=True)
        self._slow.shutdown(wait=False, cancel_futures=True)


def in_double(fn: Callable[..., Any], *args: Any) -> Any:
    """`fn(*args)` in 64 bits, in this thread alone."""
    with jax.enable_x64(True):
        return fn(*args)
