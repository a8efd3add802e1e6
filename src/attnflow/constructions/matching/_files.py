"""Schedules as JSON or NetCDF4, every number to the last digit; a file brings in numbers, and nothing else."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from ...checks import finite_array, number
from ...errors import shown
from ...files import check_format, parsed, path_of, read_json, write_atomically
from ...flows.netcdf import ATTRIBUTE
from ...flows.netcdf import read as read_netcdf
from .piece import ROLES, TransformerPiece

FORMAT = "attnflow transformer schedule 1"
WHAT = "transformer schedule"
ARRAYS = {"V": 2, "B": 2, "W": 2, "U": 2, "b": 1}  # their axes
DIMENSIONS = {
    "V": ("piece", "coordinate", "coordinate_2"),
    "B": ("piece", "coordinate", "coordinate_2"),
    "W": ("piece", "coordinate", "neuron"),
    "U": ("piece", "neuron", "coordinate"),
    "b": ("piece", "neuron"),
    "T": ("piece",),
}


def written(path: str | os.PathLike, schedule: Any) -> Path:
    """Write the schedule: NetCDF if the name ends with `.nc`, otherwise JSON."""
    if path_of(path).suffix == ".nc":
        return write_atomically(path, bytes(to_dataset(schedule).to_netcdf(engine="h5netcdf")))
    record = {"format": FORMAT, "d": schedule.d, "pieces": [_record(piece) for piece in schedule]}
    return write_atomically(path, json.dumps(record, allow_nan=False))


def read(path: str | os.PathLike) -> list[TransformerPiece]:
    return _of_dataset(path) if path_of(path).suffix == ".nc" else read_json(path, _pieces, WHAT)


def to_dataset(schedule: Any):
    """All weights as an `xarray.Dataset`; its attribute says how many neurons every piece has, and what it is for."""
    import xarray

    weights = schedule.weights()
    header = {
        "format": 1,
        "content": WHAT,
        "widths": [piece.width for piece in schedule],
        "roles": [piece.role for piece in schedule],
    }
    variables = {name: (DIMENSIONS[name], weights[name]) for name in DIMENSIONS}
    return xarray.Dataset(variables, attrs={ATTRIBUTE: json.dumps(header)})


def _record(piece: TransformerPiece) -> dict[str, Any]:
    """Arrays as lists; what is zero is left out."""
    arrays = {name: getattr(piece, name) for name in ARRAYS}
    kept = {name for name, a in arrays.items() if a.any() or (name in ("W", "U", "b") and a.size)}
    plain = {name: a.tolist() if name in kept else None for name, a in arrays.items()}
    return {"role": piece.role, "T": piece.T, **plain}


def _pieces(record: Any) -> list[TransformerPiece]:
    check_format(record, FORMAT)
    d, given = record["d"], record["pieces"]
    if not isinstance(given, list) or not given or not isinstance(d, int) or d < 2:
        raise ValueError("it has no pieces, or no dimension")
    return [_piece(one, d) for one in given]


def _piece(record: Any, d: int) -> TransformerPiece:
    if not isinstance(record, dict) or sorted(record) != sorted(["role", "T", *ARRAYS]):
        raise ValueError(f"{shown(record)} is no piece")
    if record["role"] not in ROLES:
        raise ValueError(f"{shown(record['role'])} is no role")
    arrays = {name: None if record[name] is None else finite_array(name, record[name]) for name in ARRAYS}
    for name, axes in ARRAYS.items():
        a = arrays[name]
        if a is not None and (a.ndim != axes or (d not in a.shape[:2] and name != "b")):
            raise ValueError(f"{name} has shape {a.shape} in dimension {d}")
    if arrays["V"] is None and arrays["W"] is None:
        arrays["V"] = np.zeros((d, d))
    return TransformerPiece(**arrays, T=number("T", record["T"]), role=record["role"])


def _of_dataset(path: str | os.PathLike) -> list[TransformerPiece]:
    dataset, header = read_netcdf(path)
    return parsed(lambda: _sliced(header, dataset), WHAT, str(path), "give a file written by `save`")


def _sliced(header: Any, dataset: Any) -> list[TransformerPiece]:
    """The pieces of stacked arrays, each with as many neurons as it had."""
    if header.get("content") != WHAT:
        raise ValueError(f"it holds {shown(header.get('content'))}")
    arrays = {name: finite_array(name, dataset[name].values) for name in DIMENSIONS}
    for name, dims in DIMENSIONS.items():
        if dataset[name].dims != dims:
            raise ValueError(f"{name} has the axes {dataset[name].dims}")
    widths, roles = header["widths"], header["roles"]
    if not len(widths) == len(roles) == len(arrays["T"]) or not all(type(m) is int and m >= 0 for m in widths):
        raise ValueError("it does not say how many neurons every piece has")
    pieces = []
    for k, (m, role) in enumerate(zip(widths, roles, strict=True)):
        layer = {"W": arrays["W"][k, :, :m], "U": arrays["U"][k, :m], "b": arrays["b"][k, :m]} if m else {}
        pieces.append(TransformerPiece(arrays["V"][k], arrays["B"][k], **layer, T=arrays["T"][k], role=role))
    return pieces
