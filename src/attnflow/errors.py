"""Errors, each with one sentence that names the value and the remedy.

Every error the library foresees derives from `AttnflowError`, so that the command line can print its sentence and
leave with exit code 2; anything else that escapes is a crash (exit code 3).
"""

__all__ = ["AttnflowError", "AttnflowWarning", "FileError", "InputError", "SolveError"]


class AttnflowError(Exception):
    """Base of every foreseen error; its text is one sentence for the user."""


class InputError(AttnflowError, ValueError):
    """A value the user gave cannot be used; the sentence names it and says what would be right."""


class FileError(AttnflowError, OSError):
    """A file or folder cannot be read or written."""


class SolveError(AttnflowError, RuntimeError):
    """An integration ended without reaching its final time (raised only with `throw=True`)."""


class AttnflowWarning(UserWarning):
    """The library corrected an input, or doubts a result; the sentence says which."""


def shown(value: object) -> str:
    """A value as part of a sentence: on one line, and not too much of it."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 100 else f"{text[:97]}..."
