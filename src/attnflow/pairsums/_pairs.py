r"""Which pairs of tokens see each other, and with what positional weight.

A `pairs` object is data owned by a model, never by an attention map, so that one mask serves every map. For the tile
of queries `i` against keys `j` of an `n`-by-`m` problem it gives

- `logit(i, j, n, m)`: $b_{ij}$, added to the score *inside* the reduction, and
- `log_weight(i, j, n, m)`: $\ell_{ij}$, whose exponential multiplies *outside* it ($-\infty$ leaves the pair out),

each `(len(i), len(j))`, or `None` where it is zero everywhere. With `normalized`, the outside weights of each query
are divided by their sum.
"""

import abc
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ..checks import flag, whole
from ..errors import InputError, shown
from ..spaces import Numbers, is_concrete
from ._rules import decided_together


class AbstractPairs(eqx.Module):
    """The contract of a pairs object; see the module's docstring."""

    normalized: eqx.AbstractVar[bool]

    @abc.abstractmethod
    def logit(self, i: Int[Array, " a"], j: Int[Array, " b"], n: int, m: int) -> Float[Array, "a b"] | None: ...

    @abc.abstractmethod
    def log_weight(self, i: Int[Array, " a"], j: Int[Array, " b"], n: int, m: int) -> Float[Array, "a b"] | None: ...

    @property
    def complete(self) -> bool:
        """Whether every query sees every key, and all by their masses alone: a query reads the measure."""
        return False

    @property
    def reflexive(self) -> bool:
        """Whether each query sees the key of its own number, where there are as many keys as queries."""
        return self.complete

    @property
    def ordered(self) -> bool:
        """Whether it matters in which order the tokens stand."""
        return not self.complete

    @property
    def triangular(self) -> bool:
        """Whether queries see no key behind their own number, or none before it."""
        return False

    @property
    def prefix(self) -> bool:
        """Whether query `i` sees the keys up to its number (`strict`: before it) with a `slope`, as `Causal` says."""
        return False

    @property
    def among_keys(self) -> "AbstractPairs | None":
        """The pairs of keys among themselves, but for a factor per row; `None`: known only where keys are queries."""
        return None

    def sees(self, keys: Bool[Array, " m"], n: int) -> Bool[Array, " n"]:
        """Whether each of the `n` queries sees one of these keys; free of cost where there is none of them."""
        m = keys.shape[0]

        def row(i: Array) -> Array:
            log_weight = self.log_weight(i[None], jnp.arange(m), n, m)
            return jnp.any(keys if log_weight is None else keys & (log_weight[0] > -jnp.inf))

        some, none = jnp.any(keys), jnp.zeros(n, bool)
        if is_concrete(some):  # outside a program a condition is an `if`, and compiles nothing
            return jax.lax.map(row, jnp.arange(n)) if some else none
        return jax.lax.cond(~decided_together(~some), lambda: jax.lax.map(row, jnp.arange(n)), lambda: none)

    @property
    def T(self) -> "AbstractPairs":
        """The same pairs with queries and keys exchanged."""
        return Transposed(self)


def weight_matrix(pairs: Any, n: Any) -> Float[Array, "n n"]:
    r"""The positional weights $w_{jk}$ of `n` tokens of equal weight: row $j$ is what query $j$ gives to its keys.

    They are $e^{b_{jk} + \ell_{jk}}$, inside and outside alike; rows sum to one if the pairs are `normalized` (a row
    that sees no key stays zero).
    """
    if not isinstance(pairs, AbstractPairs):
        raise InputError(f"a {type(pairs).__name__} is no pairs object; give Full, Causal or Positional.")
    n = whole("n", n)
    i = jnp.arange(n)
    log_weights = [a for a in (pairs.logit(i, i, n, n), pairs.log_weight(i, i, n, n)) if a is not None]
    log_w = sum(log_weights[1:], start=log_weights[0]) if log_weights else jnp.zeros((n, n))
    if not pairs.normalized:
        return jnp.exp(log_w)
    top = jnp.max(log_w, axis=1, keepdims=True)  # of a steep slope all weights may be too small to be written
    weights = jnp.exp(log_w - jnp.where(top == -jnp.inf, 0, top))
    return weights / jnp.where(top == -jnp.inf, 1, jnp.sum(weights, axis=1, keepdims=True))


def integer_labels(values: Any, name: str = "skip") -> Int[Array, " n"]:
    try:
        labels = jnp.asarray(values)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} = {shown(values)} holds no labels; give one integer per token.") from None
    if labels.ndim != 1 or not jnp.issubdtype(labels.dtype, jnp.integer):
        raise InputError(f"{name} has shape {labels.shape} and dtype {labels.dtype}; give one integer per token.")
    return labels


def _real(dtype: Any) -> bool:
    return jnp.issubdtype(dtype, jnp.floating) or jnp.issubdtype(dtype, jnp.integer)


class Full(AbstractPairs):
    """Every query sees every key; `skip` leaves out pairs of equal label.

    `skip` is one array of integer labels for both sides (`jnp.arange(n)` removes the self term), or a pair
    `(labels of queries, labels of keys)`.
    """

    skip: tuple[Int[Array, " n"], Int[Array, " m"]] | None
    normalized: bool = eqx.field(static=True)

    def __init__(self, skip: Numbers | None = None, normalized: bool = False):
        if isinstance(skip, tuple) and len(skip) != 2:
            raise InputError(f"skip is a tuple of {len(skip)}; give one array, or (labels of queries, labels of keys).")
        sides = skip if isinstance(skip, tuple) else (skip, skip)
        self.skip = None if skip is None else (integer_labels(sides[0]), integer_labels(sides[1]))
        self.normalized = flag("normalized", normalized)

    @property
    def complete(self) -> bool:
        return self.skip is None and not self.normalized

    @property
    def reflexive(self) -> bool:
        return self.skip is None

    @property
    def ordered(self) -> bool:
        return False

    @property
    def among_keys(self) -> "Full":
        return Full() if self.skip is None else Full(skip=(self.skip[1], self.skip[1]))

    def sees(self, keys: Bool[Array, " m"], n: int) -> Bool[Array, " n"]:
        return jnp.broadcast_to(jnp.any(keys), (n,)) if self.complete else super().sees(keys, n)

    def logit(self, i: Int[Array, " a"], j: Int[Array, " b"], n: int, m: int) -> None:
        return None

    def log_weight(self, i: Int[Array, " a"], j: Int[Array, " b"], n: int, m: int) -> Float[Array, "a b"] | None:
        if self.skip is None:
            return None
        queries, keys = self.skip
        if queries.shape != (n,) or keys.shape != (m,):
            raise InputError(
                f"skip has {queries.shape[0]} query and {keys.shape[0]} key labels for {n} queries and {m} keys; "
                "give one label per token."
            )
        return jnp.where(queries[i][:, None] == keys[j][None, :], -jnp.inf, 0.0)


class Causal(AbstractPairs):
    r"""Query at position $p$ sees keys $j \le p$ (`strict`: $j < p$), with an ALiBi slope $\lambda$ per token.

    - By default $-\lambda (p - j)$ is added to the logit, inside. With `outside=True`, $e^{-\lambda (p - j)}$
      multiplies outside.
    - `normalized=True`: outside, and these weights (with the tokens' own) sum to one in each row, while the content
      stays unnormalised.

    Query `i` of `n` stands at position `i + m - n` (the queries are the last tokens) unless `at` gives positions.
    """

    strict: bool = eqx.field(static=True)
    slope: Float[Array, ""] | None
    normalized: bool = eqx.field(static=True)
    at: Int[Array, " n"] | None
    outside: bool = eqx.field(static=True)

    def __init__(
        self,
        strict: bool = False,
        slope: Numbers | None = None,
        normalized: bool = False,
        at: Numbers | None = None,
        outside: bool | None = None,
    ):
        if slope is not None and is_concrete(slope) and not _real(np.asarray(slope).dtype):
            raise InputError(f"slope = {slope!r} is not a number; give the ALiBi slope per token.")
        self.strict = flag("strict", strict)
        self.slope = None if slope is None else jnp.asarray(slope, jnp.result_type(float))
        self.normalized = flag("normalized", normalized)
        self.at = None if at is None else integer_labels(at, "at")
        self.outside = self.normalized if outside is None else flag("outside", outside)
        if self.slope is not None and self.slope.ndim != 0:
            raise InputError(f"slope has shape {self.slope.shape}; give one number, the ALiBi slope per token.")
        if self.slope is not None and is_concrete(self.slope) and not 0 <= float(np.asarray(self.slope)) < np.inf:
            raise InputError(f"slope = {float(self.slope):g} must be finite and not negative.")

    @property
    def reflexive(self) -> bool:
        return not self.strict and self.at is None

    @property
    def triangular(self) -> bool:
        return True

    @property
    def prefix(self) -> bool:
        return self.at is None

    @property
    def among_keys(self) -> "Causal":
        return Causal(strict=self.strict, slope=self.slope)

    def position(self, i: Int[Array, " a"], n: int, m: int) -> Int[Array, " a"]:
        """Where some of the `n` queries stand among the `m` keys."""
        if self.at is not None and self.at.shape != (n,):
            raise InputError(f"at gives {self.at.shape[0]} positions for {n} queries; give one per query.")
        return i + (m - n) if self.at is None else self.at[i]

    def _lag(self, i: Int[Array, " a"], j: Int[Array, " b"], n: int, m: int) -> Int[Array, "a b"]:
        return self.position(i, n, m)[:, None] - j[None, :]

    def logit(self, i: Int[Array, " a"], j: Int[Array, " b"], n: int, m: int) -> Float[Array, "a b"] | None:
        return None if self.outside else self._alibi(i, j, n, m)

    def log_weight(self, i: Int[Array, " a"], j: Int[Array, " b"], n: int, m: int) -> Float[Array, "a b"]:
        lag = self._lag(i, j, n, m)
        seen = lag > 0 if self.strict else lag >= 0
        alibi = self._alibi(i, j, n, m) if self.outside else None
        return jnp.where(seen, 0.0 if alibi is None else alibi, -jnp.inf)

    def sees(self, keys: Bool[Array, " m"], n: int) -> Bool[Array, " n"]:
        m = keys.shape[0]
        first = jnp.min(jnp.where(keys, jnp.arange(m), m))
        last = self.position(jnp.arange(n), n, m) - int(self.strict)
        return (last >= first) & (first < m)

    def _alibi(self, i: Int[Array, " a"], j: Int[Array, " b"], n: int, m: int) -> Float[Array, "a b"] | None:
        if self.slope is None:
            return None
        # Only lags that are seen matter; clipping keeps an unseen pair's bias from overflowing.
        return -self.slope * jnp.maximum(self._lag(i, j, n, m), 0).astype(self.slope.dtype)


class Transposed(AbstractPairs):
    """The pairs of a transposed sum: what queries give, keys now give."""

    pairs: AbstractPairs

    def __init__(self, pairs: AbstractPairs):
        self.pairs = pairs

    @property
    def normalized(self) -> bool:
        if self.pairs.normalized:
            raise InputError(
                "positional weights normalised per query have no transpose of their own; "
                "transpose Causal(..., outside=True) and put minus the rows' log mass into log_w."
            )
        return False

    @property
    def complete(self) -> bool:
        return self.pairs.complete

    @property
    def reflexive(self) -> bool:
        return self.pairs.reflexive

    @property
    def ordered(self) -> bool:
        return self.pairs.ordered

    @property
    def triangular(self) -> bool:
        return self.pairs.triangular

    def logit(self, i: Int[Array, " a"], j: Int[Array, " b"], n: int, m: int) -> Float[Array, "a b"] | None:
        b = self.pairs.logit(j, i, m, n)
        return None if b is None else b.T

    def log_weight(self, i: Int[Array, " a"], j: Int[Array, " b"], n: int, m: int) -> Float[Array, "a b"] | None:
        lw = self.pairs.log_weight(j, i, m, n)
        return None if lw is None else lw.T

    @property
    def T(self) -> AbstractPairs:
        return self.pairs
