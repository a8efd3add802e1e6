"""The number of threads of this process, and calls in several threads."""

import concurrent.futures
import os
from collections.abc import Callable, Sequence
from typing import Any


def usable_cores() -> int:
    """The number of cores of this process, or the value of `NPROC`: XLA counts its threads in the same way."""
    threads = os.environ.get("NPROC", "")
    if threads.isdecimal() and int(threads) > 0:
        return int(threads)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def at_the_same_time(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """What the calls return, each made in a thread of its own.

    A `jax.enable_x64` around us holds in our thread alone, so calls run programs that are compiled already.
    """
    if len(calls) == 1:
        return [calls[0]()]
    with concurrent.futures.ThreadPoolExecutor(len(calls), "attnflow-rows") as pool:
        return list(pool.map(lambda call: call(), calls))
