r"""Tokens at which attention is steepest: one is apart from the others, and all others attend to it.

Let $A = \beta B^\top$ have the real eigenvalues $\lambda_{\min} \le \dots \le \lambda_{\max}$, and let $u$ be a unit
eigenvector. With $\gamma = \max(-\lambda_{\min}, \lambda_{\max}/8)$ and tokens

$$ x_1 = Ru,\quad x_i = \tfrac12Ru \quad\text{if } \lambda_{\max} > -8\lambda_{\min}, \qquad
   x_1 = -Ru,\quad x_i = Ru \quad\text{otherwise}, $$

every other token gives the first one the weight $p = 1/(1 + (n-1)e^{-2\gamma R^2})$, and moving it moves them all:

$$ \|Df\| \ge \sqrt{n-1}\;p\,\big(1 + 2(1-p)\gamma R^2\big)\,|Vu| . $$

It grows like $\sqrt n$ up to $n \approx e^{2\gamma R^2}$ and decays beyond (docs/theory/smoothness.md, A lower bound).
The tokens are those of arXiv:2312.14820.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ...checks import finite_array, number, square_matrix, whole
from ...errors import InputError, shown
from ...spaces import Numbers


def adversarial_tokens(*, B: Numbers, beta: Numbers = 1.0, n: Any, radius: Numbers = 1.0) -> Float[Array, "n d"]:
    """The tokens `(n, d)` above in the ball of that radius.

    `B` must have a real eigenvalue; a number is a 1 x 1 matrix.
    """
    R, n = number("radius", radius, 0), whole("n", n, least=2)
    _, u, apart, together = _worst(B, beta)
    places = np.concatenate([[apart], np.full(n - 1, together)])
    return jnp.asarray(R * places[:, None] * u[None, :], jnp.result_type(float))


def lower_bound(
    *, V: Numbers | None = None, B: Numbers, beta: Numbers = 1.0, n: Numbers, radius: Numbers = 1.0
) -> np.ndarray | float:
    r"""$\sqrt{n-1}\,p\,(1 + 2(1-p)\gamma R^2)\,|Vu|$, which the norm of the derivative at `adversarial_tokens` exceeds.

    So does the largest norm in the ball. `n` may be an array of whole numbers, at least 2, of any shape.
    """
    R, many = number("radius", radius, 0), finite_array("n", n)
    if (many < 2).any() or (many % 1).any():
        raise InputError(f"n = {shown(n)} must be whole numbers, at least 2.")
    gamma, u, _, _ = _worst(B, beta)
    length = 1.0 if V is None else float(np.linalg.norm(square_matrix("V", V, len(u)) @ u))
    g, others = gamma * R * R, many - 1.0
    p = 1 / (1 + others * np.exp(-2 * g))
    return length * np.sqrt(others) * p * (1 + 2 * (1 - p) * g)


def _worst(B: Any, beta: Any) -> tuple[float, np.ndarray, float, float]:
    """The exponent gamma, the eigenvector, and where on its line the first token and the others stand."""
    A = number("beta", beta, 0) * square_matrix("B", B).T
    values, vectors = np.linalg.eig(A)
    real = np.abs(np.imag(values)) == 0  # LAPACK gives a real matrix's real eigenvalues without imaginary part
    if not real.any():
        raise InputError("B has no real eigenvalue, so no line of tokens stays a line; give a B with one.")
    values, vectors = np.real(values[real]), np.real(vectors[:, real])
    top, bottom = int(np.argmax(values)), int(np.argmin(values))
    if values[top] > -8 * values[bottom]:
        gamma, u, apart, together = values[top] / 8, vectors[:, top], 1.0, 0.5
    else:
        gamma, u, apart, together = -values[bottom], vectors[:, bottom], -1.0, 1.0
    return float(gamma), u / np.linalg.norm(u), apart, together
