r"""Rates of the modes, and the polynomials that modes are measured with.

On $S^{d-1}$ a mode is a degree $l$ of spherical harmonics, and $\cos n(\theta - \theta')$ becomes the zonal polynomial
$P_l(\langle x, y\rangle)$ with $P_l(1) = 1$ (Gegenbauer). The kernel $e^{\beta\langle x, y\rangle}$ multiplies degree
$l$ by $\kappa_l = \Gamma(\frac d2)(\frac2\beta)^{d/2-1}I_{l+d/2-1}(\beta)$, the Laplacian by $-l(l + d - 2)$:

$$ a_l = l(l + d - 2)\,\kappa_l, \qquad a_l^{\text{softmax}} = \frac{l(l + d - 2)\,\kappa_l}{\beta\,\kappa_0} . $$

These are the rates at which waves grow out of uniform tokens that all see each other
(`attnflow.reductions.growth_rate`).
Derivation: docs/theory/lost-in-the-middle.md.
"""

from typing import Any

import numpy as np

from ...checks import finite_array, whole
from ...errors import InputError, shown
from ..growth import mode_rates
from ._checked import MOST, count_of_modes, not_negative

NORMALIZE = ("positional", "softmax")


def rates(beta: Any, modes: Any, d: Any = 2, normalize: Any = "positional") -> np.ndarray:
    r"""The rates $a_l$ of the degrees $l$ = 1, …, `modes` (or of the degrees listed), on $S^{d-1}$.

    - `"positional"`: positional weights that sum to one, the content unnormalised, in the time of
      $\dot x_j = \sum_{k<j} w_{jk}\nabla e^{\beta\langle x_j, x_k\rangle}$ (so with a factor $\beta$). On the circle
      $a_n = n^2 I_n(\beta)$.
    - `"softmax"`: positional weights inside the softmax, no factor $\beta$.

    The result has the shape of `beta` and one more axis, of the degrees.
    """
    beta, degrees, d = not_negative("beta", beta)[..., None], _degrees(modes), whole("d", d, least=2, most=MOST)
    check_normalize(normalize)
    found = mode_rates(degrees, beta, d, "beta-USA" if normalize == "positional" else "SA")
    if not np.isfinite(found).all():
        raise InputError(f"beta = {beta.max():g}: rates of size e^beta are beyond double precision; take less.")
    return found


def zonal(u: Any, modes: Any, d: Any = 2) -> np.ndarray:
    r"""$P_l(u)$, $l = 1, \dots,$ `modes`, on a new last axis; on the circle $P_l(\cos\theta) = \cos l\theta$."""
    u, modes, d = finite_array("u", u), count_of_modes(modes), whole("d", d, least=2, most=MOST)
    if (np.abs(u) > 1 + 1e-12).any():
        raise InputError(f"u = {u.flat[np.abs(u).argmax()]:g} is no inner product of unit vectors; give |u| <= 1.")
    return np.stack(zonal_terms(u, modes, d)[1:], axis=-1)


def zonal_terms(u: Any, modes: int, d: int) -> list[Any]:
    r"""$P_0, \dots, P_L$ at `u`, by $(l + d - 2)P_{l+1} = (2l + d - 2)uP_l - lP_{l-1}$; arrays of NumPy or of JAX."""
    terms = [u * 0 + 1, u]
    for l in range(1, modes):  # noqa: E741 (the degree is called l)
        terms.append(((2 * l + d - 2) * u * terms[-1] - l * terms[-2]) / (l + d - 2))
    return terms[: modes + 1]


def check_normalize(normalize: Any) -> None:
    if not isinstance(normalize, str) or normalize not in NORMALIZE:
        raise InputError(f"normalize = {shown(normalize)} is unknown; choose one of {', '.join(NORMALIZE)}.")


def _degrees(modes: Any) -> np.ndarray:
    if not isinstance(modes, list | tuple | np.ndarray) or np.ndim(finite_array("modes", modes)) == 0:
        return np.arange(1, count_of_modes(modes) + 1)
    if not len(modes):
        raise InputError("modes is empty; give how many there are, or a list of degrees.")
    return np.array([whole("a degree of modes", l, most=10**15) for l in np.asarray(modes).tolist()])  # noqa: E741
