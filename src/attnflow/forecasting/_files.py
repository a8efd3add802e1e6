"""Fitted models as NetCDF4: arrays as variables, the rest as JSON; a file brings in numbers, and nothing else."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError, shown
from ..files import parsed, path_of, write_atomically
from ..flows.netcdf import ATTRIBUTE
from ..flows.netcdf import read as read_netcdf

FORMAT = 1
CONTENT = "forecaster"


def write(path: Any, model: Any) -> Path:
    """Write a fitted model: its parameters and what it learned. A random key is not kept."""
    import xarray

    state = model._state()
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    rest = {name: value for name, value in state.items() if name not in arrays}
    parameters = {name: value for name, value in model.get_params().items() if name != "key"}
    header = {
        "format": FORMAT,
        "content": CONTENT,
        "class": type(model).__name__,
        "parameters": {name: _plain(value) for name, value in parameters.items()},
        "learned": rest,
        "shapes": {name: list(value.shape) for name, value in arrays.items()},
    }
    # An axis of length zero makes some readers fail: arrays are flat, and their shapes stand in the header.
    variables = {name: (f"{name}_entries", value.reshape(-1)) for name, value in arrays.items() if value.size}
    data = xarray.Dataset(variables, attrs={ATTRIBUTE: json.dumps(header)})
    return write_atomically(path_of(path), bytes(data.to_netcdf(engine="h5netcdf")))


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return value.item() if isinstance(value, np.generic) else None


def load(path: Any) -> Any:
    """Read a fitted `TimeDelayedTransformer` or `TDDMD` that `save` wrote; nothing in the file is executed."""
    return read_model(path, None)


def read_model(path: Any, wanted: type | None) -> Any:
    from .td_dmd import TDDMD
    from .transformer import TimeDelayedTransformer

    classes = {c.__name__: c for c in (TDDMD, TimeDelayedTransformer)}
    dataset, header = read_netcdf(path)
    model = parsed(lambda: _built(dataset, header, classes), CONTENT, str(path), "give a file written by `save`")
    if wanted is not None and not isinstance(model, wanted):
        raise InputError(f"{path} holds a {type(model).__name__}, no {wanted.__name__}; load it by that class.")
    return model


def _built(dataset: Any, header: dict[str, Any], classes: dict[str, type]) -> Any:
    if header.get("content") != CONTENT or header.get("class") not in classes:
        raise ValueError(f"it holds {shown(header.get('content'))}")
    model = classes[header["class"]](**header["parameters"])
    arrays = {}
    for name, shape in header["shapes"].items():
        flat = np.asarray(dataset[name].values, float) if name in dataset else np.zeros(0)
        arrays[name] = flat.reshape(shape)
    model._restore({**header["learned"], **arrays})
    return model
