"""Blocks of quantised numbers as GGUF files hold them, made float32.

A block of 32 (or 256) numbers has one scale d, or a scale d and an offset m, and small whole numbers q: the number is
d q, or d q + m. Layouts are those of ggml, arrays here are (blocks, bytes of a block).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .tensors import bfloat16


class BlockType(NamedTuple):
    """A type of ggml: its name, how many numbers and bytes a block has, and how to read blocks."""

    name: str
    numbers: int
    bytes: int
    read: Callable[[np.ndarray], np.ndarray]


def _plain(kind: str) -> Callable[[np.ndarray], np.ndarray]:
    return lambda blocks: np.ascontiguousarray(blocks).view(kind)


def _half(blocks: np.ndarray, at: int) -> np.ndarray:
    """The float16 at a byte of every block, as a column."""
    return np.ascontiguousarray(blocks[:, at : at + 2]).view("<f2").astype(np.float32)


def _nibbles(blocks: np.ndarray) -> np.ndarray:
    """Lower halves of the bytes, then upper halves."""
    return np.concatenate([blocks & 15, blocks >> 4], axis=1)


def _fifth_bits(blocks: np.ndarray) -> np.ndarray:
    """The 32 bits of four bytes, each in the place of a fifth bit."""
    return np.unpackbits(blocks, axis=1, bitorder="little") << 4


def _q4_0(b: np.ndarray) -> np.ndarray:
    return _half(b, 0) * (_nibbles(b[:, 2:18]).astype(np.float32) - 8)


def _q4_1(b: np.ndarray) -> np.ndarray:
    return _half(b, 0) * _nibbles(b[:, 4:20]).astype(np.float32) + _half(b, 2)


def _q5_0(b: np.ndarray) -> np.ndarray:
    return _half(b, 0) * ((_nibbles(b[:, 6:22]) | _fifth_bits(b[:, 2:6])).astype(np.float32) - 16)


def _q5_1(b: np.ndarray) -> np.ndarray:
    return _half(b, 0) * (_nibbles(b[:, 8:24]) | _fifth_bits(b[:, 4:8])).astype(np.float32) + _half(b, 2)


def _q8_0(b: np.ndarray) -> np.ndarray:
    return _half(b, 0) * np.ascontiguousarray(b[:, 2:34]).view(np.int8).astype(np.float32)


def _q6_k(b: np.ndarray) -> np.ndarray:
    """256 numbers of six bits: four lower bits in `low`, two upper ones in `high`; a scale for each 16."""
    low, high = b[:, :128].reshape(-1, 2, 2, 32), b[:, 128:192].reshape(-1, 2, 1, 32)
    low = np.concatenate([low & 15, low >> 4], axis=2)  # (blocks, half, quarter, 32)
    high = (high >> np.array([0, 2, 4, 6], np.uint8)[:, None]) & 3
    q = (low | (high << 4)).astype(np.float32) - 32
    scales = np.ascontiguousarray(b[:, 192:208]).view(np.int8).astype(np.float32)
    return (_half(b, 208) * scales)[:, :, None].repeat(16, axis=2).reshape(-1, 256) * q.reshape(-1, 256)


def _q4_k(b: np.ndarray) -> np.ndarray:
    """256 numbers of four bits: eight groups with a six-bit scale and offset each."""
    scale, offset = _six_bits(b[:, 4:16])
    q = b[:, 16:144].reshape(-1, 4, 1, 32)
    q = np.concatenate([q & 15, q >> 4], axis=2).reshape(-1, 8, 32).astype(np.float32)
    return ((_half(b, 0) * scale)[:, :, None] * q - (_half(b, 2) * offset)[:, :, None]).reshape(-1, 256)


def _q5_k(b: np.ndarray) -> np.ndarray:
    """As `_q4_k`, with a fifth bit for every number."""
    scale, offset = _six_bits(b[:, 4:16])
    q = b[:, 48:176].reshape(-1, 4, 1, 32)
    q = np.concatenate([q & 15, q >> 4], axis=2).reshape(-1, 8, 32)
    fifth = (b[:, 16:48].reshape(-1, 1, 32) >> np.arange(8, dtype=np.uint8)[:, None]) & 1
    q = (q | (fifth << 4)).astype(np.float32)
    return ((_half(b, 0) * scale)[:, :, None] * q - (_half(b, 2) * offset)[:, :, None]).reshape(-1, 256)


def _six_bits(b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eight scales and eight offsets out of twelve bytes."""
    first, second, upper = b[:, :4], b[:, 4:8], b[:, 8:12]
    scale = np.concatenate([first & 63, (upper & 15) | ((first >> 2) & 48)], axis=1)
    offset = np.concatenate([second & 63, (upper >> 4) | ((second >> 2) & 48)], axis=1)
    return scale.astype(np.float32), offset.astype(np.float32)


BLOCK_TYPES: dict[int, BlockType] = {
    0: BlockType("F32", 1, 4, _plain("<f4")),
    1: BlockType("F16", 1, 2, _plain("<f2")),
    2: BlockType("Q4_0", 32, 18, _q4_0),
    3: BlockType("Q4_1", 32, 20, _q4_1),
    6: BlockType("Q5_0", 32, 22, _q5_0),
    7: BlockType("Q5_1", 32, 24, _q5_1),
    8: BlockType("Q8_0", 32, 34, _q8_0),
    12: BlockType("Q4_K", 256, 144, _q4_k),
    13: BlockType("Q5_K", 256, 176, _q5_k),
    14: BlockType("Q6_K", 256, 210, _q6_k),
    24: BlockType("I8", 1, 1, _plain("i1")),
    25: BlockType("I16", 1, 2, _plain("<i2")),
    26: BlockType("I32", 1, 4, _plain("<i4")),
    27: BlockType("I64", 1, 8, _plain("<i8")),
    28: BlockType("F64", 1, 8, _plain("<f8")),
    30: BlockType("BF16", 1, 2, lambda blocks: bfloat16(np.ascontiguousarray(blocks).view("<u2"))),
}
"""The types that are read, by their number in ggml."""
