"""A paper's BibTeX as one line to read."""

import re
import unicodedata
from typing import NamedTuple

_ACCENTS = {"'": "\u0301", "`": "\u0300", '"': "\u0308", "^": "\u0302", "~": "\u0303", "c": "\u0327", "v": "\u030c"}
_LETTERS = {"i": "ı", "j": "ȷ", "o": "ø", "l": "ł", "ss": "ß", "ae": "æ", "aa": "å"}


class Reference(NamedTuple):
    """Authors, title, where it appeared, and where to read it."""

    authors: str
    title: str
    place: str
    url: str
    bibtex: str


def references(paper: str) -> list[Reference]:
    """The articles behind a paper key, none if the key is not known."""
    from ..citations import PAPERS

    return [_reference(entry) for entry in PAPERS.get(paper, ())]


def _reference(bibtex: str) -> Reference:
    fields = {name.lower(): _plain(value) for name, value in re.findall(r"^\s*(\w+)\s*=\s*\{(.*)\},?$", bibtex, re.M)}
    names = [" ".join(reversed(name.split(", "))) for name in fields.get("author", "").split(" and ")]
    authors = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    where = fields.get("journal") or fields.get("booktitle", "")
    if where and "volume" in fields:
        where += f" {fields['volume']}" + (f"({fields['number']})" if "number" in fields else "")
    arxiv = f"arXiv:{fields['eprint']}" if "eprint" in fields else ""
    place = ", ".join(part for part in (where, fields.get("year", ""), arxiv) if part)
    return Reference(authors, fields.get("title", ""), place, fields.get("url", ""), bibtex)


def _plain(tex: str) -> str:
    """Accents and braces of BibTeX as plain letters."""

    def accented(match: re.Match[str]) -> str:
        return unicodedata.normalize("NFC", match[2] + _ACCENTS[match[1]])

    for command, letter in _LETTERS.items():
        tex = re.sub(rf"\\{command}\b\s*", letter, tex)
    tex = re.sub(r"\\(['`\"^~]|[cv]\b)\s*\{?(\w)\}?", accented, tex)
    return tex.replace("{", "").replace("}", "").replace("--", "–").replace("~", " ")
