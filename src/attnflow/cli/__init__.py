"""The command `attnflow`.

Exit codes: 0 all is well (and all claims hold), 1 a claim fails, 2 bad input, 3 a crash. An error is one
sentence on standard error. Commands import what they need when they run, so that `--help` is quick.
"""

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from ..errors import AttnflowError, AttnflowWarning
from . import _analyze, _cite, _data, _doctor, _explore, _forecast, _list, _models, _plot, _reproduce, _simulate

TRACEBACK = "--traceback"


def main(argv: Sequence[str] | None = None) -> None:
    """Run a command line (by default the one this process was started with) and leave with its exit code."""
    args = list(sys.argv[1:] if argv is None else argv)
    verbose = TRACEBACK in args or os.environ.get("ATTNFLOW_TRACEBACK", "") not in ("", "0")
    args = [a for a in args if a != TRACEBACK]  # allowed in any place
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            # Not standalone: typer would print a box in place of the sentence, and exit by itself.
            code = _app(args)(args=args, prog_name="attnflow", standalone_mode=False)
    except Exception as error:
        code = _report(error, verbose)
    sys.exit(code or 0)


def _report(error: Exception, verbose: bool) -> int:
    """Print the error on standard error; return the exit code."""
    usage = hasattr(error, "format_message")  # typer's errors, whose class has no public name in all its releases
    if verbose and not usage:
        traceback.print_exception(error)
    if usage:
        print(_usage(error), file=sys.stderr)
        return 2
    if isinstance(error, AttnflowError):
        print(f"attnflow: {error}", file=sys.stderr)
        return 2
    text = " ".join(f"{type(error).__name__}: {error}".split())
    hint = "" if verbose else f"; add {TRACEBACK} to see where"
    print(f"attnflow stopped unexpectedly ({text}){hint}.", file=sys.stderr)
    return 3


def _usage(error: Any) -> str:
    """One sentence about a command line that cannot be understood; a command line without a command gets the help."""
    text = error.format_message()
    if type(error).__name__ == "NoArgsIsHelpError":
        return text
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "attnflow"
    text = " ".join(text.split()).rstrip(".")
    return f"attnflow: {text[:1].lower()}{text[1:]}; {command} --help shows what there is."


def _app(args: Sequence[str]) -> typer.Typer:
    app = typer.Typer(
        help="Transformers as interacting particles: reproduce the theory, simulate, look.",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    app.command("reproduce")(_reproduce.reproduce)
    app.command("list")(_list.list_everything)
    # The flags of `simulate` come from the registry, and that imports JAX: only that command pays for it.
    wanted = "simulate" in (*args, *os.environ.get("_TYPER_COMPLETE_ARGS", "").split())
    app.command("simulate")(_simulate.command(with_parameters=wanted))
    app.command("plot")(_plot.plot)
    app.command("forecast")(_forecast.forecast)
    app.command("analyze")(_analyze.analyze)
    app.command("explore")(_explore.explore)
    app.command("cite")(_cite.cite)
    app.command("data")(_data.data)
    app.add_typer(_models.models, name="models")
    app.command("doctor")(_doctor.doctor)
    return app


def _print_version(wanted: bool) -> bool:
    if wanted:
        from ..versions import version

        print(f"attnflow {version('attnflow')}")
        raise typer.Exit()
    return wanted


def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.", callback=_print_version, is_eager=True)
    ] = False,
    traceback: Annotated[
        bool, typer.Option(TRACEBACK, help="After a crash show where it happened (also ATTNFLOW_TRACEBACK=1).")
    ] = False,
) -> None:
    """Both options are handled by `main`, and declared here for the help."""


def _show_warning(message: Any, category: type[Warning], filename: str, lineno: int, *rest: Any) -> None:
    where = "" if issubclass(category, AttnflowWarning) else f" ({category.__name__}, {filename}:{lineno})"
    print(f"attnflow: {message}{where}", file=sys.stderr)
