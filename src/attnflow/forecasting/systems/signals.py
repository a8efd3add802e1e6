r"""Sums of sinusoids, $x(t) = \sum_i a_i \sin(\omega_i t + \varphi_i)$, with or without noise."""

import jax
import numpy as np
import xarray

from ...checks import finite_array, number, whole
from ...errors import InputError
from ...spaces import Numbers
from ._series import Real, positive, series


def tones(
    n: int,
    *,
    frequencies: Numbers,
    amplitudes: Numbers = 1.0,
    phases: Numbers = 0.0,
    dt: Real = 0.1,
    noise: Real = 0.0,
    key: jax.Array | None = None,
) -> xarray.DataArray:
    r"""`n` samples of $\sum_i a_i \sin(\omega_i t + \varphi_i)$ at $t = 0, dt, 2dt, \dots$

    **Arguments:** `frequencies` $\omega$ in radians per unit of time; `amplitudes` and `phases`, one for each or one
    for all; `noise`, the standard deviation of independent Gaussian noise, drawn with `key`.
    """
    n, dt, noise = whole("n", n), positive("dt", dt), number("noise", noise, 0.0)
    omega, a, phi = (
        np.atleast_1d(finite_array(name, value))
        for name, value in (("frequencies", frequencies), ("amplitudes", amplitudes), ("phases", phases))
    )
    for name, value in (("frequencies", omega), ("amplitudes", a), ("phases", phi)):
        if value.ndim != 1 or not len(value) or len(value) not in (1, len(omega)):
            raise InputError(f"{name} has shape {value.shape}; give one number for each frequency.")
    times = dt * np.arange(n)
    values = (a * np.sin(times[:, None] * omega + phi)).sum(axis=1)
    if noise > 0:
        if key is None:
            raise InputError(f"noise = {noise:g} needs a key; give key=jax.random.key(0).")
        values = values + noise * np.asarray(jax.random.normal(key, (n,)), float)
    return series(values[:, None], dt, ["x"], "tones")


def two_tone(n: int = 3000, *, dt: Real = 0.1) -> xarray.DataArray:
    r"""$x(t) = \sin t + \tfrac12 \sin(\sqrt5\, t + 0.3)$: two frequencies without a common period."""
    return tones(n, frequencies=[1.0, 5**0.5], amplitudes=[1.0, 0.5], phases=[0.0, 0.3], dt=dt)
