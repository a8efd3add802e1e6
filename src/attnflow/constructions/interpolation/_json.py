"""Networks as JSON: every number to the last digit, fractions as `"p/q"`; nothing in the file is executed."""

import json
import os
import re
from fractions import Fraction
from typing import Any, NamedTuple, get_args

import numpy as np

from ...checks import finite_array, number
from ...errors import shown
from ...files import check_format, read_json, write_atomically
from ._arithmetic import FLOATS, RATIONALS, Arithmetic
from ._blocks import Attention, Block, FeedForward, Role
from ._data import problem, sequences

FORMAT = "attnflow interpolating transformer 1"


ATTENDING = ("code", "round", "collapse")  # the roles of blocks with attention
FRACTION = re.compile(r"-?[0-9]+(/[0-9]+)?")


class Network(NamedTuple):
    """What a file holds; the last four may be missing."""

    blocks: list[Block]
    arithmetic: Arithmetic
    inputs: list[np.ndarray] | None
    outputs: list[np.ndarray] | None
    kappa: float | None
    isolation: float | None


def written(path: str | os.PathLike, blocks: list[Block], arithmetic: Arithmetic, known: dict[str, Any]) -> None:
    record = {"format": FORMAT, "arithmetic": arithmetic.name, "blocks": [_block(block) for block in blocks]}
    write_atomically(path, json.dumps(record | {name: _plain(value) for name, value in known.items()}, allow_nan=False))


def read(path: str | os.PathLike) -> Network:
    return read_json(path, _network, "interpolating transformer")


def _network(record: Any) -> Network:
    check_format(record, FORMAT)
    arithmetic = {a.name: a for a in (FLOATS, RATIONALS)}[record["arithmetic"]]
    blocks = [_read_block(one, arithmetic) for one in record["blocks"]]
    if not blocks or blocks[-1].role != "place":
        raise ValueError("its last block places nothing")
    d = blocks[0].feed_forward.W.shape[0]
    for block in blocks:
        _check(block, d)
    kappa, isolation = (None if record.get(k) is None else number(k, record[k]) for k in ("kappa", "isolation"))
    if record.get("inputs") is None or record.get("outputs") is None:
        return Network(blocks, arithmetic, None, None, kappa, isolation)
    x, y = (
        sequences(name, [_numbers(name, one, arithmetic) for one in record[name]], arithmetic)
        for name in ("inputs", "outputs")
    )
    if problem(x, y).cloud.x.shape[1] != d:
        raise ValueError("its data have another dimension than its blocks")
    return Network(blocks, arithmetic, x, y, kappa, isolation)


def _block(block: Block) -> dict[str, Any]:
    layer, attention = block.feed_forward, block.attention
    record: dict[str, Any] = {
        "role": block.role,
        "feed_forward": {name: _plain(getattr(layer, name)) for name in ("eta", "U", "b", "W")},
        "attention": None,
    }
    if attention is not None:
        names = ("rho", "Q", "K", "multiple", "left", "right")
        record["attention"] = {name: _plain(getattr(attention, name)) for name in names}
    return record


def _plain(value: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, np.ndarray | list):
        return [_plain(one) for one in value]
    return str(value) if isinstance(value, Fraction) else float(value)


def _numbers(name: str, value: Any, arithmetic: Arithmetic) -> Any:
    """Numbers as `save` writes them; a fraction in another form could take forever to read."""
    if not arithmetic.exact:
        return finite_array(name, value)[()]
    given = np.asarray(value, object)
    if not all(isinstance(one, str) and FRACTION.fullmatch(one) for one in given.ravel()):
        raise ValueError(f"{name} does not hold fractions")
    return arithmetic.array(given)[()]


def _read_block(record: dict[str, Any], arithmetic: Arithmetic) -> Block:
    if record["role"] not in get_args(Role):
        raise ValueError(f"{shown(record['role'])} is no role")
    layer = FeedForward(**{name: _numbers(name, value, arithmetic) for name, value in record["feed_forward"].items()})
    if record["attention"] is None:
        return Block(record["role"], layer)
    parts: dict[str, Any] = {
        name: None if value is None else _numbers(name, value, arithmetic)
        for name, value in record["attention"].items()
    }
    return Block(record["role"], layer, Attention(**parts))


def _check(block: Block, d: int) -> None:
    """Shapes that do not fit would broadcast to something else."""
    layer, attention = block.feed_forward, block.attention
    if (attention is not None) != (block.role in ATTENDING):
        raise ValueError(f"a block {block.role!r} has {'no ' if attention is None else ''}attention")
    h = len(layer.b)
    if block.role == "place" and h < 4:
        raise ValueError("a plateau is missing")
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
