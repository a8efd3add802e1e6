"""A user's own field, with everything the library's models get: solvers, runs, diagnostics, plots."""

from collections.abc import Callable

import equinox as eqx
from jaxtyping import Array, ArrayLike, Float, PRNGKeyArray

from ..errors import InputError, shown
from ..spaces import AbstractSpace, Euclidean
from ._model import AbstractModel, check_parts


class Flow(AbstractModel):
    r"""$\dot x = P_x f(t, x, w)$ for a function `fn(t, x, w) -> (n, d)`, `w` the weights or `None`.

    >>> import jax.numpy as jnp, attnflow as af
    >>> run = af.simulate(af.Flow(lambda t, x, w: -x, af.Euclidean()), jnp.ones((1, 2)), t1=1.0)
    >>> bool(abs(run.xs[-1, 0, 0] - jnp.exp(-1.0)) < 1e-4)
    True
    """

    fn: Callable[..., Array]
    space: AbstractSpace
    clock: str = eqx.field(static=True)

    def __init__(self, fn: Callable[..., Array], space: AbstractSpace | None = None, clock: str = "t"):
        if not callable(fn):
            raise InputError(f"fn = {shown(fn)} is no function; give one of time, tokens and weights: fn(t, x, w).")
        if not isinstance(clock, str) or not clock:
            raise InputError(f"clock = {shown(clock)} is no name of a time; give a text such as 't'.")
        check_parts(space=space)
        self.fn = fn
        self.space = Euclidean() if space is None else space
        self.clock = clock

    def force(
        self,
        t: ArrayLike,
        x: Float[Array, "n d"],
        weights: Float[Array, " n"] | None,
        *,
        key: PRNGKeyArray | None = None,
        kernel: str = "auto",
    ) -> Float[Array, "n d"]:
        return self.fn(t, x, weights)
