"""Dynamical systems of tokens: a model is data plus a force."""

from . import families as families
from ._layers import AbstractLayers as AbstractLayers
from ._model import AbstractModel as AbstractModel
from ._model import field as field
from ._random import AbstractRandomModel as AbstractRandomModel
from .block import Block as Block
from .causal import causal_model as causal_model
from .embedding import Embedding as Embedding
from .feed_forward import FeedForward as FeedForward
from .flow import Flow as Flow
from .frames import MovingFrame as MovingFrame
from .frames import Rescaled as Rescaled
from .gaussian import GaussianModel as GaussianModel
from .hardmax_examples import hardmax_cloud as hardmax_cloud
from .hardmax_examples import hardmax_matrix as hardmax_matrix
from .hardmax_layers import HardmaxLayers as HardmaxLayers
from .homogenized import AveragedAttention as AveragedAttention
from .homogenized import HomogenizedSDE as HomogenizedSDE
from .layer_norm import Normalization as Normalization
from .layer_stack import LayerStack as LayerStack
from .mlp import MLP as MLP
from .normalization import NormalizedAttention as NormalizedAttention
from .perceptron import Perceptron as Perceptron
from .perceptron_block import PerceptronBlock as PerceptronBlock
from .random_layers import RandomLayers as RandomLayers
from .relu_flow import ReluFlow as ReluFlow
from .schedules import AbstractSchedule as AbstractSchedule
from .schedules import Piecewise as Piecewise
from .schedules import at_time as at_time
from .schedules import jump_times as jump_times
from .self_attention import SelfAttention as SelfAttention
from .transformer_block import TransformerBlock as TransformerBlock

# Public names of this room. `attnflow` itself exports the most common ones; the rest is for other rooms of the package.
__all__ = [
    "MLP",
    "AbstractLayers",
    "AbstractModel",
    "AbstractRandomModel",
    "AbstractSchedule",
    "AveragedAttention",
    "Block",
    "Embedding",
    "FeedForward",
    "LayerStack",
    "Normalization",
    "NormalizedAttention",
    "Perceptron",
    "ReluFlow",
    "TransformerBlock",
    "causal_model",
    "field",
    "hardmax_cloud",
    "hardmax_matrix",
]
