r"""The Boolean case: on the line, attention becomes a matrix of zeros and ones, of rank one or two.

With $d = 1$ and $V, B > 0$ every token, with one possible exception, eventually attends only to the smallest or the
largest token. The distance $g$ of the leader from the next token converges while the leader grows like $e^t$, so that
$1 - P_{nn} \approx e^{-x_ng}$ is doubly exponentially small. It is computed from the other entries of the row:
$1 - P_{nn}$ is exactly zero in floating point from $e^{-37}$ on.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment, Parameter
from ..tokens import model
from .claims import CLAIMS, positions
from .figures import attention_on_the_line, doubly_exponential

if TYPE_CHECKING:
    import xarray

    from attnflow import Run

TOKENS = {"pair": [-0.5, 0.5], "triple": [-0.5, 0.0, 0.5], "four": [-1.0, -0.4, 0.3, 1.2]}
DRAWS = 8


def cells(scale: str) -> list[Cell]:
    return [*({"part": name} for name in TOKENS), {"part": "draws", "n": 20, "draws": DRAWS}]


def compute(cell: Cell) -> Any:
    return _draws(cell) if cell["part"] == "draws" else _up_to_four(TOKENS[cell["part"]])


def _up_to_four(tokens: list[float]) -> "tuple[xarray.Dataset, Run]":
    """Up to four tokens, filled up to four by tokens of weight zero: all cells share one program."""
    import numpy as np
    import xarray
    from scipy.special import logsumexp

    import attnflow as af

    k, ts = len(tokens), np.linspace(0, 6, 61)
    w = np.append(np.full(k, 1 / k), np.zeros(4 - k))
    x0 = np.append(tokens, np.zeros(4 - k))[:, None]
    run = af.simulate(model(), x0, ts=ts, solver="ifrk4", dt=0.02, weights=w)
    x = positions(run)
    scores = x[:, -1:] * x  # of the largest token
    others, everyone = (np.asarray(logsumexp(s, axis=1)) for s in (scores[:, :-1], scores))
    data = {
        "P": (("time", "token", "key"), np.asarray(af.attention_matrix(run))[:, :k, :k]),
        "log_doubt": ("time", others - everyone),
    }
    return xarray.Dataset(data, coords={"time": ts}), run


def _draws(cell: Cell) -> "xarray.Dataset":
    """Sorted tokens drawn uniformly from [-1, 1]: the structure of the attention matrix, and its rank."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    import xarray

    import attnflow as af

    n, ts = cell["n"], np.array([0.0, 1.0, 2.0, 4.0, 6.0, 10.0, 14.0])
    x0 = np.stack([np.sort(np.random.default_rng(s).uniform(-1, 1, n))[:, None] for s in range(cell["draws"])])

    def matrices(x: Any) -> Any:
        xs = af.simulate(model(), x, ts=ts, solver="ifrk4", dt=0.02, throw=False).xs
        return jax.vmap(lambda x: af.pairsums.pair_weights(af.pairsums.Inner(jnp.asarray(1.0)), x, x))(xs)

    P = np.asarray(jax.jit(jax.vmap(matrices))(x0))
    structures = [[af.diagnostics.boolean_structure(p) for p in run] for run in P]
    ends = [set(np.asarray(run[-1].leaders).tolist()) <= {0, n - 1} for run in structures]
    return xarray.Dataset(
        {
            "P": (("draw", "time", "token", "key"), P),
            "exceptional": (("draw", "time"), [[len(s.exceptional) for s in run] for run in structures]),
            "rank": (("draw", "time"), [[s.rank for s in run] for run in structures]),
            "at_the_ends": ("draw", np.array(ends, int)),
        },
        coords={"time": ts},
    )


EXPERIMENT = Experiment(
    id="clusters-line",
    paper="clusters",
    title="On the line attention becomes Boolean",
    summary=(
        "d = 1: rows of the attention matrix become unit vectors that point to the smallest or the largest token, all "
        "but at most one, and its rank one or two. Two and three symmetric tokens obey scalar equations."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[attention_on_the_line, doubly_exponential],
    parameters={"n": Parameter("number of tokens", bounds=(3, 500))},
)
