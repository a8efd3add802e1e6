"""From cells to verdicts: compute what is missing, judge the claims, draw the figures, keep a record."""

import contextlib
import io
import random
import sys
import traceback
from collections.abc import Callable, Generator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..files import write_atomically
from ._cells import DTYPE, Outcome, Task, compute_cells, task
from ._claim import judge, sentence, verdict
from ._experiment import Experiment, Scale
from ._results import Results
from .folder import RunFolder
from .machine import computing, versions
from .parameters import described
from .progress import Progress, Silent

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Job(NamedTuple):
    """An experiment to be run at a scale, with a seed."""

    experiment: Experiment
    scale: Scale = "quick"
    seed: int = 0


def reproduce(
    jobs: Sequence[Job],
    folder: RunFolder,
    *,
    workers: int = 1,
    fresh: bool = False,
    progress: Progress | None = None,
    concluded: Callable[[dict[str, Any], list[str]], Any] = lambda record, left: None,
) -> list[dict[str, Any]]:
    """Run the jobs in `folder` and return a record for each; finished cells in the folder are reused.

    With `fresh` they are computed again; a `fresh` run that did not end (it was killed, say) is resumed by the next.

    Each experiment is judged and drawn, and its record written, as soon as its cells are computed; then `concluded` is
    called with the record and the names of the remaining experiments.

    A record holds `id, name, paper, title, summary, parameters, scale, seed, dtype, versions, seconds, cells, figures,
    claims, crash`; `parameters` are the changed ones, and `name` is the id with them. `seconds` is the total time of
    all cells, including those computed earlier. `versions` are those at the time of judging; each of `cells` has those
    at the time of its computation. An exception in one experiment makes its claims errors and is recorded in `crash`;
    the others continue. Everything is computed, judged and drawn in float64, regardless of the caller's precision
    (which is restored), and claims are always judged on the data read back from the files: a run that is resumed,
    judged again or shared between workers agrees with an uninterrupted one to the last digit.
    """
    progress = progress or Silent()
    with computing(DTYPE), progress:
        plans = [_plan(job, folder) for job in jobs]
        if fresh:
            for job, plan in zip(jobs, plans, strict=True):
                folder.begin_again(job.experiment, [t.path for t in plan.tasks])
        records: dict[int, dict[str, Any]] = {}
        with contextlib.closing(_finished(jobs, plans, folder, workers, progress)) as finished:
            for k, outcomes in finished:
                progress.judging(jobs[k].experiment)
                records[k] = _conclude(jobs[k], plans[k], outcomes, folder)
                folder.write_record(records[k])
                concluded(records[k], [job.experiment.name for i, job in enumerate(jobs) if i not in records])
    return [records[k] for k in range(len(jobs))]


def _finished(
    jobs: Sequence[Job], plans: "list[_Plan]", folder: RunFolder, workers: int, progress: Progress
) -> Generator[tuple[int, list[Outcome]]]:
    """The index of each job and the outcomes of its cells, as soon as all of them have ended."""
    # One experiment after the other, in random order, so that processes which share the folder rarely compute the same
    # cell.
    order = random.sample(range(len(jobs)), len(jobs))
    places = [(k, c) for k in order for c in random.sample(range(len(plans[k].tasks)), len(plans[k].tasks))]
    tasks = [plans[k].tasks[c] for k, c in places]
    waiting: dict[int, dict[int, Outcome]] = {k: {} for k in order if plans[k].tasks}
    yield from ((k, []) for k in order if not plans[k].tasks)
    progress.start(len(tasks))
    with contextlib.closing(compute_cells(tasks, folder, workers=workers, progress=progress)) as ended:
        for i, outcome in ended:
            k, c = places[i]
            waiting[k][c] = outcome
            if len(waiting[k]) == len(plans[k].tasks):
                mine = waiting.pop(k)
                yield k, [mine[c] for c in sorted(mine)]


class _Plan(NamedTuple):
    """The tasks of a job; none, and the reason, if listing them raises."""

    tasks: list[Task]
    crash: dict[str, str] | None = None


def _plan(job: Job, folder: RunFolder) -> _Plan:
    experiment, scale, seed = job
    try:
        return _Plan([task(experiment, cell, scale, folder) for cell in experiment.seeded_cells(scale, seed)])
    except Exception as error:
        return _Plan([], {"sentence": sentence(error), "traceback": traceback.format_exc()})


def _conclude(job: Job, plan: _Plan, outcomes: list[Outcome], folder: RunFolder) -> dict[str, Any]:
    experiment, scale, seed = job
    cells, paths = [t.cell for t in plan.tasks], [t.path for t in plan.tasks]
    crashes = [plan.crash] if plan.crash else []
    crashes += [{"sentence": o.sentence, "traceback": o.traceback} for o in outcomes if o.status == "crashed"]
    if crashes:
        note = f"not computed: {crashes[0]['sentence']}"
        claims, figures = [verdict(c, scale, "error", note=note) for c in experiment.claims], []
    else:
        results = folder.results(cells, paths, scale=scale, known=[o.stored for o in outcomes])
        claims = [judge(c, experiment.results_for(c, results, scale, seed), scale) for c in experiment.claims]
        figures, crashes = _draw(experiment, results, folder)
    return {
        "id": experiment.id,
        "name": experiment.name,
        "paper": experiment.paper,
        "title": experiment.title,
        "summary": experiment.summary,
        "parameters": dict(experiment.changed),
        "scale": scale,
        "seed": seed,
        "dtype": DTYPE,
        "versions": versions(experiment.compute),
        "seconds": sum(o.seconds for o in outcomes),
        "cells": [
            {"parameters": c, "seconds": o.seconds, "versions": o.versions}
            for c, o in zip(cells, outcomes, strict=True)
        ],
        "figures": figures,
        "claims": claims,
        "crash": crashes[0] if crashes else None,
    }


def _draw(experiment: Experiment, results: Results, folder: RunFolder) -> tuple[list[dict], list[dict]]:
    """Save each figure as PNG and SVG; an error is recorded and does not affect the verdicts."""
    figures, crashes = [], []
    for draw in experiment.figures:
        try:
            files = _drawn(draw, results, salt=experiment.id)
        except Exception as error:
            reason = f"figure {draw.__name__} could not be drawn: {sentence(error)}"
            crashes.append({"sentence": reason, "traceback": traceback.format_exc()})
            continue
        for kind, content in files.items():
            write_atomically(folder.figure_path(experiment, f"{draw.__name__}.{kind}"), content)
        figures.append({"name": draw.__name__, "caption": _caption(experiment, draw)})
    return figures, crashes


def _caption(experiment: Experiment, draw: "Callable[[Results], Figure]") -> str:
    caption = " ".join((draw.__doc__ or "").split())
    changed = ", ".join(f"{name} = {described(values)}" for name, values in experiment.changed.items())
    return f"{caption} Here with {changed}." if changed else caption


def _drawn(draw: "Callable[[Results], Figure]", results: Results, *, salt: str) -> dict[str, bytes]:
    """A figure as PNG and SVG."""
    import matplotlib

    files = {}
    formats: dict[str, dict[str, Any]] = {"png": {"dpi": 200}, "svg": {"metadata": {"Date": None}}}
    # Outlines of letters look the same everywhere; with a fixed salt the same data give the same bytes.
    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": salt}):
        figure = draw(results)
        for kind, settings in formats.items():
            buffer = io.BytesIO()
            figure.savefig(buffer, format=kind, bbox_inches="tight", **settings)
            files[kind] = buffer.getvalue()
            figure.set_layout_engine("none")  # the layout is computed once
        _close(figure)
    return files


def _close(figure: "Figure") -> None:
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close(figure)


def exit_code(records: Sequence[dict[str, Any]]) -> int:
    """0 if all claims hold (or were skipped), 1 if one fails, 3 if something crashed."""
    statuses = {claim["status"] for record in records for claim in record["claims"]}
    if "error" in statuses or any(record["crash"] for record in records):
        return 3
    return 1 if "fails" in statuses else 0
