"""A Llama in a GGUF file, with the names, facts and order of rows that Hugging Face's layout has."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError, shown
from ...files import parsed
from .gguf import Gguf
from .tensors import Stored, Tensors

TOP = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
LAYER = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def llama_of(path: Path, read: Gguf) -> tuple[dict[str, Any], Tensors]:
    """config.json and tensors of a Llama, as Hugging Face has them."""
    kind = read.facts.get("general.architecture")
    if not isinstance(kind, str) or kind != "llama":
        raise InputError(f"{path} holds a model of architecture {shown(kind)}; of GGUF files llama is read.")
    config = parsed(lambda: _config(read.facts, read.tensors), "GGUF file of a Llama", str(path), "fetch it again")
    heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}
    if "rope_freqs.weight" in read.tensors:
        raise InputError(f"{path} scales its rotary positions by a table, which is not read; give it as a folder.")
    stored = {}
    for name, entry in read.tensors.stored.items():
        if name in TOP:
            stored[TOP[name]] = entry
        elif name.startswith("blk."):
            _, layer, part, *rest = [*name.split(".", 3), "", ""]
            if part in LAYER:
                new = ".".join(["model.layers", layer, LAYER[part], *filter(None, rest)])
                stored[new] = _in_halves(path, name, entry, heads[part]) if part in heads else entry
    return config, Tensors(stored)


def _config(facts: Mapping[str, Any], tensors: Tensors) -> dict[str, Any]:
    def whole(name: str) -> int:
        value = facts[f"llama.{name}"]
        if type(value) is not int or not 1 <= value < 2**31:
            raise ValueError(f"llama.{name} = {shown(value)} is no count")
        return value

    heads = whole("attention.head_count")
    width = whole("embedding_length")
    scaling = facts.get("llama.rope.scaling.type", "none")
    if scaling != "none":
        raise ValueError(f"its rotary positions are scaled by the rule {shown(scaling)}, which is not read")
    return {
        "model_type": "llama",
        "hidden_size": width,
        "intermediate_size": whole("feed_forward_length"),
        "num_hidden_layers": whole("block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": whole("attention.head_count_kv") if "llama.attention.head_count_kv" in facts else heads,
        "head_dim": whole("attention.key_length") if "llama.attention.key_length" in facts else width // heads,
        "max_position_embeddings": whole("context_length"),
        "vocab_size": tensors.stored["token_embd.weight"].shape[0],
        "rms_norm_eps": float(facts["llama.attention.layer_norm_rms_epsilon"]),
        "rope_theta": float(facts.get("llama.rope.freq_base", 10_000.0)),
        "hidden_act": "silu",
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": "output.weight" not in tensors,
    }


def _in_halves(path: Path, name: str, entry: Stored, heads: int) -> Stored:
    """Rows of a head in the order of Hugging Face: the file has the two coordinates of each rotation side by side, and
    Hugging Face those of all rotations in two halves.
    """
    rows = entry.shape[0] if entry.shape else 0
    if rows % (2 * heads) or not rows:
        raise InputError(f"{path}: {name} has {rows} rows, which {heads} heads of even width cannot share.")
    return Stored(entry.dtype, entry.shape, partial(_reordered, entry, heads))


def _reordered(entry: Stored, heads: int) -> np.ndarray:
    array = entry.read()
    return array.reshape(heads, -1, 2, *array.shape[1:]).swapaxes(1, 2).reshape(array.shape)
