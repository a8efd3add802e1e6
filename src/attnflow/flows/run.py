"""The result of a flow: one type for every model, so that every diagnostic, plot and export works on all."""

import dataclasses
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from ..errors import InputError
from ..models import AbstractModel
from ..spaces import is_concrete
from .outcome import Outcome


class Info(dict[str, Any]):
    """Named arrays, `info[name]`; the names of the axes of each are `info.dims[name]`.

    >>> info = Info({"arclength": (("time",), [0.0, 0.5])})
    >>> info["arclength"], info.dims["arclength"]
    ([0.0, 0.5], ('time',))
    """

    dims: dict[str, tuple[str, ...]]

    def __init__(self, entries: Mapping[str, tuple[Iterable[str], Any]] | None = None):
        """`entries` are pairs `{name: (dims, array)}`."""
        entries = {} if entries is None else entries
        super().__init__({name: array for name, (_, array) in entries.items()})
        self.dims = {name: tuple(dims) for name, (dims, _) in entries.items()}


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Run:
    """A trajectory of tokens.

    - `ts (T,)`: the model's own time; `clock` says which time it is. Where it may overflow there is also `log_ts (T,)`,
      its natural logarithm.
    - `xs (T, n, d)`: tokens as rows; `weights (n,)` or `None` (equal), which never change.
    - `labels (T, n)`, `events`: clusters and what happened to them, where the flow reports it.
    - `info`: named arrays, `info[name]`, with the names of their axes in `info_dims[name]`; with `log_scale (T,)` among
      them the tokens are $e^s$ times `xs`. (The constructor takes `{name: (dims, array)}`, too.)
    - `result`: how it ended, and `sentence`, with what to do about it; `ok` if that is a success.
    - `n`, `d`, `masses (n,)` (the weights, equal ones included), `final (n, d)` (the last row of `xs`).
    - `stats`: steps, and compile and run seconds; of fixed steps, but for layers, `coarseness`, above 1
      where they are too long.
    - `model`, `provenance`: what was run, and by what.
    """

    ts: Float[Array, " T"]
    xs: Float[Array, "T n d"]
    weights: Float[Array, " n"] | None
    code: Int[Array, ""]
    stats: dict[str, Any]
    model: AbstractModel | None
    clock: str
    provenance: dict[str, Any]
    log_ts: Float[Array, " T"] | None = None
    labels: Int[Array, "T n"] | None = None
    events: tuple[Any, ...] = ()
    info: dict[str, Any] = dataclasses.field(default_factory=Info)

    def __post_init__(self) -> None:
        if not isinstance(self.info, Info):  # already pairs of dims and array
            object.__setattr__(self, "info", Info(self.info))

    @property
    def info_dims(self) -> dict[str, tuple[str, ...]]:
        """The names of the axes of every array in `info`."""
        info: Any = self.info
        return info.dims

    @property
    def n(self) -> int:
        """The number of tokens."""
        return self.xs.shape[-2]

    @property
    def d(self) -> int:
        """The dimension of the tokens."""
        return self.xs.shape[-1]

    @property
    def masses(self) -> Float[Array, "*batch n"]:
        """The weights as an array, `1/n` each where `weights` is `None`."""
        return jnp.full(self.n, 1 / self.n, self.xs.dtype) if self.weights is None else self.weights

    @property
    def final(self) -> Float[Array, "*batch n d"]:
        """The tokens at the last saved time, in the units of `xs`."""
        return self.xs[..., -1, :, :]

    @property
    def result(self) -> Outcome:
        """How the flow ended; `run.result.value` is a sentence."""
        return list(Outcome)[int(np.max(np.asarray(self.code)))]

    @property
    def ok(self) -> bool:
        """Whether the flow reached its final time and nothing is known against its tokens; of a batch, every flow."""
        return self.result is Outcome.SUCCESSFUL

    @property
    def sentence(self) -> str:
        """How the flow ended, in words, with what to do about it for this model."""
        from ._doubtful_runs import sentence

        return sentence(self)

    def single(self) -> "Run":
        """This run, refused in a sentence if it is a batch that came out of `jax.vmap`."""
        if self.xs.ndim != 3:
            raise InputError(
                f"this is a batch of runs, of shape {self.xs.shape[:-3]}; take one, for example the first along the "
                "first axis: jax.tree.map(lambda a: a[0], run)."
            )
        return self

    def restart(self, t1: ArrayLike | None = None, **options: Any) -> "Run":
        """Go on from the last state to `t1`, with the options of this run unless `options` say otherwise.

        Those are solver, tolerances or step, `max_steps`, `kernel`, `save`, `mesh`, `key`, `throw` and `progress`. A
        run of `long_time` that ended by `max_steps` takes no `t1`: it goes on until one cluster is left. Runs that have
        no last state, or no motion left, are refused.
        """
        from ._restart import restarted

        return restarted(self.single(), t1, options)

    def at(self, t: ArrayLike | None = None, *, log_t: ArrayLike | None = None) -> Float[Array, "n d"]:
        r"""The tokens at any time `t` between the first and the last one that are kept.

        At a saved time that is the row of `xs`. Elsewhere the flow is integrated from the last row before, with the
        solver, the tolerances or the step of this run, and is as accurate as the run itself. Layers have no time
        between them. Of a run with `log_ts` the time may be given by its logarithm (of rows whose times are one number
        the last is taken). Where `log_scale` is stored apart, the answer is in units of $e^{\lambda(t - t_0)}$ as the
        rows are.
        """
        from ._restart import state_at

        return state_at(self.single(), t, log_t)

    def annotated(self, **facts: Any) -> "Run":
        """The same run with more facts (a seed, a command line) in its provenance."""
        return dataclasses.replace(self, provenance={**self.provenance, **facts})

    def to_xarray(self):
        """The run as an `xarray.Dataset` with named dimensions `time`, `token`, `coordinate`."""
        from ._storage import to_dataset

        self.single()
        return to_dataset(self)

    def save(self, path: str | PathLike) -> None:
        """Write the run as NetCDF4, whole or not at all; `attnflow.load` reads it back."""
        from ._storage import save

        self.single()
        save(self, path)

    def __repr__(self) -> str:
        if self.xs.ndim != 3 or not is_concrete(self.ts):
            return f"Run(xs={self.xs.shape})"
        steps, n, d = self.xs.shape
        what, ts = ("times", self.ts) if self.log_ts is None else ("times, log t", self.log_ts)
        limits = "".join(f"; {sentence}" for sentence in self.provenance.get("limits", ()))
        return (
            f"Run({n} tokens in dimension {d}, {steps} {what} from {float(ts[0]):g} to {float(ts[-1]):g} "
            f"({self.clock}), {self.result.name.lower().replace('_', ' ')}, {int(self.stats.get('steps', 0))} steps"
            f"{limits})" + ("" if self.ok else f": {self.sentence}")
        )


_DATA = ("ts", "xs", "weights", "code", "stats", "model", "log_ts", "labels", "info")


class _Carried:
    """Data that JAX transformations carry along unchanged: runs that differ only in it have the same structure."""

    def __init__(self, value: Any):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Carried)

    def __hash__(self) -> int:
        return 0


def _flatten(run: Run) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    # The names of dimensions in `info` are no data.
    data = {name: getattr(run, name) for name in _DATA}
    dims = tuple((name, run.info_dims[name]) for name in run.info)
    data["info"] = tuple(run.info.values())
    keyed = tuple((jax.tree_util.GetAttrKey(name), value) for name, value in data.items())
    return keyed, (run.clock, dims, _Carried((run.provenance, run.events)))


def _unflatten(meta: tuple[Any, ...], data: Iterable[Any]) -> Run:
    # Not through the constructor: inside a transformation the fields hold batches, tracers or nothing at all.
    run = object.__new__(Run)
    clock, dims, aside = meta
    *others, arrays = data
    info = Info({name: (names, array) for (name, names), array in zip(dims, arrays, strict=True)})
    rest = zip(("clock", "provenance", "events"), (clock, *aside.value), strict=True)
    for name, value in (*zip(_DATA, (*others, info), strict=True), *rest):
        object.__setattr__(run, name, value)
    return run


jax.tree_util.register_pytree_with_keys(Run, _flatten, _unflatten)
