r"""The landscape on the circle: the law of least energy is atomic for some potentials and a density for others.

With repulsion the energy is convex in the law, so that its minimiser is unique and is certified by one inequality: the
potential $p = K*\mu + U$ is nowhere below its value on the support.
"""

from typing import TYPE_CHECKING

from ... import Cell, Experiment, Parameter
from ..cases import CASES, VERDICTS, external, perceptron
from .claims import CLAIMS, WITNESSED
from .figures import atoms_against_density, minimisers
from .witness import ascended, quadratic_programme

if TYPE_CHECKING:
    import xarray

GRID = 720
MEASURES = 4000  # random laws that are compared with a Dirac


def cells(scale: str) -> list[Cell]:
    return [
        *({"part": "minimiser", "case": case} for case in CASES),
        *({"part": "witness", "case": case, "angles": 720 if scale == "quick" else 1440} for case in WITNESSED),
        {"part": "maximiser"},
    ]


def compute(cell: Cell) -> "xarray.Dataset":
    return {"minimiser": _minimiser, "witness": _witness, "maximiser": _maximiser}[cell["part"]](cell)


def _minimiser(cell: Cell) -> "xarray.Dataset":
    """The minimiser with its certificate, the verdict of theory, and the density that makes the circle critical."""
    import numpy as np
    import xarray

    import attnflow as af

    block, beta = perceptron(cell["case"])
    minimizer = af.reductions.localization.minimizer(block, beta)
    theory = af.reductions.localization.expected_localization(block, beta)
    theta = 2 * np.pi * np.arange(GRID) / GRID
    U = external(cell["case"], theta)
    data = xarray.Dataset(
        {
            "angle": ("atom", np.degrees(minimizer.angles)),
            "mass": ("atom", minimizer.masses),
            **{name: float(getattr(minimizer, name)) for name in ("energy", "floor", "gap", "excess", "slack")},
            "atoms": minimizer.atoms,
            "verdict": VERDICTS.index(minimizer.verdict),
            "expected": VERDICTS.index(theory.verdict),
            "potential": ("theta", minimizer.potential(theta)),
            "external": ("theta", U),
        },
        coords={"theta": theta},
    )
    if theory.verdict == "density":
        law = af.reductions.localization.density(block, beta)
        # K * law by the trapezoidal rule, which is exact up to rounding for periodic analytic functions.
        kernel = np.exp(beta * np.cos(theta[:, None] - theta)) / beta
        level = kernel @ law(theta) * (2 * np.pi / GRID) + U
        data["density"] = "theta", law(theta)
        data["level_varies_by"] = float(np.ptp(level))
        n = np.arange(1, 5)
        modes = np.append(np.real(law.modes), np.zeros(5))[n]  # a polynomial has no more than three
        data["moments_off"] = "mode", np.cos(n[:, None] * minimizer.angles) @ minimizer.masses - modes
    return data


def _witness(cell: Cell) -> "xarray.Dataset":
    """The same law as a convex quadratic programme on a grid of angles, by another method."""
    import numpy as np
    import xarray

    *_, beta = CASES[cell["case"]]
    theta = 2 * np.pi * np.arange(cell["angles"]) / cell["angles"]
    energy, touching = quadratic_programme(external(cell["case"], theta), theta, beta)
    return xarray.Dataset({"energy": energy, "touching": ("k", np.degrees(theta[touching]))})


def _maximiser(cell: Cell) -> "xarray.Dataset":
    """ReLU: random laws against the Dirac at the largest value of U; and an ascent from the best of them."""
    import numpy as np
    import xarray

    rng = np.random.default_rng(cell["seed"])
    energies, best = ascended(lambda theta: external("relu", theta), 1.0, MEASURES, rng)
    return xarray.Dataset({"energy": ("law", energies), "best": best})


EXPERIMENT = Experiment(
    id="perceptron-landscape",
    paper="perceptron",
    title="Atoms or a density: the landscape on the circle",
    summary=(
        "Repelling tokens in the potential of a perceptron: the law of least energy, with a certificate. For "
        "ReLU, tanh and GELU it is a few atoms; a linear potential, and an exponential one that is flatter than the "
        "kernel, have a density. The coefficients of the kernel decay so fast that many atoms cannot be distinguished "
        "from a density in double precision, and the verdict says so."
    ),
    cells=cells,
    compute=compute,
    claims=CLAIMS,
    figures=[minimisers, atoms_against_density],
    parameters={"angles": Parameter("number of angles of the witness", bounds=(90, 7200))},
)
