"""Binary frames, little-endian, each with a header of 48 bytes.

| bytes | what |
|---|---|
| 0 | `AFF1` |
| 4 | kind: 1 a state, 2 instruments |
| 8 | run: which start of the page this belongs to |
| 12 | step |
| 16 | n, tokens |
| 20 | k: coordinates of a state; bins of the histogram of instruments |
| 24 | t, float64 (a long-time run: its natural logarithm) |
| 32 | state: energy, float32 (not a number where there is none); instruments: `eps`, within which clusters are linked |
| 36 | state: order parameter, float32; instruments: plateau height, float32 |
| 40 | state: share of the second moment that the view shows, float32; instruments: number of clusters, uint32 |
| 44 | state: amplitude of the wave, float32; instruments: side of the attention image, uint32 |

A state goes on with float32 positions `(n, k)` and, to the end, the kernel density on the circle where there is one.
Instruments go on with labels (uint16, n, filled up to four bytes), the histogram (float32, k) and the attention image
(float32, side by side).
"""

import struct

import numpy as np

MAGIC = b"AFF1"
STATE, INSTRUMENTS = 1, 2
_STATE, _INSTRUMENTS = struct.Struct("<4sIIIIIdffff"), struct.Struct("<4sIIIIIdffII")


def state(
    run: int,
    step: int,
    t: float,
    points: np.ndarray,
    density: np.ndarray,
    *,
    energy: float,
    order: float,
    share: float,
    wave: float,
) -> bytes:
    """Tokens to be drawn, `(n, 2)` or `(n, 3)`, and the density around the circle."""
    n, k = points.shape
    header = _STATE.pack(MAGIC, STATE, run, step, n, k, t, *map(_single, (energy, order, share, wave)))
    return header + _singles(points) + _singles(density)


def instruments(
    run: int,
    step: int,
    t: float,
    *,
    labels: np.ndarray,
    clusters: int,
    eps: float,
    plateau: float,
    histogram: np.ndarray,
    attention: np.ndarray,
) -> bytes:
    """The expensive measurements of a state."""
    n, numbers = labels.size, map(_single, (eps, plateau))
    sizes = clusters, attention.shape[0]
    header = _INSTRUMENTS.pack(MAGIC, INSTRUMENTS, run, step, n, histogram.size, t, *numbers, *sizes)
    names = np.minimum(labels, 65535).astype("<u2").tobytes()
    padding = b"\0" * (-len(names) % 4)
    return header + names + padding + _singles(histogram) + _singles(attention)


def _single(value: float) -> float:
    """A float32, infinite where it would not fit: `struct` refuses instead."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def _singles(values: np.ndarray) -> bytes:
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(values, "<f4").tobytes()
