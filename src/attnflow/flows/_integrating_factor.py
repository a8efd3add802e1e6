r"""An integrating factor with local restart: what is linear is solved exactly, the rest by Runge and Kutta.

Where rows of attention sum to one, $\dot x_i = \sum_j P_{ij}Vx_j = Vx_i + N_i(x)$. In the frame
$\zeta = e^{-sV}x$, which starts anew at every step, $\dot\zeta = e^{-sV}N(e^{sV}\zeta)$ is not stiff and does not grow.
The classical method of order 4 in $\zeta$, written in $x$ with $E = e^{hV/2}$, is

$$ \begin{aligned}
   k_1 &= N(x), & k_2 &= N\big(E(x + \tfrac h2 k_1)\big), & k_3 &= N\big(Ex + \tfrac h2 k_2\big), &
   k_4 &= N\big(E(Ex + hk_3)\big), \end{aligned} $$
$$ x \leftarrow E^2x + \tfrac h6\big(E^2k_1 + 2E(k_2 + k_3) + k_4\big). $$

It carries $x$, never $e^{-tV}$ over a long time, which is badly conditioned as soon as eigenvalues differ.

Reference: J. D. Lawson, Generalized Runge-Kutta processes for stable systems (1967); docs/theory/euclidean.md.
"""

import math
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from diffrax import LocalLinearInterpolation
from jaxtyping import Array, Float

from ..errors import AttnflowWarning, InputError
from ..models import AbstractModel, MovingFrame
from ..spaces import is_concrete

# Terms of the series of e^A: exact to rounding for |A| <= 1, and a step is refused from |hV| = 1 on.
TERMS = 18
# The step that resolves how attention changes is 0.1 / |V|; twice that is warned of.
ADVISED = 0.1
# From this fraction of the largest exponent on (170 of 709 in double precision) tokens are stored without their growth.
LONG = 0.24


class IntegratingFactor(diffrax.AbstractSolver):
    """The method of this module's text. It has no dense output: steps end at the saved times."""

    model: AbstractModel
    term_structure: ClassVar = diffrax.ODETerm
    interpolation_cls: ClassVar[Callable[..., Any]] = LocalLinearInterpolation

    def order(self, terms: Any) -> int:
        return 4

    def init(self, terms: Any, t0: Any, t1: Any, y0: Array, args: Any) -> None:
        return None

    def step(self, terms: Any, t0: Any, t1: Any, y0: Array, args: Any, solver_state: None, made_jump: Any) -> Any:
        V: Any = self.model.linear_part(y0.shape[-1])
        V = V.astype(y0.dtype)
        h = jnp.asarray(t1 - t0, y0.dtype)
        middle = t0 + 0.5 * (t1 - t0)
        E = exponential(0.5 * h * V).T  # tokens are rows

        def rest(t: Any, x: Array) -> Array:
            # Where a token attends to one token alone, this difference is exact; e^{-hV} is never needed.
            return terms.vf(t, x, args) - x @ V.T

        k1 = rest(t0, y0)
        half = y0 @ E
        k2 = rest(middle, half + 0.5 * h * (k1 @ E))
        k3 = rest(middle, half + 0.5 * h * k2)
        k4 = rest(t1, (half + h * k3) @ E)
        y1 = (half + h / 6 * (k1 @ E + 2 * (k2 + k3))) @ E + h / 6 * k4
        # As for `rk4`: against the embedded method with weights (0, 1, 2, 0)/3.
        error = h / 6 * ((k1 @ E - 2 * k3) @ E + k4)
        return y1, error, {"y0": y0, "y1": y1}, None, diffrax.RESULTS.successful

    def func(self, terms: Any, t0: Any, y0: Array, args: Any) -> Array:
        return terms.vf(t0, y0, args)


def exponential(A: Float[Array, "d d"]) -> Float[Array, "d d"]:
    """$e^A$ for $|A| \\le 1$ by its series. (JAX's own takes seconds to compile, with its choice of Padé degrees.)"""
    one = jnp.eye(A.shape[0], dtype=A.dtype)
    return jax.lax.fori_loop(0, TERMS, lambda k, E: one + A @ E / (TERMS - k), one)


def check_step(model: AbstractModel, d: int, dt: Any) -> None:
    """Refuse a model without linear part, and a step that cannot resolve it; warn of a long one."""
    V = model.linear_part(d)
    if V is None:
        raise InputError(
            "solver 'ifrk4' needs a model whose force is sum_j P_ij V x_j in R^d with rows of P that sum to one and a "
            "constant V, such as SelfAttention(Softmax(V=V), Euclidean()); take tsit5 or rk4 for this model."
        )
    if not is_concrete(V, dt):
        return
    size = float(np.linalg.norm(np.asarray(V, float), 2))
    if dt * size > 1:
        raise InputError(f"dt = {dt:g} is too long for V of norm {size:g}; take dt <= {ADVISED / size:.2g}.")
    if dt * size > 2 * ADVISED * (1 + 1e-6):
        message = f"dt = {dt:g} with V of norm {size:g} may be inaccurate; dt <= {ADVISED / size:.2g} is advised."
        warnings.warn(message, AttnflowWarning, stacklevel=4)


def growth_removed(model: AbstractModel, x0: Float[Array, "n d"], t0: Any, t1: Any) -> MovingFrame | None:
    r"""The model of $y = e^{-\lambda_1(t - t_0)}x$ where tokens would grow too far to be squared; `None` elsewhere.

    $\lambda_1$ is the largest real part of an eigenvalue of the linear part.
    """
    V = model.linear_part(x0.shape[1])
    if V is None or not is_concrete(V, t0, t1):
        return None
    rate = float(np.max(np.linalg.eigvals(np.asarray(V, float)).real))
    if rate * (t1 - t0) <= LONG * math.log(float(jnp.finfo(x0.dtype).max)):
        return None
    return MovingFrame(model, rate=jnp.asarray(rate, x0.dtype), start=jnp.asarray(t0, x0.dtype))
