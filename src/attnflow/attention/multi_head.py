r"""Multi-head attention: a sum of attention maps, each with its own matrices."""

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..checks import whole
from ..errors import InputError
from ..pairsums import AbstractPairs, Full
from ..parameters import Parameter, parameter
from ..registry import Entry, Param
from ..spaces import Count, Numbers, is_concrete
from ._attention import AbstractAttention
from ._gaussian import AffineField
from .softmax import Softmax


class MultiHead(AbstractAttention):
    r"""$$ \Gamma_\mu(x) = \sum_{h=1}^H W_h\, \Gamma^h_\mu(x), $$

    with any maps $\Gamma^h$ as heads. A head's $V_h$ is $(k, d)$ and its $W_h$ is $(d, k)$, so that it acts by the
    $d \times d$ matrix $W_hV_h$. Heads of one class and shape are computed together; others one after the other.

    **Arguments:** `heads`, attention maps; `W`, a matrix per head `(H, d, k)` (or a list of them, if their widths
    differ), a number per head `(H,)`, or `None` for the identity.

    ??? cite "A unified perspective on the dynamics of deep transformers, Castin et al. (arXiv:2501.18322)"
    """

    heads: tuple[AbstractAttention, ...]
    W: Any

    def __init__(self, heads: Iterable[AbstractAttention], W: Parameter | None = None):
        self.heads = tuple(heads) if isinstance(heads, Iterable) else ()
        if not self.heads or not all(isinstance(head, AbstractAttention) for head in self.heads):
            raise InputError("the heads are not attention maps; give at least one, for example [Softmax(beta=1.0)].")
        self.W = _output_matrices(W, len(self.heads))

    @classmethod
    def split(
        cls,
        H: Count,
        *,
        Q: Numbers,
        K: Numbers,
        V: Numbers,
        W: Numbers | None = None,
        beta: Parameter | None = None,
    ) -> "MultiHead":
        r"""Softmax heads from full matrices: head $h$ of $H$ owns rows $hk, \dots, (h+1)k - 1$ of $Q, K, V$ and $W$.

        It acts by $W_h^\top V_h$; `W=None` is the identity, so that it moves the coordinates of its own rows alone.
        `beta=None` is $1/\sqrt k$.
        """
        H = whole("H", H)
        queries, keys, values = (parameter(name, M, 2) for name, M in (("Q", Q), ("K", K), ("V", V)))
        if any(M is None for M in (queries, keys, values)):
            raise InputError("Q, K and V are split by rows; give all three as matrices.")
        output = jnp.eye(values.shape[0], dtype=values.dtype) if W is None else parameter("W", W, 2)
        matrices = (queries, keys, values, output)
        if any(M.ndim != 2 or M.shape[0] != values.shape[0] or M.shape[0] % H for M in matrices):
            shapes = ", ".join(str(M.shape) for M in matrices)
            raise InputError(f"matrices of shapes {shapes} do not split into H = {H} heads of the same number of rows.")
        k = values.shape[0] // H
        scale = k**-0.5 if beta is None else beta
        rows = [slice(h * k, (h + 1) * k) for h in range(H)]
        heads = [Softmax(scale, Q=queries[r], K=keys[r], V=values[r]) for r in rows]
        return cls(heads, jnp.stack([output[r].T for r in rows]))

    @property
    def clock(self) -> str:
        """That of the heads, if they agree."""
        clocks = {head.clock for head in self.heads}
        return clocks.pop() if len(clocks) == 1 else "multi-head"

    @property
    def score(self) -> NoReturn:
        raise InputError("multi-head attention has one score per head; look at the heads, attention.heads[0].score.")

    @property
    def V(self) -> NoReturn:
        raise InputError("multi-head attention has values per head; look at the heads, attention.heads[0].V.")

    @property
    def reduce(self) -> NoReturn:
        raise InputError("multi-head attention has sums per head; look at the heads, attention.heads[0].reduce.")

    @property
    def exponential(self) -> bool:
        return False

    @property
    def row_stochastic(self) -> bool:
        return False

    @property
    def isotropic(self) -> bool:
        return self.W is None and all(head.isotropic for head in self.heads)

    @property
    def continuous(self) -> bool:
        return all(head.continuous for head in self.heads)

    @property
    def papers(self) -> tuple[str, ...]:
        return ENTRY.papers

    def __call__(
        self,
        x: Float[Array, "n d"],
        y: Float[Array, "m d"],
        weights: Float[Array, " m"] | None = None,
        *,
        pairs: AbstractPairs = Full(),
        kernel: str = "auto",
        state: Any = None,
    ) -> Float[Array, "n p"]:
        groups = _groups(self.heads)
        states = [None] * len(groups) if state is None else state

        def velocities(head: AbstractAttention, state: Any) -> Float[Array, "n p"]:
            return head(x, y, weights, pairs=pairs, kernel=kernel, state=state)

        total = jnp.zeros((), x.dtype)
        for members, state in zip(groups, states, strict=True):
            total = total + self._combined(members, _together(velocities, self.heads, members, state))
        return total

    def warm(self, x, weights, state, *, pairs=Full(), kernel="auto"):
        """The states of the heads that have one, group by group; see `Sinkhorn.warm`."""
        groups = _groups(self.heads)
        states = [None] * len(groups) if state is None else state

        def warm(head: AbstractAttention, state: Any) -> Any:
            return head.warm(x, weights, state, pairs=pairs, kernel=kernel)

        return [_together(warm, self.heads, g, s) for g, s in zip(groups, states, strict=True)]

    @property
    def closure(self) -> str:
        """The weakest of the heads' closures."""
        return next(kind for kind in ("none", "projected", "exact") if kind in {h.closure for h in self.heads})

    def bounded_growth(self, d: int) -> str | None:
        reasons = [head.bounded_growth(d) for head in self.heads]
        return " and ".join(dict.fromkeys(map(str, reasons))) if all(reasons) else None

    def gaussian(self, alpha: Float[Array, " d"], L: Float[Array, "d r"]) -> AffineField:
        r"""$GL = \sum_h W_hG_hL$ and $c = \sum_h W_hc_h$."""
        total = jnp.zeros((), L.dtype)
        for members in _groups(self.heads):
            fields = _together(lambda head, _: head.gaussian(alpha, L), self.heads, members, None)
            both = jnp.concatenate([fields.GL, fields.c[:, :, None]], axis=2)  # (h, p, r + 1)
            total = total + self._combined(members, jnp.swapaxes(both, 1, 2))
        return AffineField(total[:-1].T, total[-1])

    def _combined(self, members: list[int], out: Float[Array, "h n p"]) -> Float[Array, "n q"]:
        if self.W is None:
            return jnp.sum(out, axis=0)
        W = jnp.stack([self.W[h] for h in members]).astype(out.dtype)
        return jnp.einsum("h,hnp->np", W, out) if W.ndim == 1 else jnp.einsum("hqp,hnp->nq", W, out)


def _groups(heads: tuple[AbstractAttention, ...]) -> list[list[int]]:
    """Indices of heads that share class, flags and shapes, in order of appearance."""
    groups: dict[Any, list[int]] = {}
    for index, head in enumerate(heads):
        leaves, structure = jax.tree.flatten(head)
        key = (structure, *((leaf.shape, leaf.dtype) if eqx.is_array(leaf) else leaf for leaf in leaves))
        groups.setdefault(key, []).append(index)
    return list(groups.values())


def _together(fn: Callable[..., Any], heads: tuple[AbstractAttention, ...], members: list[int], state: Any) -> Any:
    """`fn(head, state)` of the members of a group, along a new first axis."""
    if len(members) == 1:
        only = fn(heads[members[0]], jax.tree.map(lambda a: a[0], state))
        return jax.tree.map(lambda a: a[None], only)
    parts = [eqx.partition(heads[h], eqx.is_array) for h in members]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(arrays for arrays, _ in parts))
    return jax.vmap(lambda arrays, state: fn(eqx.combine(arrays, parts[0][1]), state))(stacked, state)


def _output_matrices(W: Any, H: int) -> Any:
    if W is None or isinstance(W, eqx.Module):
        return W
    floating = jnp.result_type(float)
    try:
        parts = [w if eqx.is_array(w) else jnp.asarray(w, floating) for w in W]
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"W = {W!r} is not a list of numbers or of matrices, one per head.") from None
    parts = [w if jnp.issubdtype(w.dtype, jnp.floating) else jnp.asarray(w, floating) for w in parts]
    if len(parts) != H or len({w.ndim for w in parts}) != 1 or parts[0].ndim not in (0, 2):
        shapes = ", ".join(str(w.shape) for w in parts)
        raise InputError(f"W has parts of shapes {shapes} for {H} heads; give one number or one matrix per head.")
    if is_concrete(parts) and not all(np.isfinite(np.asarray(w)).all() for w in parts):
        raise InputError("W has entries that are not finite; give finite numbers.")
    return jnp.stack(parts) if len({w.shape for w in parts}) == 1 else tuple(parts)


def temperatures(heads: int = 2, beta: float = 1.0, spread: float = 4.0) -> MultiHead:
    r"""Softmax heads at inverse temperatures $\beta, \beta s, \beta s^2, \dots$, averaged: a map for any dimension."""
    return MultiHead([Softmax(beta * spread**h) for h in range(heads)], W=[1 / heads] * heads)


ENTRY = Entry(
    kind="attention",
    name="multi-head",
    factory=temperatures,
    summary="the mean of softmax heads at different temperatures",
    params={
        "heads": Param(2, bounds=(1, 256), symbol="H", help="number of heads"),
        "beta": Param(1.0, bounds=(0.0, 1e6), scale="log", symbol="β", help="inverse temperature"),
        "spread": Param(4.0, bounds=(0.1, 10.0), scale="log", help="ratio of a head's inverse temperature to the last"),
    },
    symmetries=frozenset({"permutation", "rotation", "splitting"}),
    papers=("unified",),
)
