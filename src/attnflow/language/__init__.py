"""Language: pretrained models layer by layer, reviews, and a hardmax transformer that classifies them (`sentiment`).

reviews = af.language.load_imdb()                       # after: attnflow data imdb
classifier = af.language.sentiment.train(reviews, d=2)
classifier.explain("An amazing film, perfect and never boring.")
"""

import importlib
from typing import TYPE_CHECKING, Any

from .datasets import DATA, fetch, install
from .loaders import load_imdb, load_vader_snippets
from .packages import MissingData, Package
from .reviews import Reviews
from .weights import Encoded, ModelFiles, Tensors, fetch_model, open_model
from .weights.packages import MODELS

if TYPE_CHECKING:
    from . import sentiment as sentiment
    from .analysis import Analysis as Analysis
    from .analysis import analyze as analyze
    from .pretrained import Pretrained as Pretrained
    from .pretrained import load as load

__all__ = [
    "DATA",
    "MODELS",
    "Analysis",
    "Encoded",
    "MissingData",
    "ModelFiles",
    "Package",
    "Pretrained",
    "Reviews",
    "Tensors",
    "analyze",
    "fetch",
    "fetch_model",
    "install",
    "load",
    "load_imdb",
    "load_vader_snippets",
    "open_model",
    "sentiment",
]


LATER = {"Analysis": ".analysis", "analyze": ".analysis", "Pretrained": ".pretrained", "load": ".pretrained"}


def __getattr__(name: str) -> Any:
    """What computes is imported when it is first used: fetching data should not wait for JAX."""
    if name == "sentiment":
        return importlib.import_module(".sentiment", __name__)
    if name in LATER:
        return getattr(importlib.import_module(LATER[name], __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
