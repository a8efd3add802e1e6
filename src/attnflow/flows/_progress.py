"""A progress bar on standard error, fed from inside the compiled solve."""

import contextlib
from collections.abc import Iterator
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
from jaxtyping import Array

# The bar being shown. It lives here and not in the meter, which is part of the compiled program.
_shown: list = []


class ProgressBar(diffrax.AbstractProgressMeter):
    """Reports at most once per percent, so the solve does not wait for the terminal."""

    def init(self) -> Array:
        return jnp.zeros(())

    def step(self, state: Array, progress: Any) -> Array:
        progress = jnp.asarray(progress, state.dtype)
        due = progress >= state + 0.01
        jax.lax.cond(due, lambda p: jax.debug.callback(_advance, p), lambda p: None, progress)
        return jnp.where(due, progress, state)

    def close(self, state: Array) -> None:
        jax.debug.callback(_advance, jnp.ones_like(state))


def _advance(fraction: Any) -> None:
    for bar, task in _shown[-1:]:  # none, when another thread has just ended it
        bar.update(task, completed=float(fraction), description="integrating")


@contextlib.contextmanager
def progress_bar(show: bool) -> Iterator[None]:
    """Show a bar while the body runs: "compiling" until the first step is taken."""
    if not show:
        yield
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        _shown.append((bar, bar.add_task("compiling", total=1.0)))
        try:
            yield
            jax.effects_barrier()
        finally:
            _shown.pop()
