r"""The law that makes the whole circle critical, where there is one: $K*\mu + U$ is constant.

In Fourier series, $K(u) = \frac1\beta\sum_n I_n(\beta)e^{inu}$ and $\mu_n = \int e^{-in\theta}d\mu$:

$$ \mu_n = -\frac{\beta\,U_n}{I_n(\beta)} \quad (n \ne 0), \qquad
   \mu = \frac1{2\pi}\Big(1 + 2\operatorname{Re}\sum_{n\ge1}\mu_ne^{in\theta}\Big)\,d\theta . $$

It is the minimiser if it is a law: nowhere negative. For a neuron $\omega e^{\langle a, x\rangle + b}$ the coefficients
are $U_n = \omega e^bI_n(|a|)e^{-in\varphi}$, so that $\mu_n$ decays like $(|a|/\beta)^n$ for $|a| < \beta$.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...checks import finite_array
from ...errors import InputError
from ...models import Perceptron
from ...spaces import Number, Numbers
from ..uniform_measure import log_eigenvalue
from ._landscape import GRID, Landscape, Real, landscape

POLYNOMIAL = 2  # the degree of a quadratic potential in cosines and sines
MODES = 2**15  # no more are summed


@dataclass(frozen=True, eq=False)
class Density:
    """A density on the circle: `modes (N,)`, the complex $\\mu_0 = 1, \\mu_1, \\dots$; `least`, its smallest value."""

    modes: np.ndarray
    least: float

    def __call__(self, theta: Numbers) -> Real:
        """Its value at some angles."""
        return _density(self.modes, finite_array("theta", theta))

    @property
    def is_law(self) -> bool:
        """Whether it is nowhere negative, up to rounding: then it is the minimiser."""
        return self.least >= -1e-12


def density(perceptron: Perceptron, beta: Number) -> Density:
    """The solution of $K*\\mu + U = $ const for potentials with finitely many modes (`linear`, `identity`), and for
    `exp` neurons with $|a_k| < \\beta$; others have none, and are refused in a sentence.
    """
    here = landscape(perceptron, beta)
    name = here.function.name
    if name in ("linear", "identity"):
        return of_modes(polynomial_modes(here))
    if np.ptp(here.external(GRID)) == 0:
        return of_modes(np.ones(1, complex))  # a constant potential: the uniform law
    if name != "exp":
        raise InputError(f"no density makes the circle critical for {name}: its coefficients grow; see minimizer.")
    if (here.length >= here.beta).any():
        longest = here.length.max()
        raise InputError(f"|a| = {longest:g} is not below beta = {here.beta:g}: the coefficients do not decay.")
    return of_modes(exponential_modes(here))


def of_modes(modes: np.ndarray) -> Density:
    """Its smallest value is that on a grid, fine enough for all modes, by a Fourier transform."""
    grid = max(4096, 8 * len(modes))
    return Density(modes, float(np.fft.irfft(modes, grid).min() * grid / (2 * np.pi)))


def polynomial_modes(here: Landscape) -> np.ndarray:
    """$\\mu_0, \\mu_1, \\mu_2$ of a potential that has no further modes."""
    theta = 2 * np.pi * np.arange(64) / 64
    external = np.fft.fft(here.external(theta))[: POLYNOMIAL + 1] / 64
    n = np.arange(POLYNOMIAL + 1)
    modes = -here.beta * external / np.exp(here.beta + log_eigenvalue(n, 2, np.array(here.beta)))
    modes[0] = 1
    return modes


def exponential_modes(here: Landscape) -> np.ndarray:
    """Those of exponential neurons, all shorter than beta; in logarithms, where $I_n$ underflows."""
    ratio = float(here.length.max(initial=0)) / here.beta
    count = np.ceil(np.log(1e-18) / np.log(max(ratio, 1e-9))) + 8  # I_n(|a|)/I_n(beta) <= (|a|/beta)^n
    if count > MODES:
        raise InputError(f"|a| = {ratio:.6g} beta: the density is too narrow to compute; take |a| shorter, or beta.")
    n = np.arange(count)[:, None]
    with np.errstate(invalid="ignore"):  # a neuron of length zero has no modes
        log_ratio = log_bessel(n, here.length[None]) - log_bessel(n, np.array(here.beta))
    weight = here.omega * np.exp(np.where(np.isfinite(log_ratio), log_ratio, -np.inf) + here.b)
    modes = -here.beta * np.sum(weight * np.exp(-1j * n * here.angle), axis=1)
    modes[0] = 1
    return modes


def log_bessel(n: Any, a: Any) -> np.ndarray:
    r"""$\log I_n(a)$."""
    n, a = np.broadcast_arrays(np.asarray(n, float), np.asarray(a, float))
    return a + log_eigenvalue(n, 2, a)


def _density(modes: np.ndarray, theta: np.ndarray) -> Real:
    # Horner's rule in e^(i theta): no table of angles times modes.
    turn, total = np.exp(1j * theta), np.zeros(theta.shape, complex)
    for mode in modes[:0:-1]:
        total = (total + mode) * turn
    return (1 + 2 * np.real(total)) / (2 * np.pi)
