"""A configuration and named tensors, read once and checked against each other."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ...errors import InputError, shown
from ..mlp import ACTIVATIONS

# What a dimension of a model, and the number of its layers, may be at most: a configuration beyond has an error in it.
LARGEST, DEEPEST = 2**31 - 1, 10_000


class Checkpoint:
    """The tensors of a model by name, `tensors[name]`, whatever prefix stands before the names, and its configuration.

    Every tensor is looked at when it is taken and not before: a mapping may read its file then.
    """

    def __init__(self, config: Any, tensors: Any, prefixes: tuple[str, ...], dtype: Any):
        if not isinstance(config, Mapping):
            raise InputError(f"config = {shown(config)} is no configuration; give the dictionary of config.json.")
        if not isinstance(tensors, Mapping):
            raise InputError(f"a {type(tensors).__name__} holds no tensors; give a mapping from names to arrays.")
        self.config, self.tensors = config, tensors
        self.dtype = _precision(dtype)
        self.prefix = next((p for p in prefixes if any(name.startswith(p) for name in tensors)), "")

    # The configuration ----------------------------------------------------------------------------------------------

    def whole(self, *names: str, default: int | None = None) -> int:
        """A positive whole number of the configuration, under the first of these names that it has."""
        for name in names:
            value = self.config.get(name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= LARGEST:
                raise InputError(f"the configuration has {name} = {shown(value)}; it must be a positive whole number.")
            return value
        if default is None:
            raise InputError(f"the configuration has no {names[0]}; take the config.json of the model.")
        return default

    def depth(self, name: str, default: int | None = None) -> int:
        """The number of layers."""
        layers = self.whole(name, default=default)
        if layers > DEEPEST:
            raise InputError(f"the configuration has {name} = {layers}; models have at most {DEEPEST} layers.")
        return layers

    def number(self, name: str, default: float) -> float:
        """A positive, finite number of the configuration."""
        value = self.config.get(name, default)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < np.inf:
            raise InputError(f"the configuration has {name} = {shown(value)}; it must be a positive number.")
        return float(value)

    def flag(self, name: str, default: bool = False) -> bool:
        """True or False."""
        value = self.config.get(name, default)
        if not isinstance(value, bool):
            raise InputError(f"the configuration has {name} = {shown(value)}; it must be true or false.")
        return value

    def activation(self, name: str, default: str) -> str:
        """The name of an activation that there is."""
        value = self.config.get(name, default)
        if not isinstance(value, str) or value not in ACTIVATIONS:
            raise InputError(f"the configuration has {name} = {shown(value)}; known are {', '.join(ACTIVATIONS)}.")
        return value

    def refuse(self, **offered: Any) -> None:
        """Refuse a configuration in which an entry is given and is not what is offered."""
        for name, value in offered.items():
            found = self.config.get(name)
            if found is not None and found != value:
                raise InputError(f"the configuration has {name} = {shown(found)}, which is not offered; {value!r} is.")

    def heads(self, d: int, H: int) -> int:
        """The width of one of `H` heads."""
        if d % H:
            raise InputError(f"the configuration has {H} heads for dimension {d}, which they do not divide.")
        return d // H

    # The tensors ----------------------------------------------------------------------------------------------------

    def has(self, name: str) -> bool:
        """Whether there is a tensor of this name."""
        return self.prefix + name in self.tensors

    def take(self, name: str, *shape: int) -> np.ndarray:
        """The tensor of a name, in the precision asked for; one of another shape than the configuration says is
        refused."""
        full = self.prefix + name
        try:
            raw = self.tensors[full]
        except KeyError:
            raise InputError(f"there is no tensor {full!r}; the configuration asks for it, of shape {shape}.") from None
        array = np.asarray(raw)
        if array.shape != shape:
            raise InputError(f"tensor {full!r} has shape {array.shape}, and by the configuration it has {shape}.")
        if array.dtype.kind != "f" and array.dtype.name != "bfloat16":
            raise InputError(f"tensor {full!r} has dtype {array.dtype}; weights are real numbers.")
        array = array.astype(self.dtype)
        if not np.isfinite(array).all():
            raise InputError(f"tensor {full!r} has entries that are not finite; the file is damaged.")
        return array

    def stacked(
        self, pattern: str, layers: int, *shape: int, change: Callable[[np.ndarray], Any] | None = None
    ) -> Array:
        """The tensors of all layers as one, each `change`d; `pattern` has `{}` in place of the number of the layer."""
        first = self.take(pattern.format(0), *shape)
        for k in range(layers):  # before there is memory for all of them
            if not self.has(pattern.format(k)):
                self.take(pattern.format(k), *shape)
        first = first if change is None else change(first)
        try:
            whole = np.empty((layers, *first.shape), self.dtype)
        except MemoryError:
            what = f"{layers} tensors {self.prefix + pattern!r} of shape {shape}"
            raise InputError(f"there is no memory for {what} in {self.dtype}.") from None
        whole[0] = first
        for k in range(1, layers):
            one = self.take(pattern.format(k), *shape)
            whole[k] = one if change is None else change(one)
        return jnp.asarray(whole)

    def check_layers(self, pattern: str, layers: int) -> None:
        """Refuse tensors of layers that the configuration does not have."""
        number = re.compile(re.escape(self.prefix) + re.escape(pattern).replace(r"\{\}", r"(\d+)"))
        numbers = {int(match.group(1)) for match in map(number.match, self.tensors) if match}
        if numbers and max(numbers) >= layers:
            raise InputError(f"the configuration has {layers} layers, and there are tensors of layer {max(numbers)}.")


def by_head(H: int) -> Callable[[np.ndarray], np.ndarray]:
    """`(H k, d)`, rows by head, as `(H, k, d)`; `(H k,)` as `(H, k)`."""
    return lambda matrix: matrix.reshape(H, matrix.shape[0] // H, *matrix.shape[1:])


def out_by_head(H: int) -> Callable[[np.ndarray], np.ndarray]:
    """`(d, H k)`, columns by head, as `(H, d, k)`."""
    return lambda matrix: matrix.reshape(matrix.shape[0], H, -1).transpose(1, 0, 2)


def _precision(dtype: Any) -> np.dtype:
    name = getattr(dtype, "__name__", None) or str(dtype)
    if name not in ("float32", "float64"):
        raise InputError(f"dtype = {shown(dtype)} is no precision; take 'float32' or 'float64'.")
    if name == "float64" and jnp.result_type(float) != jnp.float64:
        raise InputError("dtype = 'float64' needs 64 bits; call attnflow.precision('float64') first.")
    return np.dtype(name)
