"""Small files written by the libraries that define the formats, and what these libraries read from them again.

Run once in an environment of its own (`pip install torch safetensors gguf`) it writes tests/data/weight_files.npz:
the bytes of a file of torch.save in its present and in its old format, of a file of safetensors, and random blocks of
every quantised type that is read, with the numbers that the package gguf makes of them.
"""

import io
import pathlib

import numpy as np

TYPES = (2, 3, 6, 7, 8, 12, 13, 14)
BLOCKS = 3


def files():
    import torch
    from safetensors.torch import save

    generator = torch.Generator().manual_seed(0)
    tensors = {
        "word.weight": torch.randn(4, 3, generator=generator),
        "half": torch.randn(3, 5, generator=generator).half(),
        "brain": torch.randn(6, generator=generator).bfloat16(),
        "turned": torch.arange(12.0).reshape(3, 4).T,
        "part": torch.arange(10.0)[3:7],
        "places": torch.arange(6),
    }
    made = {f"expected {k}": (t.float() if t.dtype is torch.bfloat16 else t).numpy() for k, t in tensors.items()}
    state = torch.nn.Module().state_dict() | tensors  # with the attributes that a state dictionary has
    parameters = {k: torch.nn.Parameter(t) if t.is_floating_point() else t for k, t in tensors.items()}
    for name, old, value in (("new.bin", False, state), ("old.bin", True, parameters)):
        stream = io.BytesIO()
        torch.save(value, stream, _use_new_zipfile_serialization=not old)
        made[name] = np.frombuffer(stream.getvalue(), np.uint8)
    made["real.safetensors"] = np.frombuffer(save({k: t.contiguous() for k, t in tensors.items()}), np.uint8)
    return made


def blocks():
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
    from gguf.quants import dequantize

    rng, made = np.random.default_rng(0), {}
    for number in TYPES:
        kind = GGMLQuantizationType(number)
        numbers, size = GGML_QUANT_SIZES[kind]
        raw = rng.integers(0, 256, (2, BLOCKS * size), dtype=np.uint8)
        for at in scales(kind.name):  # random bits could be no number, or infinite
            of_block = raw.reshape(2, BLOCKS, size)
            of_block[:, :, at : at + 2] = rng.normal(size=(2, BLOCKS, 1)).astype("<f2").view(np.uint8)
        read = dequantize(raw, kind)
        assert read.shape == (2, BLOCKS * numbers) and np.isfinite(read).all()
        made |= {f"blocks {number}": raw, f"numbers {number}": read.astype("f4")}
    return made


def scales(name):
    """Where a block has its scale, and its offset, in half precision."""
    if name in ("Q4_1", "Q5_1", "Q4_K", "Q5_K"):
        return (0, 2)
    return (208,) if name == "Q6_K" else (0,)


if __name__ == "__main__":
    path = pathlib.Path(__file__).parents[1] / "data" / "weight_files.npz"
    path.parent.mkdir(exist_ok=True)
    np.savez_compressed(path, **files(), **blocks())
    print(path, path.stat().st_size)
