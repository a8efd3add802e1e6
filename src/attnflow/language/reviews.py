"""Texts with a label each."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import InputError, shown


@dataclass(frozen=True)
class Reviews:
    """Texts and their labels, 1 for praise and 0 for blame. `dropped` tells how many more had neither."""

    texts: Sequence[str]
    labels: np.ndarray
    dropped: int = 0

    def __post_init__(self):
        if isinstance(self.texts, str) or not isinstance(self.texts, Sequence):
            raise InputError(f"texts should be a list of texts, not {type(self.texts).__name__}.")
        wrong = next((i for i, text in enumerate(self.texts) if not isinstance(text, str)), None)
        if wrong is not None:
            raise InputError(f"text {wrong} is {shown(self.texts[wrong])}; give strings.")
        if np.ndim(self.labels) != 1:
            raise InputError(f"labels have {np.ndim(self.labels)} axes; give one number for each text.")
        if len(self.texts) != len(self.labels):
            raise InputError(f"{len(self.texts)} texts have {len(self.labels)} labels; give one label for each.")
        if not np.isin(self.labels, (0, 1)).all():
            raise InputError(f"labels are {np.unique(self.labels)[:5]}; give 1 for praise and 0 for blame.")

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"Reviews({len(self):,} texts, {int(np.sum(self.labels)):,} positive)"

    def take(self, which: Sequence[int] | np.ndarray) -> "Reviews":
        """Some of them, by their places."""
        found = np.asarray(which)
        if found.ndim != 1 or (found.size and (found.dtype.kind not in "iu" or not self._holds(found))):
            raise InputError(f"which = {shown(which)} should be places of reviews, whole numbers below {len(self)}.")
        return Reviews([self.texts[i] for i in which], np.asarray(self.labels)[np.asarray(which, int)])

    def _holds(self, places: np.ndarray) -> bool:
        return bool((places >= -len(self)).all() and (places < len(self)).all())

    def shuffled(self, seed: int = 0) -> "Reviews":
        """In a random order. Files often hold one label first: shuffle before any split."""
        from ..checks import whole  # imports JAX, for which fetching data should not wait

        return self.take(np.random.default_rng(whole("seed", seed, least=0)).permutation(len(self)))

    def split(self, first: float | int) -> tuple["Reviews", "Reviews"]:
        """The first so many (a whole number) or the first part (a number below 1), and the rest."""
        from ..checks import number

        first = number("first", first)
        count = round(first * len(self)) if first < 1 else int(first)
        if not 0 < count < len(self):
            raise InputError(f"a split of {len(self)} reviews at {first} leaves one part empty; choose another.")
        return self.take(range(count)), self.take(range(count, len(self)))
