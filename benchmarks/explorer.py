"""The page: pictures and states in a second under software rendering, and how twenty visitors fare at once.

Needs the extras of development (`pip install -e '.[dev]'`) and Chromium; without them it says so and measures nothing.
"""

import sys
import threading
import time
from pathlib import Path
from typing import Any

SECONDS = 6.0


def rates(n: int, dtype: str = "float64", seconds: float = SECONDS) -> dict[str, float]:
    """Frames drawn and states received per second by one page with `n` tokens on the sphere S^2."""
    from browser import Page, browser
    from explorer import serve

    with serve() as served, browser() as opened:
        page = Page(opened, f"{served.url}#n={n}&d=3&beta=9&dt=0.05&dtype={dtype}", width=1440, height=900)
        page.moving(20)
        count = "[attnflow.page.states, attnflow.stage.frames, performance.now()]"
        states, frames, start = page.ask(count)
        time.sleep(seconds)
        more, drawn, end = page.ask(count)
        page.close()
    span = (end - start) / 1000
    return {"states per second": (more - states) / span, "frames per second": (drawn - frames) / span}


def crowd(visitors: int = 20, n: int = 200, seconds: float = SECONDS) -> dict[str, float]:
    """Visitors who all play: states per second of each, and how long they wait for one (median, worst)."""
    from explorer import Visitor, serve

    waits: list[list[float]] = [[] for _ in range(visitors)]

    def visit(k: int) -> None:
        with Visitor(served) as visitor:
            visitor.start(n=n, d=3, beta=9.0, seed=k, dt=0.05)
            visitor.hear("state")
            ready.wait()
            end = time.perf_counter() + seconds
            while (start := time.perf_counter()) < end:
                visitor.ask(do="advance", run=1, steps=1)
                visitor.hear("state")
                waits[k].append(time.perf_counter() - start)

    ready = threading.Barrier(visitors)
    with serve() as served:
        threads = [threading.Thread(target=visit, args=(k,)) for k in range(visitors)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    every = sorted(w for own in waits for w in own)
    return {
        "states per second of each": len(every) / visitors / seconds,
        "median wait in seconds": every[len(every) // 2],
        "longest wait in seconds": every[-1],
    }


def measure() -> dict[str, Any]:
    """All of it, by name."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))  # the server and the browser of the tests
    try:
        from browser import chromium

        chromium()
    except BaseException as error:  # no Chromium, or no Playwright
        return {"page": f"not measured: {error}"}
    cases = [(500, "float64"), (2000, "float64"), (2000, "float32")]
    measured: dict[str, Any] = {f"page, {n} tokens, {dtype}": rates(n, dtype) for n, dtype in cases}
    return {**measured, "20 visitors, 200 tokens each": crowd()}


def summary(numbers: Any) -> str:
    return numbers if isinstance(numbers, str) else ", ".join(f"{k} {v:.3g}" for k, v in numbers.items())


def main() -> None:
    for name, numbers in measure().items():
        print(f"{name}: {summary(numbers)}")


if __name__ == "__main__":
    main()
