"""Compute cells, in this process or in several; cells that are already in the run folder are skipped."""

import concurrent.futures
import contextlib
import functools
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Generator
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Literal, NamedTuple

from ..errors import FileError
from ..files import write_atomically
from ._claim import sentence
from ._experiment import Experiment, Scale
from ._results import Cell, parts
from ._sources import sources_changed
from .folder import RunFolder, StoredCell, encoded, run_path
from .machine import computing, heirs, in_precision, versions
from .progress import Progress

DTYPE = "float64"
_LIFE = contextlib.ExitStack()  # contexts of a worker, which it never leaves


class Task(NamedTuple):
    """One cell of one experiment, and the file of its data."""

    experiment: Experiment
    cell: Cell
    scale: Scale
    path: Path


def task(experiment: Experiment, cell: Cell, scale: Scale, folder: RunFolder) -> Task:
    """The task of a cell; the name of its file is hashed here alone."""
    return Task(experiment, cell, scale, folder.cell_path(experiment, cell, scale=scale, dtype=DTYPE))


class Outcome(NamedTuple):
    """How a cell ended: `computed` now, `reused` from its file, or `crashed` with a sentence and a traceback.

    `seconds` and `versions` are those of the computation, now or earlier. `stored` keeps a reused cell, so that it is
    read once. `warnings` are messages about files that could not be read.
    """

    status: Literal["computed", "reused", "crashed"]
    seconds: float = 0.0
    versions: dict[str, str] = {}  # noqa: RUF012 (never changed)
    sentence: str = ""
    traceback: str = ""
    warnings: tuple[str, ...] = ()
    stored: StoredCell | None = None


def compute_cell(task: Task, folder: RunFolder) -> Outcome:
    """Compute a cell and write its file, unless a readable one exists. Only a failure to write raises."""
    experiment, cell, scale, path = task
    stored = folder.read_cell(path)
    if stored is not None:
        return Outcome("reused", stored.provenance["seconds"], stored.provenance["versions"], stored=stored)
    start = time.perf_counter()
    try:
        with in_precision(DTYPE):  # an earlier cell may have changed it
            data, run = parts(experiment.compute(dict(cell)))
        seconds, using = time.perf_counter() - start, versions(experiment.compute)
        provenance = {
            "experiment": experiment.id,
            "paper": experiment.paper,
            "cell": cell,
            "run": run is not None,
            "scale": scale,
            "dtype": DTYPE,
            "versions": using,
            "seconds": seconds,
        }
        content = encoded(data, provenance)
        trajectory = None if run is None else bytes(run.to_xarray().to_netcdf(engine="h5netcdf"))
        if sources_changed(experiment.compute):
            raise FileError("the sources were edited while they were in use; run the same command again.")
    except Exception as error:
        return Outcome("crashed", sentence=sentence(error), traceback=traceback.format_exc())
    if trajectory is not None:
        write_atomically(run_path(path), trajectory)
    write_atomically(path, content)  # last: this file marks the cell as complete
    return Outcome("computed", seconds, using)


def compute_cells(
    tasks: list[Task], folder: RunFolder, *, workers: int, progress: Progress
) -> Generator[tuple[int, Outcome]]:
    """The index and outcome of each task as it ends. Other processes may use the same folder."""
    run = _here if workers == 1 or not tasks else functools.partial(_in_processes, workers=workers)
    with contextlib.closing(run(tasks, folder, progress)) as finished:
        for i, outcome in finished:
            for line in outcome.warnings:
                progress.say(line)
            progress.finish(tasks[i], outcome)
            yield i, outcome


def _here(tasks: list[Task], folder: RunFolder, progress: Progress) -> Generator[tuple[int, Outcome]]:
    for i, each in enumerate(tasks):
        progress.begin(each)
        yield i, compute_cell(each, folder)


def _in_processes(
    tasks: list[Task], folder: RunFolder, progress: Progress, *, workers: int
) -> Generator[tuple[int, Outcome]]:
    # Spawned, not forked: a fork of a process in which JAX runs threads can hang.
    context = multiprocessing.get_context("spawn")
    pool = concurrent.futures.ProcessPoolExecutor(
        min(workers, len(tasks)), mp_context=context, initializer=_start_worker
    )
    try:
        futures = {}
        with heirs():  # submitting starts the processes
            for i, (experiment, cell, scale, _) in enumerate(tasks):
                futures[pool.submit(_work, folder.root, experiment.id, cell, scale)] = i
        for first in tasks[:workers]:
            progress.begin(first)
        for future in concurrent.futures.as_completed(futures):
            try:
                yield futures[future], future.result()
            except BrokenProcessPool:
                yield futures[future], Outcome("crashed", sentence="a worker process died, perhaps out of memory")
    finally:
        pool.shutdown(cancel_futures=True)


def _start_worker() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends without a traceback; the parent prints a message
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _LIFE.enter_context(computing(DTYPE))


def _end_with_parent() -> None:
    # Otherwise a worker whose parent was killed would wait forever.
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(root: Path, experiment_id: str, cell: Cell, scale: Scale) -> Outcome:
    # The experiment is sent by its id, since its functions need not be picklable. The name of the file is hashed here
    # again: this process may have read other sources.
    folder, warnings = _folder(root)
    warnings.clear()
    outcome = compute_cell(task(_experiment(experiment_id), cell, scale, folder), folder)
    return outcome._replace(warnings=tuple(warnings), stored=None)  # reading the file is cheaper than sending


@functools.cache
def _folder(root: Path) -> tuple[RunFolder, list[str]]:
    warnings: list[str] = []
    return RunFolder(root, warn=warnings.append), warnings


@functools.cache
def _experiment(experiment_id: str) -> Experiment:
    from .. import registry

    return registry.get("experiment", experiment_id)
