"""Numbers as JSON has them: Python's own types, and null where a number is not finite."""

import math
from typing import Any


def plain(value: Any) -> Any:
    """`value` with arrays as lists, array scalars as Python numbers, and NaN or infinity as `None`."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    import numpy as np

    return plain(np.asarray(value).tolist())
