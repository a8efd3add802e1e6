"""A trained classifier: texts in, probabilities out, and the words that decided."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import expit

from ...errors import InputError
from ...spaces import Key
from ..reviews import Reviews
from .explanation import Explanation
from .layers import PADDING
from .leaders import LeaderCounts, Led, counts, layer_by_layer, leaders, once
from .training import Trained, scores, train_ids
from .words import Vocabulary, vocabulary


@dataclass(frozen=True)
class Classifier:
    """What `train` returns. `classifier(texts)` gives the probability that each text is positive.

    `trained` holds the parameters and the history; `reviews` are those it was not trained on.
    """

    trained: Trained
    vocabulary: Vocabulary
    length: int
    reviews: Reviews

    def __repr__(self) -> str:
        d = self.trained.parameters.embedding.shape[1]
        accuracy, epoch = self.trained.best()
        words = f"{len(self.vocabulary):,} words"
        return f"Classifier(d={d}, {words}, best test accuracy {accuracy:.3f} after {epoch} epochs)"

    def __call__(self, texts: Iterable[str], *, temperature: Any = 0.0) -> np.ndarray:
        """The probability that each text is positive, under hardmax attention (`temperature=0`), or under softmax
        attention at the temperature of the training (`None`).
        """
        trained = self.trained
        tau = trained.settings.temperature if temperature is None else float(temperature)
        if not 0 <= tau < float("inf"):
            raise InputError(f"temperature = {temperature!r}; give 0 (hardmax) or a positive number.")
        return expit(scores(trained.parameters, self.ids(texts), settings=trained.settings, temperature=tau))

    def ids(self, texts: Iterable[str]) -> np.ndarray:
        """Texts as the classifier reads them."""
        return self.vocabulary.ids(texts, self.length)

    def explain(self, text: str) -> Explanation:
        """The words of a text as tokens, layer by layer, and which of them lead."""
        trained = self.trained
        ids = self.ids([text])
        if not (ids != PADDING).any():
            raise InputError(f"no word of the text {text[:60]!r} is known to the classifier; give a longer one.")
        # In double precision where it is on: scores of two words may be nearly equal.
        digits = jax.dtypes.canonicalize_dtype(np.float64)
        parameters = jax.tree.map(lambda a: jnp.asarray(a, digits), trained.parameters)
        states, leading = map(np.asarray, layer_by_layer(parameters, jnp.asarray(ids[0]), form=trained.settings.form))
        leading = once(leading, np.broadcast_to(ids, leading.shape))
        kept = ids[0] != PADDING if trained.settings.masked else np.ones(self.length, bool)
        return Explanation(
            words=tuple(self.vocabulary.words[i] for i in ids[0, kept]),
            states=states[:, kept],
            leading=leading[:, kept],
            v=np.asarray(parameters.v),
            b=float(parameters.b),
            alpha=float(parameters.alpha),
        )

    def led(self, texts: Iterable[str]) -> Led:
        """Decisions and leaders of many texts at once."""
        return leaders(self.trained.parameters, self.ids(texts), self.trained.settings)

    def leader_counts(self, texts: Iterable[str] | None = None) -> LeaderCounts:
        """How many leaders these texts have (by default the reviews the classifier was not trained on)."""
        return counts(self.led(self.reviews.texts if texts is None else texts))


def train(
    reviews: Reviews,
    *,
    d: int = 2,
    length: int = 128,
    first: float | int = 0.7,
    at_least: int = 1,
    key: Key | None = None,
    **options: Any,
) -> Classifier:
    """Train a classifier on the `first` part of the reviews, shuffled, and test it on the rest.

    **Arguments:** `length`, how many words of a review are read; `at_least`, how often the training part must hold a
    word for it to be known; `options`, see `train_ids` (`epochs`, `learning_rate`, `layers`, `temperature`, ...).
    """
    if not isinstance(reviews, Reviews):
        raise InputError(f"reviews should be Reviews(texts, labels), not {type(reviews).__name__}.")
    known, new = reviews.shuffled(key).split(first)
    chosen = vocabulary(known.texts, at_least=at_least)
    ids, test_ids = chosen.ids(known.texts, length), chosen.ids(new.texts, length)
    trained = train_ids(ids, known.labels, test_ids, new.labels, vocabulary=len(chosen), d=d, key=key, **options)
    return Classifier(trained, chosen, length, new)
