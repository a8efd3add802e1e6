"""Experiments inside a test: some cells computed, some claims judged, and data spoilt to see that claims fail."""

import itertools

import numpy as np

from attnflow.experiments import Results, judge


def computed(module, cells=None):
    """Results of some cells (all of scale quick); claims about others cannot be judged."""
    chosen = [{**cell, "seed": 0} for cell in (module.cells("quick") if cells is None else cells)]
    data = [module.compute(dict(cell)) for cell in chosen]
    return Results(chosen, lambda cell: data[chosen.index(cell)], scale="quick")


def verdicts(module, results, *ids):
    """Verdicts on the claims of these ids (all); an id that is unknown is an error."""
    claims = {claim.id: claim for claim in module.EXPERIMENT.claims}
    return {name: judge(claims[name], results, "quick") for name in ids or claims}


def holds(module, results, *ids):
    """These claims hold, and none of them holds of data that are spoilt in every way below."""
    for name, verdict in verdicts(module, results, *ids).items():
        assert verdict["status"] == "holds", (name, verdict["measured"], verdict["note"])
    claims = [claim for claim in module.EXPERIMENT.claims if not ids or claim.id in ids]
    assert survivors(claims, results) == []


def survivors(claims, results):
    """The ids of claims that hold of the results and of everything they are spoilt to: such a claim cannot fail."""
    loaded = [data for _, data in results]

    def spoilt(spoil):
        found = [spoil(data) for data in loaded]
        return Results(results.cells, lambda cell: found[results.cells.index(cell)], scale=results.scale)

    left = list(claims)
    for spoil in _spoilers():
        bad = spoilt(spoil)
        with np.errstate(all="ignore"):  # logarithms of what is negative now
            left = [claim for claim in left if judge(claim, bad, results.scale)["status"] == "holds"]
    return [claim.id for claim in left]


def _spoilers():
    """Ways to spoil a Dataset: numbers alone change, words and coordinates stay."""
    rng = np.random.default_rng(0)
    place = itertools.count(1)

    def noise(v):
        return v + 0.1 * rng.normal(size=v.shape) * (1 + abs(v))

    def on_numbers(change):
        def spoil(data):
            return data.map(lambda v: change(v.astype(float)) if v.dtype.kind in "biuf" else v)

        return spoil

    def worse(data):  # each cell in another way than the one before
        k = next(place)
        return on_numbers(lambda v: v.copy(data=np.full(v.shape, float(k))))(data)

    def reverse(data):
        return data.isel(time=slice(None, None, -1)) if "time" in data.dims else data

    def other_words(data):
        return data.map(lambda v: v if v.dtype.kind in "biuf" else v.astype(object).copy(data=np.full(v.shape, "none")))

    numbers = (noise, lambda v: 1.5 * v, lambda v: -abs(v) - 1e-3, lambda v: 0 * v, lambda v: v * np.nan)
    return [*map(on_numbers, numbers), worse, reverse, other_words]
