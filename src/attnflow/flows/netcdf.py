"""NetCDF4 files with everything but arrays in one JSON attribute: how they are read."""

import io
import json
from os import PathLike
from typing import Any

from ..errors import FileError
from ..files import path_of

FORMAT = 1
ATTRIBUTE = "attnflow"


def read(path: str | PathLike) -> tuple[Any, dict[str, Any]]:
    """The dataset in a file and its JSON header; a missing, truncated or foreign file raises a `FileError`."""
    import xarray as xr

    try:
        data = path_of(path).read_bytes()
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror}.") from error
    try:
        with xr.open_dataset(io.BytesIO(data), engine="h5netcdf") as opened:
            dataset = opened.load()
    except Exception as error:  # h5py raises many kinds on damaged bytes
        raise FileError(f"{path} is damaged, or not a NetCDF4 file; write it again.") from error
    if ATTRIBUTE not in dataset.attrs:
        raise FileError(f"{path} is a NetCDF file, but attnflow did not write it.")
    try:
        header = dict(json.loads(dataset.attrs[ATTRIBUTE]))
    except (TypeError, ValueError) as error:
        raise FileError(f"{path} has an attribute {ATTRIBUTE!r} that attnflow did not write.") from error
    if header.get("format", 0) > FORMAT:
        raise FileError(f"{path} was written by a newer attnflow (format {header['format']}); upgrade to read it.")
    return dataset, header
