"""The pictures of `sentiment`, of the largest data set that was there."""

from typing import Any

from ... import Results
from .claims import DIMENSIONS

TITLES = {
    "imdb": "35,000 film reviews",
    "imdb-short": "4,000 film reviews",
    "vader": "short texts of film reviews",
    "planted": "made-up reviews",
}


def largest(results: Results) -> str:
    return next(name for name in TITLES if len(results.where(data=name)))


def two_reviews(results: Results) -> Any:
    """A positive review (top) and a negative one (bottom) that the classifier never saw, d = 2: their words before the
    first layer and after the last. Words gather at the leaders, in the shares that are told; the mean is on the side
    that is decided.
    """
    import numpy as np

    from attnflow import plot
    from attnflow.language.sentiment import Explanation
    from attnflow.plot import draw_review, review_marks

    data = results.select(data=largest(results), d=2)
    with plot.style():
        figure = plot.new_figure(8.0, 7.6)
        grid = figure.subplots(2, 2)
        for row, name in zip(grid, ("positive", "negative"), strict=True):
            told = Explanation(
                words=tuple(map(str, data[f"{name}_words"].values)),
                states=data[f"{name}_states"].values,
                leading=data[f"{name}_leading"].values.astype(bool),
                v=np.asarray(data["v"]),
                b=float(data["b"]),
                alpha=float(data["step"]),
            )
            for axes, layer in zip(row, (0, -1), strict=True):
                draw_review(axes, told, layer)
                axes.set_title(f"{name} review, {axes.get_title()}")
        figure.legend(handles=review_marks(), loc="outside lower center", ncols=6, columnspacing=1.2, handletextpad=0.4)
    return figure


def leading_words(results: Results) -> Any:
    """How many of the test reviews that are decided correctly and with confidence 0.95 a word leads, d = 2; leaders
    with |<v, z> + b| > 2 are counted. Blue: the word speaks for a positive review, vermillion and hatched: for a
    negative one.
    """
    import numpy as np

    from attnflow import plot
    from attnflow.plot import SIDES

    name = largest(results)
    data = results.select(data=name, d=2)
    words, number, value = data["word"].values[:15], data["reviews_led"].values[:15], data["value"].values[:15]
    with plot.style():
        figure = plot.new_figure(5.6, 4.4)
        axes = figure.subplots()
        for side, hatch in (("positive", None), ("negative", "////")):
            mine = (value > 0) == (side == "positive")
            axes.barh(np.flatnonzero(mine), number[mine], color=SIDES[side], hatch=hatch, ec="white", lw=0, label=side)
        axes.set_yticks(range(len(words)), [str(word) for word in words])
        axes.invert_yaxis()
        axes.set(xlabel="reviews that the word leads", title=f"{TITLES[name]}, d = 2")
        axes.legend(loc="lower right", title="speaks for")
        axes.grid(axis="x")
    return figure


def accuracy_along_training(results: Results) -> Any:
    """Accuracy with hardmax attention against epochs, one colour for each dimension of the tokens. Solid: reviews that
    were not trained on; dashed: those that were. Dots on the right: the authors' largest accuracy, where all reviews
    were used.
    """
    from attnflow import plot

    name = largest(results)
    with plot.style():
        figure = plot.new_figure(5.4, 3.6)
        axes = figure.subplots()
        for (cell, data), colour in zip(sorted(results.where(data=name), key=_dimension), _colours(), strict=False):
            axes.plot(data["epoch"], data["test_accuracy_hardmax"], color=colour, label=f"$d = {cell['d']}$")
            axes.plot(data["epoch"], data["train_accuracy_hardmax"], color=colour, ls="--", lw=1.1)
            if name == "imdb":
                last = float(data["epoch"][-1])
                axes.plot(1.02 * last, DIMENSIONS[cell["d"]], "o", ms=5, color=colour, clip_on=False)
        axes.set(xlabel="epochs", ylabel="accuracy", ylim=(0.45, 1.02), xlim=(0, None), title=TITLES[name])
        axes.legend(loc="lower right")
        axes.grid()
    return figure


def softmax_stands_for_hardmax(results: Results) -> Any:
    """Loss on the reviews trained on, under softmax attention at temperature 0.001, which was trained (lines), and
    under hardmax attention (circles). Right: how much they differ.
    """
    from attnflow import plot

    name = largest(results)
    with plot.style():
        figure = plot.new_figure(8.4, 3.3)
        left, right = figure.subplots(1, 2)
        for (cell, data), colour in zip(sorted(results.where(data=name), key=_dimension), _colours(), strict=False):
            t, soft, hard = (data[v].values for v in ("epoch", "train_loss_softmax", "train_loss_hardmax"))
            every = max(1, len(t) // 15)
            left.plot(t, soft, color=colour, label=f"$d = {cell['d']}$")
            left.plot(t[::every], hard[::every], "o", ms=4.5, mfc="none", color=colour)
            right.semilogy(t, abs(hard - soft), color=colour, marker=".")
        left.set(xlabel="epochs", ylabel="mean cross-entropy", ylim=(0, None), xlim=(0, None), title=TITLES[name])
        left.legend()
        right.set(xlabel="epochs", ylabel="|hardmax − softmax|", xlim=(0, None))
        right.grid()
    return figure


def _dimension(pair: tuple[dict[str, Any], Any]) -> int:
    return pair[0]["d"]


def _colours() -> list[str]:
    from attnflow import plot

    return [plot.PALETTE[name] for name in ("blue", "vermillion", "green", "purple")]
