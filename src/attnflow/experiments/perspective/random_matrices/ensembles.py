r"""The laws of $(B, V)$ in `random_matrices`, with $G$ a matrix of independent standard normal numbers (Ginibre).

$B$ is scaled so that $\langle x, By\rangle$ has variance one for fixed orthogonal unit vectors: logits are of order
$\beta$. $V$ is scaled so that $\mathbb E|Vx|^2$ is one or two (see the table in `random_matrices`).
"""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy


class Ensemble(NamedTuple):
    """`score` names the law of B, `value` that of V; `title` is a panel's, `solver` the scheme of its map."""

    score: str
    value: str
    title: str
    solver: str = "rk4"


ENSEMBLES = {
    # The first row of the figure: the ensembles that the caption names.
    "ginibre": Ensemble("ginibre", "ginibre", "$Q, K, V$ Ginibre"),
    "goe-psd": Ensemble("goe", "psd", r"$B$ GOE, $V = GG^{T}/d$"),
    "ginibre-ascent": Ensemble("ginibre", "B", "$Q, K$ Ginibre, $V = B$"),
    "goe-ascent": Ensemble("goe", "B", "$B$ GOE, $V = B$"),
    # The second row: further choices of the authors' program.
    "ginibre-psd": Ensemble("ginibre", "psd", r"$Q, K$ Ginibre, $V = GG^{T}/d$"),
    "goe-psd-program": Ensemble("goe", "psd-program", r"$B$ GOE, $V = GG^{T}/\sqrt{d}$", "euler-retract"),
    "ginibre-transpose": Ensemble("ginibre", "B-transpose", r"$Q, K$ Ginibre, $V = B^{T}$"),
    "goe-descent": Ensemble("goe", "-B", "$B$ GOE, $V = -B$"),
}


def draw(name: str, rng: "numpy.random.Generator", *, draws: int, n: int, d: int) -> tuple[Any, Any, Any]:
    """Matrices and uniform tokens of many realisations: `B (draws, d, d)`, `V (draws, d, d)`, `x (draws, n, d)`."""
    import numpy as np

    B = _score(ENSEMBLES[name].score, rng.normal(size=(2, draws, d, d)))
    V = _value(ENSEMBLES[name], B, rng.normal(size=(draws, d, d)))
    x = rng.normal(size=(draws, n, d))
    return B, V, x / np.linalg.norm(x, axis=-1, keepdims=True)


def expected_square(name: str, d: int) -> float:
    r"""$\mathbb E|Vx|^2$ for a fixed unit vector $x$, from Gaussian moments.

    $\mathbb E|Gx|^2 = d$; $\mathbb E|G_1^\top G_2x|^2 = d^2$; $\mathbb E|(G+G^\top)x|^2 = 2(d+1)$; and
    $\mathbb E(GG^\top)^2 = d(2d+1)I$.
    """
    return {"psd": (2 * d + 1) / d, "psd-program": 2.0 * d + 1}.get(ENSEMBLES[name].value, 1.0)


def _score(law: str, pair: Any) -> Any:
    g, h = pair
    transposed = g.swapaxes(-1, -2)
    return transposed @ h / math.sqrt(g.shape[-1]) if law == "ginibre" else (g + transposed) / math.sqrt(2)


def _value(ensemble: Ensemble, B: Any, g: Any) -> Any:
    d = B.shape[-1]
    if ensemble.value in ("B", "-B", "B-transpose"):
        V = B / math.sqrt(d + 1 if ensemble.score == "goe" else d)
        return {"B": V, "-B": -V, "B-transpose": V.swapaxes(-1, -2)}[ensemble.value]
    if ensemble.value == "ginibre":
        return g / math.sqrt(d)
    return g @ g.swapaxes(-1, -2) / (d if ensemble.value == "psd" else math.sqrt(d))
