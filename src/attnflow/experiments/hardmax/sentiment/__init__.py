r"""Reviews read by a hardmax transformer: words follow leaders, and the leaders decide.

Three sizes: made-up reviews, which need no data; short texts of film reviews (`attnflow data vader`); 6,000 reviews
of the Large Movie Review Dataset (`attnflow data imdb`). At scale full also all 50,000, with the paper's parameters,
for $d = 2, 4, 8, 16$. What is not in the cache is left out, and claims about it are skipped.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment
from .claims import CLAIMS, DIMENSIONS
from .figures import accuracy_along_training, leading_words, softmax_stands_for_hardmax, two_reviews
from .planted_reviews import planted_reviews

if TYPE_CHECKING:
    import xarray

# How each data set is read and trained on: `train`'s arguments.
OPTIONS: dict[str, dict[str, Any]] = {
    "planted": {"first": 1500, "length": 16, "epochs": 20, "learning_rate": 1e-2, "look_every": 2},
    "vader": {"length": 16, "at_least": 3, "epochs": 8, "learning_rate": 1e-2, "look_every": 2},
    "imdb-short": {"first": 4000, "length": 64, "at_least": 3, "epochs": 30, "learning_rate": 5e-3, "look_every": 5},
    "imdb": {"first": 0.7, "length": 128, "epochs": 101},
}
SHORT = 6000  # reviews of the short run
SEARCHED = 500  # reviews among which examples are chosen
KEPT = 30  # words of the histogram


def cells(scale: str) -> list[Cell]:
    from ....language.datasets import DATA

    found = [{"data": "planted", "d": 2}]
    if DATA["vader"].present:
        found += [{"data": "vader", "d": 2}]
    if DATA["imdb"].present:
        # Of d = 8 the largest accuracy is asked for, and it comes early.
        epochs = 30 if scale == "full" else 15
        found += [{"data": "imdb-short", "d": 2}, {"data": "imdb-short", "d": 8, "epochs": epochs}]
        if scale == "full":
            found += [{"data": "imdb", "d": d} for d in DIMENSIONS]
    return found


def compute(cell: Cell) -> "xarray.Dataset":
    import jax
    import numpy as np
    import xarray

    from attnflow.language import sentiment
    from attnflow.language.sentiment import leaders

    reviews = _reviews(cell)
    options = {**OPTIONS[cell["data"]], **{name: cell[name] for name in ("epochs",) if name in cell}}
    classifier = sentiment.train(reviews, d=cell["d"], key=jax.random.key(cell["seed"]), **options)
    trained = classifier.trained
    new, led = classifier.reviews, classifier.led(classifier.reviews.texts)
    counts = leaders.counts(led)
    found = leaders.histogram(led, classifier.ids(new.texts), new.labels)[:KEPT]
    words = [(classifier.vocabulary.words[i], number) for i, number in found]
    E, alpha, v, b = trained.parameters
    place = {word: i for i, word in enumerate(classifier.vocabulary.words)}
    data = {
        **{name: ("look", values) for name, values in trained.history.items()},
        "word": ("rank", np.array([word for word, _ in words] or [""])),
        "reviews_led": ("rank", np.array([number for _, number in words] or [0])),
        "value": ("rank", np.array([float(E[place[word]] @ v + b) for word, _ in words] or [0.0])),
        "leaders": ("statistic", np.array(counts, float)),
        "v": ("axis", np.asarray(v, float)),
        "b": float(b),
        "step": float(alpha),
        "vocabulary": len(classifier.vocabulary),
        "tested": len(classifier.reviews),
    }
    if cell["d"] == 2:
        for name, text in _examples(classifier, led).items():
            told = classifier.explain(text)
            data[f"{name}_words"] = (f"{name}_token", np.array(told.words))
            data[f"{name}_states"] = (("layer", f"{name}_token", "axis"), told.states)
            data[f"{name}_leading"] = (("layer", f"{name}_token"), told.leading.astype(int))
    statistics = ["mean", "std", "least", "most", "from the start"]
    return xarray.Dataset(data, coords={"statistic": statistics})


def _reviews(cell: Cell) -> Any:
    import jax

    from attnflow.language import load_imdb, load_vader_snippets

    if cell["data"] == "planted":
        return planted_reviews(2000, cell["seed"])
    if cell["data"] == "vader":
        return load_vader_snippets()
    reviews = load_imdb()
    return reviews.shuffled(jax.random.key(cell["seed"])).split(SHORT)[0] if cell["data"] == "imdb-short" else reviews


def _examples(classifier: Any, led: Any) -> dict[str, str]:
    """A positive and a negative review that the classifier never saw and decides well: of the surest the one with the
    number of leaders nearest to four, which a picture can show; of these the one with most words.
    """
    import numpy as np

    some = classifier.reviews.take(range(min(SEARCHED, len(classifier.reviews))))
    words = np.sum(classifier.ids(some.texts) != 0, axis=1)
    chosen = {}
    for name, label in (("positive", 1), ("negative", 0)):
        mine = np.flatnonzero(some.labels == label)
        surest = mine[np.argsort((1 - 2 * label) * led.logits[mine])][:25]
        order = np.lexsort((-words[surest], np.abs(led.last[surest].sum(axis=1) - 4)))
        chosen[name] = some.texts[surest[order[0]]]
    return chosen


EXPERIMENT = Experiment(
    id="hardmax-sentiment",
    paper="hardmax",
    title="Leaders decide: sentiment analysis with a hardmax transformer",
    summary=(
        "Words of a review are tokens in a few dimensions, eight layers of hardmax attention gather them at their "
        "leaders, and a half-space tells praise from blame. Softmax at temperature 0.001 stands for hardmax in "
        "training. In two dimensions the leaders are words a person would name, too."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[two_reviews, leading_words, accuracy_along_training, softmax_stands_for_hardmax],
)
