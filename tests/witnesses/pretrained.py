"""Small random models of four families, run by Hugging Face transformers: docs/theory/pretrained.md, Witnesses.

Run once in an environment of its own, with PyTorch 2.13 and transformers 5 and without attnflow:

    python -m venv hf && hf/bin/pip install torch==2.13.0 transformers
    hf/bin/python tests/witnesses/pretrained.py tests/data/pretrained.npz

The file holds, for each family, the configuration, the weights (random, rounded to half precision, biases and gains
too), the word numbers of a text, and what transformers makes of them in float64 by its plain attention: the tokens
before every layer and after the last, the output, and the attention matrices of every layer and head. (Its rotary
angles and its RMS normalisation are float32 even then.)
"""

import json
import sys

import numpy as np

WIDTH = {"hidden_size": 24, "intermediate_size": 40, "num_attention_heads": 3, "vocab_size": 30}
CONFIGS = {
    "bert": {**WIDTH, "num_hidden_layers": 3, "max_position_embeddings": 16},
    "albert": {
        **WIDTH,
        "embedding_size": 16,
        "num_hidden_layers": 5,
        "num_hidden_groups": 2,
        "max_position_embeddings": 16,
    },
    "gpt2": {"n_embd": 24, "n_head": 3, "n_layer": 3, "n_positions": 16, "vocab_size": 30},
    "llama": {
        **WIDTH,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "num_hidden_layers": 3,
        "max_position_embeddings": 64,
        "rope_theta": 1000.0,
        "attention_bias": False,
    },
}
IDS = [3, 14, 15, 9, 2, 6, 5, 3, 5, 8, 9, 7]


def random_weights(model, generator):
    """Entries of deviation such that tokens and scores are of order one; gains around one, biases around zero."""
    import torch

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            norm = parameter.dim() == 1 and ("norm" in name.lower() or "ln_" in name)
            centre = 1.0 if norm and name.endswith("weight") else 0.0
            deviation = 0.3 if parameter.dim() == 1 else 1.2 / np.sqrt(min(parameter.shape))
            deviation = 0.7 if "embedding" in name or "wte" in name or "wpe" in name else deviation
            numbers = centre + deviation * generator.standard_normal(tuple(parameter.shape))
            parameter.copy_(torch.tensor(numbers.astype(np.float16).astype(np.float64)))


def layers_of(family, model):
    """The modules that are run as layers, in order; those of ALBERT more than once."""
    if family in ("bert", "albert"):
        encoder = model.encoder
        return list(encoder.layer) if family == "bert" else list(encoder.albert_layer_groups)
    return list(model.h if family == "gpt2" else model.layers)


def reference(family):
    """The arrays of one family."""
    import torch
    import transformers

    config = transformers.AutoConfig.for_model(family, **CONFIGS[family])
    config._attn_implementation = "eager"
    model = transformers.AutoModel.from_config(config, attn_implementation="eager").double().eval()
    random_weights(model, np.random.default_rng(25))
    states = []

    def seen(module, arguments, keywords):
        states.append((arguments[0] if arguments else keywords["hidden_states"]).detach().numpy()[0])

    last = {}

    def made(module, arguments, output):
        last["x"] = (output[0] if isinstance(output, tuple) else output).detach().numpy().reshape(len(IDS), -1)

    for layer in layers_of(family, model):
        layer.register_forward_pre_hook(seen, with_kwargs=True)
        layer.register_forward_hook(made)
    with torch.no_grad():
        out = model(torch.tensor([IDS]), output_attentions=True)
    arrays = {f"weights/{name}": value.numpy().astype(np.float16) for name, value in model.state_dict().items()}
    arrays = {name: value for name, value in arrays.items() if "position_ids" not in name and "inv_freq" not in name}
    arrays["config"] = np.array(json.dumps({"model_type": family, **json.loads(config.to_json_string())}))
    arrays["ids"] = np.array(IDS)
    arrays["states"] = np.stack([*states, last["x"]])
    arrays["output"] = out.last_hidden_state.numpy()[0]
    arrays["attention"] = np.stack([a.numpy()[0] for a in out.attentions])
    return {f"{family}/{name}": value for name, value in arrays.items()}


if __name__ == "__main__":
    everything = {}
    for family in CONFIGS:
        everything |= reference(family)
    np.savez_compressed(sys.argv[1], **everything)
