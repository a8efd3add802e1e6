"""Data sets of reviews, and sentiment."""

import functools
import tempfile
from pathlib import Path

import numpy as np

import attnflow as af
from tiny_models import TEXT, tiny_albert

from .table import Call, Constant, ResultOf, arguments

WORDS = {"jit": "it works on words", "float32": "it works on words"}
FILES = {**WORDS, "repeats": "it reads files", "junk:path": "a text is a path"}
IDS, LABELS = np.array([[1, 2, 0], [3, 1, 1]], np.int32), np.array([1, 0])
TEXTS = ["a good film", "a bad film", "good and good", "bad and bad", "so good", "so bad"]


@functools.cache
def tiny():
    return tiny_albert(Path(tempfile.mkdtemp()) / "albert")


@functools.cache
def loaded():
    return af.language.load(tiny())


@functools.cache
def reviews():
    return af.language.Reviews(TEXTS, np.array([1, 0, 1, 0, 1, 0]))


@functools.cache
def classifier():
    return af.language.sentiment.train(reviews(), d=2, length=4, epochs=1)


ROWS = [
    Constant("language.DATA", reason="the data sets by name"),
    Constant("language.MODELS", reason="the models that can be fetched, by name"),
    Constant("language.Encoded", reason="the numbers of tokens, and their text"),
    Call(
        "language.open_model",
        arguments=lambda: {"model": tiny()},
        without={**FILES, "junk:model": "a text is a path"},
    ),
    Call(
        "language.fetch_model",
        arguments=lambda: {"name": "rxnmapper", "archive": Path("nothing.zip")},
        without={**FILES, "valid": "a model is not fetched in a test of input", "junk:archive": "a text is a path"},
    ),
    ResultOf("language.ModelFiles", row="language.open_model"),
    Call(
        "language.load",
        arguments=lambda: {"model": tiny()},
        without={**FILES, "junk:model": "a text is a path"},
    ),
    ResultOf("language.Pretrained", row="language.load"),
    Call(
        "language.analyze",
        arguments=lambda: {
            "model": loaded(),
            "text": TEXT,
            "layers": [0, 1],
            "iterate": 3,
            "length": 20,
            "eps": 0.1,
            "bins": 10,
        },
        without={
            **FILES,
            "junk:model": "a text is a path",
            "junk:text": "a text is a text",
            "repeats": "it takes long",
        },
    ),
    ResultOf("language.Analysis", row="language.analyze"),
    ResultOf("language.Tensors", row="language.open_model", part=lambda made: made.tensors),
    Constant("language.Package", reason="what is known of a package with data or weights"),
    Constant("language.MissingData", reason="an error class"),
    Constant("language.sentiment.STOP", reason="words that are left out"),
    Call("language.Reviews", arguments=lambda: {"texts": TEXTS, "labels": np.array([1, 0, 1, 0, 1, 0])}, without=WORDS),
    Call(
        "language.sentiment.words",
        arguments=arguments(text="a good film"),
        without={**WORDS, "junk": "any text has words"},
    ),
    Call("language.sentiment.vocabulary", arguments=arguments(texts=TEXTS, at_least=1), without=WORDS),
    ResultOf("language.sentiment.Vocabulary", row="language.sentiment.vocabulary"),
    Call(
        "language.sentiment.train",
        arguments=lambda: {"reviews": reviews(), "d": 2, "length": 4, "epochs": 1},
        without={**WORDS, "repeats": "it takes seconds"},
    ),
    ResultOf("language.sentiment.Classifier", row="language.sentiment.train"),
    ResultOf("language.sentiment.Trained", row="language.sentiment.train", part=lambda made: made.trained),
    ResultOf(
        "language.sentiment.Parameters", row="language.sentiment.train", part=lambda made: made.trained.parameters
    ),
    ResultOf(
        "language.sentiment.Explanation", row="language.sentiment.train", part=lambda made: made.explain("a good film")
    ),
    ResultOf("language.sentiment.LeaderCounts", row="language.sentiment.train", part=lambda made: made.leader_counts()),
    Call(
        "language.sentiment.Settings",
        arguments=arguments(layers=2, temperature=1e-3, learning_rate=1e-3, batch=4, clip=5.0),
        without={**WORDS, **dict.fromkeys(("nonfinite", "junk", "switches"), "training checks its settings")},
    ),
    Call(
        "language.sentiment.train_ids",
        arguments=lambda: {
            "ids": IDS,
            "labels": LABELS,
            "test_ids": IDS,
            "test_labels": LABELS,
            "d": 2,
            "epochs": 1,
            "layers": 2,
        },
        without={**WORDS, "repeats": "it takes seconds", "nonfinite": "token ids are whole numbers"},
    ),
    Call(
        "language.fetch",
        arguments=lambda: {"name": "vader", "archive": Path("nothing.zip")},
        without={**FILES, "valid": "a data set is not fetched in a test of input", "junk:archive": "a text is a path"},
    ),
    Call(
        "language.install",
        arguments=lambda: {"data": af.language.DATA["vader"], "archive": Path("nothing.zip")},
        without={**FILES, "valid": "a data set is not fetched in a test of input", "junk:archive": "a text is a path"},
    ),
    Call(
        "language.load_imdb",
        arguments=lambda: {"path": Path("nothing")},
        without={**FILES, "valid": "the data set is not in the repository"},
    ),
    Call(
        "language.load_vader_snippets",
        arguments=lambda: {"path": Path("nothing"), "which": "movie"},
        without={**FILES, "valid": "the data set is not in the repository"},
    ),
]
