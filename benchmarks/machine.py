"""What the machine can do at best, measured in the same run, and what it is."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version

import jax
import jax.numpy as jnp
import numpy as np

from attnflow.flows.compiled import compiler_options
from attnflow.threads import at_the_same_time, usable_cores

from .timing import race


def ceilings() -> dict[str, float]:
    """Giga-exponentials and giga-multiply-adds per second at best, by precision, all cores working.

    Exponentials are taken over and over of numbers in each core's cache, compiled as the library's programs are.
    """
    cores, repeats = usable_cores(), 100

    def exponentials(x):
        return jax.lax.fori_loop(0, repeats, lambda _, y: jnp.exp(-y), x)

    rates = {}
    for name in ("float32", "float64"):
        x = jnp.asarray(np.random.default_rng(0).standard_normal((256, 512)), name)
        exp = jax.jit(exponentials).lower(x).compile(compiler_options())
        each = [lambda exp=exp, x=x: jax.block_until_ready(exp(x))] * cores
        a = jnp.asarray(np.random.default_rng(0).standard_normal((1024, 1024)), name)
        product = jax.jit(lambda a: a @ a)
        best = race(
            {
                "exp": lambda each=each: at_the_same_time(each),
                "multiply-add": lambda product=product, a=a: jax.block_until_ready(product(a)),
            },
            rounds=8,
        )
        rates[f"exp {name}"] = cores * repeats * x.size / best["exp"] / 1e9
        rates[f"multiply-add {name}"] = a.shape[0] ** 3 / best["multiply-add"] / 1e9
    return rates


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
