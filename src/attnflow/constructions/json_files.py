"""JSON files of constructions: read as data, refused in a sentence where they are none."""

import json
import os
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from ..errors import FileError, InputError
from ..files import path_of

T = TypeVar("T")


def read_json(path: str | os.PathLike, build: Callable[[Any], T], what: str, written_by: str = "`save`") -> T:
    """What `build` makes of the JSON in a file; `what` says in a refusal what it should have been."""
    try:
        text = path_of(path).read_text(encoding="utf-8")
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    except UnicodeDecodeError:
        raise InputError(f"{path} is no JSON text; give a file written by {written_by}.") from None
    return parse_json(text, build, what, str(path), f"give a file written by {written_by}")


def parse_json(text: str, build: Callable[[Any], T], what: str, source: str, remedy: str) -> T:
    """What `build` makes of a JSON text."""
    return parsed(lambda: build(json.loads(text, parse_constant=_no_number)), what, source, remedy)


def parsed(build: Callable[[], T], what: str, source: str, remedy: str) -> T:
    """What `build` makes of foreign data; anything that goes wrong on the way is the data's fault."""
    try:
        return build()
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        why = " ".join(str(error).split()).rstrip(".")
        raise InputError(f"{source} is no {what} ({why}); {remedy}.") from None


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")
