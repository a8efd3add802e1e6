"""Laws that the experiments transport to, and samples of shapes."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from attnflow.constructions.laws import AbstractLaw, GaussianMixture

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
    from attnflow.constructions import laws

    turn, h = np.deg2rad([90.0, 210.0, 330.0]), np.linspace(0, np.pi, 10)
    upper = 1.5 * np.stack([np.cos(h) - 0.5, np.sin(h) - 0.25], axis=1)
    means, sd = {
        "mix2": ([[-2.0, 0.0], [2.0, 0.0]], 0.6),
        "mix3": (2 * np.stack([np.cos(turn), np.sin(turn)], axis=1), 0.6),
        "moons": (np.concatenate([upper, -upper]), 0.225),
    }[name]
    return laws.GaussianMixture(means, sd)


def shape(name: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """n points of a shape that no part of the constructions was chosen on."""
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
