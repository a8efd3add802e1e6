r"""A field of neurons to switch between, its flow, and the size of the fluctuations that the theory predicts.

The field carries a Gaussian to a mixture of two: $x_t = (1 - t)z + ty$ with $z \sim N(0, I)$, and $y$ around
$(\pm2, 0)$ with the deviation 0.6. In each of 16 parts of the time its velocity is fitted by 64 random neurons.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy

PARTS, NEURONS, SAMPLES, RIDGE = 16, 64, 2500, 1e-3
CENTRE, DEVIATION = 2.0, 0.6
STEPS = 20  # of the flow, in each part of the time


class Field(NamedTuple):
    """Neurons of each part of the time: `W (S, m, d)`, `A (S, m, d)` with unit rows, `b (S, m)`."""

    W: "numpy.ndarray"
    A: "numpy.ndarray"
    b: "numpy.ndarray"


def velocity(t: float, x: "numpy.ndarray") -> "numpy.ndarray":
    """The mean of $y - z$ at points `(n, 2)`, given that $x_t = x$."""
    import numpy as np

    variance = (1 - t) ** 2 + (t * DEVIATION) ** 2
    right = 1 / (1 + np.exp(-2 * CENTRE * t * x[:, :1] / variance))
    centre = np.array([CENTRE, 0.0]) * (2 * right - 1)
    return centre + (t * DEVIATION**2 - (1 - t)) / variance * (x - t * centre)


def fitted(seed: int) -> Field:
    """Random neurons, each with its kink at a sample, and their weights by ridge regression."""
    import numpy as np

    rng, parts = np.random.default_rng(seed), []
    for t in (np.arange(PARTS) + 0.5) / PARTS:
        y = DEVIATION * rng.normal(size=(SAMPLES, 2)) + np.outer(rng.choice([-CENTRE, CENTRE], SAMPLES), [1, 0])
        x = (1 - t) * rng.normal(size=(SAMPLES, 2)) + t * y
        angle = 2 * np.pi * rng.random(NEURONS)
        A = np.column_stack([np.cos(angle), np.sin(angle)])
        b = -(A * x[:NEURONS]).sum(axis=1)
        F = np.maximum(x @ A.T + b, 0)
        W = np.linalg.solve(F.T @ F / SAMPLES + RIDGE * np.eye(NEURONS), F.T @ velocity(t, x) / SAMPLES)
        parts.append((W, A, b))
    return Field(*map(np.stack, zip(*parts, strict=True)))


def flow(field: Field, x: "numpy.ndarray") -> "numpy.ndarray":
    """Points at the end, by Runge and Kutta's method."""
    import numpy as np

    h = 1 / (PARTS * STEPS)
    for W, A, b in zip(*field, strict=True):

        def v(x, W=W, A=A, b=b):
            return np.maximum(x @ A.T + b, 0) @ W

        for _ in range(STEPS):
            k1 = v(x)
            k2 = v(x + h / 2 * k1)
            k3 = v(x + h / 2 * k2)
            x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + v(x + h * k3))
    return x


def fluctuation(field: Field, x: "numpy.ndarray") -> float:
    r"""The limit of $\sqrt n$ RMS for n pieces: $\sqrt{E\,\mathrm{tr}\,P(1)}$ with $P' = DuP + PDu^\top + \Sigma$.

    $\Sigma$ is the covariance of the field of one piece.
    """
    import numpy as np

    h, P = 1 / (PARTS * STEPS), np.zeros((len(x), 2, 2))
    for W, A, b in zip(*field, strict=True):
        size = np.linalg.norm(W, axis=1) * np.sqrt(1 + b**2)
        p = size / size.sum()
        outer = (W[:, :, None] * W[:, None, :] / np.where(p > 0, p, 1)[:, None, None]).reshape(-1, 4)
        gradients = (W[:, :, None] * A[:, None, :]).reshape(-1, 4)
        for _ in range(STEPS):
            middle = x + h / 2 * (np.maximum(x @ A.T + b, 0) @ W)
            s = np.maximum(middle @ A.T + b, 0)
            u = s @ W
            sigma = (s**2 @ outer).reshape(-1, 2, 2) - u[:, :, None] * u[:, None, :]
            Du = (np.where(s > 0, 1.0, 0.0) @ gradients).reshape(-1, 2, 2)
            rate = Du @ P
            rate = Du @ (P + h / 2 * (rate + rate.swapaxes(1, 2) + sigma))
            P = P + h * (rate + rate.swapaxes(1, 2) + sigma)
            x = x + h * u
    return float(np.sqrt(np.trace(P, axis1=1, axis2=2).mean()))
