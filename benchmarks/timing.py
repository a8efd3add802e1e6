"""Timing that survives a noisy machine: contestants take turns, and each keeps its best run."""

import time
from collections.abc import Callable, Mapping

REST = 0.25  # seconds before a turn: threads of the one before may still be awake, waiting for more work
RUNS = 2  # in a turn


def race(contestants: Mapping[str, Callable[[], object]], rounds: int = 5, budget: float = 20.0) -> dict[str, float]:
    """Best seconds of each contestant over interleaved rounds, after one warming call; `budget` seconds in all."""
    for run in contestants.values():
        run()
    best = dict.fromkeys(contestants, float("inf"))
    start = time.perf_counter()
    for k in range(rounds):
        for name, run in contestants.items():
            time.sleep(REST)
            for _ in range(RUNS):
                begin = time.perf_counter()
                run()
                best[name] = min(best[name], time.perf_counter() - begin)
        if k >= 1 and time.perf_counter() - start > budget:
            break
    return best
