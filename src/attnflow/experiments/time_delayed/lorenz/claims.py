"""Claims about the Lorenz system, and their measurements on the results of `lorenz`."""

from ... import Results
from ..._claim import derived_on
from ..measured import PAGE, every

DT = 0.02
LINEAR = (8, 32)
SECTION = "Lorenz"
NETWORK = {"part": "network", "delays": 8}

claim = derived_on(PAGE, "lorenz")


def valid_of_seeds(results: Results) -> float:
    """The median over starts, and of that the median over seeds."""
    return float(results.select(**NETWORK)["valid"].median("start").median("draw"))


def valid_of_linear(results: Results) -> list[float]:
    return [float(data["valid"].median()) for _, data in results.where(part="linear")]


def one_step_ratio(results: Results) -> float:
    """The one-step error of TD-DMD with 32 delays over that of the network."""
    return float(results.select(part="linear", delays=32)["one_step"] / results.select(**NETWORK)["one_step"])


def at_rest(results: Results) -> list[float]:
    """Histogram distances of x of the linear models."""
    return [float(data["histogram"].isel(draw=0, component=0)) for _, data in results.where(part="linear")]


CLAIMS = [
    claim(
        "valid",
        "TD-TF, 8 delays, 9000 steps: the median valid prediction time in Lyapunov times, of the median seed",
        2.5,
        valid_of_seeds,
        SECTION,
        kind="at_least",
        provenance="observation",
    ),
    claim(
        "valid-linear",
        "TD-DMD, 8 and 32 delays: the same",
        0.6,
        valid_of_linear,
        SECTION,
        kind="at_most",
        provenance="observation",
    ),
    claim(
        "one-step",
        "… and yet: the one-step error of TD-DMD with 32 delays over that of TD-TF",
        1.0,
        one_step_ratio,
        SECTION,
        kind="at_most",
        provenance="observation",
    ),
    claim(
        "histogram",
        "TD-TF, 9500 steps: histogram distance of x, y, z from the system, every seed",
        0.12,
        every("histogram", **NETWORK),
        SECTION,
        kind="at_most",
        provenance="observation",
        possible=(0.0, 1.0),
        note="5000 samples of the system itself are 0.04 to 0.13 away from the reference",
    ),
    claim(
        "histogram-linear",
        "TD-DMD: histogram distance of x",
        0.8,
        at_rest,
        SECTION,
        kind="at_least",
        provenance="observation",
        possible=(0.0, 1.0),
    ),
    claim(
        "exponent-flow",
        "The estimator on the system itself: the largest Lyapunov exponent, 0.9056",
        0.9056,
        every("exponent", part="flow"),
        SECTION,
        0.055,
    ),
    claim(
        "exponent",
        "TD-TF: the largest Lyapunov exponent of the map of windows, the best seed",
        0.9056,
        every("exponent", **NETWORK),
        SECTION,
        0.15,
        provenance="observation",
    ),
]
