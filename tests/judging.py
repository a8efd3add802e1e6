"""Experiments in tests: compute some cells, judge some claims, and corrupt data to see that every claim can fail."""

import dataclasses
import itertools

import jax.numpy as jnp
import numpy as np
import xarray

from attnflow.experiments import Results, judge
from attnflow.flows import Info


def computed(module, cells=None):
    """The results of some cells (default: all at scale quick); claims about other cells cannot be judged."""
    chosen = [{**cell, "seed": 0} for cell in (module.cells("quick") if cells is None else cells)]
    data = [module.compute(dict(cell)) for cell in chosen]
    return Results(chosen, lambda cell: data[chosen.index(cell)], scale="quick")


def verdicts(module, results, *ids):
    """Verdicts on the claims with these ids (default: all); an unknown id is an error."""
    claims = {claim.id: claim for claim in module.EXPERIMENT.claims}
    return {name: judge(claims[name], results, "quick") for name in ids or claims}


def holds(module, results, *ids):
    """These claims hold, and each of them fails for some corruption of the data."""
    for name, verdict in verdicts(module, results, *ids).items():
        assert verdict["status"] == "holds", (name, verdict["measured"], verdict["note"])
    claims = [claim for claim in module.EXPERIMENT.claims if not ids or claim.id in ids]
    assert survivors(claims, results) == []


def survivors(claims, results):
    """The ids of claims that hold for the results and for every corruption of them: such a claim cannot fail."""
    loaded = [results._load(cell) for cell in results.cells]

    def spoilt(spoil):
        bad = [(spoil(data), None if run is None else _spoilt_run(run, spoil)) for data, run in loaded]
        return Results(results.cells, lambda cell: bad[results.cells.index(cell)], scale=results.scale)

    left = list(claims)
    for spoil in _spoilers():
        bad = spoilt(spoil)
        with np.errstate(all="ignore"):  # logarithms of what is negative now
            left = [claim for claim in left if judge(claim, bad, results.scale)["status"] == "holds"]
    return [claim.id for claim in left]


def _spoilt_run(run, spoil):
    """A run with corrupted tokens, merges and named arrays."""
    dims = {"x": ("time", "token", "coordinate"), **run.info_dims}
    bad = spoil(xarray.Dataset({k: (dims[k], np.asarray(v)) for k, v in {"x": run.xs, **run.info}.items()}))
    info = {name: (dims[name], jnp.asarray(bad[name].values)) for name in run.info}
    names = [k for k, v in run.events[0].items() if isinstance(v, float)] if run.events else []
    merges = spoil(xarray.Dataset({k: ("merge", [e[k] for e in run.events]) for k in names}))
    events = tuple({**e, **{k: float(merges[k][i]) for k in names}} for i, e in enumerate(run.events))
    return dataclasses.replace(run, xs=jnp.asarray(bad["x"].values), events=events, info=Info(info))


def _spoilers():
    """Corruptions of a Dataset: variables change, coordinates stay."""
    rng = np.random.default_rng(0)
    place = itertools.count(1)

    def noise(v):
        return v + 0.1 * rng.normal(size=v.shape) * (1 + abs(v))

    def on_numbers(change):
        def spoil(data):
            return data.map(lambda v: change(v.astype(float)) if v.dtype.kind in "biuf" else v)

        return spoil

    def worse(data):  # differently for each cell
        k = next(place)
        return on_numbers(lambda v: v.copy(data=np.full(v.shape, float(k))))(data)

    def reverse(data):
        return data.isel(time=slice(None, None, -1)) if "time" in data.dims else data

    def other_words(data):
        return data.map(lambda v: v if v.dtype.kind in "biuf" else v.astype(object).copy(data=np.full(v.shape, "none")))

    numbers = (noise, lambda v: 1.5 * v, lambda v: -abs(v) - 1e-3, lambda v: 0 * v, lambda v: v * np.nan)
    return [*map(on_numbers, numbers), worse, reverse, other_words]
