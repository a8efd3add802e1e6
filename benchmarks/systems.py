"""One large cloud: a single evaluation of softmax attention of all tokens to all."""

import importlib.util
import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

import attnflow as af
from attnflow.flows.compiled import compiler_options

BETA = 9.0


def contestants(n: int, d: int, dtype: str) -> tuple[dict[str, Callable[[], object]], float, float]:
    """Who runs, how many pairs one run is, and the seconds attnflow took to compile."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, d))
    x = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(dtype)
    tokens = jnp.asarray(x)
    attention = af.Softmax(beta=BETA)
    lowered = jax.jit(lambda y: attention(y, y, kernel="native")).lower(tokens)
    start = time.perf_counter()
    program = lowered.compile(compiler_options())
    compile_seconds = time.perf_counter() - start

    def plain():
        e = np.exp(x.dtype.type(BETA) * (x @ x.T) - x.dtype.type(BETA))
        return (e @ x) / e.sum(1, keepdims=True)

    runs: dict[str, Callable[[], object]] = {
        "attnflow": lambda: jax.block_until_ready(program(tokens)),
        "NumPy": plain,
    }
    if importlib.util.find_spec("torch"):
        import torch

        t = torch.from_numpy(x)
        q = t[None, None]

        def eager():
            with torch.no_grad():
                return torch.softmax(BETA * (t @ t.T), dim=-1) @ t

        def sdpa():
            with torch.no_grad():
                return torch.nn.functional.scaled_dot_product_attention(q, q, q, scale=BETA)

        runs |= {"PyTorch eager": eager, "torch SDPA": sdpa}
    if importlib.util.find_spec("pykeops") and importlib.util.find_spec("torch"):
        keops = _keops(x)
        if keops is not None:
            runs["KeOps"] = keops
    return runs, float(n) * n, compile_seconds


def _keops(x: np.ndarray) -> Callable[[], object] | None:
    try:
        import torch
        from pykeops.torch import LazyTensor

        t = torch.from_numpy(x)
        queries, keys = LazyTensor(t[:, None, :].contiguous()), LazyTensor(t[None, :, :].contiguous())
        scores = BETA * (queries | keys)
        run = lambda: scores.sumsoftmaxweight(keys, dim=1)  # noqa: E731
        run()
        return run
    except Exception:  # it compiles C++ when first used, which needs a compiler and may fail for many reasons
        return None
