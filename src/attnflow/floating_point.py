"""The one piece of global state: how many bits JAX computes with."""

from typing import Any, Literal

from .errors import InputError

Precision = Literal["float32", "float64"]


def precision(name: Any = None) -> Precision:
    """Switch JAX to `"float32"` or `"float64"`, and return the precision in force.

    The command line and the experiments call `precision("float64")`; a program does so before it makes its arrays.

    >>> precision("float64")
    'float64'
    """
    import jax

    if name is not None:
        if not isinstance(name, str) or name not in ("float32", "float64"):
            raise InputError(f"precision {name!r} is unknown; choose 'float32' or 'float64'.")
        jax.config.update("jax_enable_x64", name == "float64")
    return "float64" if jax.config.jax_enable_x64 else "float32"  # pyright: ignore[reportAttributeAccessIssue]
