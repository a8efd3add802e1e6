"""`attnflow plot`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from ._files import refuse_to_overwrite

AGAINST_TIME = ("energy", "order-parameter", "clusters")
Picture = Literal[
    "tokens", "overview", "energy", "order-parameter", "clusters", "inner-products", "attention", "leaders"
]


def plot(
    run: Annotated[Path, typer.Argument(metavar="RUN.nc", help="A run that `simulate` or `run.save` wrote.")],
    what: Annotated[Picture, typer.Option(help="What to draw.")] = "tokens",
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="PNG, SVG or PDF (default: RUN-tokens.png beside the run).")
    ] = None,
    at: Annotated[int, typer.Option(help="Which saved time to show; -1 is the last.")] = -1,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the picture if it is there.")] = False,
) -> None:
    """Draw a saved run: its tokens with the way they came, or what a diagnostic says of it; `overview` is several.

    Examples:

    [bold]attnflow plot run.nc[/bold]

    [bold]attnflow plot run.nc --what energy --out energy.pdf[/bold]
    """
    out = run.with_name(f"{run.stem}-{what}.png") if out is None else out
    refuse_to_overwrite(out, force)
    from ..floating_point import precision
    from ..flows import load

    precision("float64")
    loaded = load(run)
    from .. import plot

    draw = getattr(plot, what.replace("-", "_"))
    figure = draw(loaded) if what in AGAINST_TIME else draw(loaded, at=at)
    print(plot.save(figure, out))
