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
| 32 | energy, float32 (not a number where there is none) |
| 36 | order parameter, float32 |
| 40 | state: share of the second moment that the view shows; instruments: plateau height |
| 44 | state: amplitude of the wave, float32; instruments: side of the attention image + 65536 times the clusters |

A state goes on with float32 positions `(n, k)`. Instruments go on with labels (uint16, n, filled up to four bytes),
the histogram (float32, k) and the attention image (float32, side by side).
"""

import struct

import numpy as np

MAGIC = b"AFF1"
STATE, INSTRUMENTS = 1, 2
_STATE, _INSTRUMENTS = struct.Struct("<4sIIIIIdffff"), struct.Struct("<4sIIIIIdfffI")


def state(
    run: int,
    step: int,
    t: float,
    points: np.ndarray,
    energy: float = np.nan,
    order: float = np.nan,
    seen: float = 1.0,
    wave: float = np.nan,
) -> bytes:
    """Tokens to be drawn, `(n, 2)` or `(n, 3)`."""
    n, k = points.shape
    header = _STATE.pack(MAGIC, STATE, run, step, n, k, t, *map(_single, (energy, order, seen, wave)))
    return header + np.ascontiguousarray(points, "<f4").tobytes()


def instruments(
    run: int,
    step: int,
    t: float,
    labels: np.ndarray,
    histogram: np.ndarray,
    attention: np.ndarray,
    *,
    count: int,
    energy: float,
    order: float,
    plateau: float,
) -> bytes:
    """What costs more to know than where the tokens are."""
    n, side = labels.size, attention.shape[0]
    last = side | count << 16
    header = _INSTRUMENTS.pack(
        MAGIC, INSTRUMENTS, run, step, n, histogram.size, t, _single(energy), _single(order), _single(plateau), last
    )
    names = np.minimum(labels, 65535).astype("<u2").tobytes()
    padding = b"\0" * (-len(names) % 4)
    return header + names + padding + histogram.astype("<f4").tobytes() + attention.astype("<f4").tobytes()


def _single(value: float) -> float:
    """A float32, infinite where it would not fit: `struct` refuses instead."""
    with np.errstate(over="ignore"):
        return float(np.float32(value))
