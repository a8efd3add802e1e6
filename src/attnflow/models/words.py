r"""A transformer that was built and not trained: it changes the letters of one word into those of another.

The weights are those of `af.match_measures` for the clouds of `spaces.letters`: two pieces of attention and a band for
every token, one unit of time each. They are read from a file, so that the model can be played without being built.
Every letter is a measure by itself (`pairsums.Groups`).
"""

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np

from ..attention import Softmax
from ..pairsums import Groups
from ..registry import Entry
from .feed_forward import FeedForward
from .schedules import Piecewise
from .transformer_block import TransformerBlock

FILE = Path(__file__).with_name("words.json")


def words() -> TransformerBlock:
    """The transformer that changes HEAT into FLOW, for the tokens of the law "letters"."""
    known = _weights()
    jumps = np.arange(1.0, len(known["V"]))  # the last weights are zero: the word stays
    V, W, U, b = (Piecewise(jumps, known[name]) for name in ("V", "W", "U", "b"))
    return TransformerBlock(Softmax(beta=0.0, V=V), FeedForward(W, U, b), pairs=Groups(known["labels"]))


@functools.cache
def _weights() -> dict[str, Any]:
    """`V (p, 3, 3)`, `W (p, 3, 3)`, `U (p, 3, 3)`, `b (p, 3)`, and the letter of every token."""
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
