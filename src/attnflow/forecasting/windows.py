r"""Windows of a series: $w_k = (x_k, x_{k-1}, \dots, x_{k-m+1})$, NEWEST FIRST, and the states that follow them.

A token is $[x_{k-j}, u_{k+1-j}]$ where there are inputs u: the newest one holds the input of the step to come. No
window reaches across the end of a trajectory or a missing sample.
"""

import warnings
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..errors import AttnflowWarning, InputError
from ._series import Series

AT_ONCE = 1 << 14  # windows


class Piece(NamedTuple):
    """A stretch without gaps: states `(n, d)`, inputs `(n, q)` at the same times; which trajectory it is of."""

    x: np.ndarray
    u: np.ndarray
    trajectory: int
    last: bool  # whether it holds the last sample of its trajectory

    def __len__(self) -> int:
        return len(self.x)


class Windows(NamedTuple):
    """`tokens (n, m, d + q)`, newest first, and what follows, `future (n, R, d + q)`: its last inputs are free."""

    tokens: np.ndarray
    future: np.ndarray


def pieces(series: list[Series], inputs: list[Series] | None = None, *, warn: bool = True) -> list[Piece]:
    """Trajectories cut where a sample is missing, as a warning says."""
    found: list[Piece] = []
    missing = cut = 0
    for i, one in enumerate(series):
        u = _inputs(one, inputs[i] if inputs is not None else None, i)
        whole = np.isfinite(np.concatenate([one.values, u], axis=1)).all(axis=1)
        missing += int((~whole).sum() + (np.diff(one.at) - 1).sum())
        runs = np.flatnonzero(whole)
        breaks = np.flatnonzero((np.diff(runs) > 1) | (np.diff(one.at[runs]) > 1)) + 1
        for rows in np.split(runs, breaks):
            if len(rows):
                found.append(Piece(one.values[rows], u[rows], i, bool(rows[-1] == len(u) - 1)))
                cut += 1
    if not found:
        raise InputError("every row of X has a missing entry (NaN); drop the columns that are empty.")
    if missing and warn:
        kept = f"{cut} stretches without gaps" if cut > 1 else "one stretch without gaps"
        warnings.warn(f"{missing} samples are missing; the data were cut into {kept}.", AttnflowWarning, stacklevel=4)
    return found


def _inputs(one: Series, u: Series | None, i: int) -> np.ndarray:
    if u is None:
        return np.zeros((len(one.values), 0))
    if len(u.values) != len(one.values):
        raise InputError(
            f"trajectory {i} has {len(one.values)} samples and {len(u.values)} rows of inputs u; give one row for each."
        )
    return u.values


def views(found: list[Piece], m: int, ahead: int = 1) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Of every stretch the windows `(n, m, c)` and the `ahead` tokens after each, `(n, ahead, c)`, without a copy."""
    for piece in found:
        n = len(piece) - m - ahead + 1
        if n >= 1:
            row = stream(piece)
            oldest_first = np.lib.stride_tricks.sliding_window_view(row[: n + m - 1], m, axis=0)
            later = np.lib.stride_tricks.sliding_window_view(row[m:], ahead, axis=0)
            yield oldest_first[:, :, ::-1].transpose(0, 2, 1), later.transpose(0, 2, 1)[:n]


def windows(found: list[Piece], m: int, ahead: int = 1, *, most: int | None = None) -> Windows:
    """All windows of m states with `ahead` states after them, or about `most`, evenly spaced; there may be none."""
    both = list(views(found, m, ahead))
    if not both:
        width = found[0].x.shape[1] + found[0].u.shape[1]
        return Windows(np.zeros((0, m, width)), np.zeros((0, ahead, width)))
    n = sum(len(tokens) for tokens, _ in both)
    every = 1 if most is None else max(1, -(-n // most))
    return Windows(*(np.concatenate([pair[k][::every] for pair in both]) for k in (0, 1)))


def blocks(found: list[Piece], m: int, d: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Windows as rows `(n, m c)` and the states after them `(n, d)`, some thousands at a time."""
    for tokens, future in views(found, m):
        for first in range(0, len(tokens), AT_ONCE):
            part = slice(first, first + AT_ONCE)
            yield tokens[part].reshape(-1, tokens.shape[1] * tokens.shape[2]), future[part, 0, :d]


def stream(piece: Piece, *, after: np.ndarray | None = None) -> np.ndarray:
    """The tokens $[x_k, u_{k+1}]$ of a piece; the input after its last state is `after`, or zero."""
    q = piece.u.shape[1]
    last = np.zeros((1, q)) if after is None else after
    return np.concatenate([piece.x, np.concatenate([piece.u[1:], last])], axis=1)


def latest(piece: Piece, m: int, after: np.ndarray | None = None) -> np.ndarray:
    """The last window `(m, d + q)` of a piece, newest first."""
    return stream(piece, after=after)[-m:][::-1]


def enough(found: list[Piece], m: int) -> None:
    """Refuse data without a single window and a state after it."""
    longest = max(len(piece) for piece in found)
    if longest < m + 1:
        what = "X has 1 sample" if longest == 1 else f"X has {longest} samples in a row"
        raise InputError(
            f"{what}, and n_delays = {m} needs {m + 1} of them; take n_delays <= {longest - 1}, or give more samples."
            if longest > 1
            else f"{what}, and a forecaster needs n_delays + 1 = {m + 1} of them; give more samples."
        )


def wide_enough(series: list[Series], name: str = "X") -> None:
    """Refuse tables that look transposed: rows are times."""
    rows, columns = max(len(s.values) for s in series), series[0].values.shape[1]
    if rows < columns:
        raise InputError(
            f"{name} has {rows} samples (rows) of {columns} features: rows are times. If its columns are the times, "
            "take time_axis=1; if it is a field, reduce it by PODReducer."
        )


def standard(found: list[Piece]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of every token channel; a channel that never moves has the deviation 1."""
    rows = np.concatenate([np.concatenate([p.x, p.u], axis=1) for p in found])
    mean, std = rows.mean(axis=0), rows.std(axis=0)
    still = std <= 1e-12 * np.maximum(np.abs(rows).max(axis=0), np.finfo(float).tiny)
    return mean, np.where(still, 1.0, std)
