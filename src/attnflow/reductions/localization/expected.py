r"""Atoms or a density: what the Fourier coefficients of the potential imply for the minimiser on the circle.

If the support of the minimiser has a point of accumulation where $U$ is analytic, $K*\mu + U$ is constant on that arc,
and then $\mu_n = -\beta U^{arc}_n/I_n(\beta)$ for the analytic continuation $U^{arc}$: only potentials whose
coefficients are, up to a bounded factor, those of the kernel have a minimiser that is not atomic (derived in
docs/theory/perceptron.md).
"""

from typing import NamedTuple

import numpy as np

from ...models import Perceptron
from ...spaces import Number
from ._landscape import GRID, Landscape, landscape
from .density import exponential_modes, of_modes, polynomial_modes

CONSTANT = "U is constant on the circle: the minimiser is the uniform law."

DECAY = {
    "relu": "U has a kink, and its coefficients decay like n^-3",
    "tanh": "U continues to complex angles only up to a pole of tanh, and its coefficients decay like e^-cn",
    "sigmoid": "U continues to complex angles only up to a pole of the sigmoid, and its coefficients decay like e^-cn",
    "gelu": "U is entire, but of order 2 in z, and its coefficients decay more slowly than those of the kernel",
    "erf": "U is entire, but of order 2 in z, and its coefficients decay more slowly than those of the kernel",
}


class Expected(NamedTuple):
    """The prediction of the theory for the minimiser: `"atomic"` or `"density"`, and why."""

    verdict: str
    reason: str


def expected_localization(perceptron: Perceptron, beta: Number) -> Expected:
    """Whether the minimiser of $E + U$ on the circle is atomic or has a density, by theory alone.

    >>> expected_localization(Perceptron([[1.0, 0.0]], omega=0.1, activation="linear"), beta=1.0).verdict
    'density'
    """
    here = landscape(perceptron, beta)
    name = here.function.name
    if name == "exp":
        return _exponential(here)
    left = _has_kinks(here) if name == "relu" else name in DECAY and _transcendental(here)
    if left:
        return Expected("atomic", f"{DECAY[name]}: no law makes the whole circle critical.")
    if _is_constant(here):
        return Expected("density", CONSTANT)
    return _by_sign(of_modes(polynomial_modes(here)).is_law, "U has finitely many modes")


def _is_constant(here: Landscape) -> bool:
    """Whether U is, up to the rounding of its neurons: not whether it is small beside the kernel."""
    z = here.length * np.cos(GRID[:, None] - here.angle) + here.b
    size = np.abs(here.function.primitive(z)).max(axis=0) @ np.abs(here.omega)
    return not np.ptp(here.external(GRID)) > 8 * here.equal * size


def _has_kinks(here: Landscape) -> bool:
    """Whether the potential of ReLU neurons is not one polynomial on the whole circle.

    Between kinks it is one of degree two, the sum over active neurons: all of these are the same if kinks cancel.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        half = np.arccos(-here.b / here.length)  # a neuron is active at less than this from its angle
    kinks = np.sort(np.concatenate([here.angle - half, here.angle + half]) % (2 * np.pi))
    kinks = kinks[np.isfinite(kinks)]
    middle = (kinks + np.append(kinks[1:], kinks[:1] + 2 * np.pi)) / 2
    active = here.length * np.cos(middle[:, None] - here.angle) + here.b > 0
    u = np.column_stack([here.vectors, here.b])
    squares = here.omega[:, None, None] * u[:, :, None] * u[:, None, :]
    pieces = np.tensordot(active, squares, axes=1)[np.diff(kinks, append=kinks[:1] + 2 * np.pi) > 1e-6]
    # |x|^2 = 1 on the circle: the squares of both coordinates and the constant are not independent.
    a, b, c = pieces[:, 0, 0], pieces[:, 1, 1], pieces[:, 2, 2]
    numbers = np.stack([a - b, a + b + 2 * c, pieces[:, 0, 1], pieces[:, 0, 2], pieces[:, 1, 2]])
    return bool(np.ptp(numbers, axis=1).max(initial=0) > 8 * here.equal * np.abs(squares).sum()) if len(a) else False


def _transcendental(here: Landscape) -> bool:
    """Whether a part of the potential is left that is no polynomial: equal and opposite neurons may cancel."""
    u = np.column_stack([here.vectors, here.b])
    size = np.maximum(1.0, np.abs(u).max(axis=1, initial=0))[:, None] * here.equal
    same, opposite = (np.all(np.abs(u[:, None] - s * u) <= size, axis=2) for s in (1, -1))
    total = (same + here.function.parity * (opposite & ~same)) @ here.omega
    return bool((np.abs(total[here.length > 0]) > here.equal * np.abs(here.omega).sum()).any())


def _exponential(here: Landscape) -> Expected:
    here = _summed(here)
    same = np.abs(here.length - here.beta) <= here.equal * here.beta
    if (here.length == 0).all():
        return Expected("density", CONSTANT)
    if ((here.length > here.beta) & ~same).any():
        return Expected("atomic", "|a| > beta: the coefficients I_n(|a|)/I_n(beta) are unbounded, those of no law.")
    shorter = here._replace(**{k: getattr(here, k)[~same] for k in ("length", "angle", "b", "omega")})
    rest = of_modes(exponential_modes(shorter))
    if not same.any():
        return _by_sign(rest.is_law, "|a| < beta: the coefficients I_n(|a|)/I_n(beta) decay")
    # Neurons of length beta are the kernel itself: their density would be Diracs of mass -beta omega e^b.
    diracs = -here.beta * here.omega[same]
    mass = diracs.sum()
    if (diracs < 0).any() or rest.least < (mass - here.equal) / (2 * np.pi):
        return Expected("atomic", "|a| = beta: the law that makes the circle critical has a negative part.")
    if mass >= 1 - here.equal:
        return Expected("atomic", "|a| = beta: the law that makes the circle critical is made of Diracs alone.")
    return Expected("density", f"|a| = beta: the minimiser is a density and Diracs of total mass {mass:.4g}.")


def _summed(here: Landscape) -> Landscape:
    """Exponential neurons without bias, those of the same $a$ as one, and none whose weights cancel."""
    weight = here.omega * np.exp(here.b)
    a = here.vectors
    size = here.equal * np.maximum(1.0, here.length)[:, None, None]
    same = np.all(np.abs(a[:, None] - a) <= size, axis=2)
    total = same @ weight
    first = ~np.any(np.tril(same, -1), axis=1)
    kept = first & (np.abs(total) > here.equal * (same @ np.abs(weight)))
    return here._replace(length=here.length[kept], angle=here.angle[kept], b=np.zeros(kept.sum()), omega=total[kept])


def _by_sign(is_law: bool, why: str) -> Expected:
    if is_law:
        return Expected("density", f"{why}, and the density that makes the whole circle critical is nowhere negative.")
    return Expected("atomic", f"{why}, but the density that makes the whole circle critical is negative somewhere.")
