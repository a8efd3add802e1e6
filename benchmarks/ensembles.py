r"""Ensembles: many small clouds, Euler steps with renormalisation, as in the scripts of the papers."""

import importlib.util
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

import attnflow as af

H, BETA, N = 0.1, 9.0, 32
STATE = af.flows.LastState()


def contestants(d: int, realizations: int, steps: int) -> tuple[dict[str, Callable[[], object]], float, float]:
    """Who runs, how many pairs one run is, and seconds of compilation. Every one draws its own tokens."""
    key = jax.random.key(0)
    model = af.SelfAttention(beta=BETA)

    def sample(k):
        return af.sphere.uniform(n=N, d=d, key=k)

    def ours():
        return af.ensemble(
            model,
            sample,
            realizations=realizations,
            ts=[steps * H],
            reduce=STATE,
            key=key,
            solver="euler-retract",
            dt=H,
            dtype=jnp.float32,
        )

    def plain():
        x = np.random.default_rng(0).standard_normal((realizations, N, d), np.float32)
        x /= np.linalg.norm(x, axis=-1, keepdims=True)
        for _ in range(steps):
            e = np.exp(np.float32(BETA) * (x @ x.transpose(0, 2, 1)) - np.float32(BETA))
            y = x + np.float32(H) * ((e @ x) / e.sum(-1, keepdims=True))
            x = y / np.linalg.norm(y, axis=-1, keepdims=True)
        return x

    runs: dict[str, Callable[[], object]] = {"attnflow": ours, "NumPy": plain}
    if importlib.util.find_spec("torch"):
        import torch

        def eager():
            with torch.no_grad():
                x = torch.randn(realizations, N, d)
                x = x / x.norm(dim=-1, keepdim=True)
                for _ in range(steps):
                    a = torch.softmax(BETA * torch.bmm(x, x.transpose(1, 2)), dim=-1)
                    y = x + H * torch.bmm(a, x)
                    x = y / y.norm(dim=-1, keepdim=True)
            return x

        runs["PyTorch eager"] = eager
    compile_seconds = ours().stats["compile_seconds"]
    return runs, float(realizations) * N * N * steps, compile_seconds
