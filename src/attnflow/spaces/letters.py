r"""Words as clouds of tokens on the front of $S^2$: every letter a cloud of points along its strokes.

Letters are polylines in a box of width 0.62 and height 1; the points of a letter are equally spaced along its strokes.
A word is bent around the sphere: what is to the right becomes longitude, what is above latitude.
"""

import itertools
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..errors import InputError, shown
from ..registry import Entry
from ._law import checked_shape

# Corners on a grid of 4 by 6 squares, from the lower left; a letter may have several strokes.
STROKES: dict[str, list[list[tuple[float, float]]]] = {
    "A": [[(0, 0), (2, 6), (4, 0)], [(0.8, 2.3), (3.2, 2.3)]],
    "C": [[(4, 5), (3, 6), (1, 6), (0, 5), (0, 1), (1, 0), (3, 0), (4, 1)]],
    "D": [[(0, 0), (0, 6), (2.4, 6), (4, 4.6), (4, 1.4), (2.4, 0), (0, 0)]],
    "E": [[(4, 6), (0, 6), (0, 0), (4, 0)], [(0, 3), (3, 3)]],
    "F": [[(4, 6), (0, 6), (0, 0)], [(0, 3), (3, 3)]],
    "H": [[(0, 0), (0, 6)], [(4, 0), (4, 6)], [(0, 3), (4, 3)]],
    "I": [[(2, 0), (2, 6)], [(0.8, 6), (3.2, 6)], [(0.8, 0), (3.2, 0)]],
    "L": [[(0, 6), (0, 0), (4, 0)]],
    "M": [[(0, 0), (0, 6), (2, 2.6), (4, 6), (4, 0)]],
    "N": [[(0, 0), (0, 6), (4, 0), (4, 6)]],
    "O": [[(1, 0), (0, 1), (0, 5), (1, 6), (3, 6), (4, 5), (4, 1), (3, 0), (1, 0)]],
    "P": [[(0, 0), (0, 6), (3, 6), (4, 5.2), (4, 3.8), (3, 3), (0, 3)]],
    "R": [[(0, 0), (0, 6), (3, 6), (4, 5.2), (4, 3.8), (3, 3), (0, 3)], [(1.6, 3), (4, 0)]],
    "S": [[(4, 5), (3, 6), (1, 6), (0, 5), (0, 4), (1, 3), (3, 3), (4, 2), (4, 1), (3, 0), (1, 0), (0, 1)]],
    "T": [[(2, 0), (2, 6)], [(0, 6), (4, 6)]],
    "U": [[(0, 6), (0, 1), (1, 0), (3, 0), (4, 1), (4, 6)]],
    "W": [[(0, 6), (1, 0), (2, 3.6), (3, 0), (4, 6)]],
}
WIDTH, SPACE = 0.62, 0.24  # of a letter and between two, over its height
HEIGHT, UP = 0.5, 0.42  # of the words that change into one another, and the latitude of the first
FIRST, LAST = "HEAT", "FLOW"


def word(text: str, count: int, *, height: float, latitude: float) -> list[np.ndarray]:
    """A cloud `(count, 3)` for every letter of a word whose middle is at longitude 0."""
    if not isinstance(text, str) or not text or any(name not in STROKES for name in text):
        raise InputError(f"text = {shown(text)}; write a word with the letters {''.join(STROKES)}.")
    middle = (len(text) - 1) / 2
    return [
        _bent(height * (_letter(name, count) + np.array([(WIDTH + SPACE) * (k - middle), 0.0])), latitude)
        for k, name in enumerate(text)
    ]


def _letter(name: str, count: int) -> np.ndarray:
    """`count` points along the strokes of a letter, around the origin."""
    scale = np.array([WIDTH / 4, 1 / 6])
    pieces = np.array([pair for stroke in STROKES[name] for pair in itertools.pairwise(stroke)], float) * scale
    ways = pieces[:, 1] - pieces[:, 0]
    lengths = np.linalg.norm(ways, axis=1)
    ends = np.concatenate([[0.0], np.cumsum(lengths)])
    at = (np.arange(count) + 0.5) / count * ends[-1]
    which = np.searchsorted(ends, at, side="right") - 1
    share = (at - ends[which]) / lengths[which]
    return pieces[which, 0] + share[:, None] * ways[which] - np.array([WIDTH / 2, 0.5])


def _bent(points: np.ndarray, latitude: float) -> np.ndarray:
    longitude, latitude_of = points[:, 0], points[:, 1] + latitude
    flat = np.cos(latitude_of)
    return np.stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude_of)], axis=1)


def letters(*, n: Any, d: Any) -> Float[Array, "n d"]:
    """The letters of HEAT, one after the other, `n / 4` tokens each."""
    n, d = checked_shape(n, d)
    if d != 3 or n % len(FIRST):
        raise InputError(f"n = {n} tokens in dimension d = {d}: letters are on S^2, d = 3, with n divisible by 4.")
    return jnp.asarray(np.concatenate(word(FIRST, n // len(FIRST), height=HEIGHT, latitude=UP)))


LETTERS = Entry("law", "letters", letters, "four letters on the front of S^2, n divisible by 4", spaces=("sphere",))
