"""Readers for the file formats of review data sets."""

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import FileError, InputError, shown
from .datasets import DATA, located, member
from .reviews import Reviews

SNIPPETS = {
    "movie": "movieReviewSnippets",
    "amazon": "amazonReviewSnippets",
    "nyt": "nytEditorialSnippets",
    "tweets": "tweets",
}
_LABELS = {"positive": 1, "pos": 1, "1": 1, "negative": 0, "neg": 0, "0": 0}
_ARCHIVES = (".tgz", ".tar.gz")


def load_imdb(path: str | os.PathLike | None = None) -> Reviews:
    """The Large Movie Review Dataset: 50,000 reviews, half of them positive.

    `path` is the folder `aclImdb` (`train|test/pos|neg/*.txt`), a CSV file with the columns `review` and `sentiment`,
    the file `reviews.json` (records `{"t": text, "s": 0 or 1}`) or its package; the default is the cache,
    which `attnflow data imdb` fills. The order is that of the file, and files hold one label first: shuffle before a
    split.
    """
    place = located("imdb", path, _is_imdb)
    if place.is_dir():
        inside = place / "reviews.json"
        return _from_json(inside) if inside.is_file() else _from_folder(_acl(place))
    return _from_csv(place) if place.suffix == ".csv" else _from_json(place)


def load_vader_snippets(path: str | os.PathLike | None = None, which: str = "movie") -> Reviews:
    """Short texts with a mean rating by twenty people: of film reviews (`"movie"`), `"amazon"` reviews, editorials
    (`"nyt"`) or `"tweets"`. The label is the sign of the rating; texts rated zero are dropped.

    `path` is the source package of vaderSentiment, a folder that holds its files, or one such file; the default is
    the cache, which `attnflow data vader` fills.
    """
    if not isinstance(which, str) or which not in SNIPPETS:
        raise InputError(f"which = {shown(which)}; choose one of {', '.join(SNIPPETS)}.")
    name = f"{SNIPPETS[which]}_GroundTruth.txt"
    place = located("vader", path, lambda p: _snippets(p, name) is not None)
    content, file = _snippets(place, name) or (b"", place)
    texts, ratings = [], []
    for line, row in enumerate(_text(content, file).splitlines(), 1):
        if not row.strip():
            continue
        _, *rest = row.split("\t", 2)
        try:
            rating, text = float(rest[0]), rest[1]
        except (IndexError, ValueError):
            raise InputError(f"line {line} of {file} is not a number, a rating and a text between tabs.") from None
        texts.append(text)
        ratings.append(rating)
    signs = np.sign(np.asarray(ratings))
    chosen = np.flatnonzero(signs)
    return Reviews([texts[i] for i in chosen], (signs[chosen] > 0).astype(int), dropped=len(texts) - len(chosen))


def _is_imdb(path: Path) -> bool:
    if path.is_dir():
        return (path / "reviews.json").is_file() or _acl(path) is not None
    return path.suffix in (".csv", ".json") or path.name.endswith(_ARCHIVES)


def _acl(path: Path) -> Path | None:
    """The folder with `train` or `test` in it: this one, or `aclImdb` below."""
    for folder in (path, path / "aclImdb"):
        if any((folder / part / label).is_dir() for part in ("train", "test") for label in ("pos", "neg")):
            return folder
    return None


def _from_folder(folder: Path | None) -> Reviews:
    def files() -> Iterator[tuple[Path, int]]:
        for part in ("train", "test"):
            for label, value in (("neg", 0), ("pos", 1)):
                yield from ((file, value) for file in sorted((folder or Path()).glob(f"{part}/{label}/*.txt")))

    return _reviews([(_text(_bytes(file), file), label) for file, label in files()], folder)


def _from_csv(path: Path) -> Reviews:
    rows = csv.DictReader(_text(_bytes(path), path).splitlines(keepends=True))
    if not {"review", "sentiment"} <= set(rows.fieldnames or ()):
        raise InputError(f"{path} has the columns {', '.join(rows.fieldnames or ())}; it needs review and sentiment.")
    return _reviews([(row["review"], _label(row["sentiment"], path)) for row in rows], path)


def _from_json(path: Path) -> Reviews:
    content = _bytes(path)
    if path.name.endswith(_ARCHIVES):
        content = member(content, DATA["imdb"].members["reviews.json"], path)
    try:
        records = json.loads(_text(content, path))
        return _reviews([(record["t"], _label(record["s"], path)) for record in records], path)
    except (json.JSONDecodeError, TypeError, KeyError):
        raise InputError(f'{path} is not a list of records {{"t": text, "s": 0 or 1}} in JSON.') from None


def _label(value: Any, path: Path) -> int:
    label = _LABELS.get(str(value).strip().lower())
    if label is None:
        raise InputError(f"{path} has the label {value!r}; use positive and negative, or 1 and 0.")
    return label


def _reviews(pairs: list[tuple[str, int]], name: Any) -> Reviews:
    if not pairs:
        raise InputError(f"{name} holds no review.")
    texts, labels = zip(*pairs, strict=True)
    return Reviews(texts, np.asarray(labels))


def _snippets(path: Path, name: str) -> tuple[bytes, Any] | None:
    """The bytes of the file of that name and its name in messages: in a folder, in the package, or the file itself."""
    if path.name == name:
        return _bytes(path), path
    if path.is_file():
        return (member(_bytes(path), DATA["vader"].members[name], path), path) if _packed(path) else None
    inside = ("", "hutto_ICWSM_2014", "additional_resources/hutto_ICWSM_2014")
    file = next((path / f / name for f in inside if (path / f / name).is_file()), None)
    if file is not None:
        return _bytes(file), file
    nested = path / "additional_resources" / "hutto_ICWSM_2014.tar.gz"
    return (member(_bytes(nested), f"hutto_ICWSM_2014/{name}", nested), nested) if nested.is_file() else None


def _packed(path: Path) -> bool:
    return path.name.endswith(_ARCHIVES)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error


def _text(content: bytes, name: Any) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not text in UTF-8 (byte {error.start}).") from None
