r"""The Sinkhorn divergence: transport with an entropy, and the bias of the entropy taken away.

$$ T_\varepsilon(\mu, \nu) = \min_P \sum_{ij} P_{ij}|x_i - y_j|^2 + \varepsilon\,\mathrm{KL}(P \,|\, a \otimes b), $$

$$ S_\varepsilon(\mu, \nu)
   = T_\varepsilon(\mu, \nu) - \tfrac12 T_\varepsilon(\mu, \mu) - \tfrac12 T_\varepsilon(\nu, \nu). $$

$S_\varepsilon \ge 0$, with equality for equal laws alone; it tends to $W_2^2$ as $\varepsilon \to 0$, and it is $|a|^2$
for a shift by $a$ at every $\varepsilon$. The plan is $P_{ij} = a_i b_j e^{(f_i + g_j - |x_i - y_j|^2)/\varepsilon}$
and the potentials solve

$$ f_i = -\varepsilon\log\sum_j b_j e^{(g_j - |x_i - y_j|^2)/\varepsilon} =: (Lg)_i , \qquad
   g = L^{\!\top} f, \qquad T_\varepsilon = \sum_i a_i f_i + \sum_j b_j g_j . $$

They are iterated in the log domain, $f$ and $g$ in turns; for one law with itself $f \leftarrow (f + Lf)/2$, which
converges in a few steps. At the solution the derivative of $T_\varepsilon$ by the potentials is zero, so that gradients
in the points come from $Lg$ at fixed $g$, and nothing is differentiated through the iteration.

Reference: Feydy et al., *Interpolating between optimal transport and MMD using Sinkhorn divergences*, AISTATS 2019.
"""

import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int

from ..checks import finite_array, flag, number, whole
from ..errors import InputError, SolveError
from ..pairsums import SquaredDistance, pair_sums
from ..spaces import Count, Number, Numbers, check_weights, is_concrete, log_weights


class SinkhornDivergence(NamedTuple):
    r"""`value` $S_\varepsilon$, a square of a length and never negative; NaN where the iteration did not converge.

    `error` is the mass that the three plans move wrongly, the largest of them; `iterations` the most that one took.
    """

    value: Float[Array, ""]
    converged: Bool[Array, ""]
    iterations: Int[Array, ""]
    error: Float[Array, ""]

    @property
    def distance(self) -> Float[Array, ""]:
        r"""$\sqrt{S_\varepsilon}$, to compare with $W_2$."""
        return jnp.sqrt(self.value)

    @property
    def message(self) -> str:
        """How it ended, in a sentence."""
        left = f"{int(self.iterations)} iterations left {float(self.error):.2g} of the mass in the wrong place"
        return f"converged: {left}." if self.converged else f"not converged: {left}; allow more, or a larger eps."


def sinkhorn_divergence(
    x: Numbers,
    y: Numbers,
    eps: Number,
    weights: Numbers | None = None,
    other_weights: Numbers | None = None,
    *,
    tol: Number = 1e-6,
    max_iterations: Count = 2000,
    throw: bool = True,
) -> SinkhornDivergence:
    r"""$S_\varepsilon$ of two clouds for the squared chordal distance, $\varepsilon$ = `eps`; take it for its gradient.

    **Arguments:** points `x (n, d)`, `y (m, d)`; `eps`, the regularisation, a squared length; masses `weights (n,)` and
    `other_weights (m,)`, `None` for equal ones; `tol`, the mass that may be in the wrong place; `throw=False`
    returns a value of NaN where `max_iterations` were not enough.

    Works under `jit`, `grad` and `vmap`. Time is four sums over all pairs for every iteration, and iterations grow
    like the squared diameter over `eps`; memory is linear for large clouds (the sums are blocked).
    """
    throw = flag("throw", throw)
    x, y = _cloud("x", x), _cloud("y", y)
    if x.shape[1] != y.shape[1]:
        raise InputError(f"x has {x.shape[1]} coordinates and y {y.shape[1]}; they must live in one space.")
    eps, tol = _positive("eps", eps, "a squared length", x.dtype), _positive("tol", tol, "a part of the mass", x.dtype)
    most = jnp.asarray(whole("max_iterations", max_iterations))
    a, b = (_masses(w, v) for w, v in ((weights, x), (other_weights, y)))
    divergence = _divergence(x, y, a, b, eps, tol, most)
    if throw and is_concrete(divergence.converged) and not divergence.converged:
        raise SolveError(f"the Sinkhorn divergence is {divergence.message}")
    return divergence


@eqx.filter_jit
def _divergence(x: Array, y: Array, a: Array, b: Array, eps: Array, tol: Array, most: Array) -> SinkhornDivergence:
    cross = _transport(x, y, a, b, eps, tol, most)
    one, two = (_transport(z, z, w, w, eps, tol, most, self_term=True) for z, w in ((x, a), (y, b)))
    steps, errors = (jnp.stack(v) for v in zip(cross[1:], one[1:], two[1:], strict=True))
    error = jnp.max(errors)
    converged = error <= tol
    value = jnp.maximum(cross[0] - (one[0] + two[0]) / 2, 0)  # below zero is round-off
    return SinkhornDivergence(jnp.where(converged, value, jnp.nan), converged, jnp.max(steps), error)


def _transport(
    x: Array, y: Array, a: Array, b: Array, eps: Array, tol: Array, most: Array, self_term: bool = False
) -> tuple[Array, Array, Array]:
    r"""$T_\varepsilon$, iterations, and the mass in the wrong place."""
    fixed = [jax.lax.stop_gradient(v) for v in (x, y, a, b, eps)]
    to_rows = functools.partial(_soft_least, *fixed[:2], log_weights(fixed[3]), fixed[4])
    to_columns = functools.partial(_soft_least, fixed[1], fixed[0], log_weights(fixed[2]), fixed[4])

    def step(carry: tuple[Array, Array, Array, Array]) -> tuple[Array, Array, Array, Array]:
        f, g, count, _ = carry
        new = to_rows(g)
        # The plan of (f, g) has the row sums a exp((f - new)/eps), and the right column sums (or those of its rows).
        error = jnp.sum(fixed[2] * jnp.abs(jnp.expm1((f - new) / fixed[4])))
        if self_term:
            f = g = (f + new) / 2
        else:
            f, g = new, to_columns(new)
        return f, g, count + 1, error

    def going_on(carry: tuple[Array, Array, Array, Array]) -> Array:
        return (carry[2] < most) & ~(carry[3] <= tol)

    start = jnp.zeros_like(a), jnp.zeros_like(b), jnp.zeros_like(most), jnp.asarray(jnp.inf, x.dtype)
    _, g, count, error = jax.lax.while_loop(going_on, step, start)
    g = jax.lax.stop_gradient(g)
    return jnp.sum(a * _soft_least(x, y, log_weights(b), eps, g)) + jnp.sum(b * g), count, error


def _soft_least(x: Array, y: Array, log_b: Array, eps: Array, g: Array) -> Array:
    r"""$-\varepsilon\log\sum_j b_j e^{(g_j - |x_i - y_j|^2)/\varepsilon}$ for every $i$."""
    score = SquaredDistance(1 / eps, by_difference=True)
    return -eps * pair_sums(score, x, y, 1.0, log_w=log_b + g / eps, reduce="exp")[1]


def _cloud(name: str, points: Numbers) -> Array:
    dtype = jnp.result_type(float)
    if is_concrete(points) and np.abs(finite_array(name, points)).max(initial=0) > float(jnp.finfo(dtype).max):
        raise InputError(f"{name} has an entry beyond the range of {dtype.name}; rescale.")
    cloud = jnp.asarray(points, dtype)
    if cloud.ndim != 2 or 0 in cloud.shape:
        raise InputError(f"{name} has shape {cloud.shape}; give points as rows, (n, d), at least one.")
    return cloud


def _positive(name: str, value: ArrayLike, what: str, dtype: Any) -> Array:
    """A positive number, in this precision too: one that becomes zero there would divide by it."""
    if is_concrete(value) and not (float(jnp.finfo(dtype).tiny) <= number(name, value) <= float(jnp.finfo(dtype).max)):
        raise InputError(f"{name} = {value} must be a positive number of {jnp.dtype(dtype).name}, {what}.")
    return jnp.asarray(value, dtype)


def _masses(w: Numbers | None, x: Array) -> Array:
    n = x.shape[0]
    if w is not None and is_concrete(w):
        finite_array("the weights", w)
    checked = check_weights(w, n)
    return jnp.full(n, 1 / n, x.dtype) if checked is None else checked.astype(x.dtype)
