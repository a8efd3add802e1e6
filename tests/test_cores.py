"""Sharing work between devices: the same numbers whatever their number, and ordinary arrays afterwards."""

import json
import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import attnflow as af
from attnflow.flows._compiled import _understood, compiler_options


def python(program: str, **environment: str) -> str:
    """What a program prints in a process of its own."""
    env = {k: v for k, v in os.environ.items() if k not in ("JAX_NUM_CPU_DEVICES", "XLA_FLAGS")} | environment
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


ENSEMBLE = """
import hashlib, json, jax, numpy as np, attnflow as af
af.precision("float64")
spread = lambda t, x, w: (x.mean(0) ** 2).sum()
found = []
for d, solver in ((2, "euler-retract"), (12, "rk4")):
    result = af.ensemble(
        [af.SelfAttention(beta=b) for b in (1.0, 6.0)],
        lambda k, d=d: af.sphere.uniform(n=6, d=d, key=k),
        realizations=37, ts=[0.5, 1.0], key=jax.random.key(3), solver=solver, dt=0.25,
        reduce={"mean": af.Mean(spread), "last": af.LastState(), "q": af.Quantiles(spread, bounds=(0.0, 1.0))},
    )
    leaves = jax.tree.leaves(result.values)
    assert result.stats["not_finite"] == 0 and all(len(a.devices()) == 1 for a in leaves)
    found += [hashlib.sha256(np.asarray(a).tobytes()).hexdigest() for a in leaves]
print(json.dumps([jax.device_count(), found]))
"""


def test_an_ensemble_has_the_same_bits_on_any_number_of_devices():
    runs = {n: json.loads(python(ENSEMBLE, JAX_NUM_CPU_DEVICES=str(n))) for n in (1, 3)}
    assert {n: count for n, (count, _) in runs.items()} == {1: 1, 3: 3}
    assert runs[1][1] == runs[3][1]


def test_sharded_sums_equal_dense_ones():
    python(
        """
import jax, jax.numpy as jnp, numpy as np, attnflow as af
af.precision("float64")
assert jax.device_count() == 3
x = af.sphere.uniform(n=10, d=3, key=jax.random.key(0))
y = af.euclidean.gaussian(n=7, d=3, key=jax.random.key(1))
log_w = jnp.log(jnp.arange(7.0))
B = jnp.asarray([[1.0, 2.0, 0.0], [0.0, -1.0, 0.5], [0.3, 0.0, 0.0]])
for score, pairs, reduce in (
    (af.Inner(4.0), af.Full(), "softmax"),
    (af.Inner(30.0, B), af.Causal(strict=True), "softmax"),
    (af.Inner(4.0), af.Causal(slope=0.3), jnp.tanh),
    (af.SquaredDistance(2.0), af.Full(), jnp.tanh),
):
    def total(a, kernel):
        num, log_z = af.pair_sums(score, a, y, y, log_w=log_w, pairs=pairs, reduce=reduce, kernel=kernel)
        return jnp.sum(num**2) + jnp.sum(jnp.where(jnp.isfinite(log_z), log_z, 0)), (num, log_z)
    dense, sharded = (jax.value_and_grad(total, has_aux=True)(x, k) for k in ("dense", "sharded"))
    for a, b in zip(jax.tree.leaves(dense), jax.tree.leaves(sharded), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-11, atol=1e-11)
""",
        JAX_NUM_CPU_DEVICES="3",
    )


def test_simulate_shares_a_large_cloud():
    out = python(
        """
import jax, numpy as np, attnflow as af
af.precision("float64")
x0 = af.sphere.uniform(n=1101, d=3, key=jax.random.key(0))
model = af.SelfAttention(beta=9.0)
shared, dense = (af.simulate(model, x0, t1=0.2, save=2, kernel=k) for k in ("auto", "dense"))
np.testing.assert_allclose(shared.xs, dense.xs, rtol=0, atol=1e-12)
assert len(shared.xs.devices()) == 1 and (shared.xs + x0).shape == (2, 1101, 3)
print(shared.provenance["options"]["kernel"], int(shared.stats["steps"]) == int(dense.stats["steps"]))
""",
        JAX_NUM_CPU_DEVICES="2",
    )
    assert out == "sharded True\n"


@pytest.mark.parametrize(
    ("before", "environment", "expected"),
    [
        ("", {}, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        ("import jax", {}, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        ("import jax; jax.devices()", {}, 1),
        ("", {"JAX_NUM_CPU_DEVICES": "3"}, 3),
        ("import jax; jax.config.update('jax_num_cpu_devices', 4)", {}, 4),
        ("", {"XLA_FLAGS": "--xla_force_host_platform_device_count=5"}, 5),
    ],
)
def test_cores_are_claimed_unless_the_user_has_chosen(before, environment, expected):
    out = python(f"{before}\nimport attnflow\nimport jax\nprint(jax.device_count('cpu'))", **environment)
    assert int(out) == expected


@pytest.mark.parametrize("kernel", ["broadcast", "blocked", "sharded"])
def test_rows_far_below_the_bound_of_others_keep_their_digits(kernel):
    """Short and long tokens together: a bound that is right for all is far above the scores of the short ones."""
    lengths = jnp.asarray([1e-3, 0.1, 1.0, 5.0, 30.0])
    x = lengths[:, None] * af.sphere.uniform(n=5, d=3, key=jax.random.key(2))
    num, log_z = af.pair_sums(af.Inner(1.0), x, x, x, kernel=kernel)
    scores = np.asarray(x @ x.T)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    np.testing.assert_allclose(num, weights @ np.asarray(x) / weights.sum(1, keepdims=True), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(log_z, np.log(weights.mean(1)) + scores.max(1), rtol=1e-12)


def test_a_batch_with_one_member_that_underflows_is_right_for_all():
    """The second pass with the row maximum is taken by the whole batch; nobody's sums may suffer."""
    near = af.sphere.uniform(n=5, d=3, key=jax.random.key(0))
    far = jnp.asarray([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    rotate = jnp.asarray([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1e-3]])
    batch = jnp.stack([near, far, near[::-1]])
    for beta in (2.0, 1e4):
        score = af.Inner(beta, rotate)
        sums = {
            k: jax.vmap(lambda x, k=k, score=score: af.pair_sums(score, x, x, x, kernel=k))(batch)
            for k in ("dense", "broadcast", "blocked")
        }
        for kernel in ("broadcast", "blocked"):
            for a, b in zip(sums["dense"], sums[kernel], strict=True):
                np.testing.assert_allclose(b, a, rtol=1e-12, atol=1e-12)


def test_options_that_the_compiler_does_not_know_are_left_out():
    assert not _understood({"xla_no_such_option": 1})
    assert set(compiler_options()) <= {
        "xla_cpu_prefer_vector_width",
        "xla_cpu_collective_call_terminate_timeout_seconds",
    }


def test_a_factorisation_keeps_a_program_on_one_device():
    """Threads of several devices that load LAPACK at once were seen to wait for ever."""
    out = python(
        """
import jax, jax.numpy as jnp, attnflow as af
from attnflow.flows._compiled import FACTORIZATIONS, _operations
af.precision("float64")
def correlated(key):
    return af.Sphere().nearest(jnp.linalg.cholesky(0.5 * jnp.eye(8) + 0.5) @ jax.random.normal(key, (8, 8)))
def largest(t, x, w):
    return jnp.linalg.svd(x, compute_uv=False)[0]
for sampler, observable in ((correlated, largest), (lambda k: af.sphere.uniform(n=8, d=8, key=k), largest)):
    af.ensemble(af.SelfAttention(beta=2.0), sampler, realizations=20, ts=[0.2], reduce=af.Mean(observable),
                key=jax.random.key(0), chunk=4)
hidden = jax.make_jaxpr(lambda x: jax.lax.map(jax.jit(lambda a: jax.lax.cond(True, jnp.linalg.inv, lambda b: b, a)), x))
plain = jax.make_jaxpr(lambda x: jax.lax.map(jax.jit(jnp.exp), x))
print(*(bool(FACTORIZATIONS & set(_operations(f(jnp.ones((2, 3, 3))).jaxpr))) for f in (hidden, plain)))
""",
        JAX_NUM_CPU_DEVICES="2",
    )
    assert out == "True False\n"
