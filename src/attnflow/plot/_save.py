"""Figures as files, whole or not at all."""

import io
import os
from pathlib import Path

from matplotlib.figure import Figure

from ..errors import InputError, shown
from ..files import path_of, write_atomically
from ._data import resolution
from ._style import style

_UNDATED = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}


def save(figure: Figure, path: str | os.PathLike, *, dpi: float | int = 200) -> Path:
    """Write the figure as PNG, SVG or PDF, by the path's ending; the same figure always gives the same bytes."""
    if not isinstance(figure, Figure):
        raise InputError(f"{shown(figure)} is no figure; give what a function of af.plot returns.")
    path, dpi = path_of(path), resolution(dpi)
    if path.suffix.lower() not in _UNDATED:
        raise InputError(f"cannot save a figure as {path.name!r}; end the name with .png, .svg or .pdf.")
    data = io.BytesIO()
    with style():
        ending = path.suffix.lower()
        figure.savefig(data, format=ending[1:], dpi=dpi, metadata=_UNDATED[ending])
    return write_atomically(path, data.getvalue())
