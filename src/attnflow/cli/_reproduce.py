"""`attnflow reproduce`."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ..errors import InputError

SIGNS = {"holds": "✓", "fails": "✗", "skipped": "–", "error": "!"}


def reproduce(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Experiments, as `list` shows them.")
    ] = None,
    paper: Annotated[
        list[str] | None, typer.Option(metavar="KEY", help="All experiments of a paper; may be given again.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="All experiments.")] = False,
    only_failed: Annotated[
        bool, typer.Option("--only-failed", help="Compute again what last failed or crashed in the folder.")
    ] = False,
    scale: Annotated[
        Literal["quick", "full"] | None,
        typer.Option(help="quick (the default): minutes on two cores; full: the paper's own parameters."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for data, figures and report.")] = Path(
        "attnflow-results"
    ),
    seed: Annotated[int | None, typer.Option(min=0, help="Seed of all random draws (default 0).")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Change a parameter that `list` shows; may be given again, VALUE as 4,20.",
        ),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes that share the work.")] = 1,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON on standard output.")] = False,
) -> None:
    """Run experiments, check every claim with a number, draw the figures and write one report.

    Finished computations in the folder are used again: a run that was stopped goes on where it was. Several processes
    may share a folder. With other parameters (--set) claims that do not apply are skipped. Exit code 0: all claims
    hold; 1: a claim fails; 2: bad input; 3: something crashed.

    Examples:

    [bold]attnflow reproduce perspective-equiangular[/bold]

    [bold]attnflow reproduce perspective-trajectories --set n=128 --set beta=4,20[/bold]

    [bold]attnflow reproduce --paper perspective --scale full --workers 4 --out results[/bold]

    [bold]attnflow reproduce --only-failed --out results[/bold]
    """
    from ..experiments.folder import RunFolder
    from ..experiments.parameters import parsed
    from ..experiments.progress import Bar
    from ..experiments.runner import Job, exit_code
    from ..experiments.runner import reproduce as run

    chosen = _choose(ids or [], paper or [], everything)
    if not chosen and not only_failed:
        raise InputError("say what to reproduce: experiment ids, --paper KEY or --all (attnflow list shows them).")
    if settings and only_failed:
        raise InputError("--only-failed keeps the parameters of each experiment; leave out --set.")
    changed = parsed(settings or [])
    chosen = {name: e.with_parameters(changed) for name, e in chosen.items()}
    progress = Bar()
    folder = RunFolder(out, warn=progress.say)
    if only_failed:
        jobs = _failed_jobs(folder, chosen, scale, seed)
    else:
        jobs = [Job(e, scale or "quick", seed or 0) for e in chosen.values()]
    unfinished = [job.experiment.name for job in jobs]

    def concluded(record: dict[str, Any], left: list[str]) -> None:
        unfinished[:] = left
        _report(folder, left)
        if not as_json:
            print(_summary(record), flush=True)

    try:
        records = run(jobs, folder, workers=workers, fresh=only_failed, progress=progress, concluded=concluded)
    except KeyboardInterrupt:
        print(_interrupted(unfinished, _report(folder, unfinished)), file=sys.stderr)
        raise typer.Exit(130) from None
    report = folder.root / "report.html" if jobs else _report(folder, [])
    if as_json:
        keys = ("id", "paper", "parameters", "seconds", "claims")
        print(json.dumps({"experiments": [{k: r[k] for k in keys} for r in records]}, indent=1, ensure_ascii=False))
        print(f"report: {report}", file=sys.stderr)
    else:
        print(f"report: {report}" if records else f"nothing failed in {out}")
    raise typer.Exit(exit_code(records))


def _interrupted(unfinished: list[str], report: Path | None) -> str:
    names = ", ".join(unfinished[:6]) + (f" and {len(unfinished) - 6} more" if len(unfinished) > 6 else "")
    where = f" (report on those that are: {report})" if report else ""
    return f"attnflow: interrupted; not finished: {names}{where}; the same command goes on where it stopped."


def _choose(ids: list[str], papers: list[str], everything: bool) -> dict[str, Any]:
    """The chosen experiments, by id."""
    from .. import registry

    known = registry.entries("experiment")
    if everything:
        return known
    for name in ids:
        if name not in known:
            raise InputError(f"experiment {name!r} is unknown; there are: {', '.join(known)}.")
    keys = sorted({e.paper for e in known.values()})
    for paper in papers:
        if paper not in keys:
            raise InputError(f"no experiment belongs to paper {paper!r}; there are: {', '.join(keys)}.")
    return {name: e for name, e in known.items() if name in ids or e.paper in papers}


def _failed_jobs(
    folder: Any, chosen: dict[str, Any], scale: Literal["quick", "full"] | None, seed: int | None
) -> list[Any]:
    """Jobs for what failed or crashed in the folder, with its parameters; scale and seed, too, unless they are set."""
    from .. import registry
    from ..experiments.runner import Job

    records = folder.records()
    if not records:
        raise InputError(f"{folder.root} holds no results yet; run attnflow reproduce without --only-failed first.")
    known = chosen or registry.entries("experiment")
    jobs = []
    for record in records.values():
        bad = record["crash"] or any(c["status"] in ("fails", "error") for c in record["claims"])
        if bad and record["id"] in known:
            experiment = known[record["id"]].with_parameters(record["parameters"])
            jobs.append(Job(experiment, scale or record["scale"], record["seed"] if seed is None else seed))
    return jobs


def _report(folder: Any, left: list[str]) -> Path | None:
    """The report on all that is in the folder, but for experiments that are `left` to do."""
    from .. import registry
    from ..experiments.machine import versions
    from ..report import write_report

    records, known = folder.records(), registry.entries("experiment")
    present = {r["id"]: versions(known[r["id"]].compute) for r in records.values() if r["id"] in known}
    return write_report(folder.root, list(records.values()), present, left) if records else None


def _summary(record: dict[str, Any]) -> str:
    """A few lines about one experiment: claims that do not hold in full."""
    from ..report.text import count, seconds

    claims = record["claims"]
    held = sum(c["status"] == "holds" for c in claims)
    judged = sum(c["status"] != "skipped" for c in claims)
    observed = sum(c["provenance"] == "observation" and c["status"] != "skipped" for c in claims)
    observations = f", {count(observed, 'observation')} among them" if observed else ""
    verdict = f"{held} of {count(judged, 'claim')} hold{observations}" if judged else "no claim was judged"
    lines = [f"{record['name']}: {verdict} ({seconds(record['seconds'])})"]
    for c in claims:
        kind = " (observation)" if c["provenance"] == "observation" else ""
        line = f"  {SIGNS[c['status']]} {c['status']:<7} {c['statement']}{kind}"
        lines.append(line + (f" [{c['note']}]" if c["note"] and c["status"] != "holds" else ""))
        if c["status"] == "fails":
            kind = c["kind"].replace("_", " ")
            lines.append(f"            expected {kind} {c['expected']}, measured {c['measured']}")
    if record["crash"]:
        lines.append(f"  ! {record['crash']['sentence']}")
    return "\n".join(lines)
