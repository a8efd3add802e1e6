"""Claims about prompts in motion, and their measurements on the results of `dynamics`."""

from typing import Any

from ... import Claim, Results

SLOPES = (0.0, 1.0, 4.0)  # λ, per whole prompt
SERIES = ((1.0, 9), (1.0, 24), (2.0, 14), (2.0, 30))  # β, and modes of the Bessel series
CLOCKS = (1.0, 2.0)  # β of the four blocks
PREFIXES = {"softmax": ("dense", False), "positional": ("spectral:16", True)}  # engine, strictly the past
CLOUDS = {2: (1.0, 16.0), 3: (1.0,)}  # β by dimension
PAGE = "docs/theory/causal-clustering.md"


def at_temperature(beta: float):
    """The distance of the four blocks from those of SciPy."""
    return lambda results: float(results.select(part="blocks")["difference"].sel(beta=beta))


def from_the_series(case: int):
    """For each engine."""
    return lambda results: results.select(part="series")["difference"].values[case].tolist()


def differences(part: str, **cells: Any):
    """All entries of `difference` in some cells of a part; `cells` names the key that differs and its values."""
    ((key, values),) = cells.items()

    def measure(results: Results) -> list[float]:
        return [float(a) for value in values for a in results.select(part=part, **{key: value})["difference"].values]

    return measure


def from_the_continuum(results: Results) -> float:
    """The largest relative difference, over slopes and positions."""
    data = results.select(part="weights")
    return float(abs(data["last"] / data["limit"] - 1).max())


CLAIMS = [
    Claim(
        id="dynamics-angles",
        statement="N = 64 in four blocks, β = λ = 1, t up to 10: tokens less angles integrated by SciPy",
        kind="equal",
        expected=0.0,
        tolerance=1e-8,
        measure=at_temperature(1.0),
        source=f"{PAGE}, Two models",
        provenance="derived",
    ),
    Claim(
        id="dynamics-clock",
        statement="The same, β = 2: tokens at t less angles of unnormalised attention (USA) at βt by SciPy",
        kind="equal",
        expected=0.0,
        tolerance=1e-8,
        measure=at_temperature(2.0),
        source=f"{PAGE}, Two models",
        provenance="derived",
    ),
    Claim(
        id="dynamics-weights",
        statement="N = 1000, λ = 0, 1, 4: N w of the last token over λ e^(λr)/(e^(λs) − 1), less 1",
        kind="equal",
        expected=0.0,
        tolerance=0.003,
        measure=from_the_continuum,
        source=f"{PAGE}, Two models",
        provenance="derived",
        note="the difference is of order (1 + λ)/N",
    ),
    *(
        Claim(
            id=f"dynamics-series-{beta:g}-{modes}",
            statement=f"N = 512, β = {beta:g}: speeds less those by prefix sums of {modes} modes; both engines",
            kind="equal",
            expected=0.0,
            tolerance=tolerance,
            measure=from_the_series(case),
            source=f"{PAGE}, One walk along the prompt",
            provenance="derived",
        )
        for case, ((beta, modes), tolerance) in enumerate(zip(SERIES, (1e-7, 1e-12, 1e-7, 1e-12), strict=True))
    ),
    Claim(
        id="dynamics-prefix",
        statement="170 of 300 tokens alone less the same among all, t = 2, λ = 0 and 4: softmax, then positional",
        kind="equal",
        expected=0.0,
        tolerance=1e-13,
        measure=differences("prefix", normalize=list(PREFIXES)),
        source=f"{PAGE}, Prefixes",
        provenance="derived",
    ),
    Claim(
        id="dynamics-large",
        statement="4096 tokens, circle β = 1 and 16, S² β = 1: attention by one walk less that by direct sums",
        kind="equal",
        expected=0.0,
        tolerance=1e-12,
        measure=differences("large", d=list(CLOUDS)),
        source="docs/theory/fast-sums.md, Causal sums",
        provenance="derived",
    ),
]
