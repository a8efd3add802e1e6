"""BERT: post-normalised layers.

Reference: arXiv:1810.04805.
"""

from typing import Any

import jax.numpy as jnp

from ...attention import SoftmaxHeads
from ..block import Block
from ..embedding import Embedding
from ..layer_norm import Normalization
from ..layer_stack import LayerStack
from ..mlp import MLP
from ._checkpoint import Checkpoint, by_head, out_by_head


def from_tensors(config: Any, tensors: Any, *, dtype: Any = "float32") -> LayerStack:
    """The model of a configuration and of tensors as Hugging Face names them."""
    file = Checkpoint(config, tensors, ("bert.",), dtype)
    file.refuse(position_embedding_type="absolute", is_decoder=False, add_cross_attention=False)
    d, m, H = file.whole("hidden_size"), file.whole("intermediate_size"), file.whole("num_attention_heads")
    depth, eps = file.depth("num_hidden_layers"), file.number("layer_norm_eps", 1e-12)
    file.heads(d, H)
    file.check_layers("encoder.layer.{}.", depth)
    layer = "encoder.layer.{}."
    heads, out = by_head(H), out_by_head(H)
    # Files of the first years name the gain and the bias of a normalisation otherwise.
    old = file.has("embeddings.LayerNorm.gamma")
    gain, bias = ("gamma", "beta") if old else ("weight", "bias")
    norms = {
        name: Normalization(
            "layer",
            file.stacked(f"{layer}{path}.{gain}", depth, d),
            file.stacked(f"{layer}{path}.{bias}", depth, d),
            eps,
        )
        for name, path in (("attention_norm", "attention.output.LayerNorm"), ("mlp_norm", "output.LayerNorm"))
    }
    of = f"{layer}attention.self."
    attention = SoftmaxHeads(
        Q=file.stacked(f"{of}query.weight", depth, d, d, change=heads),
        K=file.stacked(f"{of}key.weight", depth, d, d, change=heads),
        V=file.stacked(f"{of}value.weight", depth, d, d, change=heads),
        W=file.stacked(f"{layer}attention.output.dense.weight", depth, d, d, change=out),
        q_bias=file.stacked(f"{of}query.bias", depth, d, change=heads),
        k_bias=file.stacked(f"{of}key.bias", depth, d, change=heads),
        v_bias=file.stacked(f"{of}value.bias", depth, d, change=heads),
        bias=file.stacked(f"{layer}attention.output.dense.bias", depth, d),
    )
    mlp = MLP(
        W=file.stacked(f"{layer}output.dense.weight", depth, d, m),
        U=file.stacked(f"{layer}intermediate.dense.weight", depth, m, d),
        b=file.stacked(f"{layer}intermediate.dense.bias", depth, m),
        c=file.stacked(f"{layer}output.dense.bias", depth, d),
        activation=file.activation("hidden_act", "gelu"),
    )
    start = "embeddings."
    embedding = Embedding(
        file.take(f"{start}word_embeddings.weight", file.whole("vocab_size"), d),
        file.take(f"{start}position_embeddings.weight", file.whole("max_position_embeddings", default=512), d),
        file.take(f"{start}token_type_embeddings.weight", file.whole("type_vocab_size", default=2), d),
        Normalization("layer", file.take(f"{start}LayerNorm.{gain}", d), file.take(f"{start}LayerNorm.{bias}", d), eps),
    )
    block = Block(attention, mlp, **norms, place="post", residual=jnp.ones(depth))
    return LayerStack(block, embedding=embedding)
