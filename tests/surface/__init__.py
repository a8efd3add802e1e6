"""The public surface of the library as a table: for every public name a valid small call and what must hold for it.

`table` says what a row is, `public` walks the package for its names, `relations` are checked for the whole table, and
every other module here holds the rows of one room in `ROWS`. A public name without a row fails a test; a relation that
does not apply to a row is switched off there, with the reason beside it.
"""

import importlib
import pkgutil

from .table import Row

_MECHANISM = {"table", "public", "relations", "samples"}


def rows() -> dict[str, Row]:
    """All rows of the table, by name."""
    rows: dict[str, Row] = {}
    for module in pkgutil.iter_modules(__path__):
        if module.name in _MECHANISM:
            continue
        for row in importlib.import_module(f"{__name__}.{module.name}").ROWS:
            assert row.label not in rows, f"two rows are called {row.label}"
            rows[row.label] = row
    return rows
