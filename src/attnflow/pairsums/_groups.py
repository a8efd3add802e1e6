"""Several measures side by side in one cloud: tokens see those of their own measure."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..checks import whole
from ..errors import InputError
from ..spaces import Count, Numbers
from ._pairs import AbstractPairs, integer_labels


class Groups(AbstractPairs):
    """A token sees the tokens of its own label, and itself: the labels part one cloud into measures that move apart.

    **Arguments:** `labels (n,)`, one integer for each token; or `count`, for so many groups of equal size, one after
    the other. With a map whose weights are normalised (softmax) every measure moves as it would alone; the masses of a
    measure need not sum to one.
    """

    labels: Int[Array, " n"] | None
    count: int | None = eqx.field(static=True)

    def __init__(self, labels: Numbers | None = None, count: Count | None = None):
        if (labels is None) == (count is None):
            raise InputError("give a label for each token, or the count of equal groups: Groups(count=4).")
        self.labels = None if labels is None else integer_labels(labels, "labels")
        self.count = None if count is None else whole("count", count)

    @property
    def normalized(self) -> bool:
        return False

    @property
    def reflexive(self) -> bool:
        return True

    @property
    def among_keys(self) -> "Groups":
        return self

    def logit(self, i: Int[Array, " a"], j: Int[Array, " b"], n: int, m: int) -> None:
        return None

    def log_weight(self, i: Int[Array, " a"], j: Int[Array, " b"], n: int, m: int) -> Float[Array, "a b"]:
        if n != m or (self.labels is not None and self.labels.shape != (n,)):
            given = "" if self.labels is None else f" and {self.labels.shape[0]} labels"
            raise InputError(f"there are {n} queries, {m} keys{given}; give one label per token.")
        return jnp.where(self._label(i, n)[:, None] == self._label(j, n)[None, :], 0.0, -jnp.inf)

    def _label(self, i: Int[Array, " a"], n: int) -> Int[Array, " a"]:
        if self.labels is not None:
            return self.labels[i]
        return i * (self.count or 1) // n

    @property
    def T(self) -> "Groups":
        return self
