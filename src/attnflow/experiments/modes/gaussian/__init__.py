r"""Modes of the Gaussian kernel density estimate of standard normal data (the paper's theorem and its figure).

$n$ independent $N(0, 1)$ numbers, bandwidth $\beta^{-1/2}$. Modes are counted, each count certified, in all and within
$|t| \le t_+ = \sqrt{2\log n - \log\beta}$, where the belt of the theorem ends, and compared with the formula of Kac and
Rice.
"""

from typing import TYPE_CHECKING, Any

from ... import Cell, Experiment, Parameter
from .claims import CLAIMS, PICTURE, QUICK, TABLE
from .figures import density_and_modes, growth, where_modes_are

if TYPE_CHECKING:
    import xarray

GROWTH = (10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)  # at n = 10,000, for the figure


def cells(scale: str) -> list[Cell]:
    full = scale == "full"
    table = [
        {"part": "counts", "n": n, "beta": beta, "draws": row.draws if full else QUICK[n]}
        for (n, beta), row in TABLE.items()
        if full or n in QUICK
    ]
    known = {(cell["n"], cell["beta"]) for cell in table}
    more = [(10_000, beta) for beta in (GROWTH if full else GROWTH[:1]) if (10_000, beta) not in known]
    picture = {"part": "picture", "n": PICTURE.n, "beta": PICTURE.beta, "draws": PICTURE.draws}
    return [
        *table,
        *({"part": "counts", "n": n, "beta": beta, "draws": 400 if full else QUICK[n]} for n, beta in more),
        picture,
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    return {"counts": _counts, "picture": _picture}[cell["part"]](cell)


def _counts(cell: Cell) -> "xarray.Dataset":
    """The number of modes of every draw, in all and up to the end of the belt; and the formulas."""
    import numpy as np
    import xarray

    import attnflow as af

    n, beta = cell["n"], cell["beta"]
    modes = af.diagnostics.modes(_tokens(cell), beta)
    end = float(af.reductions.belt(n=n, beta=beta)[1])
    inside = np.sum(np.abs(modes.locations[..., 0]) <= end, axis=-1)
    return xarray.Dataset(
        {
            "modes": ("draw", modes.count),
            "inside": ("draw", inside),
            "certified": ("draw", np.asarray(modes.certified, np.int8)),
            "kac_rice": float(af.reductions.expected_modes_line(n=n, beta=beta)),
            "leading": float(af.reductions.belt_modes(n=n, beta=beta)),
        }
    )


def _picture(cell: Cell) -> "xarray.Dataset":
    """Where the modes of all draws are, and the density of the first draw."""
    import numpy as np
    import xarray
    from scipy.special import logsumexp

    import attnflow as af

    n, beta = cell["n"], cell["beta"]
    tokens = _tokens(cell)
    modes = af.diagnostics.modes(tokens, beta)
    t = np.linspace(-5, 5, 1001)
    places = np.concatenate([t, modes.locations[0, :, 0]])[:, None]
    # The log of a sum of exponentials over tokens: the tails do not underflow.
    height = logsumexp(-beta / 2 * (places - np.asarray(tokens[0, :, 0])[None, :]) ** 2, axis=1) - np.log(n)
    log_density = height + 0.5 * np.log(beta / (2 * np.pi))
    return xarray.Dataset(
        {
            "location": (("draw", "mode"), modes.locations[..., 0]),
            "log_density": ("t", log_density[: t.size]),
            "log_height": ("mode", log_density[t.size :]),
            "kac_rice": ("t", np.asarray(af.reductions.kac_rice_density(t, n=n, beta=beta))),
            "belt": ("end", [float(end) for end in af.reductions.belt(n=n, beta=beta)]),
            "certified": ("draw", np.asarray(modes.certified, np.int8)),
        },
        coords={"t": t},
    )


def _tokens(cell: Cell) -> Any:
    import jax

    key = jax.random.fold_in(jax.random.key(cell["seed"]), int(cell["n"] + cell["beta"]))
    return jax.random.normal(key, (cell["draws"], cell["n"], 1))


EXPERIMENT = Experiment(
    id="modes-gaussian",
    paper="modes",
    title="Modes of a Gaussian kernel density estimate",
    summary=(
        "Standard normal data, a Gaussian kernel of bandwidth 1/√β. Where many tokens share a bandwidth their density "
        "is smooth and has one mode; in a belt further out it oscillates and has most modes; beyond, tokens are "
        "isolated. The number and the positions of modes are compared with the formula of Kac and Rice."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[density_and_modes, where_modes_are, growth],
    parameters={
        "n": Parameter("number of tokens", bounds=(10, 100000), where={"part": "picture"}),
        "beta": Parameter("inverse temperature", bounds=(1, 1000), where={"part": "picture"}),
        "draws": Parameter("number of draws", bounds=(2, 10000), where={"part": "picture"}),
    },
)
