r"""The continuity equation of attention from a density, by finite volumes."""

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ...checks import flag, number, whole
from ...errors import AttnflowWarning, InputError, SolveError
from ...flows import Outcome
from ...flows.compiled import timed_call
from ...flows.options import check_clock
from ...flows.provenance import provenance
from ...models import AbstractModel, jump_times
from ...pairsums import check_kernel
from ...spaces import Count, Number, Numbers, is_concrete
from ._chart import AbstractChart, chart_of
from ._checked import times
from ._density import Density, checked_interval, initial_masses
from ._field import TABLE, Field, State, cells_of_attention, score_table
from ._scheme import Plan, solve
from .result import ENDED, MeanField


def mean_field(
    model: AbstractModel,
    density: Density,
    *,
    t0: Number = 0.0,
    t1: Number | None = None,
    ts: Numbers | None = None,
    save: Count | None = None,
    cells: Count | None = None,
    interval: Numbers | None = None,
    cfl: Number = 0.5,
    max_steps: Count = 1_000_000,
    kernel: str = "auto",
    throw: bool = True,
) -> MeanField:
    r"""Solve $\partial_t\mu + \operatorname{div}(\mu\,\Gamma_\mu) = 0$ on the circle or on the line.

    **Arguments:**

    - `model`: of attention alone (`SelfAttention`) by any map but hardmax, on `Sphere()` (then $d = 2$) or
      `Euclidean()` ($d = 1$).
    - `density`: a function of angles, or of numbers, that takes and returns an array; or one average value for each
      cell. It is divided by its integral.
    - `t1`, `save`: final time, and how many equispaced times to keep (default 201); or `ts`, the times to keep.
    - `cells`: of the grid, all of one width (default 256). On the circle they begin at the angle 0.
    - `interval`: on the line, what contains the law. It follows the flow, and no mass leaves it; a density that is not
      zero outside is cut off there.
    - `cfl`: how many cells the law may pass in a step. `kernel`: the engine of the sums over pairs, `"table"` for
      scores computed once (softmax on the circle; taken by itself where it is safe).
    - `throw=False` returns an unfinished law; rows past the last time reached are NaN.

    **Returns:** a `MeanField`. Third order for smooth laws, in cells and steps together. Mass is conserved, and no
    density is negative, also when a law becomes a sum of Diracs. These are a cell or two wide then, and move as atoms,
    which `resolution` says, with all else that the grid does not resolve (`limits`). Computed outside `jit`; in float32
    mass is conserved to its six digits only.

    ??? cite "A unified perspective on the dynamics of deep transformers, Castin et al. (arXiv:2501.18322)"
    """
    model = _checked_model(model)
    throw = flag("throw", throw)
    if not isinstance(kernel, str):
        raise InputError(f"kernel = {kernel!r} is no name; leave it out, or take 'table' or 'dense'.")
    chart = chart_of(model)
    _check_dimension(model, chart)
    ends = checked_interval(chart, interval)
    masses = initial_masses(density, ends, cells)
    start, end, kept = times(t0, t1, ts, save)
    check_clock(start, np.union1d(kept, end), str(jnp.result_type(float)))
    cfl = _part_of_a_cell(cfl)
    law = State(jnp.asarray(masses, jnp.result_type(float)), jnp.asarray(ends, jnp.result_type(float)))
    _check_width(model, chart, ends, masses.size)
    table = score_table(model, chart, ends, masses.size) if kernel in ("auto", TABLE) else None
    if kernel == TABLE and table is None:
        raise InputError("kernel 'table' is for softmax on the circle, of scores that do not underflow; leave it out.")
    engine = TABLE if table is not None else check_kernel(kernel)
    jumps = jump_times(model)
    inside = np.empty(0) if jumps is None else np.asarray(jumps, float)
    stops = np.union1d(np.append(kept, end), inside[(inside > start) & (inside < end)])
    plan = Plan(model.space.name, engine)
    numbers = {k: jnp.asarray(v, law.masses.dtype) for k, v in (("t0", start), ("cfl", cfl), ("stops", stops))}
    numbers["max_steps"] = jnp.asarray(whole("max_steps", max_steps, most=2**31 - 1))
    timed = timed_call(solve, plan, Field(model, table), law, numbers)
    masses_at, moved, steps, code = (np.asarray(part) for part in timed.value)
    at = np.searchsorted(stops, kept)
    result = MeanField(
        ts=kept,
        ends=moved[at],
        masses=masses_at[at],
        model=model,
        clock=model.clock,
        code=int(code),
        stats={"steps": int(steps), "compile_seconds": timed.compile_seconds, "run_seconds": timed.run_seconds},
        provenance=provenance(
            t0=start, t1=end, cells=masses.size, cfl=cfl, kernel=plan.kernel, dtype=str(law.masses.dtype)
        ),
    )
    if throw and result.result is not Outcome.SUCCESSFUL:
        raise SolveError(f"{ENDED[result.result]} ({int(steps)} steps)")
    return result


def _checked_model(model: Any) -> Any:
    if not getattr(model, "attention_alone", False):
        raise InputError(
            f"mean_field solves for models of attention alone, SelfAttention, and {type(model).__name__} is none; give "
            "SelfAttention(map, space)."
        )
    if not model.pairs.complete:
        raise InputError(
            f"{type(model.pairs).__name__} pairs distinguish tokens by order or name, which a density has not; "
            "leave pairs out, or follow tokens with simulate."
        )
    if not model.attention.continuous:
        raise InputError("hardmax reads the edge of the support, which no grid keeps; take Softmax with a large beta.")
    if not is_concrete(model):
        raise InputError(
            "the model is being traced, and mean_field looks at its numbers: call it outside jit and vmap."
        )
    return model


def _check_dimension(model: AbstractModel, chart: AbstractChart) -> None:
    """Matrices must be of the size of the circle, or of the line."""
    tokens = jnp.zeros((1, chart.d))
    where = f"mean_field solves on the circle (d = 2) and on the line (d = 1), here d = {chart.d}"
    try:
        jax.eval_shape(lambda: model.force(0.0, tokens, None))
    except (InputError, TypeError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"{where}: {reason}; follow tokens with simulate.") from None


def _part_of_a_cell(cfl: Number) -> float:
    part = number("cfl", cfl)
    if not 0 < part <= 1:
        raise InputError(f"cfl = {part:g} is no part of a cell; take a number above 0, at most 1, by default 0.5.")
    return part


def _check_width(model: AbstractModel, chart: AbstractChart, ends: np.ndarray, cells: int) -> None:
    """Warn where attention is narrower than a cell: neighbours would not see each other, and nothing would move."""
    width = cells_of_attention(model, chart, ends, cells)
    if width < 1:
        warnings.warn(
            f"attention is {width:.2g} cells wide, so that cells hardly see their neighbours; take cells >= "
            f"{int(np.ceil(2 * cells / width))}.",
            AttnflowWarning,
            stacklevel=3,
        )
