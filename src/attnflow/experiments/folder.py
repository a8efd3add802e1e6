"""The run folder: one file per cell, so that any number of processes may share it and any of them may be killed.

    DIR/report.html                        the report on all experiments in the folder
    DIR/<experiment>/<hash>.nc             the data of one cell
    DIR/<experiment>/runs/<hash>.nc        the run of one cell, where it keeps one; attnflow.load reads it
    DIR/<experiment>/claims.json           the last verdicts, with scale, seed, versions and seconds of each cell
    DIR/<experiment>/again.json            its cells are being computed again; gone when that has ended
    DIR/<experiment>/figures/<name>.png    and .svg
    DIR/cache/                             compiled programs; may be deleted at any time

<experiment> is its id; where parameters were changed, verdicts and figures are in a folder of their own, such as
`perspective-trajectories+beta=20`, and cells with the others: those that were not changed are shared.

A cell's file is named by a hash of all that determines its data, and written under a temporary name and renamed: it
is there whole or not at all. There are no locks: who finds a cell's file skips it, and two who compute the same cell
write the same data.

The code is part of that hash (see `_sources`), and versions of other packages are not: they are recorded with the cell,
and the report states them. A cell of code that has been edited since keeps its file, because another process with that
code may share the folder; nothing reads it any more, and it may be deleted.
"""

import contextlib
import io
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import FileError
from ..files import write_atomically
from ..json_values import plain
from ._experiment import Experiment, Scale
from ._results import Cell, Results

if TYPE_CHECKING:
    import xarray

    from ..flows import Run

ATTRIBUTE = "attnflow"  # NetCDF knows neither bool nor None nor nested attributes, so there is one, and it is JSON

AGAIN = "again.json"
# What a record holds (see `runner`).
RECORD = "id name paper title summary parameters scale seed dtype versions seconds cells figures claims crash".split()


class StoredCell(NamedTuple):
    """What the files of a cell hold."""

    data: "xarray.Dataset"
    provenance: dict[str, Any]
    run: "Run | None" = None


def encoded(data: "xarray.Dataset", provenance: dict[str, Any]) -> bytes:
    """The content of a cell's file, made in memory so that a full disk can leave no half of it."""
    # What compute put into the attributes goes into the JSON with the rest, and comes back when it is read.
    text = json.dumps({**provenance, "attributes": plain(dict(data.attrs))}, allow_nan=False)
    content = data.copy()
    content.attrs = {ATTRIBUTE: text}
    return bytes(content.to_netcdf(engine="h5netcdf"))


class RunFolder:
    """A folder of results at `root`, made if it is not there. `tell` gets one sentence about each file mended."""

    def __init__(self, root: str | os.PathLike, *, tell: Callable[[str], Any] = lambda sentence: None):
        self.root = Path(root)
        self._tell = tell
        try:
            self.root.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(f"cannot use {root} as a run folder: {error.strerror}; choose another folder.") from error
        if not os.access(self.root, os.W_OK | os.X_OK):
            raise FileError(f"cannot write into the run folder {root}; choose another folder.")
        self._sweep()

    def cell_path(self, experiment: Experiment, cell: Cell, *, scale: Scale, dtype: str) -> Path:
        return self.root / experiment.id / f"{experiment.key(cell, scale=scale, dtype=dtype)}.nc"

    def read_cell(self, path: Path) -> StoredCell | None:
        """What a cell's files hold; None if they are not there or, which is told, cannot be read."""
        import xarray

        try:
            # From memory: HDF5's own locks fail on some network file systems, and are not needed.
            data = xarray.load_dataset(io.BytesIO(path.read_bytes()), engine="h5netcdf")
            provenance = json.loads(data.attrs.pop(ATTRIBUTE))
            data.attrs = provenance.pop("attributes")
            if missing := {"seconds", "versions"} - set(provenance):
                raise KeyError(min(missing))
            return StoredCell(data, provenance, _run(path) if provenance.get("run") else None)
        except FileNotFoundError:
            return None
        except Exception as error:  # a damaged file can make HDF5 raise almost anything
            reason = " ".join(str(error).split())
            self._tell(f"{path} cannot be read ({type(error).__name__}: {reason}); it is computed again.")
            return None

    def results(
        self,
        experiment: Experiment,
        cells: list[Cell],
        *,
        scale: Scale,
        dtype: str,
        known: Sequence[StoredCell | None] = (),
    ) -> Results:
        """The results of these cells; of each what is `known`, as its files hold it, or else read from them."""

        def load(cell: Cell) -> Any:
            path = self.cell_path(experiment, cell, scale=scale, dtype=dtype)
            found = (known[cells.index(cell)] if known else None) or self.read_cell(path)
            if found is None:
                raise FileError(f"the cell {path} is missing; run the experiment again.")
            return found.data, found.run

        return Results(cells, load, scale=scale)

    def begin_again(self, experiment: Experiment, cells: list[Cell], *, scale: Scale, seed: int, dtype: str) -> None:
        """Forget these cells, unless this was begun before and has not ended: what has been computed since then stays.

        `write_record` ends it.
        """
        mark = self.root / experiment.name / AGAIN
        paths = [self.cell_path(experiment, cell, scale=scale, dtype=dtype) for cell in cells]
        begun = json.dumps({"scale": scale, "seed": seed, "cells": [path.name for path in paths]})
        try:
            if mark.read_text() == begun:
                return
        except (OSError, UnicodeDecodeError):
            pass
        for path in (mark, *paths):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise FileError(f"cannot remove {path} to compute it again: {error.strerror}.") from error
        write_atomically(mark, begun)  # last: who is killed while forgetting forgets the rest next time

    def write_record(self, record: dict[str, Any]) -> None:
        """Keep the verdicts on an experiment (see `runner`), replacing earlier ones."""
        text = json.dumps(plain(record), indent=1, ensure_ascii=False, allow_nan=False)
        write_atomically(self.root / record["name"] / "claims.json", text + "\n")
        (self.root / record["name"] / AGAIN).unlink(missing_ok=True)

    def records(self) -> dict[str, dict[str, Any]]:
        """The last verdicts on each experiment in the folder, by its name."""
        found = {}
        for path in sorted(self.root.glob("*/claims.json")):
            try:
                record = json.loads(path.read_bytes())
                if missing := [name for name in RECORD if name not in record]:
                    raise KeyError(missing[0])
                found[record["name"]] = record
            except (OSError, ValueError, KeyError, TypeError) as error:
                self._tell(f"{path} cannot be read ({type(error).__name__}); its experiment counts as not yet run.")
        return found

    def _sweep(self) -> None:
        # A process killed while it wrote leaves its temporary file. An hour: others may be writing just now.
        for path in self.root.glob("**/.*.part"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > 3600:
                    path.unlink()

    def figure_path(self, experiment: Experiment, name: str) -> Path:
        return self.root / experiment.name / "figures" / name


def _run(path: Path) -> "Run":
    from ..flows import load

    return load(run_path(path))


def run_path(path: Path) -> Path:
    """Where the run of a cell is whose data are in the file `path`."""
    return path.parent / "runs" / path.name
