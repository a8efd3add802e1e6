"""Claims about regularised training, and their measurements on the results of `tikhonov`."""

from ... import Claim, Results
from ..._measures import value

SMALL = 1e-4
PAGE = "docs/theory/interpolation.md, Regularised training"
FIGURE_A, FIGURE_B = "arXiv:2502.02270, figure 1a", "arXiv:2502.02270, figure 1b"


def at(epoch: int):
    """The loss after this number of epochs."""
    return lambda results: float(results.select(part="single")["loss"][epoch - 1])


def crossed(results: Results) -> float:
    """The epoch from which on the loss stays below eps times the squared norm."""
    import numpy as np

    data = results.select(part="single")
    above = np.flatnonzero(~(data["loss"].values < SMALL * float(data["square"])))
    return float(above[-1] + 1) if len(above) else 0.0


def least(stage: int):
    return lambda results: float(results.select(part="warm")["least"][stage])


def against_bound(results: Results) -> list[float]:
    """The last loss of every stage over eps/2 times the squared norm."""
    data = results.select(part="warm")
    return (data["last"] / (data["eps"] / 2 * data["square"])).values.tolist()


def norms(results: Results) -> list[float]:
    data = results.select(part="warm")
    return (data["reached"] / data["square"]).values.tolist()


CLAIMS = [
    Claim(
        id="tikhonov-norm",
        statement="The squared norm of the parameters that interpolate, for the data drawn here",
        kind="equal",
        expected=62.158,
        tolerance=5e-4,
        measure=value("square", part="data"),
        source=PAGE,
        provenance="derived",
    ),
    Claim(
        id="tikhonov-interpolates",
        statement="The loss there, against targets computed by NumPy",
        kind="equal",
        expected=0.0,
        tolerance=1e-20,
        measure=value("at_exact", part="data"),
        source=PAGE,
        provenance="derived",
    ),
    Claim(
        id="tikhonov-beginning",
        statement="ε = 10⁻⁴, schedule of 50 000 epochs: the loss at epoch 5000",
        kind="at_most",
        expected=0.05,
        measure=at(5_000),
        source=f"{FIGURE_A}; {PAGE}",
        provenance="figure",
        note="0.022 in the paper's draw",
    ),
    Claim(
        id="tikhonov-end",
        statement="ε = 10⁻⁴: the loss after 50 000 epochs",
        kind="at_most",
        expected=1e-3,
        measure=lambda results: float(results.select(part="single")["loss"][-1]),
        source=FIGURE_A,
        provenance="figure",
        scales=("full",),
        note="about 4e-4 in the figure",
    ),
    Claim(
        id="tikhonov-threshold",
        statement="ε = 10⁻⁴: the epoch from which on the loss is below ε|θ*|²",
        kind="at_most",
        expected=25_000.0,
        measure=crossed,
        source=FIGURE_A,
        provenance="figure",
        scales=("full",),
        note="near 20 000 in the figure",
    ),
    *(
        Claim(
            id=f"tikhonov-warm-{k + 1}",
            statement=f"One model trained on, ε = {eps}, {epochs} epochs: the least loss",
            kind="equal",
            expected=expected,
            tolerance=2.0,
            tolerance_kind="factor",
            measure=least(k),
            source=FIGURE_B,
            provenance="figure",
            note="it depends on the start that was drawn",
        )
        for k, (eps, epochs, expected) in enumerate((("10⁻¹", 5000, 0.0326), ("10⁻²", "10 000", 0.0132)))
    ),
    Claim(
        id="tikhonov-bound",
        statement="The last loss of every stage over ε|θ*|²/2, the bound for Adam's weight decay",
        kind="at_most",
        expected=1.0,
        measure=against_bound,
        source=PAGE,
        provenance="derived",
    ),
    Claim(
        id="tikhonov-norms",
        statement="The squared norm reached in every stage, over that of θ*",
        kind="at_most",
        expected=1.0,
        measure=norms,
        source=PAGE,
        provenance="derived",
    ),
]
