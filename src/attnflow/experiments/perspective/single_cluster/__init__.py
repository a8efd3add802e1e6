r"""One cluster in the end: the theorems of sections 3 to 6 of the paper that can be tested, each with its numbers.

For almost every initial configuration all tokens meet as $t \to \infty$: for small $\beta$ (theorem 4.3; on the circle
$\beta \le 1$ is small), for $\beta \ge C(d)n^2$ (theorem 5.1), and for every $\beta \ge 0$ if $d \ge 3$ (theorem 6.1).
Not for every one: there are stationary configurations. If $d \ge n$ the tokens start in a hemisphere, the cone they
span shrinks, and they meet exponentially fast (theorem 6.3). Consensus and the uniform measure are the extremes of the
energy (proposition 3.4), which rises along the flow if $V = B$ is symmetric, and need not be monotone otherwise.

**How long is long?** The slowest known motion of a configuration of clusters is to leave an antipodal pair of equal
masses. This instability has the rate $2K/(1+K)$, $K = e^{-2\beta}$ (SA), or $e^{-\beta}$ (USA), so 40 of these times
leave a probability of the order $e^{-40}$ of not having left.
"""

import math
from typing import TYPE_CHECKING

from ... import Cell, Experiment
from .claims import CLAIMS
from .cones import cone, rates
from .energy import extremes, near_extremes, no_gradient
from .figures import cones, late_rates
from .points import stationary
from .runs import follow, uniform

if TYPE_CHECKING:
    import xarray

TIMES_OF_LEAVING = 40


def cells(scale: str) -> list[Cell]:
    full = scale == "full"
    draws = 256 if full else 32
    small = [("SA", 16, 2, b) for b in (1 / 16, 0.5, 1.0)] + [("USA", 16, 2, b) for b in (1 / 16, 0.5, 1.0)]
    high = [("SA", 16, 3, b) for b in ((0.0, 1.0, 2.0, 3.0, 4.0) if full else (0.0, 1.0, 2.0))]
    high += [("USA", 16, 3, b) for b in ((1.0, 2.0, 3.0) if full else ())]
    large = [("SA", 3, 2, b) for b in ((3.0, 4.0, 5.0) if full else (3.0,))]
    theorems = {"4.3": small, "5.1": large, "6.1": high}
    consensus = [
        {"part": "consensus", "theorem": name, "kind": kind, "n": n, "d": d, "beta": beta, "draws": 64 if full else 32}
        for name, systems in theorems.items()
        for kind, n, d, beta in systems
    ]
    many: Cell = {"draws": draws}
    cone_cells = [
        {"part": "cone", "start": "independent", "kind": "SA", "n": 8, "d": 8, "beta": 1.0, **many},
        {"part": "cone", "start": "hemisphere", "kind": "SA", "n": 32, "d": 3, "beta": 4.0, **many},
    ]
    rate_cells = [
        {"part": "rate", "kind": kind, "n": 8, "d": 8, "beta": 1.0, "draws": 64 if full else 32}
        for kind in ("SA", "USA")
    ]
    fixed = [{"part": "stationary", "kind": kind, "beta": 4.0} for kind in ("SA", "shifted USA")]
    measures = [{"part": "extremes", "d": d, "beta": 3.0, "draws": 1000 if full else 200} for d in (2, 3, 5)]
    others = [{"part": "near extremes", "beta": 3.0}, {"part": "no gradient", "n": 6, "d": 3, "beta": 2.0}]
    return consensus + cone_cells + rate_cells + fixed + measures + others


def compute(cell: Cell) -> "xarray.Dataset":
    parts = {
        "consensus": _consensus,
        "cone": cone,
        "rate": rates,
        "stationary": stationary,
        "extremes": extremes,
        "near extremes": near_extremes,
        "no gradient": no_gradient,
    }
    return parts[cell["part"]](cell)


def leaving_rate(kind: str, beta: float) -> float:
    """Of the antipodal pair of equal masses."""
    K = math.exp(-2 * beta)
    return 2 * K / (1 + K) if kind == "SA" else math.exp(-beta)


def _consensus(cell: Cell) -> "xarray.Dataset":
    """Uniform tokens after a long time: the farthest pair of every draw."""
    import numpy as np
    import xarray

    kind, beta = cell["kind"], cell["beta"]
    # The rate of consensus, 1 or e^β, bounds the step; when the last clusters have met, 20 of its times bring 1e-9.
    fast = 1.0 if kind == "SA" else math.exp(beta)
    t1 = TIMES_OF_LEAVING / leaving_rate(kind, beta) + 20 / fast
    x = follow(kind, uniform(cell), np.array([0.0, t1]), beta=beta, step=0.5 / fast)[:, -1]
    gaps = ((x[:, :, None] - x[:, None]) ** 2).sum(axis=-1).max(axis=(1, 2)) / 2
    return xarray.Dataset({"gap": ("draw", gaps), "t1": t1})


EXPERIMENT = Experiment(
    id="perspective-single-cluster",
    paper="perspective",
    title="One cluster in the end",
    summary=(
        "The theorems on long times, as far as numbers can test them. All tokens meet, for almost every start: tested "
        "on uniform draws, over times long enough for the slowest instability. Some configurations never move. "
        "Tokens in a hemisphere stay in it, and near the end distances fall like e^(−t) under softmax attention and "
        "like e^(−e^β t) without the denominator. The theorem for large β does not give C(d)n²: here three "
        "tokens on the circle meet at β = 3 and, at full scale, up to 5."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[cones, late_rates],
)
