"""The tokens of a text through the layers of a real model: `analyze`, and its answer."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import xarray
from matplotlib.figure import Figure

from ...checks import finite_array, number, whole
from ...errors import InputError, shown
from ...files import path_of, write_atomically
from ...flows import layer_states
from ...json_values import plain
from ...pairsums import Causal
from ...spaces import Sphere
from ...versions import version
from ..pretrained import Pretrained, load
from ..weights import Encoded
from .layers import DIAGONAL, EXPLAINED, FIRST, VIEWS, Options, dimensions, look
from .spectra import HeadSpectrum, spectrum

LENGTH = 512
"""Tokens of a text that are read if nothing else is asked for."""

RECORDED = 64
"""Depths at which is looked, at most, if nothing else is asked for."""

LETTERS = 64
"""Letters of a text that are taken apart for each token that is read: a book is not, for its first page."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Analysis:
    """What `analyze` found, layer by layer.

    - `data`: an `xarray.Dataset` with the axes `layer`, `token`, `head`, ...; every variable has a `long_name`.
    - `pieces`: the text of each token.
    - `limits`: sentences about what the numbers do not show.

    `groups(at)` are the clusters with their text, `leaders(at)` the tokens that receive most attention, `figures()` the
    pictures with their captions, `summary()` the main numbers for JSON; `save(path)` writes NetCDF.
    """

    data: xarray.Dataset
    pieces: tuple[str, ...]
    limits: tuple[str, ...] = ()

    def __repr__(self) -> str:
        counts, layers = self.data["clusters"].values, self.data["layer"].values
        steps = sorted({0, len(counts) // 2, len(counts) - 1})
        groups = ", ".join(f"{counts[k]} at layer {layers[k]}" for k in steps)
        limits = "".join(f"; {sentence}" for sentence in self.limits)
        return f"Analysis({self.data.attrs['model']}: {len(self.pieces)} tokens, groups: {groups}{limits})"

    def _place(self, at: int) -> int:
        """The row of a depth that was looked at; -1 is the last."""
        layers = self.data["layer"].values.tolist()
        if at == -1:
            return len(layers) - 1
        if at not in layers:
            raise InputError(f"layer {shown(at)} was not looked at; those were {shown(layers)}.")
        return layers.index(at)

    def groups(self, at: int = -1) -> list[dict[str, Any]]:
        """The clusters at a depth, the largest first: their `tokens` by number, and their `pieces` of text."""
        labels = self.data["cluster"].values[self._place(at)]
        found = [np.flatnonzero(labels == label) for label in np.unique(labels)]
        found = sorted(found, key=lambda tokens: (-len(tokens), tokens[0]))
        return [{"tokens": t.tolist(), "pieces": [self.pieces[i] for i in t]} for t in found]

    def leaders(self, at: int = 0, count: int = 5) -> list[dict[str, Any]]:
        """The tokens that receive most attention in the layer that begins at a depth, with their share of all of it."""
        received = self.data["received"].values[self._place(at)]
        if not np.isfinite(received).all():
            raise InputError(f"no layer reads the tokens at depth {self.data['layer'].values[self._place(at)]}.")
        best = np.argsort(-received, kind="stable")[: whole("count", count)]
        return [{"token": int(i), "piece": self.pieces[i], "received": float(received[i])} for i in best]

    def summary(self) -> dict[str, Any]:
        """The main numbers, for JSON."""
        data = self.data
        dropped = {"first": "dropped"}
        rows = [
            {
                "layer": int(layer),
                "clusters": int(data["clusters"][k]),
                "largest_groups": [len(g["tokens"]) for g in self.groups(int(layer))[:5]],
                "mean_cosine": float(data["mean_cosine"].sel(first="kept")[k]),
                "mean_cosine_without_first": float(data["mean_cosine"].sel(dropped)[k]),
                "effective_rank": float(data["effective_rank"].sel(first="kept")[k]),
                "participation_ratio": float(data["participation_ratio"].sel(first="kept")[k]),
                "energy": data["energy"][k].values,
                "largest_norm": float(data["norm"][k].max()),
                "median_norm": float(data["norm"][k].median()),
                "moved": float(data["moved"][k]),
                "entropy": data["entropy"][k].values,
                "leaders": self.leaders(int(layer)) if np.isfinite(data["received"][k]).all() else [],
            }
            for k, layer in enumerate(data["layer"].values)
        ]
        cases, counts = np.unique(data["case"].values, return_counts=True)
        return plain_values(
            {
                **data.attrs,
                "tokens": len(self.pieces),
                "pieces": list(self.pieces),
                "betas": data["beta"].values,
                "layers": rows,
                "groups_at_the_end": self.groups()[:20],
                "cases_of_heads": dict(zip(cases.tolist(), counts.tolist(), strict=True)),
                "limits": list(self.limits),
            }
        )

    def save(self, path: str | os.PathLike) -> Path:
        """Write the data as NetCDF4, whole or not at all."""
        path = path_of(path)
        data = self.data.assign_attrs(limits="\n".join(self.limits))
        return write_atomically(path, bytes(data.to_netcdf(engine="h5netcdf")))

    def figures(self) -> dict[str, tuple[Figure, str]]:
        """Pictures by name, each with its caption."""
        from .figures import figures

        return figures(self)


def plain_values(value: Any) -> Any:
    """`plain` of every entry of nested dictionaries and lists."""
    if isinstance(value, Mapping):
        return {name: plain_values(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(entry) for entry in value]
    return value if isinstance(value, str) or value is None else plain(value)


def analyze(
    model: str | os.PathLike | Pretrained,
    text: str | Encoded,
    *,
    layers: Sequence[int] | None = None,
    iterate: int | None = None,
    block: int | None = None,
    length: int = LENGTH,
    eps: float = 0.1,
    bins: int = 80,
    betas: Sequence[float] = (1.0, 10.0),
    dtype: Literal["float32", "float64"] | None = None,
    **changes: Any,
) -> Analysis:
    """Follow the tokens of a text through the layers of a real model, and measure what the theory is about.

    **Arguments:**

    - `model`: a name of `attnflow models list`, a folder as Hugging Face lays it out, a GGUF file, or a `Pretrained`.
    - `text`: a text, or tokens (`load(...).encode(text)`, perhaps shuffled).
    - `layers`: the depths at which is looked, 0 before the first layer; by default all, or about 64 of more.
    - `iterate`: how many layers are run. A model whose layers share their weights goes on past its depth; of another
      one the layer `block` is run so many times.
    - `length`: how many tokens of the text are read, at most.
    - `eps`: directions of tokens within this distance are linked to groups (single linkage).
    - `bins` of the histograms; `betas`, the inverse temperatures of the energy.
    - `dtype`: in which the layers compute; by default float32, or that of a `Pretrained`. Hundreds of layers want
      float64.
    - `changes`: interventions as for `load`.

    Only one layer's tokens are in memory at a time. Every depth is measured on tokens as they are, on their directions
    (points of the sphere), and as the layer's attention sees them, with the first token and without.
    """
    if isinstance(model, Pretrained) and dtype is not None:
        raise InputError(f"dtype = {shown(dtype)}: a loaded model has its own; choose it there, load(..., dtype=...).")
    ready = model if isinstance(model, Pretrained) else load(model, dtype="float32" if dtype is None else dtype)
    tokens, limits = _tokens(ready, text, whole("length", length, 2))
    options = Options(
        whole("bins", bins, 2, 10_000),
        number("eps", eps, 0),
        tuple(number("beta", b, 0) for b in finite_array("betas", betas).reshape(-1).tolist()),
    )
    if block is not None:
        if iterate is None:
            raise InputError(f"block = {shown(block)} is the layer that is run many times; say how often, iterate=100.")
        changes = {**changes, "layers": [block] * whole("iterate", iterate, most=10**6)}
    stack = ready.model.changed(**changes) if changes else ready.model
    end = stack.depth if iterate is None else whole("iterate", iterate, most=10**6)
    depths = _depths(layers, end)
    found: dict[str, list[np.ndarray]] = {}
    before = None
    for k, x in layer_states(stack, ready.model.embed(tokens.ids), t1=end):
        direction = np.asarray(Sphere().nearest(x))
        if not np.isfinite(direction).all():
            raise InputError(f"before layer {k} some tokens are no numbers in {x.dtype}; load the model in float64.")
        if k in depths:
            last = k >= stack.depth and not stack.endless
            moved = np.nan if before is None else np.linalg.norm(direction - before, axis=1).max()
            for name, array in {**look(stack, k, x, last, options), "moved": np.asarray(moved)}.items():
                found.setdefault(name, []).append(array)
        before = direction
    blocks = [0] if stack.endless else sorted({int(b) for b in np.asarray(stack.order)[:end]})
    heads = [_spectra(stack, b) for b in blocks]
    attributes = {
        "model": ready.files.name,
        "family": ready.files.family,
        "weights": ready.files.digest,
        "depth": ready.model.depth,
        "layers_run": end,
        "eps": options.eps,
        "dtype": str(ready.model.embed(tokens.ids[:1]).dtype),
        "changes": ", ".join(f"{k}={v!r}"[:60] for k, v in {**ready.changes, **changes}.items()),
        "attnflow": version("attnflow"),
    }
    data = _dataset(found, heads, tokens, [k for k in range(end + 1) if k in depths], blocks, options, attributes)
    return Analysis(data, tokens.pieces, (*limits, *_about(data, stack, end)))


def _tokens(ready: Pretrained, text: Any, length: int) -> tuple[Encoded, tuple[str, ...]]:
    most = min(length, ready.longest or length)
    cut = isinstance(text, str) and len(text) > LETTERS * most
    tokens = text if isinstance(text, Encoded) else ready.encode(_beginning(text, LETTERS * most) if cut else text)
    if len(tokens.ids) != len(tokens.pieces):
        raise InputError(f"there are {len(tokens.ids)} tokens and {len(tokens.pieces)} texts; give one for each.")
    if len(tokens.ids) < 2:
        raise InputError(f"the text has {len(tokens.ids)} token; give at least two.")
    if len(tokens.ids) <= most:
        return tokens, (f"of the text the first {LETTERS * most:,} letters were read",) if cut else ()
    more = "more than " * cut
    return tokens.first(most), (f"of {more}{len(tokens.ids):,} tokens the first {most:,} were read",)


def _beginning(text: str, letters: int) -> str:
    """At most so many letters, up to the end of a word if there is one."""
    words = text[:letters].rsplit(None, 1)
    return words[0] if len(words) > 1 else text[:letters]


def _depths(layers: Any, end: int) -> set[int]:
    if layers is None:
        some = range(end + 1) if end < RECORDED else np.unique(np.linspace(0, end, RECORDED + 1).round().astype(int))
        return {int(k) for k in some}
    try:
        chosen = {whole("layer", k, 0, end) for k in layers}
    except TypeError:
        raise InputError(f"layers = {shown(layers)} are no numbers of layers; give a list, [0, 6, 12].") from None
    if not chosen:
        raise InputError("layers is empty; give at least one depth, or leave it out.")
    return chosen


def _spectra(stack: Any, b: int) -> list[HeadSpectrum]:
    import jax

    attention = jax.tree.map(lambda a: a[b], stack.blocks).attention
    return [] if attention is None else [spectrum(attention, h) for h in range(attention.H)]


def _dataset(
    found: Mapping[str, list[np.ndarray]],
    heads: list[list[HeadSpectrum]],
    tokens: Encoded,
    depths: list[int],
    blocks: list[int],
    options: Options,
    attributes: dict[str, Any],
) -> xarray.Dataset:
    arrays = {name: np.stack(rows) for name, rows in found.items()}
    variables: dict[str, Any] = {
        name: (dims, arrays[name], {"long_name": EXPLAINED[name]}) for name, dims in dimensions(arrays).items()
    }
    if heads and heads[0]:
        for name in ("V", "B"):
            values = np.array([[getattr(one, name) for one in row] for row in heads])
            parts = np.stack([np.real(values), np.imag(values)], axis=-1)
            about = f"eigenvalues of {name} that are not forced to be 0, the largest first"
            variables[f"{name}_eigenvalues"] = (("block", "head", "order", "part"), parts, {"long_name": about})
        cases = np.array([[one.case for one in row] for row in heads])
        variables["case"] = (("block", "head"), cases, {"long_name": "the theorem that applies to V and B of the head"})
    edges = np.linspace(-1.0, 1.0, options.bins + 1)
    coordinates = {
        "layer": depths,
        "view": list(VIEWS),
        "first": list(FIRST),
        "diagonal": list(DIAGONAL),
        "bin": (edges[1:] + edges[:-1]) / 2,
        "beta": list(options.betas),
        "block": blocks,
        "part": ["real", "imaginary"],
        "piece": ("token", np.array([piece.replace("\0", "\u2400") for piece in tokens.pieces], dtype=object)),
        "id": ("token", np.asarray(tokens.ids)),
    }
    return xarray.Dataset(variables, coordinates, attributes)


def _about(data: xarray.Dataset, stack: Any, end: int) -> list[str]:
    """What the numbers do not show."""
    said = []
    if stack.blocks.attention is not None and stack.blocks.attention.frequencies is not None:
        said.append("spectra leave out the rotary positions, which turn B from pair to pair")
    trained = data.attrs["depth"]
    if end > trained:
        said.append(f"layers beyond {trained} are more than the model was trained with")
    if end > 10 * trained and data.attrs["dtype"] == "float32":
        said.append("so many layers in float32 depend on rounding: compare the late groups with those in float64")
    if isinstance(stack.pairs, Causal):
        harmonic = float(np.sum(1 / np.arange(1, data.sizes["token"] + 1)))
        said.append(
            "early tokens are seen by more tokens: from uniform attention the first would receive "
            f"{harmonic:.2g} times an equal share"
        )
    moved = float(data["moved"][-1])
    if np.isfinite(moved) and moved > data.attrs["eps"] / 10:
        said.append(f"tokens still move at the end, one by {moved:.2g} in the last layer: groups are no final state")
    return said
