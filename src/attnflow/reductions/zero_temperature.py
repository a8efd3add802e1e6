r"""Attention at zero temperature on the sphere, from a law with full support: a linear transport equation.

As $\beta \to \infty$ a query $x$ reads the one point of the sphere with the greatest score $\langle x, By\rangle$,
which is $y^*(x) = B^\top x/|B^\top x|$. With $M = VB^\top$,

$$ \dot x = P_x V y^*(x) = \frac{P_x M x}{|B^\top x|}, \qquad P_x = I - xx^\top, $$

and tokens do not interact. It has the closed form

$$ x(t) = \frac{e^{sM}x_0}{|e^{sM}x_0|}, \qquad \frac{dt}{ds} = |B^\top x(s)| . $$

If the eigenvalue $\lambda_1$ of $M$ with the largest real part is real and semisimple, with the spectral projector
$\Pi_E$ on its eigenspace, then $x(t) \to \Pi(x_0) = \Pi_E x_0/|\Pi_E x_0|$ for every $x_0$ outside $\ker\Pi_E$.

This is not the hardmax over tokens (`af.Hardmax`), where a token reads the best of finitely many others; the two agree
when tokens are dense. Derivations: docs/theory/low-temperature.md. Reference: arXiv:2605.10931.
"""

import warnings
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.integrate import solve_ivp

from ..checks import finite_array, reals
from ..errors import AttnflowWarning, InputError, SolveError
from ..spaces import Numbers, Sphere, warn_if_narrowed
from ._spectral_projector import DominantEigenspace, both, dominant_eigenspace

CONDITION = 1e6  # of the eigenvectors: with a larger one too many digits of the closed form would be lost


def zero_temperature_matrix(*, V: Numbers, B: Numbers) -> Float[Array, "d d"]:
    r"""$M = VB^\top$, whose flow on directions is that of attention at zero temperature, up to the clock."""
    V, B = both(V, B)
    return jnp.asarray(V @ B.T)


def zero_temperature_field(x: Numbers, *, V: Numbers, B: Numbers) -> Float[Array, "*batch d"]:
    r"""$P_x V y^*(x)$, $y^*(x) = B^\top x/|B^\top x|$, at points `x` of the sphere; zero where $B^\top x = 0$.

    `af.Flow(lambda t, x, w: af.reductions.zero_temperature_field(x, V=V, B=B), af.Sphere())` is the model.
    """
    warn_if_narrowed("points", x, stacklevel=3)
    x, V, B = reals("x", x), reals("V", V), reals("B", B)
    d = x.shape[-1] if x.ndim else 0
    if V.shape != (d, d) or B.shape != (d, d):
        raise InputError(f"x, V and B have shapes {x.shape}, {V.shape} and {B.shape}; give (..., d) and twice (d, d).")
    return Sphere().project(x, Sphere().nearest(x @ B) @ V.T)


def projection_map(x: Numbers, *, V: Numbers, B: Numbers) -> Float[Array, "*batch d"]:
    r"""$\Pi(x) = \Pi_E x/|\Pi_E x|$: where attention at zero temperature takes each point of the sphere.

    If $VB^\top = \lambda I$ nothing moves and $\Pi$ is the identity. A point in $\ker\Pi_E$ goes elsewhere: it becomes
    NaN, with a warning. Refused if the leading eigenvalue is not real and semisimple, since then there is no limit.
    """
    V, B = both(V, B)
    x = finite_array("x", x)
    if x.ndim < 1 or x.shape[-1] != len(V):
        raise InputError(f"x has shape {x.shape}; give points of dimension {len(V)}, (..., {len(V)}).")
    space = limit_space(V=V, B=B)
    if space.dimension == len(V):
        return jnp.asarray(x)
    image = x @ space.projector.T
    length = np.linalg.norm(image, axis=-1, keepdims=True)
    rounding = 4 * np.finfo(float).eps * np.linalg.norm(space.projector, 2) * np.linalg.norm(x, axis=-1, keepdims=True)
    lost = length <= rounding
    if lost.any():
        warnings.warn(
            f"{int(lost.sum())} points lie in the kernel of the projector, where the map is not defined; they are NaN.",
            AttnflowWarning,
            stacklevel=2,
        )
    return jnp.asarray(np.where(lost, np.nan, image / np.where(lost, 1.0, length)))


def limit_space(*, V: Numbers, B: Numbers) -> DominantEigenspace:
    """The eigenspace to which attention at zero temperature concentrates, refused in a sentence where there is none."""
    V, B = both(V, B)
    space = dominant_eigenspace(V @ B.T)
    if not space.real:
        raise InputError(
            "V B^T has a leading pair of complex eigenvalues: tokens turn for ever and have no limit; "
            "take matrices whose leading eigenvalue is real."
        )
    if not space.semisimple:
        raise InputError(
            f"the leading eigenvalue {space.eigenvalue:.6g} of V B^T is defective: convergence is not exponential and "
            "the projector is no limit; take matrices that are diagonalisable there."
        )
    return space


def zero_temperature_flow(x0: Numbers, ts: Numbers, *, V: Numbers, B: Numbers) -> Float[Array, "T n d"]:
    r"""Points of the sphere at the times `ts` (the first is the initial time), by the closed form.

    Every point has its own clock $s(t)$, from $\dot s = 1/|B^\top x(s)|$, solved to round-off; $e^{sM}$ is exact, by
    eigenvectors, so that points arbitrarily close to $\ker\Pi_E$ leave it at the right time. Cost is linear in the
    number of points. Where $M$ has no good basis of eigenvectors the field itself is integrated instead.
    """
    V, B = both(V, B)
    x0 = finite_array("x0", x0)
    if x0.ndim != 2 or x0.shape[1] != len(V):
        raise InputError(f"x0 has shape {x0.shape}; give points (n, {len(V)}) of the sphere.")
    norms = np.linalg.norm(x0, axis=1)
    if not np.all(np.abs(norms - 1) < 1e-4):
        raise InputError(f"a point has the norm {norms[np.argmax(np.abs(norms - 1))]:.6g}; give unit vectors.")
    times = finite_array("ts", ts)
    if times.ndim != 1 or times.size == 0 or np.any(np.diff(times) <= 0):
        raise InputError("ts must be a list of increasing times.")
    sizes = np.linalg.svd(B, compute_uv=False)
    if sizes[-1] <= len(B) * np.finfo(float).eps * sizes[0]:
        raise InputError("B is singular: where B^T x = 0 a query prefers no key and the clock stops; take another B.")
    return jnp.asarray(_flow(x0 / norms[:, None], times, V, B), jnp.result_type(float))


def _flow(x0: np.ndarray, ts: np.ndarray, V: np.ndarray, B: np.ndarray) -> np.ndarray:
    M = V @ B.T
    if ts.size == 1 or np.array_equal(M, M[0, 0] * np.eye(len(M))):  # nothing moves, to the last digit
        return np.broadcast_to(x0, (ts.size, *x0.shape))
    values, vectors = np.linalg.eig(M)
    if np.linalg.cond(vectors) > CONDITION:
        return _nearest(_solved(lambda x: _velocity(_nearest(x), V, B), ts, x0))
    coordinates = x0 @ np.linalg.inv(vectors).T
    shifted = values - np.real(values).max()  # directions do not see a common factor, and nothing overflows

    def at(s: np.ndarray) -> np.ndarray:
        return _nearest(np.real((coordinates * np.exp(s[..., None] * shifted)) @ vectors.T))

    return at(_solved(lambda s: 1 / np.linalg.norm(at(s) @ B, axis=-1), ts, np.zeros(len(x0))))


def _solved(rate: Callable[[np.ndarray], np.ndarray], ts: np.ndarray, y0: np.ndarray) -> np.ndarray:
    """`y` at the times, of one equation for all points together; the steps are few, and NumPy's."""
    solution = solve_ivp(
        lambda t, y: rate(y.reshape(y0.shape)).ravel(),
        (ts[0], ts[-1]),
        y0.ravel(),
        "DOP853",
        ts,
        rtol=1e-12,
        atol=1e-12,
    )
    if not solution.success:
        raise SolveError(f"the flow of zero temperature did not reach t = {ts[-1]:g}: {solution.message}")
    return solution.y.T.reshape(ts.size, *y0.shape)


def _velocity(x: np.ndarray, V: np.ndarray, B: np.ndarray) -> np.ndarray:
    v = _nearest(x @ B) @ V.T
    return v - np.sum(v * x, axis=-1, keepdims=True) * x


def _nearest(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)
