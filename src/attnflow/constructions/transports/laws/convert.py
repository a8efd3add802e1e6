"""What users give for a law: a law of ours, a frozen distribution of SciPy, or samples."""

from typing import Any, TypeAlias

import numpy as np
from scipy.stats.distributions import rv_frozen

from ....errors import InputError, shown
from ....spaces import Numbers
from .from_scipy import ScipyLaw, ScipyVectors
from .law import AbstractLaw
from .samples import Samples

Law: TypeAlias = AbstractLaw | rv_frozen | Numbers


def as_law(name: str, given: Law) -> AbstractLaw:
    """A law, whatever it was given as."""
    if isinstance(given, AbstractLaw):
        return given
    if isinstance(given, rv_frozen):
        return ScipyLaw(given)
    if all(callable(getattr(given, needed, None)) for needed in ("logpdf", "rvs")) and hasattr(given, "dim"):
        return ScipyVectors(given)
    if isinstance(given, np.ndarray | list | tuple) or hasattr(given, "__jax_array__") or hasattr(given, "dtype"):
        return Samples(_numbers(name, given))
    raise InputError(
        f"{name} = {shown(given)} is no law; give one of attnflow.constructions.laws, a frozen distribution of "
        "scipy.stats, or samples (n, d)."
    )


def _numbers(name: str, given: Any) -> Numbers:
    try:
        return np.asarray(given)
    except ValueError:
        raise InputError(f"{name} is not an array of numbers; give samples as rows (n, d).") from None
