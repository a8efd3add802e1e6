"""Experiments inside a test: some cells computed, some claims judged."""

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
    for name, verdict in verdicts(module, results, *ids).items():
        assert verdict["status"] == "holds", (name, verdict["measured"], verdict["note"])
