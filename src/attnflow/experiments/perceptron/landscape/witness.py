"""Independent computations of the minimiser and the maximiser."""

from typing import Any


def quadratic_programme(external: Any, theta: Any, beta: float) -> tuple[float, Any]:
    r"""The least energy of laws on a grid of angles, and where the potential touches its floor.

    With $K = F^\top F$ in the modes of the kernel, minimising $\frac12|Fm|^2 + U\cdot m$ over masses is dual to
    maximising $\lambda - \frac12|v|^2$ under $F_j\cdot v + U_j \ge \lambda$ for every angle $j$: a convex quadratic
    programme in few variables, solved by sequential least squares. Its value is that of the least energy.
    """
    import numpy as np
    from scipy.optimize import minimize
    from scipy.special import iv

    n = np.arange(1, 60)
    n = n[iv(n, beta) / beta > 1e-15]
    waves = n[:, None] * theta
    root = np.sqrt(iv(n, beta) / beta)[:, None]
    constant = np.full((1, len(theta)), np.sqrt(iv(0, beta) / beta))
    features = np.concatenate([constant, np.sqrt(2) * root * np.cos(waves), np.sqrt(2) * root * np.sin(waves)])
    jacobian = np.column_stack([features.T, -np.ones(len(theta))])
    solution = minimize(
        lambda y: (0.5 * y[:-1] @ y[:-1] - y[-1], np.append(y[:-1], -1.0)),
        np.append(np.zeros(len(features)), external.min()),
        jac=True,
        method="SLSQP",
        constraints={"type": "ineq", "fun": lambda y: jacobian @ y + external, "jac": lambda y: jacobian},
        options={"ftol": 1e-14, "maxiter": 400},
    )
    slack = jacobian @ solution.x + external
    return -float(solution.fun), np.flatnonzero(slack < 1e-8)


def ascended(external: Any, beta: float, count: int, rng: Any) -> tuple[Any, float]:
    """In the potential `external(theta)`: energies of random laws of eight atoms, spread or narrow; and the energy at
    the end of an ascent, by SciPy, from the best of those that are spread.
    """
    import numpy as np
    from scipy.optimize import minimize

    width = np.exp(rng.uniform(np.log(1e-4), np.log(np.pi), count))
    theta = rng.uniform(0, 2 * np.pi, count)[:, None] * (rng.random(count) < 0.5)[:, None]
    theta = theta + width[:, None] * rng.standard_normal((count, 8))
    mass = rng.dirichlet(np.ones(8), count)

    def energy(theta: Any, mass: Any) -> Any:
        kernel = np.exp(beta * np.cos(theta[..., :, None] - theta[..., None, :]))
        interaction = np.einsum("...i,...ij,...j->...", mass, kernel, mass) / (2 * beta)
        return interaction + np.sum(mass * external(theta), axis=-1)

    energies = energy(theta, mass)
    start = np.argmax(np.where(width > 1, energies, -np.inf))
    end = minimize(lambda t: -float(energy(t, mass[start])), theta[start], method="BFGS", options={"gtol": 1e-9})
    return energies, -float(end.fun)
