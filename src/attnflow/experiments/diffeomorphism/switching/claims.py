"""The claims of `switching`."""

import math

from ... import Results, derived_on
from ..._measures import mean_and_error

PAGE = "docs/theory/diffeomorphism.md"
PIECES = (1024, 2048, 4096, 8192, 16384)
SIZE = 4096  # pieces of the many repeats that tell the size of fluctuations

claim = derived_on(PAGE, "switching")


def errors(results: Results) -> list[float]:
    """RMS errors of random switching, over points and repeats."""
    rows = [data["square"] for _, data in results.where(part="random")]
    return [math.sqrt(max(float(squares.mean()), 0.0)) for squares in rows]


def in_turn(results: Results) -> list[float]:
    return [float(data["rms"]) for _, data in results.where(part="in turn")]


def slope(values: list[float], pieces: tuple[int, ...] = PIECES) -> float:
    """Of the logarithm of the last values against that of the pieces."""
    import numpy as np

    x, y = np.log(pieces), np.log(values[-len(pieces) :])
    return float((x - x.mean()) @ y / ((x - x.mean()) @ (x - x.mean())))


def size(results: Results) -> tuple[float, float]:
    """n times the mean square over the square that is predicted."""
    predicted = float(results.select(part="field")["fluctuation"])
    return mean_and_error(SIZE * results.select(part="random", pieces=SIZE)["square"] / predicted**2)


CLAIMS = [
    claim(
        "slope",
        "Random switching, n = 2¹⁰ to 2¹⁴: the slope of log RMS against log n",
        -0.5,
        lambda results: slope(errors(results)),
        "Random switching",
        0.2,
    ),
    claim(
        "size",
        "n = 4096: n times the mean squared error, over the variance of the fluctuations in the limit",
        1.0,
        size,
        "Random switching",
        3,
        "sigma",
        detects=0.6,
    ),
    claim(
        "in-turn",
        "All neurons in turn, n = 2¹² to 2¹⁴: the slope of log RMS against log n, a splitting of first order",
        -1.0,
        lambda results: slope(in_turn(results), PIECES[2:]),
        "Random switching",
        0.25,
    ),
    claim(
        "device-of-theory",
        "Errors of the neurons in turn over those of random switching, n = 2¹⁰ to 2¹⁴",
        0.5,
        lambda results: [one / other for one, other in zip(in_turn(results), errors(results), strict=True)],
        "Random switching",
        kind="at_most",
        provenance="observation",
    ),
]
