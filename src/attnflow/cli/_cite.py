"""`attnflow cite`."""

from typing import Annotated

import typer


def cite(
    key: Annotated[str, typer.Argument(help="A paper's key, an experiment's id, or attnflow for the library itself.")],
) -> None:
    """Print BibTeX for a paper and for the library.

    Example: [bold]attnflow cite perspective >> references.bib[/bold]
    """
    from .. import citations, registry

    experiments = {} if key in (*citations.PAPERS, "attnflow") else registry.entries("experiment")
    print(citations.cite(experiments.get(key, key)), end="")
