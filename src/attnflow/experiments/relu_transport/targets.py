"""Laws that the experiments transport to, and samples of shapes."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy

    from attnflow.constructions.transports.laws import AbstractLaw, GaussianMixture

PLANE = ("mix2", "mix3", "moons")
LINE = ("mix2", "mix3")


def on_line(name: str) -> "AbstractLaw":
    """The two mixtures of the page, and laws with heavier tails."""
    from attnflow.constructions import laws

    return {
        "mix2": lambda: laws.GaussianMixture([-2.0, 2.0], 0.5),
        "mix3": lambda: laws.GaussianMixture([-3.0, 0.0, 3.0], [0.5, 0.6, 0.5], [0.3, 0.4, 0.3]),
        "laplace": laws.Laplace,
        "student": lambda: laws.Student(3.0),
        "cauchy": laws.Cauchy,
    }[name]()


def in_plane(name: str) -> "GaussianMixture":
    """Two Gaussians, three on a circle, and twenty on two half-moons."""
    import numpy as np

    from attnflow.constructions import laws

    turn, h = np.deg2rad([90.0, 210.0, 330.0]), np.linspace(0, np.pi, 10)
    upper = 1.5 * np.stack([np.cos(h) - 0.5, np.sin(h) - 0.25], axis=1)
    means, sd = {
        "mix2": ([[-2.0, 0.0], [2.0, 0.0]], 0.6),
        "mix3": (2 * np.stack([np.cos(turn), np.sin(turn)], axis=1), 0.6),
        "moons": (np.concatenate([upper, -upper]), 0.225),
    }[name]
    return laws.GaussianMixture(means, sd)


def shape(name: str, n: int, rng: "numpy.random.Generator") -> "numpy.ndarray":
    """n points of a shape that no part of the constructions was chosen on."""
    import numpy as np

    if name == "rings":
        r, angle = rng.choice([1.0, 2.5], n) + 0.1 * rng.standard_normal(n), rng.uniform(0, 2 * np.pi, n)
        return np.stack([r * np.cos(angle), r * np.sin(angle)], axis=1)
    if name == "spiral":
        t = 3 * np.pi * np.sqrt(rng.uniform(0.03, 1, n))
        return np.stack([t * np.cos(t), t * np.sin(t)], axis=1) / 4 + 0.12 * rng.standard_normal((n, 2))
    if name == "board":
        x = rng.uniform(-2, 2, (4 * n, 2))
        return x[np.floor(x).sum(axis=1) % 2 == 0][:n]
    means = np.random.default_rng(5).normal(size=(6, 5))  # of the fifth dimension; the same for all seeds
    return 2 * means[rng.integers(6, size=n)] + 0.5 * rng.standard_normal((n, 5))


def velocity(law: "GaussianMixture", t: float, x: "numpy.ndarray") -> "numpy.ndarray":
    r"""The velocity of $x_t = (1 - t)z + ty$ from N(0, I) to a mixture of round Gaussians: with
    $V_k = (1 - t)^2 + t^2s_k^2$ and shares $r_k$, $u = \sum_k r_k\,(m_k + (ts_k^2 - (1 - t))/V_k\,(x - tm_k))$.
    """
    import numpy as np

    variances = law.covs[:, 0, 0]
    V = (1 - t) ** 2 + t**2 * variances
    away = x[:, None] - t * law.means
    log_share = np.log(law.weights) - (away**2).sum(axis=-1) / (2 * V) - x.shape[1] / 2 * np.log(V)
    share = _normalised(log_share)
    gain = (t * variances - (1 - t)) / V
    return np.einsum("nk,nkd->nd", share, law.means + gain[:, None] * away)


def conditional_velocity(law: "GaussianMixture", t: float, x: "numpy.ndarray") -> "numpy.ndarray":
    r"""The same on the plane for $x_2$ given $x_1$, which stays: the shares also weigh $N(x_1; m_{k1}, s_k^2)$."""
    import numpy as np

    variances = law.covs[:, 0, 0]
    V = (1 - t) ** 2 + t**2 * variances
    away = x[:, None, 1] - t * law.means[:, 1]
    first = (x[:, None, 0] - law.means[:, 0]) ** 2 / variances
    log_share = np.log(law.weights) - (away**2 / V + first + np.log(V) + np.log(variances)) / 2
    share = _normalised(log_share)
    gain = (t * variances - (1 - t)) / V
    u = np.zeros_like(x)
    u[:, 1] = (share * (law.means[:, 1] + gain * away)).sum(axis=1)
    return u


def _normalised(log_share: "numpy.ndarray") -> "numpy.ndarray":
    """Shares `(n, k)` with the sum one in every row."""
    import numpy as np

    share = np.exp(log_share - log_share.max(axis=1, keepdims=True))
    return share / share.sum(axis=1, keepdims=True)
