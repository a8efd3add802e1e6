"""The steps in their order: code, projection, rounds, selection, collapse, placement."""

from typing import Any, NamedTuple

import numpy as np

from ._arithmetic import Arithmetic
from ._blocks import Block, neurons
from ._code import spread_codes
from ._collapse import collapse
from ._data import Problem
from ._draft import Draft
from ._placement import place
from ._projection import classes, generic_direction, projection, reset
from ._rounds import separate
from ._selection import select
from ._strip import Unseparated


class Built(NamedTuple):
    """Blocks; whether Step A is among them and its kappa; the smallest isolation they rely on, relative to D."""

    blocks: list[Block]
    kappa: Any
    isolation: Any


def build(problem: Problem, arithmetic: Arithmetic, *, code: bool, rng: np.random.Generator) -> Built:
    """The blocks for the different inputs of `problem`; raises `Unseparated` where tokens are too close."""
    m = np.array([len(y) for y in problem.outputs])
    draft = Draft(arithmetic, problem.cloud)
    u, draft.span, relative_gap = generic_direction(draft, rng)
    if code and len(m) > 1 and draft.span > 0:
        spread_codes(draft, u, relative_gap, rng)
    pending = projection(draft, u)
    label = classes(draft.cloud.moved(pending(draft.cloud.x)))
    if label.max() + 1 < len(label):
        draft.add(Block("projection", pending))
        separate(draft)
        pending = reset(draft)
    if m.max() == 1:
        draft.add(Block("collapse", pending, collapse(draft, circle=False)))
    else:
        draft.add(Block("reset", pending))
        last = select(draft, m)
        draft.add(Block("collapse", neurons(arithmetic, draft.d, 1, *last), collapse(draft, circle=True)))
    if not np.array_equal(draft.cloud.sizes, m):
        raise Unseparated(f"tokens of one sequence lie too close to be held apart; {arithmetic.remedy}.")
    place(draft, problem.outputs)
    return Built(draft.blocks, draft.kappa, draft.isolation)
