"""An experiment: the computations, claims and figures of one part of one paper."""

import hashlib
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from ..errors import InputError
from ._claim import Claim
from ._machine import library_version
from ._results import Cell

Scale = Literal["quick", "full"]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """What is computed, what is claimed of it, and how it is drawn. A module-level instance is found by its `kind`.

    - `cells(scale)` lists the computations as flat dictionaries of numbers and strings; the runner adds `seed`.
    - `compute(cell)` does one of them and returns an `xarray.Dataset`; it must depend on nothing but the cell.
    - `claims` and `figures` read the `Results` of all cells; a figure is a function `results -> Figure`, its name is
      the file's and its docstring the caption.
    - `version`: raise it when results change though neither this file nor the version of attnflow does (a mended map,
      a helper beside this file, another package), so that old cells are not reused.
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
    version: int = 1

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
        """The name of a cell's file, a hash of what determines its data.

        Of the code that is this file and the released version of attnflow: who edits the library in between says so
        with `version`, or asks for `reproduce --only-failed`, which computes again.
        """
        identity = {
            "experiment": self.id,
            "cell": cell,
            "scale": scale,
            "dtype": dtype,
            "version": self.version,
            "attnflow": library_version(),
            "file": self._file_hash(),
        }
        try:
            text = json.dumps(identity, sort_keys=True, allow_nan=False)
        except (TypeError, ValueError):
            raise InputError(f"experiment {self.id!r}: cell {cell} may hold only numbers, strings, lists.") from None
        return hashlib.sha256(text.encode()).hexdigest()[:20]

    def _file_hash(self) -> str:
        # By module and not by inspect.getsource: wrappers around `compute` keep `__module__`.
        file = getattr(sys.modules.get(self.compute.__module__), "__file__", None)
        return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else ""
