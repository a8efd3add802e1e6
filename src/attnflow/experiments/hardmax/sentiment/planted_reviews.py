"""Synthetic reviews, which need no data set: random neutral words, and two words that take a side."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attnflow.language import Reviews

PRAISE = ("great", "best", "excellent", "perfect", "love")
BLAME = ("bad", "worst", "awful", "waste", "boring")
NEUTRAL, WORDS, EVALUATIVE = 300, 14, 2


def planted_reviews(number: int, seed: int) -> "Reviews":
    """Reviews of 16 words; only the two evaluative words depend on the label."""
    import numpy as np

    from attnflow.language import Reviews

    syllables = [consonant + vowel for consonant in "bdfgklmnprtvz" for vowel in "aeiou"]
    pairs = [first + second for first in syllables for second in syllables]
    neutral = pairs[:: len(pairs) // NEUTRAL][:NEUTRAL]
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, number)
    texts = []
    for label in labels:
        drawn = [*rng.choice(neutral, WORDS), *rng.choice(PRAISE if label else BLAME, EVALUATIVE)]
        texts.append(" ".join(rng.permutation(drawn)))
    return Reviews(texts, labels)
