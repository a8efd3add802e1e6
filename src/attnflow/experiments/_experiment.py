"""An experiment: the computations, claims and figures of one part of one paper."""

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from ..errors import InputError
from ._claim import Claim
from ._results import Cell
from ._sources import sources

Scale = Literal["quick", "full"]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What is computed, what is claimed of it, and how it is drawn. A module-level instance is found by its `kind`.

    - `cells(scale)` lists the computations as flat dictionaries of numbers and strings; the runner adds `seed`.
    - `compute(cell)` does one of them and returns an `xarray.Dataset`; it must depend on nothing but the cell.
    - `claims` and `figures` read the `Results` of all cells; a figure is a function `results -> Figure`, its name is
      the file's and its docstring the caption.
    """

    kind: ClassVar[str] = "experiment"

    id: str
    paper: str
    title: str
    cells: Callable[[Any], list[Cell]]
    compute: Callable[[Cell], Any]
    summary: str = ""
    claims: Sequence[Claim] = ()
    figures: Sequence[Callable[[Any], Any]] = ()

    def __post_init__(self):
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", self.id):
            raise InputError(f"experiment id {self.id!r}: use lower-case words joined by hyphens, it names a folder.")
        names = [c.id for c in self.claims] + [f.__name__ for f in self.figures]
        twice = sorted({n for n in names if names.count(n) > 1})
        if twice:
            raise InputError(f"experiment {self.id!r} declares {twice[0]!r} twice; give each claim and figure a name.")
        # A claim's paper is nearly always the experiment's: fill it in where it was left out.
        object.__setattr__(self, "claims", tuple(c if c.paper else replace(c, paper=self.paper) for c in self.claims))

    @property
    def name(self) -> str:
        return self.id

    def seeded_cells(self, scale: Scale, seed: int) -> list[Cell]:
        """The cells at `scale`, each carrying the seed."""
        cells = self.cells(scale)
        if any("seed" in cell for cell in cells):
            raise InputError(f"experiment {self.id!r}: a cell names its own seed; call it 'draw', the seed is added.")
        return [{**cell, "seed": seed} for cell in cells]

    def key(self, cell: Cell, *, scale: Scale, dtype: str) -> str:
        """The name of a cell's file, a hash of what determines its data: the code too (see `_sources`)."""
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
