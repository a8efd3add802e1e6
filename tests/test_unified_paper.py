"""The claims of the experiments on arXiv:2501.18322 about Gaussian laws; rows P9, P10, P13, P15, P16."""

import pytest

from attnflow.experiments import Results, judge
from attnflow.experiments.unified import behaviours, closures


def computed(module, chosen):
    """Results of some cells, computed here; claims about others cannot be judged."""
    data = [({**cell, "seed": 0}, module.compute({**cell, "seed": 0})) for cell in chosen]
    return Results([cell for cell, _ in data], lambda cell: next(d for c, d in data if c == cell), scale="quick")


def holds(module, results, *ids):
    claims = {claim.id: claim for claim in module.EXPERIMENT.claims}
    assert ids
    for name in ids:
        verdict = judge(claims[name], results, "quick")
        assert verdict["status"] == "holds", (name, verdict["measured"], verdict["note"])


def test_sinkhorn_attention():
    """P9, P10."""
    ids = ("closures-rank-one", "closures-growth", "closures-half-steps-one", "closures-half-steps-many")
    holds(closures, computed(closures, [{"part": "coupling"}]), *ids)


def test_finitely_many_tokens_near_a_blow_up():
    """P15."""
    holds(closures, computed(closures, [{"part": "blow-up", "n": 2048}]), "closures-finite")


def test_sigmoid_attention():
    """P16."""
    results = computed(closures, [cell for cell in closures.cells("quick") if cell["part"] == "sigmoid"])
    rows = [f"closures-sigmoid-{row}{what}" for row in (1, 2, 3, 4) for what in ("", "-tokens")]
    holds(closures, results, *rows, "closures-sigmoid-kurtosis")


def test_numbers_of_the_figures():
    """P13; the lines of F3 are judged with the experiment."""
    ids = ("behaviours-line", "behaviours-two-lines-limit", "behaviours-blow-up", "behaviours-no-blow-up")
    holds(behaviours, computed(behaviours, [{"part": "numbers"}]), *ids)


@pytest.mark.parametrize("module", [closures, behaviours])
def test_full_is_more_than_quick(module):
    quick, full = module.EXPERIMENT.cells("quick"), module.EXPERIMENT.cells("full")
    assert {cell["part"] for cell in quick} == {cell["part"] for cell in full} and len(full) >= len(quick)
