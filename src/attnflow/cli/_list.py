"""`attnflow list`."""

import json
from dataclasses import fields
from typing import Annotated, Any

import typer


def list_everything(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
) -> None:
    """Show papers, experiments with their claims, and what the library can simulate. Nothing is run.

    Example: [bold]attnflow list[/bold]
    """
    listing = everything()
    print(json.dumps(listing, indent=1, ensure_ascii=False) if as_json else _text(listing))


def everything() -> dict[str, Any]:
    """All experiments with their claims, and all registered attention maps, models and initial laws, as JSON."""
    from .. import registry

    experiments = registry.entries("experiment").values()
    listing: dict[str, Any] = {"experiments": [_experiment(e) for e in experiments]}
    for kind in ("attention", "model", "law"):
        listing[kind] = [_entry(e) for e in registry.entries(kind).values()]
    return listing


def _experiment(experiment: Any) -> dict[str, Any]:
    from ..json_values import plain

    claims = [{f.name: plain(getattr(c, f.name)) for f in fields(c) if f.name != "measure"} for c in experiment.claims]
    about = {k: getattr(experiment, k) for k in ("id", "paper", "title", "summary")}
    parameters = {name: _parameter(experiment, name) for name in experiment.parameters}
    figures = [f.__name__ for f in experiment.figures]
    return {**about, "parameters": parameters, "figures": figures, "claims": claims}


def _parameter(experiment: Any, name: str) -> dict[str, Any]:
    from ..experiments.parameters import values_in

    parameter = experiment.parameters[name]
    default = values_in(experiment.cells("quick"), name, parameter)
    kind = "whole number" if all(isinstance(v, int) for v in default) else "number"
    return {
        "default": default,
        "type": kind,
        "bounds": parameter.bounds and list(parameter.bounds),
        "help": parameter.help,
    }


def _entry(entry: Any) -> dict[str, Any]:
    params = {
        name: {"default": p.default, "bounds": p.bounds and list(p.bounds), "symbol": p.symbol, "help": p.help}
        for name, p in entry.params.items()
    }
    about = {"name": entry.name, "summary": entry.summary, "params": params, "spaces": list(entry.spaces)}
    return {**about, "symmetries": sorted(entry.symmetries), "monotone": entry.monotone, "papers": list(entry.papers)}


def _text(listing: dict[str, Any]) -> str:
    lines = []
    papers = sorted({e["paper"] for e in listing["experiments"]})
    for paper in papers:
        lines.append(_title(paper))
        for experiment in listing["experiments"]:
            if experiment["paper"] == paper:
                lines.append(f"  {experiment['id']}: {experiment['title']}")
                lines += [f"    --set {k}=… ({_default(v)}) {v['help']}" for k, v in experiment["parameters"].items()]
                lines += [f"    · {claim['statement']}{_observed(claim)}" for claim in experiment["claims"]]
        lines.append("")
    for kind, title in (("attention", "attention maps"), ("model", "models"), ("law", "initial laws")):
        lines.append(title)
        for entry in listing[kind]:
            flags = " ".join(f"--{name.replace('_', '-')}" for name in entry["params"])
            lines.append(f"  {entry['name']:<14} {entry['summary']}{f'  ({flags})' if flags else ''}")
        lines.append("")
    return "\n".join(lines).rstrip()


def _default(parameter: dict[str, Any]) -> str:
    from ..experiments.parameters import described

    return described(parameter["default"])


def _observed(claim: dict[str, Any]) -> str:
    return " (observation)" if claim["provenance"] == "observation" else ""


def _title(paper: str) -> str:
    from ..report.references import references

    found = references(paper)
    return f"{paper}: {'; '.join(r.title for r in found)}" if found else paper
