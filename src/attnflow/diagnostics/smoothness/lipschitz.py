r"""The local Lipschitz constant of attention: the norm of its derivative at given tokens.

$$ \|Df(X)\| = \max_H \frac{|Df(X)[H]|}{|H|}, \qquad |H|^2 = \sum_i w_i|h_i|^2 . $$

It says how fast the distance of two clouds can grow that start close: along a flow, $W_2$ grows at most at this rate.
"""

import warnings
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from ...attention import AbstractAttention
from ...checks import number, whole
from ...errors import AttnflowWarning, InputError, shown
from ...pairsums import AbstractPairs, Full, check_kernel
from ...spaces import Count, Key, Number, Numbers, checked_key, is_concrete
from .._clouds import Tokens, along, clouds, in_memory
from .derivative import check_map, field
from .derivative import whole as matrix

DENSE = 600  # numbers of a cloud, n d, up to which the matrix of the derivative is made
METHODS = ("auto", "dense", "power")


class LocalLipschitz(NamedTuple):
    r"""The norm of a derivative, of one cloud or for every leading axis.

    - `value (...)`: $\|Df(X)\|$; `direction (..., n, d)`: the displacement of norm one that is magnified so much.
    - `converged (...)`, `iterations (...)`: of the power iteration; singular values are exact, with 0 iterations. A
      derivative that is not finite (of a map that did not converge) has the norm NaN, which is not converged.
    - `limits`: sentences that say why some value may not be trusted; empty if nothing is known.
    """

    value: Float[Array, "*batch"]
    direction: Float[Array, "*batch n d"]
    converged: Bool[Array, "*batch"]
    iterations: Int[Array, "*batch"]
    limits: tuple[str, ...] = ()


def local_lipschitz(
    attention: AbstractAttention,
    x: Tokens,
    weights: Numbers | None = None,
    *,
    pairs: AbstractPairs = Full(),
    method: str = "auto",
    tol: Number = 1e-6,
    max_iterations: Count = 2000,
    kernel: str = "auto",
    key: Key | None = None,
) -> LocalLipschitz:
    r"""$\|Df(X)\|$ of any attention map, masked or not.

    **Arguments:**

    - `x (..., n, d)`: a run, or clouds, one after the other in one compiled program; `weights (n,)`: all positive,
      `None` for equal ones or those of the run; `pairs`: the visible pairs, `Causal()` for masked attention.
    - `method`: `"dense"`, singular values of the matrix; `"power"`, iteration with $Df^\top Df$ in memory $O(n)$ from a
      random start (`key`); `"auto"` takes the matrix up to $nd = 600$.
    - `tol`: the iteration ends when the relative error of the norm is below that, as a geometric decay of its last two
      changes predicts; after `max_iterations` it ends without, which `converged` and a warning say.
    """
    check_map(attention, pairs)
    if not isinstance(method, str) or method not in METHODS:
        raise InputError(f"method {shown(method)} is unknown; choose one of {', '.join(METHODS)}.")
    tol, max_iterations = number("tol", tol), whole("max_iterations", max_iterations, 2, 2**31 - 1)
    if not 0 < tol < 1:
        raise InputError(f"tol = {tol:g} is no relative error; take a number between 0 and 1, for example 1e-6.")
    key = jax.random.key(0) if key is None else checked_key(key)
    batch = clouds(x, weights=weights)
    xs, w = batch.true("the norm"), batch.w
    if is_concrete(xs) and not np.isfinite(np.asarray(xs)).all():
        raise InputError("the tokens have an entry that is not finite; give numbers.")
    if w is not None and is_concrete(w) and not (np.asarray(w) > 0).all():
        raise InputError(f"token {int(np.argmin(np.asarray(w)))} has weight zero and no norm; leave it out.")
    n, d = xs.shape[-2:]
    kernel = check_kernel(kernel)
    if method == "dense" or (method == "auto" and n * d <= DENSE):
        in_memory((n * d) ** 2, f"the entries of a matrix for {n} tokens")
        values = along(_singular, xs, w, attention, pairs)
    else:
        start = jax.random.normal(key, (n, d), xs.dtype)
        limits = (jnp.asarray(tol, xs.dtype), jnp.asarray(max_iterations))
        values = along(_powers, xs, w, attention, pairs, kernel, start, limits)
    norm = LocalLipschitz(*values)
    if is_concrete(norm.converged, norm.value):
        norm = norm._replace(limits=_limits(norm, max_iterations, tol))
        for sentence in norm.limits:
            warnings.warn(sentence, AttnflowWarning, stacklevel=2)
    return norm


def _limits(norm: LocalLipschitz, max_iterations: int, tol: float) -> tuple[str, ...]:
    sure, known = np.asarray(norm.converged), np.isfinite(np.asarray(norm.value))
    many = lambda lost: "the norm" if sure.ndim == 0 else f"{int(lost.sum())} of {sure.size} norms"  # noqa: E731
    sentences = []
    if not known.all():
        sentences.append(
            f"{many(~known)} of the derivative came out NaN: the map did not converge there (Sinkhorn: raise "
            "max_iterations), or overflowed."
        )
    if (known & ~sure).any():
        sentences.append(
            f"the power iteration ended after {max_iterations} steps before {many(known & ~sure)} had settled to "
            f"{tol:g}; raise max_iterations, or take method='dense'."
        )
    return tuple(sentences)


def _root(x: Array, w: Array | None) -> Array:
    """Square roots of n times the weights: in these units the norm is the Euclidean one."""
    return jnp.ones((x.shape[0], 1), x.dtype) if w is None else jnp.sqrt(x.shape[0] * w)[:, None]


def _singular(x: Array, w: Array | None, attention: Any, pairs: AbstractPairs) -> tuple[Array, Array, Array, Array]:
    root, (n, d) = _root(x, w), x.shape
    J = matrix(attention, x, w, pairs)
    J = root[:, :, None, None] * J / root[None, None, :, :]
    _, values, right = jnp.linalg.svd(J.reshape(-1, n * d), full_matrices=False)
    value = jnp.where(jnp.all(jnp.isfinite(J)), values[0], jnp.nan)
    return value, right[0].reshape(n, d) / root * jnp.sqrt(n), jnp.isfinite(value), jnp.asarray(0)


def _powers(
    x: Array, w: Array | None, attention: Any, pairs: AbstractPairs, kernel: str, start: Array, limits: Any
) -> tuple[Array, Array, Array, Array]:
    root, (tol, most) = _root(x, w), limits
    # The linear map is made once; engines that checkpoint compute their tiles again, and memory stays O(n).
    _, push = jax.linearize(lambda y: root * field(attention, y / root, w, pairs, kernel), root * x)
    pull = jax.linear_transpose(push, x)
    round_off = 8 * jnp.finfo(x.dtype).eps

    def step(state: Any) -> Any:
        v, square, change, _, k = state
        pushed = push(v)
        new = jnp.vdot(pushed, pushed)
        (back,) = pull(pushed)
        length = jnp.linalg.norm(back)
        gone = jnp.abs(new - square)
        ratio = gone / jnp.where(change > 0, change, 1)
        # Changes that shrink geometrically by `ratio` leave change * ratio / (1 - ratio) to come.
        left = jnp.where(ratio < 1, gone * ratio / jnp.where(ratio < 1, 1 - ratio, 1), jnp.inf)
        small = jnp.maximum(gone, left) <= 2 * tol * new
        done = (k >= 2) & (small | (gone <= round_off * new))
        return jnp.where(length > 0, back / jnp.where(length > 0, length, 1), v), new, gone, done, k + 1

    def more(state: Any) -> Array:
        return ~state[3] & (state[4] < most) & jnp.isfinite(state[1])  # NaN does not converge

    zero = jnp.zeros((), x.dtype)
    first = (start / jnp.linalg.norm(start), zero, zero, jnp.asarray(False), jnp.asarray(0))
    v, square, _, done, k = jax.lax.while_loop(more, step, first)
    return jnp.sqrt(square), v / root * jnp.sqrt(x.shape[0]), done & jnp.isfinite(square), k
