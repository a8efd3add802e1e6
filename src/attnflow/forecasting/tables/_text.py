"""The rows of a text table in bounded memory: encoding, separator, and of a huge file the end alone."""

import csv
import io
import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ...errors import FileError, InputError
from ...files import path_of

SEPARATORS = (";", "\t", ",", "|", " ")
LONGEST = 1 << 20  # characters of one line
FEW = 200  # lines that tell how the table is written
SAMPLE = LONGEST  # bytes that are looked at before reading


class Layout(NamedTuple):
    """How the text is written: its encoding, what separates the columns, and the lines of the sample."""

    encoding: str
    separator: str
    sample: list[list[str]]


def layout(path: Path) -> Layout:
    """Read from the first megabyte."""
    try:
        with open(path_of(path), "rb") as file:
            head = file.read(SAMPLE)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    whole = len(head) < SAMPLE
    encoding = _encoding(head, path)
    text = head.decode(encoding, errors="ignore")
    lines = list(itertools.islice(io.StringIO(text, newline=""), FEW))
    if not whole and not any(line.endswith(("\n", "\r")) for line in lines):
        raise InputError(f"{path} has a line of more than {LONGEST} characters; it is no table of rows.")
    lines = lines if whole or len(lines) == FEW else lines[:-1]  # the last one may be cut
    lines = [line for line in lines if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        raise InputError(f"{path} has no rows; give a table with a row for each time.")
    separator = _separator(lines, str(path))
    return Layout(encoding, separator, list(_split(lines, separator, str(path))))


def _encoding(head: bytes, path: Path) -> str:
    for mark, name in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if head.startswith(mark):
            return name
    if b"\0" in head:
        raise InputError(f"{path} is no text; give a table as CSV.")
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        return "utf-8" if error.start >= len(head) - 4 else "cp1252"  # a letter cut in two at the end of the sample
    return "utf-8"


def _separator(lines: list[str], source: str) -> str:
    """The one that divides most lines into the same number of columns, more than one; a semicolon beats a comma."""
    best, score = ",", (0.0, 0)
    for place, separator in enumerate(SEPARATORS):
        counts = [len(row) for row in _split(lines, separator, source)]
        usual = max(set(counts), key=counts.count)
        if usual > 1:
            agreement = counts.count(usual) / len(counts)
            if (round(agreement, 2), -place) > score:
                best, score = separator, (round(agreement, 2), -place)
    return best


def _split(lines, separator: str, source: str) -> Iterator[list[str]]:
    if separator == " ":  # runs of blanks
        yield from (line.split() for line in lines)
        return
    csv.field_size_limit(LONGEST)
    try:
        for row in csv.reader(lines, delimiter=separator, skipinitialspace=True):
            yield [cell.strip() for cell in row]
    except csv.Error as error:
        raise InputError(f"{source} is no table ({error}); give one as CSV.") from None


def rows(path: Path, found: Layout, most_bytes: int) -> tuple[Iterator[list[str]], int]:
    """All rows, and how many bytes of the file were skipped: of a file above `most_bytes` only its end is read."""
    try:
        size = os.path.getsize(path)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}.") from error
    skipped = max(0, size - most_bytes)
    if skipped and found.encoding.startswith("utf-16"):
        raise InputError(f"{path} is larger than {most_bytes / 1e6:.3g} MB and in UTF-16; save it as UTF-8.")
    return _read(path, found, skipped), skipped


def _read(path: Path, found: Layout, skipped: int) -> Iterator[list[str]]:
    with open(path, "rb") as raw:
        if skipped:
            raw.seek(skipped)
            raw.readline(LONGEST)  # the rest of a row
        text = io.TextIOWrapper(raw, encoding=found.encoding, errors="replace", newline="")
        lines = (line for line in _lines(text, path) if line.strip() and not line.lstrip().startswith("#"))
        yield from _split(lines, found.separator, str(path))


def _lines(text, path: Path) -> Iterator[str]:
    while line := text.readline(LONGEST):
        if len(line) >= LONGEST:
            raise InputError(f"{path} has a line of more than {LONGEST} characters; it is no table of rows.")
        if "\0" in line:
            raise InputError(f"{path} is no text; give a table as CSV.")
        yield line
