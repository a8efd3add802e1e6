r"""The continuity equation of attention, solved as a PDE, and tokens as its approximation.

On the circle: laws at $\beta = 1, 10, 100$ up to Diracs; growth of patterns out of the uniform measure; the order of
the scheme against a Fourier method; errors of random and of equidistributed tokens against their number. On the line:
Gaussians under softmax, any law under linear attention, and sigmoid attention, for which Gaussians are no solution.
"""

from typing import TYPE_CHECKING

from ... import Cell, Experiment, Parameter
from . import circle, line
from .claims import BETAS, CLAIMS, CLOCKS
from .figures import densities_and_tokens, errors, growth_of_modes, not_a_gaussian

if TYPE_CHECKING:
    import xarray

CELLS = {"quick": 256, "full": 1024}
ORDER = {"quick": (128, 256), "full": (64, 128, 256, 512, 1024)}
TOKENS = {"quick": (64, 256), "full": (64, 256, 1024)}
REALIZATIONS = {"quick": 240, "full": 400}
SMOOTH = {"beta": 4.0, "t1": 2.0}  # the law stays smooth until then
EARLY = {"beta": 4.0, "t1": 0.5}  # fluctuations have grown, and are still small for 64 tokens


def cells(scale: str) -> list[Cell]:
    n = CELLS[scale]
    return [
        *({"part": "law", "beta": beta, "cells": n} for beta in BETAS),
        *({"part": "growth", "clock": clock, "beta": 9.0, "cells": n} for clock in CLOCKS),
        *({"part": "order", "cells": size, **SMOOTH} for size in ORDER[scale]),
        *({"part": "random", "n": size, "realizations": REALIZATIONS[scale], **EARLY} for size in TOKENS[scale]),
        {"part": "merger", "cells": n},
        {"part": "quantiles", "cells": n, **EARLY},
        {"part": "softmax", "cells": 256},
        {"part": "linear", "cells": 256},
        {"part": "sigmoid", "cells": 256},
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    parts = {
        "law": circle.concentration,
        "growth": circle.growth,
        "order": circle.order,
        "random": circle.random_tokens,
        "merger": circle.merger,
        "quantiles": circle.quantile_tokens,
        "softmax": line.softmax,
        "linear": line.linear,
        "sigmoid": line.sigmoid,
    }
    return parts[cell["part"]](cell)


EXPERIMENT = Experiment(
    id="unified-mean-field",
    paper="unified",
    title="The continuity equation, and tokens as its approximation",
    summary=(
        "The transformer PDE itself, by conservative finite volumes on the circle and on the line: mass is conserved, "
        "densities are not negative, and laws may become Diracs. It is compared with Bessel functions, a Fourier "
        "method, Gaussian closed forms, and tokens: the error of n independent ones is n^-1/2, that of tokens at "
        "quantiles far smaller."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[densities_and_tokens, growth_of_modes, errors, not_a_gaussian],
    parameters={"beta": Parameter("inverse temperature", bounds=(0.5, 30), where={"part": "growth"})},
)
