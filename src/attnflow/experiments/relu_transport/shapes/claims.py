"""Claims about shapes that are known by samples, and their measurements on the results of `shapes`."""

from ... import Claim, Results

PAGE = "docs/theory/relu-transport.md, Samples"


def said_less_fresh(results: Results) -> tuple[list[float], list[float]]:
    """The log density that the report states, on points held back, less that of new points; with its standard error."""
    import math

    rows = [data for _, data in results]
    return [float(d["said"] - d["fresh"]) for d in rows], [
        math.hypot(float(d["said_error"]), float(d["fresh_error"])) for d in rows
    ]


def gain_over_gaussian(results: Results) -> list[float]:
    return [float(data["fresh"] - data["gaussian"]) for _, data in results]


CLAIMS = [
    Claim(
        id="shapes-report",
        statement="The mean log density that a report states, less that of 20000 new points: every shape",
        kind="equal",
        expected=0.0,
        tolerance=4.0,
        tolerance_kind="sigma",
        detects=0.5,
        measure=said_less_fresh,
        source=PAGE,
        provenance="derived",
        note="Points that the report looks at were held back, so that it is right on average. A report on points that "
        "were fitted to may be off by as much as they were overfitted.",
    ),
    Claim(
        id="shapes-gain",
        statement="The mean log density of new points less that of the Gaussian with the moments of the samples",
        kind="at_least",
        expected=0.3,
        measure=gain_over_gaussian,
        source=PAGE,
        provenance="observation",
    ),
]
