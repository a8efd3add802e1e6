"""The input of every diagnostic: a run, or tokens with leading axes."""

import operator
from typing import Any

import numpy as np

from ..errors import InputError, shown
from ..flows import Run
from ..flows.clouds import Clouds as Clouds
from ..flows.clouds import along as along
from ..flows.clouds import linking_distance as linking_distance
from ..flows.clouds import masses as masses
from ..flows.clouds import real_tokens as real_tokens
from ..spaces import Count, Numbers, check_weights, is_concrete, warn_if_narrowed

Tokens = Run | Numbers
"""A run, or tokens `(..., n, d)`; then `weights (n,)` may be given, `None` for equal ones."""


LARGEST = 1 << 28  # 2 GB in float64


def clouds(tokens: Tokens, at: Count | None = None, weights: Numbers | None = None) -> Clouds:
    """The tokens of a run at the saved time of index `at`, at all times if `None`; or those of an array."""
    if isinstance(tokens, Run):
        tokens.single()
        if weights is not None:
            raise InputError("a run has its own weights; leave out weights=, or give run.xs instead of the run.")
        growth = tokens.info["log_scale"] if "log_scale" in tokens.info else None
        if at is None:
            return Clouds(tokens.xs, tokens.weights, tokens.ts, tokens, growth)
        at = saved_time(at, tokens.xs.shape[0])
        return Clouds(tokens.xs[at], tokens.weights, tokens.ts[at], tokens, None if growth is None else growth[at])
    warn_if_narrowed("tokens", tokens)
    xs = real_tokens(tokens)
    if at is not None:
        if xs.ndim == 2:
            raise InputError(f"at = {shown(at)} chooses a time, and one cloud {xs.shape} has none; leave it out.")
        xs = xs[saved_time(at, xs.shape[0])]
    w = check_weights(weights, xs.shape[-2])
    return Clouds(xs, None if w is None else w.astype(xs.dtype))


def reached(batch: Clouds) -> Clouds:
    """The same clouds; clouds with tokens that are not finite are refused in a sentence."""
    if is_concrete(batch.xs):
        finite = np.isfinite(np.asarray(batch.xs)).all(axis=(-2, -1))
        if not finite.all():
            where = f" at saved time {int(np.argmin(finite))}" if batch.run is not None and finite.ndim == 1 else ""
            raise InputError(f"some tokens are not finite{where}; remove them, or choose a time that was reached, at=.")
    return batch


def saved_time(at: Any, count: int) -> int:
    """`at` as an index from the beginning, refused when there is no such saved time."""
    try:
        if isinstance(at, bool):
            raise TypeError
        index = operator.index(at)
    except TypeError:
        raise InputError(f"at = {shown(at)} is not an index of a saved time; give a whole number.") from None
    if not -count <= index < count:
        raise InputError(f"at = {at} is none of the {count} saved times; give an index from {-count} to {count - 1}.")
    return index % count


def in_memory(entries: int, what: str) -> None:
    """Refuse a result of more than `LARGEST` numbers."""
    if entries > LARGEST:
        raise InputError(f"{what} are {entries:.2g} numbers; choose one time with at=, or fewer tokens.")
