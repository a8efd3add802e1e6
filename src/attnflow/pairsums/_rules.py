"""The derivatives of a kernel that has none of its own: those of an engine made of JAX's operations."""

from collections.abc import Callable
from typing import Any

import jax


def derived_from(plain: Callable[..., Any], kernel: Callable[..., Any]) -> Callable[..., Any]:
    """`kernel`, and `plain` where derivatives are asked for, forward and reverse.

    The tangent map of `plain` is linear and can be transposed; a rule for reverse mode would end forward mode.
    """

    @jax.custom_jvp
    def ruled(*args: Any) -> Any:
        return kernel(*args)

    @ruled.defjvp
    def _(primals, tangents):
        return jax.jvp(plain, primals, tangents)

    return ruled
