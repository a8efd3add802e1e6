"""From text to the numbers of tokens, with the piece of text behind each.

The package `tokenizers` does it for models of language (an extra, imported when it is used). Models of chemistry read
SMILES, one token for an atom, a bond or a bracket: a regular expression and a vocabulary are enough for these.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from ...errors import AttnflowError, FileError, InputError, shown
from ...files import parsed
from .hub import inside, read_object, text_of

EXTRA = "text is split by the package tokenizers, which is not installed; run pip install 'attnflow[language]'."


class Encoded(NamedTuple):
    """A text as tokens: their numbers in the vocabulary, and the piece of text that each stands for."""

    ids: np.ndarray
    pieces: tuple[str, ...]

    def first(self, count: int) -> "Encoded":
        """The first so many tokens."""
        return Encoded(self.ids[:count], self.pieces[:count])


@runtime_checkable
class Tokenizer(Protocol):
    """What turns text into tokens."""

    @property
    def size(self) -> int:
        """How many tokens its vocabulary has."""
        ...

    def encode(self, text: str) -> Encoded:
        """Tokens of a text, with those that the model expects before and after it."""
        ...


class SubwordTokenizer:
    """A tokenizer of the package `tokenizers`. Pieces are shown as text: a space is a space, and not a mark for one."""

    def __init__(self, inner: Any):
        self._inner = inner
        # A file may ask for padding or for a cut to its own length; how long a text is, is the user's business.
        self._inner.no_padding()
        self._inner.no_truncation()

    @property
    def size(self) -> int:
        return self._inner.get_vocab_size(with_added_tokens=True)

    def encode(self, text: str) -> Encoded:
        found = _or_refused(lambda: self._inner.encode(_text(text)), "this text cannot be split by the tokenizer")
        pieces = [text[a:b] if b > a else token for token, (a, b) in zip(found.tokens, found.offsets, strict=True)]
        return Encoded(np.asarray(found.ids, np.int32), tuple(pieces))


# An atom in brackets; atoms of two letters; a wide ring closure; anything else is one letter.
SMILES = re.compile(r"\[[^\]]+\]|Br|Cl|>>|%[0-9]{2}|[A-Za-z0-9().=#\-+\\/:~@?>*$]")


class SmilesTokenizer:
    """Reactions and molecules in SMILES: one token for an atom, a bond, a bracket or a ring closure.

    Reference: the tokens of Schwaller et al., Molecular Transformer, ACS Central Science 2019.
    """

    def __init__(self, vocabulary: Sequence[str]):
        self._numbers = {token: k for k, token in enumerate(vocabulary)}
        for needed in ("[CLS]", "[SEP]", "[UNK]"):
            if needed not in self._numbers:
                raise ValueError(f"{needed} is missing")

    @property
    def size(self) -> int:
        return len(self._numbers)

    def encode(self, text: str) -> Encoded:
        inner = [piece for word in _text(text).split() for piece in _pieces(word)]
        pieces = ("[CLS]", *inner, "[SEP]")
        unknown = self._numbers["[UNK]"]
        return Encoded(np.array([self._numbers.get(piece, unknown) for piece in pieces], np.int32), pieces)


def _pieces(word: str) -> list[str]:
    pieces = SMILES.findall(word)
    if "".join(pieces) != word:
        raise InputError(f"{shown(word)} is no SMILES: this model reads molecules and reactions such as CCO>>CC=O.")
    return pieces


def _text(text: Any) -> str:
    if not isinstance(text, str) or not text.strip():
        raise InputError(f"text = {shown(text)} is no text with words in it; give some.")
    return text


def read_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of a folder: `tokenizer.json`, or the older `vocab.txt` (BERT), `vocab.json` and `merges.txt`
    (GPT-2)."""
    if path := inside(folder, "tokenizer.json"):
        return _wrapped(path, lambda t: t.Tokenizer.from_str(text_of(path, "tokenizer")))
    if path := inside(folder, "vocab.txt"):
        words = [line.rstrip("\r") for line in text_of(path, "vocabulary").split("\n")]
        words = words[:-1] if words and not words[-1] else words
        if ">>" in words and not any(word.startswith("##") for word in words):
            return parsed(lambda: SmilesTokenizer(words), "vocabulary of SMILES", str(path), "fetch it again")
        return _wrapped(path, lambda t: _word_pieces(t, words, _lowercase(folder)))
    path, merges = inside(folder, "vocab.json"), inside(folder, "merges.txt")
    if path and merges:
        numbers = read_object(path, "vocabulary")
        lines = [line for line in text_of(merges, "list of merges").splitlines() if line and line[0:8] != "#version"]
        return _wrapped(path, lambda t: byte_pairs(t, numbers, lines))
    raise FileError(
        f"{folder} has no tokenizer that is read (tokenizer.json, vocab.txt, or vocab.json and merges.txt); add one."
    )


def _wrapped(path: Path, build: Callable[[Any], Any]) -> SubwordTokenizer:
    """A tokenizer of the package `tokenizers`."""
    try:
        import tokenizers
    except ImportError:
        raise InputError(EXTRA) from None
    return _or_refused(lambda: SubwordTokenizer(build(tokenizers)), f"{path} is no tokenizer that is read")


def _or_refused(do: Callable[[], Any], what: str) -> Any:
    """What `do` gives. Errors of the package `tokenizers` have no class, and its panics are not even an `Exception`."""
    try:
        return do()
    except AttnflowError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        why = " ".join(str(error).split()).rstrip(".")[:200]
        raise InputError(f"{what} ({why}); fetch it again.") from None


def _lowercase(folder: Path) -> bool:
    path = inside(folder, "tokenizer_config.json")
    return bool(read_object(path, "tokenizer_config.json").get("do_lower_case", True)) if path else True


def _word_pieces(t: Any, words: list[str], lowercase: bool) -> Any:
    """The tokenizer of BERT from its list of words."""
    numbers = {word: k for k, word in enumerate(words)}
    made = t.Tokenizer(t.models.WordPiece(numbers, unk_token="[UNK]"))
    made.normalizer = t.normalizers.BertNormalizer(lowercase=lowercase)
    made.pre_tokenizer = t.pre_tokenizers.BertPreTokenizer()
    made.add_special_tokens([word for word in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]") if word in numbers])
    made.post_processor = t.processors.BertProcessing(("[SEP]", numbers["[SEP]"]), ("[CLS]", numbers["[CLS]"]))
    return made


def byte_pairs(
    t: Any, numbers: Mapping[str, int], merges: Sequence[str], *, special: Sequence[str] = (), digits: bool = False
) -> Any:
    """The tokenizer of GPT-2: pairs of bytes, merged in the order of the list; `digits`: each digit by itself."""
    pairs = [tuple(line.split(" ", 1)) for line in merges]
    made = t.Tokenizer(t.models.BPE(dict(numbers), pairs))
    split = t.pre_tokenizers.ByteLevel(add_prefix_space=False)
    first = [t.pre_tokenizers.Digits(individual_digits=True)] if digits else []
    made.pre_tokenizer = t.pre_tokenizers.Sequence([*first, split])
    made.decoder = t.decoders.ByteLevel()
    made.add_special_tokens(list(special))
    return made


def tokenizer_of_gguf(path: Path, facts: Mapping[str, Any]) -> Tokenizer:
    """The tokenizer that a GGUF file holds, which must be one of byte pairs."""
    kind, before = facts.get("tokenizer.ggml.model"), facts.get("tokenizer.ggml.pre")
    if not (isinstance(kind, str) and isinstance(before, str)) or kind != "gpt2" or before not in DIGITS:
        raise InputError(
            f"{path} has a tokenizer {shown(kind)} with the splitting {shown(before)}; those read are gpt2 with "
            f"{', '.join(DIGITS)}: give the model as a folder with tokenizer.json."
        )
    words, kinds = facts.get("tokenizer.ggml.tokens"), facts.get("tokenizer.ggml.token_type", ())
    merges = facts.get("tokenizer.ggml.merges")
    if not isinstance(words, list) or not isinstance(merges, list) or not isinstance(kinds, np.ndarray | tuple):
        raise InputError(f"{path} has no list of tokens or of merges; fetch it again.")
    special = [word for word, kind in zip(words, kinds, strict=False) if kind == CONTROL]
    numbers = {word: k for k, word in enumerate(words)}
    return _wrapped(path, lambda t: byte_pairs(t, numbers, merges, special=special, digits=DIGITS[str(before)]))


CONTROL = 3  # the type of a token that stands for no text
DIGITS = {"gpt-2": False, "smollm": True}
