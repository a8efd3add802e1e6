r"""All modes of a kernel density on the line or the circle: lay out blocks of cells, decide them, refine the open ones.

Where no token is within $h$ the density is convex, so blocks are laid out around tokens only: tokens may stand any
distance apart. Cells are a tenth of $h$ wide; those that remain open are cut into 64 and looked at again.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..flows.compiled import timed_rows
from ._modes_sums import CELLS, TILE, Draws, Scales, examine, sums

STEP = 0.1  # a first cell, in units of h
OFFSET = 0.381966  # of the grid, in cells: no point of symmetry of simple tokens is on it
LEVELS = 5  # after 64^4 cuts of a cell, differences of F are below rounding
BLOCKS = 2048  # looked at by one call
SMALL = 1 << 20  # numbers that may be padding
MOST_OPEN = 1 << 16  # more open cells than this are left as they are, and are reported as such


class Search(NamedTuple):
    """Modes of all draws: `draw` and `place` of each; `certified` draws have exactly these."""

    draw: np.ndarray
    place: np.ndarray
    certified: np.ndarray


def search(place: np.ndarray, w: np.ndarray, beta: float, *, circle: bool, exact_places: bool) -> Search:
    """Places are coordinates or angles `(draws, n)`; weights `(n,)` are positive."""
    order = np.argsort(place, axis=1)
    place, w = np.take_along_axis(place, order, 1), w[order]
    draws, scales = _draws(place, w, circle), _scales(w, beta, circle)
    which, start, step = (_around_circle if circle else _around_tokens)(place, 1 / np.sqrt(beta))
    modes, certified = _decide(draws, scales, (which, start, step))
    draw, mode = modes[np.lexsort((modes[:, 1], modes[:, 0]))].T
    draw = draw.astype(int)
    if exact_places and draw.size:
        for _ in range(2):
            mode = _run(_newton, draws, scales, draw, mode, np.full(mode.shape, STEP / np.sqrt(beta)))
    return Search(draw, mode, certified[: len(place)])


def _decide(draws: Draws, scales: Scales, blocks: tuple[np.ndarray, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Rows (draw, place), one for each mode, and which draws are certified."""
    which, start, step = blocks
    certified = np.ones(len(draws.place), bool)
    first = _run(examine, draws, scales, which, start, step)
    b, cell = np.nonzero(first.mode)
    pieces = [np.stack([which[b], first.where[b, cell]], axis=1)]
    certified[which[first.loose]] = False
    # The cells that are open at first are roots; where one stays open in spite of all cuts, its own signs are counted.
    b, cell = np.nonzero(first.open)
    roots = np.stack([which[b], first.where[b, cell]], axis=1)
    crossing, lost = first.crossing[b, cell], first.hopeless[b, cell] | (b.size > MOST_OPEN)
    block, root = first, np.flatnonzero(~lost)
    b, cell = b[root], cell[root]
    inside = []
    for level in range(1, LEVELS):
        if not b.size:
            break
        left, right = (start[b] + step[b] * k for k in (cell, cell + 1))
        which, start, step = which[b], left, (right - left) / CELLS
        block = _run(examine, draws, scales, which, start, step)
        b, cell = np.nonzero(block.mode)
        inside.append((root[b], block.where[b, cell]))
        last = level == LEVELS - 1 or block.open.sum() > MOST_OPEN
        lost[root[block.loose | (block.open if last else block.hopeless).any(axis=1)]] = True
        b, cell = np.nonzero(block.open & ~lost[root][:, None])
        root = root[b]
    for of, where in inside:
        pieces.append(np.stack([roots[of, 0], where], axis=1)[~lost[of]])
    certified[roots[lost, 0].astype(int)] = False
    return np.concatenate([*pieces, roots[lost & crossing]]), certified


def _draws(place: np.ndarray, w: np.ndarray, circle: bool) -> Draws:
    """Sorted tokens in the form of the sums."""
    turns = 2 * np.pi * np.array([-1, 0, 1] if circle else [0])
    three = np.concatenate([place + turn for turn in turns], axis=1)
    half = np.tile(place / 2, len(turns)) if circle else np.zeros((len(place), 0))
    rows, columns = _sizes(len(place), three.shape[1] + TILE)
    filler = {"place": np.inf, "sine": 0.0, "cosine": 0.0, "w": 0.0}
    fields = {"place": three, "sine": np.sin(half), "cosine": np.cos(half), "w": np.tile(w, len(turns))}

    def padded(name: str) -> Array:
        full = np.full((rows, columns if fields[name].shape[1] else 0), filler[name])
        full[: len(place), : fields[name].shape[1]] = fields[name]
        return jnp.asarray(full)

    return Draws(**{name: padded(name) for name in fields})


def _sizes(rows: int, columns: int) -> tuple[int, int]:
    """Few different ones, so that few programs are compiled: powers of 64 and of 16, of two where memory matters."""
    rows, columns = (max(size, 2) - 1 for size in (rows, columns))  # 2^k for sizes above 2^(k-1)
    coarse = 1 << -(-rows.bit_length() // 6) * 6, 1 << -(-columns.bit_length() // 4) * 4
    return coarse if coarse[0] * coarse[1] <= SMALL else (1 << rows.bit_length(), 1 << columns.bit_length())


def _scales(w: np.ndarray, beta: float, circle: bool) -> Scales:
    """The window is wide enough that what it leaves out is below the rounding of the lightest token."""
    n, h, eps = w.shape[1], 1 / np.sqrt(beta), np.finfo(float).eps
    spherical = (1 + h**2) ** 2 if circle else 1.0
    ratio = w.sum(axis=1).max() / w.min() * spherical / eps

    def bound(r: float) -> float:
        return 15 + 15 * r + 10 * r**3 + r**5

    radius = 8.6
    for _ in range(8):
        radius = np.sqrt(2 * np.log(ratio * bound(radius)))
    whole = circle and radius * h >= 2
    window = (np.pi if whole else 2 * np.arcsin(radius * h / 2)) if circle else radius * h
    farthest = min(radius, 2 / h) if circle else radius
    depth = TILE + n / TILE + 2 * farthest**2 + (4 * farthest / h if circle else 0) + 64
    numbers = {
        "h": h,
        "window": window,
        "rounding": depth * eps / spherical,
        "left_out": 0.0 if whole else w.sum(axis=1).max() * spherical * bound(radius) * np.exp(-(radius**2) / 2),
        "growth": (radius + 2.5) / 2,
    }
    return Scales(tokens=jnp.asarray(n), **{k: jnp.asarray(v, jnp.float64) for k, v in numbers.items()})


def _around_tokens(place: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Blocks of a lattice that come within h of a token: their draw, start, and step."""
    step = STEP * h
    ends = np.concatenate([place - h, place + h], axis=1) / step - OFFSET
    numbers = np.sort(np.floor(ends / CELLS).astype(np.int64), axis=1)
    new = np.concatenate([np.ones((len(place), 1), bool), np.diff(numbers, axis=1) > 0], axis=1)
    draw, at = np.nonzero(new)
    start = (numbers[draw, at] * CELLS + OFFSET) * step
    return draw, start, np.full(start.shape, step)


def _around_circle(place: np.ndarray, h: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Blocks all around the circle, for each draw."""
    blocks = int(np.ceil(2 * np.pi / (CELLS * STEP * min(h, 1.0))))
    step = 2 * np.pi / (CELLS * blocks)
    start = step * (np.arange(blocks) * CELLS + OFFSET)
    return np.repeat(np.arange(len(place)), blocks), np.tile(start, len(place)), np.full(len(place) * blocks, step)


def _run(fn, draws: Draws, scales: Scales, which: np.ndarray, start: np.ndarray, step: np.ndarray):
    """`fn` of every block, shared between the cores; results as NumPy arrays."""
    # Always so many at once, so that one program serves all; blocks at infinity have no tokens near and cost little.
    rows = -(-len(which) // BLOCKS) * BLOCKS
    columns = zip((which, start, step), (0, np.inf, 1.0), strict=True)
    padded = [np.concatenate([a, np.full(rows - len(a), filler, a.dtype)]) for a, filler in columns]
    results = []
    for first in range(0, rows, BLOCKS):
        blocks = tuple(a[first : first + BLOCKS] for a in padded)
        results.append(timed_rows(_every_block, fn, draws, scales, rows=blocks).value)
    return jax.tree.map(lambda *parts: np.concatenate([np.asarray(a) for a in parts])[: len(which)], *results)


def _every_block(fn, draws: Draws, scales: Scales, blocks: tuple[Array, ...]):
    return jax.lax.map(lambda block: fn(draws, *block, scales), blocks)


def _newton(draws: Draws, which: Array, t: Array, most: Array, scales: Scales) -> Array:
    """One step of Newton's method towards a zero of F, of a length at most a cell."""
    f = sums(draws, which, t[None], scales).f[:, 0]
    return t - jnp.clip(scales.h * f[0] / jnp.where(f[1] < 0, f[1], -1), -most, most)
