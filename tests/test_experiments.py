"""Experiments: how they are declared and found, and that the library's own can fail."""

import dataclasses
import json
import os
import re
import subprocess
import sys

import jax.numpy as jnp
import numpy as np
import pytest
import xarray

import attnflow as af
import toy
from attnflow import registry
from attnflow.errors import InputError
from attnflow.experiments import Claim, Experiment, Results, judge
from attnflow.experiments.folder import RunFolder
from attnflow.experiments.runner import Job, exit_code, reproduce
from judging import survivors


def experiment(**changes):
    settings = {
        "id": "e",
        "paper": "perspective",
        "title": "T",
        "cells": lambda scale: [],
        "compute": lambda cell: 0,
    }
    return Experiment(**{**settings, **changes})


def claim(name, **changes):
    settings = {"statement": "", "kind": "property", "measure": lambda r: True, "source": "", "provenance": "theorem"}
    return Claim(id=name, **{**settings, **changes})


def results(*cells):
    return Results(list(cells), lambda cell: xarray.Dataset({"square": cell["n"] ** 2}), scale="quick")


def test_results_are_selected_by_parameters():
    r = results({"n": 3, "kind": "SA"}, {"n": 1, "kind": "SA"}, {"n": 2, "kind": "USA"})
    assert int(r.select(n=3)["square"]) == 9
    assert [cell["n"] for cell, _ in r.where(kind="SA")] == [3, 1]
    assert len(r) == 3 and len(r.where(kind="none")) == 0 and r.where(n=1).scale == "quick"
    over, values = r.curve("square", over="n", kind="SA")
    assert over.tolist() == [1, 3] and values.tolist() == [1, 9]


@pytest.mark.parametrize("entries", [{}, {"kind": "SA"}, {"n": 9}, {"unknown": 1}])
def test_select_wants_exactly_one_cell(entries):
    with pytest.raises(InputError, match="exactly one"):
        results({"n": 3, "kind": "SA"}, {"n": 1, "kind": "SA"}).select(**entries)


@pytest.mark.parametrize("name", ["", "Upper", "../out", "a_b", "a b"])
def test_an_id_names_a_folder(name):
    with pytest.raises(InputError, match="folder"):
        experiment(id=name)


def test_names_are_unique_and_papers_filled_in():
    with pytest.raises(InputError, match="'same' twice"):
        experiment(claims=[claim("same"), claim("same")])
    declared = experiment(claims=[claim("a"), claim("b", paper="modes")])
    assert [c.paper for c in declared.claims] == ["perspective", "modes"]


def test_a_figure_that_cannot_be_drawn_takes_no_verdict_with_it(tmp_path):
    def broken(results):
        raise ZeroDivisionError("no ink")

    one = experiment(
        cells=lambda scale: [{"n": 1}],
        compute=lambda cell: xarray.Dataset({"n": cell["n"]}),
        claims=[claim("a")],
        figures=[broken],
    )
    (record,) = reproduce([Job(one)], RunFolder(tmp_path))
    assert record["claims"][0]["status"] == "holds" and record["figures"] == []
    assert "no ink" in record["crash"]["sentence"] and exit_code([record]) == 3


# The library's own experiments.

OWN = {name: e for name, e in registry.entries("experiment").items() if e.compute.__module__.startswith("attnflow.")}


PERSPECTIVE = [
    "perspective-circle",
    "perspective-closed-forms",
    "perspective-energy",
    "perspective-equiangular",
    "perspective-map",
    "perspective-pretrained",
    "perspective-random",
    "perspective-single-cluster",
    "perspective-trajectories",
]
# These are computed here. The others take longer, and `attnflow reproduce` judges their claims.
COMPUTED = ["perspective-circle", "perspective-trajectories"]


FETCHED = ["perspective-pretrained"]  # of a model's weights: without them there is nothing to compute


def test_the_first_paper_is_there():
    assert set(PERSPECTIVE) == {name for name, e in OWN.items() if e.paper == "perspective"}


def test_claim_ids_are_unique_over_all_experiments():
    ids = [c.id for e in OWN.values() for c in e.claims]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("name", OWN)
def test_declaration(name):
    e = OWN[name]
    for scale in ("quick", "full"):
        cells = e.seeded_cells(scale, 0)
        keys = {e.key(cell, scale=scale, dtype="float64") for cell in cells}
        assert len(keys) == len(cells) and (cells or name in FETCHED)
    for c in e.claims:
        assert c.statement and c.source and c.paper == e.paper
    assert all(figure.__doc__ for figure in e.figures), "the docstring of a figure is its caption"


OURS = re.compile(r"our (own )?(threshold|choice|reading)|(is|are) ours|calibrated|an observation")


def test_a_threshold_of_ours_is_an_observation():
    ours = {c.id: c.provenance for e in OWN.values() for c in e.claims if OURS.search(c.note)}
    assert len(ours) > 15 and set(ours.values()) == {"observation"}, ours


def test_claims_in_standard_errors_say_what_they_detect():
    sigma = [c for e in OWN.values() for c in e.claims if c.tolerance_kind == "sigma"]
    assert len(sigma) > 80 and all(c.detects for c in sigma)
    shares = [c for c in sigma if "probability" in c.statement or "share" in c.statement.lower()]
    assert shares and all(c.possible == (0, 1) for c in shares), [c.id for c in shares if c.possible != (0, 1)]


def test_listing_experiments_imports_nothing_heavy():
    code = "import sys; from attnflow import registry; registry.entries('experiment');"
    code += "print([m for m in ('jax', 'numpy', 'xarray', 'matplotlib', 'rich') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.fixture(scope="module")
def perspective(tmp_path_factory):
    """Some experiments of the first paper at its quick scale, computed once."""
    folder = RunFolder(tmp_path_factory.mktemp("perspective"))
    jobs = [Job(OWN[name]) for name in COMPUTED]
    records = reproduce(jobs, folder)
    read = {job.experiment.id: job.experiment.results(folder.root) for job in jobs}
    return {record["id"]: record for record in records}, read, folder.root


@pytest.mark.parametrize("name", COMPUTED)
def test_every_claim_holds(perspective, name):
    record = perspective[0][name]
    judged = {c.id for c in OWN[name].claims if c.scales is None or "quick" in c.scales}
    assert {c["id"]: c["note"] for c in record["claims"] if c["status"] != "holds" and c["id"] in judged} == {}
    assert record["crash"] is None and [f["name"] for f in record["figures"]] == [f.__name__ for f in OWN[name].figures]


@pytest.mark.parametrize("name", COMPUTED)
def test_every_claim_can_fail(perspective, name):
    """Whatever is claimed breaks when the data are spoilt, in one of a few ways; tests of other papers do the same."""
    assert survivors([c for c in OWN[name].claims if not c.scales], perspective[1][name]) == []


def test_spoiling_finds_a_claim_that_cannot_fail():
    r = results({"n": 3}, {"n": 1})
    idle = [
        claim("clipped", kind="at_least", expected=0.0, measure=lambda r: max(0.0, float(r.select(n=3)["square"]))),
        claim("constant", measure=lambda r: True),
        claim("selected", measure=lambda r: [c["n"] > 0 for c, _ in r]),
    ]
    honest = claim("honest", kind="equal", expected=9.0, measure=lambda r: float(r.select(n=3)["square"]))
    assert survivors([*idle, honest], r) == ["clipped", "constant", "selected"]


NOT_OF_A_RUN = {"energy-uniform-grid", "energy-uniform-sample"}


@pytest.mark.parametrize("name", ["perspective-energy", "perspective-trajectories"])
def test_no_claim_about_a_flow_holds_for_tokens_thrown_at_random(name, tmp_path, monkeypatch):
    """A solver that throws new tokens on the sphere at every time: a claim that survives says nothing of the flow."""
    rng = np.random.default_rng(0)

    def thrown(model, x0, *, ts, weights=None, **options):
        xs = rng.normal(size=(len(ts), *x0.shape))
        xs[0] = x0
        xs /= np.linalg.norm(xs, axis=-1, keepdims=True)
        return af.Run(
            ts=jnp.asarray(ts),
            xs=jnp.asarray(xs),
            weights=None if weights is None else jnp.asarray(weights),
            code=jnp.asarray(0),
            stats={},
            model=model,
            clock=model.clock,
            provenance={},
        )

    monkeypatch.setattr(af, "simulate", thrown)
    (record,) = reproduce([Job(dataclasses.replace(OWN[name], figures=()))], RunFolder(tmp_path))
    assert record["crash"] is None
    survivors = {c["id"] for c in record["claims"] if c["status"] == "holds"}
    assert survivors == {c.id for c in OWN[name].claims} & NOT_OF_A_RUN


@pytest.mark.parametrize("name", COMPUTED)
def test_claims_are_judged_again_without_computing(perspective, name, monkeypatch):
    record, read = perspective[0][name], perspective[1][name]
    idle = dataclasses.replace(OWN[name], compute=lambda cell: pytest.fail("computed"))
    assert [judge(c, read, "quick") for c in idle.claims] == record["claims"]


def test_another_process_judges_alike(perspective):
    """The command begins in float32, finds a cell missing, and reaches the same verdicts bit by bit."""
    records, read, root = perspective
    experiment = OWN["perspective-trajectories"]
    first = read["perspective-trajectories"].cells[0]
    before = read["perspective-trajectories"].select(**first), read["perspective-trajectories"].run(**first)
    RunFolder(root).cell_path(experiment, first, scale="quick", dtype="float64").unlink()
    command = [sys.executable, "-m", "attnflow", "reproduce", *COMPUTED, "--out", str(root), "--json"]
    env = {**os.environ, "PYTHONPATH": toy.search_path(root)}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    claims = {record["id"]: record["claims"] for record in json.loads(done.stdout)["experiments"]}
    assert claims == {name: records[name]["claims"] for name in COMPUTED}
    again = experiment.results(root)
    assert again.select(**first).identical(before[0])  # to the last bit
    np.testing.assert_array_equal(again.run(**first).xs, before[1].xs)
