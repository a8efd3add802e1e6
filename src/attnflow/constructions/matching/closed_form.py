r"""What a piece does, read off its weights.

| weights | map | function |
|---|---|---|
| $V = 0$, $U = 0$ | boost | `boosted` |
| $V = 0$, $U = z^\top$, $W \parallel z$ | cap gate | `gate_moved` |
| $V = 0$, $U = 1\gamma^\top$, $b = (\varepsilon, 0, -\varepsilon)$, $W = c\,\omega(1, -2, 1)$ | band | `band_moved` |
| $V = c\,\alpha\alpha^\top$, $B = 0$, $W = 0$ | a boost by $\tau$ of the scalar equation | `rank_one_times` |
| $V = cI$, $B = 0$, $W = 0$ | a Lorentz transformation of $(1, x)$ | `averaged` |

Other pieces are integrated. Nothing is remembered beside the weights: a piece from a file, or of a user's own, has the
same maps.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ._measure import Side
from .attention import averaged, integrated
from .boost import boosted, rank_one_times
from .cap_gate import gate_moved
from .hat_band import band_moved
from .piece import TransformerPiece

NEAR = 1e-13  # relative to the largest entry: rounding of the products that weights are made of


class Form(NamedTuple):
    """The map of measures side by side, `(side, t) -> x`, and its name."""

    name: str
    moved: Callable[[Side, float], np.ndarray]


def form_of(piece: TransformerPiece) -> Form:
    """The closed form of a piece, or its integration."""
    if not piece.attends:
        found = _rest(piece) or _boost(piece) or _gate(piece) or _band(piece)
    else:
        found = None if piece.B.any() or piece.W.any() else _rank_one(piece) or _averaging(piece)
    return found or Form("integrated", lambda side, t: integrated(piece, side, t))


def _rest(piece: TransformerPiece) -> Form | None:
    return None if piece.W.any() else Form("rest", lambda side, t: side.x)


def _boost(piece: TransformerPiece) -> Form | None:
    if piece.U.any():
        return None
    drift = piece.W @ np.maximum(piece.b, 0)
    speed = float(np.linalg.norm(drift))
    if speed == 0:
        return Form("rest", lambda side, t: side.x)
    e = drift / speed
    return Form("boost", lambda side, t: boosted(side.x, e, speed * t))


def _gate(piece: TransformerPiece) -> Form | None:
    if piece.width != 1:
        return None
    z, level, out = piece.U[0], -float(piece.b[0]), piece.W[:, 0]
    A = float(out @ z)
    if not (_same(np.linalg.norm(z), 1.0) and abs(level) < 1 and _same(out, A * z)):
        return None
    return Form("cap gate", lambda side, t: gate_moved(side.x, z, level, A * t))


def _band(piece: TransformerPiece) -> Form | None:
    if piece.width != 3:
        return None
    gamma, (eps, zero, minus), c = piece.U[0], piece.b, piece.W[:, 0]
    size = float(np.linalg.norm(c))
    if not (eps > 0 and zero == 0 and minus == -eps and size > 0 and _same(np.linalg.norm(gamma), 1.0)):
        return None
    if not (_same(piece.U, np.tile(gamma, (3, 1))) and _same(piece.W, np.outer(c, [1.0, -2.0, 1.0]))):
        return None
    omega = c / size
    if abs(omega @ gamma) > NEAR * 10:
        return None
    return Form("band", lambda side, t: band_moved(side.x, gamma, omega, float(eps), size * float(eps) * t))


def _rank_one(piece: TransformerPiece) -> Form | None:
    row = piece.V[np.argmax(np.abs(np.diag(piece.V)))]
    length = float(np.linalg.norm(row))
    if length == 0:
        return None
    alpha = row / length
    speed = float(np.trace(piece.V))
    if not _same(piece.V, speed * np.outer(alpha, alpha)):
        return None

    def moved(side: Side, t: float) -> np.ndarray:
        return boosted(side.x, alpha, rank_one_times(side, alpha, t, speed)[side.owner])

    return Form("rank-one attention", moved)


def _averaging(piece: TransformerPiece) -> Form | None:
    speed = float(piece.V[0, 0])
    if speed == 0 or not np.array_equal(piece.V, speed * np.eye(piece.d)):
        return None
    return Form("averaging", lambda side, t: averaged(side, t, speed))


def _same(a: np.ndarray | np.floating, b: np.ndarray | float) -> bool:
    return bool(np.max(np.abs(a - b)) <= NEAR * max(1e-300, float(np.max(np.abs(b)))))
