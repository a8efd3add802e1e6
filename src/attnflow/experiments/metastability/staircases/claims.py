"""Claims about staircases, and their measurements on the results of `staircases`."""

from typing import Any

from ... import Claim, Results

NUMBERS = "docs/theory/metastability.md, Reference staircases"
HEIGHTS = "docs/theory/metastability.md, Heights of plateaus"
PAIR = "docs/theory/metastability.md, How long a pair takes"
# Data, clock, beta, number of clusters left, times, relative tolerance: half a unit of the last digit that is given.
TIMES = [
    ("W32", "SA", 4.0, [2, 1], [12.7559, 2773.677], 4e-6),
    ("W32", "SA", 9.0, [3, 2, 1], [13.1832, 337.5959, 1.8718137e7], 4e-6),
    ("W32", "SA", 16.0, [5, 4, 3, 2, 1], [10.8306, 50.7361, 178.7590, 1.7289288e6, 8.3794e12], 6e-6),
    ("W32", "SA", 30.0, [6, 5], [10.7511, 54.6531], 5e-6),
    ("W32", "SA", 30.0, [4, 3, 2, 1], [1.2686337e4, 1.6272586e5, 1.0028692e13, 6.504290e24], 1e-6),
    ("W32", "shifted USA", 9.0, [3, 2, 1], [67.2077, 774.1726, 3.2242423e8], 1e-6),
    ("W32", "shifted USA", 30.0, [6, 3, 2, 1], [192.675, 4.14186909e6, 1.10355e13, 4.09894e26], 5e-6),
    ("figure", "SA", 500.0, [4, 3, 2, 1], [7.262, 19.326, 1.9514e5, 3.1958e15], 7e-5),
    ("figure", "SA", 2000.0, [4, 3, 2, 1], [8.3249, 3.6991e7, 4.7432e25, 6.9907e69], 2e-5),
    ("figure", "SA", 4000.0, [1], [1.3237e143], 4e-5),
    ("figure", "shifted USA", 2000.0, [4, 3, 2, 1], [22.750, 1.5412e8, 2.3724e26, 8.7005e64], 4e-5),
    ("animation", "SA", 4.0, [4, 3, 2, 1], [5.785, 7.096, 9.732, 332.8588], 9e-5),
    ("S2", "SA", 9.0, [3, 2, 1], [17.3394, 75.2837, 6.18429e6], 4e-6),
    ("S2", "SA", 30.0, [5, 4, 3, 2, 1], [1479.41, 9.55051e4, 3.96739e5, 1.0795e9, 1.09743e24], 5e-5),
]
# Energies directly after merges, tolerance half a unit of the last digit.
ENERGIES = [
    ("W32", 4.0, [2], [0.517742], 5e-7),
    ("W32", 9.0, [3, 2], [0.380875404, 0.517578134], 5e-10),
    ("W32", 16.0, [5, 4, 3, 2], [0.220873, 0.298861, 0.380859, 0.517578], 6e-7),
    ("W32", 30.0, [6, 5, 4], [0.191425, 0.210938, 0.298828], 6e-7),
    ("W32", 30.0, [3, 2], [0.380859375, 0.517578125], 1e-9),
    ("figure", 2000.0, [4, 3, 2, 1], [0.28, 0.44, 0.52, 1.0], 1e-4),
    ("animation", 4.0, [2], [0.520324], 6e-7),
    ("S2", 9.0, [2], [0.503472], 6e-7),
    ("S2", 30.0, [3], [0.378472], 6e-7),
]
NAMES = {
    "W32": "32 tokens on the circle",
    "figure": "the five tokens of the paper's figure",
    "animation": "the five tokens of the paper's animation",
    "S2": "24 tokens on S²",
}


def at_merges(variable: str, left: list[int], **cell: Any):
    """A variable at the merges that leave these numbers of clusters; NaN where there is no such merge."""

    def measure(results: Results) -> list[float]:
        by_count = {event["clusters"]: event[variable] for event in reversed(results.run(**cell).events)}
        return [float(by_count.get(count, "nan")) for count in left]

    return measure


def times(left: list[int], **cell: Any):
    import math

    logs = at_merges("log_t", left, **cell)
    return lambda results: [math.exp(min(v, 700.0)) for v in logs(results)]


def beyond_bounds(results: Results) -> list[float]:
    """The distance of the energy directly after a merge from the interval that the masses allow, for each run."""
    import numpy as np

    distances = []
    for cell, data in results:
        above = [event["energy"] for event in results.run(**cell).events] - data["height"].values
        distances.append(float(np.maximum(-above, above - data["bound"].values).max()))
    return distances


def last_merge_over_quadrature(results: Results) -> list[float]:
    """The time between the last two merges over that of two clusters alone, for runs in which two are far apart."""
    import math

    import numpy as np

    import attnflow as af

    ratios = []
    for cell, data in results:
        log_t = _log_times(results.run(**cell))
        gap, end = float(data["gap"][-2]), 1e-3 / math.sqrt(cell["beta"])
        p = (1 + math.sqrt(max(2 * float(data["height"][-2]) - 1, 0.0))) / 2  # p² + (1 − p)² is the height
        with np.errstate(over="ignore"):
            expected = float(af.reductions.two_cluster_time(cell["beta"], u0=gap, u1=end, weight=p, clock=cell["kind"]))
        waited = math.exp(log_t[-1]) - math.exp(log_t[-2])
        ratios.append(waited / expected)
    return ratios


def figure_from_gaps(results: Results) -> list[float]:
    """Times of the last three merges of the figure's tokens under shifted USA over those of pairs of means."""
    import math

    import numpy as np

    import attnflow as af

    ratios = []
    for cell, run in results.where(data="figure", kind="shifted USA").runs():
        beta = cell["beta"]
        if beta < 2000:  # the fourth token acts on the third
            continue
        first = np.asarray(run.xs[0])
        theta = np.arctan2(first[:, 1], first[:, 0])
        pair, triple, outer = theta[:2].mean(), theta[:3].mean(), theta[3:].mean()
        steps = [(theta[2] - pair, 0.6), (theta[4] - theta[3], 0.4), (outer - triple, 1.0)]
        for log_t, (gap, mass) in zip(_log_times(run)[1:], steps, strict=True):
            alone = af.reductions.two_cluster_time(
                beta, u0=gap, u1=1e-3 / math.sqrt(beta), weight=0.5, clock="shifted USA"
            )
            ratios.append(math.exp(log_t) * mass / float(alone))
    return ratios


def at_the_start(results: Results) -> list[float]:
    return [float(results.select(data="figure", kind="SA", beta=b)["energy"][0]) for b in (500.0, 2000.0, 4000.0)]


def least_rise(results: Results) -> list[float]:
    """The least rise of the energy from row to row between merges, for each run."""
    import numpy as np

    least = []
    for cell, data in results:
        rises = np.diff(np.asarray(data["row_energy"]))
        merged = [event["index"] - 1 for event in results.run(**cell).events]
        least.append(float(np.delete(rises, merged).min()))
    return least


def _log_times(run: Any) -> list[float]:
    return [event["log_t"] for event in run.events]


def _name(data: str, kind: str, beta: float, left: list[int]) -> str:
    short = {"SA": "sa", "shifted USA": "usa"}[kind]
    return f"{data.lower()}-{short}-{beta:g}-from-{left[0]}"


def _list(left: list[int]) -> str:
    return ", ".join(map(str, left)) + (" clusters" if left != [1] else " cluster")


CLAIMS = [
    *(
        Claim(
            id=f"staircase-times-{_name(data, kind, beta, left)}",
            statement=f"{kind}, β = {beta:g}, {NAMES[data]}: times of the merges that leave {_list(left)}",
            kind="equal",
            expected=expected,
            tolerance=tolerance,
            tolerance_kind="rel",
            measure=times(left, data=data, kind=kind, beta=beta),
            source=NUMBERS,
            provenance="derived",
        )
        for data, kind, beta, left, expected, tolerance in TIMES
    ),
    *(
        Claim(
            id=f"staircase-energies-{_name(data, 'SA', beta, left)}",
            statement=f"SA, β = {beta:g}, {NAMES[data]}: energy after the merges that leave {_list(left)}",
            kind="equal",
            expected=expected,
            tolerance=tolerance,
            measure=at_merges("energy", left, data=data, kind="SA", beta=beta),
            source=NUMBERS,
            provenance="derived",
        )
        for data, beta, left, expected, tolerance in ENERGIES
    ),
    Claim(
        id="staircase-start",
        statement="The five tokens of the paper's figure: energy at the start, β = 500, 2000, 4000; it tends to 1/5",
        kind="equal",
        expected=[0.252448, 0.213156, 0.202163],
        tolerance=5e-7,
        measure=at_the_start,
        source=NUMBERS,
        provenance="derived",
    ),
    Claim(
        id="staircase-heights",
        statement="After a merge the energy is in [Σ W², Σ W² + (1 − Σ W²) exp(−β(1 − cos u))]: distance from it",
        kind="at_most",
        expected=1e-11,
        measure=beyond_bounds,
        for_all=("beta",),
        source=HEIGHTS,
        provenance="derived",
        note="u is the least angle between clusters; one number for each run",
    ),
    Claim(
        id="staircase-last-merge",
        statement="The time before the last merge over the time of two clusters alone, by quadrature, for each run",
        kind="equal",
        expected=1.0,
        tolerance=1e-4,
        measure=last_merge_over_quadrature,
        source=PAIR,
        provenance="derived",
    ),
    Claim(
        id="staircase-from-means",
        statement="Shifted USA, the figure's tokens: merge times over those of pairs at their means, β from 2000 on",
        kind="equal",
        expected=1.0,
        tolerance=0.01,
        measure=figure_from_gaps,
        source=PAIR,
        provenance="derived",
        note="shifted USA on the circle conserves the mean angle of a pair; others change the time by about 0.5 %",
    ),
    Claim(
        id="staircase-ascent",
        statement="The energy never falls between merges: least rise from one saved time to the next, for each run",
        kind="at_least",
        expected=-1e-12,
        measure=least_rise,
        for_all=("beta",),
        source="arXiv:2410.06833, Section 3: SA and USA are gradient flows of the energy",
        provenance="theorem",
        note="a merge may change it by up to the mass of the pair times βr², that is by 10⁻⁶ at most",
    ),
]
