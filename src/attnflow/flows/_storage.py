"""Runs as NetCDF4 files: arrays as variables, everything else in one JSON attribute."""

import json
from os import PathLike
from typing import Any

import jax.numpy as jnp
import numpy as np

from ..errors import AttnflowError, AttnflowWarning, FileError
from ..files import write_atomically
from ._model_json import NotStorable, decode, encode
from .netcdf import ATTRIBUTE, FORMAT, read
from .outcome import Outcome
from .run import Info, Run

LARGEST_MODEL = 1 << 26  # numbers: 256 MiB in float32


def to_dataset(run: Run):
    """The run as an `xarray.Dataset`; its JSON attribute holds model, clock, outcome, statistics, provenance."""
    import xarray as xr

    run.single()
    arrays: dict[str, Any] = {}
    try:
        model = None if run.model is None else encode(run.model, arrays)
        if sum(np.size(a) for a in arrays.values()) > LARGEST_MODEL:
            _warn_of_size(run.model)
            raise NotStorable
    except NotStorable:
        model, arrays = None, {}
    variables = {
        "x": (("time", "token", "coordinate"), np.asarray(run.xs)),
        **{f"info_{name}": (run.info_dims[name], np.asarray(value)) for name, value in run.info.items()},
        **{name: ([f"{name}_{k}" for k in range(a.ndim)], np.asarray(a)) for name, a in arrays.items()},
    }
    optional = {"weights": ("token",), "labels": ("time", "token"), "log_ts": ("time",)}
    variables |= {k: (dims, np.asarray(getattr(run, k))) for k, dims in optional.items() if getattr(run, k) is not None}
    header = {
        "format": FORMAT,
        "clock": run.clock,
        "result": run.result.name,
        "stats": {k: np.asarray(v).item() for k, v in run.stats.items()},
        "model": model,
        "events": run.events,
        "info": {name: list(run.info_dims[name]) for name in run.info},
        "provenance": run.provenance,
    }
    dataset = xr.Dataset(variables, coords={"time": np.asarray(run.ts)}, attrs={ATTRIBUTE: json.dumps(header)})
    dataset["time"].attrs["long_name"] = f"time ({run.clock})"
    return dataset


def save(run: Run, path: str | PathLike) -> None:
    """Write a run, whole or not at all."""
    write_atomically(path, bytes(to_dataset(run).to_netcdf(engine="h5netcdf")))


def load(path: str | PathLike) -> Run:
    """Read a run that `Run.save` wrote; its model is rebuilt, unless it held a Python function."""
    dataset, header = read(path)
    try:
        values = {name: jnp.asarray(dataset[name].values) for name in map(str, dataset.variables)}
        if values["x"].dtype != dataset["x"].dtype:
            _warn_of_precision(path, str(dataset["x"].dtype))
        model = decode(header["model"], values)
        return Run(
            ts=values["time"],
            xs=values["x"],
            weights=values.get("weights"),
            code=jnp.asarray(Outcome[header["result"]].code),
            stats=header["stats"],
            model=model,
            clock=header["clock"],
            provenance=header["provenance"],
            log_ts=values.get("log_ts"),
            labels=values.get("labels"),
            events=tuple(header["events"]),
            info=Info({name: (dims, values[f"info_{name}"]) for name, dims in header["info"].items()}),
        )
    except AttnflowError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"{path} is not a complete attnflow run ({error!r}); write it again with run.save.") from error


def _warn_of_size(model: object) -> None:
    import warnings

    name, most = type(model).__name__, f"{LARGEST_MODEL:,}"
    message = (
        f"the {name} has more than {most} numbers and is not stored with its run; diagnostics of attention need it."
    )
    warnings.warn(message, AttnflowWarning, stacklevel=4)


def _warn_of_precision(path: str | PathLike, dtype: str) -> None:
    import warnings

    message = f"{path} holds {dtype} numbers, read here as float32; call attnflow.precision('float64') first."
    warnings.warn(message, AttnflowWarning, stacklevel=3)
