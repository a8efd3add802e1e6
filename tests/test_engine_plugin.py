"""An engine of another package is one file and a line of metadata: everything that chooses an engine knows it."""

import json
import os
import subprocess
import sys

import pytest

from test_plugin import distribution

SUMS = """
import jax.numpy as jnp
from attnflow.pairsums import AbstractPairSumEngine, Exponential

CALLS = []

class Mine(AbstractPairSumEngine):
    name = "mine"

    def why_not(self, problem):
        plain = isinstance(problem.reduction, Exponential) and problem.selection is None and problem.pairs.complete
        return None if problem.score is not None and plain else "it is for softmax of all pairs"

    def cost(self, problem):
        return 1e-12 if problem.d == 5 else 1e3  # it is for tokens in five dimensions

    def run(self, problem, inputs):
        CALLS.append(problem.n)
        scores = inputs.tile.queries @ inputs.tile.keys.T
        scores = scores if inputs.log_w is None else scores + inputs.log_w
        e = jnp.exp(scores)
        return e @ inputs.values / e.sum(axis=1)[:, None], jnp.log(e.sum(axis=1))

ENGINE = Mine()
"""

TRAJECTORIES = """
from attnflow.flows import AbstractTrajectoryEngine

class Slow(AbstractTrajectoryEngine):
    name = "slow-motion"

    def why_not(self, problem):
        return None if problem.d == 5 else "it is for tokens in five dimensions"

    def cost(self, problem):
        return 1e-15

ENGINE = Slow()
"""

PROGRAM = """
import json
import jax, jax.numpy as jnp, numpy as np
import attnflow as af
from attnflow.doctor import diagnose
from attnflow.errors import InputError
import attnflow.doctor as doctor
import my_sums

af.precision("float64")
x = af.sphere.uniform(n=7, d=5, key=jax.random.key(0))
y = af.sphere.uniform(n=7, d=3, key=jax.random.key(0))
sums = lambda x, kernel: af.pairsums.pair_sums(af.pairsums.Inner(2.0), x, x, x, kernel=kernel)
out = {}
out["named"] = float(jnp.abs(sums(y, "mine")[0] - sums(y, "dense")[0]).max())
out["calls by name"] = len(my_sums.CALLS)
sums(x, "auto"), sums(y, "auto")
out["calls"] = len(my_sums.CALLS)
try:
    af.pairsums.pair_sums(af.pairsums.Inner(2.0), x, x, x, reduce=jax.nn.relu, kernel="mine")
except InputError as error:
    out["refused"] = str(error)
model = af.SelfAttention(beta=2.0)
runs = {k: af.simulate(model, x, t1=1.0, save=1, kernel=k) for k in ("mine", "auto", "dense")}
out["engines"] = {k: run.provenance["engine"]["ran"] for k, run in runs.items()}
out["apart"] = float(jnp.abs(runs["auto"].xs - runs["dense"].xs).max())
out["elsewhere"] = af.simulate(model, y, t1=0.1, save=1).provenance["engine"]["passed over"]["mine"]
options = dict(realizations=3, ts=[0.5], reduce=af.flows.LastState(), key=jax.random.key(0))
sampler = lambda key: af.sphere.uniform(n=7, d=5, key=key)
results = {e: af.ensemble(model, sampler, engine=e, **options) for e in ("auto", "batched")}
out["trajectories"] = {e: r.provenance["engine"]["ran"] for e, r in results.items()}
out["trajectories apart"] = float(jnp.abs(results["auto"].values - results["batched"].values).max())
doctor._extras = doctor._versions = doctor._precision = lambda: iter(())
out["doctor"] = {c.name: c.detail for c in diagnose().checks}
print(json.dumps(out))
"""


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """What a program says in a process where the two files are installed."""
    site = tmp_path_factory.mktemp("site")
    (site / "my_sums.py").write_text(SUMS)
    (site / "my_trajectories.py").write_text(TRAJECTORIES)
    points = "[attnflow.pairsums.engines]\nmine = my_sums:ENGINE\n\n"
    points += "[attnflow.flows.engines]\nslow = my_trajectories:ENGINE\n"
    distribution(site, "my_engines", points)
    path = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH", "")]))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_sums_take_it_by_name_and_where_it_is_cheapest(out):
    assert out["calls by name"] == 1 and out["named"] < 1e-14
    assert out["calls"] == 2  # by default in five dimensions, and not in three
    assert out["refused"] == "no mine sums here: it is for softmax of all pairs; choose another kernel."


def test_a_run_takes_it_and_says_so(out):
    assert out["engines"] == {"mine": "mine", "auto": "mine", "dense": "dense"}
    assert 0 <= out["apart"] < 1e-9
    assert out["elsewhere"].startswith("slower here, about ")


def test_an_ensemble_takes_it_and_says_so(out):
    assert out["trajectories"] == {"auto": "slow-motion", "batched": "batched"}
    assert out["trajectories apart"] < 1e-12


def test_the_doctor_names_it(out):
    """Its sums are compared with NumPy as ours are, and the examples say why it is passed over."""
    assert out["doctor"]["mine, float64"].startswith("error ")
    assert "mine: slower here" in out["doctor"]["simulate, 200 tokens on a sphere"]
    assert "slow-motion: it is for tokens in five dimensions" in out["doctor"]["ensemble, 32 on a circle"]
