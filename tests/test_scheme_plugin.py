"""A scheme of another package is one file and a line of metadata: `simulate` and `ensemble` take it by its name."""

import json
import os
import subprocess
import sys

import pytest

import attnflow as af
from attnflow.errors import InputError
from test_plugin import distribution

SCHEME = """
from attnflow.flows import Tableau

# Heun's method of order three, and the weights of one of order two.
TABLEAU = Tableau(
    name="heun3",
    order=3,
    nodes=(0.0, 1 / 3, 2 / 3),
    weights=(1 / 4, 0.0, 3 / 4),
    error=(1 / 4, -1 / 2, 1 / 4),
)
"""

PROGRAM = """
import json
import jax, jax.numpy as jnp
import attnflow as af
from attnflow.errors import InputError

af.precision("float64")
model = af.SelfAttention(beta=2.0)
x = af.sphere.uniform(n=6, d=3, key=jax.random.key(0))
times = [0.0, 0.5, 1.0]
exact = af.simulate(model, x, ts=times, rtol=1e-12, atol=1e-13).xs
runs = [af.simulate(model, x, ts=times, solver="heun3", dt=dt) for dt in (0.1, 0.05)]
out = {"errors": [float(jnp.abs(run.xs - exact).max()) for run in runs]}
out["solver"], out["ok"] = runs[0].provenance["options"]["solver"], bool(runs[0].ok)
out["between"] = float(jnp.abs(runs[1].at(t=0.75) - af.simulate(model, x, ts=[0.0, 0.75]).final).max())
sampler = lambda key: x
options = dict(realizations=2, ts=times[1:], reduce=af.flows.LastState(), key=jax.random.key(0), dt=0.1)
states = {e: af.ensemble(model, sampler, solver="heun3", engine=e, **options) for e in ("auto", "batched")}
out["ensemble"] = {e: float(jnp.abs(r.values[0] - runs[0].final).max()) for e, r in states.items()}
out["pairs"] = states["auto"].stats["pairs"]
out["coarseness"] = [states["batched"].stats["coarseness"], float(runs[0].stats["coarseness"])]
try:
    af.simulate(model, x, t1=1.0, solver="heun2", dt=0.1)
except InputError as error:
    out["refused"] = str(error)
print(json.dumps(out))
"""


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """What a program says in a process where the file is installed."""
    site = tmp_path_factory.mktemp("site")
    (site / "my_scheme.py").write_text(SCHEME)
    distribution(site, "my_scheme", "[attnflow.flows.schemes]\nheun3 = my_scheme:TABLEAU\n")
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_run_has_its_order(out):
    coarse, fine = out["errors"]
    assert 0 < fine < 1e-4 and 6 < coarse / fine < 11  # 8 for steps half as long
    assert out["solver"] == "heun3" and out["ok"] and out["between"] < 1e-4


def test_an_ensemble_takes_the_same_steps(out):
    assert max(out["ensemble"].values()) < 1e-13
    assert out["pairs"] == 2 * 6 * 6 * 10 * 3  # three stages
    assert 0 < out["coarseness"][0] < 1 and 0 < out["coarseness"][1] < 1


def test_the_scheme_is_among_the_choices(out):
    assert out["refused"].startswith("solver 'heun2' is unknown; choose one of tsit5, ")
    assert out["refused"].endswith("layers, heun3.")


@pytest.mark.parametrize(
    "changed, sentence",
    [
        ({"nodes": (0.0, 1.0, 1.0)}, "a node, a weight and an error per stage"),
        ({"nodes": (0.5, 1.0)}, "the first at 0"),
        ({"weights": (0.5, 0.4)}, "should sum to 1"),
        ({"error": (0.5, 0.4)}, "those of its error to 0"),
    ],
)
def test_inconsistent_tableaux_are_refused(changed, sentence):
    right = {"name": "mine", "order": 2, "nodes": (0.0, 1.0), "weights": (0.5, 0.5), "error": (-0.5, 0.5)}
    assert af.flows.Tableau(**right).stages == 2
    with pytest.raises(InputError, match=sentence):
        af.flows.Tableau(**{**right, **changed})
