"""What `mean_field` computes on the line."""

from typing import TYPE_CHECKING, Any

from ... import Cell
from .claims import SIGMOID, SOFTMAX

if TYPE_CHECKING:
    import xarray

SAVED = 14
SHOWN = 2  # the case of sigmoid attention whose density is drawn


def _solved(attention: Any, density: Any, t1: float, cells: int, interval: tuple[float, float]) -> Any:
    """Mean, variance and excess kurtosis of a law on the line, and the law."""
    import numpy as np
    import xarray

    import attnflow as af

    ts = np.linspace(0, t1, SAVED)
    law = af.mean_field(af.SelfAttention(attention, af.Euclidean()), density, ts=ts, cells=cells, interval=interval)
    mean = law.mean(lambda x: x)
    variance = law.mean(lambda x: (x - mean[:, None]) ** 2)
    kurtosis = law.mean(lambda x: (x - mean[:, None]) ** 4) / variance**2 - 3
    data = xarray.Dataset(
        {
            "mean": ("time", mean),
            "variance": ("time", variance),
            "kurtosis": ("time", kurtosis),
        },
        coords={"time": law.ts},
    )
    return data, law


def softmax(cell: Cell) -> "xarray.Dataset":
    """A Gaussian stays Gaussian: closed forms, as long as the spread of scores is below one half."""
    import numpy as np

    import attnflow as af

    v, a, s0, mean0 = (SOFTMAX[name] for name in ("v", "a", "s0", "mean0"))
    half = 9 * np.sqrt(s0)
    data, _ = _solved(
        af.Softmax(beta=a, V=[[v]]),
        lambda x: np.exp(-((x - mean0) ** 2) / (2 * s0)),
        SOFTMAX["t1"],
        cell["cells"],
        (mean0 - half, mean0 + half),
    )
    variance = s0 / (1 - 2 * v * a * s0 * data["time"].values)
    data["closed_variance"] = ("time", variance)
    data["closed_mean"] = ("time", mean0 * np.exp(v * data["time"].values) * np.sqrt(variance / s0))
    return data


def linear(cell: Cell) -> "xarray.Dataset":
    """Linear attention scales any law: the second moment obeys a closed equation."""
    import numpy as np

    import attnflow as af

    v, a = 0.7, 0.5
    data, _ = _solved(
        af.Linear(beta=a, V=[[v]]),
        lambda x: np.clip(1 - x**2, 0, None) ** 4 * (1 + 0.5 * x),
        8.0,
        cell["cells"],
        (-1.0, 1.0),
    )
    second = data["variance"].values + data["mean"].values ** 2
    data["second"] = ("time", second)
    # The second moment at the start, by the exact integral of the polynomial: 1/11.
    data["closed_second"] = ("time", 1 / (11 - 2 * v * a * data["time"].values))
    return data


def sigmoid(cell: Cell) -> "xarray.Dataset":
    """Sigmoid attention from Gaussians: moments, those of tokens by SciPy, and one density for the figure."""
    import numpy as np
    import xarray
    from scipy.stats import norm

    import attnflow as af

    from . import witness

    nodes = np.linspace(-8, 8, 513)
    masses = norm.pdf(nodes) / norm.pdf(nodes).sum()  # the trapezoid rule, exact to round-off for smooth functions
    rows, by_tokens, laws = [], [], []
    for a, mean0, t1 in SIGMOID:
        attention = af.Sigmoid(beta=abs(a), B=[[np.sign(a)]])
        density = lambda x, mean0=mean0: norm.pdf(x - mean0)  # noqa: E731
        data, law = _solved(attention, density, t1, cell["cells"], (mean0 - 8, mean0 + 8))
        rows.append([float(data[name][-1]) for name in ("mean", "variance", "kurtosis")])
        tokens = witness.by_characteristics(witness.sigmoid_on_the_line(a), mean0 + nodes, masses, t1)
        by_tokens.append(witness.moments(tokens, masses))
        laws.append(law)
    shown, (a, _, t1) = laws[SHOWN], SIGMOID[SHOWN]
    middle, equal = norm.ppf((np.arange(512) + 0.5) / 512), np.full(512, 1 / 512)
    histogram = witness.by_characteristics(witness.sigmoid_on_the_line(a), middle / middle.std(), equal, t1)
    return xarray.Dataset(
        {
            "moments": (("row", "moment"), rows),
            "by_tokens": (("row", "moment"), by_tokens),
            "density": ("cell", shown.density[-1]),
            "x": ("cell", shown.centres[-1]),
            "token": ("number", histogram),
        }
    )
