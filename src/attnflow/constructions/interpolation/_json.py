"""Networks as JSON: every number to the last digit, fractions as `"p/q"`; nothing in the file is executed."""

import json
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import FileError, InputError
from ...files import write_atomically
from ._arithmetic import FLOATS, RATIONALS, Arithmetic
from ._blocks import Attention, Block, FeedForward

FORMAT = "attnflow interpolating transformer 1"


def written(path: str | os.PathLike, blocks: list[Block], arithmetic: Arithmetic) -> None:
    told = {"format": FORMAT, "arithmetic": arithmetic.name, "blocks": [_block(block) for block in blocks]}
    write_atomically(path, json.dumps(told, allow_nan=False))


def read(path: str | os.PathLike) -> tuple[list[Block], Arithmetic]:
    try:
        text = Path(path).read_text()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    except UnicodeDecodeError:
        raise InputError(f"{path} is no JSON text; give a file written by `save`.") from None
    try:
        told = json.loads(text)
        if told["format"] != FORMAT:
            raise InputError(
                f"{path} has the format {told['format']!r}, not {FORMAT!r}; give a file written by `save`."
            )
        arithmetic = {a.name: a for a in (FLOATS, RATIONALS)}[told["arithmetic"]]
        blocks = [_read_block(one, arithmetic) for one in told["blocks"]]
        if not blocks:
            raise ValueError("no block")
        d = blocks[0].feed_forward.W.shape[0]
        for block in blocks:
            _check(block, d)
    except InputError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise InputError(f"{path} is no interpolating transformer ({error}); give a file written by `save`.") from None
    return blocks, arithmetic


def _block(block: Block) -> dict[str, Any]:
    layer, attention = block.feed_forward, block.attention
    told: dict[str, Any] = {
        "role": block.role,
        "feed_forward": {name: _told(getattr(layer, name)) for name in ("eta", "U", "b", "W")},
        "attention": None,
    }
    if attention is not None:
        names = ("rho", "Q", "K", "multiple", "left", "right")
        told["attention"] = {name: _told(getattr(attention, name)) for name in names}
    return told


def _told(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, np.ndarray):
        return [_told(one) for one in value]
    return str(value) if isinstance(value, Fraction) else float(value)


def _read_block(told: dict[str, Any], arithmetic: Arithmetic) -> Block:
    def numbers(value: Any) -> Any:
        found = arithmetic.array(value)
        if not arithmetic.exact and not np.isfinite(found).all():
            raise ValueError("a number is not finite")
        return found[()]

    layer = FeedForward(**{name: numbers(value) for name, value in told["feed_forward"].items()})
    if told["attention"] is None:
        return Block(told["role"], layer)
    parts: dict[str, Any] = {
        name: None if value is None else numbers(value) for name, value in told["attention"].items()
    }
    return Block(told["role"], layer, Attention(**parts))


def _check(block: Block, d: int) -> None:
    """Shapes that do not fit would broadcast to something else."""
    layer, attention = block.feed_forward, block.attention
    h = len(layer.b)
    shapes = [(layer.U, (h, d)), (layer.W, (d, h)), (layer.b, (h,)), (layer.eta, ())]
    if attention is not None:
        r = len(attention.Q)
        shapes += [(attention.Q, (r, d)), (attention.K, (r, d)), (attention.rho, ()), (attention.multiple, ())]
        shapes += [(v, (d,)) for v in (attention.left, attention.right) if v is not None]
        if (attention.left is None) != (attention.right is None):
            raise ValueError("half of V is missing")
    for array, shape in shapes:
        if np.shape(array) != shape:
            raise ValueError(f"an array has shape {np.shape(array)} in place of {shape}")
