"""`attnflow simulate`."""

import inspect
import json
import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import InputError
from ..settings import KINDS, SETTINGS, build, complete, parameters, read_toml
from ._files import refuse_to_overwrite

DOC = """Integrate one model and save the run with all that is needed to do it again.

Settings come from flags, from a TOML file with the same names, or from an earlier run; flags win.

Examples:

[bold]attnflow simulate --beta 9 --n 64 --d 3 --t1 30 --out run.nc[/bold]

[bold]attnflow simulate --attention unnormalized --beta 4 --shifted --t1 100 --out usa.nc[/bold]

[bold]attnflow simulate --pairs alibi --slope 0.1 --d 8 --out causal.nc[/bold]

[bold]attnflow simulate --config run.toml --seed 1 --out run1.nc[/bold]

[bold]attnflow simulate --from run.nc --out again.nc[/bold]
"""


def command(*, with_parameters: bool) -> Callable[..., None]:
    """The command; `with_parameters`: with a flag for each parameter of a registered model, map or initial law."""

    def simulate(**flags: Any) -> None:
        _simulate(**flags)

    flags = _flags(parameters() if with_parameters else {})
    signature = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in flags.items()
    ]
    simulate.__signature__ = inspect.Signature(signature)  # pyright: ignore[reportFunctionMemberAccess]
    simulate.__annotations__ = {name: annotation for name, (annotation, _) in flags.items()}
    simulate.__doc__ = DOC
    return simulate


def _flags(extra: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[Any, Any]]:
    """`{name: (annotation, default)}`. Defaults are None, so that a flag not given can come from a file."""
    flags: dict[str, tuple[Any, Any]] = {}
    for name, owners in extra.items():
        param = next(iter(owners.values()))
        about = f"{param.symbol + ': ' if param.symbol else ''}{param.help} ({_defaults(owners)})"
        flag = f"--{_dashed(name)}" + (f"/--no-{_dashed(name)}" if param.type is bool else "")
        option = typer.Option(flag, help=about, rich_help_panel="Parameters of models, attention maps and initial laws")
        flags[name] = (Annotated[param.type | None, option], None)
    for name, setting in SETTINGS.items():
        choices = _choices(name) if extra else ""
        default = "" if setting.default is None else f" (default: {setting.default})"
        option = typer.Option(f"--{_dashed(name)}", help=f"{setting.help}{choices}{default}", show_default=False)
        flags[name] = (Annotated[setting.type | None, option], None)
    out = typer.Option("--out", metavar="FILE", help="Where to save the run (NetCDF).")
    config = typer.Option("--config", metavar="TOML", help="Settings from a file.")
    source = typer.Option("--from", metavar="RUN.nc", help="Run a saved run again.")
    force = typer.Option("--force", help="Overwrite the output if it is there.")
    as_json = typer.Option("--json", help="Print a summary as JSON on standard output.")
    flags["out"] = (Annotated[Path, out], Path("run.nc"))
    flags["config"] = (Annotated[Path | None, config], None)
    flags["source"] = (Annotated[Path | None, source], None)
    flags["force"] = (Annotated[bool, force], False)
    flags["as_json"] = (Annotated[bool, as_json], False)
    return flags


def _defaults(owners: Mapping[str, Any]) -> str:
    """Which entries have a parameter, and its default."""
    values = {str(p.default) for p in owners.values()}
    if len(values) == 1:
        return f"{', '.join(owners)}; default: {values.pop()}"
    return "default: " + ", ".join(f"{owner} {p.default}" for owner, p in owners.items())


def _choices(name: str) -> str:
    from .. import registry

    return f": {', '.join(registry.entries(KINDS[name]))}" if name in KINDS else ""


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def _simulate(*, out: Path, config: Path | None, source: Path | None, force: bool, as_json: bool, **flags: Any) -> None:
    from ..flows import simulate

    chosen = {name: value for name, value in flags.items() if value is not None}
    if config is not None and source is not None:
        raise InputError("give --config or --from, not both.")
    refuse_to_overwrite(out, force)
    settings = None
    if source is not None:
        model, x0, options, settings = _again(source, chosen)
    else:
        settings = complete({**(read_toml(config) if config else {}), **chosen})
        model, x0, options = _built(settings)
    print(f"compiling, then integrating {x0.shape[0]} tokens in dimension {x0.shape[1]}", file=sys.stderr)
    run = simulate(model, x0, **options, progress=sys.stderr.isatty())
    run = run.annotated(settings=settings) if settings else run
    run.save(out)
    summary = _summary(run, out, settings)
    sentence = f"{out}: {run!r}; look at it with: attnflow plot {shlex.quote(str(out))}"
    print(json.dumps(summary, indent=1) if as_json else sentence)


def _again(path: Path, chosen: Mapping[str, Any]) -> tuple[Any, Any, dict[str, Any], dict[str, Any] | None]:
    """Model, initial tokens and options of a saved run, with the settings that made it where it has some."""
    from ..floating_point import precision
    from ..flows import load

    precision("float64")  # reads both precisions
    run = load(path)
    if "settings" in run.provenance:
        settings = complete({**_set(run.provenance["settings"]), **chosen})
        return *_built(settings), settings
    # Saved by a program: the file has the model and the first tokens, and only how to integrate can be changed.
    if chosen:
        raise InputError(f"{path} was saved by a program, which chose --{_dashed(min(chosen))}; change it there.")
    before = run.provenance["options"]
    if run.model is None or float(run.ts[0]) != before["t0"]:
        raise InputError(f"{path} does not hold its model and its first tokens; it cannot be run again.")
    names = ("t0", "t1", "solver", "dt", "rtol", "atol", "max_steps", "key")
    options = _set({k: before.get(k) for k in names})
    return run.model, run.xs[0], {**options, "ts": run.ts, "weights": run.weights}, None


def _built(settings: Mapping[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
    """`build`, in the precision of the settings; it refuses an unknown name."""
    from ..floating_point import precision

    precision("float32" if settings["dtype"] == "float32" else "float64")
    return build(settings)


def _set(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None}


def _summary(run: Any, out: Path, settings: Mapping[str, Any] | None) -> dict[str, Any]:
    from ..diagnostics import energy
    from ..errors import AttnflowError
    from ..json_values import plain

    try:
        final = energy(run)[-1]
    except AttnflowError:  # not every model has one
        final = None
    return {
        "out": str(out),
        "result": run.result.name.lower(),
        "sentence": run.sentence,
        "tokens": run.n,
        "dimension": run.d,
        "clock": run.clock,
        "times": [float(run.ts[0]), float(run.ts[-1])],
        "energy": plain(final),
        "stats": {k: plain(v) for k, v in run.stats.items()},
        "settings": dict(settings) if settings else None,
    }
