"""attnflow: transformers as interacting particle systems.

    import jax, attnflow as af
    af.precision("float64")
    x0 = af.sphere.uniform(n=64, d=3, key=jax.random.key(0))
    run = af.simulate(af.SelfAttention(beta=9.0), x0, t1=30.0)
    af.energy(run)

The most common names are here; every other name is in the module of its subject only, such as `af.reductions` or
`af.diagnostics`. Names are imported when they are first used, so that `attnflow --help` does not pay
for JAX.
"""

import ast
import importlib
from pathlib import Path
from typing import Any


def _exports() -> dict[str, tuple[str | None, str]]:
    """Public name -> the module below `attnflow` that has it, and its name there; read from the stub."""
    stub = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name: (node.module, alias.name) for node in imports for alias in node.names}


_EXPORTS = _exports()

__all__ = [*_EXPORTS]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'attnflow' has no attribute {name!r}")
    home, original = _EXPORTS[name]
    if home is None:
        value = importlib.import_module(f"attnflow.{original}")
    else:
        value = getattr(importlib.import_module(f"attnflow.{home}"), original)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
