"""The Python program that makes a schedule again, to the last digit."""

import dataclasses
from typing import Any

import numpy as np


def program(schedule: Any) -> str:
    """Python that makes the schedule; it needs nothing else, no file."""
    blocks = "".join(f"    {_call(piece)},\n" for piece in schedule.blocks)
    return f"import attnflow as af\n\nschedule = af.constructions.Schedule([\n{blocks}])\nprint(schedule)\n"


def _call(piece: Any) -> str:
    values = {field.name: getattr(piece, field.name) for field in dataclasses.fields(piece)}
    return f"af.constructions.{type(piece).__name__}({', '.join(f'{k}={_text(v)}' for k, v in values.items())})"


def _text(value: Any) -> str:
    return repr(value.tolist() if isinstance(value, np.ndarray) else value)
