"""Claims about the energy, and their measurements on the results of `energy`."""

from ... import Claim, Results

DIMENSIONS = (2, 3, 5, 10)
GRIDS = (2, 3)  # dimensions with a quadrature grid
BETA_UNIFORM = 3.0
UNIFORM = [0.8134654310, 0.5565486071, 0.3737983530, 0.2573473042]  # Bessel functions, in DIMENSIONS
SECTION = "arXiv:2312.10794, Section 3"
NUMBERS = "docs/theory/sphere.md, Two clouds without chance"


def at(variable: str, *times: float, **cell: object):
    """A scalar variable of one cell at these times."""

    def measure(results: Results) -> list[float]:
        return results.select(**cell)[variable].sel(time=list(times)).values.tolist()

    return measure


def first_token(results: Results) -> list[float]:
    """Its coordinates at t = 1, for SA and then for USA."""
    return [float(v) for kind in ("SA", "USA") for v in results.run(part="cloud", kind=kind).at(1.0)[0]]


def apart(*names: str):
    """The largest distance of these runs from the original one."""

    def measure(results: Results) -> list[float]:
        data = results.select(part="symmetry")
        return [float(abs(data[name] - data["x"]).max()) for name in names]

    return measure


def symmetry_error(results: Results) -> list[float]:
    lengths = (results.select(part="symmetry")["x"] ** 2).sum("coordinate")
    return [*apart("turned", "reordered")(results), float(abs(lengths - 1).max())]


def gain_error(results: Results) -> list[float]:
    """The gain of energy less the integral of its dissipation, for each run."""
    runs = [*results.where(part="cloud"), *results.where(part="matrix")]
    return [abs(float(data["energy"][-1] - data["energy"][0] - data["integral"])) for _, data in runs]


def uniform_by_grid(results: Results) -> list[float]:
    return [float(results.select(part="uniform", d=d)["grid"]) for d in GRIDS]


def uniform_by_sample(results: Results) -> tuple[list[float], list[float]]:
    data = [results.select(part="uniform", d=d) for d in DIMENSIONS]
    return [float(each["sample"]) for each in data], [float(each["stderr"]) for each in data]


CLAIMS = [
    Claim(
        id="energy-sa",
        statement="SA, six weighted tokens on S², β = 2: the energy E at t = 0, 1, 5",
        kind="equal",
        expected=[0.802696103942, 0.969008478720, 1.842609119621],
        tolerance=1e-9,
        measure=at("energy", 0.0, 1.0, 5.0, part="cloud", kind="SA"),
        source=NUMBERS,
        provenance="derived",
    ),
    Claim(
        id="energy-usa",
        statement="USA, six weighted tokens on S², β = 2: the energy E at t = 0, 1, 5",
        kind="equal",
        expected=[0.802696103942, 1.654878443703, 1.847264024733],
        tolerance=1e-9,
        measure=at("energy", 0.0, 1.0, 5.0, part="cloud", kind="USA"),
        source=NUMBERS,
        provenance="derived",
    ),
    Claim(
        id="energy-first-token",
        statement="The same tokens: coordinates of the first at t = 1, SA and then USA",
        kind="equal",
        expected=[-0.98267538, 0.01486574, -0.18473797, -0.52784854, -0.64518482, -0.55236986],
        tolerance=1e-7,
        measure=first_token,
        source=NUMBERS,
        provenance="derived",
    ),
    Claim(
        id="energy-ascent",
        statement="SA, V = B symmetric, ten tokens on S³, β = 1.5: the energy E_B at t = 0, 1, 4",
        kind="equal",
        expected=[0.6538045345, 1.8735069091, 3.1442563683],
        tolerance=1e-8,
        measure=at("energy", 0.0, 1.0, 4.0, part="matrix", sign=1),
        source=NUMBERS,
        provenance="derived",
    ),
    Claim(
        id="energy-descent",
        statement="SA, V = −B, the same tokens: the energy E_B at t = 0, 1, 4",
        kind="equal",
        expected=[0.6538045345, 0.2506160531, 0.0147096453],
        tolerance=1e-8,
        measure=at("energy", 0.0, 1.0, 4.0, part="matrix", sign=-1),
        source=NUMBERS,
        provenance="derived",
    ),
    Claim(
        id="energy-rate",
        statement="SA, the six tokens: Σ wᵢ Zᵢ |dxᵢ/dt|² at t = 0.5 and 2",
        kind="equal",
        expected=[0.1611028, 0.3968346],
        tolerance=1e-6,
        tolerance_kind="rel",
        measure=at("dissipation", 0.5, 2.0, part="cloud", kind="SA"),
        source=NUMBERS,
        provenance="derived",
    ),
    Claim(
        id="energy-gain",
        statement="E at the end less E at the start is the time integral of the dissipation: difference, for each run",
        kind="at_most",
        expected=1e-9,
        measure=gain_error,
        source=f"{SECTION}; docs/theory/sphere.md, What the energy gains",
        provenance="theorem",
        note="SA, USA, V = B, V = −B; Gauss–Legendre rule with 200 nodes",
    ),
    Claim(
        id="energy-uniform-grid",
        statement="The energy of the uniform measure at β = 3 is a Bessel function: quadrature grids on S¹ and S²",
        kind="equal",
        expected=[UNIFORM[DIMENSIONS.index(d)] for d in GRIDS],
        tolerance=1e-9,
        measure=uniform_by_grid,
        source="docs/theory/sphere.md, Energy of the uniform measure",
        provenance="derived",
    ),
    Claim(
        id="energy-uniform-sample",
        statement="The same by independent uniform tokens, in dimensions 2, 3, 5, 10",
        kind="equal",
        expected=UNIFORM,
        tolerance=4.5,
        tolerance_kind="sigma",
        detects=[0.1 * value for value in UNIFORM],
        measure=uniform_by_sample,
        source="docs/theory/sphere.md, Energy of the uniform measure",
        provenance="derived",
        note="it must detect ten per cent; neighbouring dimensions differ by thirty",
    ),
    Claim(
        id="energy-split-token",
        statement="SA, a token split into two of half its weight: the largest distance of a half from the whole token",
        kind="at_most",
        expected=1e-10,
        measure=apart("first_half", "second_half"),
        source="arXiv:2312.10794, Section 3: the flow is one of measures; coincident tokens stay coincident",
        provenance="theorem",
    ),
    Claim(
        id="energy-equivariance",
        statement="SA, tokens turned, or in another order, and brought back: greatest distance; and | |xᵢ|² − 1 |",
        kind="at_most",
        expected=1e-10,
        measure=symmetry_error,
        source="arXiv:2312.10794, Section 2: the equation in invariant form",
        provenance="theorem",
    ),
]
