"""Where tokens live: spaces, laws of initial tokens, weighted clouds."""

from ..checks import is_concrete as is_concrete
from . import euclidean as euclidean
from . import sphere as sphere
from ._cloud import Count as Count
from ._cloud import Key as Key
from ._cloud import Number as Number
from ._cloud import Numbers as Numbers
from ._cloud import check_tokens as check_tokens
from ._cloud import check_weights as check_weights
from ._cloud import log_weights as log_weights
from ._cloud import warn_if_narrowed as warn_if_narrowed
from ._law import checked_key as checked_key
from ._law import draws as draws
from ._law import generator as generator
from ._law import key_or_fixed as key_or_fixed
from ._space import AbstractSpace as AbstractSpace
from ._space import order_one as order_one
from ._space import power_in_range as power_in_range
from ._space import safe_norm as safe_norm
from .euclidean import Euclidean as Euclidean
from .sphere import Sphere as Sphere

SPACES: dict[str, type[AbstractSpace]] = {Sphere.name: Sphere, Euclidean.name: Euclidean}

# Public names of this room. `attnflow` itself exports the most common ones; the rest is for other rooms of the package.
__all__ = [
    "SPACES",
    "AbstractSpace",
    "check_tokens",
    "check_weights",
    "is_concrete",
]
