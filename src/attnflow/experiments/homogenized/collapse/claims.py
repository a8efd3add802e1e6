"""Claims about collapse in high dimension, and their measurements on the results of `collapse`."""

from itertools import pairwise
from math import exp, log
from typing import Any

from ... import Results, derived_on

PAGE = "docs/theory/homogenized.md"
SIZES = (16, 32, 128)
# beta: times to 0.9 for the three sizes, with both probabilities sampled by tests/witnesses/random_layers.py; their
# standard errors; and what a claim must detect, nearly the distance to the next higher temperature.
TIMES = {
    1.0: ((4.9974, 5.6871, 7.0625), (0.0004, 0.0003, 0.0002), 0.01),
    2.0: ((5.1545, 5.8882, 7.2722), (0.0017, 0.0018, 0.0018), 0.15),
    3.0: ((5.4151, 6.2784, 7.8634), (0.0032, 0.0041, 0.0056), 0.25),
    4.0: ((5.6889, 6.7165, 8.6465), (0.0047, 0.0064, 0.0103), 0.27),
    8.0: ((6.5919, 8.2600, 11.9484), (0.0090, 0.0144, 0.0299), 0.9),
}
BETAS = (0.0, *TIMES)
COLDEST = (9.425, 13.838, 32.177)  # beta = infinity, by quadrature
CASES = ((128, 8.0, 0.3), (32, 3.0, 0.05), (128, 16.0, 0.0), (512, 1.0, 0.5))  # (n, beta, q)
WITNESSED = ((32, 3.0), (128, 8.0))
HOT = (512, 0.5)
CONDENSED = (128, 1024)
FINITE = (64, 128, 512)  # dimensions
LIMIT = 1 - 1 / (1 - 1 / 32 + exp(4) / 32)  # in infinite dimension


def arrival(results: Results, n: int, beta: Any) -> float:
    return float(results.select(part="collapse", n=n, beta=beta)["arrival"])


def arrivals(beta: Any):
    return lambda results: [arrival(results, n, beta) for n in SIZES]


def compared(beta: float, errors: tuple[float, ...]):
    """Times, which have no error, with the standard errors of the reference."""
    return lambda results: (arrivals(beta)(results), list(errors))


def off_the_closed_form(results: Results) -> float:
    """At β = 0: the largest deviation of the flow from 1 − 1/(1 − 1/n + eᵗ/n)."""
    import numpy as np

    errors = []
    for n in SIZES:
        data = results.select(part="collapse", n=n, beta=0.0)
        closed = 1 - 1 / (1 - 1 / n + np.exp(data["time"].values) / n)
        errors.append(float(np.abs(data["inner_product"].values - closed).max()))
    return max(errors)


def delays(results: Results) -> list[float]:
    """The delay of every temperature against the next higher one, all sizes."""
    differences = []
    for n in sorted({cell["n"] for cell, _ in results.where(part="collapse")}):
        here = results.where(part="collapse", n=n)
        betas = sorted(cell["beta"] for cell, _ in here if cell["beta"] != "infinite")
        times = [arrival(results, n, beta) for beta in (*betas, "infinite")]
        differences += [b - a for a, b in pairwise(times)]
    return differences


def hot_delays(results: Results) -> list[float]:
    """At β = 1, all sizes: the time minus that of β = 0."""
    sizes = sorted({cell["n"] for cell, _ in results.where(part="collapse")})
    return [arrival(results, n, 1.0) - log(9 * n + 1) for n in sizes]


def collisions_off(results: Results) -> tuple[Any, Any]:
    data = results.select(part="collisions")
    return (data["sampled"] - data["exact"]).values.ravel().tolist(), data["stderr"].values.ravel().tolist()


def sampled_off(results: Results) -> tuple[list[float], list[float]]:
    delays = [results.select(part="sampled", n=n, beta=b) for n, b in WITNESSED]
    return [float(data["delay"]) for data in delays], [float(data["stderr"]) for data in delays]


def hot(beta: float):
    return lambda results: results.select(part="asymptotics")["hot"].sel(beta=beta).values.tolist()


def condensed(results: Results) -> list[float]:
    """β(1 − P₀) at β = 64 divided by the density of a zero gap."""
    data = results.select(part="asymptotics")
    return (64 * (1 - data["P0"].sel(cold_beta=64.0)) / data["gap"]).values.tolist()


def slower(results: Results) -> list[float]:
    """The limit of high dimension less the mean in finite dimension, in standard errors."""
    return [(LIMIT - float(data["mean"])) / float(data["stderr"]) for _, data in results.where(part="finite")]


claim = derived_on(PAGE, "collapse")
HIGH = "Collapse in high dimension"
CLAIMS = [
    claim(
        "hot",
        "β = 0: the time from orthogonal tokens to q = 0.9, n = 16, 32, 128, is log(9n + 1)",
        [log(9 * n + 1) for n in SIZES],
        arrivals(0.0),
        HIGH,
        1e-6,
    ),
    claim(
        "closed-form",
        "β = 0: the largest deviation of q(t) from 1 − 1/(1 − 1/n + eᵗ/n), 0 ≤ t ≤ 16",
        1e-8,
        off_the_closed_form,
        HIGH,
        0.0,
        kind="at_most",
    ),
    *(
        claim(
            f"beta-{beta:g}",
            f"β = {beta:g}: the time to q = 0.9, n = 16, 32, 128",
            list(times),
            compared(beta, errors),
            HIGH,
            4,
            tolerance_kind="sigma",
            detects=detects,
            note="the reference is a random sample; the claim distinguishes this from the next higher temperature",
        )
        for beta, (times, errors, detects) in TIMES.items()
    ),
    claim(
        "argmax",
        "β = ∞: the time to q = 0.9, n = 16, 32, 128",
        list(COLDEST),
        arrivals("infinite"),
        HIGH,
        1e-3,
    ),
    claim(
        "ratio",
        "n = 128: the time at β = 8 divided by that at β = 0",
        TIMES[8.0][0][2] / log(9 * 128 + 1),
        lambda results: arrival(results, 128, 8.0) / arrival(results, 128, 0.0),
        HIGH,
        0.02,
        note="the tolerance is four standard errors of the reference, which is a random sample",
    ),
    claim(
        "sampled-times",
        "Times to 0.9 with probabilities drawn at random minus the deterministic ones, (n, β) = (32, 3), (128, 8)",
        [0.0, 0.0],
        sampled_off,
        "Collisions",
        4,
        tolerance_kind="sigma",
        detects=[0.4, 3.0],
        note="at the temperatures next to these the times differ by 0.44 and 3.3",
    ),
    claim(
        "collisions",
        "P₀ and P₁ drawn at random minus the deterministic sums, four cases",
        [0.0] * 8,
        collisions_off,
        "Collisions",
        4,
        tolerance_kind="sigma",
        detects=[0.1, 0.03, 0.1, 0.0055, 0.1, 0.0075, 5e-4, 5e-4],
        note="it distinguishes P₀ from P₁, and P₁ from the 1/n of unrelated tokens",
    ),
    claim(
        "delay",
        "Lower temperature delays collapse: the least delay from one β to the next, all n",
        0.0,
        delays,
        HIGH,
        0.0,
        kind="at_least",
    ),
    claim(
        "log-law",
        "The logarithmic law holds at β = 1, too: the time minus log(9n + 1), all n",
        0.03,
        hot_delays,
        HIGH,
        0.0,
        kind="at_most",
        provenance="observation",
        note="that it vanishes is theory; 0.03 for n ≥ 16 is our threshold",
    ),
    claim(
        "hot-collisions",
        "n = 512, β = 1, q = 0.5: P₀n and P₁n divided by their laws at high temperature",
        1.0,
        hot(1.0),
        "Collisions",
        0.005,
    ),
    claim(
        "condensed",
        "Condensed attention, n = 128 and 1024: 64(1 − P₀) at β = 64 divided by the density of a zero gap",
        1.0,
        condensed,
        "Collisions",
        0.02,
    ),
    claim(
        "finite-slower",
        "n = 32, β = 0, d = 64 (full: also 128, 512): the limit minus the mean inner product at t = 4",
        4.0,
        slower,
        "Finite dimension",
        0.0,
        kind="at_least",
        note="in standard errors",
    ),
]
