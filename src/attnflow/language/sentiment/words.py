"""Texts as sequences of words, and words as numbers.

A word is a run of the letters a to z: mark-up and links are taken out, accents and apostrophes dropped, capitals made
small, a letter repeated more than twice cut to two ("sooo" is "soo"), and words without content (`STOP`) left out. The
paper uses NLTK's tokeniser, its longer list of stop words and WordNet lemmas, and keeps capitals; none of that is
needed here, and "not" and "no" stay in.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ...checks import whole
from ...errors import InputError, shown
from .layers import PADDING

STOP = frozenset(
    """a about after again all also am an and any are as at be because been before being both but by can could did do
    does doing down during each for from further had has have having he her here hers herself him himself his how i if
    im in into is it its itself ive just me more most my myself of off on once one only or other our ours ourselves out
    over own same s she should so some such t than that thats the their theirs them themselves then there these they
    this those through to too under until up us was we were what when where which while who whom why will with would
    you your yours yourself yourselves""".split()
)
_NOISE = re.compile(r"<[^>]*>|https?://\S+|www\.\S+")
_RUN = re.compile(r"(.)\1{2,}")
_WORD = re.compile(r"[a-z]+")


def words(text: str) -> list[str]:
    """The words of a text that carry content, in order.

    >>> words("The plot?<br />It's sooo BORING, not good at all: http://a.b/c")
    ['plot', 'soo', 'boring', 'not', 'good']
    """
    if not isinstance(text, str):
        raise InputError(f"a text should be a string, not {text!r}.")
    plain = _NOISE.sub(" ", text)
    plain = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode().lower().replace("'", "")
    return [word for word in _WORD.findall(_RUN.sub(r"\1\1", plain)) if word not in STOP]


class Vocabulary(NamedTuple):
    """Words by their number; number 0 is the padding."""

    words: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.words)

    def ids(self, texts: Iterable[str], length: int) -> np.ndarray:
        """The first `length` known words of each text as numbers `(texts, length)`; unknown words are left out."""
        length = whole("length", length)
        number = {word: i for i, word in enumerate(self.words) if i != PADDING}
        rows = [[number[word] for word in words(text) if word in number][:length] for text in _texts(texts)]
        table = np.full((len(rows), length), PADDING, np.int32)
        for row, found in zip(table, rows, strict=True):
            row[: len(found)] = found
        return table


def vocabulary(texts: Iterable[str], *, at_least: int = 1) -> Vocabulary:
    """The words seen `at_least` so many times in these texts, the most frequent first, after the padding."""
    texts, at_least = _texts(texts), whole("at_least", at_least)
    counts = Counter(word for text in texts for word in words(text))
    kept = sorted((word for word, n in counts.items() if n >= at_least), key=lambda word: (-counts[word], word))
    if not kept:
        raise InputError(f"no word is seen {at_least} times in these {len(texts)} texts; give more texts.")
    return Vocabulary(("<padding>", *kept))


def _texts(texts: Iterable[str]) -> Sequence[str]:
    if isinstance(texts, str):
        raise InputError("give a list of texts, not one text.")
    if not np.iterable(texts):
        raise InputError(f"texts = {shown(texts)} should be a list of texts.")
    return list(texts)
