"""Runs of models that are sequences of layers: one compiled scan, or one layer at a time."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..checks import whole
from ..errors import InputError, shown
from ..models import AbstractLayers
from ..pairsums import check_kernel
from ..spaces import Number, Numbers, check_tokens, check_weights, is_concrete
from ._doubtful_runs import report
from ._force_shape import fitting, traced_force
from ._progress import ProgressBar, progress_bar
from .compiled import timed_call
from .options import check_clock, whole_layers
from .outcome import Outcome
from .provenance import engine_record, provenance
from .run import Run


class LayerState(NamedTuple):
    """The tokens `x (n, d)` that layer `layer` begins with; after the last layer that is the depth of the model."""

    layer: int
    x: Float[Array, "n d"]


def through_model(
    model: AbstractLayers,
    x0: Numbers,
    *,
    t0: Any = 0.0,
    t1: Any = None,
    ts: Numbers | None = None,
    save: int | None = None,
    weights: Numbers | None = None,
    kernel: str = "auto",
    max_steps: int = 100_000,
    throw: bool = True,
    progress: bool = False,
    **others: Any,
) -> Run:
    """Run the layers of a model, for `simulate`."""
    _check_options(type(model).__name__, **others)
    x0, w = _cloud(model, x0, weights)
    first, kept, last = whole_layers(t0, _end(model, t0, t1, ts), ts, save, max_steps)
    _check_depth(model, last)
    check_clock(first, kept, str(x0.dtype))
    with progress_bar(progress), fitting(x0.shape):
        parts = traced_force(check_kernel(kernel), model, first, x0, w, None)
        # Where every layer is kept it is what the scan returns; else a few rows are filled while it runs.
        every = len(kept) == last - first + 1
        rows = None if every else jnp.asarray(_rows(kept, first, last))
        plan = _Plan(last - first, len(kept), kernel, progress)
        timed = timed_call(_scan, plan, model, x0, w, jnp.asarray(first), rows)
    finite = jnp.isfinite(timed.value).all()
    run = Run(
        ts=jnp.asarray(kept, x0.dtype),
        xs=timed.value,
        weights=w,
        code=jnp.where(finite, Outcome.SUCCESSFUL.code, Outcome.NOT_FINITE.code),
        stats={
            "steps": last - first,
            "compile_seconds": timed.compile_seconds,
            "run_seconds": timed.run_seconds,
        },
        model=model,
        clock="layers",
        provenance={"engine": engine_record(kernel, parts.engines, parts.passed_over)}
        | provenance(
            t0=float(first),
            t1=float(last),
            solver="layers",
            max_steps=max_steps,
            kernel=parts.engines,
            kernel_requested=kernel,
            save=save,
            throw=throw,
            progress=progress,
            dtype=str(x0.dtype),
        ),
    )
    if throw and is_concrete(run.code):
        report(run, f"{last - first} layers")
    return run


def layer_states(
    model: AbstractLayers,
    x0: Numbers,
    *,
    t0: int = 0,
    t1: int | None = None,
    weights: Numbers | None = None,
    kernel: str = "auto",
) -> Iterator[LayerState]:
    """The tokens through the layers of a model, one state after the other: nothing is kept but the last.

        for layer, x in af.flows.layer_states(model, x0):
            print(layer, af.diagnostics.effective_rank(x))

    **Arguments:** as for `simulate`; `t1` is by default the depth of the model. All layers are one compiled program.
    """
    if not isinstance(model, AbstractLayers):
        raise InputError(f"a {type(model).__name__} has no layers to go through; give a models.LayerStack.")
    x0, w = _cloud(model, x0, weights)
    first = whole("t0", t0, least=0)
    last = whole("t1", model.depth if t1 is None else t1, least=first)
    _check_depth(model, last)
    return _one_by_one(model, x0, w, first, last, check_kernel(kernel))


def _one_by_one(
    model: AbstractLayers, x: Array, w: Array | None, first: int, last: int, kernel: str
) -> Iterator[LayerState]:
    yield LayerState(first, x)
    for k in range(first, last):
        with fitting(x.shape):
            x = timed_call(_layer, kernel, model, jnp.asarray(k), x, w).value
        yield LayerState(k + 1, x)


def _layer(kernel: str, model: AbstractLayers, k: Array, x: Array, w: Array | None) -> Float[Array, "n d"]:
    return model.layer(k, x, w, kernel=kernel)


class _Plan(NamedTuple):
    """What the compiled program is specialised to, besides shapes: layers, kept ones, and options."""

    layers: int
    kept: int
    kernel: str
    progress: bool


def _scan(
    plan: _Plan, model: AbstractLayers, x0: Array, w: Array | None, first: Array, rows: Array | None
) -> Float[Array, "T n d"]:
    """The kept states: all of them, or those of layer `k` in the row `rows[k - first]`, beyond the last row: not."""
    bar = ProgressBar()

    def layer(x: Array, done: Array) -> Array:
        return model.layer(first + done, x, w, kernel=plan.kernel)

    def shown(meter: Array, done: Array) -> Array:
        return bar.step(meter, (done + 1) / plan.layers) if plan.progress else meter

    def step(carry: tuple[Array, Array], done: Array) -> tuple[tuple[Array, Array], Array]:
        x = layer(carry[0], done)
        return (x, shown(carry[1], done)), x

    start, numbers = bar.init(), jnp.arange(plan.layers)
    if rows is None:
        return jnp.concatenate([x0[None], jax.lax.scan(step, (x0, start), numbers)[1]])

    def keep(carry: tuple[Array, Array, Array], step: tuple[Array, Array]) -> tuple[tuple[Array, Array, Array], None]:
        x, meter, kept = carry
        done, row = step
        x = layer(x, done)
        return (x, shown(meter, done), kept.at[row].set(x, mode="drop")), None

    kept = jnp.zeros((plan.kept, *x0.shape), x0.dtype).at[rows[0]].set(x0, mode="drop")
    return jax.lax.scan(keep, (x0, start, kept), (numbers, rows[1:]))[0][2]


def _rows(kept: np.ndarray, first: int, last: int) -> np.ndarray:
    """For every layer the row in which it is kept; one beyond the last row for the others."""
    rows = np.full(last - first + 1, len(kept))
    rows[kept - first] = np.arange(len(kept))
    return rows


def _cloud(model: AbstractLayers, x0: Any, weights: Any) -> tuple[Float[Array, "n d"], Float[Array, " n"] | None]:
    x0 = check_tokens(x0, model.space)
    w = check_weights(weights, x0.shape[0])
    return x0, None if w is None else w.astype(x0.dtype)


def _end(model: AbstractLayers, t0: Any, t1: Any, ts: Any) -> Number | Any:
    return model.depth if t1 is None and ts is None else t1


def _check_depth(model: AbstractLayers, last: int) -> None:
    if last > model.depth and not model.endless:
        raise InputError(
            f"t1 = {last} is beyond the last of the {model.depth} layers, which have weights of their own; iterate "
            "one of them, model.changed(layers=[0] * 500)."
        )


def _check_options(name: str, *, solver: Any, **others: Any) -> None:
    if solver != "layers":
        raise InputError(f'{name} is a sequence of layers, which solver {shown(solver)} cannot take; give "layers".')
    for option, value in others.items():
        if value is not None and not (option == "dt" and value == 1):
            raise InputError(f"layers have no {option}; leave it out.")
