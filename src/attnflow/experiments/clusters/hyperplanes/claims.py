"""The claims of `hyperplanes`."""

from ... import Claim, Results
from ..tokens import DOCS, NUMBERS, PAPER, slope

GOOD = ("plane", "space, Re < 0", "space, Re > 0")
F_COMPONENTS = [
    [0.62345, -0.67337],
    [0.23196, 0.82162],
    [-0.79402, 0.45604],
    [-1.04218, -0.18995],
    [-0.03414, -0.77635],
]


def levels(results: Results) -> list[float]:
    """The values of u at t = 12, of the nine tokens."""
    data = results.select(part="reference", matrix="plane")
    return data["u"].sel(time=12, method="nearest").values.tolist()


def reference_rate(results: Results) -> float:
    data = results.select(part="reference", matrix="plane")
    return slope(data["time"], data["spread"], 4.0, 8.0) / float(data["lambda"])


def rates(results: Results) -> list[float]:
    runs = (results.select(part="figure", matrix=name) for name in GOOD)
    return [slope(data["time"], data["spread"], 4.0, 8.0) / float(data["lambda"]) for data in runs]


def at_most_three(results: Results) -> list[bool]:
    return [bool(results.select(part="figure", matrix=name)["holds"]) for name in GOOD]


def beyond_extremes(results: Results) -> list[float]:
    """The largest growth of max u, or fall of min u, between saved times, over the largest initial |u|."""
    import numpy as np

    violations = []
    for _, data in results:
        if "u" in data:
            u = np.asarray(data["u"])
            worst = max(np.diff(u.max(axis=1)).max(), -np.diff(u.min(axis=1)).min())
            violations.append(float(worst / np.abs(u[0]).max()))
    return violations


def components_in_f(results: Results) -> list[list[float]]:
    return results.select(part="reference", matrix="mix")["centroid"].values[:, :2].tolist()


def clusters_and_vertices(results: Results) -> list[float]:
    data = results.select(part="reference", matrix="mix")
    return [float(data["count"]), float(data["vertices"])]


def residuals_in_f(results: Results) -> list[float]:
    return [float(results.select(part=part, matrix="mix")["residual"]) for part in ("reference", "figure")]


def growth_along_g(results: Results) -> float:
    """The slope of log max |z_3|, whose eigenvalue is -1/2."""
    import numpy as np

    run = results.run(part="figure", matrix="mix")
    return slope(run.ts, np.abs(run.xs[:, :, 2]).max(axis=1), 6.0, 14.0)


def subspaces(results: Results) -> int:
    """The number of points at which the components along the two positive eigenvalues gather."""
    import numpy as np

    import attnflow as af

    cell = {"part": "figure", "matrix": "codimension"}
    last = np.asarray(results.run(**cell).xs)[-1][:, results.select(**cell)["eigenvalue"].values > 0]
    return int(af.clusters(last, eps=1e-3 * float(np.abs(last).max())).count)


CLAIMS = [
    Claim(
        id="hyperplane-levels",
        statement="Nine tokens, the paper's V in the plane, t = 12: u = φ₁*(z) of each token",
        kind="equal",
        expected=[0.65597, 0.65597, -0.70129, -0.70129, -0.70129, -0.70129, 0.65597, 0.65597, -0.70129],
        tolerance=1e-4,
        measure=levels,
        source=NUMBERS,
        provenance="derived",
    ),
    Claim(
        id="hyperplane-rate",
        statement="Nine tokens: the slope of the log of the largest spread of u in a group on [4, 8], over λ₁",
        kind="equal",
        expected=-1.0,
        tolerance=0.01,
        measure=reference_rate,
        source=f"{DOCS}, Hyperplanes",
        provenance="derived",
    ),
    Claim(
        id="hyperplane-rates-of-figures",
        statement="The same slope for 20 tokens with the paper's three matrices",
        kind="equal",
        expected=-1.0,
        tolerance=0.01,
        measure=rates,
        source=f"{DOCS}, Hyperplanes",
        provenance="derived",
    ),
    Claim(
        id="hyperplane-count",
        statement="20 tokens, the paper's matrices: at most three hyperplanes, u positive, negative or zero, at rest",
        kind="property",
        measure=at_most_three,
        source=f"{PAPER}, the hyperplane theorem",
        provenance="theorem",
        note="generic tokens gather on two; the plane through 0 is unstable",
    ),
    Claim(
        id="hyperplane-monotone",
        statement="max u never grows and min u never falls: the largest violation, for each run",
        kind="at_most",
        expected=1e-12,
        measure=beyond_extremes,
        source=f"{PAPER}, the hyperplane theorem",
        provenance="theorem",
        note="in units of the largest |u| at the start",
    ),
    Claim(
        id="mix-centroids",
        statement="Eight tokens, V = diag(1, 1, −1/2), t = 14: limits of the components in F",
        kind="equal",
        expected=F_COMPONENTS,
        tolerance=1e-4,
        measure=components_in_f,
        source=NUMBERS,
        provenance="derived",
    ),
    Claim(
        id="mix-clusters",
        statement="Eight tokens, V = diag(1, 1, −1/2): number of clusters in F, and number of vertices among them",
        kind="equal",
        expected=[5, 5],
        measure=clusters_and_vertices,
        source=NUMBERS,
        provenance="derived",
    ),
    Claim(
        id="mix-residual",
        statement="Mix: limits in F satisfy the equation of the polytope theorem; largest relative residual, two runs",
        kind="at_most",
        expected=1e-6,
        measure=residuals_in_f,
        source=f"{PAPER}, the mix theorem",
        provenance="theorem",
    ),
    Claim(
        id="mix-divergence",
        statement="Mix: the third coordinate of z diverges like e^(t/2), the eigenvalue being −1/2: slope of its log",
        kind="equal",
        expected=0.5,
        tolerance=0.01,
        measure=growth_along_g,
        source=f"{DOCS}, The mix",
        provenance="derived",
        note="followers of a leader keep x₃ bounded and in general not zero, and z₃ = e^(t/2) x₃",
    ),
    Claim(
        id="codimension",
        statement="The paper's matrix with two positive eigenvalues, 20 tokens, t = 60: number of lines near z",
        kind="at_most",
        expected=3,
        measure=subspaces,
        source=f"{PAPER}, the codimension conjecture",
        provenance="observation",
        note="a conjecture, not a theorem: an observation on one draw",
    ),
]
