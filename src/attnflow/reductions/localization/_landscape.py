r"""Energy, potential and their derivatives on the circle, in NumPy: $x = (\cos\theta, \sin\theta)$.

$$ p(\theta) = \sum_j m_j K(\theta - \theta_j) + U(\theta), \qquad K(u) = e^{\beta\cos u}/\beta, \qquad
   U(\theta) = \sum_k \omega_k\Phi(z_k), \quad z_k = |a_k|\cos(\theta - \varphi_k) + b_k . $$

Units. The kernel grows like $e^\beta/\beta$, and for small $\beta$ it is the constant $1/\beta$ and little else. So
everything is computed with $(K - 1/\beta)/s$ and $U/s$, where $s = I_1(\beta)/\beta + \frac12(\max U - \min U)$ is the
scale of the problem: numbers are of order one for all $\beta$. The constant shifts $p$ by $1/\beta$ and energies by
$1/2\beta$.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import ive

from ...checks import finite_array, number
from ...errors import InputError
from ...models import Perceptron
from ...models.activations import Activation
from ...models.schedules import depends_on_time

Real = np.ndarray | np.floating
LEAST = 1e-8  # below that the kernel is a constant and a cosine, to the last digit
LARGEST = 700.0  # e^709 is the largest number
GRID = 2 * np.pi * np.arange(4096) / 4096
CANDIDATES = 64  # minima on the grid that are looked at closely


class Landscape(NamedTuple):
    """The problem in numbers: neurons by length, angle, bias and weight."""

    beta: float
    length: np.ndarray
    angle: np.ndarray
    b: np.ndarray
    omega: np.ndarray
    function: Activation
    equal: float  # numbers of the neurons are the same up to this, relative to their size
    scale: float = 1.0  # $s$, the unit of kernel, potential and energy
    lesser: float = 1.0  # the part of it that the weaker of kernel and potential has; one if the potential is constant

    @property
    def width(self) -> float:
        """Of the kernel, as an angle: one for $\\beta \\le 1$, then $1/\\sqrt\\beta$."""
        return 1 / np.sqrt(max(1.0, self.beta))

    @property
    def enough(self) -> int:
        """So many equispaced atoms (at least 16) are indistinguishable from a density in double precision: the
        first mode
        that they confuse with a constant is $I_n(\\beta) < 10^{-16}I_0(\\beta)$."""
        n = np.arange(16, 2048, 2)
        return int(n[np.argmax(ive(n, self.beta) < 1e-16 * ive(0, self.beta))])

    @property
    def vectors(self) -> np.ndarray:
        """$a$ of every neuron, `(K, 2)`."""
        return self.length[:, None] * np.stack([np.cos(self.angle), np.sin(self.angle)], axis=1)

    def external(self, theta: Real, order: int = 0) -> Real:
        """$U$, $U'$ or $U''$."""
        turned = np.asarray(theta)[..., None] - self.angle
        z = self.length * np.cos(turned) + self.b
        if order == 0:
            return np.sum(self.omega * self.function.primitive(z), axis=-1)
        first = -self.length * np.sin(turned)
        if order == 1:
            return np.sum(self.omega * self.function.sigma(z) * first, axis=-1)
        second = -self.length * np.cos(turned)
        return np.sum(self.omega * (self.function.slope(z) * first**2 + self.function.sigma(z) * second), axis=-1)

    def kernel(self, u: Real, order: int = 0) -> Real:
        """$(K - 1/\\beta)/s$, $K'/s$ or $K''/s$."""
        if order == 0:
            return np.expm1(self.beta * np.cos(u)) / self.beta / self.scale
        e = np.exp(self.beta * np.cos(u)) / self.scale
        return -np.sin(u) * e if order == 1 else (self.beta * np.sin(u) ** 2 - np.cos(u)) * e

    def features(self, theta: np.ndarray) -> np.ndarray:
        r"""$F$ with $F^\top F = K(\theta_i - \theta_j)/s$ up to a constant and rounding, by its series
        $K = \frac1\beta\sum_nI_n(\beta)e^{inu}$, in cosines and sines, without the constant."""
        n = np.arange(1, self.enough + 1)[:, None]
        size = np.sqrt(2 * ive(n, self.beta) / self.beta * (np.exp(self.beta) / self.scale))
        return np.concatenate([size * np.cos(n * theta), size * np.sin(n * theta)])

    def potential(self, theta: Real, angles: np.ndarray, masses: np.ndarray, order: int = 0) -> Real:
        """$(p - 1/\\beta)/s$, $p'/s$ or $p''/s$ of atoms with these angles and masses."""
        theta = np.asarray(theta, float)
        return self.kernel(theta[..., None] - angles, order) @ masses + self.external(theta, order) / self.scale

    def energy(self, angles: np.ndarray, masses: np.ndarray) -> float:
        """$(E - 1/2\\beta)/s$."""
        interaction = masses @ self.kernel(angles[:, None] - angles) @ masses
        return float(interaction / 2 + masses @ self.external(angles) / self.scale)

    def floor(self, angles: np.ndarray, masses: np.ndarray) -> tuple[float, float]:
        """Where $p$ is least, and its value: on a grid, then by bisection of $p'$ beside its lowest minima there.

        Of several minima the lowest on the grid need not be the lowest; bisection does not mind kinks, or nearly so.
        """
        p, step = np.asarray(self.potential(GRID, angles, masses)), GRID[1]
        lowest = np.flatnonzero((p <= np.roll(p, 1)) & (p <= np.roll(p, -1)))
        reach = p[lowest] - step * np.abs(self.potential(GRID[lowest], angles, masses, 1))
        lowest = lowest[np.argsort(reach)[:CANDIDATES]]
        left, right = GRID[lowest] - step, GRID[lowest] + step
        for _ in range(40):
            middle = (left + right) / 2
            rises = self.potential(middle, angles, masses, 1) > 0
            left, right = np.where(rises, left, middle), np.where(rises, middle, right)
        seen = np.concatenate([GRID[lowest], left, right, angles])
        p = self.potential(seen, angles, masses)
        return float(seen[np.argmin(p)] % (2 * np.pi)), float(p.min())


def landscape(perceptron: Any, beta: Any) -> Landscape:
    """The problem as a user gives it, checked."""
    if not isinstance(perceptron, Perceptron):
        raise InputError(f"a {type(perceptron).__name__} is no perceptron; give af.models.Perceptron(a, b, omega).")
    if isinstance(beta, bool | np.bool_):
        raise InputError(f"beta = {beta!r} is no number; give an inverse temperature, for example beta=1.0.")
    beta = number("beta", beta, least=0)
    if not LEAST <= beta <= LARGEST:
        raise InputError(
            f"beta = {beta:g}: the energy is computed for 0 < beta, from {LEAST:g} to {LARGEST:g}; choose one there."
        )
    if depends_on_time(perceptron):
        raise InputError("this perceptron changes with time; give it at one time, models.at_time(perceptron, t).")
    a, b, omega = (finite_array(name, getattr(perceptron, name)) for name in ("a", "b", "omega"))
    if a.shape[1] != 2:
        raise InputError(f"the neurons have dimension {a.shape[1]}; minimisers are computed on the circle, d = 2.")
    equal = max(1e-12, 4 * float(np.finfo(perceptron.a.dtype).eps))  # tokens may be of single precision
    length, angle = np.hypot(a[:, 0], a[:, 1]), np.arctan2(a[:, 1], a[:, 0])
    here = Landscape(beta, length, angle, b, omega, perceptron.function, equal)
    with np.errstate(over="ignore", invalid="ignore"):
        orders = [here.external(GRID, order) for order in range(3)]
        interaction, external = float(ive(1, beta) * np.exp(beta) / beta), float(np.ptp(orders[0]) / 2)
        scale = interaction + external
    if not (all(np.isfinite(values).all() for values in orders) and np.isfinite(scale)):
        raise InputError("the potential of this perceptron overflows on the circle; take smaller a, b or omega.")
    return here._replace(scale=scale, lesser=min(interaction, external) / scale if external > 0 else 1.0)
