"""Sharing work between threads and devices: the same numbers whatever their number, and a process left as it was."""

import concurrent.futures
import json
import os
import subprocess
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import attnflow as af
from attnflow.files import write_atomically
from attnflow.flows import compiled
from attnflow.flows.compiled import _understood, compiler_options, timed_call, timed_rows

# The options of users compile slowly; where a program is compared with itself, the options of the tests serve.
QUICK = {"XLA_FLAGS": os.environ.get("XLA_FLAGS", "")}


def python(program: str, **environment: str) -> str:
    """What a program prints in a process of its own, with XLA's options as users have them."""
    chosen = ("JAX_NUM_CPU_DEVICES", "XLA_FLAGS", "NPROC")
    env = {k: v for k, v in os.environ.items() if k not in chosen} | environment
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


PROCESS = """
import json, os, warnings
{imports}
import jax
settings = {{name: str(value) for name, value in jax.config.values.items()}}
filters = [[str(part) for part in line] for line in warnings.filters]
devices = [str(d) for d in jax.devices()]
print(json.dumps(dict(environment=dict(os.environ), settings=settings, filters=filters, devices=devices)))
"""


@pytest.mark.parametrize("devices", [None, 3])
def test_an_import_changes_nothing(devices):
    """The package leaves a process as it is; so do all that its names stand for, but for filters of SciPy."""
    arguments = {} if devices is None else {"JAX_NUM_CPU_DEVICES": str(devices)}
    everything = "import attnflow; [getattr(attnflow, name) for name in dir(attnflow)]"
    alone, package, names = (
        json.loads(python(PROCESS.format(imports=i), **arguments))
        for i in ("import jax", "import attnflow", everything)
    )
    assert package == alone
    assert len(alone["devices"]) == (devices or 1)
    assert (names["environment"], names["devices"]) == (alone["environment"], alone["devices"])
    known = alone["settings"].keys()  # parts of JAX that are imported later add theirs
    assert {name: names["settings"][name] for name in known} == alone["settings"]


ENSEMBLE = """
import hashlib, json, jax, numpy as np, attnflow as af
af.precision("float64")
spread = lambda t, x, w: (x.mean(0) ** 2).sum()
digests = []
for d, solver in ((2, "euler-retract"), (12, "rk4")):
    result = af.ensemble(
        [af.SelfAttention(beta=b) for b in (1.0, 6.0)],
        lambda k, d=d: af.sphere.uniform(n=6, d=d, key=k),
        realizations=37, ts=[0.5, 1.0], key=jax.random.key(3), solver=solver, dt=0.25,
        reduce={
            "mean": af.flows.Mean(spread),
            "last": af.flows.LastState(),
            "q": af.flows.Quantiles(spread, bounds=(0.0, 1.0)),
        },
    )
    leaves = jax.tree.leaves(result.values)
    assert result.stats["not_finite"] == 0 and all(len(a.devices()) == 1 for a in leaves)
    digests += [hashlib.sha256(np.asarray(a).tobytes()).hexdigest() for a in leaves]
print(json.dumps([jax.device_count(), digests]))
"""


def test_an_ensemble_has_the_same_bits_on_any_number_of_threads():
    one, three, devices = (
        json.loads(python(ENSEMBLE, **arguments, **QUICK))
        for arguments in ({"NPROC": "1"}, {"NPROC": "3"}, {"NPROC": "2", "JAX_NUM_CPU_DEVICES": "2"})
    )
    assert (one[0], three[0], devices[0]) == (1, 1, 2)
    assert one[1] == three[1] == devices[1]


SUMS = """
import hashlib, json, jax, jax.numpy as jnp, numpy as np, attnflow as af
af.precision("float64")
digests = []
for dtype in ("float32", "float64"):
    for n, d, many in ((1500, 3, 1), (700, 20, 1), (40, 2, 300)):
        x = np.random.default_rng(n).standard_normal((many, n, d)).astype(dtype)
        x[:, ::7] *= 1e-30  # products of these are smaller than normal numbers of 32 bits
        for pairs in (af.pairsums.Full(), af.Causal(slope=0.01)):
            score = af.pairsums.Inner(2.0)
            sums = jax.vmap(lambda a: af.pairsums.pair_sums(score, a, a, a, pairs=pairs, kernel="native"))
            digests += [hashlib.sha256(np.asarray(a).tobytes()).hexdigest() for a in jax.jit(sums)(jnp.asarray(x))]
print(json.dumps(digests))
"""


def test_sums_of_the_kernel_have_the_same_bits_on_any_number_of_threads():
    runs = [json.loads(python(SUMS, NPROC=threads, **QUICK)) for threads in ("1", "5")]
    assert runs[0] == runs[1]
    assert len(set(runs[0])) == 24  # sums and masses, none like another


def test_concurrent_programs_with_the_kernel_do_not_deadlock():
    """More callers than the pool has threads: no thread waits for a thread that waits for another."""
    out = python(
        """
import concurrent.futures, jax, jax.numpy as jnp, numpy as np, attnflow as af
x = af.sphere.uniform(n=600, d=3, key=jax.random.key(0))
step = lambda _, a: a + 0.1 * af.Softmax(3.0)(a, a, kernel="native")
program = jax.jit(lambda a, b: (jax.lax.fori_loop(0, 40, step, a), jax.lax.fori_loop(0, 40, step, b)))
program = program.lower(x, x).compile()
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    results = [np.asarray(a) for pair in pool.map(lambda _: program(x, x), range(24)) for a in pair]
print(all((a == results[0]).all() for a in results), len(results))
""",
        NPROC="2",
    )
    assert out == "True 48\n"


def test_rows_come_back_in_their_order(monkeypatch):
    """Any number of them, in threads or on devices; more places than rows, too."""
    monkeypatch.setattr(compiled, "places", lambda: [None, jax.devices()[0], None])
    for count in (1, 2, 3, 7):
        result = timed_rows(_powers, jnp.asarray(3.0), rows=np.arange(count), axis=1)
        np.testing.assert_array_equal(result.value, 3.0 + np.stack([np.arange(count), np.arange(count) ** 2]))
    assert timed_rows(_powers, jnp.asarray(3.0), rows=np.arange(7), axis=1).compile_seconds == 0
    inside = jax.jit(lambda a: timed_rows(_powers, a, rows=jnp.arange(4), axis=1).value)(jnp.asarray(1.0))
    np.testing.assert_array_equal(inside, 1.0 + np.stack([np.arange(4), np.arange(4) ** 2]))


def _powers(start, rows):
    return start + jnp.stack([rows, rows**2]).astype(start.dtype)


def test_threads_that_ask_for_one_program_compile_it_once(monkeypatch):
    """And a cache too small for all of them loses none while others look for theirs."""
    monkeypatch.setattr(compiled, "_PROGRAMS", type(compiled._PROGRAMS)())
    monkeypatch.setattr(compiled, "_CAPACITY", 1)
    traces, start = [], threading.Barrier(8)

    def squared(x):
        traces.append(x.shape)
        return x**2

    def ask(size):
        start.wait()
        return timed_call(squared, jnp.arange(size)).value.shape

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, [3] * 8)) == [(3,)] * 8
        assert traces == [(3,)]
        assert list(pool.map(ask, [2, 3, 4, 5] * 6)) == [(2,), (3,), (4,), (5,)] * 6
    assert len(compiled._PROGRAMS) == 1


def test_writing_a_file_leaves_the_permissions_of_other_threads_alone(tmp_path, monkeypatch):
    """There is one umask for all threads of a process; a thread that changes it changes the files of others."""
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the umask of the process was touched"))
    assert write_atomically(tmp_path / "a" / "file", "text").read_text() == "text"


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
    (af.pairsums.Inner(4.0), af.pairsums.Full(), "softmax"),
    (af.pairsums.Inner(30.0, B), af.Causal(strict=True), "softmax"),
    (af.pairsums.Inner(4.0), af.Causal(slope=0.3), jnp.tanh),
    (af.pairsums.SquaredDistance(2.0), af.pairsums.Full(), jnp.tanh),
):
    def total(a, kernel):
        num, log_z = af.pairsums.pair_sums(score, a, y, y, log_w=log_w, pairs=pairs, reduce=reduce, kernel=kernel)
        return jnp.sum(num**2) + jnp.sum(jnp.where(jnp.isfinite(log_z), log_z, 0)), (num, log_z)
    dense, sharded = (jax.value_and_grad(total, has_aux=True)(x, k) for k in ("dense", "sharded"))
    for a, b in zip(jax.tree.leaves(dense), jax.tree.leaves(sharded), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-11, atol=1e-11)
""",
        JAX_NUM_CPU_DEVICES="3",
        **QUICK,
    )


def test_simulate_shares_a_large_cloud_over_the_devices_that_there_are():
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
        **QUICK,
    )
    assert out == "sharded True\n"


@pytest.mark.parametrize("kernel", ["broadcast", "blocked", "sharded"])
def test_rows_far_below_the_bound_of_others_keep_their_digits(kernel):
    """Short and long tokens together: a bound that is right for all is far above the scores of the short ones."""
    lengths = jnp.asarray([1e-3, 0.1, 1.0, 5.0, 30.0])
    x = lengths[:, None] * af.sphere.uniform(n=5, d=3, key=jax.random.key(2))
    num, log_z = af.pairsums.pair_sums(af.pairsums.Inner(1.0), x, x, x, kernel=kernel)
    scores = np.asarray(x @ x.T)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    np.testing.assert_allclose(num, weights @ np.asarray(x) / weights.sum(1, keepdims=True), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(log_z, np.log(weights.mean(1)) + scores.max(1), rtol=1e-12)


def test_a_batch_with_one_member_that_underflows_is_right_for_all():
    """The whole batch takes the second pass with the row maximum; the sums of the other members must not change."""
    near = af.sphere.uniform(n=5, d=3, key=jax.random.key(0))
    far = jnp.asarray([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    rotate = jnp.asarray([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1e-3]])
    batch = jnp.stack([near, far, near[::-1]])
    for beta in (2.0, 1e4):
        score = af.pairsums.Inner(beta, rotate)
        sums = {
            k: jax.vmap(lambda x, k=k, score=score: af.pairsums.pair_sums(score, x, x, x, kernel=k))(batch)
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


def test_a_factorisation_keeps_a_program_in_one_thread():
    """Threads that loaded LAPACK at once have deadlocked."""
    out = python(
        """
import jax, jax.numpy as jnp, attnflow as af
from attnflow.flows.compiled import FACTORIZATIONS, _operations
af.precision("float64")
def correlated(key):
    return af.Sphere().nearest(jnp.linalg.cholesky(0.5 * jnp.eye(8) + 0.5) @ jax.random.normal(key, (8, 8)))
def largest(t, x, w):
    return jnp.linalg.svd(x, compute_uv=False)[0]
for sampler, observable in ((correlated, largest), (lambda k: af.sphere.uniform(n=8, d=8, key=k), largest)):
    af.ensemble(af.SelfAttention(beta=2.0), sampler, realizations=20, ts=[0.2], reduce=af.flows.Mean(observable),
                key=jax.random.key(0), chunk=4)
hidden = jax.make_jaxpr(lambda x: jax.lax.map(jax.jit(lambda a: jax.lax.cond(True, jnp.linalg.inv, lambda b: b, a)), x))
plain = jax.make_jaxpr(lambda x: jax.lax.map(jax.jit(jnp.exp), x))
print(*(bool(FACTORIZATIONS & set(_operations(f(jnp.ones((2, 3, 3))).jaxpr))) for f in (hidden, plain)))
""",
        NPROC="2",
        **QUICK,
    )
    assert out == "True False\n"


def test_the_page_computes_in_64_bits_and_other_threads_as_they_did():
    """A visitor starts, goes on and goes back, while somebody else in the process computes in 32 bits."""
    out = python(
        """
import asyncio, json, threading, jax, jax.numpy as jnp
from attnflow.app.lanes import Lanes
from attnflow.app.server import make_app
from attnflow.app.session import Session

make_app()
others, leave = set(), threading.Event()

def somebody_else():
    while not leave.wait(0.002):
        others.add(str((jnp.ones(3) / 3).dtype))

async def visit():
    sent, page = [], set()
    async def send(message):
        sent.append(message)
    lanes = Lanes()
    session = Session(send, lanes)
    for request in (
        {"do": "start", "state": {"n": 12, "d": 3}},
        {"do": "advance", "steps": 3},
        {"do": "seek", "step": 1},
        {"do": "advance", "steps": 2},
        {"do": "token", "index": 2},
    ):
        await session.answer({"run": 1, **request})
        page.add(str(session.show.playback.moment.x.dtype))
    session.close()
    lanes.close()
    errors = [m for m in sent if isinstance(m, str) and json.loads(m)["event"] == "error"]
    return sorted(page), session.show.playback.moment.step, errors

thread = threading.Thread(target=somebody_else)
thread.start()
answers = asyncio.run(visit())
leave.set()
thread.join()
print(json.dumps([*answers, sorted(others), bool(jax.config.jax_enable_x64)]))
""",
        **QUICK,
    )
    assert json.loads(out) == [["float64"], 3, [], ["float32"], False]
