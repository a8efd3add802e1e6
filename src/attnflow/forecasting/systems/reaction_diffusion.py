r"""Spiral waves of the $\lambda$-$\omega$ reaction and diffusion system, on a periodic square.

With $w = u + iv$: $\;\partial_t w = D\Delta w + (1 - |w|^2)w - i\beta|w|^2 w$. The start is a spiral,
$u = \tanh r \cos(\theta - r)$, $v = \tanh r \sin(\theta - r)$.
"""

import numpy as np
import xarray

from ...checks import number, whole
from ...errors import InputError
from ._series import Real, positive

STEP = 0.025  # of Runge and Kutta's method, at most


def reaction_diffusion(
    n: int = 601, *, points: int = 64, dt: Real = 0.1, side: Real = 20.0, D: Real = 0.1, beta: Real = 1.0
) -> xarray.DataArray:
    """`n` snapshots `(time, field, y, x)` of u and v on `points` by `points` of a square of this side.

    The Laplacian is Fourier's, steps in time are of Runge and Kutta and at most 0.025. The end point of a side is its
    first point again, and is left out.
    """
    n, points = whole("n", n), whole("points", points, 4, 1024)
    dt, side, D, beta = positive("dt", dt), positive("side", side), number("D", D, 0.0), number("beta", beta)
    x = -side / 2 + side * np.arange(points) / points
    X, Y = np.meshgrid(x, x)
    r, theta = np.hypot(X, Y), np.arctan2(Y, X)
    w = np.tanh(r) * np.exp(1j * (theta - r))
    k = 2 * np.pi * np.fft.fftfreq(points, side / points)
    laplacian = -D * (k[:, None] ** 2 + k**2)
    steps = int(np.ceil(dt / STEP - 1e-9))
    h = dt / steps
    if h * -laplacian.min() > 2.5:  # Runge and Kutta's method is stable up to 2.78
        raise InputError(f"{points} points on a side of {side:g} are too many for D = {D:g}; take fewer.")

    def rate(w: np.ndarray) -> np.ndarray:
        size = np.real(w) ** 2 + np.imag(w) ** 2
        return np.fft.ifft2(laplacian * np.fft.fft2(w)) + (1 - (1 + 1j * beta) * size) * w

    kept = np.empty((n, 2, points, points))
    for i in range(n):
        kept[i] = np.real(w), np.imag(w)
        for _ in range(steps if i + 1 < n else 0):
            k1 = rate(w)
            k2 = rate(w + h / 2 * k1)
            k3 = rate(w + h / 2 * k2)
            w = w + h / 6 * (k1 + 2 * (k2 + k3) + rate(w + h * k3))
    coordinates = {"time": dt * np.arange(n), "field": ["u", "v"], "y": x, "x": x}
    return xarray.DataArray(kept, dims=("time", "field", "y", "x"), coords=coordinates, name="reaction and diffusion")
