"""From cells to verdicts: compute what is missing, judge the claims, draw the figures, keep a record."""

import io
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..files import write_atomically
from ._cells import DTYPE, Outcome, Task, compute_cells
from ._claim import judge, sentence, verdict
from ._experiment import Experiment, Scale
from ._folder import RunFolder
from ._machine import computing, versions
from ._progress import Progress, Silent
from ._results import Cell, Results


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
) -> list[dict[str, Any]]:
    """Run the jobs in `folder` and return a record for each; finished cells found there are used again.

    With `fresh` they are computed again; a `fresh` run that did not end (it was killed, say) is resumed by the next.

    A record holds `id, paper, title, summary, scale, seed, dtype, versions, seconds, cells, figures, claims, crash`;
    `seconds` is the time all cells took, whenever they were computed. `versions` are those that judged, and each of
    `cells` has those that computed it. An exception in one experiment makes its claims errors and is told in `crash`;
    the others go on. Everything is computed, judged and drawn in float64, whatever the caller's precision (which is
    restored), and verdicts are always reached from the data as read back from the files: a run that is resumed, judged
    again or shared between workers agrees with an uninterrupted one to the last digit.
    """
    progress = progress or Silent()
    with computing(folder.root, DTYPE), progress:
        plans = [_plan(job) for job in jobs]
        if fresh:
            for job, plan in zip(jobs, plans, strict=True):
                folder.begin_again(job.experiment, plan.cells, scale=job.scale, seed=job.seed, dtype=DTYPE)
        tasks = [
            Task(job.experiment, cell, job.scale) for job, plan in zip(jobs, plans, strict=True) for cell in plan.cells
        ]
        progress.start(len(tasks))
        outcomes = compute_cells(tasks, folder, workers=workers, progress=progress) if tasks else {}
        records, first = [], 0
        for job, plan in zip(jobs, plans, strict=True):
            progress.judging(job.experiment)
            mine = [outcomes[i] for i in range(first, first + len(plan.cells))]
            first += len(mine)
            record = _conclude(job, plan, mine, folder)
            folder.write_record(record)
            records.append(record)
    return records


class _Plan(NamedTuple):
    """The cells of a job; none, and why, if its experiment cannot even list them."""

    cells: list[Cell]
    crash: dict[str, str] | None = None


def _plan(job: Job) -> _Plan:
    experiment, scale, seed = job
    try:
        cells = experiment.seeded_cells(scale, seed)
        for cell in cells:
            experiment.key(cell, scale=scale, dtype=DTYPE)
    except Exception as error:
        return _Plan([], {"sentence": sentence(error), "traceback": traceback.format_exc()})
    return _Plan(cells)


def _conclude(job: Job, plan: _Plan, outcomes: list[Outcome], folder: RunFolder) -> dict[str, Any]:
    experiment, scale, seed = job
    cells = plan.cells
    crashes = [plan.crash] if plan.crash else []
    crashes += [{"sentence": o.sentence, "traceback": o.traceback} for o in outcomes if o.status == "crashed"]
    if crashes:
        note = f"not computed: {crashes[0]['sentence']}"
        claims, figures = [verdict(c, scale, "error", note=note) for c in experiment.claims], []
    else:
        results = folder.results(experiment, cells, scale=scale, dtype=DTYPE)
        claims = [judge(c, results, scale) for c in experiment.claims]
        figures, crashes = _draw(experiment, results, folder)
    return {
        "id": experiment.id,
        "paper": experiment.paper,
        "title": experiment.title,
        "summary": experiment.summary,
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
    """Save each figure as PNG and SVG; a figure that cannot be drawn is told, and takes no verdict with it."""
    figures, crashes = [], []
    for draw in experiment.figures:
        try:
            files = _drawn(draw, results, salt=experiment.id)
        except Exception as error:
            told = f"figure {draw.__name__} could not be drawn: {sentence(error)}"
            crashes.append({"sentence": told, "traceback": traceback.format_exc()})
            continue
        for kind, content in files.items():
            write_atomically(folder.figure_path(experiment, f"{draw.__name__}.{kind}"), content)
        figures.append({"name": draw.__name__, "caption": " ".join((draw.__doc__ or "").split())})
    return figures, crashes


def _drawn(draw: Callable[[Results], Any], results: Results, *, salt: str) -> dict[str, bytes]:
    """A figure as PNG and SVG."""
    import matplotlib

    files = {}
    # Letters as outlines look alike everywhere; a fixed salt gives the same bytes from the same data.
    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": salt}):
        figure = draw(results)
        for kind, settings in (("png", {"dpi": 200}), ("svg", {"metadata": {"Date": None}})):
            buffer = io.BytesIO()
            figure.savefig(buffer, format=kind, bbox_inches="tight", **settings)
            files[kind] = buffer.getvalue()
            figure.set_layout_engine("none")  # the layout is found once
        _close(figure)
    return files


def _close(figure: Any) -> None:
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close(figure)


def exit_code(records: Sequence[dict[str, Any]]) -> int:
    """0 if all claims hold (or were skipped), 1 if one fails, 3 if something crashed."""
    statuses = {claim["status"] for record in records for claim in record["claims"]}
    if "error" in statuses or any(record["crash"] for record in records):
        return 3
    return 1 if "fails" in statuses else 0
