r"""The contract of an attention map: the $\Gamma_\mu(x)$ that a query $x$ reads from $\mu = \sum_j w_j \delta_{y_j}$.

A map owns its parameters ($\beta$, $B$ or $Q, K$, and $V$) and goes through `pair_sums`; it knows no space, no mask and
no solver. A numeric field is an array, or a `Schedule` (see `attnflow.models`) that the model evaluates at its time.
"""

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._numbers import real_array
from ..errors import InputError
from ..pairsums import AbstractPairs, AbstractScore, Full, check_width
from ..pairsums._algebra import matmul
from ..spaces import is_concrete


class AbstractAttention(eqx.Module):
    """A map `(x, y, w) -> velocity`; queries `(n, d)`, keys `(m, d)`, weights `(m,)` or `None` for equal ones.

    The velocity has the height of `V`: `(n, d)`, except in a head of a multi-head map, whose `V` may be `(k, d)`.
    A query that no key is left for gets the velocity zero, with zero gradient.
    `clock` names the time its flow runs in: times of differently normalised maps do not compare.

    A map may offer `recipe(y, w, *, pairs, kernel) -> (log_w, reduce)`: what makes
    `pair_weights(score, x, y, log_w=…, pairs=…, reduce=…) @ (V y)` its velocity. Attention matrices are made from it.

    `gaussian(alpha, L) -> (GL, c)` is its velocity on a Gaussian law, as in `attnflow.attention._gaussian`; `closure`
    says whether that is `"exact"`, the best approximation by a Gaussian (`"projected"`), or refused (`"none"`).
    """

    clock: eqx.AbstractVar[str]
    score: eqx.AbstractVar[AbstractScore]

    @abc.abstractmethod
    def __call__(
        self,
        x: Float[Array, "n d"],
        y: Float[Array, "m d"],
        w: Float[Array, " m"] | None = None,
        *,
        pairs: AbstractPairs = Full(),
        kernel: str = "auto",
        state: Any = None,
    ) -> Float[Array, "n p"]: ...

    @property
    def closure(self) -> str:
        return "none"

    @property
    def exact(self) -> bool:
        """Whether Gaussian laws stay Gaussian under this map, as `gaussian` says."""
        return self.closure == "exact"

    def gaussian(self, alpha: Float[Array, " d"], L: Float[Array, "d r"]) -> Any:
        raise InputError(
            f"{type(self).__name__} attention has no Gaussian closure; take Softmax, L2, Sinkhorn, Linear, a MultiHead "
            "of these, or the projection of Sigmoid."
        )


def parameter(name: str, value: Any, ndim: int) -> Any:
    """A numeric field of a map: an array of the right rank, or a module called with the time, which is kept."""
    if value is None or isinstance(value, eqx.Module):
        return value
    value = real_array(name, value, ndim)
    if is_concrete(value) and not np.isfinite(np.asarray(value)).all():
        where = tuple(map(int, np.argwhere(~np.isfinite(np.asarray(value)))[0]))
        entry = f"{name} = " if ndim == 0 else f"{name} has at {list(where)} the entry "
        raise InputError(f"{entry}{np.asarray(value)[where]:g}, which is not finite.")
    return jnp.asarray(value, value.dtype)  # no weak type: a new value never compiles again


def inverse_temperature(beta: Any) -> Any:
    r"""$\beta \ge 0$, refused otherwise: repulsion is a sign of the matrices, not of the temperature."""
    beta = parameter("beta", beta, ndim=0)
    if beta is None:
        raise InputError("beta is missing; give an inverse temperature, for example beta=1.0.")
    least = _least(beta)
    if least is not None and least < 0:
        raise InputError(f"beta = {least:g} is negative; take beta >= 0 and repulsion from V or B (V=-B, K=-Q).")
    return beta


def _least(value: Any) -> float | None:
    """The least value of a number or of a schedule that lists its values; `None` where they cannot be looked at."""
    values = getattr(value, "values", None) if isinstance(value, eqx.Module) else value
    return None if values is None or not is_concrete(values) else float(np.min(np.asarray(values)))


def non_negative(name: str, value: Any) -> Any:
    """A number that is at least zero, refused otherwise."""
    value = parameter(name, value, ndim=0)
    if value is None:
        raise InputError(f"{name} is missing; give a number, at least 0.")
    least = _least(value)
    if least is not None and least < 0:
        raise InputError(f"{name} = {least:g} is negative; take a number, at least 0.")
    return value


def positive(name: str, value: Any) -> Any:
    """A number greater than zero, at all times if it is a schedule; refused otherwise."""
    value = non_negative(name, value)
    if _least(value) == 0:
        raise InputError(f"{name} = 0 moves no token; take a number greater than 0.")
    return value


def score_matrices(B: Any, Q: Any, K: Any) -> tuple[Any, Any, Any]:
    r"""`B`, or `Q` and `K` with $B = Q^\top K$, as matrices; giving both is refused."""
    B, Q, K = parameter("B", B, 2), parameter("Q", Q, 2), parameter("K", K, 2)
    if (Q is None) != (K is None):
        raise InputError(f"{'K' if K is None else 'Q'} is missing; Q and K come together (B = Q^T K).")
    if B is not None and Q is not None:
        raise InputError("give B, or Q and K (B = Q^T K), not both.")
    return B, Q, K


def apply_value(V: Float[Array, "p e"] | None, y: Float[Array, "m d"]) -> Float[Array, "m p"]:
    """`V y_j` for every row; `None` is the identity."""
    if V is None:
        return y
    check_width("V", V, y.shape[1])
    return matmul(y, V.astype(y.dtype).T)
