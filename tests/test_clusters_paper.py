"""The paper `clusters`: rows of theory/02, section 4, as its experiments claim them, and where claims come from."""

import numpy as np
import pytest

from attnflow import registry
from attnflow.experiments import Results
from attnflow.experiments._claim import judge

EXPERIMENTS = {e.id: e for e in registry.entries("experiment").values() if e.paper == "clusters"}
# Runs of the reference tokens alone: three programs, and the claims that need no other cell.
REFERENCE = {
    "clusters-polytopes": ("polytope-centroids", "polytope-labels", "polytope-dimension", "polytope-residual"),
    "clusters-hyperplanes": ("hyperplane-levels", "hyperplane-rate", "hyperplane-monotone", "mix-c"),
    "clusters-line": ("line-",),
}


@pytest.fixture(scope="module")
def reference():
    """An experiment by its name, with the results of its reference runs."""
    done = {}

    def named(name):
        experiment = EXPERIMENTS[name]
        cells = experiment.seeded_cells("quick", 0)
        if name != "clusters-line":
            cells = [cell for cell in cells if cell["part"] == "reference"]
        for cell in cells:
            if (name, str(cell)) not in done:
                done[name, str(cell)] = experiment.compute(cell)
        return experiment, Results(cells, lambda cell: done[name, str(cell)], scale="quick")

    return named


@pytest.mark.parametrize("name", REFERENCE)
def test_reference_runs_have_the_numbers_of_other_programs(name, reference):
    experiment, results = reference(name)
    claims = [c for c in experiment.claims if c.id.startswith(REFERENCE[name]) and "figures" not in c.id]
    assert len(claims) == {"clusters-polytopes": 7, "clusters-hyperplanes": 5, "clusters-line": 10}[name]
    for claim in claims:
        verdict = judge(claim, results, "quick")
        assert verdict["status"] == "holds", verdict


def test_a_wrong_matrix_of_scores_would_fail(reference):
    """Claims can fail: the limits of one run are not those of the other."""
    experiment, results = reference("clusters-polytopes")
    other = {"identity": "skew", "skew": "identity"}
    swapped = Results(results.cells, lambda cell: results.select(B=other[cell["B"]]), scale="quick")
    for claim in experiment.claims:
        if claim.id.startswith(("polytope-centroids", "polytope-labels", "polytope-dimension")):
            assert judge(claim, swapped, "quick")["holds"] is not True


def test_every_row_of_the_table_has_a_claim():
    claims = {c.id for e in EXPERIMENTS.values() for c in e.claims}
    rows = """
        polytope-centroids-identity polytope-centroids-skew polytope-residual polytope-hull polytope-rate
        hyperplane-levels hyperplane-rate origin-covariance mix-centroids line-gap line-pair line-triple
        line-boolean line-rank layers-identity large-scores
    """
    assert set(rows.split()) <= claims


def test_matrices_of_the_figures_have_the_eigenvalues_of_the_paper():
    from attnflow.experiments.clusters.tokens import MATRICES

    expected = {
        "plane": [1.34799, -0.06826],
        "space, Re < 0": [0.99101, -0.0547 + 0.2540j, -0.0547 - 0.2540j],
        "space, Re > 0": [1.07833, 0.0991 + 0.0819j, 0.0991 - 0.0819j],
        "codimension": [1.96345, 0.25287, -0.22210],
    }
    for name, values in expected.items():
        actual = np.sort_complex(np.linalg.eigvals(np.array(MATRICES[name])))
        np.testing.assert_allclose(actual, np.sort_complex(values), atol=6e-5)
