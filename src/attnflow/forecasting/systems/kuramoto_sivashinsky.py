r"""Kuramoto and Sivashinsky's equation on a circle of length L, $u_t = -u u_x - u_{xx} - u_{xxxx}$.

At L = 22 the dynamics are chaotic with few active modes. The scheme is the exponential one of order four of Cox and
Matthews, with the coefficients as contour integrals (Kassam and Trefethen, *SIAM J. Sci. Comput.* 26, 2005).
"""

import numpy as np
import xarray

from ...checks import finite_array, number, whole
from ...errors import InputError
from ...spaces import Numbers
from ._series import Real, positive

STEP = 0.125  # at most


def kuramoto_sivashinsky(
    n: int = 2000,
    *,
    points: int = 64,
    length: Real = 22.0,
    dt: Real = 0.25,
    transient: Real = 100.0,
    start: Numbers | None = None,
) -> xarray.DataArray:
    """`n` profiles `(time, x)` on `points` places (an even number), after `transient` units of time.

    `start (points,)` is the first profile, by default a sum of two waves.
    """
    n, points = whole("n", n), whole("points", points, 8, 4096)
    length, dt, transient = positive("length", length), positive("dt", dt), number("transient", transient, 0.0)
    if points % 2:
        raise InputError(f"points = {points} is odd; take an even number.")
    x = length * np.arange(points) / points
    wave = 2 * np.pi * x / length
    u = np.cos(wave) * (1 + np.sin(wave)) if start is None else finite_array("start", start)
    if u.shape != (points,):
        raise InputError(f"start has shape {u.shape}; give one number for each of {points} points.")
    steps = int(np.ceil(dt / STEP - 1e-9))
    advance = _scheme(points, length, dt / steps)
    v = np.fft.rfft(u)
    for _ in range(round(transient / dt) * steps):
        v = advance(v)
    kept = np.empty((n, points))
    for i in range(n):
        kept[i] = np.fft.irfft(v, points)
        for _ in range(steps if i + 1 < n else 0):
            v = advance(v)
    if not np.isfinite(kept).all():
        raise InputError("the profile leaves all bounds; take a smaller start.")
    times = dt * np.arange(n)
    return xarray.DataArray(kept, dims=("time", "x"), coords={"time": times, "x": x}, name="Kuramoto-Sivashinsky")


def _scheme(points: int, length: float, h: float):
    """One step in Fourier space."""
    k = 2 * np.pi * np.fft.rfftfreq(points, length / points)
    L = k**2 - k**4
    circle = np.exp(1j * np.pi * (np.arange(1, 33) - 0.5) / 32)
    z = h * L[:, None] + circle

    def mean(values):
        return h * values.real.mean(axis=1)

    E, E2 = np.exp(h * L), np.exp(h * L / 2)
    Q = mean((np.exp(z / 2) - 1) / z)
    f1 = mean((-4 - z + np.exp(z) * (4 - 3 * z + z**2)) / z**3)
    f2 = mean((2 + z + np.exp(z) * (z - 2)) / z**3)
    f3 = mean((-4 - 3 * z - z**2 + np.exp(z) * (4 - z)) / z**3)
    kept = k < 2 / 3 * k.max()  # products of the others would come back as long waves
    g = -0.5j * k * kept

    def product(v):
        return g * np.fft.rfft(np.fft.irfft(v, points) ** 2)

    def advance(v):
        Nv = product(v)
        a = E2 * v + Q * Nv
        Na = product(a)
        b = E2 * v + Q * Na
        Nb = product(b)
        c = E2 * a + Q * (2 * Nb - Nv)
        return E * v + Nv * f1 + 2 * (Na + Nb) * f2 + product(c) * f3

    return advance
