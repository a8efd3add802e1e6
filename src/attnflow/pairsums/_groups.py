"""Several measures side by side in one cloud: tokens see those of their own measure."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..errors import InputError
from ..spaces import Numbers
from ._pairs import AbstractPairs, integer_labels


class Groups(AbstractPairs):
    """A token sees the tokens of its own label, and itself: the labels part one cloud into measures that move apart.

    With a map whose weights are normalised (softmax) every measure then moves as it would alone; the masses of a
    measure need not sum to one.
    """

    labels: Int[Array, " n"]

    def __init__(self, labels: Numbers):
        self.labels = integer_labels(labels, "labels")

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
        if self.labels.shape != (n,) or n != m:
            raise InputError(
                f"there are {self.labels.shape[0]} labels for {n} queries and {m} keys; give one label per token."
            )
        return jnp.where(self.labels[i][:, None] == self.labels[j][None, :], 0.0, -jnp.inf)

    @property
    def T(self) -> "Groups":
        return self
