"""Which engines sum over pairs while a function is traced: what runs, and not what was asked for."""

import contextlib
import contextvars
from collections.abc import Iterator

_noted: contextvars.ContextVar[set[str] | None] = contextvars.ContextVar("engines that sum over pairs", default=None)


def note(engine: str) -> None:
    """An engine is going to do a sum."""
    names = _noted.get()
    if names is not None:
        names.add(engine)


@contextlib.contextmanager
def noted_engines() -> Iterator[set[str]]:
    """The names of the engines that are called inside."""
    names: set[str] = set()
    token = _noted.set(names)
    try:
        yield names
    finally:
        _noted.reset(token)
