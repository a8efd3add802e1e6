"""The claims of `cells`."""

from collections.abc import Callable

from ... import Results, derived_on
from ..._measures import value

PAGE = "docs/theory/diffeomorphism.md"
PLANE = (4, 8, 16, 32)  # cells along an axis
SPACE = (4, 8, 12)
RAMPS = (4, 8, 16)

claim = derived_on(PAGE, "cells")


def series(part: str, *variables: str) -> Callable[[Results], list[float]]:
    """Variables of all cells of one part."""
    return lambda results: [float(data[name]) for name in variables for _, data in results.where(part=part)]


def slope(part: str, x: str, y: str, least: int) -> Callable[[Results], float]:
    """Of log y against log x over the cells with at least this n."""

    def measure(results: Results) -> float:
        import numpy as np

        rows = [{**data, "n": cell["n"]} for cell, data in results.where(part=part) if cell["n"] >= least]
        log_x, log_y = np.log([[float(row[name]) for row in rows] for name in (x, y)])
        away = log_x - log_x.mean()
        return float(away @ log_y / (away @ away))

    return measure


def times_n(part: str, n: int) -> Callable[[Results], float]:
    """The RMS error in sides of a cell."""
    return lambda results: n * float(results.select(part=part, n=n)["rms"])


def worst(name: str) -> Callable[[Results], float]:
    import math

    def measure(results: Results) -> float:
        values = [float(data[name]) for part in ("swirl", "bent", "space") for _, data in results.where(part=part)]
        return math.nan if any(v != v for v in values) else max(values)

    return measure


def above(name: str, bound: str) -> Callable[[Results], list[int]]:
    parts = ("ramps", "swirl", "bent", "space")
    return lambda results: [
        int(data[name]) - int(data[bound]) for part in parts for _, data in results.where(part=part)
    ]


CLAIMS = [
    claim(
        "ramps",
        "Random permutations of 4², 8² and 16² cells, ramps of η = 1e−3 cells: the share of lost points over η",
        2.0,
        series("ramps", "lost"),
        "Ramps",
        0.25,
    ),
    claim(
        "swirl",
        "A swirl that keeps areas, n = 16: the RMS error in sides of a cell",
        0.45,
        times_n("swirl", 16),
        "Measured",
        0.05,
    ),
    claim(
        "swirl-least",
        "The swirl, n = 4, 8, 16, 32: the RMS error over the one that translations of cells cannot avoid",
        1.0,
        lambda results: [float(d["rms"] / d["least"]) for _, d in results.where(part="swirl")],
        "Maps that keep volumes",
        0.01,
        kind="at_least",
    ),
    claim(
        "quarter-turn",
        "A quarter turn of the square, n = 8: the RMS error in sides of a cell, 1/√3",
        3**-0.5,
        times_n("turn", 8),
        "Maps that keep volumes",
        0.01,
        "rel",
    ),
    claim(
        "swirl-volume",
        "The swirl, all n: the largest |log det|",
        0.0,
        series("swirl", "log_det"),
        "Permutations",
    ),
    claim(
        "exact",
        "All maps, d = 2 and 3: the largest distance of an image from where its cell goes, off the ramps",
        1e-12,
        worst("images"),
        "Permutations",
        kind="at_most",
    ),
    claim(
        "round-trip",
        "All maps: the largest distance of a point from the inverse of its image, off the ramps",
        1e-12,
        worst("round_trip"),
        "Permutations",
        kind="at_most",
    ),
    claim(
        "log-det",
        "All maps: the largest error of log det against the factors by which cells are stretched",
        1e-10,
        worst("log_det"),
        "General maps",
        kind="at_most",
    ),
    claim("bent-rms", "Areas change, n = 16: RMS", 0.036, value("rms", part="bent", n=16), "Measured", 0.1, "rel"),
    claim("bent-tv", "Areas change, n = 16: TV", 0.048, value("tv", part="bent", n=16), "Measured", 0.1, "rel"),
    claim("bent-kl", "Areas change, n = 16: KL", 0.0100, value("kl", part="bent", n=16), "Measured", 0.15, "rel"),
    claim(
        "bent-counts",
        "Areas change, n = 4, 8, 16, 32: pieces before shears are merged",
        [118, 434, 1666, 6518],
        series("bent", "unmerged"),
        "Measured",
        0.02,
        "rel",
    ),
    claim(
        "space",
        "A map of the cube, n = 8: RMS and TV",
        [0.090, 0.104],
        lambda results: [float(results.select(part="space", n=8)[name]) for name in ("rms", "tv")],
        "Measured",
        0.1,
        "rel",
    ),
    claim(
        "counts",
        "All maps: pieces less their bound, merged",
        0.0,
        above("merged", "most"),
        "Counts",
        kind="at_most",
    ),
    claim(
        "rate",
        "Areas change, n = 8, 16, 32: the slope of log RMS against log n",
        -1.0,
        slope("bent", "n", "rms", 8),
        "General maps",
        0.15,
    ),
    claim(
        "tv-rate",
        "The same of log TV",
        -1.0,
        slope("bent", "n", "tv", 8),
        "General maps",
        0.2,
    ),
    claim(
        "kl-rate",
        "The same of log KL",
        -2.0,
        slope("bent", "n", "kl", 8),
        "General maps",
        0.4,
    ),
    claim(
        "pieces-plane",
        "The slope of log pieces against log RMS, d = 2, n ≥ 8: the paper's ε^(−d)",
        -2.0,
        slope("bent", "rms", "merged", 8),
        "Counts",
        0.3,
    ),
    claim(
        "pieces-space",
        "The same, d = 3",
        -3.0,
        slope("space", "rms", "merged", 8),
        "Counts",
        0.45,
    ),
]
