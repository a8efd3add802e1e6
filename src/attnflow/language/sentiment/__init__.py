"""Sentiment analysis with a hardmax transformer, after Alcalde, Fantuzzi and Zuazua (arXiv:2407.01602).

    classifier = train(reviews, d=2)
    classifier(["What a waste of time."])
    classifier.explain("What a waste of time.")

`train_ids` is the training alone, on arrays of token ids.
"""

from .classifier import Classifier, train
from .explanation import Explanation
from .layers import Parameters
from .leaders import LeaderCounts
from .training import Settings, Trained, train_ids
from .words import STOP, Vocabulary, vocabulary, words

__all__ = [
    "STOP",
    "Classifier",
    "Explanation",
    "LeaderCounts",
    "Parameters",
    "Settings",
    "Trained",
    "Vocabulary",
    "train",
    "train_ids",
    "vocabulary",
    "words",
]
