"""A tiny ALBERT with random weights, in a folder as Hugging Face lays it out; it reads SMILES."""

import json

import numpy as np

from weight_files import safetensors

VOCABULARY = "[PAD] [UNK] [CLS] [SEP] C N O c 1 ( ) = >> . Br".split()
TEXT = "CC(=O)Nc1ccc(O)cc1.CBr>>CC(=O)Nc1ccc(OC)cc1"
CONFIG = {
    "model_type": "albert",
    "embedding_size": 6,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_attention_heads": 4,
    "num_hidden_layers": 5,
    "num_hidden_groups": 1,
    "vocab_size": len(VOCABULARY),
    "max_position_embeddings": 64,
    "type_vocab_size": 2,
    "hidden_act": "gelu",
    "layer_norm_eps": 1e-12,
}


def tiny_albert(folder, seed=0, **changed):
    """The folder, with a model in it."""
    rng = np.random.default_rng(seed)
    config = {**CONFIG, **changed}
    e, d, m = (config[name] for name in ("embedding_size", "hidden_size", "intermediate_size"))
    layer = "encoder.albert_layer_groups.0.albert_layers.0."
    matrices = {
        "embeddings.word_embeddings.weight": (config["vocab_size"], e),
        "embeddings.position_embeddings.weight": (config["max_position_embeddings"], e),
        "embeddings.token_type_embeddings.weight": (2, e),
        "encoder.embedding_hidden_mapping_in.weight": (d, e),
        f"{layer}ffn.weight": (m, d),
        f"{layer}ffn_output.weight": (d, m),
        **{f"{layer}attention.{part}.weight": (d, d) for part in ("query", "key", "value", "dense")},
    }
    tensors = {name: rng.normal(size=shape) / shape[1] ** 0.5 for name, shape in matrices.items()}
    for name, shape in matrices.items():
        if ".embeddings" not in f".{name}":
            tensors[name.replace("weight", "bias")] = 0.1 * rng.normal(size=shape[0])
    for name, width in (
        ("embeddings.LayerNorm", e),
        (f"{layer}attention.LayerNorm", d),
        (f"{layer}full_layer_layer_norm", d),
    ):
        tensors |= {f"{name}.weight": np.ones(width), f"{name}.bias": np.zeros(width)}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")
    named = {f"albert.{name}": array.astype("f4") for name, array in tensors.items()}
    (folder / "model.safetensors").write_bytes(safetensors(named))
    return folder
