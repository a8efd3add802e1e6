"""Classification of sequences: interpolation with one point per label."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...checks import flag
from ...errors import InputError
from ...spaces import Key, Number
from ._arithmetic import FLOATS, RATIONALS
from ._data import Sequences, sequences
from .interpolate import Mode, interpolate
from .transformer import InterpolatingTransformer


@dataclass(frozen=True, eq=False, repr=False)
class InterpolatingClassifier:
    """`classifier(x)` is the label of a sequence; `network` is the transformer, `points (k, d)` those of the `labels`.

    The label is that of the point nearest to the mean of the outputs; on the data all outputs are that point.
    """

    network: InterpolatingTransformer
    labels: list
    points: np.ndarray

    def __call__(self, x: Sequences, beta: Number = math.inf) -> Any:
        """The label of one sequence `(n, d)`, or the list of labels of several."""
        images = self.network(x, beta)
        many = isinstance(images, list)
        means = np.stack([np.asarray(one, float).mean(axis=0) for one in (images if many else [images])])
        away = ((means[:, None, :] - np.asarray(self.points, float)[None]) ** 2).sum(axis=-1)
        chosen = [self.labels[k] for k in away.argmin(axis=1)]
        return chosen if many else chosen[0]

    def __repr__(self) -> str:
        return f"InterpolatingClassifier of {len(self.labels)} labels: {len(self.network.blocks)} blocks"


def interpolation_classifier(
    inputs: Sequences,
    labels: Sequence[Any] | np.ndarray,
    *,
    mode: Mode = "auto",
    exact: bool = False,
    key: Key | None = None,
) -> InterpolatingClassifier:
    """A transformer that classifies every input sequence correctly: the k-th label (in order of appearance) is the
    point `k e_1`, and all tokens of a sequence end at the point of its label. At most 4N + 1 blocks.

    Arguments as for `interpolate`, with a list of labels (numbers or strings) in place of outputs.

    >>> classifier = interpolation_classifier([[[0.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]], ["cat", "dog"])
    >>> classifier([[0.0, 1.0], [0.0, 0.0]])
    'dog'
    """
    x = sequences("inputs", inputs, RATIONALS if flag("exact", exact) else FLOATS)
    if not np.iterable(labels):
        raise InputError(f"labels = {labels!r}; give a list with one label for each input.")
    given = [one.item() if hasattr(one, "item") and np.ndim(one) == 0 else one for one in labels]
    if len(given) != len(x):
        raise InputError(f"there are {len(x)} inputs and {len(given)} labels; give one label for each input.")
    try:
        names = list(dict.fromkeys(given))
    except TypeError:
        raise InputError("a label is a number or a string; some of those given are neither.") from None
    points = np.zeros((len(names), x[0].shape[1]), int)
    points[:, 0] = np.arange(1, len(names) + 1)
    number = {name: k for k, name in enumerate(names)}
    wanted = [points[number[one]] for one in given]
    network = interpolate(inputs, wanted, mode=mode, exact=exact, key=key)
    return InterpolatingClassifier(network, names, points.astype(float))
