"""The run folder: one file per cell. Processes may share it, and any of them may be killed.

    DIR/report.html                        the report on all experiments in the folder
    DIR/<experiment>/<hash>.nc             the data of one cell
    DIR/<experiment>/runs/<hash>.nc        the run of one cell, where it keeps one; attnflow.load reads it
    DIR/<experiment>/claims.json           the last verdicts, scale and seed, versions and seconds of each cell
    DIR/<experiment>/again.json            exists while its cells are computed again
    DIR/<experiment>/figures/<name>.png    and .svg
    DIR/cache/                             compiled programs; may be deleted

<experiment> is its id. With changed parameters, verdicts and figures have their own folder, such as
`perspective-trajectories+beta=20`; the cells stay in the folder of the id, so that unchanged ones are shared.

A cell's file is named by a hash of all that determines its data. It is written under a temporary name and renamed, so
that it is always complete. There are no locks: a process skips a cell whose file exists, and two processes that compute
the same cell write the same data.

The hash covers the code (see `_sources`) but not the versions of other packages, which are recorded with the cell and
stated in the report. After an edit the old file stays, because a process with the old code may share the folder; it may
be deleted.
"""

import contextlib
import functools
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

ATTRIBUTE = "attnflow"  # NetCDF has no bool, None or nested attributes, so one attribute holds JSON

AGAIN = "again.json"
# What a record holds (see `runner`).
RECORD = "id name paper title summary parameters scale seed dtype versions seconds cells figures claims crash".split()


class StoredCell(NamedTuple):
    """The contents of the files of a cell."""

    data: "xarray.Dataset"
    provenance: dict[str, Any]
    run: "Run | None" = None


def encoded(data: "xarray.Dataset", provenance: dict[str, Any]) -> bytes:
    """The content of a cell's file, made in memory, so that a full disk leaves no partial file."""
    # The attributes of the Dataset become part of the JSON and are restored on reading.
    text = json.dumps({**provenance, "attributes": plain(dict(data.attrs))}, allow_nan=False)
    content = data.copy()
    content.attrs = {ATTRIBUTE: text}
    return bytes(content.to_netcdf(engine="h5netcdf"))


class RunFolder:
    """A folder of results at `root`, created if missing. `warn` gets a message for each file that cannot be read."""

    def __init__(self, root: str | os.PathLike, *, warn: Callable[[str], Any] = lambda message: None):
        self.root = Path(root)
        self._warn = warn
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
        """The contents of a cell's files; None if they do not exist or (with a warning) cannot be read."""
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
            self._warn(f"{path} cannot be read ({type(error).__name__}: {reason}); it is computed again.")
            return None

    def results(
        self, cells: list[Cell], paths: list[Path], *, scale: Scale, known: Sequence[StoredCell | None] = ()
    ) -> Results:
        """The results of these cells, from `known` contents of their files or else read from the files."""

        def load(cell: Cell) -> "tuple[xarray.Dataset, Run | None]":
            i = cells.index(cell)
            stored = (known[i] if known else None) or self.read_cell(paths[i])
            if stored is None:
                raise FileError(f"the cell {paths[i]} is missing; run the experiment again.")
            return stored.data, stored.run

        return Results(cells, load, scale=scale)

    def begin_again(self, experiment: Experiment, paths: list[Path]) -> None:
        """Remove these files of cells, unless an earlier call for the same ones has not ended: newer cells then stay.

        `write_record` ends it.
        """
        mark = self.root / experiment.name / AGAIN
        begun = json.dumps({"cells": [path.name for path in paths]})
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
        write_atomically(mark, begun)  # last: after a kill the next call removes the rest

    def write_record(self, record: dict[str, Any]) -> None:
        """Keep the verdicts on an experiment (see `runner`), replacing earlier ones."""
        text = json.dumps(plain(record), indent=1, ensure_ascii=False, allow_nan=False)
        write_atomically(self.root / record["name"] / "claims.json", text + "\n")
        (self.root / record["name"] / AGAIN).unlink(missing_ok=True)

    def records(self) -> dict[str, dict[str, Any]]:
        """The last verdicts on each experiment in the folder, by its name."""
        records = {}
        for path in sorted(self.root.glob("*/claims.json")):
            try:
                status = path.stat()
                record = _record(path, (status.st_ino, status.st_mtime_ns, status.st_size))
                records[record["name"]] = record
            except (OSError, ValueError, KeyError, TypeError) as error:
                self._warn(f"{path} cannot be read ({type(error).__name__}); its experiment counts as not yet run.")
        return records

    def _sweep(self) -> None:
        # A process killed while writing leaves its temporary file. Recent ones may still be in use.
        for path in self.root.glob("**/.*.part"):
            with contextlib.suppress(OSError):
                if time.time() - path.stat().st_mtime > 3600:
                    path.unlink()

    def figure_path(self, experiment: Experiment, name: str) -> Path:
        return self.root / experiment.name / "figures" / name


@functools.lru_cache(1024)
def _record(path: Path, stamp: tuple[int, ...]) -> dict[str, Any]:
    """A record, which is read again only when its file has changed: other processes may write it, too."""
    record = json.loads(path.read_bytes())
    if missing := [name for name in RECORD if name not in record]:
        raise KeyError(missing[0])
    return record


def _run(path: Path) -> "Run":
    from ..flows import load

    return load(run_path(path))


def run_path(path: Path) -> Path:
    """The file of the run of a cell whose data are in the file `path`."""
    return path.parent / "runs" / path.name
