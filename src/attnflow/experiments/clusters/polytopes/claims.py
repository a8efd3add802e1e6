"""The claims of `polytopes`."""

from typing import Any

from ... import Claim, Results
from ..._measures import value
from ..tokens import DOCS, NUMBERS, PAPER, slope

CENTROIDS = {
    "identity": [[0.583285, -0.648930], [0.160174, 0.738624], [-0.715991, 0.491531], [-0.911524, -0.119625]],
    "skew": [[0.834662, 0.246967], [-1.139814, -0.270905]],
}
LABELS = {"identity": [0, 1, 2, 3, 0, 0, 1, 1, 3], "skew": [0, 0, 1, 1, 1, 0, 0, 0, 1]}
DIMENSIONS = {"identity": 2, "skew": 1}
NAMES = {"identity": "B = I", "skew": "B = [[2, .5], [.5, 1]]"}


def dimension(name: str) -> Any:
    return lambda results: float(results.select(part="reference", B=name)["dimension"])


def residuals(results: Results) -> list[float]:
    return [float(data["residual"].max()) for _, data in results.where(part="reference")]


def rates(results: Results) -> list[float]:
    return [slope(data["time"], data["distance"], 4.0, 8.0) for _, data in results.where(part="reference")]


def growth_of_hulls(results: Results) -> list[float]:
    """In units of the largest token at the start."""
    import numpy as np

    cells = [cell for part in ("reference", "figure") for cell in results.where(part=part).cells]
    largest = [float(np.linalg.norm(results.run(**cell).xs[0], axis=1).max()) for cell in cells]
    return [float(results.select(**cell)["hull_grows_by"]) / x for cell, x in zip(cells, largest, strict=True)]


def on_vertices(results: Results) -> list[bool]:
    """Whether every cluster of the paper's data is a vertex, at rest, and satisfies the equation of S."""
    return [bool(d["holds"]) and bool(d["vertex"].values.all()) for _, d in results.where(part="figure")]


def differences(results: Results) -> float:
    """The largest coordinate difference in z at t = 5 over all draws."""
    import numpy as np

    last = results.select(part="draws").isel(time=-1)
    return float(np.abs(last["euler"].values - last["flow"].values).max())


def same_counts(results: Results) -> int:
    """In how many draws both have the same number of clusters of width up to a tenth of the half-width of the cube."""
    import numpy as np

    import attnflow as af

    data = results.select(part="draws")

    def count(z: Any) -> int:
        return int(af.clusters(np.asarray(z), eps=0.5).count)

    last = data.isel(time=-1)
    return sum(count(last["euler"][k]) == count(last["flow"][k]) for k in range(last.sizes["draw"]))


def spread_at_sixty(results: Results) -> list[float]:
    """The largest distance of a token from the nearest of the limits, which are separated by far more."""
    import numpy as np

    import attnflow as af

    spreads = []
    for z in np.asarray(results.select(part="draws")["last"]):
        group = af.clusters(z, eps=1e-6).labels
        spreads.append(max(float(np.ptp(z[group == k], axis=0).max()) for k in np.unique(group)))
    return spreads


CLAIMS = [
    *(
        Claim(
            id=f"polytope-centroids-{name}",
            statement=f"Nine tokens, V = I, {NAMES[name]}, t = 14: the limits of z",
            kind="equal",
            expected=expected,
            tolerance=1e-4,
            measure=value("centroid", part="reference", B=name),
            source=NUMBERS,
            provenance="derived",
        )
        for name, expected in CENTROIDS.items()
    ),
    *(
        Claim(
            id=f"polytope-labels-{name}",
            statement=f"Nine tokens, V = I, {NAMES[name]}: the limit of each token",
            kind="equal",
            expected=expected,
            measure=value("label", part="reference", B=name),
            source=NUMBERS,
            provenance="derived",
        )
        for name, expected in LABELS.items()
    ),
    *(
        Claim(
            id=f"polytope-dimension-{name}",
            statement=f"Nine tokens, V = I, {NAMES[name]}: the dimension of the limit polytope",
            kind="equal",
            expected=expected,
            measure=dimension(name),
            source=NUMBERS,
            provenance="derived",
            note="flat limits occur: a segment in the plane" if expected == 1 else "",
        )
        for name, expected in DIMENSIONS.items()
    ),
    Claim(
        id="polytope-residual",
        statement="The limits satisfy ⟨x, Bx⟩ = max ⟨x, Bv⟩ over the vertices v: largest relative residual, each run",
        kind="at_most",
        expected=1e-8,
        measure=residuals,
        source=f"{PAPER}, the polytope theorem",
        provenance="theorem",
    ),
    Claim(
        id="polytope-hull",
        statement="V = I: the hull of z never grows; the largest distance of a later token from it, each run",
        kind="at_most",
        expected=1e-10,
        measure=growth_of_hulls,
        source=f"{PAPER}, the polytope theorem",
        provenance="theorem",
        note="in units of the largest token",
    ),
    Claim(
        id="polytope-rate",
        statement="log max |z − limit| falls linearly on [4, 8]: its slope, both reference runs",
        kind="equal",
        expected=-1.0,
        tolerance=0.02,
        measure=rates,
        source=f"{DOCS}, Polytopes",
        provenance="derived",
    ),
    Claim(
        id="polytope-vertices",
        statement="Tokens drawn from a cube end on vertices only, and these satisfy the equation of S",
        kind="property",
        measure=on_vertices,
        source=f"{PAPER}, the polytope theorem; {DOCS}, Polytopes",
        provenance="theorem",
        note="other points of S are unstable and not reached from generic data",
    ),
    Claim(
        id="polytope-sixty",
        statement="t = 60, 20 tokens from [−5, 5]², 20 draws: the largest spread of a cluster of z",
        kind="at_most",
        expected=1e-13,
        measure=spread_at_sixty,
        source=f"{DOCS}, Integration",
        provenance="derived",
        note="the flow is integrated beyond the time at which scores have no fractional digits",
    ),
    Claim(
        id="polytope-euler",
        statement="The authors' scheme, Euler with dt = 0.1, rescaled by R⁻ᵏ: distance from the flow, t = 5, 20 draws",
        kind="at_most",
        expected=0.055,
        measure=differences,
        source=NUMBERS,
        provenance="derived",
        note="tests/witnesses/euclidean_flows.py finds 0.0485; the cube has half-width 5",
    ),
    Claim(
        id="polytope-euler-counts",
        statement="Of 20 draws, in how many Euler and the flow have the same number of clusters",
        kind="equal",
        expected=20,
        measure=same_counts,
        source=NUMBERS,
        provenance="derived",
    ),
]
