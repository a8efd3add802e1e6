"""Schedules of neurons on a million points of the plane: `python -m benchmarks.schedules`."""

import time

import numpy as np

from attnflow.constructions import MonotonePL, Schedule, ShearProfile

from .timing import race

POINTS, PIECES = 1_000_000, 1000


def schedules() -> dict[str, Schedule]:
    """Neurons one after another, and as many kinks at once."""
    rng = np.random.default_rng(0)
    w, a = rng.normal(size=(2, PIECES, 2))
    knots = np.linspace(-3, 3, PIECES)
    profile = ShearProfile([1.0, 0.0], [0.0, 1.0], knots, np.sin(3 * knots))
    monotone = MonotonePL([1.0, 0.0], knots, knots + 0.3 * np.sin(3 * knots))
    return {
        f"{PIECES} neurons": Schedule.from_arrays(0.05 * w, a, rng.normal(size=PIECES)),
        f"{PIECES} kinks and {PIECES} knots": Schedule([profile, monotone]),
    }


def main() -> None:
    x = np.random.default_rng(1).normal(size=(POINTS, 2))
    for name, schedule in schedules().items():
        start = time.perf_counter()
        schedule.forward(x[:1])
        compiled = time.perf_counter() - start
        best = race(
            {
                "forward": lambda schedule=schedule: schedule.forward(x),
                "log density": lambda schedule=schedule: schedule.log_density(x, lambda y: -(y**2).sum(axis=1) / 2),
            },
            rounds=2,
        )
        print(f"{name}: {', '.join(f'{what} {took:.2f} s' for what, took in best.items())}, compile {compiled:.2f} s")


if __name__ == "__main__":
    main()
