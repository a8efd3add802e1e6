"""ALBERT: post-normalised layers that share their weights.

Reference: arXiv:1909.11942.
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
    file = Checkpoint(config, tensors, ("albert.",), dtype)
    file.refuse(position_embedding_type="absolute", inner_group_num=1)
    d, e, m = file.whole("hidden_size"), file.whole("embedding_size", default=128), file.whole("intermediate_size")
    H, depth = file.whole("num_attention_heads"), file.depth("num_hidden_layers")
    groups = file.depth("num_hidden_groups", default=1)
    file.heads(d, H)
    eps = file.number("layer_norm_eps", 1e-12)
    file.check_layers("encoder.albert_layer_groups.{}.", groups)
    layer = "encoder.albert_layer_groups.{}.albert_layers.0."
    norms = {
        name: Normalization(
            "layer",
            file.stacked(f"{layer}{path}.weight", groups, d),
            file.stacked(f"{layer}{path}.bias", groups, d),
            eps,
        )
        for name, path in (("attention_norm", "attention.LayerNorm"), ("mlp_norm", "full_layer_layer_norm"))
    }
    heads, out = by_head(H), out_by_head(H)
    attention = SoftmaxHeads(
        Q=file.stacked(f"{layer}attention.query.weight", groups, d, d, change=heads),
        K=file.stacked(f"{layer}attention.key.weight", groups, d, d, change=heads),
        V=file.stacked(f"{layer}attention.value.weight", groups, d, d, change=heads),
        W=file.stacked(f"{layer}attention.dense.weight", groups, d, d, change=out),
        q_bias=file.stacked(f"{layer}attention.query.bias", groups, d, change=heads),
        k_bias=file.stacked(f"{layer}attention.key.bias", groups, d, change=heads),
        v_bias=file.stacked(f"{layer}attention.value.bias", groups, d, change=heads),
        bias=file.stacked(f"{layer}attention.dense.bias", groups, d),
    )
    mlp = MLP(
        W=file.stacked(f"{layer}ffn_output.weight", groups, d, m),
        U=file.stacked(f"{layer}ffn.weight", groups, m, d),
        b=file.stacked(f"{layer}ffn.bias", groups, m),
        c=file.stacked(f"{layer}ffn_output.bias", groups, d),
        activation=file.activation("hidden_act", "gelu_new"),
    )
    start = "embeddings."
    embedding = Embedding(
        file.take(f"{start}word_embeddings.weight", file.whole("vocab_size"), e),
        file.take(f"{start}position_embeddings.weight", file.whole("max_position_embeddings", default=512), e),
        file.take(f"{start}token_type_embeddings.weight", file.whole("type_vocab_size", default=2), e),
        Normalization("layer", file.take(f"{start}LayerNorm.weight", e), file.take(f"{start}LayerNorm.bias", e), eps),
        file.take("encoder.embedding_hidden_mapping_in.weight", d, e),
        file.take("encoder.embedding_hidden_mapping_in.bias", d),
    )
    order = jnp.arange(depth) * groups // depth
    return LayerStack(Block(attention, mlp, **norms, place="post", residual=jnp.ones(groups)), order, None, embedding)
