r"""Low-dimensional flows, integrated with tolerances of 1e-10.

A trajectory of a chaotic one is exact for a few dozen units of time only, and typical for ever.
"""

from typing import Any

import xarray

from ...checks import number, whole
from ...spaces import Numbers
from ._series import Real, chosen, positive, series, start_of, trajectory

LORENZ_EXPONENT = 0.9056
"""The largest Lyapunov exponent of the Lorenz system at the classical parameters."""


def lorenz(
    n: int = 5000,
    *,
    start: Numbers = (1.0, 1.0, 1.05),
    dt: Real = 0.02,
    transient: Real = 20.0,
    observed: Any = "xyz",
    sigma: Real = 10.0,
    rho: Real = 28.0,
    b: Real = 8.0 / 3.0,
) -> xarray.DataArray:
    r"""Lorenz's convection, $\dot x = \sigma(y - x)$, $\dot y = x(\rho - z) - y$, $\dot z = xy - bz$.

    **Arguments:** `n` samples `dt` apart, after `transient` units of time; `observed="x"` keeps one component of three.
    At the default parameters the largest exponent is 0.9056 (`attrs["lyapunov"]`).
    """
    n, dt, transient = whole("n", n), positive("dt", dt), number("transient", transient, 0.0)
    sigma, rho, b = number("sigma", sigma), number("rho", rho), number("b", b)

    def field(t, v):
        x, y, z = v
        return [sigma * (y - x), x * (rho - z) - y, x * y - b * z]

    classical = (sigma, rho, b) == (10.0, 28.0, 8.0 / 3.0)
    about = {"lyapunov": LORENZ_EXPONENT} if classical else {}
    return _series(field, "xyz", observed, start, dt, n, transient, "Lorenz", about)


def roessler(
    n: int = 5000,
    *,
    start: Numbers = (1.0, 1.0, 0.0),
    dt: Real = 0.1,
    transient: Real = 100.0,
    observed: Any = "xyz",
    a: Real = 0.2,
    b: Real = 0.2,
    c: Real = 5.7,
) -> xarray.DataArray:
    r"""Rössler's band, $\dot x = -y - z$, $\dot y = x + ay$, $\dot z = b + z(x - c)$."""
    n, dt, transient = whole("n", n), positive("dt", dt), number("transient", transient, 0.0)
    a, b, c = number("a", a), number("b", b), number("c", c)

    def field(t, v):
        x, y, z = v
        return [-y - z, x + a * y, b + z * (x - c)]

    return _series(field, "xyz", observed, start, dt, n, transient, "Rössler", {})


def van_der_pol(
    n: int = 2000,
    *,
    start: Numbers = (0.5, 0.0),
    dt: Real = 0.1,
    transient: Real = 0.0,
    observed: Any = "xy",
    mu: Real = 1.0,
) -> xarray.DataArray:
    r"""Van der Pol's oscillator, $\dot x = y$, $\dot y = \mu(1 - x^2)y - x$: a limit cycle of amplitude about 2."""
    n, dt, transient, mu = whole("n", n), positive("dt", dt), number("transient", transient, 0.0), number("mu", mu)

    def field(t, v):
        x, y = v
        return [y, mu * (1 - x * x) * y - x]

    return _series(field, "xy", observed, start, dt, n, transient, "Van der Pol", {})


def wake(
    n: int = 1000,
    *,
    start: Numbers = (0.02, 0.0, 0.0),
    dt: Real = 0.1,
    transient: Real = 0.0,
    observed: Any = "xyz",
    mu: Real = 0.1,
    omega: Real = 1.0,
    A: Real = -0.1,
    lam: Real = 10.0,
) -> xarray.DataArray:
    r"""The mean-field model of a cylinder's wake: slow growth from an unstable flow to a limit cycle.

    $\dot x = \mu x - \omega y + Axz$, $\dot y = \omega x + \mu y + Ayz$, $\dot z = -\lambda(z - x^2 - y^2)$; on the
    cycle $x^2 + y^2 = -\mu/A$.
    """
    n, dt, transient = whole("n", n), positive("dt", dt), number("transient", transient, 0.0)
    mu, omega, A, lam = number("mu", mu), number("omega", omega), number("A", A), number("lam", lam)

    def field(t, v):
        x, y, z = v
        return [mu * x - omega * y + A * x * z, omega * x + mu * y + A * y * z, -lam * (z - x * x - y * y)]

    return _series(field, "xyz", observed, start, dt, n, transient, "wake", {})


def _series(
    field: Any, names: str, observed: Any, start: Numbers, dt: float, n: int, transient: float, title: str, about: Any
) -> xarray.DataArray:
    kept = chosen(names, observed)
    values = trajectory(field, start_of(start, len(names)), dt, n, transient)
    return series(values[:, [names.index(k) for k in kept]], dt, kept, title, **about)
