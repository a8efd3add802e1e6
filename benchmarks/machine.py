"""What the machine can do at best, measured in the same run, and what it is."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version

import jax
import jax.numpy as jnp
import numpy as np

from .timing import race


def ceilings() -> dict[str, float]:
    """Giga-exponentials and giga-multiply-adds per second that XLA reaches on this machine, by precision."""
    exp, product = jax.jit(jnp.exp), jax.jit(lambda a: a @ a)
    found = {}
    for name in ("float32", "float64"):
        x = jnp.asarray(np.random.default_rng(0).standard_normal((1024, 1024)), name)
        best = race(
            {
                "exp": lambda x=x: jax.block_until_ready(exp(x)),
                "multiply-add": lambda x=x: jax.block_until_ready(product(x)),
            },
            rounds=20,
        )
        found[f"exp {name}"] = x.size / best["exp"] / 1e9
        found[f"multiply-add {name}"] = x.shape[0] ** 3 / best["multiply-add"] / 1e9
    return found


def description() -> dict[str, str]:
    """Processor, cores and versions."""
    packages = {}
    for name in ("attnflow", "jax", "numpy", "torch", "pykeops"):
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            packages[name] = "not installed"
    return {"processor": _processor(), "cores": str(os.cpu_count()), "python": platform.python_version(), **packages}


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as f:
            return next(line.split(":")[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
