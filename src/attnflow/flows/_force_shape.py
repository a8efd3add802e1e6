"""Whether the force of a model has the shape of its tokens; errors in the user's own code are raised unchanged.

Shapes that do not fit raise an `InputError` with a sentence. An error in a function or a model of the user is raised
unchanged.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from ..errors import AttnflowError, InputError
from ..models import AbstractModel
from ..pairsums import noted_choices
from .compiled import once

# Packages whose code may raise an error that is not the user's.
LIBRARIES = frozenset(
    "attnflow beartype contextlib diffrax equinox functools jax jaxlib jaxtyping lineax numpy".split()
)


@contextlib.contextmanager
def fitting(shape: tuple[int, ...]) -> Iterator[None]:
    """Turn an error of JAX about shapes into an `InputError`; raise an error of the user's own code unchanged."""
    try:
        yield
    except (TypeError, ValueError) as error:
        if isinstance(error, AttnflowError) or _of_the_user(error):
            raise
        reason = str(error).splitlines()[0].rstrip(".:")
        raise InputError(f"the model does not fit tokens of shape {shape}: {reason}.") from error


def _of_the_user(error: BaseException) -> bool:
    """Whether code of neither this library nor those below it took part in the call that failed."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__", "").split(".")[0] not in LIBRARIES:
            return True
        trace = trace.tb_next
    return False


def engines_of(
    kernel: str, model: AbstractModel, t0: Any, x: Array, w: Array | None, key: Any
) -> tuple[str | None, dict[str, str]]:
    """The engines that sum over pairs in the force of a model, and why others do not; `None`: there are no sums.

    Refuses a force that is not one vector for each token.
    """

    def trace() -> tuple[Any, str | None, dict[str, str]]:
        with noted_choices() as choices:
            force = eqx.filter_eval_shape(force_of, kernel, model, jnp.asarray(t0, x.dtype), x, w, key)
        names = "+".join(sorted({choice.engine.full_name for choice in choices}))
        return force, names or None, {k: why for choice in choices for k, why in choice.passed_over.items()}

    force, names, passed_over = once("engines", force_of, (kernel, model, x, w, key), trace)
    if getattr(force, "shape", None) != x.shape:
        what = f"has shape {force.shape}" if hasattr(force, "shape") else f"is a {type(force).__name__}"
        raise InputError(f"the force {what} and the tokens have shape {x.shape}; return one vector for each token.")
    return names, passed_over


def force_of(kernel: str, model: AbstractModel, t: Array | float, x: Array, w: Array | None, key: Any) -> Any:
    return model.force(t, x, w, key=key, kernel=kernel)
