"""Measurements on the results of `clustering`: limits by the spectrum of V, and centers."""

from typing import Any

from ... import Results
from ..._measures import mean_and_error

CASES = {  # the diagonal of V; the first with random Q and K, the others with Q = K = I
    "identity": (1.0, 1.0, 1.0),
    "simple": (1.0, 0.3, -0.5),
    "double": (1.0, 1.0, -0.5),
    "negative": (-0.3, -0.6, -1.0),
    "minus identity": (-1.0, -1.0, -1.0),
}
N, BETA, DELTA = 200, 64.0, 0.5
CLUSTERED = (5.0, 10.0, 25.0, 75.0, 150.0)  # times at which clusters are counted
# The mean of 96 draws there by tests/witnesses/causal_clusters.py, and its standard error.
COUNTED = (16.094, 10.458, 8.594, 7.469, 6.979)
COUNTED_ERROR = (0.301, 0.149, 0.115, 0.090, 0.086)


def of(case: str, results: Results) -> Any:
    """The draws of one case."""
    data = results.select(part="limits")
    return data.isel(draw=data["case"].values == case)


def not_at_the_first(results: Results) -> int:
    """The number of draws in which some token does not end where the first one started."""
    import numpy as np

    data = of("identity", results)
    apart = np.linalg.norm(data["x"].values - data["first"].values[:, None], axis=-1).max(axis=1)
    return int(np.sum(apart >= 1e-8))


def not_at_the_axis(results: Results) -> int:
    """In how many of the first 40 draws a token is farther than 1e-2 from both ends of the leading axis."""
    import numpy as np

    x = of("simple", results)["x"].values[:40]
    apart = np.minimum(*(np.linalg.norm(x - sign * np.eye(3)[0], axis=-1) for sign in (1, -1))).max(axis=1)
    return int(np.sum(apart > 1e-2))


def both_ends(results: Results) -> Any:
    """For every draw, whether tokens are at both ends of the axis."""
    import numpy as np

    sign = np.sign(of("simple", results)["x"].values[..., 0])
    return sign.min(axis=1) < sign.max(axis=1)


def two_clusters(results: Results) -> tuple[float, float]:
    """The share of draws with two clusters; the standard error includes that of the 4000 reference draws."""
    both = both_ends(results)
    share = float(both.mean())
    return share, (share * (1 - share) * (1 / len(both) + 1 / 4000)) ** 0.5


def double_spread(results: Results) -> list[float]:
    """The largest distance of a token to the first one, and of the first one to the plane of the eigenspace."""
    import numpy as np

    x = of("double", results)["x"].values
    return [float(np.linalg.norm(x - x[:, :1], axis=-1).max()), float(np.abs(x[:, 0, 2]).max())]


def without_clusters(variable: str):
    """The least of a variable over all draws with negative eigenvalues."""
    return lambda results: [float(of(case, results)[variable].min()) for case in ("negative", "minus identity")]


def mean_norm(results: Results) -> tuple[float, float]:
    import numpy as np

    x = np.concatenate([of(case, results)["x"].values for case in ("negative", "minus identity")])
    norm = np.linalg.norm(x.mean(axis=1), axis=-1)
    return mean_and_error(norm)


def counted(variable: str, **cell: Any):
    """The mean number of centers over draws, and its standard error."""
    return lambda results: mean_and_error(results.select(part="counts", **cell)[variable].values)


def fastest_strong(results: Results) -> float:
    """The largest speed of a strong center at the start, over its bound; without the first token, which rests."""
    data = results.select(part="figure")
    ratio = (data["speed"] / data["bound"]).values[:, 1:]
    return float(ratio[data["strong"].values[:, 1:] == 1].max())


def stayed(results: Results) -> tuple[float, float]:
    """The share of strong centers that are at the end less than 0.1 from where they started."""
    import numpy as np

    data = results.select(part="figure")
    angle, strong = data["angle"].values, data["strong"].values == 1
    still = (np.abs(angle[:, -1] - angle[:, 0]) < 0.1)[strong]
    return mean_and_error(still)


def typical_motion(results: Results) -> float:
    """The median displacement of strong centers other than the first token."""
    import numpy as np

    data = results.select(part="figure")
    angle, strong = data["angle"].values[:, :, 1:], data["strong"].values[:, 1:] == 1
    return float(np.median(np.abs(angle[:, -1] - angle[:, 0])[strong]))


def gathered(results: Results) -> tuple[float, float]:
    """The share of tokens near a center's current position, mean over times from 25 on and over draws."""
    return mean_and_error(results.select(part="figure")["near"].sel(time=slice(25, None)).mean("time").values)


def clusters(results: Results) -> tuple[Any, Any]:
    """Mean numbers of clusters; the standard error includes that of the reference draws."""
    import numpy as np

    count = results.select(part="figure")["clusters"].sel(time=list(CLUSTERED)).values
    return count.mean(axis=0), np.hypot(count.std(axis=0, ddof=1) / len(count) ** 0.5, COUNTED_ERROR)


def first_token(results: Results) -> float:
    import numpy as np

    angle = results.select(part="figure")["angle"].values[:, :, 0]
    return float(np.abs(angle - angle[:, :1]).max())
