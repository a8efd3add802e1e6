"""Claims about the classifier of reviews, and their measurements on the results of `sentiment`."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

from ... import Claim, Results, Skip
from .planted_reviews import BLAME, PRAISE

DIMENSIONS = {2: 0.7914, 4: 0.8228, 8: 0.8505, 16: 0.8821}  # the authors' largest accuracy on test reviews
EVALUATIVE = frozenset("great best excellent perfect love bad worst awful waste stupid boring poor".split())
PAGE = "docs/theory/sentiment.md"
NEEDS = {"planted": None, "vader": "vader", "imdb-short": "imdb", "imdb": "imdb"}
TITLES = {"planted": "Made-up reviews", "vader": "Short texts of film reviews", "imdb-short": "4,000 film reviews"}


def data(results: Results, name: str, d: int) -> Any:
    """The training on a data set; if the data set is not in the cache, the claim is skipped."""
    needed = NEEDS[name]  # a misspelt name is an error, not a skip
    if not len(results.where(data=name)) and needed:
        raise Skip(f"data set {needed!r} was not in the cache; attnflow data {needed} fetches it")
    return results.select(data=name, d=d)


def of(name: str, d: int, measure: Callable[[Any], Any]) -> Callable[[Results], Any]:
    return lambda results: measure(data(results, name, d))


def best(training: Any) -> float:
    return float(training["test_accuracy_hardmax"].max())


def last(training: Any) -> float:
    return float(training["test_accuracy_hardmax"][-1])


def surrogate(training: Any) -> float:
    """How much the accuracies of the two maps differ at the end."""
    return abs(last(training) - float(training["test_accuracy_softmax"][-1]))


def evaluative(words: frozenset[str]) -> Callable[[Any], int]:
    """How many of the ten words that lead most often are among these."""
    return lambda training: sum(str(word) in words for word in training["word"].values[:10])


def reached(d: int) -> Callable[[Results], tuple[float, float]]:
    """The best accuracy, and the standard error of its difference from the authors', both of 15,000 reviews."""

    def measure(results: Results) -> tuple[float, float]:
        trained = data(results, "imdb", d)
        p, expected, n = best(trained), DIMENSIONS[d], int(trained["tested"])
        return p, ((p * (1 - p) + expected * (1 - expected)) / n) ** 0.5

    return measure


def gains(results: Results) -> list[float]:
    """How much the best accuracy gains from one dimension to the next."""
    accuracies = [best(data(results, "imdb", d)) for d in DIMENSIONS]
    return [b - a for a, b in pairwise(accuracies)]


CLAIMS = [
    Claim(
        id="sentiment-planted-accuracy",
        statement="Made-up reviews, two words of sixteen take a side, d = 2: best accuracy on new reviews (ideal: 1)",
        kind="equal",
        expected=1.0,
        tolerance=0.05,
        measure=of("planted", 2, best),
        source=f"{PAGE}, Made-up reviews",
        provenance="observation",
    ),
    Claim(
        id="sentiment-planted-leaders",
        statement="The same: how many of the ten words that lead most often take a side (four by chance: 1 in 9,000)",
        kind="at_least",
        expected=4,
        measure=of("planted", 2, evaluative(frozenset(PRAISE + BLAME))),
        source=f"{PAGE}, Made-up reviews",
        provenance="derived",
    ),
    *(
        Claim(
            id=f"sentiment-surrogate-{name}",
            statement=f"{title}, d = 2: accuracies with hardmax and with softmax at temperature 0.001 differ by",
            kind="at_most",
            expected=0.01,
            measure=of(name, 2, surrogate),
            source=f"{PAGE}, Softmax for hardmax",
            provenance="observation",
        )
        for name, title in TITLES.items()
    ),
    Claim(
        id="sentiment-short-d2",
        statement="4,000 film reviews, d = 2: accuracy on 2,000 others after 30 epochs",
        kind="at_least",
        expected=0.64,
        measure=of("imdb-short", 2, last),
        source=f"{PAGE}, A short run",
        provenance="observation",
    ),
    Claim(
        id="sentiment-short-d8",
        statement="The same with d = 8: the largest accuracy within 30 epochs (quick: 15)",
        kind="at_least",
        expected=0.74,
        measure=of("imdb-short", 8, best),
        source=f"{PAGE}, A short run",
        provenance="observation",
    ),
    Claim(
        id="sentiment-short-words",
        statement="The same with d = 2: how many of the ten words that lead most often are among twelve that judge",
        kind="at_least",
        expected=2,
        measure=of("imdb-short", 2, evaluative(EVALUATIVE)),
        source=f"{PAGE}, A short run",
        provenance="observation",
    ),
    *(
        Claim(
            id=f"sentiment-paper-d{d}",
            statement=f"35,000 film reviews, 101 epochs, d = {d}: best accuracy on 15,000 others, the authors' or more",
            kind="at_least",
            expected=accuracy,
            tolerance=4,
            tolerance_kind="sigma",
            detects=0.025,
            possible=(0, 1),
            measure=reached(d),
            source="arXiv:2407.01602, saved training histories",
            provenance="figure",
            scales=("full",),
            note="our preprocessing of words differs from the authors'; the next smaller dimension is worse by 0.027",
        )
        for d, accuracy in DIMENSIONS.items()
    ),
    Claim(
        id="sentiment-paper-surrogate",
        statement="35,000 film reviews, d = 2: accuracies with hardmax and with softmax at temperature 0.001 differ by",
        kind="at_most",
        expected=0.01,
        measure=of("imdb", 2, surrogate),
        source=f"{PAGE}, Softmax for hardmax",
        provenance="observation",
        scales=("full",),
    ),
    Claim(
        id="sentiment-paper-dimension",
        statement="35,000 film reviews: gain of the best accuracy from d = 2 to 4, from 4 to 8 and from 8 to 16",
        kind="at_least",
        expected=0.0,
        measure=gains,
        source="arXiv:2407.01602, saved training histories",
        provenance="figure",
        scales=("full",),
        note=f"one training for each dimension; {PAGE}, The paper's run",
    ),
]
