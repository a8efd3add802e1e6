"""Steps and keys of random models: their layers set the step, and a run stores its key so that it can go on."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

from ..errors import InputError
from ..models import AbstractModel, AbstractRandomModel
from ..spaces import is_concrete


def natural_step(model: AbstractModel, solver: Any, dt: Any, key: Any, t0: Any) -> Any:
    """The step of a solve from `t0`: the given `dt`, or a layer of a random model, which allows no other step."""
    if not isinstance(model, AbstractRandomModel):
        return dt
    name = type(model).__name__
    if solver != "layers":
        raise InputError(
            f'{name} is a sequence of random layers, which solver {solver!r} cannot take; give solver="layers".'
        )
    if key is None:
        raise InputError(f"{name} draws at random; give a key, for example key=jax.random.key(0).")
    own = float(model.dt) if is_concrete(model.dt) else model.dt
    if dt is not None and is_concrete(own, dt) and not np.isclose(float(dt), own, rtol=1e-6, atol=0):
        raise InputError(f"dt = {float(dt):g}, but a layer of this model takes the time {own:g}; leave dt out.")
    # Layers are numbered from time 0: half a layer later, two of them would round to one number and one draw.
    if is_concrete(own, t0) and abs(t0 / own - round(t0 / own)) > min(1e-6 + 2e-7 * abs(t0 / own), 0.1):
        raise InputError(
            f"t0 = {t0:g} lies between two layers, which take the time {own:g}; start at a multiple of it."
        )
    return own


def typed(key: Any) -> PRNGKeyArray | None:
    """A key as `jax.random.key` makes it, from such a one, from one of `jax.random.PRNGKey`, or from text."""
    if key is None:
        return None
    try:
        if isinstance(key, str):
            kind, *numbers = key.split()
            return jax.random.wrap_key_data(jnp.asarray(list(map(int, numbers)), jnp.uint32), impl=kind)
        read = key if jnp.issubdtype(key.dtype, jax.dtypes.prng_key) else jax.random.wrap_key_data(key)
        if read.ndim == 0:
            return read
    except (AttributeError, TypeError, ValueError):
        pass
    raise InputError(f"key = {key!r} is no key; give one key, for example key=jax.random.key(0).")


def written(key: PRNGKeyArray | None) -> str | None:
    """A key as text, for the provenance of a run: its kind and its numbers. `typed` reads it."""
    if key is None or not is_concrete(key):
        return None
    return " ".join([str(jax.random.key_impl(key)), *map(str, np.asarray(jax.random.key_data(key)).ravel())])
