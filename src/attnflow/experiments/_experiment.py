"""An experiment: the computations, claims and figures of one part of one paper."""

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from ..errors import InputError
from ._claim import Claim
from ._results import Cell, Results
from ._sources import sources
from .parameters import Parameter, changed_cells, checked, described, values_in

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ._results import Computed

Scale = Literal["quick", "full"]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Computations, claims about them, and figures. The registry finds module-level instances by their `kind`.

    - `cells(scale)` lists the computations as flat dictionaries of numbers and strings; the runner adds `seed`.
    - `compute(cell)` computes one cell and returns an `xarray.Dataset`, a `Run`, or a pair of both. Its result may
      depend on the cell only.
    - `claims` and `figures` read the `Results` of all cells; a figure is a function `results -> Figure`. Its name
      becomes the name of the file, its docstring the caption.
    - `parameters`: the entries of cells that a user may change, by name. Figures must accept any value of these. A
      claim that reads a changed cell is skipped, unless it is stated `for_all` values. `changed` holds the values that
      replace those of `cells` (see `with_parameters`).
    """

    kind: ClassVar[str] = "experiment"

    id: str
    paper: str
    title: str
    cells: Callable[[Scale], list[Cell]]
    compute: "Callable[[Cell], Computed]"
    summary: str = ""
    claims: Sequence[Claim] = ()
    figures: "Sequence[Callable[[Results], Figure]]" = ()
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    changed: Mapping[str, list[float | int]] = field(default_factory=dict)

    def __post_init__(self):
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.id):
            raise InputError(f"experiment id {self.id!r}: use lower-case words joined by hyphens, it names a folder.")
        names = [c.id for c in self.claims] + [f.__name__ for f in self.figures]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise InputError(f"experiment {self.id!r} declares {twice[0]!r} twice; give each claim and figure a name.")
        # Most claims belong to the experiment's own paper, which is filled in where a claim names none.
        object.__setattr__(self, "claims", tuple(c if c.paper else replace(c, paper=self.paper) for c in self.claims))

    @property
    def name(self) -> str:
        """The id followed by the changed parameters; the name of the folder of results."""
        text = self.id + "".join(f"+{k}={described(v, ',')}" for k, v in self.changed.items())
        return text if len(text) <= 100 else f"{self.id}+{hashlib.sha256(text.encode()).hexdigest()[:12]}"

    def with_parameters(self, values: Mapping[str, Any]) -> "Experiment":
        """This experiment with other parameters, `{"beta": 20, "n": [64, 128]}`, in every cell that has them."""
        changed = dict(sorted((name, checked(self, name, value)) for name, value in values.items()))
        return replace(self, changed=changed)

    def seeded_cells(self, scale: Scale, seed: int) -> list[Cell]:
        """The cells at `scale` with the changed parameters and the seed."""
        cells = self.cells(scale)
        if any("seed" in cell for cell in cells):
            raise InputError(f"experiment {self.id!r}: a cell names its own seed; call it 'draw', the seed is added.")
        return [{**cell, "seed": seed} for cell in changed_cells(cells, self.parameters, self.changed)]

    def results_for(self, claim: Claim, results: Results, scale: Scale, seed: int) -> Results:
        """The results for a claim. Where it reads a parameter whose value is not the stated one, it is skipped."""
        about = [name for name in self.changed if name not in claim.for_all]
        if not about:
            return results
        cells = self.cells(scale)
        usual = {name: described(values_in(cells, name, self.parameters[name])) for name in about}
        reason = "; ".join(f"stated for {k} = {v}, not {described(self.changed[k])}" for k, v in usual.items())
        return results.stated_for([{**cell, "seed": seed} for cell in cells], reason)

    def key(self, cell: Cell, *, scale: Scale, dtype: str) -> str:
        """The name of a cell's file: a hash of all that determines its data, the code included (see `_sources`)."""
        identity = {
            "experiment": self.id,
            "cell": cell,
            "scale": scale,
            "dtype": dtype,
            "compute": getattr(self.compute, "__qualname__", ""),
            "sources": sources(self.compute),
        }
        try:
            text = json.dumps(identity, sort_keys=True, allow_nan=False)
        except (TypeError, ValueError):
            raise InputError(f"experiment {self.id!r}: cell {cell} may hold only numbers, strings, lists.") from None
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    def reproduce(
        self,
        out: str | os.PathLike,
        *,
        scale: Scale = "quick",
        seed: int = 0,
        parameters: Mapping[str, Any] | None = None,
        workers: int = 1,
    ) -> dict[str, Any]:
        """Compute the cells missing in the folder `out`, judge the claims, draw the figures; return the record that
        `claims.json` holds.
        """
        from .folder import RunFolder
        from .runner import Job, reproduce

        job = Job(self.with_parameters(parameters or {}), scale, seed)
        return reproduce([job], RunFolder(out), workers=workers)[0]

    def results(
        self,
        out: str | os.PathLike,
        *,
        scale: Scale = "quick",
        seed: int = 0,
        parameters: Mapping[str, Any] | None = None,
    ) -> Results:
        """The results that `reproduce` wrote to the folder `out`."""
        from ._cells import DTYPE
        from .folder import RunFolder

        folder = RunFolder(out)
        cells = self.with_parameters(parameters or {}).seeded_cells(scale, seed)
        return folder.results(cells, [folder.cell_path(self, c, scale=scale, dtype=DTYPE) for c in cells], scale=scale)
