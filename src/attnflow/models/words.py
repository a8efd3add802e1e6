r"""A transformer that was built and not trained: it changes the letters of one word into those of another.

The weights are those of `af.match_measures` for the clouds of `spaces.letters`: two pieces of attention and a band for
every token, one unit of time each. They are read from a file, so that the model can be played without being built.
Every letter is a measure by itself (`pairsums.Groups`); neurons do not see further coordinates of tokens.
"""

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np

from ..attention import Softmax
from ..checks import whole
from ..errors import InputError
from ..pairsums import Groups
from ..registry import Entry
from .feed_forward import FeedForward
from .schedules import Piecewise
from .transformer_block import TransformerBlock

FILE = Path(__file__).with_name("words.json")
LETTERS = 4


def words(d: int = 3) -> TransformerBlock:
    """The transformer that changes HEAT into FLOW, for the tokens of the law "letters"."""
    if whole("d", d) < 3:
        raise InputError(f"d = {d}: words are written on S^2; take d = 3.")
    known, more = _weights(), (0, d - 3)
    jumps = np.arange(1.0, len(known["V"]))  # the last weights are zero: the word stays
    room = {"V": (more, more), "W": (more, (0, 0)), "U": ((0, 0), more), "b": ((0, 0),)}
    V, W, U, b = (Piecewise(jumps, np.pad(known[name], ((0, 0), *wide))) for name, wide in room.items())
    return TransformerBlock(Softmax(beta=0.0, V=V), FeedForward(W, U, b), pairs=Groups(count=LETTERS))


@functools.cache
def _weights() -> dict[str, Any]:
    """`V (p, 3, 3)`, `W (p, 3, 3)`, `U (p, 3, 3)`, `b (p, 3)`, one of each for every unit of time."""
    known = json.loads(FILE.read_text(encoding="utf-8"))
    return {name: np.asarray(values) for name, values in known.items()}


ENTRY = Entry(
    kind="model",
    name="words",
    factory=words,
    summary="a built transformer that changes the word HEAT into FLOW",
    spaces=("sphere",),
    papers=("measure-to-measure",),
    needs={"init": "letters", "n": 80, "d": 3},
)
