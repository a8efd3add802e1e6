r"""The hyperplane case: V has a leading simple real eigenvalue, and its eigenvector has a positive score with itself.

A **good triple** has $\lambda_1 > |\lambda_2| \ge \dots$ real, positive and simple, and
$\varphi_1^\top B\varphi_1 > 0$ on its eigenvector. Then every rescaled token $z_i = e^{-tV}x_i$ comes close to one of
at most three parallel hyperplanes, level sets of the left eigenvector with $\varphi_1^*(\varphi_1) = 1$:

$$ u_i = \varphi_1^*(z_i) \to c_+ > 0, \quad c_- < 0, \quad \text{or, not generically, } 0 . $$

The spread inside a group decays like $e^{-\lambda_1t}$. The other coordinates of $z$ need not converge; those with a
negative eigenvalue diverge.

??? cite "The emergence of clusters in self-attention dynamics, Geshkovski et al. (arXiv:2305.05465)"
"""

from dataclasses import dataclass

import numpy as np

from ..checks import number, square_matrix
from ..errors import InputError
from ..flows import Run
from ..spaces import Number, Numbers
from ._clouds import Tokens
from ._final import (
    at_rest,
    cluster_points,
    default_distance,
    fastest,
    final_tokens,
    linking_distance,
    listed,
    moving,
    plural,
    real_numbers,
)
from ._rescaled_state import last_state
from .spectrum import Paranormal, detect_paranormal


@dataclass(frozen=True, eq=False, repr=False)
class GoodTriple:
    r"""Whether $(V, B)$ is a good triple, and the eigenvectors.

    - `holds`, `reasons`: the answer, and the sentences that give it; `spectrum`: what they rest on.
    - `eigenvalue`: $\lambda_1$; `phi (d,)`: $\varphi_1$, of length one, its largest entry positive; `phi_star (d,)`:
      the left eigenvector with $\varphi_1^*(\varphi_1) = 1$; `score`: $\varphi_1^\top B\varphi_1$. The last three are
      `None` without a simple leading eigenvalue.
    """

    holds: bool
    reasons: tuple[str, ...]
    spectrum: Paranormal
    phi: np.ndarray | None
    phi_star: np.ndarray | None
    score: float | None

    @property
    def eigenvalue(self) -> float | None:
        return self.spectrum.eigenvalue

    @property
    def verdict(self) -> str:
        """Yes or no, and why."""
        return f"{'A' if self.holds else 'Not a'} good triple: " + "; ".join(self.reasons) + "."

    def __repr__(self) -> str:
        return self.verdict


def good_triple(*, V: Numbers, B: Numbers | None = None, tol: Numbers = 1e-8) -> GoodTriple:
    """Check the assumptions of the hyperplane theorem; the condition is on the modulus, not on the real part.

    >>> good_triple(V=[[1.0, 0.0], [0.0, -2.0]]).holds
    False
    """
    tol = number("tol", tol, 0)
    spectrum = detect_paranormal(V=V, tol=tol)
    d = len(spectrum.eigenvalues)
    B = np.eye(d) if B is None else square_matrix("B", B, d)
    if spectrum.eigenvalue is None or spectrum.multiplicity > 1:
        more = () if spectrum.eigenvalue is None else ("it is not simple",)
        return GoodTriple(False, (*spectrum.reasons, *more), spectrum, None, None, None)
    phi, star = spectrum.basis[:, 0], spectrum.coordinates[0]
    sign = np.sign(phi[np.abs(phi).argmax()])
    phi, star = sign * phi, sign * star
    score = float(phi @ B @ phi)
    # phi^T B phi is a sum of terms as large as |B|; its sign is not known below the round-off of these.
    zero = abs(score) <= tol * np.linalg.norm(B, 2)
    positive = score > 0 and not zero
    condition = "> 0" if positive else "is zero up to the tolerance" if zero else "< 0, and it would have to be > 0"
    reasons = (*spectrum.reasons, f"phi_1^T B phi_1 = {score:.6g} {condition}")
    return GoodTriple(spectrum.holds and positive, reasons, spectrum, phi, star, score)


@dataclass(frozen=True, eq=False, repr=False)
class Hyperplanes:
    r"""The parallel hyperplanes near which tokens are. Printed, it is a verdict in words.

    - `triple`: whether the theorem applies at all. Without a simple leading eigenvalue the arrays below are empty.
    - `u (n,)`: $\varphi_1^*(z_i)$; `labels (n,)`: the group of each token, in order of first appearance.
    - `values (m,)`, `spreads (m,)`: the mean of $u$ in each group, and its largest difference in it.
    - `eps`: the linking distance in $u$; `speed`: the largest $|\dot u_i|$, `None` if it was not given.
    """

    triple: GoodTriple
    u: np.ndarray
    labels: np.ndarray
    values: np.ndarray
    spreads: np.ndarray
    eps: float
    speed: float | None

    @property
    def count(self) -> int:
        """How many hyperplanes there are."""
        return len(self.values)

    @property
    def converged(self) -> bool | None:
        """Whether $u$ moves by less than a tenth of `eps` in a unit of time; `None` if speeds were not given."""
        return at_rest(self.speed, self.eps)

    @property
    def pattern(self) -> bool:
        """Whether there is at most one positive value, at most one negative, and at most one within `eps` of 0."""
        near = np.abs(self.values) <= self.eps
        signs = (np.sum(near), np.sum(~near & (self.values > 0)), np.sum(~near & (self.values < 0)))
        return self.count > 0 and bool(max(signs) <= 1)

    @property
    def holds(self) -> bool:
        """Whether this is known to be a limit as the theorem describes it."""
        return self.triple.holds and self.converged is True and self.pattern

    @property
    def verdict(self) -> str:
        """The groups, and the reasons why they may not be the limit."""
        if not self.count:
            return f"No hyperplanes to look for. {self.triple.verdict}"
        planes = plural(self.count, "parallel hyperplane")
        parts = [f"{planes}, u = {listed(self.values)}, spread {self.spreads.max():.2g} or less inside a group."]
        parts.append(moving(self.speed, self.eps))
        if not self.pattern:
            parts.append("A limit has at most one positive value, one negative and zero: no limit yet.")
        if not self.triple.holds:
            parts.append(f"The theorem does not apply. {self.triple.verdict}")
        return " ".join(parts)

    def __repr__(self) -> str:
        return self.verdict


def detect_hyperplanes(
    z: Tokens,
    *,
    V: Numbers | None = None,
    B: Numbers | None = None,
    eps: Number | None = None,
    speed: Numbers | None = None,
) -> Hyperplanes:
    r"""The groups of rescaled tokens in the direction of the left eigenvector, and whether the theorem explains them.

    **Arguments:**

    - `z`: final rescaled tokens `(n, d)`, or a run, whose last state is taken (and rescaled, if it is not); a run knows
      its own V, B and velocities. The theorem is about $u = \varphi_1^*(z)$ alone.
    - `V`, `B`: the matrices of the model, `B=None` for the identity.
    - `eps`: the linking distance in $u$; by default a thousandth of the largest $|u_i|$.
    - `speed`: the velocities $\dot z_i$, `(n, d)`, or the speeds $|\dot u_i|$, `(n,)`.
    """
    if isinstance(z, Run):
        z, _, own_V, own_B, velocity = last_state(z)
        V, B, speed = (b if a is None else a for a, b in ((V, own_V), (B, own_B), (speed, velocity)))
    if V is None:
        raise InputError("V is missing; give the matrix of values whose leading eigenvector orders the tokens, V=.")
    z = final_tokens(z)
    n, d = z.shape
    triple = good_triple(V=square_matrix("V", V, d), B=B)
    if triple.phi_star is None:
        none = np.zeros(0)
        eps = 0.0 if eps is None else linking_distance(eps)
        return Hyperplanes(triple, none, none.astype(int), none, none, eps, None)
    u = z @ triple.phi_star
    eps = default_distance(float(np.abs(u).max())) if eps is None else linking_distance(eps)
    speed = None if speed is None else real_numbers(speed, "speeds", f"give ({n},), or velocities ({n}, {d})")
    if speed is not None and np.ndim(speed) == 2 and np.shape(speed) != z.shape:
        raise InputError(f"velocities have shape {np.shape(speed)} and tokens {z.shape}; they must agree.")
    if speed is not None and np.ndim(speed) == 2:
        speed = np.asarray(speed, float) @ triple.phi_star
    labels, values = cluster_points(u[:, None], eps)
    high, low = np.full(len(values), -np.inf), np.full(len(values), np.inf)
    np.maximum.at(high, labels, u)
    np.minimum.at(low, labels, u)
    return Hyperplanes(triple, u, labels, values[:, 0], high - low, eps, fastest(speed, n))
