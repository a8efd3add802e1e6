r"""A transformer as layers: blocks one after the other, each with weights of its own or all with the same.

$$ X_{k+1} = \Phi_{\theta_{o(k)}}(X_k), \qquad k = 0, \dots, L - 1, $$

with a `Block` $\Phi_\theta$, and $o(k)$ the number of the block that layer $k$ is. Weights are stacked along a first
axis, so that one program runs all layers.

Derivations: docs/theory/pretrained.md.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from ..attention import SoftmaxHeads
from ..checks import is_concrete, number
from ..errors import InputError, shown
from ..pairsums import AbstractPairs, Full
from ..spaces import Number, Numbers
from ._layers import AbstractLayers
from ._model import check_parts
from .block import Block
from .embedding import Embedding
from .layer_norm import Normalization


class LayerStack(AbstractLayers):
    r"""Blocks one after the other: `simulate(model, x0, solver="layers")` follows the tokens through their depth.

    **Arguments:**

    - `blocks`: a list of blocks of the same shapes, or one `Block`, perhaps with stacked arrays.
    - `order`: the numbers of the blocks in the order of the layers; `None` is each once. `LayerStack(block,
      order=[0] * 24)` is a tied model of 24 layers. If all layers are one block, `simulate` runs as many as it likes.
    - `pairs`: who sees whom, `Full()` or `Causal()`.
    - `embedding`: the tokens of a text, `model.embed(ids)`; `ending`: the normalisation after the last layer, which is
      no part of the run, `model.output(x)`.

    The state of a run is the residual stream, in $\mathbb R^d$; `af.Sphere().nearest(run.xs)` are its directions.

    ??? cite "A mathematical perspective on transformers, Geshkovski, Letrouit, Polyanskiy, Rigollet (arXiv:2312.10794)"
    """

    papers: ClassVar[tuple[str, ...]] = ("perspective",)

    blocks: Block
    order: Int[Array, " depth"]
    pairs: AbstractPairs
    embedding: Embedding | None
    ending: Normalization | None

    def __init__(
        self,
        blocks: Block | Sequence[Block],
        order: Numbers | None = None,
        pairs: AbstractPairs | None = None,
        embedding: Embedding | None = None,
        ending: Normalization | None = None,
    ):
        check_parts(pairs=pairs)
        for name, part, kind in (("embedding", embedding, Embedding), ("ending", ending, Normalization)):
            if part is not None and not isinstance(part, kind):
                raise InputError(f"{name} = {shown(part)} is none; give a models.{kind.__name__}.")
        self.blocks = _stacked(blocks)
        self.order = _order(order, self.blocks.stacked or 1)
        self.pairs = Full() if pairs is None else pairs
        self.embedding, self.ending = embedding, ending

    @property
    def depth(self) -> int:
        return self.order.shape[0]

    @property
    def endless(self) -> bool:
        return self.blocks.stacked == 1

    @property
    def d(self) -> int:
        """The dimension of the tokens."""
        return self.blocks.d

    def block(self, k: ArrayLike) -> Block:
        """The block that layer `k` is; of a layer beyond the last, that of the last."""
        if self.endless:
            return jax.tree.map(lambda a: a[0], self.blocks)
        place = jnp.clip(jnp.round(jnp.asarray(k)).astype(jnp.int32), 0, self.depth - 1)
        index = self.order[place]
        return jax.tree.map(lambda a: a[index], self.blocks)

    def layer(
        self,
        k: ArrayLike,
        x: Float[Array, "n d"],
        weights: Float[Array, " n"] | None = None,
        *,
        kernel: str = "auto",
    ) -> Float[Array, "n d"]:
        if x.shape[1] != self.d:
            raise InputError(f"tokens have dimension {x.shape[1]} and the layers are for {self.d}; give such tokens.")
        return self.block(k)(x, weights, pairs=self.pairs, kernel=kernel)

    def reads(self, k: ArrayLike, x: Float[Array, "n d"]) -> tuple[SoftmaxHeads, Float[Array, "n d"]]:
        """The heads of layer `k`, and the tokens as they see them, `x` being those that the layer begins with."""
        block = self.block(k)
        if block.attention is None:
            raise InputError("these layers have no attention; give a Block with attention=attention.SoftmaxHeads(...).")
        return block.attention, block.reads(x)

    def embed(self, ids: Numbers, kinds: Numbers | None = None) -> Float[Array, "n d"]:
        """The tokens of a text, given by the numbers of its words."""
        if self.embedding is None:
            raise InputError("these layers have no embedding; give one, or the tokens x0 themselves.")
        return self.embedding(ids, kinds)

    def output(self, x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """The tokens after the last layer as what follows gets them: with the normalisation at the end."""
        return x if self.ending is None else self.ending(x)

    def changed(
        self,
        *,
        normalization: str | None = None,
        values: str | None = None,
        beta: Number | None = None,
        layers: Sequence[int] | None = None,
    ) -> "LayerStack":
        r"""The same model with an intervention; several may be given at once.

        - `normalization="sphere"`: every normalisation of a layer, and that at the end, becomes the projection on the
          sphere of radius $\sqrt d$ times the root mean square of its gain.
        - `values="identity"`: every head reads the tokens themselves, $W_hV_h = I/H$, so that attention is the mean of
          the heads' averages; biases of values go, too.
        - `beta`: every score is multiplied by this number.
        - `layers`: which layers run, in order, such as `[5] * 500`.
        """
        blocks, order, ending = self.blocks, self.order, self.ending
        if normalization is not None:
            if normalization != "sphere":
                raise InputError(f"normalization = {shown(normalization)} is no intervention; take 'sphere'.")
            norms = {name: getattr(blocks, name) for name in ("attention_norm", "mlp_norm")}
            norms = {name: None if norm is None else self._sphere(norm) for name, norm in norms.items()}
            blocks = dataclasses.replace(blocks, **norms)
            ending = None if ending is None else ending.on_sphere(self.d)
        if values is not None or beta is not None:
            blocks = dataclasses.replace(blocks, attention=_other_heads(blocks.attention, values, beta))
        if layers is not None:
            order = order[_order(layers, self.depth)]
        return LayerStack(blocks, order, self.pairs, self.embedding, ending)

    def _sphere(self, norm: Normalization) -> Normalization:
        radius = norm.on_sphere(self.d).radius
        assert radius is not None
        return Normalization("sphere", radius=jnp.broadcast_to(radius, (self.blocks.stacked or 1,)))


def _other_heads(heads: SoftmaxHeads | None, values: Any, beta: Any) -> SoftmaxHeads:
    if heads is None:
        raise InputError("these layers have no attention; leave values and beta out.")
    if values is not None:
        if values != "identity":
            raise InputError(f"values = {shown(values)} is no intervention; take 'identity'.")
        heads = dataclasses.replace(heads, V=None, W=None, v_bias=None, bias=None)
    if beta is not None:
        factor = number("beta", beta, 0)
        heads = dataclasses.replace(heads, beta=factor * heads.beta)
    return heads


def _stacked(blocks: Any) -> Block:
    """Blocks as one, with a first axis that counts them."""
    if isinstance(blocks, Block):
        return blocks if blocks.stacked is not None else jax.tree.map(lambda a: jnp.asarray(a)[None], blocks)
    blocks = tuple(blocks) if isinstance(blocks, Sequence) and not isinstance(blocks, str) else ()
    if not blocks or not all(isinstance(block, Block) and block.stacked is None for block in blocks):
        raise InputError("blocks are one models.Block, or a list of at least one; give for example [block, block].")
    first = jax.tree.structure(blocks[0]), [a.shape for a in jax.tree.leaves(blocks[0])]
    for k, block in enumerate(blocks):
        if (jax.tree.structure(block), [a.shape for a in jax.tree.leaves(block)]) != first:
            raise InputError(f"block {k} has other parts or shapes than block 0; layers of one stack are alike.")
    return jax.tree.map(lambda *a: jnp.stack(a), *blocks)


def _order(order: Any, count: int) -> Int[Array, " depth"]:
    """The numbers of blocks in the order of the layers."""
    if order is None:
        return jnp.arange(count, dtype=jnp.int32)
    if not is_concrete(order):
        return jnp.asarray(order, jnp.int32)
    try:
        array = np.asarray(order)
    except (TypeError, ValueError, OverflowError):
        array = np.asarray("")
    if array.ndim != 1 or array.dtype.kind not in "iu" or not array.size:
        raise InputError(f"layers = {shown(order)} is no list of layers; give whole numbers, such as [0] * 24.")
    if array.min() < 0 or array.max() >= count:
        bad = array[(array < 0) | (array >= count)][0]
        raise InputError(f"there is no layer {bad}, there are {count}; give numbers from 0 to {count - 1}.")
    return jnp.asarray(array, jnp.int32)
