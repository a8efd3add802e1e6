"""GPT-2: causal, pre-normalised layers; matrices are stored transposed.

Reference: Radford et al., Language models are unsupervised multitask learners (2019).
"""

from typing import Any

import jax.numpy as jnp
import numpy as np

from ...attention import SoftmaxHeads
from ...pairsums import Causal
from ..block import Block
from ..embedding import Embedding
from ..layer_norm import Normalization
from ..layer_stack import LayerStack
from ..mlp import MLP
from ._checkpoint import Checkpoint, by_head


def from_tensors(config: Any, tensors: Any, *, dtype: Any = "float32") -> LayerStack:
    """The model of a configuration and of tensors as Hugging Face names them."""
    file = Checkpoint(config, tensors, ("transformer.",), dtype)
    file.refuse(add_cross_attention=False)
    d, H, depth = file.whole("n_embd", "hidden_size"), file.whole("n_head"), file.depth("n_layer")
    m, k = file.whole("n_inner", default=4 * d), file.heads(d, H)
    eps = file.number("layer_norm_epsilon", 1e-5)
    file.check_layers("h.{}.", depth)
    layer = "h.{}."

    def part(index: int) -> Any:
        """Queries, keys or values of all heads, out of the matrix that holds the three."""
        return lambda a: by_head(H)(np.ascontiguousarray(a[..., index * d : (index + 1) * d].T))

    norms = {
        name: Normalization(
            "layer",
            file.stacked(f"{layer}{path}.weight", depth, d),
            file.stacked(f"{layer}{path}.bias", depth, d),
            eps,
        )
        for name, path in (("attention_norm", "ln_1"), ("mlp_norm", "ln_2"))
    }
    scale = k**-0.5 if file.flag("scale_attn_weights", True) else 1.0
    by_layer = file.flag("scale_attn_by_inverse_layer_idx")
    matrices = [file.stacked(f"{layer}attn.c_attn.weight", depth, d, 3 * d, change=part(i)) for i in range(3)]
    biases = [file.stacked(f"{layer}attn.c_attn.bias", depth, 3 * d, change=part(i)) for i in range(3)]
    attention = SoftmaxHeads(
        *matrices,
        W=file.stacked(f"{layer}attn.c_proj.weight", depth, d, d, change=lambda a: by_head(H)(a).transpose(0, 2, 1)),
        beta=scale / (np.arange(depth) + 1.0) if by_layer else np.full(depth, scale),
        q_bias=biases[0],
        k_bias=biases[1],
        v_bias=biases[2],
        bias=file.stacked(f"{layer}attn.c_proj.bias", depth, d),
    )
    mlp = MLP(
        W=file.stacked(f"{layer}mlp.c_proj.weight", depth, m, d, change=np.transpose),
        U=file.stacked(f"{layer}mlp.c_fc.weight", depth, d, m, change=np.transpose),
        b=file.stacked(f"{layer}mlp.c_fc.bias", depth, m),
        c=file.stacked(f"{layer}mlp.c_proj.bias", depth, d),
        activation=file.activation("activation_function", "gelu_new"),
    )
    embedding = Embedding(
        file.take("wte.weight", file.whole("vocab_size"), d),
        file.take("wpe.weight", file.whole("n_positions", "n_ctx", default=1024), d),
    )
    ending = Normalization("layer", file.take("ln_f.weight", d), file.take("ln_f.bias", d), eps)
    block = Block(attention, mlp, **norms, place="pre", residual=jnp.ones(depth))
    return LayerStack(block, pairs=Causal(), embedding=embedding, ending=ending)
