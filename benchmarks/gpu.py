"""`python -m benchmarks.gpu [--save NAME]`: kernels on a GPU beside what one would take instead, in one run.

Needs a GPU and JAX that sees it; PyTorch is raced where it is installed. Every attnflow number comes with its largest
error against float64.
"""

import argparse
import importlib.util
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the rivals want memory, too

import jax
import jax.numpy as jnp
import numpy as np

import attnflow as af

from .machine import description

BETA, STEP = 9.0, 0.1


def seconds(run: Callable[[], Any], wait: Callable[[Any], Any] = jax.block_until_ready, calls: int = 10) -> float:
    """Of one call, the best of three rounds; calls are queued, so that the time to ask for one does not count."""
    wait(run())
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        for _ in range(calls):
            result = run()
        wait(result)
        best = min(best, (time.perf_counter() - start) / calls)
    return best


def units(*shape: int) -> np.ndarray:
    x = np.random.default_rng(0).standard_normal(shape)
    return (x / np.linalg.norm(x, axis=-1, keepdims=True)).astype(np.float32)


def torch_wait(_: Any) -> None:
    import torch

    torch.cuda.synchronize()


def ceilings() -> dict[str, float]:
    """Giga-operations per second at best: exponentials, multiply-adds of matrices, bytes copied."""
    x = jnp.asarray(np.random.default_rng(0).standard_normal(1 << 26), jnp.float32)
    a = jnp.asarray(np.random.default_rng(0).standard_normal((8192, 8192)), jnp.float32)
    repeats = 200
    exp = jax.jit(lambda x: jax.lax.fori_loop(0, repeats, lambda _, y: jnp.exp2(-y), x, unroll=True))
    product = jax.jit(lambda a: jnp.dot(a, a, precision="highest"))
    copy = jax.jit(lambda x: x + 1)
    return {
        "exp float32": repeats * x.size / seconds(lambda: exp(x)) / 1e9,
        "multiply-add float32": a.shape[0] ** 3 / seconds(lambda: product(a)) / 1e9,
        "bytes": 8 * x.size / seconds(lambda: copy(x)) / 1e9,
    }


def system(n: int, d: int, kind: str = "softmax") -> dict[str, Any]:
    """One cloud: softmax attention of all to all, causal attention, or hardmax."""
    x = units(n, d)
    tokens = jnp.asarray(x)
    pairs = n * (n + 1) / 2 if kind == "causal" else float(n) * n
    some = np.linspace(0, n - 1, 256).astype(int)
    s = x[some].astype(float) @ x.T.astype(float)
    if kind == "causal":
        s = np.where(np.arange(n) <= some[:, None], s, -np.inf)
    e = (s == s.max(1, keepdims=True)).astype(float) if kind == "hardmax" else np.exp(BETA * (s - 1))
    exact = e @ x.astype(float) / e.sum(1, keepdims=True)
    attention = af.Hardmax() if kind == "hardmax" else af.Softmax(beta=BETA)
    measured: dict[str, Any] = {}
    for kernel in ("direct", "blocked", "dense"):
        if kernel == "dense" and n > 32768:
            continue
        seen = af.Causal() if kind == "causal" else af.pairsums.Full()
        start = time.perf_counter()
        program = jax.jit(lambda x, k=kernel, p=seen: attention(x, x, pairs=p, kernel=k)).lower(tokens).compile()
        compile_seconds = time.perf_counter() - start
        took = seconds(lambda p=program: p(tokens))
        error = float(np.abs(np.asarray(program(tokens))[some] - exact).max())
        measured[f"attnflow {kernel}"] = {
            "gpairs": pairs / took / 1e9,
            "error": error,
            "compile_seconds": compile_seconds,
        }
    if importlib.util.find_spec("torch"):
        import torch

        t = torch.from_numpy(x).cuda()
        torch.backends.cuda.matmul.allow_tf32 = False
        sdpa = torch.nn.functional.scaled_dot_product_attention
        rivals: dict[str, Callable[[], Any]] = {
            "torch SDPA": lambda: sdpa(*[t[None, None]] * 3, scale=BETA, is_causal=kind == "causal"),
            "PyTorch eager": lambda: torch.softmax(BETA * (t @ t.T), dim=-1) @ t,
        }
        if kind == "causal":
            del rivals["PyTorch eager"]
        if kind == "hardmax":
            rivals = {"PyTorch eager": lambda: t[torch.argmax(t @ t.T, dim=-1)]}
        for name, run in rivals.items():
            with torch.no_grad():
                took = seconds(run, torch_wait, 3)
                error = float(np.abs(run().reshape(n, d)[some].cpu().numpy() - exact).max())
            measured[name] = {"gpairs": pairs / took / 1e9, "error": error}
    return measured


def ensemble(d: int, kind: str = "softmax", n: int = 32, realizations: int = 4096, steps: int = 100) -> dict[str, Any]:
    """Many small clouds, Euler steps back to the sphere: the whole of `af.ensemble`, draws and statistics included.

    All n^2 pairs are counted, also where half of them are masked.
    """
    attention = af.Hardmax() if kind == "hardmax" else af.Softmax(beta=BETA)
    model = af.SelfAttention(attention, pairs=af.Causal() if kind == "causal" else af.pairsums.Full())
    long = 50 * steps  # draws and statistics take milliseconds, which few steps would not
    pairs = float(realizations) * n * n
    measured: dict[str, Any] = {}
    for engine, count in (("fused", long), ("batched", steps)):
        run = lambda engine=engine, count=count: af.ensemble(  # noqa: E731
            model,
            lambda key: af.sphere.uniform(n=n, d=d, key=key).astype(jnp.float32),
            realizations=realizations,
            ts=[count * STEP],
            reduce=af.flows.Mean(lambda t, x, w: x),
            key=jax.random.key(0),
            solver="euler-retract",
            dt=STEP,
            engine=engine,
            chunk=realizations,
        )
        first = run()
        best = min(run().stats["run_seconds"] for _ in range(3))
        measured[f"attnflow {engine}"] = {
            "gpairs": pairs * count / best / 1e9,
            "compile_seconds": first.stats["compile_seconds"],
        }
    if kind == "softmax":
        measured["attnflow fused, steps alone"] = fused_steps(d, n, realizations, steps)
    if importlib.util.find_spec("torch"):
        import torch

        x0 = torch.from_numpy(units(realizations, n, d)).cuda()
        torch.backends.cuda.matmul.allow_tf32 = False
        mask = torch.triu(torch.full((n, n), -torch.inf if kind == "causal" else 0.0), 1).cuda()

        def weights(s):
            if kind == "hardmax":
                return torch.nn.functional.one_hot(s.argmax(dim=-1), n).to(s.dtype)
            return torch.softmax(BETA * s + mask if kind == "causal" else BETA * s, dim=-1)

        def eager():
            x = x0
            with torch.no_grad():
                for _ in range(steps):
                    x = x + STEP * weights(x @ x.transpose(1, 2)) @ x
                    x = x / x.norm(dim=-1, keepdim=True)
            return x

        measured["PyTorch eager"] = {"gpairs": pairs * steps / seconds(eager, torch_wait, 2) / 1e9}
    return measured


def fused_steps(d: int, n: int, realizations: int, steps: int) -> dict[str, float]:
    """The kernel alone, and its error after a few steps."""
    from attnflow.flows.engines.fused import fused_steps as go

    x0 = units(realizations, n, d)
    model = af.SelfAttention(beta=BETA)
    advance = jax.jit(lambda x, k: go(model, (x, x), jnp.float32(STEP), k, None, "euler-retract")[1])
    tokens, few = jnp.asarray(x0), 5
    took = seconds(lambda: advance(tokens, jnp.asarray(steps)), calls=3)
    exact = x0[:16].astype(float)
    for _ in range(few):
        e = np.exp(BETA * (exact @ exact.transpose(0, 2, 1) - 1))
        exact = exact + STEP * (e @ exact) / e.sum(-1, keepdims=True)
        exact = exact / np.linalg.norm(exact, axis=-1, keepdims=True)
    error = float(np.abs(np.asarray(advance(tokens, jnp.asarray(few)))[:16] - exact).max())
    return {"gpairs": float(realizations) * n * n * steps / took / 1e9, "error": error}


def agreement() -> dict[str, float]:
    """The direct engine against float64 over odd shapes, weights and temperatures: largest errors over 1 + beta."""
    rng = np.random.default_rng(1)
    worst = {"sums": 0.0, "log Z": 0.0}
    shapes = [(1, 1, 3, 3), (17, 33, 3, 3), (100, 9000, 2, 2), (1000, 77, 4, 1), (31, 20000, 1, 0), (70, 500, 20, 7)]
    for n, m, d, p in (*shapes, (129, 1001, 128, 128)):
        for beta in (0.0, 1.0, 9.0, 300.0, 1e4):
            x, y = units(n, d), units(m, d)[::-1]
            v = rng.standard_normal((m, p)).astype(np.float32)
            log_w = rng.standard_normal(m).astype(np.float32)
            log_w[rng.random(m) < 0.3 * (m > 1)] = -np.inf
            num, log_z = af.pairsums.pair_sums(
                af.pairsums.Inner(beta), *map(jnp.asarray, (x, y, v)), log_w=log_w, kernel="direct"
            )
            s = beta * x.astype(float) @ y.T.astype(float) + log_w
            top = s.max(axis=1, keepdims=True)
            e = np.exp(s - top)
            z = e.sum(axis=1, keepdims=True)
            errors = {"sums": np.asarray(num) - e @ v / z, "log Z": np.asarray(log_z) - (top + np.log(z))[:, 0]}
            for name, error in errors.items():
                worst[name] = max(worst[name], float(np.max(np.abs(error), initial=0)) / (1 + beta))
    return worst


def growth() -> dict[str, Any]:
    """Seconds of the direct engine against the number of tokens, and the slope in log-log."""
    sizes, attention = [16384, 32768, 65536, 131072, 262144], af.Softmax(beta=BETA)
    run = jax.jit(lambda x: attention(x, x, kernel="direct"))
    took = [seconds(lambda x=jnp.asarray(units(n, 3)): run(x), calls=3) for n in sizes]
    return {"tokens": sizes, "seconds": took, "slope": float(np.polyfit(np.log(sizes[-3:]), np.log(took[-3:]), 1)[0])}


def summary(who: str, numbers: dict[str, float]) -> str:
    return f"{who} {numbers['gpairs']:.0f}" + (f" (error {numbers['error']:.0e})" if "error" in numbers else "")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--save", metavar="FILE", help="also write the numbers as JSON")
    arguments = parser.parse_args()
    if jax.default_backend() != "gpu":
        parser.exit(2, "JAX sees no GPU here; nothing is measured.\n")
    clouds = ((65536, 3), (65536, 2), (32768, 64), (32768, 128))
    cases = {f"one system n={n} d={d} float32": lambda n=n, d=d: system(n, d) for n, d in clouds}
    cases |= {f"ensemble n=32 d={d} float32": lambda d=d: ensemble(d) for d in (2, 8, 32, 128)}
    others = ((65536, 3, "causal"), (32768, 64, "causal"), (65536, 3, "hardmax"))
    cases |= {f"one system, {k}, n={n} d={d} float32": lambda n=n, d=d, k=k: system(n, d, k) for n, d, k in others}
    others = ((2, "causal"), (32, "causal"), (2, "hardmax"))
    cases |= {f"ensemble, {k}, n=32 d={d} float32": lambda d=d, k=k: ensemble(d, k) for d, k in others}
    record: dict[str, Any] = {"machine": {**description(), "gpu": jax.devices()[0].device_kind}, "cases": {}}
    for name, measure in cases.items():
        record["cases"][name] = numbers = measure()
        print(f"{name}, Gpair/s: {', '.join(summary(who, v) for who, v in numbers.items())}", flush=True)
    for name, measure in (("ceilings", ceilings), ("growth, d=3", growth), ("agreement with float64", agreement)):
        record[name] = measure()
        print(f"{name}: {record[name]}", flush=True)
    if arguments.save:
        Path(arguments.save).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
