"""Pieces as JSON, to the last digit, and back; a file brings in numbers, and nothing else.

A piece is an object with its `kind` and its fields; a schedule is one with the kind "schedule" and a list of pieces.
"""

import dataclasses
import json
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import shown
from ...files import check_format, parse_json, read_json

FORMAT = "attnflow schedule 1"


def written(piece: Any) -> str:
    """The text of a piece or a schedule."""
    return json.dumps({"format": FORMAT, **_record(piece)}, allow_nan=False)


def read(path: str | os.PathLike, kinds: dict[str, Callable[..., Any]]) -> Any:
    """The piece in a file."""
    return read_json(path, lambda record: _whole(record, kinds), "schedule", "`save` or `to_json`")


def from_text(text: str, kinds: dict[str, Callable[..., Any]]) -> Any:
    """The piece in a text."""
    remedy = "give what `save` or `to_json` wrote"
    return parse_json(text, lambda record: _whole(record, kinds), "schedule", "this text", remedy)


def _whole(record: Any, kinds: dict[str, Callable[..., Any]]) -> Any:
    check_format(record, FORMAT)
    return _piece({name: value for name, value in record.items() if name != "format"}, kinds)


def _record(piece: Any) -> dict[str, Any]:
    fields = {field.name: _plain(getattr(piece, field.name)) for field in dataclasses.fields(piece)}
    return {"kind": piece.kind, **fields}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_record(piece) for piece in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def _piece(record: Any, kinds: dict[str, Callable[..., Any]], inside: bool = False) -> Any:
    if not isinstance(record, dict):
        raise TypeError(f"{shown(record)} is no piece")
    kind = record.get("kind")
    if not isinstance(kind, str) or kind not in kinds or (inside and kind == "schedule"):
        raise ValueError(f"{shown(kind)} is no kind of piece")
    fields = {name: value for name, value in record.items() if name != "kind"}
    if kind == "schedule":
        blocks = fields.pop("blocks", None)
        if fields or not isinstance(blocks, list):
            raise ValueError("a schedule has blocks and nothing else")
        return kinds[kind]([_piece(one, kinds, inside=True) for one in blocks])
    wanted = [field.name for field in dataclasses.fields(kinds[kind])]  # type: ignore[arg-type]
    if sorted(fields) != sorted(wanted):
        raise ValueError(f"a piece {kind!r} has {', '.join(wanted)}, and this one {', '.join(map(str, fields))}")
    return kinds[kind](**fields)

