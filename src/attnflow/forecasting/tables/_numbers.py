"""Cells as numbers: gaps, decimal commas, thousands."""

import math
import re

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "nil", "-", "--", "?", ".", "missing", "#n/a", "#na"})
_COMMA = re.compile(r"[+-]?(\d{1,3}(\.\d{3})+|\d*),\d+([eE][+-]?\d+)?")
_GROUPS = re.compile(r"[+-]?[1-9]\d{0,2}(\.\d{3})+")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")


def is_missing(cell: str) -> bool:
    return cell.lower() in MISSING


def number_of(cell: str, comma: bool) -> float | None:
    """The number in a cell, NaN for a gap or an infinity, None where there is something else.

    `comma`: a comma is the decimal sign, and a dot between groups of three digits separates thousands.
    """
    if is_missing(cell):
        return math.nan
    if "_" in cell:  # Python would read 1_000
        return None
    text = cell
    if comma and "," in text:
        if not _COMMA.fullmatch(text):
            return None
        text = text.replace(".", "").replace(",", ".")
    elif comma and _GROUPS.fullmatch(text):  # 2.000 beside 1.234,50
        text = text.replace(".", "")
    elif not comma and "," in text:
        if not _THOUSANDS.fullmatch(text):
            return None
        text = text.replace(",", "")
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else math.nan


def decimal_comma(cells: list[str]) -> bool:
    """Whether these cells write decimals with a comma: some can be read in no other way."""
    with_comma = sum(number_of(c, True) is not None and number_of(c, False) is None for c in cells)
    with_point = sum(number_of(c, False) is not None and number_of(c, True) is None for c in cells)
    ambiguous = sum("," in c and _COMMA.fullmatch(c) is not None for c in cells)
    return with_comma > with_point or (ambiguous > 0 and with_point == 0)
