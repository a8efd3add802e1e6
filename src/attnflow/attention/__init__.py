"""Attention maps, one file each."""

from ._attention import AbstractAttention as AbstractAttention
from .softmax import Softmax as Softmax
from .unnormalized import Unnormalized as Unnormalized
