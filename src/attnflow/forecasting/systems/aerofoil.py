r"""A pitching aerofoil with lag and stall, forced by its angle: an open substitute for wind-tunnel data, of our own.

Time $s$ is in semi-chords. Two lags of Jones and Wagner give the effective angle, and a third, of the type of Goman and
Khrabrov, the part $f$ of the flow that is attached:

$$ \dot x_i = a - b_i x_i, \qquad a_e = \tfrac12 a + 0.165\, b_1 x_1 + 0.335\, b_2 x_2, \qquad b = (0.0455, 0.3), $$
$$ \dot f = \tfrac13\Big(\frac1{1 + e^{40(|a_e| - 0.26)}} - f\Big), \quad
   C_L = 2\pi a_e\big(\tfrac{1 + \sqrt f}2\big)^2, \quad C_D = 0.01 + 0.9\, C_L a + 0.3(1 - f)|a_e|. $$
"""

import numpy as np
import xarray

from ...checks import finite_array, flag, number, whole
from ...errors import InputError
from ...spaces import Numbers
from ._series import Real, positive

RATES, SHARES = (0.0455, 0.3), (0.165, 0.335)
SUBSTEPS = 4
TONES = np.linspace(0.02, 0.25, 8)  # radians per semi-chord


def pitching(
    n: int = 3000,
    *,
    mean: Real = 0.05,
    amplitude: Real = 0.30,
    phases: Numbers = (0.0, 0.7, 1.4, 2.1, 2.8, 3.5, 4.2, 4.9),
    dt: Real = 0.5,
) -> np.ndarray:
    """An angle `(n,)` in radians: eight tones from 0.02 to 0.25 radians per semi-chord, scaled to `amplitude`."""
    n, mean, amplitude, dt = whole("n", n), number("mean", mean), number("amplitude", amplitude), positive("dt", dt)
    phi = finite_array("phases", phases)
    if phi.shape != TONES.shape:
        raise InputError(f"phases has shape {phi.shape}; give eight numbers.")
    total = np.sin(dt * np.arange(n)[:, None] * TONES + phi).sum(axis=1)
    largest = np.abs(total).max()
    return mean + amplitude * total / (largest if largest > 0 else 1.0)


def aerofoil(angle: Numbers, *, dt: Real = 0.5, stall: bool = True) -> xarray.Dataset:
    """Lift and drag `y (time, output)` under the angle `u (time, input)`; `stall=False` is the linear twin.

    Euler steps of a quarter of `dt`, in which the angle keeps its value at the start of the sample; at first the lags
    are at rest under the first angle. Without stall the flow is attached, and drag is constant.
    """
    from scipy.signal import lfilter

    a, dt, stall = finite_array("angle", angle), positive("dt", dt), flag("stall", stall)
    if a.ndim != 1 or not a.size:
        raise InputError(f"angle has shape {a.shape}; give the angle at each time, (n,).")
    h = dt / SUBSTEPS

    def lagged(forcing, rate, first):
        """Euler's method for a linear lag, at every step; the forcing is that of the step before."""
        states = lfilter([h], [1.0, h * rate - 1.0], forcing[:-1], zi=[(1.0 - h * rate) * first])[0]
        return np.concatenate([[first], states])

    held = np.repeat(a, SUBSTEPS)
    lags = [lagged(held, rate, a[0] / rate) for rate in RATES]
    parts = (c * b * x for c, b, x in zip(SHARES, RATES, lags, strict=True))
    effective = 0.5 * held + sum(parts)
    attached = 0.5 * (1.0 - np.tanh(20 * (np.abs(effective) - 0.26)))  # the logistic function without overflow
    f = lagged(attached / 3, 1 / 3, attached[0])[::SUBSTEPS] if stall else np.ones(len(a))
    effective = effective[::SUBSTEPS]
    lift = 2 * np.pi * effective * ((1 + np.sqrt(np.clip(f, 0, None))) / 2) ** 2
    drag = 0.01 + 0.9 * lift * a + 0.3 * (1 - f) * np.abs(effective) if stall else np.full(len(a), 0.01)
    return xarray.Dataset(
        {"y": (("time", "output"), np.stack([lift, drag], axis=1)), "u": (("time", "input"), a[:, None])},
        coords={"time": dt * np.arange(len(a)), "output": ["lift", "drag"], "input": ["angle"]},
    )
