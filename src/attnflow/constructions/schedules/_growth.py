"""How far a neuron expands the half-space it is on in, and how far it then moves points."""

import numpy as np

from ...errors import InputError


def phi(z: np.ndarray) -> np.ndarray:
    """(e^z - 1)/z, by its series where z is small."""
    small = abs(z) < 1e-8
    safe = np.where(small, 1.0, z)
    return np.where(small, 1 + z / 2, np.expm1(safe) / safe)


def check_times(name: str, t: np.ndarray) -> None:
    if (t <= 0).any():
        raise InputError(f"{name} = {t.min():g} is no duration; take t > 0, and -w to run a piece backwards.")


def check_growth(ct: np.ndarray) -> None:
    if (far := np.flatnonzero(~(abs(ct) <= 700))).size:
        k = int(far[0])
        raise InputError(
            f"piece {k} expands volume by e^{ct[k]:.4g}, beyond the range of float64; take a shorter time."
        )
