"""How many threads this process may keep busy, and several calls at the same time."""

import concurrent.futures
import os
from collections.abc import Callable, Sequence
from typing import Any


def usable_cores() -> int:
    """The cores this process may run on, or as many threads as `NPROC` says: XLA counts its own in the same way."""
    said = os.environ.get("NPROC", "")
    if said.isdecimal() and int(said) > 0:
        return int(said)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def at_the_same_time(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """What the calls return, each made in a thread of its own.

    A `jax.enable_x64` around us holds in our thread alone, so calls run programs that are compiled already.
    """
    if len(calls) == 1:
        return [calls[0]()]
    with concurrent.futures.ThreadPoolExecutor(len(calls), "attnflow-rows") as pool:
        return list(pool.map(lambda call: call(), calls))
