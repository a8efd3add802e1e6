r"""Positional weights given as numbers, by lag or as a matrix: visibility without a formula."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from ..checks import finite_array, flag
from ..errors import InputError
from ..spaces import Numbers, is_concrete
from ._pairs import AbstractPairs


class Positional(AbstractPairs):
    r"""Query at position $p$ sees key $j$ with the weight $w_{p-j}$ (by lag) or $w_{pj}$ (a matrix); zero: not at all.

    - `weights (k,)` are those of the lags $0, \dots, k-1$: no query sees the future, nor a key beyond the last
      lag, so that `Positional(np.ones(4))` is a window of four tokens, oneself included;
    - `weights (k, k)` are those of pairs of positions, of which the first $m \le k$ are used for $m$ keys: a prompt
      cut short is the beginning of a longer one.

    They multiply outside the reduction; with `outside=False` their logarithms are added to the score, inside (for
    softmax it is the same). `normalized=True`: the weights of a row (with the tokens' own) sum to one, while the
    content stays unnormalised. Query `i` of `n` stands at position `i + m - n`, as for `Causal`.
    """

    weights: Float[Array, " k"] | Float[Array, "k k"]
    normalized: bool = eqx.field(static=True)
    outside: bool = eqx.field(static=True)

    def __init__(self, weights: Numbers, normalized: bool = False, outside: bool = True):
        array = finite_array("weights", weights) if is_concrete(weights) else jnp.asarray(weights)
        square = array.ndim == 2 and array.shape[0] == array.shape[1]
        if not (array.ndim == 1 or square) or array.size == 0:
            raise InputError(f"weights have shape {array.shape}; give (k,), one for each lag, or a square matrix.")
        if isinstance(array, np.ndarray) and array.min() < 0:
            raise InputError(f"weights have the entry {array.min():g}; a weight is not negative, and 0 is not seen.")
        self.weights = jnp.asarray(array, jnp.result_type(float))
        self.normalized = flag("normalized", normalized)
        self.outside = flag("outside", outside)

    @property
    def by_lag(self) -> bool:
        """Whether weights belong to lags, so that no query sees the future."""
        return self.weights.ndim == 1

    @property
    def triangular(self) -> bool:
        return self.by_lag

    @property
    def among_keys(self) -> "Positional":
        return Positional(self.weights)

    def _at(self, i: Int[Array, " a"], j: Int[Array, " b"], n: int, m: int) -> Float[Array, "a b"]:
        """The weights of a tile; padding may index tokens beyond the last, whose weights do not matter."""
        position = (i + (m - n))[:, None]
        many = self.weights.shape[0]
        if self.by_lag:
            lag = position - j[None, :]
            return jnp.where((lag >= 0) & (lag < many), self.weights[jnp.clip(lag, 0, many - 1)], 0)
        if many < m:
            raise InputError(f"weights are given for {many} positions, and there are {m} keys; give a larger matrix.")
        return self.weights[jnp.clip(position, 0, many - 1), j[None, :]]

    def logit(self, i: Int[Array, " a"], j: Int[Array, " b"], n: int, m: int) -> Float[Array, "a b"] | None:
        if self.outside:
            return None
        w = self._at(i, j, n, m)
        return jnp.log(jnp.where(w > 0, w, 1))  # what is not seen is left out by its log weight

    def log_weight(self, i: Int[Array, " a"], j: Int[Array, " b"], n: int, m: int) -> Float[Array, "a b"]:
        w = self._at(i, j, n, m)
        # Guarded before the logarithm, so that the gradient of a weight is finite where another one is zero.
        return jnp.where(w > 0, jnp.log(jnp.where(w > 0, w, 1)) if self.outside else 0.0, -jnp.inf)
