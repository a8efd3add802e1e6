"""Whether the force of a model has the shape of its tokens; errors in the user's own code are raised unchanged.

Shapes that do not fit raise an `InputError` with a sentence. An error in a function or a model of the user is raised
unchanged.
"""

import contextlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array

from ..errors import AttnflowError, InputError
from ..models import AbstractModel
from ..pairsums import noted_choices
from .compiled import once, traced

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


class Force(NamedTuple):
    """The engines that sum over pairs in the force of a model (`None`: there are no sums), why others do not, and the
    names of the operations it is made of."""

    engines: str | None
    passed_over: dict[str, str]
    operations: frozenset[str]


def traced_force(kernel: str, model: AbstractModel, t0: Any, x: Array, w: Array | None, key: Any) -> Force:
    """What the force of a model is made of; one that is not one vector for each token is refused."""

    def trace() -> tuple[Any, Force]:
        with noted_choices() as choices:
            shape, operations = traced(force_of, kernel, model, jnp.asarray(t0, x.dtype), x, w, key)
        names = "+".join(sorted({choice.engine.full_name for choice in choices}))
        passed_over = {k: why for choice in choices for k, why in choice.passed_over.items()}
        return shape, Force(names or None, passed_over, operations)

    force, parts = once("force", force_of, (kernel, model, x, w, key), trace)
    if getattr(force, "shape", None) != x.shape:
        what = f"has shape {force.shape}" if hasattr(force, "shape") else f"is a {type(force).__name__}"
        raise InputError(f"the force {what} and the tokens have shape {x.shape}; return one vector for each token.")
    return parts


def force_of(kernel: str, model: AbstractModel, t: Array | float, x: Array, w: Array | None, key: Any) -> Any:
    return model.force(t, x, w, key=key, kernel=kernel)
