"""Builds the transformer of the model "words": `python docs/make_words.py` writes src/attnflow/models/words.json."""

import json

import numpy as np

import attnflow as af
from attnflow.constructions import MeasureMatching, TransformerSchedule
from attnflow.files import write_atomically
from attnflow.models.words import FILE
from attnflow.spaces.letters import FIRST, HEIGHT, LAST, UP, word

TOKENS = 20  # of a letter


def build() -> MeasureMatching:
    """The letters of one word to those of another."""
    sources, targets = (word(text, TOKENS, height=HEIGHT, latitude=up) for text, up in ((FIRST, UP), (LAST, -UP)))
    return af.match_measures(sources, targets)


def weights(schedule: TransformerSchedule) -> dict[str, np.ndarray]:
    """What the file holds: every piece lasts for one unit of time, and then nothing moves."""
    even = TransformerSchedule(piece.lasting(1.0) for piece in schedule).weights()
    return {name: np.concatenate([even[name], 0 * even[name][:1]]) for name in ("V", "W", "U", "b")}


if __name__ == "__main__":
    af.precision("float64")
    record = {name: array.tolist() for name, array in weights(build().schedule).items()}
    print(write_atomically(FILE, json.dumps(record)))
