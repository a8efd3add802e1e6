"""Computing cells: in this process or in several, each cell once, skipping those already in the run folder."""

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
from typing import Any, Literal, NamedTuple

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
_LIFE = contextlib.ExitStack()  # what a worker enters it never leaves


class Task(NamedTuple):
    """One cell of one experiment."""

    experiment: Experiment
    cell: Cell
    scale: Scale


class Outcome(NamedTuple):
    """How a cell ended: `computed` now, `reused` from its file, or `crashed` with a sentence and a traceback.

    `seconds` and `versions` are those of the computation, whenever it was. A cell that this process found is `stored`,
    so that it is read once.
    """

    status: Literal["computed", "reused", "crashed"]
    seconds: float = 0.0
    versions: dict[str, str] = {}  # noqa: RUF012 (never changed)
    sentence: str = ""
    traceback: str = ""
    told: tuple[str, ...] = ()
    stored: StoredCell | None = None


def compute_cell(task: Task, folder: RunFolder) -> Outcome:
    """Compute a cell and write its file, unless a readable one is there. Only failing to write is raised."""
    experiment, cell, scale = task
    path = folder.cell_path(experiment, cell, scale=scale, dtype=DTYPE)
    found = folder.read_cell(path)
    if found is not None:
        return Outcome("reused", found.provenance["seconds"], found.provenance["versions"], stored=found)
    start = time.perf_counter()
    try:
        with in_precision(DTYPE):  # whatever another cell left behind: they are taken in any order
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
    write_atomically(path, content)  # last: with it the cell is there
    return Outcome("computed", seconds, using)


def compute_cells(
    tasks: list[Task], folder: RunFolder, *, workers: int, progress: Progress
) -> Generator[tuple[int, Outcome]]:
    """The index and outcome of each task as it ends. Other processes may be at work on the same folder."""
    run = _here if workers == 1 or not tasks else functools.partial(_in_processes, workers=workers)
    with contextlib.closing(run(tasks, folder, progress)) as finished:
        for i, outcome in finished:
            for line in outcome.told:
                progress.say(line)
            progress.finish(tasks[i], outcome)
            yield i, outcome


def _here(tasks: list[Task], folder: RunFolder, progress: Progress) -> Generator[tuple[int, Outcome]]:
    for i, task in enumerate(tasks):
        progress.begin(task)
        yield i, compute_cell(task, folder)


def _in_processes(
    tasks: list[Task], folder: RunFolder, progress: Progress, *, workers: int
) -> Generator[tuple[int, Outcome]]:
    # Spawned, never forked: a fork of a process in which JAX has started its threads can hang.
    context = multiprocessing.get_context("spawn")
    pool = concurrent.futures.ProcessPoolExecutor(
        min(workers, len(tasks)), mp_context=context, initializer=_start_worker, initargs=(folder.root,)
    )
    try:
        futures = {}
        with heirs():  # the pool starts its processes while it is given work
            for i, (experiment, cell, scale) in enumerate(tasks):
                futures[pool.submit(_work, folder.root, experiment.id, cell, scale)] = i
        for task in tasks[:workers]:
            progress.begin(task)
        for future in concurrent.futures.as_completed(futures):
            try:
                yield futures[future], future.result()
            except BrokenProcessPool:
                yield futures[future], Outcome("crashed", sentence="a worker process died, perhaps out of memory")
    finally:
        pool.shutdown(cancel_futures=True)


def _start_worker(root: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # ends without a traceback; the parent says what happened
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _LIFE.enter_context(computing(root, DTYPE))


def _end_with_parent() -> None:
    # A worker whose parent was killed would wait for work for ever.
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(root: Any, experiment_id: str, cell: Cell, scale: Scale) -> Outcome:
    # By id, since claims and figures are functions and need not be picklable.
    told: list[str] = []
    outcome = compute_cell(Task(_experiment(experiment_id), cell, scale), RunFolder(root, tell=told.append))
    return outcome._replace(told=tuple(told), stored=None)  # it is cheaper to read than to send


@functools.cache
def _experiment(experiment_id: str) -> Experiment:
    from .. import registry

    return registry.get("experiment", experiment_id)
