"""A progress bar on standard error, fed from inside the compiled training."""

import contextlib
from collections.abc import Iterator
from typing import Any

import jax

# The bar being shown. It lives here, since the compiled program that feeds it serves later trainings, too.
_shown: list = []


def note(fraction: Any) -> None:
    for bar, task in _shown[-1:]:
        bar.update(task, completed=float(fraction))


@contextlib.contextmanager
def progress(show: bool, what: str) -> Iterator[None]:
    """A bar while the body runs; it rests at zero while the program is compiled."""
    if not show:
        yield
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        _shown.append((bar, bar.add_task(what, total=1.0)))
        try:
            yield
            jax.effects_barrier()
        finally:
            _shown.pop()
