"""Which engines sum over pairs while a function is traced."""

import contextlib
import contextvars
from collections.abc import Iterator

from ..engines import Choice

_choices: contextvars.ContextVar[list[Choice] | None] = contextvars.ContextVar("engines that sum", default=None)


def note(choice: Choice) -> None:
    """An engine is going to do a sum."""
    choices = _choices.get()
    if choices is not None:
        choices.append(choice)


@contextlib.contextmanager
def noted_choices() -> Iterator[list[Choice]]:
    """The choices that are made inside, one for every sum."""
    choices: list[Choice] = []
    token = _choices.set(choices)
    try:
        yield choices
    finally:
        _choices.reset(token)
