"""The families by the name that a configuration gives."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...errors import InputError, shown
from ..layer_stack import LayerStack
from . import albert, bert, gpt2, llama

FAMILIES = {"albert": albert, "bert": bert, "gpt2": gpt2, "llama": llama}


def names() -> tuple[str, ...]:
    """The families that there are, as a configuration names them.

    >>> names()
    ('albert', 'bert', 'gpt2', 'llama')
    """
    return tuple(FAMILIES)


def from_tensors(
    config: Mapping[str, Any], tensors: Mapping[str, np.ndarray], *, dtype: Any = "float32", **changes: Any
) -> LayerStack:
    """The model of a configuration (that of `config.json`) and of its tensors by name, as Hugging Face has them.

    **Arguments:** `dtype`, the precision in which the weights are kept, float32 or float64; `changes`, interventions
    as `LayerStack.changed` takes them. Each family is a module of its own, too, `models.families.albert.from_tensors`.

    Tensors are read one after the other. A configuration that contradicts the tensors is refused in a sentence.
    """
    if not isinstance(config, Mapping):
        raise InputError(f"config = {shown(config)} is no configuration; give the dictionary of config.json.")
    family = config.get("model_type")
    if not isinstance(family, str) or family not in FAMILIES:
        raise InputError(f"model_type = {shown(family)} is no family that is known; they are {', '.join(FAMILIES)}.")
    model = FAMILIES[family].from_tensors(config, tensors, dtype=dtype)
    return model.changed(**changes) if changes else model
