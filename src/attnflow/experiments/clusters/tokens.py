"""The matrices and tokens of the paper's figures and of the reference runs, and their flow."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy

DOCS = "docs/theory/euclidean.md"
NUMBERS = f"{DOCS}, Reference runs"
PAPER = "arXiv:2305.05465"

# Tokens of the reference runs, not random, so that any program can start from them.
NINE = [(1, 0.2), (0.3, 1.1), (-0.9, 0.8), (-1.2, -0.3), (-0.2, -1), (0.8, -0.9), (0.1, 0.05), (0.4, 0.3), (-0.5, 0.1)]
EIGHT = [
    (1, 0.2, 0.3),
    (0.3, 1.1, -0.5),
    (-0.9, 0.8, 0.2),
    (-1.2, -0.3, 0.9),
    (-0.2, -1, -0.8),
    (0.8, -0.9, 0.4),
    (0.1, 0.05, 1),
    (0.4, 0.3, -0.6),
]

# Value matrices of the paper's figures.
MATRICES: dict[str, list[list[float]]] = {
    "plane": [[0.64709742, 0.81911926], [0.61210449, 0.63263484]],
    "space, Re < 0": [
        [0.2362413, 0.0599536, 0.40506019],
        [0.81321448, 0.49948705, 0.33754772],
        [0.2160645, 0.38505272, 0.14588075],
    ],
    "space, Re > 0": [
        [0.18608476, 0.34391026, 0.13905949],
        [0.35244288, 0.6694859, 0.39992145],
        [0.46685606, 0.17094454, 0.42092308],
    ],
    "codimension": [
        [0.92761287, 0.94333073, 0.3827744],
        [0.94333073, 0.59991396, 0.47825472],
        [0.3827744, 0.47825472, 0.46668605],
    ],
    "mix": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -0.5]],
}


def cube(seed: int, n: int, d: int, half: float) -> "numpy.ndarray":
    """Tokens drawn uniformly from a cube around zero."""
    import numpy as np

    return np.random.default_rng(seed).uniform(-half, half, (n, d))


def model(*, V: Any = None, B: Any = None) -> Any:
    r"""$\dot x_i = \sum_j P_{ij}Vx_j$ with scores $x_i^\top Bx_j$; no temperature, growth sharpens attention."""
    import attnflow as af

    return af.SelfAttention(af.Softmax(1.0, B=B, V=V), af.Euclidean())


def flow(x0: Any, ts: Any, *, V: Any = None, B: Any = None, dt: float = 0.02) -> Any:
    """The run by the integrating-factor method."""
    import attnflow as af

    return af.simulate(model(V=V, B=B), x0, ts=ts, solver="ifrk4", dt=dt)


def slope(ts: Any, values: Any, first: float, last: float) -> float:
    """The slope of log(values) between two times, by least squares."""
    import numpy as np

    ts, values = np.asarray(ts), np.asarray(values)
    inside = (ts >= first - 1e-9) & (ts <= last + 1e-9)
    return float(np.polyfit(ts[inside], np.log(values[inside]), 1)[0])
