r"""Which engine sums over pairs in a run: decided once, where the model, its temperature and the tolerances are known.

The spectral engine is fast and errs absolutely: by `ERROR` of all weight in every sum, so by up to `ERROR` / $w_i$
in the velocity of a token that is alone (softmax: $Z_i \ge w_i$). Over a run of length $T$ that moves it by $T$ times
as much. The engine is taken only if this is below the relative tolerance of the run. So it is never taken for the
metastable tail, where drifts below 1e-13 decide and times are exponentially long.
"""

import math
from typing import Any

import numpy as np
from jaxtyping import Array, Float

from ..errors import InputError
from ..models import AbstractModel
from ..models.schedules import depends_on_time
from ..pairsums import Causal, Exponential, Total, plain_kernel, resolve_kernel
from ..pairsums.modes import DIMENSIONS, SPECTRAL, modes_for, with_modes
from ..pairsums.spectral import ERROR, FLOOR, refusal
from ..spaces import Sphere, is_concrete


def choose_kernel(
    kernel: str,
    model: AbstractModel,
    x0: Float[Array, "n d"],
    w: Any,
    span: Any,
    tolerance: Any,
    *,
    partitioned: bool = False,
) -> str:
    """The engine for a run of length `span`; `"spectral"` gets its number of modes or is refused in a sentence.

    Where XLA is to cut the cloud into parts for many devices (`partitioned`), `"auto"` is an engine of its operations.
    """
    n, d = x0.shape
    chosen = resolve_kernel(kernel, n, n)
    if kernel == "auto" and partitioned:
        return plain_kernel(n, n)
    if kernel == "auto":
        return f"{SPECTRAL}:{_count(model, d)}" if _pays(model, x0, w, span, tolerance) else chosen
    if kernel == SPECTRAL:
        why = _structure(model, x0) or _accuracy(model, x0, w, span, tolerance)
        if why is not None:
            raise InputError(f"no spectral sums here: {why}.")
        return f"{SPECTRAL}:{_count(model, d)}"
    if chosen.startswith(SPECTRAL):
        with_modes(chosen, None, d)  # the user knows; only the name is checked
    return chosen


def _pays(model: AbstractModel, x0: Array, w: Any, span: Any, tolerance: Any) -> bool:
    """Whether spectral sums are possible, accurate enough, and faster."""
    n, d = x0.shape
    if d not in DIMENSIONS or n < break_even(d, 0) or _structure(model, x0):
        return False
    enough = n >= break_even(d, _count(model, d), causal=isinstance(getattr(model, "pairs", None), Causal))
    return enough and _accuracy(model, x0, w, span, tolerance) is None


def break_even(d: int, modes: int, causal: bool = False) -> float:
    """From how many tokens on spectral sums are faster than direct ones, as measured (docs/theory/fast-sums.md)."""
    if d == 2:
        return 800.0 + 9 * modes if causal else 256.0 + modes
    return 10.0 * modes**2 if causal else 170.0 * modes


def _structure(model: Any, x0: Array) -> str | None:
    """Why this model has no spectral sums whatever its numbers; `None` if it has."""
    attention = model.attention if model.attention_alone else None
    if attention is None or not attention.exponential:
        name = type(model if attention is None else attention).__name__
        return f"{name} does not say what it sums; give the number of modes, for example kernel='spectral:64'"
    if depends_on_time(attention):
        return (
            "the parameters change with time; choose another kernel, or give modes for the largest beta ('spectral:64')"
        )
    if not isinstance(model.space, Sphere):
        return f"tokens in {type(model.space).__name__} are not unit vectors; choose another kernel"
    why = refusal(attention.score, x0.shape[1], x0.dtype, model.pairs, Exponential(), None)
    if why is not None:
        return f"{why}; choose another kernel"
    if not is_concrete(attention):
        return "beta is not known inside a transformation; give the number of modes, for example kernel='spectral:64'"
    return None


def _count(model: Any, d: int) -> int:
    return modes_for(float(model.attention.score.zonal[0]), d)


def _accuracy(model: Any, x0: Array, w: Any, span: Any, tolerance: Any) -> str | None:
    """Why the absolute error is too large for this run; `None` if it is not."""
    if not is_concrete(w, span, tolerance):
        return (
            "weights, times or tolerances are not known inside a transformation, so the accuracy cannot be judged; "
            "give the number of modes, for example kernel='spectral:64'"
        )
    n, d = x0.shape
    lightest = 1 / n if w is None else float(np.min(np.asarray(w)))
    if lightest == 0:
        return "a token of weight zero may be far from all others, where no digit of Z is left; choose another kernel"
    attention = model.attention
    strict = isinstance(model.pairs, Causal) and model.pairs.strict
    least = math.exp(-2 * abs(float(attention.score.zonal[0])))  # of the kernel, at the antipode
    if strict and least < FLOOR:
        return (
            "a token that does not see itself may be far from all it sees, where at this beta no digit of Z is left; "
            "choose another kernel"
        )
    error = ERROR[d] * (1.0 if attention.V is None else float(np.linalg.norm(np.asarray(attention.V), 2)))
    if isinstance(attention.reduce, Total):  # the sums themselves, at most e^(s(x, x) - shift)
        largest = float(attention.score.zonal[1]) - float(attention.reduce.shift)
        error = error * float(attention.reduce.factor) * math.exp(min(largest, 700))
    else:
        error = error / (least if strict else lightest)
    if error * span <= tolerance:
        return None
    return (
        f"their error of up to {error:.1g} in a velocity makes {error * span:.1g} over a time of {span:g}, more than "
        f"the tolerance {tolerance:g}; allow rtol >= {error * span:.1g}, or choose another kernel "
        f"('{SPECTRAL}:{_count(model, d)}' is not checked)"
    )
