r"""Llama: causal, pre-normalised layers with rotary positions, gates, and heads that share keys.

Rotary frequencies are $\omega_l = \theta^{-2l/k}$, slowed down as the configuration says: `linear` divides them by a
factor; `llama3` divides those whose wavelength $2\pi/\omega$ is long by it, keeps those that are short, and goes from
one to the other in between.

Reference: arXiv:2302.13971; arXiv:2407.21783 (`llama3`).
"""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from ...attention import SoftmaxHeads
from ...errors import InputError, shown
from ...pairsums import Causal
from ..block import Block
from ..embedding import Embedding
from ..layer_norm import Normalization
from ..layer_stack import LayerStack
from ..mlp import MLP
from ._checkpoint import Checkpoint, by_head, out_by_head


def from_tensors(config: Any, tensors: Any, *, dtype: Any = "float32") -> LayerStack:
    """The model of a configuration and of tensors as Hugging Face names them."""
    file = Checkpoint(config, tensors, ("model.",), dtype)
    file.refuse(mlp_bias=False, sliding_window=None, partial_rotary_factor=1.0)
    d, m, H = file.whole("hidden_size"), file.whole("intermediate_size"), file.whole("num_attention_heads")
    depth, G = file.depth("num_hidden_layers"), file.whole("num_key_value_heads", default=H)
    k = file.whole("head_dim", default=file.heads(d, H) if d % H == 0 else None)
    if H % G:
        raise InputError(f"the configuration has {H} heads for {G} groups of keys, which do not divide them.")
    eps = file.number("rms_norm_eps", 1e-6)
    file.check_layers("layers.{}.", depth)
    layer = "layers.{}."
    norms = {
        name: Normalization("rms", file.stacked(f"{layer}{path}.weight", depth, d), eps=eps)
        for name, path in (("attention_norm", "input_layernorm"), ("mlp_norm", "post_attention_layernorm"))
    }
    biased = file.flag("attention_bias")
    if not biased and file.has("layers.0.self_attn.q_proj.bias"):
        raise InputError("the configuration has no attention_bias, and there are tensors q_proj.bias.")

    def bias(name: str, size: int, heads: int) -> Any:
        path = f"{layer}self_attn.{name}.bias"
        return file.stacked(path, depth, size, change=by_head(heads)) if biased else None

    attention = SoftmaxHeads(
        Q=file.stacked(f"{layer}self_attn.q_proj.weight", depth, H * k, d, change=by_head(H)),
        K=file.stacked(f"{layer}self_attn.k_proj.weight", depth, G * k, d, change=by_head(G)),
        V=file.stacked(f"{layer}self_attn.v_proj.weight", depth, G * k, d, change=by_head(G)),
        W=file.stacked(f"{layer}self_attn.o_proj.weight", depth, d, H * k, change=out_by_head(H)),
        q_bias=bias("q_proj", H * k, H),
        k_bias=bias("k_proj", G * k, G),
        v_bias=bias("v_proj", G * k, G),
        bias=file.stacked(f"{layer}self_attn.o_proj.bias", depth, d) if biased else None,
        frequencies=np.tile(_frequencies(file, k), (depth, 1)),
    )
    mlp = MLP(
        W=file.stacked(f"{layer}mlp.down_proj.weight", depth, d, m),
        U=file.stacked(f"{layer}mlp.up_proj.weight", depth, m, d),
        G=file.stacked(f"{layer}mlp.gate_proj.weight", depth, m, d),
        activation=file.activation("hidden_act", "silu"),
    )
    embedding = Embedding(file.take("embed_tokens.weight", file.whole("vocab_size"), d))
    ending = Normalization("rms", file.take("norm.weight", d), eps=eps)
    block = Block(attention, mlp, **norms, place="pre", residual=jnp.ones(depth))
    return LayerStack(block, pairs=Causal(), embedding=embedding, ending=ending)


def _frequencies(file: Checkpoint, k: int) -> np.ndarray:
    """The rotary frequencies of the planes of a head of width `k`."""
    if k % 2:
        raise InputError(f"rotary positions turn planes, and heads have the odd width {k}.")
    scaling = file.config.get("rope_parameters") or file.config.get("rope_scaling") or {}
    if not isinstance(scaling, Mapping):
        raise InputError(f"the configuration has rope_scaling = {shown(scaling)}; it must be a dictionary or null.")
    inner = Checkpoint({"rope_theta": file.config.get("rope_theta", 1e4), **scaling}, {}, (), file.dtype)
    omega = inner.number("rope_theta", 1e4) ** (-np.arange(0, k, 2, dtype=float) / k)
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    if kind == "default":
        return omega
    if kind not in ("linear", "llama3"):
        raise InputError(f"rotary positions of type {shown(kind)} are not offered; default, linear and llama3 are.")
    factor = inner.number("factor", 1.0)
    if kind == "linear":
        return omega / factor
    low, high = inner.number("low_freq_factor", 1.0), inner.number("high_freq_factor", 4.0)
    if low == high:
        raise InputError(f"the configuration has low_freq_factor = high_freq_factor = {low:g}; they must differ.")
    turns = inner.number("original_max_position_embeddings", 8192) * omega / (2 * np.pi)
    kept = np.clip((turns - low) / (high - low), 0, 1)
    return (1 - kept) * omega / factor + kept * omega
