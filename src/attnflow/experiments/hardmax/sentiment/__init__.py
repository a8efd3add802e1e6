r"""Reviews classified by a hardmax transformer: words follow leaders, and the leaders decide.

Three sizes: made-up reviews, which need no data; short texts of film reviews (`attnflow data vader`); 6,000 reviews
of the Large Movie Review Dataset (`attnflow data imdb`). At scale full also all 50,000, with the paper's parameters,
for $d = 2, 4, 8, 16$. Data sets that are not in the cache are left out, and claims about them are skipped.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment
from .claims import CLAIMS, DIMENSIONS
from .figures import accuracy_along_training, leading_words, softmax_stands_for_hardmax, two_reviews
from .planted_reviews import planted_reviews

if TYPE_CHECKING:
    import xarray

# Arguments of `train` for each data set.
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

    listed = [{"data": "planted", "d": 2}]
    if DATA["vader"].present:
        listed += [{"data": "vader", "d": 2}]
    if DATA["imdb"].present:
        # For d = 8 the largest accuracy is claimed, which is reached early.
        epochs = 30 if scale == "full" else 15
        listed += [{"data": "imdb-short", "d": 2}, {"data": "imdb-short", "d": 8, "epochs": epochs}]
        if scale == "full":
            listed += [{"data": "imdb", "d": d} for d in DIMENSIONS]
    return listed


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
    histogram = leaders.histogram(led, classifier.ids(new.texts), new.labels)[:KEPT]
    words = [(classifier.vocabulary.words[i], number) for i, number in histogram]
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
            explanation = classifier.explain(text)
            data[f"{name}_words"] = (f"{name}_token", np.array(explanation.words))
            data[f"{name}_states"] = (("layer", f"{name}_token", "axis"), explanation.states)
            data[f"{name}_leading"] = (("layer", f"{name}_token"), explanation.leading.astype(int))
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
    """A positive and a negative review that the classifier never saw and classifies well: among the most confident the
    one whose number of leaders is nearest to four, which a figure can show; of these the one with most words.
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
        "leaders, and a half-space separates positive from negative reviews. In training softmax at temperature 0.001 "
        "replaces hardmax. In two dimensions the leaders are words that a person would choose, too."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[two_reviews, leading_words, accuracy_along_training, softmax_stands_for_hardmax],
)
