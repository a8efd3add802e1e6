r"""The smoothness of attention: the norm of its derivative, bounds of it, and consequences for the flow.

The derivative is checked against its formula and differences; its norm at adversarial tokens against printed numbers,
lower and upper bounds; at Gaussian tokens against an operator in Hermite polynomials; far from the origin against the
limit of hardmax. Then two clouds are followed, masked and not, and their distance compared with the stability bound.
"""

from typing import TYPE_CHECKING

from ... import Cell, Experiment, Parameter
from . import flows, norms
from .claims import CLAIMS
from .figures import bounds_in_a_ball, growth_with_the_length, growth_with_the_radius, stability_of_the_flow

if TYPE_CHECKING:
    import xarray


def cells(scale: str) -> list[Cell]:
    quick = scale == "quick"
    return [
        {"part": "derivative"},
        {"part": "adversarial"},
        {"part": "slope"},
        {"part": "counterexample"},
        {"part": "cesaro"},
        {"part": "gaussian law"},
        {"part": "gaussian tokens", "largest": 256 if quick else 512, "draws": 24 if quick else 100},
        {"part": "radius"},
        *({"part": "stability", "masked": masked, "pairs": 8 if quick else 64} for masked in (False, True)),
        {"part": "masked gaussian", "tokens": 512 if quick else 1024, "draws": 32 if quick else 100},
        {"part": "conditional"},
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    parts = {
        "derivative": norms.derivative,
        "adversarial": norms.adversarial,
        "slope": norms.slope,
        "counterexample": norms.counterexample,
        "cesaro": norms.cesaro,
        "gaussian law": norms.gaussian_law,
        "gaussian tokens": norms.gaussian_tokens,
        "radius": norms.radius,
        "stability": flows.stability,
        "masked gaussian": flows.masked_gaussian,
        "conditional": flows.conditional,
    }
    return parts[cell["part"]](cell)


EXPERIMENT = Experiment(
    id="unified-smoothness",
    paper="unified",
    title="The smoothness of attention",
    summary=(
        "The norm of the derivative of softmax attention, masked and not: at adversarial tokens, where it grows like "
        "√n, at Gaussian ones, and far from the origin. Upper and lower bounds, and their consequence for the "
        "distance of two clouds along the flow."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[growth_with_the_length, growth_with_the_radius, bounds_in_a_ball, stability_of_the_flow],
    parameters={"pairs": Parameter("number of pairs of measures", bounds=(1, 10000))},
)
