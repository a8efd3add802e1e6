r"""One review, layer by layer."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from ...flows import Run


@dataclass(frozen=True, repr=False)
class Explanation:
    r"""Words as tokens: `states (K + 1, n, d)` before the first layer and after each; `leading (K + 1, n)`, whether a
    token leads then (of a repeated word its first place alone); the decoder `v`, `b` and the step `alpha`.
    """

    words: tuple[str, ...]
    states: np.ndarray
    leading: np.ndarray
    v: np.ndarray
    b: float
    alpha: float

    @property
    def leaders(self) -> tuple[str, ...]:
        """The words that lead after the last layer, in the order of the text."""
        return tuple(self.words[i] for i in np.flatnonzero(self.leading[-1]))

    @property
    def leader_layer(self) -> dict[str, int]:
        """From which layer on each of them leads."""
        return {self.words[i]: int(np.argmax(self.leading[:, i])) for i in np.flatnonzero(self.leading[-1])}

    @property
    def followed(self) -> np.ndarray:
        """The leader nearest to each token after the last layer, by its place in the text."""
        places = np.flatnonzero(self.leading[-1])
        last = self.states[-1]
        return places[np.argmin(np.linalg.norm(last[:, None] - last[places][None], axis=-1), axis=1)]

    @property
    def probability(self) -> float:
        r"""$\sigma(\langle v, \bar z\rangle + b)$ at the end."""
        return float(1 / (1 + np.exp(-(self.states[-1].mean(axis=0) @ self.v + self.b))))

    def __repr__(self) -> str:
        side = "positive" if self.probability > 0.5 else "negative"
        lines = [f"{side} ({self.probability:.3f}), {len(self.words)} tokens, led by:"]
        for place in np.flatnonzero(self.leading[-1]):
            value = float(self.states[-1, place] @ self.v + self.b)
            share = float(np.mean(self.followed == place))
            layer = self.leader_layer[self.words[place]]
            lines.append(f"  {self.words[place]:<16} {value:+7.2f}   followed by {share:4.0%}   since layer {layer}")
        return "\n".join(lines)

    def run(self) -> "Run":
        """The same as a `Run` of hardmax layers, for plots and diagnostics of runs."""
        from ...flows import simulate
        from ...models import HardmaxLayers

        layers = len(self.states) - 1
        return simulate(HardmaxLayers(self.alpha), self.states[0], t1=layers, save=layers + 1, solver="layers")
