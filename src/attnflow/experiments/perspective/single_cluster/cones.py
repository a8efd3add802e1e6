r"""The cone lemma and the rate of consensus (theorem 6.3), for `single_cluster`."""

from typing import TYPE_CHECKING, Any

from ... import Cell
from .runs import follow, uniform, velocity

if TYPE_CHECKING:
    import xarray

T1 = 30.0
TIMES = 121
WINDOW = (1e-3, 1e-5)  # of spreads in which slopes are taken: small enough to be linear, far above round-off


def cone(cell: Cell) -> "xarray.Dataset":
    r"""$\min_i\langle x_i(t), v\rangle$ for tokens with $\langle x_i(0), v\rangle > 0$, and the growth of
    $\alpha = \min_i\langle x_i, x^*\rangle$.

    Linearly independent tokens ($d \ge n$) have a $v$ with $\langle x_i, v\rangle$ equal for all $i$; others are
    reflected into the half-space of the first basis vector. With the limit $x^*$, known from the last time, the lemma
    is $\dot\alpha \ge \alpha(1-\alpha)/(n e^{2\beta})$, so $\dot\alpha \ge (1-\alpha)/(2n e^{2\beta})$ once
    $\alpha \ge 1/2$; the derivative is taken from the definition of the field.
    """
    import numpy as np
    import xarray

    beta, n = cell["beta"], cell["n"]
    x0, v = _in_a_hemisphere(cell)
    ts = np.linspace(0.0, T1, TIMES)
    xs = follow("SA", x0, ts, beta=beta)
    least = np.einsum("rtia,ra->rti", xs, v).min(axis=2)
    gap = ((xs[:, -1, :, None] - xs[:, -1, None]) ** 2).sum(axis=-1).max(axis=(1, 2)) / 2
    limit = xs[:, -1].mean(axis=1)
    limit /= np.linalg.norm(limit, axis=-1, keepdims=True)
    heights = np.einsum("rtia,ra->rti", xs, limit)
    slopes = np.einsum("rtia,ra->rti", velocity(xs, beta), limit)
    alpha = heights.min(axis=2)
    rate = np.take_along_axis(slopes, heights.argmin(axis=2)[:, :, None], axis=2)[:, :, 0]
    bound = (1 - alpha) / (2 * n * np.exp(2 * beta))
    # The limit is known up to the last distances: tokens at the limit, and draws that have not met, are left out.
    seen = (alpha >= 0.5) & (alpha < 1 - 1e-6) & (gap[:, None] < 1e-16)
    ratio = np.where(seen, rate / np.where(seen, bound, 1.0), np.inf)
    return xarray.Dataset(
        {
            "least": (("draw", "time"), least),
            "ratio": ratio.min(),
            "seen": seen.sum(),
        },
        coords={"time": ts},
    )


def _in_a_hemisphere(cell: Cell) -> tuple[Any, Any]:
    """Uniform tokens `(draws, n, d)` and a unit vector for each draw that has positive products with all of them."""
    import numpy as np

    draws, n, d = cell["draws"], cell["n"], cell["d"]
    x = uniform(cell)
    if cell["start"] == "independent":
        v = np.linalg.solve(x, np.ones((draws, n, 1)))[:, :, 0]
        return x, v / np.linalg.norm(v, axis=1, keepdims=True)
    x[:, :, 0] = abs(x[:, :, 0])
    return x, np.tile(np.eye(1, d), (draws, 1))


def rates(cell: Cell) -> "xarray.Dataset":
    r"""$s(t) = (\sum_i|x_i - \bar x|^2)^{1/2}$ from uniform tokens, $d \ge n$, and the late slope of $\log s$.

    The slope is off by at most $(1 + 2\beta)s^2$ (docs/theory/sphere-theorems.md), $3\cdot10^{-6}$ in the window.
    """
    import numpy as np
    import xarray

    beta = cell["beta"]
    fast = 1.0 if cell["kind"] == "SA" else np.exp(beta)
    ts = np.linspace(0.0, 100.0, 1001) / fast  # long enough for a start near a stationary configuration
    xs = follow(cell["kind"], uniform(cell), ts, beta=beta, step=0.05 / fast)
    spread = np.linalg.norm(xs - xs.mean(axis=2, keepdims=True), axis=(2, 3))
    slopes = [_slope(ts, s) for s in spread]
    return xarray.Dataset(
        {"spread": (("draw", "time"), spread), "rate": ("draw", slopes)},
        coords={"time": ts},
    )


def _slope(ts: Any, spread: Any) -> float:
    import numpy as np

    window = (spread < WINDOW[0]) & (spread > WINDOW[1])
    return -float(np.polyfit(ts[window], np.log(spread[window]), 1)[0]) if window.sum() > 2 else np.nan
