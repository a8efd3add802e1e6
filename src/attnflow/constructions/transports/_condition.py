"""The coordinates that stay the same."""

from collections.abc import Sequence

from ...checks import whole
from ...errors import InputError, shown


def coordinates(condition: Sequence[int], d: int) -> tuple[int, ...]:
    """The coordinates that are a condition, each once, not all of them."""
    if isinstance(condition, str) or not isinstance(condition, Sequence):
        raise InputError(f"condition = {shown(condition)}; give a list of coordinates, counted from 0.")
    chosen = tuple(sorted({whole("condition", k, least=0, most=d - 1) for k in condition}))
    if len(chosen) == d:
        raise InputError(f"all {d} coordinates are a condition; leave at least one to be made.")
    return chosen
