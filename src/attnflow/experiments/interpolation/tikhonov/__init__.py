r"""Tikhonov regularisation: a block that can interpolate its data, trained with weight decay.

If $\theta^*$ interpolates, the minimiser of $\mathrm{loss} + \varepsilon|\theta|^2$ has a loss of at most
$\varepsilon|\theta^*|^2$. One run at $\varepsilon = 10^{-4}$, and a series of decreasing $\varepsilon$ in which one
model is trained on.
"""

from typing import TYPE_CHECKING

from ... import Cell, Experiment, Parameter
from .claims import CLAIMS, SMALL
from .figures import losses_of_training

if TYPE_CHECKING:
    import xarray

SCHEDULE = 50_000  # epochs of the cosine schedule at the smallest eps
WARM = ((1e-1, 5_000), (1e-2, 10_000), (1e-3, 50_000))  # eps and epochs
DRAW = 0  # the expected numbers are for these data


def cells(scale: str) -> list[Cell]:
    full = scale == "full"
    warm = {"part": "warm", "stages": len(WARM) if full else 2}
    return [{"part": "single", "epochs": SCHEDULE if full else 5_000}, warm, {"part": "data"}]


def compute(cell: Cell) -> "xarray.Dataset":
    return {"single": _single, "warm": _warm, "data": _data}[cell["part"]](cell)


def _single(cell: Cell) -> "xarray.Dataset":
    """One run; at scale quick only the beginning of the long schedule."""
    import xarray

    from .training import task, trained

    x, y, square, theta, _ = task(DRAW)
    theta, losses = trained(theta, x, y, SMALL, SCHEDULE, cell["epochs"])
    return xarray.Dataset({"loss": ("epoch", losses), "square": square, "reached": _square(theta)})


def _warm(cell: Cell) -> "xarray.Dataset":
    """The stages after each other, each from where the last one ended, with a fresh optimiser and schedule."""
    import numpy as np
    import xarray

    from .training import task, trained

    x, y, square, theta, _ = task(DRAW)
    stages, curves, reached = WARM[: cell["stages"]], [], []
    for eps, epochs in stages:
        theta, losses = trained(theta, x, y, eps, epochs, epochs)
        curves.append(losses)
        reached.append(_square(theta))
    return xarray.Dataset(
        {
            "loss": ("epoch", np.concatenate(curves)),
            "least": ("stage", [curve.min() for curve in curves]),
            "last": ("stage", [curve[-1] for curve in curves]),
            "reached": ("stage", reached),
            "epochs": ("stage", [epochs for _, epochs in stages]),
            "square": square,
        },
        coords={"eps": ("stage", [eps for eps, _ in stages])},
    )


def _data(cell: Cell) -> "xarray.Dataset":
    """The parameters that interpolate, and the loss there; targets are computed by NumPy."""
    import jax
    import xarray

    from .training import loss, task

    x, y, square, start, exact = task(DRAW)
    value = jax.jit(loss)
    return xarray.Dataset(
        {"square": square, "at_exact": float(value(exact, x, y)), "at_start": float(value(start, x, y))}
    )


def _square(theta: dict) -> float:
    return float(sum((p.astype(float) ** 2).sum() for p in theta.values()))


EXPERIMENT = Experiment(
    id="interpolation-tikhonov",
    paper="interpolation",
    title="Regularised training of a block that can interpolate",
    summary=(
        "Ten sequences of 100 tokens in R¹⁶, with targets that one block of attention and four neurons reaches "
        "exactly. Training with weight decay ends below the bound ε|θ*|² of Tikhonov regularisation."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[losses_of_training],
    parameters={"epochs": Parameter("epochs of training", bounds=(100, 1000000))},
)
