"""A text through a pretrained model, by attnflow and by PyTorch: `python -m benchmarks.language [TOKENS]`.

The model has the shape of SmolLM2-135M and random weights; the same weights go through transformers, with its fused
attention and with its plain one, where `make bench RIVALS="torch transformers"` has installed it. Every contestant
gives the tokens after the last layer; how far they are apart is printed, too.
"""

import importlib
import importlib.util
import sys
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

import attnflow as af

from .machine import description
from .timing import race

SMOLLM2 = {
    "model_type": "llama",
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "num_hidden_layers": 30,
    "vocab_size": 49152,
    "max_position_embeddings": 8192,
    "rms_norm_eps": 1e-5,
    "rope_theta": 1e5,
    "hidden_act": "silu",
}


def weights(config: dict[str, Any]) -> dict[str, np.ndarray]:
    """Random matrices by name, of the size that training begins with; gains are one."""
    rng = np.random.default_rng(0)
    d, m, k = config["hidden_size"], config["intermediate_size"], 64
    H, G = config["num_attention_heads"], config["num_key_value_heads"]
    shapes: dict[str, tuple[int, ...]] = {"embed_tokens": (config["vocab_size"], d), "norm": (d,)}
    attention = {"q_proj": (H * k, d), "k_proj": (G * k, d), "v_proj": (G * k, d), "o_proj": (d, H * k)}
    mlp = {"gate_proj": (m, d), "up_proj": (m, d), "down_proj": (d, m)}
    for layer in range(config["num_hidden_layers"]):
        shapes |= {f"layers.{layer}.self_attn.{name}": shape for name, shape in attention.items()}
        shapes |= {f"layers.{layer}.mlp.{name}": shape for name, shape in mlp.items()}
        shapes |= {f"layers.{layer}.{name}_layernorm": (d,) for name in ("input", "post_attention")}

    def drawn(shape: tuple[int, ...]) -> np.ndarray:
        return np.ones(shape, np.float32) if len(shape) == 1 else 0.04 * rng.standard_normal(shape, np.float32)

    return {f"{name}.weight": drawn(shape) for name, shape in shapes.items()}


def ours(tensors: dict[str, np.ndarray], ids: np.ndarray) -> Callable[[], np.ndarray]:
    """The layers by `simulate`, of which the end is kept."""
    model = af.models.families.from_tensors(SMOLLM2, tensors)

    def run() -> np.ndarray:
        run = af.simulate(model, model.embed(ids), solver="layers", save=1)
        return np.asarray(jax.block_until_ready(model.output(run.final)))

    return run


def rivals(tensors: dict[str, np.ndarray], ids: np.ndarray) -> dict[str, Callable[[], np.ndarray]]:
    """The same by transformers, if it is installed."""
    if not all(map(importlib.util.find_spec, ("torch", "transformers"))):
        return {}
    torch, transformers = map(importlib.import_module, ("torch", "transformers"))
    config = transformers.LlamaConfig(**{k: v for k, v in SMOLLM2.items() if k != "model_type"})
    text = torch.from_numpy(ids)[None]

    def contestant(attention: str) -> Callable[[], np.ndarray]:
        model = transformers.LlamaModel._from_config(config, attn_implementation=attention).eval()
        model.load_state_dict({name: torch.from_numpy(tensor) for name, tensor in tensors.items()})

        def run() -> np.ndarray:
            with torch.no_grad():
                return model(text, use_cache=False).last_hidden_state[0].numpy()

        return run

    return {f"torch, {name}": contestant(name) for name in ("sdpa", "eager")}


def main() -> None:
    tensors = weights(SMOLLM2)
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 512
    ids = np.random.default_rng(1).integers(0, SMOLLM2["vocab_size"], count)
    contestants = {"attnflow": ours(tensors, ids), **rivals(tensors, ids)}
    best = race(contestants, budget=60.0)
    expected = contestants["attnflow"]()
    for name, seconds in best.items():
        off = np.linalg.norm(contestants[name]() - expected, axis=1) / np.linalg.norm(expected, axis=1)
        print(
            f"{name:12} {count} tokens {seconds:7.3f} s, attnflow is {seconds / best['attnflow']:5.2f} times as fast, "
            f"relative distance {off.max():.1e}"
        )
    print(", ".join(f"{k} {v}" for k, v in description().items()))


if __name__ == "__main__":
    main()
